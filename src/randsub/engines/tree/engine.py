"""Decision trees, compiled.

Each column is sorted once for all trees; growing them is the business of
:mod:`randsub.engines.tree.kernels`.

Splits are those of scikit-learn's best splitter on single-precision columns. Where several are
equally good, scikit-learn tries columns in random order and the first wins; here one is drawn from
them: equal in law, not in every tree. Within a column the first place wins.

Rows without weights and missing values are counted; others are weighed, which takes longer. Which
of the two is done for a mask depends on the weights and on the columns of the mask alone.
"""

import math
from collections.abc import Mapping
from dataclasses import replace
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
import sklearn
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from randsub._tables import value_range
from randsub._typing import BoolArray, FloatArray, Table
from randsub.engines.base import aligned
from randsub.engines.compiled import CompiledEngine, MaskBatch, Parameters, lines
from randsub.engines.tree.kernels import Limits, grow_and_predict
from randsub.engines.tree.splits import ENTROPY, EPSILON, GINI, LARGEST, SQUARES

CRITERIA = {"squared_error": SQUARES, "gini": GINI, "entropy": ENTROPY, "log_loss": ENTROPY}
UNLIMITED = np.iinfo(np.int32).max
SINGLE_PRECISION = "supports numbers up to 3.4e38, as scikit-learn does; use other units"
INFINITE = np.float32(np.inf)
# Up to 1.8, impurities of nodes with missing values are not those of their rows.
TAKES_MISSING = tuple(int(part) for part in sklearn.__version__.split(".")[:2]) >= (1, 9)

PARAMETERS = Parameters(
    fixed={
        "criterion": CRITERIA,
        "splitter": ["best"],
        "max_features": [None],
        "max_leaf_nodes": [None],
        "ccp_alpha": [0.0],
        "class_weight": [None],
        "monotonic_cst": [None],
    },
    free={"max_depth", "min_samples_split", "min_samples_leaf", "min_impurity_decrease"}
    | {"min_weight_fraction_leaf", "random_state"},
)


class TreeEngine(CompiledEngine):
    """DecisionTreeClassifier and DecisionTreeRegressor with the best splitter.

    Squared error, gini, entropy; limits of depth, sizes, weights and impurity; sample weights,
    missing values.
    """

    reproduced: ClassVar[Mapping[type, Parameters]] = dict.fromkeys(
        (DecisionTreeClassifier, DecisionTreeRegressor), PARAMETERS
    )
    # Equal masks may break ties differently, and their average is the better for it.
    deterministic: ClassVar[bool] = False
    can_bootstrap: ClassVar[bool] = True

    @classmethod
    def _obstacle(cls, estimator: Any, X: Table, sample_weight: FloatArray | None) -> str | None:
        if not fits_single(X, skip_missing=True):
            return SINGLE_PRECISION
        if not TAKES_MISSING and not fits_single(X):
            return "supports missing values with scikit-learn 1.9 or later; update it"
        return None

    def _steps_aside(self, y_train: Any, sample_weight: FloatArray | None) -> bool:
        return has_strange_weights(sample_weight)

    def _predict_fitted(self, model: Any, X: Table) -> FloatArray | None:
        learner = self.learner
        with np.errstate(over="ignore"):
            single = np.ascontiguousarray(lines(X).T, dtype=np.float32)
        if np.isinf(single).any():
            return None
        values = model.tree_.predict(single).reshape(len(single), -1)
        if learner.classes is None:
            return values.astype(np.float64)
        return aligned(learner, model, values / values.sum(axis=1, keepdims=True))

    def _predict(self, batch: MaskBatch) -> FloatArray:
        learner, masks = self.learner, batch.masks
        rows, center, is_missing = self._rows(batch)
        query, strange = _coded_query(batch.query)
        weights = scaled_weights(batch.weights)
        if weights is None and learner.estimator.min_weight_fraction_leaf > 0.0:
            weights = np.ones(len(batch.targets))
        out = batch.answers(learner, 0.0)
        weighed: BoolArray = np.full(len(masks), weights is not None)
        if weights is None and is_missing.any():
            weights, weighed = np.ones(len(batch.targets)), np.any(masks[:, is_missing], axis=1)
        for is_weighed in np.unique(weighed):
            which = weighed == is_weighed
            part, answers = batch, out
            if not which.all():
                part = replace(batch, masks=masks[which], seeds=batch.seeds[which])
                answers = out[which]
            self._grow(rows, weights if is_weighed else None, part, query, answers)
            if part is not batch:
                out[which] = answers
        if learner.classes is None:
            out += center
        elif learner.voting == "hard":
            out = _votes(out)
        # What scikit-learn thinks of huge values is for it to say.
        out[masks[:, strange].any(axis=1)] = np.nan
        return out

    def _rows(self, batch: MaskBatch) -> tuple[tuple[Any, Any, FloatArray], float, BoolArray]:
        """Rows for the kernel, the origin of their targets, and columns with missing values."""
        learner = self.learner
        single = batch.columns.astype(np.float32)
        is_missing: BoolArray = np.any(np.isnan(single), axis=1)
        columns = in_two_lines(single) if is_missing.any() else single
        values = np.asarray(batch.targets, dtype=np.float64)
        # Sums of squares about the mean keep their digits.
        center = 0.0 if learner.classes is not None else mean_of(values, batch.weights)
        if learner.n_outputs == 2 and CRITERIA[learner.estimator.criterion] == GINI:
            # Gini is half the variance of a target that is -1 or 1.
            values = 2.0 * values - 1.0
        in_order = rows_in_order(columns[: len(single)])
        return (columns.ravel(), in_order.ravel(), values - center), center, is_missing

    def _grow(
        self, rows: Any, weights: FloatArray | None, batch: MaskBatch, query: Any, out: FloatArray
    ) -> None:
        learner, tree = self.learner, self.learner.estimator
        limits = _limits(tree, len(batch.targets), learner.n_outputs, weights is not None)
        grow_and_predict(
            rows,
            weights,
            batch.subsets,
            batch.seeds.astype(np.uint64),
            learner.bootstrap,
            query,
            CRITERIA[tree.criterion],
            limits,
            out,
        )


