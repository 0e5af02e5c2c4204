"""Support vector machines, compiled.

The engine says what it can train and turns parameters and weights into bounds and scales; training
and prediction of a mask are in :mod:`~randsub.engines.svm.kernels`, the solver in
:mod:`~randsub.engines.svm.smo`.

Predictions are those of scikit-learn up to the tolerance of the solver: two solutions, each within
``tol`` of the optimality conditions.
"""

import math
from collections.abc import Mapping
from itertools import combinations
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.svm import SVC, SVR
from sklearn.utils.class_weight import compute_class_weight

from randsub._sklearn import gamma_of
from randsub._tables import value_range
from randsub._typing import FloatArray, IntArray, Table
from randsub.engines.base import aligned
from randsub.engines.compiled import CompiledEngine, MaskBatch, Parameters, in_portions
from randsub.engines.svm.kernels import DualProblem, train_and_answer

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

PARAMETERS = Parameters(
    fixed={
        "kernel": ["rbf", "linear"],
        "max_iter": [-1],
        # Probabilities are off by default, which scikit-learn 1.9 calls "deprecated".
        "probability": [False, "deprecated"],
        "break_ties": [False],
    },
    free={"C", "epsilon", "gamma", "tol", "class_weight"}
    # These are without effect on the votes or values of the kernels above.
    | {"degree", "coef0", "shrinking", "cache_size", "verbose", "decision_function_shape"}
    | {"random_state"},
)


class SVMEngine(CompiledEngine):
    """SVC and SVR with Gaussian ("rbf") or linear kernels.

    Any C, epsilon, gamma, tol, class and sample weights; no limit of steps, no NaN.
    """

    most_rows: ClassVar[int | None] = MOST_ROWS
    reproduced: ClassVar[Mapping[type, Parameters]] = dict.fromkeys((SVC, SVR), PARAMETERS)

    @classmethod
    def _obstacle(cls, estimator: Any, X: Table, sample_weight: FloatArray | None) -> str | None:
        params = estimator.get_params(deep=False)
        weights = params.get("class_weight")
        numbers = [value for value in params.values() if isinstance(value, Real)]
        if isinstance(weights, dict):
            if not all(
                isinstance(weight, Real) and float(weight) > 0.0 for weight in weights.values()
            ):
                return f"does not support class_weight={weights}; use numbers above 0"
            numbers += weights.values()
        if not all(map(math.isfinite, numbers)):
            return "does not support infinite parameters; use large numbers"
        if not _is_moderate(np.array(value_range(X))):
            return f"supports numbers up to {LARGEST_VALUE:g}; use other units"
        return None

    def _predict_fitted(self, model: Any, X: Table) -> FloatArray | None:
        learner, vectors = self.learner, model.support_vectors_
        is_soft = learner.classes is not None and learner.voting == "soft"
        # A model that a user has changed may have another kernel.
        if is_soft or not (PARAMETERS.hold(model) and isinstance(vectors, np.ndarray)):
            return None

        def predict(rows: FloatArray) -> FloatArray:
            kernel = _kernel(model, rows)
            if learner.classes is None:
                return kernel @ model.dual_coef_.T + model.intercept_
            return _pair_votes(model, kernel)

        # A linear kernel is one array, the other one has three on the way. And OpenBLAS multiplies
        # small matrices, of less than a million products, in an order of their own.
        n_numbers = len(vectors) // 4 if model.kernel == "linear" else len(vectors)
        prediction = in_portions(predict, X, n_numbers)
        return prediction if learner.classes is None else aligned(learner, model, prediction)

    def _steps_aside(self, y_train: Any, sample_weight: FloatArray | None) -> bool:
        # Where something is not as it should be, scikit-learn has the words for it.
        counted = y_train if sample_weight is None else y_train[sample_weight > 0.0]
        if self.learner.classes is None:
            aside = len(counted) == 0 or not _is_moderate(y_train)
        else:
            aside = self.learner.voting == "soft" or (
                len(counted) < len(y_train) and len(np.unique(counted)) < len(np.unique(y_train))
            )
        try:
            return aside or self._smallest_bound(y_train, sample_weight) < LEAST_BOUND
        except ValueError:
            return True

    def _smallest_bound(self, y_train: Any, sample_weight: FloatArray | None) -> float:
        """The smallest bound of a coefficient, of samples that count."""
        smallest = float(self.learner.estimator.C)
        if sample_weight is not None:
            smallest *= float(sample_weight[sample_weight > 0.0].min())
        return smallest * float(np.min(self._class_weight(y_train)))

    def _class_weight(self, labels: Any) -> FloatArray:
        """Factors of C for the classes that are there, in their order; a single one for all."""
        wanted = getattr(self.learner.estimator, "class_weight", None)
        if wanted is None:
            return np.ones(1)
        weights = compute_class_weight(wanted, classes=np.unique(labels), y=labels)
        return np.asarray(weights, dtype=np.float64)

    def _problem(self, batch: MaskBatch) -> tuple[IntArray, DualProblem]:
        """The order of the training rows, classes end to end, and what is to be solved for them.

        Rows without weight are left out.
        """
        classes, machine, targets = self.learner.classes, self.learner.estimator, batch.targets
        bound = np.full(batch.columns.shape[1], float(machine.C))
        if batch.weights is not None:
            bound *= np.where(batch.weights > 0.0, batch.weights, 0.0)
        if classes is None:
            order = np.flatnonzero(bound)
            target = np.asarray(targets, dtype=np.float64)[order]
            # One class, and an empty one.
            starts, pairs = np.array([0, len(order), len(order)]), np.array([[0, 1]])
            present, epsilon = np.zeros(1, dtype=np.int64), float(machine.epsilon)
        else:
            weight = self._class_weight(classes[targets])
            if len(weight) > 1:
                bound *= weight[np.unique(targets, return_inverse=True)[1]]
            order = np.argsort(targets, kind="stable")
            order = order[bound[order] > 0.0]
            present, starts = np.unique(targets[order], return_index=True)
            starts = np.append(starts, len(order))
            pairs = np.column_stack(np.triu_indices(len(present), 1))
            target, epsilon = np.zeros(len(order)), 0.0
        return order, DualProblem(
            target,
            bound[order],
            starts.astype(np.int64),
            pairs.astype(np.int64),
            present.astype(np.int64),
            linear=machine.kernel == "linear",
            regression=classes is None,
            epsilon=epsilon,
            tol=float(machine.tol),
            most_steps=MOST_STEPS,
        )

    def _predict(self, batch: MaskBatch) -> FloatArray:
        order, problem = self._problem(batch)
        scale = np.ones(len(batch.masks))
        if not problem.linear:
            scale = np.sqrt(2.0 * _gammas(self.learner.estimator.gamma, batch))
        # Distances do not mind, and the coefficients add up to 0: the origin is free, and products
        # are the more precise for being about the mean.
        center = batch.columns.mean(axis=1, keepdims=True)
        columns, query = batch.columns - center, batch.query - center
        most = LARGEST_VALUE if problem.linear else PRECISE
        fits = _largest(columns, batch.subsets) * scale <= most
        fits &= _largest(query, batch.subsets) * scale <= LARGEST_VALUE
        out = batch.answers(self.learner, 0.0)
        rows = np.ascontiguousarray(columns[:, order])
        train_and_answer(rows, query, problem, batch.subsets, np.where(fits, scale, 0.0), out)
        out[~fits] = np.nan
        return out


