"""The base models of ``estimator="auto"``.

No base model is the best on all data, so several are mixed, and their shares are learned. Which are
tried depends on the size of the data: a base model that would take most of the time of a fit, or
that cannot use the data as they are, is left out. The guide's page on mixes has the study behind
the choice.
"""

from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.svm import SVC, SVR
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils.validation import has_fit_parameter

from randsub._sklearn import routing_enabled
from randsub.engines import SVMEngine

Task: TypeAlias = Literal["regression", "classification"]
Portfolio: TypeAlias = list[tuple[str, Any]]

# Alpha is learned from models of at most this many training samples; members see all.
AUTO_ROWS: Final = 2_000
# Training SVMs takes time in proportion to the square of the samples or more, and their engine has
# a limit; to ask all neighbours takes time in proportion to the samples. Members of boosting, which
# scikit-learn trains, take seconds each from here on; with classes there is a tree for each.
MOST_ROWS: Final = {"svm": SVMEngine.most_rows, "knn": 20_000, "boosting": 10_000}


@dataclass(frozen=True)
class Facts:
    """What the choice depends on.

    Parameters
    ----------
    n_samples : int
        Number of training samples of the members.
    n_train : int
        Smallest number of training samples of a model, while alpha is learned.
    n_classes : int or None, default=None
        None in regression.
    is_sparse : bool, default=False
        Whether X is a sparse matrix.
    """

    n_samples: int
    n_train: int
    n_classes: int | None = None
    is_sparse: bool = False


def everything(task: Task) -> Portfolio:
    """All base models that "auto" may choose, unfitted, by name."""
    # Importing it takes long, and not everyone wants it.
    from sklearn.ensemble import GradientBoostingClassifier, GradientBoostingRegressor

    bases: Portfolio
    if task == "regression":
        bases = [
            ("knn", KNeighborsRegressor(10, weights="distance")),
            ("tree", DecisionTreeRegressor()),
            ("svm", SVR(C=10.0)),
            ("boosting", GradientBoostingRegressor()),
        ]
    else:
        bases = [
            ("knn", KNeighborsClassifier(10, weights="distance")),
            ("tree", DecisionTreeClassifier()),
            ("svm", SVC(C=10.0)),
            ("boosting", GradientBoostingClassifier()),
        ]
    if routing_enabled():
        # Weights of the ensemble are weights of its members.
        for _, base in bases:
            if has_fit_parameter(base, "sample_weight"):
                base.set_fit_request(sample_weight=True)
    return bases


def portfolio(task: Task, facts: Facts) -> Portfolio:
    """The base models that suit the data.

    Parameters
    ----------
    task : {"regression", "classification"}
    facts : Facts

    Returns
    -------
    bases : list of (str, estimator)
        Unfitted.
    """
    chosen = [(name, base) for name, base in everything(task) if _suits(name, facts)]
    for name, base in chosen:
        if name == "knn":
            # With few samples, no more neighbours than half of the smallest training set.
            base.set_params(n_neighbors=max(1, min(base.n_neighbors, facts.n_train // 2)))
    return chosen


def _suits(name: str, facts: Facts) -> bool:
    size = facts.n_samples
    if name == "boosting":
        # Its compiled engine takes no sparse data, and training takes long without.
        if facts.is_sparse:
            return False
        size *= 1 if facts.n_classes is None or facts.n_classes == 2 else facts.n_classes
    most = MOST_ROWS.get(name)
    return most is None or size <= most
