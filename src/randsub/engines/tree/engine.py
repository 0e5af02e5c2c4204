"""Decision trees, compiled.

Each column is sorted once for all trees; growing them is the business of
:mod:`randsub.engines.tree.kernels`.

Splits are those of scikit-learn's best splitter on single-precision columns. Where several are
equally good, scikit-learn tries columns in random order and the first wins; here one is drawn from
them: equal in law, not in every tree. Within a column the first place wins.
"""

import math
from collections.abc import Mapping
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from randsub._tables import value_range
from randsub._typing import BoolArray, FloatArray, Table
from randsub.engines.base import aligned
from randsub.engines.compiled import CompiledEngine, MaskBatch, Parameters, lines
from randsub.engines.tree.kernels import ENTROPY, EPSILON, GINI, SQUARES, Limits, grow_and_predict

CRITERIA = {"squared_error": SQUARES, "gini": GINI, "entropy": ENTROPY, "log_loss": ENTROPY}
UNLIMITED = np.iinfo(np.int32).max


PARAMETERS = Parameters(
    fixed={
        "criterion": CRITERIA,
        "splitter": ["best"],
        "max_features": [None],
        "max_leaf_nodes": [None],
        "min_weight_fraction_leaf": [0.0],
        "ccp_alpha": [0.0],
        "class_weight": [None],
        "monotonic_cst": [None],
    },
    free={"max_depth", "min_samples_split", "min_samples_leaf", "min_impurity_decrease"}
    | {"random_state"},
)


class TreeEngine(CompiledEngine):
    """DecisionTreeClassifier and DecisionTreeRegressor with the best splitter.

    Squared error, gini, entropy; limits of depth, sizes and impurity; no weights, no NaN.
    """

    reproduced: ClassVar[Mapping[type, Parameters]] = dict.fromkeys(
        (DecisionTreeClassifier, DecisionTreeRegressor), PARAMETERS
    )
    # Equal masks may break ties differently, and their average is the better for it.
    deterministic: ClassVar[bool] = False
    can_bootstrap: ClassVar[bool] = True

    @classmethod
    def _takes(cls, estimator: Any, X: Table, sample_weight: FloatArray | None) -> bool:
        return sample_weight is None and fits_single(X)

    def _predict_fitted(self, model: Any, X: Table) -> FloatArray | None:
        learner = self.learner
        with np.errstate(over="ignore"):
            single = np.ascontiguousarray(lines(X).T, dtype=np.float32)
        if not np.isfinite(single).all():
            return None
        values = model.tree_.predict(single).reshape(len(single), -1)
        if learner.classes is None:
            return values.astype(np.float64)
        return aligned(learner, model, values / values.sum(axis=1, keepdims=True))

    def _predict(self, batch: MaskBatch) -> FloatArray:
        learner, tree = self.learner, self.learner.estimator
        criterion = CRITERIA[tree.criterion]
        single = batch.columns.astype(np.float32)
        values = np.asarray(batch.targets, dtype=np.float64)
        # Sums of squares about the mean keep their digits.
        center = values.mean() if learner.classes is None else 0.0
        if learner.n_outputs == 2 and criterion == GINI:
            # Gini is half the variance of a target that is -1 or 1.
            values = 2.0 * values - 1.0
        rows = (single.ravel(), rows_in_order(single).ravel(), values - center)
        query, strange = finite_single(batch.query)
        limits = _limits(tree, len(values), learner.n_outputs)
        out = batch.answers(learner, 0.0)
        seeds = batch.seeds.astype(np.uint64)
        grow_and_predict(
            rows, batch.subsets, seeds, learner.bootstrap, query, criterion, limits, out
        )
        if learner.classes is None:
            out += center
        elif learner.voting == "hard":
            out = np.eye(learner.n_outputs)[out.argmax(axis=2)]
        # Where missing values go is for scikit-learn to say; so is what it thinks of huge ones.
        out[batch.masks[:, strange].any(axis=1)] = np.nan
        return out


def finite_single(query: FloatArray) -> tuple[Any, BoolArray]:
    """Query rows (M, n) in single precision, and columns with values that are not finite there."""
    with np.errstate(over="ignore"):
        single = query.astype(np.float32)
    finite = np.isfinite(single)
    single[~finite] = 0.0
    return single, np.any(~finite, axis=1)


def rows_in_order(single: Any) -> Any:
    """Rows of each column (M, n) by value, equal ones as they come.

    Values and row numbers are sorted as one number each, which takes less time than argsort.
    """
    bits = single.view(np.int32)
    # As whole numbers, floats below zero are in reverse order.
    ascending = bits ^ ((bits >> 31) & 0x7FFFFFFF)
    keys = (ascending.astype(np.int64) << 32) | np.arange(single.shape[1])
    keys.sort(axis=1)
    return (keys & 0xFFFFFFFF).astype(np.int32)


def _limits(tree: Any, n_rows: int, n_outputs: int) -> Limits:
    """The limits of an estimator in counts, and in the units in which its splits are compared."""
    # A gain of one unit is this much less impurity, the rows of a node weighed among all.
    decrease = 1.0 / n_rows
    if CRITERIA[tree.criterion] == ENTROPY:
        decrease /= math.log(2.0)
    elif CRITERIA[tree.criterion] == GINI and n_outputs == 2:
        decrease /= 2.0
    least = tree.min_impurity_decrease
    # No split makes things worse, but for rounding, for which scikit-learn allows as much.
    return size_limits(tree, n_rows, (least - EPSILON) / decrease if least > 0.0 else -math.inf)


def size_limits(estimator: Any, n_rows: int, min_gain: float = -math.inf) -> Limits:
    """The limits of depth and sizes in counts, beside one of the gain."""
    min_leaf = _as_count(estimator.min_samples_leaf, n_rows, 1)
    return Limits(
        max_depth=UNLIMITED if estimator.max_depth is None else int(estimator.max_depth),
        min_split=max(_as_count(estimator.min_samples_split, n_rows, 2), 2 * min_leaf),
        min_leaf=min_leaf,
        min_gain=min_gain,
    )


def _as_count(limit: Any, n_rows: int, least: int) -> int:
    if isinstance(limit, Integral):
        return int(limit)
    return max(least, math.ceil(limit * n_rows))


def fits_single(X: Table) -> bool:
    """Whether all values are numbers that a float32 can hold; scikit-learn takes no others."""
    smallest, largest = value_range(X)
    limit = float(np.finfo(np.float32).max)
    # Comparisons with NaN are false.
    return smallest >= -limit and largest <= limit
