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
from typing import Any, ClassVar

import numpy as np
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.naive_bayes import GaussianNB

from randsub._tables import frame_kind
from randsub._typing import FloatArray, Table
from randsub.engines.base import aligned
from randsub.engines.compiled import CompiledEngine, MaskBatch, Parameters, in_portions
from randsub.engines.linear_and_bayes.bayes import DiscriminantFamily, NaiveBayesFamily
from randsub.engines.linear_and_bayes.family import Family
from randsub.engines.linear_and_bayes.linear import LeastSquaresFamily, RidgeFamily

FAMILIES: Mapping[type, Family] = {
    Ridge: RidgeFamily(),
    LinearRegression: LeastSquaresFamily(),
    GaussianNB: NaiveBayesFamily(),
    LinearDiscriminantAnalysis: DiscriminantFamily(),
}
# Names of dtypes, of numpy, pandas and polars, that scikit-learn computes with in double precision.
DOUBLE = re.compile(r"(u?int\d+|float64|double)(\[pyarrow\])?", re.IGNORECASE)


class LinearAndBayesEngine(CompiledEngine):
    """Ridge, LinearRegression, GaussianNB and LinearDiscriminantAnalysis.

    Direct solvers without constraints or shrinkage; columns in double precision.
    """

    reproduced: ClassVar[Mapping[type, Parameters]] = {
        kind: family.parameters for kind, family in FAMILIES.items()
    }

    @classmethod
    def _obstacle(cls, estimator: Any, X: Table, sample_weight: FloatArray | None) -> str | None:
        # Double precision, whichever columns a mask holds.
        dtypes = [X.dtype] if frame_kind(X) is None else list(X.dtypes)
        others = [str(dtype) for dtype in dtypes if not DOUBLE.fullmatch(str(dtype))]
        if others:
            return f"computes in double precision only, not in {others[0]}; use float64 columns"
        return FAMILIES[type(estimator)].obstacle(estimator)

    @property
    def _family(self) -> Family:
        return FAMILIES[type(self.learner.estimator)]

    def _steps_aside(self, y_train: Any, sample_weight: FloatArray | None) -> bool:
        # A classifier asked for numbers, or a regressor for classes.
        return self._family.classifies != (self.learner.classes is not None)

    def _predict_fitted(self, model: Any, X: Table) -> FloatArray | None:
        classifies, n_columns = self.learner.classes is not None, X.shape[1]
        n_numbers = n_columns * len(model.classes_) if classifies else n_columns
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            prediction = in_portions(
                lambda rows: self._family.predict_fitted(model, rows), X, n_numbers
            )
        if not np.isfinite(prediction).all():
            # Degenerate moments, as of equal rows: let the model itself say what comes of them.
            return None
        return aligned(self.learner, model, prediction) if classifies else prediction

    def _predict(self, batch: MaskBatch) -> FloatArray:
        return self._family.predict(self.learner, batch)
