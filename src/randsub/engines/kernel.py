"""Support vector machines, compiled.

The engine says what it can train and turns parameters and weights into bounds and scales; training
and prediction of a mask are in :mod:`~randsub.engines.support`, the solver in
:mod:`~randsub.engines.smo`.

Predictions are those of scikit-learn up to the tolerance of the solver: two solutions, each within
``tol`` of the optimality conditions.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import combinations
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.svm import SVC, SVR
from sklearn.utils.class_weight import compute_class_weight

from randsub._tables import value_range
from randsub._typing import BoolArray, FloatArray, IntArray, Table
from randsub.engines.compiled import CompiledEngine, is_dense_numeric, lines, sparse_rows
from randsub.engines.members import aligned
from randsub.engines.support import train_and_answer

# A kernel matrix of 4,000 rows takes 128 MB, in each thread.
MOST_ROWS = 4000
# Sums of products of larger values might not be finite.
LARGEST_VALUE = 1e50
# Squares of this size leave differences of them a precision of 1e-7.
PRECISE = 1e4
# A product of C and weights below this has lost digits, or is 0: then a sample, or all of a class,
# would be missing from the problem.
LEAST_BOUND = float(np.finfo(np.float64).tiny)
# Problems that take more steps go to LIBSVM, which leaves out rows that have long settled.
MOST_STEPS = 10**7
# In place of infinity, for variances next to nothing.
LARGEST_GAMMA = 1e307


def _is_number(least: float, *, open_end: bool) -> Callable[[Any], bool]:
    """A test for finite numbers from ``least`` on, or above it."""

    def test(value: Any) -> bool:
        return (
            isinstance(value, Real)
            and math.isfinite(value)
            and (float(value) > least if open_end else float(value) >= least)
        )

    return test


def _is_boolean(value: Any) -> bool:
    return isinstance(value, bool | np.bool_)


def _is_gamma(value: Any) -> bool:
    if isinstance(value, str):
        return value in ("scale", "auto")
    return _is_number(0.0, open_end=False)(value)


def _is_class_weight(value: Any) -> bool:
    if isinstance(value, dict):
        return all(_is_number(0.0, open_end=True)(weight) for weight in value.values())
    return value is None or (isinstance(value, str) and value == "balanced")


def _is_random_state(value: Any) -> bool:
    return value is None or isinstance(value, Integral | np.random.RandomState)


# What each parameter may be. One that is not here is one that nobody has thought about.
SUPPORTED: Mapping[str, Callable[[Any], bool]] = {
    "kernel": lambda value: isinstance(value, str) and value in ("rbf", "linear"),
    "C": _is_number(0.0, open_end=True),
    "epsilon": _is_number(0.0, open_end=False),
    "gamma": _is_gamma,
    "tol": _is_number(0.0, open_end=True),
    "max_iter": lambda value: isinstance(value, Integral) and value == -1,
    "class_weight": _is_class_weight,
    # Probabilities are off by default, which scikit-learn 1.9 calls "deprecated".
    "probability": lambda value: value is False or value == "deprecated",
    "break_ties": lambda value: _is_boolean(value) and not value,
    # These are without effect on the votes or values of the kernels above.
    "degree": lambda value: isinstance(value, Integral) and int(value) >= 0,
    "coef0": _is_number(-math.inf, open_end=True),
    "shrinking": _is_boolean,
    "cache_size": _is_number(0.0, open_end=True),
    "verbose": lambda value: isinstance(value, Integral) and int(value) >= 0,
    "decision_function_shape": lambda value: value in ("ovr", "ovo"),
    "random_state": _is_random_state,
}


def _is_supported(machine: Any) -> bool:
    params = machine.get_params(deep=False)
    return all(name in SUPPORTED and SUPPORTED[name](value) for name, value in params.items())


@dataclass(frozen=True)
class _Problem:
    """The training rows of all masks: classes end to end, rows without weight left out.

    ``starts`` says where each class begins, and where the last one ends; ``pairs`` are those that
    are told apart. In regression there is one class, and an empty one.
    """

    order: IntArray
    target: FloatArray
    bound: FloatArray
    starts: IntArray
    pairs: IntArray
    classes: IntArray
    epsilon: float


class KernelEngine(CompiledEngine):
    """SVC and SVR with Gaussian ("rbf") or linear kernels."""

    most_rows: ClassVar[int | None] = MOST_ROWS

    @classmethod
    def is_usable_for(
        cls, estimator: Any, X: Table, y: Any, sample_weight: FloatArray | None
    ) -> bool:
        """Any C, epsilon, gamma, tol, class and sample weights; no limit of steps, no NaN."""
        if type(estimator) not in (SVC, SVR):
            return False
        return (
            _is_supported(estimator)
            and is_dense_numeric(X)
            and _is_moderate(np.array(value_range(X)))
        )

    def ask(self, model: Any, X: Table) -> FloatArray | None:
        """Kernels with the model's support vectors, and its coefficients."""
        learner = self.learner
        if type(model) is not type(learner.estimator) or not is_dense_numeric(X):
            return None
        # A member that a user has put in place of ours may have another kernel.
        if not (_is_supported(model) and isinstance(model.support_vectors_, np.ndarray)):
            return None
        kernel = _kernel(model, lines(X).T)
        if learner.classes is None:
            return kernel @ model.dual_coef_.T + model.intercept_
        if learner.voting == "soft":
            return None
        return aligned(learner, model, _pair_votes(model, kernel))

    def _steps_aside(self, y_train: Any, sample_weight: FloatArray | None) -> bool:
        # Where something is not as it should be, scikit-learn has the words for it.
        counted = y_train if sample_weight is None else y_train[sample_weight > 0.0]
        if self.learner.classes is None:
            return (
                len(counted) == 0
                or not _is_moderate(y_train)
                or self._smallest_bound(y_train, sample_weight) < LEAST_BOUND
            )
        if self.learner.voting == "soft":
            return True
        if len(counted) < len(y_train) and len(np.unique(counted)) < len(np.unique(y_train)):
            return True
        try:
            return self._smallest_bound(y_train, sample_weight) < LEAST_BOUND
        except ValueError:
            return True

    def _smallest_bound(self, y_train: Any, sample_weight: FloatArray | None) -> float:
        """The smallest bound of a coefficient, of samples that count."""
        smallest = float(self.learner.estimator.C)
        if sample_weight is not None:
            smallest *= float(sample_weight[sample_weight > 0.0].min())
        if self.learner.classes is not None:
            weight = self._class_weight(y_train)
            smallest *= 1.0 if weight is None else float(weight.min())
        return smallest

    def _class_weight(self, labels: Any) -> FloatArray | None:
        """Factors of C for the classes that are there, in their order; None for none."""
        wanted = self.learner.estimator.class_weight
        if wanted is None:
            return None
        weights = compute_class_weight(wanted, classes=np.unique(labels), y=labels)
        return np.asarray(weights, dtype=np.float64)

    def _problem(self, n_rows: int, targets: Any, sample_weight: FloatArray | None) -> _Problem:
        classes, machine = self.learner.classes, self.learner.estimator
        bound = np.full(n_rows, float(machine.C))
        if sample_weight is not None:
            bound *= np.where(sample_weight > 0.0, sample_weight, 0.0)
        if classes is None:
            order = np.flatnonzero(bound)
            target = np.asarray(targets, dtype=np.float64)[order]
            starts, pairs = np.array([0, len(order), len(order)]), np.array([[0, 1]])
            alone, epsilon = np.zeros(1, dtype=np.int64), float(machine.epsilon)
            return _Problem(order, target, bound[order], starts, pairs, alone, epsilon)
        weight = self._class_weight(classes[targets])
        if weight is not None:
            bound *= weight[np.unique(targets, return_inverse=True)[1]]
        order = np.argsort(targets, kind="stable")
        order = order[bound[order] > 0.0]
        present, starts = np.unique(targets[order], return_index=True)
        starts = np.append(starts, len(order))
        pairs = np.column_stack(np.triu_indices(len(present), 1))
        return _Problem(order, np.zeros(len(order)), bound[order], starts, pairs, present, 0.0)

    def _predict(
        self,
        columns: FloatArray,
        targets: Any,
        masks: BoolArray,
        query: FloatArray,
        seeds: IntArray,
        sample_weight: FloatArray | None,
    ) -> FloatArray:
        learner, machine = self.learner, self.learner.estimator
        problem = self._problem(columns.shape[1], targets, sample_weight)
        begin, held = sparse_rows(masks)
        linear = machine.kernel == "linear"
        scale = np.ones(len(masks))
        if not linear:
            scale = np.sqrt(2.0 * _gammas(machine.gamma, columns, begin, held))
        # Distances do not mind, and the coefficients add up to 0: the origin is free, and products
        # are the more precise for being about the mean.
        center = columns.mean(axis=1, keepdims=True)
        columns, query = columns - center, query - center
        fits = _largest(columns, begin, held) * scale <= (LARGEST_VALUE if linear else PRECISE)
        fits &= _largest(query, begin, held) * scale <= LARGEST_VALUE
        out = np.zeros((len(masks), query.shape[1], learner.n_outputs))
        train_and_answer(
            np.ascontiguousarray(columns[:, problem.order]),
            query,
            problem.target,
            problem.bound,
            problem.starts.astype(np.int64),
            problem.pairs.astype(np.int64),
            problem.classes.astype(np.int64),
            begin,
            held,
            np.where(fits, scale, 0.0),
            linear,
            learner.classes is None,
            problem.epsilon,
            float(machine.tol),
            MOST_STEPS,
            out,
        )
        out[~fits] = np.nan
        return out


