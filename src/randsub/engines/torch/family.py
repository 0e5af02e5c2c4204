"""The protocol of a family of models, and masks as padded lists of columns."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from randsub._typing import BoolArray, FloatArray, IntArray, Table
from randsub.engines.base import Learner
from randsub.engines.compiled import Parameters
from randsub.engines.torch.device import Tensor, on_device


@dataclass(frozen=True)
class DeviceBatch:
    """One training set, many masks, one set of queries; the tables are on the device.

    Parameters
    ----------
    rows : tensor of shape (n_train, M)
        In single or double precision, as the data.
    query : tensor of shape (n_query, M)
    targets : ndarray of shape (n_train,), or (n_train, K) if there are several outputs
        Numbers in regression, class numbers in classification.
    masks : bool ndarray of shape (T, M)
        None of them is empty.
    seeds : int ndarray of shape (T,)
    weights : ndarray of shape (n_train,) or None
    places : int ndarray of shape (M,) or None
        Places of the columns in the whole table of the user; None if these are all.
    width : int
        Number of columns of the whole table.
    """

    rows: Tensor
    query: Tensor
    targets: Any
    masks: BoolArray
    seeds: IntArray
    weights: FloatArray | None
    places: IntArray | None = None
    width: int = 0

    def whole(self, table: Tensor) -> Tensor:
        """Rows or queries with all columns of the whole table, 0 where no mask holds one."""
        if self.places is None:
            return table
        wide = table.new_zeros((len(table), self.width))
        wide[:, on_device(self.places, self.device)] = table
        return wide

    def whole_masks(self) -> BoolArray:
        """Masks over all columns of the whole table."""
        if self.places is None:
            return self.masks
        wide = np.zeros((len(self.masks), self.width), dtype=bool)
        wide[:, self.places] = self.masks
        return wide

    @property
    def device(self) -> Any:
        """Where the tables are."""
        return self.rows.device

    def answers(self, learner: Learner) -> FloatArray:
        """Room for the predictions (T, n_query, C)."""
        return np.full((len(self.masks), len(self.query), learner.n_outputs), np.nan)


class TorchFamily(ABC):
    """Models of one kind: when they are reproduced, and how."""

    parameters: ClassVar[Parameters]
    # Whether the models tell classes apart, or predict numbers; None if there are both.
    classifies: ClassVar[bool | None] = None
    # Whether several outputs, y of shape (n, K), are reproduced.
    takes_outputs: ClassVar[bool] = False
    # Whether equal masks give equal models, whatever their seeds.
    deterministic: ClassVar[bool] = True

    def obstacle(self, estimator: Any) -> str | None:
        """What else is not reproduced of these parameters, and the remedy, if anything."""
        return None

    def steps_aside(self, learner: Learner, y_train: Any) -> bool:
        """Whether scikit-learn should do it, or say why it cannot be done."""
        return self.classifies not in (None, learner.classes is not None)

    @abstractmethod
    def predict(self, learner: Learner, batch: DeviceBatch) -> FloatArray:
        """Predictions (T, n_query, C); NaN for masks that scikit-learn itself should answer."""

    def fit(self, learner: Learner, batch: DeviceBatch, X: Table, y: Any) -> list[Any] | None:
        """Fitted scikit-learn estimators; None to let scikit-learn fit them."""
        return None

    @abstractmethod
    def predict_fitted(self, learner: Learner, model: Any, X: Table) -> FloatArray | None:
        """Prediction (n, C) of a fitted model; None to let it answer for itself."""


class Bucket(NamedTuple):
    """Masks of about the same size, as lists of columns of one length.

    Unless they are put together, the length depends on the size of a mask alone, not on the other
    masks of a call.

    Parameters
    ----------
    which : int ndarray of shape (B,)
        Places of the masks.
    columns : int tensor of shape (B, width)
        Their columns; the places that are left over have column 0.
    held : bool tensor of shape (B, width)
        Which places are not left over.
    """

    which: IntArray
    columns: Tensor
    held: Tensor

    @property
    def width(self) -> int:
        """Length of the lists."""
        return int(self.columns.shape[1])

    def part(self, masks: slice) -> "Bucket":
        """Some of the masks."""
        return Bucket(self.which[masks], self.columns[masks], self.held[masks])

    def cells(self, table: Tensor, part: slice) -> Tensor:
        """Columns of some masks, (t, n, width), with zeros in places that are left over."""
        picked = table[:, self.columns[part]].transpose(0, 1)
        return picked * self.held[part, None, :]


def buckets(masks: BoolArray, device: Any, *, together: bool = False) -> Iterator[Bucket]:
    """All masks by size; ``together`` puts them into one bucket."""
    sizes = np.count_nonzero(masks, axis=1)
    widths = 1 << np.ceil(np.log2(np.maximum(sizes, 1))).astype(np.int64)
    if together:
        widths[:] = -(-sizes.max() // 8) * 8
    for width in np.unique(widths).tolist():
        which = np.flatnonzero(widths == width)
        # Columns that are held come first, in ascending order.
        held = np.arange(width) < sizes[which, np.newaxis]
        columns = np.zeros(held.shape, dtype=np.int64)
        columns[held] = np.nonzero(masks[which])[1]
        yield Bucket(which, on_device(columns, device), on_device(held, device))


def concluded(scores: Tensor, *, hard: bool) -> Tensor:
    """Votes or probabilities from scores (..., C); NaN where no class has a finite score."""
    import torch

    if not hard:
        return torch.softmax(scores, dim=-1)
    votes = torch.nn.functional.one_hot(scores.argmax(dim=-1), scores.shape[-1])
    is_known = torch.isfinite(scores.amax(dim=-1, keepdim=True)) & ~scores.isnan().any(-1, True)
    return torch.where(is_known, votes.to(scores.dtype), torch.nan)
