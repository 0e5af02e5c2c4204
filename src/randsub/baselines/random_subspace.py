"""The random subspace method: members see K features, chosen uniformly."""

from contextlib import closing
from numbers import Integral
from typing import Any, ClassVar, Literal

import numpy as np
import pandas as pd
from sklearn.utils._param_validation import Interval, RealNotInt, StrOptions

from randsub._compile import when_compiling
from randsub._typing import BoolArray
from randsub.baselines.judging import validation_score
from randsub.engines import Engine, one_thread
from randsub.ensemble.constraints import COMMON, VOTING, WholeNumber
from randsub.ensemble.kinds import ClassificationEnsemble, RegressionEnsemble
from randsub.ensemble.material import Material
from randsub.ensemble.members import train_members
from randsub.ensemble.subspace import SubspaceEnsemble
from randsub.exceptions import BaseModelError
from randsub.training.callbacks import Bar

# K is chosen among these parts of M, its square root, and 1.
PARTS = (100, 50, 20, 10, 5, 3, 2, 1)


class BaseRandomSubspace(SubspaceEnsemble):
    """Common part of classifier and regressor."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **COMMON,
        "max_features": [
            WholeNumber(1),
            Interval(RealNotInt, 0, 1, closed="right"),
            StrOptions({"sqrt", "validation"}),
        ],
    }

    def __init__(
        self,
        estimator: Any = None,
        *,
        n_estimators: int = 100,
        max_features: float | Literal["sqrt", "validation"] = "validation",
        validation_fraction: float | None = 0.2,
        standardize: bool = True,
        engine: str | type[Engine] = "auto",
        n_jobs: int | None = None,
        task_timeout: float | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.max_features = max_features
        self.validation_fraction = validation_fraction
        self.standardize = standardize
        self.engine = engine
        self.n_jobs = n_jobs
        self.task_timeout = task_timeout
        self.random_state = random_state
        self.verbose = verbose

    def _splits_validation(self) -> bool:
        # With K fixed there is nothing to choose, and every row is there to be learned from.
        return self.max_features == "validation" and super()._splits_validation()

    def _learn(self, material: Material, rng: np.random.Generator) -> None:
        n_features = self.n_features_in_
        if self.max_features == "validation":
            self.max_features_, n_models = self._chosen(material, rng)
        else:
            self.max_features_, n_models = self._fixed(), 0
        self.expected_size_ = float(self.max_features_)
        self.n_models_trained_ = n_models + self.n_estimators
        masks = draw_masks(self.n_estimators, n_features, self.max_features_, rng)
        self.estimators_, self.estimators_features_ = train_members(material, masks, rng)

    def _fixed(self) -> int:
        """K as the user gave it."""
        wanted: Any = self.max_features
        if isinstance(wanted, str):
            return round_size(np.sqrt(self.n_features_in_))
        if not isinstance(wanted, Integral):
            return round_size(wanted * self.n_features_in_)
        if wanted > self.n_features_in_:
            raise ValueError(
                f"max_features={wanted} is more than the {self.n_features_in_} feature(s) of X; "
                "give a smaller number, or a float for a share of the features."
            )
        return int(wanted)

    def _chosen(self, material: Material, rng: np.random.Generator) -> tuple[int, int]:
        """K with the best score on the validation rows, and how many models that has cost."""
        if not len(material.val_rows):
            raise ValueError(
                "max_features='validation' needs validation data: give X_val and y_val to fit, or "
                f"a validation_fraction instead of {self.validation_fraction}, or fix max_features."
            )
        sizes = candidate_sizes(self.n_features_in_)
        name, scores = type(self).__name__, []
        bar = Bar(name, len(sizes), "size", shown=bool(self.verbose))
        # Sums must not depend on a number of threads.
        with closing(bar), one_thread(), when_compiling(bar.say_compiling):
            for size in sizes:
                masks = draw_masks(self.n_estimators, self.n_features_in_, size, rng)
                try:
                    scores.append(validation_score(material, masks, rng))
                except BaseModelError as error:
                    stage = f"with max_features={size}"
                    raise error.located(material.feature_names, None, stage) from error.__cause__
                bar.tell(max_features=str(size), validation=f"{scores[-1]:.4f}")
                bar.advance()
        self.validation_scores_ = pd.DataFrame({"max_features": sizes, "score": scores})
        # Sizes ascend: of equal scores the smallest size comes first.
        return sizes[int(np.argmax(scores))], len(sizes) * self.n_estimators


def round_size(size: float) -> int:
    """The nearest number of features, at least one."""
    return max(1, round(float(size)))


def candidate_sizes(n_features: int) -> list[int]:
    """Numbers of features among which the best is chosen, ascending."""
    sizes = {1, round_size(np.sqrt(n_features)), *(round_size(n_features / p) for p in PARTS)}
    return sorted(sizes)


def draw_masks(n_masks: int, n_features: int, size: int, rng: np.random.Generator) -> BoolArray:
    """Subsets of one size, each as likely as any other, (n_masks, n_features)."""
    masks = np.zeros((n_masks, n_features), dtype=bool)
    for mask in masks:
        mask[rng.choice(n_features, size, replace=False, shuffle=False)] = True
    return masks


class RandomSubspaceRegressor(RegressionEnsemble, BaseRandomSubspace):
    """Random-subspace ensemble for regression whose members see K features, chosen uniformly.

    Parameters
    ----------
    estimator : estimator, default=None
        The base model, any scikit-learn regressor; a decision tree by default.
    n_estimators : int, default=100
        Number of members.
    max_features : int, float, "sqrt" or "validation", default="validation"
        K, the number of features that a member sees; a share of the M features; the square root of
        M; or what has the best R2 on validation among 1, M/100, M/50, M/20, M/10, M/5, M/3, M/2,
        sqrt(M) and M (of equal ones the smallest). Numbers are rounded, and at least 1.
    validation_fraction : float, default=0.2
        Share of the samples that is set aside to choose K; the final ensemble is trained on all of
        them. Ignored when ``fit`` is given validation data, or K is fixed.
    standardize : bool, default=True
        Scale dense numeric columns to mean 0 and deviation 1, by the training samples. Sparse
        data is scaled without centring; non-numeric columns of a frame are left alone.
    engine : {"auto", "neighbors", "tree", "moments", "kernel", "generic"} or subclass of \
            Engine, default="auto"
        How many models are trained at once; "auto" takes the fastest engine that reproduces the
        base model exactly.
    n_jobs : int, default=None
        Number of workers. The result is the same for any number and any joblib backend.
    task_timeout : float or None, default=None
        Seconds that training one base model may take before the fit ends with an error that names
        its features. The clock runs from the moment a worker should begin. With a limit, base
        models go to workers one by one; those of compiled engines by the task.
    random_state : int, RandomState instance or None, default=None
        Fix it to get the same result, bit for bit, at every call.
    verbose : int, default=0
        1 shows a progress bar over the values of K that are tried.

    Attributes
    ----------
    max_features_ : int
        K.
    validation_scores_ : pandas.DataFrame
        Columns ``max_features`` and ``score``; only with ``max_features="validation"``.
    expected_size_ : float
        K as well, by the name that other ensembles have for it.
    estimator_ : estimator
        The base model, unfitted.
    estimators_ : list of estimators
        The fitted members. With ``standardize``, they expect columns as
        ``standardizer_.transform`` gives them.
    estimators_features_ : list of int ndarrays
        Columns that each member sees.
    standardizer_ : Standardizer or None
        Scales X as the members expect it; None without ``standardize``.
    n_models_trained_ : int
        Base models trained in all, the final ensemble included.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features; only where X has names that are all strings.

    See Also
    --------
    RandomSubspaceClassifier : The same for classification.
    PRSRegressor : Learns which features members should see.

    References
    ----------
    T. K. Ho, "The random subspace method for constructing decision forests", IEEE Transactions on
    Pattern Analysis and Machine Intelligence, 1998.

    Examples
    --------
    >>> from randsub import RandomSubspaceRegressor
    >>> from randsub.datasets import make_friedman
    >>> X, y, _ = make_friedman(n_samples=200, n_irrelevant=10, random_state=0)
    >>> model = RandomSubspaceRegressor(random_state=0).fit(X[:150], y[:150])
    >>> model.validation_scores_["max_features"].tolist()
    [1, 2, 3, 4, 5, 8, 15]
    >>> bool(model.score(X[150:], y[150:]) > 0.5)
    True
    """


class RandomSubspaceClassifier(ClassificationEnsemble, BaseRandomSubspace):
    """Random-subspace ensemble for classification whose members see K features, chosen uniformly.

    Parameters
    ----------
    estimator : estimator, default=None
        The base model, any scikit-learn classifier; a decision tree by default.
    n_estimators : int, default=100
        Number of members.
    max_features : int, float, "sqrt" or "validation", default="validation"
        K, the number of features that a member sees; a share of the M features; the square root of
        M; or what has the best accuracy on validation among 1, M/100, M/50, M/20, M/10, M/5, M/3,
        M/2, sqrt(M) and M (of equal ones the smallest). Numbers are rounded, and at least 1.
    voting : {"auto", "soft", "hard"}, default="hard"
        Whether members give one vote or probabilities; "auto" is "soft" where the base model has
        ``predict_proba``, else "hard".
    validation_fraction : float, default=0.2
        Share of the samples that is set aside to choose K; the final ensemble is trained on all of
        them. Ignored when ``fit`` is given validation data, or K is fixed.
    standardize : bool, default=True
        Scale dense numeric columns to mean 0 and deviation 1, by the training samples. Sparse
        data is scaled without centring; non-numeric columns of a frame are left alone.
    engine : {"auto", "neighbors", "tree", "moments", "kernel", "generic"} or subclass of \
            Engine, default="auto"
        How many models are trained at once; "auto" takes the fastest engine that reproduces the
        base model exactly.
    n_jobs : int, default=None
        Number of workers. The result is the same for any number and any joblib backend.
    task_timeout : float or None, default=None
        Seconds that training one base model may take before the fit ends with an error that names
        its features. The clock runs from the moment a worker should begin. With a limit, base
        models go to workers one by one; those of compiled engines by the task.
    random_state : int, RandomState instance or None, default=None
        Fix it to get the same result, bit for bit, at every call.
    verbose : int, default=0
        1 shows a progress bar over the values of K that are tried.

    Attributes
    ----------
    max_features_ : int
        K.
    validation_scores_ : pandas.DataFrame
        Columns ``max_features`` and ``score``; only with ``max_features="validation"``.
    expected_size_ : float
        K as well, by the name that other ensembles have for it.
    estimator_ : estimator
        The base model, unfitted.
    estimators_ : list of estimators
        The fitted members. With ``standardize``, they expect columns as
        ``standardizer_.transform`` gives them.
    estimators_features_ : list of int ndarrays
        Columns that each member sees.
    standardizer_ : Standardizer or None
        Scales X as the members expect it; None without ``standardize``.
    n_models_trained_ : int
        Base models trained in all, the final ensemble included.
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features; only where X has names that are all strings.

    See Also
    --------
    RandomSubspaceRegressor : The same for regression.
    PRSClassifier : Learns which features members should see.

    References
    ----------
    T. K. Ho, "The random subspace method for constructing decision forests", IEEE Transactions on
    Pattern Analysis and Machine Intelligence, 1998.

    Examples
    --------
    >>> from randsub import RandomSubspaceClassifier
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = RandomSubspaceClassifier(KNeighborsClassifier(), max_features=2, random_state=0)
    >>> {len(features) for features in model.fit(X, y).estimators_features_}
    {2}
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **BaseRandomSubspace._parameter_constraints,
        **VOTING,
    }

    def __init__(
        self,
        estimator: Any = None,
        *,
        n_estimators: int = 100,
        max_features: float | Literal["sqrt", "validation"] = "validation",
        voting: Literal["auto", "soft", "hard"] = "hard",
        validation_fraction: float | None = 0.2,
        standardize: bool = True,
        engine: str | type[Engine] = "auto",
        n_jobs: int | None = None,
        task_timeout: float | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        super().__init__(
            estimator,
            n_estimators=n_estimators,
            max_features=max_features,
            validation_fraction=validation_fraction,
            standardize=standardize,
            engine=engine,
            n_jobs=n_jobs,
            task_timeout=task_timeout,
            random_state=random_state,
            verbose=verbose,
        )
        self.voting = voting