def _kernel(model: Any, X: FloatArray) -> FloatArray:
    """The kernel between samples and the support vectors of a fitted model, (n, n_vectors)."""
    vectors = model.support_vectors_
    if model.kernel == "linear":
        return X @ vectors.T
    # Distances are the more precise for being those of small numbers.
    center = vectors.mean(axis=0) if len(vectors) else 0.0
    return np.exp(-model._gamma * cdist(X - center, vectors - center, "sqeuclidean"))


def _pair_votes(model: Any, kernel: FloatArray) -> FloatArray:
    """How many of its pairs each class of a fitted classifier wins, (n, C)."""
    n_classes = len(model.classes_)
    votes = np.zeros((len(kernel), n_classes))
    if n_classes == 2:
        # Here, and only here, scikit-learn turns the sign: from 0 on it is the second class.
        second = (kernel @ model.dual_coef_[0] + model.intercept_[0]) >= 0.0
        return np.column_stack([~second, second]).astype(float)
    ends = np.cumsum(model.n_support_)
    of_class = [slice(end - n, end) for end, n in zip(ends, model.n_support_, strict=True)]
    for pair, (a, b) in enumerate(combinations(range(n_classes), 2)):
        one, other = of_class[a], of_class[b]
        decision = kernel[:, one] @ model.dual_coef_[b - 1, one]
        decision += kernel[:, other] @ model.dual_coef_[a, other] + model.intercept_[pair]
        votes[:, a] += decision > 0.0
        votes[:, b] += decision <= 0.0
    return votes


