"""Layers of many multilayer perceptrons of the same sizes: values, derivatives, losses, scores."""

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from randsub.engines.torch.device import Tensor


class Layers(NamedTuple):
    """Where the numbers of each layer lie in a row of parameters.

    All coefficients (inputs, outputs), then all intercepts, as in scikit-learn's optimisers.
    """

    units: tuple[int, ...]

    @property
    def shapes(self) -> list[tuple[int, ...]]:
        """Shapes of coefficients and intercepts."""
        pairs = list(pairwise(self.units))
        return [*pairs, *((1, n_outputs) for _, n_outputs in pairs)]

    def cut(self, flat: Tensor) -> tuple[list[Tensor], list[Tensor]]:
        """Views of coefficients (B, inputs, outputs) and intercepts (B, 1, outputs)."""
        views, begin = [], 0
        for shape in self.shapes:
            end = begin + int(np.prod(shape))
            views.append(flat[:, begin:end].unflatten(1, shape))
            begin = end
        n_layers = len(self.units) - 1
        return views[:n_layers], views[n_layers:]

    @property
    def n_coefficients(self) -> int:
        """How many of the numbers are coefficients; they come first."""
        return sum(n_inputs * n_outputs for n_inputs, n_outputs in pairwise(self.units))


def forward(
    layers: Layers, flat: Tensor, inputs: Tensor, activation: str, output: str
) -> list[Tensor]:
    """Values of all layers, (B, b, units)."""
    import torch

    values = [inputs]
    for coefficients, intercepts in zip(*layers.cut(flat), strict=True):
        raw = torch.baddbmm(intercepts, values[-1], coefficients)
        last = len(values) == len(layers.units) - 1
        values.append(activate(raw, output if last else activation))
    return values


def activate(raw: Tensor, name: str) -> Tensor:
    """One of scikit-learn's activation functions."""
    import torch

    match name:
        case "relu":
            return torch.relu_(raw)
        case "logistic":
            return torch.sigmoid_(raw)
        case "tanh":
            return torch.tanh_(raw)
        case "softmax":
            return torch.softmax(raw, dim=-1)
    return raw


def slope(values: Tensor, deltas: Tensor, name: str) -> Tensor:
    """Deltas times the derivative of an activation, from its values."""
    import torch

    match name:
        case "relu":
            return torch.ops.aten.threshold_backward(deltas, values, 0)
        case "logistic":
            return torch.ops.aten.sigmoid_backward(deltas, values)
        case "tanh":
            return torch.ops.aten.tanh_backward(deltas, values)
    return deltas


def losses_of(targets: Tensor, values: Tensor, output: str) -> Tensor:
    """scikit-learn's loss of each sample, (B, n), without the penalty."""
    import torch

    if output == "identity":
        return 0.5 * (targets - values).square().mean(dim=-1)
    unit = torch.finfo(values.dtype).eps
    values = values.clamp(unit, 1.0 - unit)
    losses = -torch.xlogy(targets, values).sum(dim=-1)
    if output == "logistic":
        losses = losses - torch.xlogy(1.0 - targets, 1.0 - values).sum(dim=-1)
    return losses


def r2_of(targets: Tensor, values: Tensor, weights: Tensor) -> Tensor:
    """Mean R2 (B,) of outputs (B, n, O); of a constant one 1 if it is met, else 0, as scikit-learn.

    In the precision of the weights (B, n).
    """
    import torch

    targets, weights = targets.to(weights.dtype), weights.unsqueeze(-1)
    errors = ((targets - values).square() * weights).sum(dim=1)
    center = (targets * weights).sum(dim=1, keepdim=True) / weights.sum(dim=1, keepdim=True)
    spread = ((targets - center).square() * weights).sum(dim=1)
    score = torch.where(spread > 0.0, 1.0 - errors / spread, (errors == 0.0).to(errors.dtype))
    return score.mean(dim=-1)
