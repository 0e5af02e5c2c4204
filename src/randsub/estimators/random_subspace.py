"""The random subspace method: each member sees K features, drawn uniformly."""

from contextlib import closing
from dataclasses import dataclass
from numbers import Integral
from typing import Any, ClassVar, Literal

import numpy as np
import pandas as pd

from randsub._compile import when_compiling
from randsub._progress import Bar
from randsub._sklearn import Interval, RealNotInt, StrOptions
from randsub._typing import BoolArray
from randsub.checkpoint import Logbook
from randsub.estimators.base import ClassificationEnsemble, RegressionEnsemble, SubspaceEnsemble
from randsub.estimators.constraints import COMMON, VOTING
from randsub.estimators.cross_validation import validation_score
from randsub.estimators.fit_data import FitData
from randsub.estimators.run import Draw, train_members
from randsub.exceptions import BaseModelError
from randsub.parallel import one_thread

# "validation" tries K = 1, sqrt(M), and M divided by each of these.
PARTS = (100, 50, 20, 10, 5, 3, 2, 1)


@dataclass(eq=False, repr=False, kw_only=True)
class BaseRandomSubspace(SubspaceEnsemble):
    """Common part of classifier and regressor."""

    max_features: float | Literal["sqrt", "validation"] = "validation"

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **COMMON,
        "max_features": [
            Interval(Integral, 1, None, closed="left"),
            Interval(RealNotInt, 0, 1, closed="right"),
            StrOptions({"sqrt", "validation"}),
        ],
    }

    def _splits_validation(self) -> bool:
        # With K fixed there is nothing to choose: all rows are for training.
        return self.max_features == "validation" and super()._splits_validation()

    def _learn(self, data: FitData, logbook: Logbook) -> None:
        n_features, rng = self.n_features_in_, data.rngs[0]
        if self.max_features == "validation":
            self.max_features_, n_models = self._chosen(data, rng)
        else:
            self.max_features_, n_models = self._fixed(), 0
        self.expected_size_ = float(self.max_features_)
        self.n_models_trained_ = n_models + self.n_estimators
        masks = draw_masks(self.n_estimators, n_features, self.max_features_, rng)
        self.estimators_, self.estimators_features_ = train_members(data, [Draw(masks, rng)])

    def _fixed(self) -> int:
        """K as given by ``max_features``."""
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

    def _chosen(self, data: FitData, rng: np.random.Generator) -> tuple[int, int]:
        """K with the best validation score, and the number of models trained to find it."""
        if not len(data.val_rows):
            raise ValueError(
                "max_features='validation' needs validation data: pass X_val and y_val to fit, or "
                f"set validation_fraction (now {self.validation_fraction}), or fix max_features."
            )
        sizes = candidate_sizes(self.n_features_in_)
        name, scores = type(self).__name__, []
        bar = Bar(name, len(sizes), "size", shown=bool(self.verbose))
        # Sums must not depend on the number of threads.
        with closing(bar), one_thread(), when_compiling(bar.say_compiling):
            for size in sizes:
                masks = draw_masks(self.n_estimators, self.n_features_in_, size, rng)
                try:
                    scores.append(validation_score(data, masks, rng))
                except BaseModelError as error:
                    stage = f"with max_features={size}"
                    raise error.located(data.feature_names, None, stage) from error.__cause__
                bar.tell(max_features=str(size), validation=f"{scores[-1]:.4f}")
                bar.advance()
        self.validation_scores_ = pd.DataFrame({"max_features": sizes, "score": scores})
        # Sizes ascend, so ties go to the smallest.
        return sizes[int(np.argmax(scores))], len(sizes) * self.n_estimators


def round_size(size: float) -> int:
    """Round to a number of features, at least 1."""
    return max(1, round(float(size)))


def candidate_sizes(n_features: int) -> list[int]:
    """Values of K to try, ascending."""
    sizes = {1, round_size(np.sqrt(n_features)), *(round_size(n_features / p) for p in PARTS)}
    return sorted(sizes)


def draw_masks(n_masks: int, n_features: int, size: int, rng: np.random.Generator) -> BoolArray:
    """Draw subsets of one size uniformly, (n_masks, n_features)."""
    masks = np.zeros((n_masks, n_features), dtype=bool)
    for mask in masks:
        mask[rng.choice(n_features, size, replace=False, shuffle=False)] = True
    return masks


