"""Ridge regression and least squares: sub-blocks of one Gram matrix."""

from abc import abstractmethod
from numbers import Real
from typing import Any, ClassVar

import numpy as np

from randsub._typing import FloatArray
from randsub.engines.base import Learner
from randsub.engines.compiled import MaskBatch, Parameters
from randsub.engines.linear_and_bayes.family import Family, blank_lines, limits_of, weights_of
from randsub.engines.linear_and_bayes.kernels import solve_least_squares
from randsub.engines.linear_and_bayes.moments import weighted_lines

# Beyond this, scikit-learn's own solution is in doubt, and it may warn of it.
WORST_CONDITION = 1e12
# Least squares counts a direction as empty at this fraction of the largest singular value or more.
LEAST_TOL = 1e-6


class LinearFamily(Family):
    """Linear regressions by Cholesky factors of ``X'WX`` plus a ridge."""

    classifies: ClassVar[bool] = False

    @abstractmethod
    def _system(self, estimator: Any) -> tuple[float, float]:
        """What is added to the diagonal, and the largest condition.

        Up to that condition of the matrix scikit-learn solves the same full system.
        """

    def predict(self, learner: Learner, batch: MaskBatch) -> FloatArray:
        """Centre, multiply, solve."""
        columns, query, centered = batch.columns, batch.query, bool(learner.estimator.fit_intercept)
        lines, means = blank_lines(batch, len(columns) + 1), np.empty(len(columns))
        targets, weights = np.array(batch.targets, dtype=np.float64), weights_of(batch)
        level = weighted_lines(columns, query, targets, weights, centered, lines, means)
        ridge, condition = self._system(learner.estimator)
        out, limits = batch.answers(learner, np.nan), limits_of(batch, np.inf, condition)
        solve_least_squares(lines, means, level, ridge, batch.subsets, query, limits, out)
        return out

    def predict_fitted(self, model: Any, X: FloatArray) -> FloatArray:
        """Coefficients and intercept."""
        return (X @ np.ravel(model.coef_) + model.intercept_)[:, np.newaxis]


class RidgeFamily(LinearFamily):
    """Ridge with one penalty and an exact solver, for coefficients of any sign."""

    parameters: ClassVar[Parameters] = Parameters(
        # "auto" is "cholesky" for dense data.
        fixed={"solver": ["auto", "cholesky", "svd"], "positive": [False]},
        free={"alpha", "fit_intercept", "copy_X", "max_iter", "tol", "random_state"},
    )

    def obstacle(self, estimator: Any) -> str | None:
        """A penalty other than a number above 0."""
        if isinstance(estimator.alpha, Real) and float(estimator.alpha) > 0.0:
            return None
        return f"does not support alpha={estimator.alpha!r}; use one number above 0"

    def _system(self, estimator: Any) -> tuple[float, float]:
        return float(estimator.alpha), WORST_CONDITION


class LeastSquaresFamily(LinearFamily):
    """LinearRegression with coefficients of any sign."""

    parameters: ClassVar[Parameters] = Parameters(
        fixed={"positive": [False]}, free={"fit_intercept", "copy_X", "tol", "n_jobs"}
    )

    def _system(self, estimator: Any) -> tuple[float, float]:
        # The condition of X'X is the square of that of X; half of the way is left for rounding.
        # Since 1.9 tol is for dense data too; before, singular values count down to rounding.
        return 0.0, 0.25 / max(float(estimator.tol), LEAST_TOL) ** 2
