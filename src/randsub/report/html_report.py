"""Write a report about a fitted model to a file."""

import os
from collections.abc import Mapping
from numbers import Integral, Real
from pathlib import Path
from typing import Any

from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from randsub._files import check_writable, write_atomically
from randsub._typing import Table
from randsub.estimators.assembly import has_repeats
from randsub.estimators.base import SubspaceEnsemble
from randsub.report.feature_table import check_stability
from randsub.report.findings import Findings
from randsub.report.html_page import render
from randsub.report.labelled_rows import check_rows, new_rows
from randsub.report.model_comparison import compare as compare_models
from randsub.selection import Stability


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
    """Write a self-contained HTML page about a fitted model.

    The page needs no other file and no network, and has a light and a dark theme and layouts for
    phones and paper. It shows scores beside those of reference models, importances, the training
    history, warnings where results are doubtful, and how to reproduce the model.

    Parameters
    ----------
    model : fitted PRSClassifier, PRSRegressor, RaSE* or RandomSubspace*
        The model to report on.
    path : path-like
        The file to write. An existing file is replaced once the page is complete.
    X, y : table of shape (n_samples, n_features), array-like of shape (n_samples,), default=None
        Training data of the model. Without it no reference models can be trained, and some checks
        are left out; the page says so.
    sample_weight : array-like of shape (n_samples,), default=None
        Sample weights that the model was fitted with.
    X_test, y_test : same as X and y, default=None
        New rows on which the model is scored; rows that the model was trained on are recognised,
        and left out with a warning. Without these, but with X and y, a part of X is set
        aside and a copy of the model is trained on the rest, which takes as long as the fit.
    sample_weight_test : array-like, default=None
        Sample weights for the scores.
    title : str, default=None
        Title of the page.
    compare : bool, default=True
        Whether to score the model beside a random forest, a plain random subspace and the base
        model alone, trained on the same rows; of several base models, beside a plain random
        subspace of each.
    test_fraction : float, default=0.25
        Share of X that is set aside if X_test is not given.
    stability : Stability, default=None
        Result of :func:`randsub.selection.stability`, whose runs are shown for each feature. By
        default these are the repeats of the model, if it has several.
    facts : mapping of str to str, default=None
        Further lines for the table of model and data, such as the name of the file.
    command : str, default=None
        Command line that fits the model again, if there is one.
    random_state : int, RandomState instance or None, default=0
        Seed of the split, the reference models and the intervals.
    n_jobs : int, default=None
        Number of workers for these; the results do not depend on it.

    Returns
    -------
    path : Path
        Path of the page.

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
    path = Path(path)
    check_writable(path)
    _check_model(model)
    _check_options(test_fraction, title, facts, command)
    seed = int(check_random_state(random_state).randint(2**31 - 1))
    check_stability(model, stability)
    if stability is None and has_repeats(model):
        stability = Stability.from_repeats(model)
    train = check_rows(model, X, y, sample_weight)
    test = check_rows(model, X_test, y_test, sample_weight_test, "_test")
    test, known = new_rows(model, train, test)
    comparison = None
    if compare:
        comparison = compare_models(model, train, test, test_fraction, seed, n_jobs)
    title = f"What {type(model).__name__} found" if title is None else title
    facts = {str(name): str(value) for name, value in (facts or {}).items()}
    page = render(Findings(model, train, test, known, comparison, stability, title, facts, command))
    write_atomically(path, page.encode())
    return path


def _check_model(model: Any) -> None:
    if not isinstance(model, SubspaceEnsemble):
        kinds = "PRSClassifier, PRSRegressor, RaSE* or RandomSubspace*"
        raise TypeError(f"A report needs a fitted {kinds}, got {type(model).__name__}.")
    check_is_fitted(model, "estimators_")


def _check_options(test_fraction: Any, title: Any, facts: Any, command: Any) -> None:
    is_number = isinstance(test_fraction, Real) and not isinstance(test_fraction, Integral)
    if not (is_number and 0.0 < test_fraction < 1.0):
        raise ValueError(f"test_fraction must be a float between 0 and 1, got {test_fraction!r}.")
    kinds = {"title": (title, str), "command": (command, str), "facts": (facts, Mapping)}
    for name, (value, kind) in kinds.items():
        if value is not None and not isinstance(value, kind):
            raise TypeError(f"{name} must be a {kind.__name__}, got {type(value).__name__}.")
