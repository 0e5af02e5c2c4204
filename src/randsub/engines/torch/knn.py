"""Nearest neighbours: distances as matrix products, then the nearest ones exactly.

Products in single precision find candidates, a few more than are needed. Their distances are
computed again from differences in double precision. Where rounding of the products could have left
out a nearer row, they are repeated in double precision; and where even that could, as between rows
that are close to each other and far from the mean, the differences to all rows are taken.
"""

from typing import Any, ClassVar, NamedTuple

import numpy as np

from randsub._typing import FloatArray, Table
from randsub.engines.base import Learner
from randsub.engines.compiled import MaskBatch, Parameters
from randsub.engines.knn import KNNEngine
from randsub.engines.knn.engine import PARAMETERS
from randsub.engines.torch.device import (
    Tensor,
    at_work,
    chosen,
    in_portions,
    on_device,
    wide_dtype,
)
from randsub.engines.torch.family import Bucket, DeviceBatch, TorchFamily, buckets

# Rows of which the least distance is found first: the k nearest rows are in the k groups whose
# least distances are smallest.
GROUP = 32
# Up to so many distances, launching kernels takes longer than they run: all masks together.
SMALL = 2**26
# Up to this width the distances of neighbours are too small for products in single precision.
NARROW = 4
# Numbers that differences to all rows may take at a time.
DIFFERENCES = 2**24