def _coded_query(query: FloatArray) -> tuple[Any, BoolArray]:
    """Query rows (M, n), or (2 M, n) if values are missing, and columns with infinite values."""
    with np.errstate(over="ignore"):
        single = query.astype(np.float32)
    strange: BoolArray = np.any(np.isinf(single), axis=1)
    single[strange] = 0.0
    return in_two_lines(single) if np.isnan(single).any() else single, strange


def _votes(shares: FloatArray) -> FloatArray:
    """The class of the largest share, the first of equals; NaN where shares are NaN."""
    votes = np.eye(shares.shape[2])[shares.argmax(axis=2)]
    votes[np.isnan(shares).any(axis=2)] = np.nan
    return votes


def has_strange_weights(weights: FloatArray | None) -> bool:
    """Whether weights are negative, of which scikit-learn has its own idea, or all 0, or NaN."""
    return weights is not None and not (weights.min() >= 0.0 and 0.0 < weights.max() < np.inf)


def mean_of(values: FloatArray, weights: FloatArray | None) -> float:
    """The mean of targets, weighted if they have weights."""
    return float(values.mean() if weights is None else np.average(values, weights=weights))


def scaled_weights(weights: FloatArray | None) -> FloatArray | None:
    """Weights of 1 at most, by a power of 2, so that nothing overflows and no digit is lost."""
    if weights is None:
        return None
    return np.ldexp(np.asarray(weights, dtype=np.float64), -np.frexp(weights.max())[1])


def in_two_lines(single: Any) -> Any:
    """Columns (M, n) with missing values at infinity, and again with these at minus infinity."""
    missing = np.isnan(single)
    return np.concatenate([np.where(missing, value, single) for value in (INFINITE, -INFINITE)])


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


def _limits(tree: Any, n_rows: int, n_outputs: int, is_weighed: bool) -> Limits:
    """The limits of an estimator in counts, and in the units in which its splits are compared."""
    # A gain of one unit is this much less impurity, the rows of a node weighed among all; with
    # weights, for a total weight of 1.
    decrease = 1.0 if is_weighed else 1.0 / n_rows
    if CRITERIA[tree.criterion] == ENTROPY:
        decrease /= math.log(2.0)
    elif CRITERIA[tree.criterion] == GINI and n_outputs == 2:
        decrease /= 2.0
    least = tree.min_impurity_decrease
    # No split makes things worse, but for rounding, for which scikit-learn allows as much.
    min_gain = (least - EPSILON) / decrease if least > 0.0 else -math.inf
    limits = size_limits(tree, n_rows, min_gain)
    return limits._replace(min_share=float(tree.min_weight_fraction_leaf))


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


def fits_single(X: Table, skip_missing: bool = False) -> bool:
    """Whether all values are numbers that a float32 can hold; scikit-learn takes no others."""
    smallest, largest = value_range(X, skip_missing)
    # Comparisons with NaN are false.
    return bool(smallest >= -LARGEST and largest <= LARGEST)
