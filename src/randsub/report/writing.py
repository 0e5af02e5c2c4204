"""From a fitted model to a page in a file."""

import os
import tempfile
from collections.abc import Mapping
from numbers import Integral, Real
from pathlib import Path
from typing import Any

from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from randsub._typing import Table
from randsub.ensemble.subspace import SubspaceEnsemble
from randsub.report.comparison import compare as compare_models
from randsub.report.importances import rank_features
from randsub.report.page import Findings, render
from randsub.report.rows import check_rows
from randsub.report.stability import view_stability


def write_report(
    model: SubspaceEnsemble,
    path: "os.PathLike[str] | str",
    X: Table | None = None,
    y: Any = None,
    *,
    sample_weight: Any = None,
    X_test: Table | None = None,
    y_test: Any = None,
    sample_weight_test: Any = None,
    title: str | None = None,
    compare: bool = True,
    test_fraction: float = 0.25,
    stability: Any = None,
    facts: Mapping[str, str] | None = None,
    command: str | None = None,
    random_state: Any = 0,
    n_jobs: int | None = None,
) -> Path:
    """Write all there is to say about a fitted model into one HTML page.

    The page needs no other file and no network, and reads well on a phone, on paper and in the
    dark. It has scores beside simpler models, importances, how training went, warnings in plain
    words, and how to make the model again.

    Parameters
    ----------
    model : fitted PRSClassifier, PRSRegressor, RaSE* or RandomSubspace*
        What the page is about.
    path : path-like
        The file to write; one that is there is replaced once the page is complete.
    X, y : table of shape (n_samples, n_features), array-like of shape (n_samples,), default=None
        What the model was fitted on. Without these there is nothing to train other models on, and
        some checks are left out; the page says so.
    sample_weight : array-like of shape (n_samples,), default=None
        The weights it was fitted with.
    X_test, y_test : same as X and y, default=None
        Rows that the model has not met, on which it is scored. Without these, but with X and y, a
        part of X is set aside and a copy of the model is trained on the rest, which takes as long
        as fitting the model did.
    sample_weight_test : array-like, default=None
        Weights of these rows in the scores.
    title : str, default=None
        Title of the page.
    compare : bool, default=True
        Whether to score the model, and to train a random forest, a plain random subspace and the
        base model alone on the same rows.
    test_fraction : float, default=0.25
        Share of X that is set aside where X_test is not given.
    stability : result of randsub.selection.stability, default=None
        Adds what reruns say of each feature.
    facts : mapping of str to str, default=None
        Further lines for the table of what was fitted: the name of the file, the time it took.
    command : str, default=None
        The command line that makes the model again, where there is one.
    random_state : int, RandomState instance or None, default=0
        Decides over the split, the models that are trained for comparison, and the intervals.
    n_jobs : int, default=None
        Number of workers for these; the page is the same for any number, times aside.

    Returns
    -------
    path : Path
        Where the page is.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from sklearn.neighbors import KNeighborsRegressor
    >>> from randsub import PRSRegressor
    >>> from randsub.datasets import make_friedman
    >>> from randsub.report import write_report
    >>> X, y, _ = make_friedman(n_samples=60, n_irrelevant=5, random_state=0)
    >>> model = PRSRegressor(KNeighborsRegressor(), max_iter=5, random_state=0).fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     page = write_report(model, Path(folder) / "report.html").read_text(encoding="utf-8")
    >>> "Which features matter" in page
    True
    """
    path = _check_path(path)
    _check_model(model)
    _check_options(test_fraction, title, facts, command)
    seed = int(check_random_state(random_state).randint(2**31 - 1))
    view = view_stability(model, stability)
    train = check_rows(model, X, y, sample_weight)
    test = check_rows(model, X_test, y_test, sample_weight_test, "_test")
    comparison = None
    if compare:
        comparison = compare_models(
            model, train, test, test_fraction=test_fraction, seed=seed, n_jobs=n_jobs
        )
    page = render(
        Findings(
            model=model,
            title=f"What {type(model).__name__} found" if title is None else title,
            train=train,
            test=test,
            comparison=comparison,
            importances=rank_features(model, None if view is None else view.table),
            stability=view,
            facts={} if facts is None else {str(k): str(v) for k, v in facts.items()},
            command=command,
        )
    )
    _write_whole(path, page)
    return path


def _check_path(path: "os.PathLike[str] | str") -> Path:
    path = Path(path)
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder; give the name of a file in it, such as "
                                f"{path / 'report.html'}.")  # fmt: skip
    if not path.parent.is_dir():
        raise FileNotFoundError(f"The folder {path.parent} of the report does not exist; make it.")
    return path


def _check_model(model: Any) -> None:
    if not isinstance(model, SubspaceEnsemble):
        raise TypeError(
            "A report is about a fitted PRSClassifier, PRSRegressor, RaSE* or RandomSubspace*, got "
            f"{type(model).__name__}."
        )
    check_is_fitted(model, "estimators_")


def _check_options(test_fraction: Any, title: Any, facts: Any, command: Any) -> None:
    is_number = isinstance(test_fraction, Real) and not isinstance(test_fraction, Integral)
    if not (is_number and 0.0 < test_fraction < 1.0):
        raise ValueError(
            f"test_fraction must be a share of the rows, between 0 and 1, got {test_fraction!r}."
        )
    for name, value in (("title", title), ("command", command)):
        if value is not None and not isinstance(value, str):
            raise TypeError(f"{name} must be a string, got {type(value).__name__}.")
    if facts is not None and not isinstance(facts, Mapping):
        raise TypeError(f"facts must be a mapping, got {type(facts).__name__}.")


def _write_whole(path: Path, page: str) -> None:
    """Write the file so that nobody ever finds a part of it."""
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
            file.write(page)
        # As open to others as any new file here; a temporary one is for its owner alone.
        mask = os.umask(0)
        os.umask(mask)
        Path(name).chmod(0o666 & ~mask)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
