"""Decision trees, compiled.

Each column is sorted once for all trees; growing them is the business of
:mod:`randsub.engines.growth`.

Splits are those of scikit-learn's best splitter on single-precision columns. Where several are
equally good, scikit-learn tries columns in random order and the first wins; here one is drawn from
them: equal in law, not in every tree. Within a column the first place wins.
"""

import math
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from randsub._tables import value_range
from randsub._typing import BoolArray, FloatArray, IntArray, Table
from randsub.engines.compiled import CompiledEngine, is_dense_numeric, lines, sparse_rows
from randsub.engines.growth import ENTROPY, EPSILON, GINI, SQUARES, Limits, grow_and_predict
from randsub.engines.members import aligned

CRITERIA = {"squared_error": SQUARES, "gini": GINI, "entropy": ENTROPY, "log_loss": ENTROPY}
UNLIMITED = np.iinfo(np.int32).max


class TreeEngine(CompiledEngine):
    """DecisionTreeClassifier and DecisionTreeRegressor with the best splitter."""

    # Equal masks may break ties differently, and their average is the better for it.
    deterministic: ClassVar[bool] = False

    @classmethod
    def is_usable_for(
        cls, estimator: Any, X: Table, y: Any, sample_weight: FloatArray | None
    ) -> bool:
        """Squared error, gini, entropy; limits of depth, sizes and impurity; no weights, no NaN."""
        if type(estimator) not in (DecisionTreeClassifier, DecisionTreeRegressor):
            return False
        return (
            estimator.criterion in CRITERIA
            and (estimator.criterion == "squared_error")
            == isinstance(estimator, DecisionTreeRegressor)
            and estimator.splitter == "best"
            and estimator.max_features is None
            and estimator.max_leaf_nodes is None
            and estimator.min_weight_fraction_leaf == 0.0
            and estimator.ccp_alpha == 0.0
            and getattr(estimator, "class_weight", None) is None
            and estimator.monotonic_cst is None
            and _is_limit(estimator.max_depth, 1, optional=True)
            and _is_limit(estimator.min_samples_split, 2)
            and _is_limit(estimator.min_samples_leaf, 1)
            and estimator.min_impurity_decrease >= 0.0
            and sample_weight is None
            and is_dense_numeric(X)
            and _fits_single(X)
        )

    def ask(self, model: Any, X: Table) -> FloatArray | None:
        """The model's tree, without scikit-learn's checks around it."""
        learner = self.learner
        if type(model) is not type(learner.estimator) or not is_dense_numeric(X):
            return None
        with np.errstate(over="ignore"):
            single = np.ascontiguousarray(lines(X).T, dtype=np.float32)
        if not np.isfinite(single).all():
            return None
        values = model.tree_.predict(single).reshape(len(single), -1)
        if learner.classes is None:
            return values.astype(np.float64)
        return aligned(learner, model, values / values.sum(axis=1, keepdims=True))

    def _predict(
        self,
        columns: FloatArray,
        targets: Any,
        masks: BoolArray,
        query: FloatArray,
        seeds: IntArray,
        sample_weight: FloatArray | None,
    ) -> FloatArray:
        learner, tree = self.learner, self.learner.estimator
        criterion = CRITERIA[tree.criterion]
        single = columns.astype(np.float32)
        values = np.asarray(targets, dtype=np.float64)
        # Sums of squares about the mean keep their digits.
        center = values.mean() if learner.classes is None else 0.0
        if learner.n_outputs == 2 and criterion == GINI:
            # Gini is half the variance of a target that is -1 or 1.
            values = 2.0 * values - 1.0
        begin, held = sparse_rows(masks)
        asked, strange = _finite_single(query)
        out = np.empty((len(masks), query.shape[1], learner.n_outputs))
        grow_and_predict(
            single.ravel(),
            _order(single).ravel(),
            values - center,
            begin,
            held,
            seeds.astype(np.uint64),
            asked,
            criterion,
            _limits(tree, len(values), learner.n_outputs),
            out,
        )
        if learner.classes is None:
            out += center
        elif learner.voting == "hard":
            out = np.eye(learner.n_outputs)[out.argmax(axis=2)]
        # Where missing values go is for scikit-learn to say; so is what it thinks of huge ones.
        out[masks[:, strange].any(axis=1)] = np.nan
        return out


def _is_limit(value: Any, least: int, *, optional: bool = False) -> bool:
    """Whether a limit is a count, or (where scikit-learn allows that) a share of the rows."""
    if value is None:
        return optional
    if isinstance(value, Integral):
        return int(value) >= least
    return not optional and isinstance(value, float) and 0.0 < value < 1.0


def _finite_single(query: FloatArray) -> tuple[Any, BoolArray]:
    """Query rows (M, n) in single precision, and columns with values that are no numbers there."""
    with np.errstate(over="ignore"):
        single = query.astype(np.float32)
    finite = np.isfinite(single)
    single[~finite] = 0.0
    return single, np.any(~finite, axis=1)


def _order(single: Any) -> Any:
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
    min_leaf = _as_count(tree.min_samples_leaf, n_rows, 1)
    # A gain of one unit is this much less impurity, the rows of a node weighed among all.
    decrease = 1.0 / n_rows
    if CRITERIA[tree.criterion] == ENTROPY:
        decrease /= math.log(2.0)
    elif CRITERIA[tree.criterion] == GINI and n_outputs == 2:
        decrease /= 2.0
    least = tree.min_impurity_decrease
    return Limits(
        max_depth=UNLIMITED if tree.max_depth is None else int(tree.max_depth),
        min_split=max(_as_count(tree.min_samples_split, n_rows, 2), 2 * min_leaf),
        min_leaf=min_leaf,
        # No split makes things worse, but for rounding, for which scikit-learn allows as much.
        min_gain=(least - EPSILON) / decrease if least > 0.0 else -math.inf,
    )


def _as_count(limit: Any, n_rows: int, least: int) -> int:
    if isinstance(limit, Integral):
        return int(limit)
    return max(least, math.ceil(limit * n_rows))


def _fits_single(X: Table) -> bool:
    """Whether all values are numbers that a float32 can hold; scikit-learn takes no others."""
    smallest, largest = value_range(X)
    limit = float(np.finfo(np.float32).max)
    # Comparisons with NaN are false.
    return smallest >= -limit and largest <= limit
