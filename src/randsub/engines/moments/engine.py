"""Models whose statistics are shared by all masks of a batch, compiled.

Means, variances and products of pairs of columns do not depend on the subset: a model of a subset
is a small system, or a sum, made of those of its columns. They are computed once for all masks
(products of pairs only where that is less work than the masks' own pairs), and a model costs a few
microseconds.

scikit-learn has rules for columns that carry nothing new: minimum norm, ranks, tolerances. Masks
for which such a rule could matter, and systems too large to gain, go to scikit-learn itself.
"""

import re
from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.utils._param_validation import InvalidParameterError

from randsub._tables import frame_kind
from randsub._typing import BoolArray, FloatArray, IntArray, Table
from randsub.engines.compiled import CompiledEngine, is_dense_numeric, lines, sparse_rows
from randsub.engines.members import aligned, base_model_at_work
from randsub.engines.moments.classes import DiscriminantFamily, NaiveBayesFamily
from randsub.engines.moments.family import Batch, Family
from randsub.engines.moments.linear import LeastSquaresFamily, RidgeFamily

FAMILIES: Mapping[type, Family] = {
    Ridge: RidgeFamily(),
    LinearRegression: LeastSquaresFamily(),
    GaussianNB: NaiveBayesFamily(),
    LinearDiscriminantAnalysis: DiscriminantFamily(),
}
# Names of dtypes, of numpy, pandas and polars, that scikit-learn computes with in double precision.
DOUBLE = re.compile(r"(u?int\d+|float64|double)(\[pyarrow\])?", re.IGNORECASE)


class MomentsEngine(CompiledEngine):
    """Ridge, LinearRegression, GaussianNB and LinearDiscriminantAnalysis."""

    @classmethod
    def is_usable_for(
        cls, estimator: Any, X: Table, y: Any, sample_weight: FloatArray | None
    ) -> bool:
        """Direct solvers without constraints or shrinkage; columns in double precision."""
        family = FAMILIES.get(type(estimator))
        return (
            family is not None
            and _is_valid(estimator)
            and family.reproduces(estimator)
            and is_dense_numeric(X)
            and _is_double(X)
        )

    def _steps_aside(self, y_train: Any, sample_weight: FloatArray | None) -> bool:
        # A classifier asked for numbers, or a regressor for classes.
        classifies = FAMILIES[type(self.learner.estimator)].classifies
        return classifies != (self.learner.classes is not None)

    def ask(self, model: Any, X: Table) -> FloatArray | None:
        """A few operations on the model's coefficients or moments."""
        learner = self.learner
        if type(model) is not type(learner.estimator) or not is_dense_numeric(X):
            return None
        with base_model_at_work():
            prediction = FAMILIES[type(model)].ask(model, lines(X).T)
        if not np.isfinite(prediction).all():
            # Degenerate moments, as of equal rows: let the model itself say what comes of them.
            return None
        return prediction if learner.classes is None else aligned(learner, model, prediction)

    def _predict(
        self,
        columns: FloatArray,
        targets: Any,
        masks: BoolArray,
        query: FloatArray,
        seeds: IntArray,
        sample_weight: FloatArray | None,
    ) -> FloatArray:
        begin, held = sparse_rows(masks)
        weights = np.ones(columns.shape[1])
        if sample_weight is not None:
            weights[:] = sample_weight
        batch = Batch(columns, targets, weights, begin, held, query)
        return FAMILIES[type(self.learner.estimator)].predict(self.learner, batch)


def _is_valid(estimator: Any) -> bool:
    """Whether scikit-learn takes the parameters; if not, it has the words for it."""
    try:
        estimator._validate_params()
    except InvalidParameterError:
        return False
    return True


def _is_double(X: Table) -> bool:
    """Whether scikit-learn would compute in double precision, whichever columns a mask holds."""
    dtypes = [X.dtype] if frame_kind(X) is None else list(X.dtypes)
    return all(DOUBLE.fullmatch(str(dtype)) for dtype in dtypes)