def _kernel(model: Any, X: FloatArray) -> FloatArray:
    """The kernel between samples and the support vectors of a fitted model, (n, n_vectors)."""
    vectors = model.support_vectors_
    if model.kernel == "linear":
        return X @ vectors.T
    # Distances are the more precise for being those of small numbers.
    center = vectors.mean(axis=0) if len(vectors) else 0.0
    return np.exp(-gamma_of(model) * cdist(X - center, vectors - center, "sqeuclidean"))


def _pair_votes(model: Any, kernel: FloatArray) -> FloatArray:
    """Number of pairs that each class of a fitted classifier wins, (n, C)."""
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
    """Whether sums of products of these values are finite; not, if one is NaN."""
    return bool(np.abs(np.asarray(values, dtype=np.float64)).max(initial=0.0) <= LARGEST_VALUE)


def _largest(columns: FloatArray, subsets: tuple[IntArray, IntArray]) -> FloatArray:
    """Largest absolute value in the columns of each mask, shape (T,)."""
    begin, held = subsets
    return np.maximum.reduceat(np.abs(columns).max(axis=1, initial=0.0)[held], begin[:-1])


def _gammas(gamma: Any, batch: MaskBatch) -> FloatArray:
    """The factor of squared distances in each mask's Gaussian kernel, shape (T,)."""
    begin, held = batch.subsets
    sizes, first = np.diff(begin), begin[:-1]
    if gamma == "auto":
        return 1.0 / sizes
    if gamma != "scale":
        return np.full(len(sizes), float(gamma))
    means, spreads = batch.columns.mean(axis=1), batch.columns.var(axis=1)
    center = np.add.reduceat(means[held], first) / sizes
    apart = (means[held] - np.repeat(center, sizes)) ** 2
    variance = np.add.reduceat(spreads[held] + apart, first) / sizes
    with np.errstate(divide="ignore", over="ignore"):
        gammas = np.minimum(1.0 / (sizes * variance), LARGEST_GAMMA)
    # Rows that are all the same predict a constant, whatever gamma; scikit-learn's is 1.
    return np.where(variance == 0.0, 1.0, gammas)