def _is_moderate(values: Any) -> bool:
    """Whether sums of products of these values are finite; not, if one is not a number."""
    return bool(np.abs(np.asarray(values, dtype=np.float64)).max(initial=0.0) <= LARGEST_VALUE)


def _largest(columns: FloatArray, begin: IntArray, held: IntArray) -> FloatArray:
    """Largest absolute value in the columns of each mask, shape (T,)."""
    sizes = np.abs(columns).max(axis=1, initial=0.0)
    return np.maximum.reduceat(sizes[held], begin[:-1])


def _gammas(gamma: Any, columns: FloatArray, begin: IntArray, held: IntArray) -> FloatArray:
    """The factor of squared distances in each mask's Gaussian kernel, shape (T,)."""
    sizes = np.diff(begin)
    if gamma == "auto":
        return 1.0 / sizes
    if gamma != "scale":
        return np.full(len(sizes), float(gamma))
    first = begin[:-1]
    means = columns.mean(axis=1)
    spreads = columns.var(axis=1)
    center = np.add.reduceat(means[held], first) / sizes
    apart = (means[held] - np.repeat(center, sizes)) ** 2
    variance = np.add.reduceat(spreads[held] + apart, first) / sizes
    with np.errstate(divide="ignore", over="ignore"):
        gammas = np.minimum(1.0 / (sizes * variance), LARGEST_GAMMA)
    # Rows that are all the same predict a constant, whatever gamma; scikit-learn's is 1.
    return np.where(variance == 0.0, 1.0, gammas)
