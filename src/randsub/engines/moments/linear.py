"""Ridge regression and least squares: sub-blocks of one Gram matrix."""

from abc import abstractmethod
from numbers import Real
from typing import Any, ClassVar

import numpy as np

from randsub._typing import FloatArray
from randsub.engines.base import Learner
from randsub.engines.moments.family import MOST_ENTRIES, MOST_INFLATION, Batch, Family
from randsub.engines.moments.kernels import solve_least_squares, weighted_lines

# Beyond this, scikit-learn's own solution is in doubt, and it may warn of it.
WORST_CONDITION = 1e12
# Least squares counts a direction as empty at this fraction of the largest singular value or more.
LEAST_TOL = 1e-6


class LinearFamily(Family):
    """Linear regressions by Cholesky factors of ``X'WX`` plus a ridge."""

    classifies: ClassVar[bool] = False

    @abstractmethod
    def _ridge(self, estimator: Any) -> float:
        """What is added to the diagonal."""

    @abstractmethod
    def _most_condition(self, estimator: Any) -> float:
        """Condition of the matrix up to which scikit-learn solves the same full system."""

    def predict(self, learner: Learner, batch: Batch) -> FloatArray:
        """Centre, multiply, solve."""
        estimator = learner.estimator
        n_columns = len(batch.columns)
        lines, means = batch.blank_lines(n_columns + 1), np.empty(n_columns)
        targets = np.array(batch.targets, dtype=np.float64)
        target_mean = weighted_lines(
            batch.columns,
            batch.query,
            targets,
            batch.weights,
            bool(estimator.fit_intercept),
            lines,
            means,
        )
        out = batch.blank_answers(learner)
        solve_least_squares(
            lines,
            means,
            target_mean,
            self._ridge(estimator),
            batch.begin,
            batch.held,
            batch.query,
            batch.most_columns,
            MOST_ENTRIES,
            MOST_INFLATION,
            self._most_condition(estimator),
            out,
        )
        return out

    def ask(self, model: Any, X: FloatArray) -> FloatArray:
        """Coefficients and intercept."""
        return (X @ np.ravel(model.coef_) + model.intercept_)[:, np.newaxis]


class RidgeFamily(LinearFamily):
    """Ridge with one penalty and an exact solver."""

    def reproduces(self, estimator: Any) -> bool:
        """A number above 0 as penalty, a direct solver, coefficients of any sign."""
        return (
            isinstance(estimator.alpha, Real)
            and float(estimator.alpha) > 0.0
            # "auto" is "cholesky" for dense data.
            and estimator.solver in ("auto", "cholesky", "svd")
            and not estimator.positive
        )

    def _ridge(self, estimator: Any) -> float:
        return float(estimator.alpha)

    def _most_condition(self, estimator: Any) -> float:
        return WORST_CONDITION


class LeastSquaresFamily(LinearFamily):
    """LinearRegression."""

    def reproduces(self, estimator: Any) -> bool:
        """Coefficients of any sign."""
        return not estimator.positive

    def _ridge(self, estimator: Any) -> float:
        return 0.0

    def _most_condition(self, estimator: Any) -> float:
        # The condition of X'X is the square of that of X; half of the way is left for rounding.
        # Since 1.9 tol is for dense data too; before, singular values count down to rounding.
        return 0.25 / max(float(estimator.tol), LEAST_TOL) ** 2
