"""Ridge regression and least squares: one small system per mask."""

from typing import Any, ClassVar, NamedTuple

import numpy as np

from randsub._typing import FloatArray, Table
from randsub.engines.base import Learner
from randsub.engines.compiled import Parameters
from randsub.engines.linear_and_bayes.linear import LeastSquaresFamily, LinearFamily, RidgeFamily
from randsub.engines.torch.device import Tensor, in_portions, on_device, wide_dtype
from randsub.engines.torch.family import Bucket, DeviceBatch, TorchFamily, buckets

# Sum of variance inflation factors up to which Cholesky keeps 1e-6 with digits to spare, in double
# precision; in single precision there are fewer digits.
MOST_INFLATION, MOST_INFLATION_SINGLE = 1e6, 1e2


class System(NamedTuple):
    """Matrices of several masks, factored.

    Parameters
    ----------
    inverse : tensor of shape (t, width, width)
        Inverse of the Cholesky factor; the identity in places that are left over.
    is_solved : bool tensor of shape (t,)
        Whether solutions have many digits.
    """

    inverse: Tensor
    is_solved: Tensor

    def half(self, right: Tensor) -> Tensor:
        """Product of the inverse factor and right-hand sides (t, width, C)."""
        return self.inverse @ right

    def solution(self, right: Tensor) -> Tensor:
        """Solutions (t, width, C)."""
        return self.inverse.transpose(1, 2) @ self.half(right)


def factored(
    lines: Tensor, held: Tensor, ridge: float, inflation: float, condition: float
) -> System:
    """Systems ``L'L`` plus a ridge of lines (t, n, width).

    The diagonal of the inverse times that of the matrix are the variance inflation factors: their
    sum bounds the condition of the matrix with a unit diagonal, on which the precision of Cholesky
    depends. The traces of both bound the condition of the matrix as it is.
    """
    import torch

    matrix = lines.transpose(1, 2) @ lines
    diagonal = matrix.diagonal(dim1=1, dim2=2)
    diagonal += torch.where(held, ridge, 1.0).to(matrix.dtype)
    sizes = diagonal * held
    factor, failed = torch.linalg.cholesky_ex(matrix)
    unit = torch.eye(matrix.shape[1], dtype=matrix.dtype, device=matrix.device)
    inverse = torch.linalg.solve_triangular(factor, unit.expand_as(matrix), upper=False)
    squares = inverse.square().sum(dim=1) * held
    most = MOST_INFLATION if matrix.dtype == torch.float64 else MOST_INFLATION_SINGLE
    is_solved = (
        (failed == 0)
        & ((squares * sizes).sum(dim=1) <= min(most, inflation))
        & (squares.sum(dim=1) * sizes.sum(dim=1) <= condition)
    )
    return System(inverse, is_solved)


def bytes_per_query(bucket: Bucket, n_rows: int, n_queries: int, n_classes: int = 1) -> int:
    """Memory of a mask and a query: cells of the query, and a share of those of the rows."""
    of_mask = 24 * bucket.width * (n_rows + 4 * bucket.width)
    return 16 * (bucket.width + n_classes) + of_mask // max(n_queries, 1)


class TorchLinearFamily(TorchFamily):
    """Linear regressions by Cholesky factors; parameters as in the compiled engine."""

    classifies: ClassVar[bool | None] = False
    compiled: ClassVar[LinearFamily]

    def obstacle(self, estimator: Any) -> str | None:
        """As in the compiled engine."""
        return self.compiled.obstacle(estimator)

    def predict(self, learner: Learner, batch: DeviceBatch) -> FloatArray:
        """Centre, multiply, solve."""
        import torch

        device, out, wide = batch.device, batch.answers(learner), wide_dtype(batch.device)
        rows, query = batch.rows.to(wide), batch.query.to(wide)
        n_rows, level = len(rows), 0.0
        weights = np.ones(n_rows) if batch.weights is None else np.asarray(batch.weights, float)
        targets = np.asarray(batch.targets, dtype=np.float64)
        if learner.estimator.fit_intercept:
            level = float(np.average(targets, weights=weights)) if weights.sum() > 0.0 else np.nan
            shares = on_device(weights / weights.sum(), device, wide)
            # Twice, so that a mean that is large beside the spread costs no digits.
            for _ in range(2):
                center = shares @ rows
                rows, query = rows - center, query - center
        roots = on_device(np.sqrt(weights), device, wide)
        rows, right = rows * roots[:, None], roots * on_device(targets - level, device, wide)
        ridge, condition = self.compiled._system(learner.estimator)
        for bucket in buckets(batch.masks, device):
            if bucket.width // 2 >= n_rows:
                continue

            def work(part: slice, asked: slice, bucket: Bucket = bucket) -> Tensor:
                lines = bucket.cells(rows, part)
                system = factored(lines, bucket.held[part], ridge, np.inf, condition)
                solution = system.solution(lines.transpose(1, 2) @ right[:, None])
                found = level + bucket.cells(query[asked], part) @ solution
                return torch.where(system.is_solved[:, None, None], found, torch.nan)

            n_bytes = bytes_per_query(bucket, n_rows, len(query))
            which = bucket.which
            in_portions(work, len(which), len(query), n_bytes, device, out, which)
        return out

    def predict_fitted(self, learner: Learner, model: Any, X: Table) -> FloatArray | None:
        """As the compiled engine does."""
        from randsub.engines.linear_and_bayes import LinearAndBayesEngine

        return LinearAndBayesEngine(learner)._predict_fitted(model, X)


class TorchRidgeFamily(TorchLinearFamily):
    """Ridge with one penalty and an exact solver, for coefficients of any sign."""

    compiled: ClassVar[LinearFamily] = RidgeFamily()
    parameters: ClassVar[Parameters] = RidgeFamily.parameters


class TorchLeastSquaresFamily(TorchLinearFamily):
    """LinearRegression with coefficients of any sign."""

    compiled: ClassVar[LinearFamily] = LeastSquaresFamily()
    parameters: ClassVar[Parameters] = LeastSquaresFamily.parameters