class RandomSubspaceRegressor(RegressionEnsemble, BaseRandomSubspace):
    """Random subspace ensemble for regression.

    Each base model is trained on K of the M features, drawn uniformly without replacement; the
    predictions are averaged.

    Parameters
    ----------
    estimator : estimator, default=None
        The base model, any scikit-learn regressor. None means a decision tree.
    n_estimators : int, default=100
        Number of members.
    max_features : int, float, "sqrt" or "validation", default="validation"
        Number of features per member, K.

        - int: K itself;
        - float: fraction of the M features;
        - "sqrt": the square root of M;
        - "validation": the value with the best validation R2 among 1, M/100, M/50, M/20, M/10,
          M/5, M/3, M/2, sqrt(M) and M; ties go to the smallest.

        Values are rounded to an integer of at least 1.
    validation_fraction : float, default=0.2
        Fraction of the samples set aside to choose K; the final ensemble is trained on all
        samples. Ignored if validation data is passed to ``fit``, or if K is fixed.
    standardize : bool, default=True
        Whether to scale dense numeric columns to mean 0 and standard deviation 1 on the training
        samples. Sparse data is scaled without centring; non-numeric columns of a frame are left
        unchanged.
    engine : {"auto", "knn", "tree", "svm", "linear_and_bayes", "boosting", "torch", \
            "generic"} or subclass of Engine, default="auto"
        Backend that trains the base models; "auto" is the fastest one that reproduces the base
        model exactly.
    device : str or None, default=None
        Device of the engine "torch"; see :class:`randsub.PRSClassifier`.
    n_jobs : int, default=None
        Number of workers. The result does not depend on it, nor on the joblib backend.
    task_timeout : float or None, default=None
        Time limit in seconds for training one base model, after which the fit ends with an error
        that names its features. With a limit, base models are sent to the workers one by one;
        those of compiled engines in groups.
    random_state : int, RandomState instance or None, default=None
        Seed. The same integer gives the same result, bit for bit.
    verbose : int, default=0
        If positive, show a progress bar over the values of K.

    Attributes
    ----------
    max_features_ : int
        Number of features per member, K.
    validation_scores_ : pandas.DataFrame
        Columns ``max_features`` and ``score``; only with ``max_features="validation"``.
    expected_size_ : float
        K, under the name that the other ensembles use.
    estimator_ : estimator
        The unfitted base model.
    engine_ : str
        Engine that trained the members: one of those of the parameter ``engine``.
    estimators_ : list of estimators
        The fitted members. With ``standardize``, they expect the output of
        ``standardizer_.transform``.
    estimators_features_ : list of int ndarrays
        Columns used by each member.
    standardizer_ : Standardizer or None
        Scales X for the members; None without ``standardize``.
    n_models_trained_ : int
        Number of base models trained, including the final ensemble.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (n_features,)
        Feature names; only defined if X has feature names that are all strings.

    See Also
    --------
    RandomSubspaceClassifier : The same method for classification.
    PRSRegressor : Learns the probability of drawing each feature.

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


@dataclass(eq=False, repr=False, kw_only=True)
class RandomSubspaceClassifier(ClassificationEnsemble, BaseRandomSubspace):
    """Random subspace ensemble for classification.

    Each base model is trained on K of the M features, drawn uniformly without replacement; votes
    or probabilities are averaged.

    Parameters
    ----------
    estimator : estimator, default=None
        The base model, any scikit-learn classifier. None means a decision tree.
    n_estimators : int, default=100
        Number of members.
    max_features : int, float, "sqrt" or "validation", default="validation"
        Number of features per member, K.

        - int: K itself;
        - float: fraction of the M features;
        - "sqrt": the square root of M;
        - "validation": the value with the best validation accuracy among 1, M/100, M/50, M/20,
          M/10, M/5, M/3, M/2, sqrt(M) and M; ties go to the smallest.

        Values are rounded to an integer of at least 1.
    voting : {"hard", "soft"}, default="hard"
        Whether members give one vote or their probabilities.
    validation_fraction : float, default=0.2
        Fraction of the samples set aside to choose K; the final ensemble is trained on all
        samples. Ignored if validation data is passed to ``fit``, or if K is fixed.
    standardize : bool, default=True
        Whether to scale dense numeric columns to mean 0 and standard deviation 1 on the training
        samples. Sparse data is scaled without centring; non-numeric columns of a frame are left
        unchanged.
    engine : {"auto", "knn", "tree", "svm", "linear_and_bayes", "boosting", "torch", \
            "generic"} or subclass of Engine, default="auto"
        Backend that trains the base models; "auto" is the fastest one that reproduces the base
        model exactly.
    device : str or None, default=None
        Device of the engine "torch"; see :class:`randsub.PRSClassifier`.
    n_jobs : int, default=None
        Number of workers. The result does not depend on it, nor on the joblib backend.
    task_timeout : float or None, default=None
        Time limit in seconds for training one base model, after which the fit ends with an error
        that names its features. With a limit, base models are sent to the workers one by one;
        those of compiled engines in groups.
    random_state : int, RandomState instance or None, default=None
        Seed. The same integer gives the same result, bit for bit.
    verbose : int, default=0
        If positive, show a progress bar over the values of K.

    Attributes
    ----------
    max_features_ : int
        Number of features per member, K.
    validation_scores_ : pandas.DataFrame
        Columns ``max_features`` and ``score``; only with ``max_features="validation"``.
    expected_size_ : float
        K, under the name that the other ensembles use.
    estimator_ : estimator
        The unfitted base model.
    engine_ : str
        Engine that trained the members: one of those of the parameter ``engine``.
    estimators_ : list of estimators
        The fitted members. With ``standardize``, they expect the output of
        ``standardizer_.transform``.
    estimators_features_ : list of int ndarrays
        Columns used by each member.
    standardizer_ : Standardizer or None
        Scales X for the members; None without ``standardize``.
    n_models_trained_ : int
        Number of base models trained, including the final ensemble.
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (n_features,)
        Feature names; only defined if X has feature names that are all strings.

    See Also
    --------
    RandomSubspaceRegressor : The same method for regression.
    PRSClassifier : Learns the probability of drawing each feature.

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