class NeighborsFamily(TorchFamily):
    """KNeighborsClassifier and KNeighborsRegressor with Euclidean distances."""

    parameters: ClassVar[Parameters] = PARAMETERS
    takes_outputs: ClassVar[bool] = True

    def obstacle(self, estimator: Any) -> str | None:
        """Other distances."""
        return KNNEngine._obstacle(estimator, None, None)

    def steps_aside(self, learner: Learner, y_train: Any) -> bool:
        """Too few rows; scikit-learn has the words for it."""
        return len(y_train) < learner.estimator.n_neighbors

    def predict(self, learner: Learner, batch: DeviceBatch) -> FloatArray:
        """Candidates, their exact distances, and the mean or the votes of the nearest."""
        device, wide = batch.device, wide_dtype(batch.device)
        out = np.empty((len(batch.masks), len(batch.query), learner.n_outputs))
        vote = _Vote.of(learner, batch.targets, device)
        rows, query = batch.rows.to(wide), batch.query.to(wide)
        # Medians, about: a fill value takes the mean with it.
        some = rows[:: -(-len(rows) // 1000)].sort(dim=0).values
        center = some[len(some) // 2]
        n_rows, k = len(rows), vote.n_neighbors
        n_candidates = min(k + k // 2 + 4, n_rows)
        is_small = n_rows * len(query) * len(batch.masks) < SMALL
        for bucket in buckets(batch.masks, device, together=is_small):
            exactly = is_small or bucket.width <= NARROW or _is_coarse(device)
            search = _Search(rows, query, center, bucket, n_candidates, k, exactly)

            def work(part: slice, asked: slice, search: _Search = search) -> Tensor:
                return vote.of_neighbors(*search.nearest(part, asked))

            # Distances in single, for some in double precision; candidates with their cells.
            n_bytes = 12 * (n_rows + GROUP) + n_candidates * (GROUP * 16 + bucket.width * 32)
            n_bytes += 16 * k * out.shape[2]
            # The rows of a mask, moved, cast and filled up, have a share in each of its queries.
            n_bytes += 40 * n_rows * bucket.width // max(len(query), 1)
            which = bucket.which
            in_portions(work, len(which), len(query), n_bytes, device, out, which)
        return out

    def predict_fitted(self, learner: Learner, model: Any, X: Table) -> FloatArray | None:
        """By the same kernel, if the model is still one that was fitted here."""
        return _FittedNeighbors(learner)._predict_fitted(model, X)


class _FittedNeighbors(KNNEngine):
    """Checks and targets of a fitted model as in the compiled engine, neighbours by this one."""

    def _predict(self, batch: MaskBatch) -> FloatArray:
        device = chosen(self.learner.device)
        with at_work(device):
            rows, query = (
                on_device(one.T, device, wide_dtype(device)) for one in (batch.columns, batch.query)
            )
            whole = DeviceBatch(rows, query, batch.targets, batch.masks, batch.seeds, None)
            return NeighborsFamily().predict(self.learner, whole)


class _Search(NamedTuple):
    """Rows and queries in double precision, the center of the rows, and masks.

    ``exactly`` takes products in double precision from the start.
    """

    rows: Tensor
    query: Tensor
    center: Tensor
    bucket: Bucket
    n_candidates: int
    n_neighbors: int
    exactly: bool

    def nearest(self, part: slice, asked: slice) -> tuple[Tensor, Tensor]:
        """Places and squared distances (t, q, k) of the nearest rows, nearest first."""
        import torch

        rows = self.bucket.cells(self.rows, part)
        query = self.bucket.cells(self.query[asked], part)
        dtype = rows.dtype if self.exactly else torch.float32
        return self._by_products(rows, query, part, dtype)

    def _by_products(
        self, rows: Tensor, query: Tensor, part: slice, dtype: Any
    ) -> tuple[Tensor, Tensor]:
        """The nearest rows by products of a precision; where that is too low, by a better way."""
        import torch

        places, distances, is_sure = self._candidates(rows, query, part, dtype)
        for t in torch.nonzero(~is_sure.all(dim=1)).flatten().tolist():
            which = torch.nonzero(~is_sure[t]).flatten()
            own, asking = rows[t : t + 1], query[t : t + 1, which]
            if dtype == rows.dtype:
                better = self._by_differences(own[0], asking[0])
            else:
                one = slice(part.start + t, part.start + t + 1)
                better = self._by_products(own, asking, one, rows.dtype)
            places[t, which], distances[t, which] = (found.squeeze(0) for found in better)
        return places, distances

    def _by_differences(self, rows: Tensor, query: Tensor) -> tuple[Tensor, Tensor]:
        """The nearest of all rows (n, w) to queries (q, w), (1, q, k)."""
        import torch

        places, distances = [], []
        for asked in query.split(max(DIFFERENCES // rows.numel(), 1)):
            squares = (rows - asked[:, None, :]).square_().sum(dim=-1)
            nearest, order = squares.sort(dim=-1, stable=True)
            distances.append(nearest[:, : self.n_neighbors])
            places.append(order[:, : self.n_neighbors])
        return torch.cat(places)[None], torch.cat(distances)[None]

    def _candidates(
        self, rows: Tensor, query: Tensor, part: slice, dtype: Any
    ) -> tuple[Tensor, Tensor, Tensor]:
        """The nearest of the candidates, and for each query whether there is no nearer row.

        In the precision of the rows themselves it is enough if a nearer one is so by the last
        digits alone.
        """
        import torch

        n_rows = len(self.rows)
        center = self.bucket.cells(self.center[None], part)
        near, asked = rows - center, query - center
        products, squares = _products(near.to(dtype), asked.to(dtype))
        found, places = _smallest(products, self.n_candidates)
        # In the order of the rows, so that the first of equally near candidates is the first row;
        # which of more such rows are candidates is chance. Lengths that are not finite may leave a
        # place of no row, and are found out below.
        places = places.clamp_(max=n_rows - 1).sort(dim=-1).values
        exact = self._distances(places, query, part)
        exact, order = exact.sort(dim=-1, stable=True)
        places = places.gather(-1, order)
        k, lengths = self.n_neighbors, asked.square().sum(dim=-1)
        # What rounding can add to a product of so many terms.
        unit = torch.finfo(dtype).eps * (self.bucket.width + 8)
        error = unit * (lengths.sqrt() + squares.amax(dim=1, keepdim=True).sqrt()).square()
        if self.n_candidates == n_rows:
            is_sure = torch.ones_like(lengths, dtype=torch.bool)
        else:
            farthest = exact[..., k - 1]
            is_sure = (farthest < found.amax(dim=-1) + lengths - error) | (farthest == 0.0)
            if dtype == self.rows.dtype:
                is_sure |= error <= torch.finfo(dtype).eps ** 0.5 * farthest
        is_sure &= error.to(dtype).isfinite()
        return places[..., :k], exact[..., :k], is_sure

    def _distances(self, places: Tensor, query: Tensor, part: slice) -> Tensor:
        """Squared distances of candidates (t, q, c), from differences in double precision."""
        columns, held = self.bucket.columns[part], self.bucket.held[part]
        flat = self.rows.reshape(-1)
        cells = flat[places[..., None] * self.rows.shape[1] + columns[:, None, None, :]]
        gaps = (cells - query[:, :, None, :]) * held[:, None, None, :]
        return gaps.square_().sum(dim=-1)


def _is_coarse(device: Any) -> bool:
    """Whether the user lets a GPU take products with fewer digits than single precision has."""
    import torch

    try:
        return device.type == "cuda" and torch.get_float32_matmul_precision() != "highest"
    except RuntimeError:
        # Newer settings, of which the older question knows nothing.
        return True


def _products(rows: Tensor, query: Tensor) -> tuple[Tensor, Tensor]:
    """Squared distances (t, q, n) up to a constant per query, and squared lengths of the rows.

    The rows are filled up to whole groups with rows that are infinitely far away.
    """
    import torch

    squares = rows.square().sum(dim=-1)
    left = -rows.shape[1] % GROUP
    padded = torch.nn.functional.pad(squares, (0, left), value=torch.inf)
    rows = torch.cat([torch.nn.functional.pad(rows, (0, 0, 0, left)), padded.unsqueeze(-1)], dim=-1)
    query = torch.nn.functional.pad(-2.0 * query, (0, 1), value=1.0)
    return torch.bmm(query, rows.transpose(1, 2)), squares


def _smallest(values: Tensor, n: int) -> tuple[Tensor, Tensor]:
    """The n smallest values (t, q, n) of each line (t, q, whole groups), and their places."""
    import torch

    n_groups = values.shape[-1] // GROUP
    if n_groups <= 2 * n:
        return values.topk(n, largest=False, sorted=False)
    # A group is every n_groups-th row: neighbours in memory are in different groups, which is how
    # a GPU reads them fastest.
    least = values.unflatten(-1, (GROUP, n_groups)).amin(dim=-2)
    groups = least.topk(n, largest=False, sorted=False).indices
    steps = torch.arange(0, values.shape[-1], n_groups, device=values.device)
    places = (groups.unsqueeze(-1) + steps).flatten(2)
    found, at = values.gather(-1, places).topk(n, largest=False, sorted=False)
    return found, places.gather(-1, at)


class _Vote(NamedTuple):
    """What the neighbours say: targets (n, K), or class numbers."""

    targets: Tensor
    n_neighbors: int
    n_classes: int | None
    by_distance: bool
    hard: bool

    @classmethod
    def of(cls, learner: Learner, targets: Any, device: Any) -> "_Vote":
        classifies = learner.classes is not None
        dtype = np.int64 if classifies else np.float64
        values = np.asarray(targets, dtype=dtype).reshape(len(targets), learner.n_targets or 1)
        return cls(
            on_device(values, device, None if classifies else wide_dtype(device)),
            int(learner.estimator.n_neighbors),
            None if learner.classes is None else len(learner.classes),
            learner.estimator.weights == "distance",
            learner.voting == "hard",
        )

    def of_neighbors(self, places: Tensor, squares: Tensor) -> Tensor:
        """Predictions (t, q, C) from neighbours (t, q, k)."""
        import torch

        weights = torch.ones_like(squares)
        if self.by_distance:
            is_same = squares == 0.0
            weights = torch.where(is_same.any(-1, True), is_same.to(squares.dtype), squares.rsqrt())
        values = self.targets[places]
        if self.n_classes is None:
            weights = weights / weights.sum(dim=-1, keepdim=True)
            return (values * weights.unsqueeze(-1)).sum(dim=-2)
        labels = torch.arange(self.n_classes, device=squares.device)
        counts = squares.new_zeros((*places.shape[:2], values.shape[-1], self.n_classes))
        # One neighbour after the other: scatter_add and sum promise no order on a GPU.
        for place in range(self.n_neighbors):
            belongs = values[:, :, place, :, None] == labels
            counts += belongs * weights[:, :, place, None, None]
        if self.hard:
            votes = torch.nn.functional.one_hot(counts.argmax(dim=-1), self.n_classes)
            return votes.to(squares.dtype).flatten(2)
        return (counts / weights.sum(dim=-1)[..., None, None]).flatten(2)
