"""Predictions that stay on a GPU during the optimisation.

A step of the optimisation needs two sums over them, and nothing else: the output of the ensemble,
and the cost of each model. With tens of thousands of samples these sums read more memory than
everything else in a step, and a GPU reads it a hundred times as fast. Loss, weights and gradient
are small, and stay on the host.
"""

import weakref
from typing import Any

import numpy as np

from randsub._typing import FloatArray
from randsub.engines.torch.device import (
    Tensor,
    at_work,
    free_bytes,
    is_out_of_memory,
    on_device,
    release,
)
from randsub.exceptions import DeviceError

# Fewer numbers are added up on the host while a GPU is being asked.
LARGE = 2**21
# By the identity of the host array. It is not kept alive by its copy, which goes when it goes.
_HELD: dict[int, tuple["weakref.ref[FloatArray]", "DevicePredictions"]] = {}


class DevicePredictions:
    """Predictions (T, n, C) on a device: a HeldPredictions."""

    def __init__(self, predictions: FloatArray, device: Any) -> None:
        self.shape = predictions.shape
        with at_work(device):
            self._table: Tensor = on_device(predictions.reshape(len(predictions), -1), device)

    def average(self, weights: FloatArray) -> FloatArray:
        """Sum over models with weights (T,), shape (n, C)."""
        with at_work(self._table.device):
            found = on_device(weights, self._table.device) @ self._table
            output: FloatArray = found.cpu().numpy()
        return output.reshape(self.shape[1:])

    def costs(self, loss_gradient: FloatArray) -> FloatArray:
        """Inner product of the predictions of each model with an array (n, C), shape (T,)."""
        with at_work(self._table.device):
            found = self._table @ on_device(loss_gradient.ravel(), self._table.device)
            costs: FloatArray = found.cpu().numpy()
        return costs


def held(predictions: FloatArray, device: Any) -> "FloatArray | DevicePredictions":
    """A copy on the device, the same one each time; the array itself if that is not worth it."""
    if not is_worth_it(predictions, device):
        return predictions
    place = id(predictions)
    if place in _HELD:
        return _HELD[place][1]
    with at_work(device):
        if predictions.nbytes > free_bytes(device):
            return predictions
    try:
        copy = DevicePredictions(predictions, device)
    except DeviceError as error:
        if not isinstance(error.__cause__, RuntimeError) or not is_out_of_memory(error.__cause__):
            raise
        # The copy only saves time.
        release(device)
        return predictions
    # A bound method: names of a module are gone before its arrays when Python ends.
    forget = _HELD.pop
    _HELD[place] = weakref.ref(predictions, lambda _: forget(place, None)), copy
    return copy


def is_worth_it(predictions: FloatArray, device: Any) -> bool:
    """Whether there are many numbers, in double precision, and a GPU that has it."""
    is_double = predictions.dtype == np.float64
    return bool(device.type == "cuda" and is_double and predictions.size >= LARGE)
