"""Layers of users' networks: those that many networks at once cannot have, and dropout.

PyTorch has one generator per device: of networks that are trained at once, the noise of dropout
would depend on their number and order. Here it is a hash of a number that each network has for
itself, of the layer, the step and the place. PyTorch is imported with this module.
"""

from itertools import count
from math import prod
from typing import Any

import torch
from torch import nn

# Of the generator SplitMix64, as signed numbers; products wrap around.
GOLDEN, FIRST, SECOND = -7046029254386353131, -4658895280553007687, -7723592293110705685
# Layers that leave out single values, or the whole of a channel.
KINDS = {nn.Dropout: False, nn.Dropout1d: True, nn.Dropout2d: True, nn.Dropout3d: True}
NAME = "draws"


def _shifted(values: Any, n_bits: int) -> Any:
    """Bits moved to the right, with zeros in their place."""
    return (values >> n_bits) & ((1 << (64 - n_bits)) - 1)


def uniform(draws: Any, places: Any) -> Any:
    """A number from 0 to 1 for each place."""
    mixed = draws + (places + 1) * GOLDEN
    mixed = (mixed ^ _shifted(mixed, 30)) * FIRST
    mixed = (mixed ^ _shifted(mixed, 27)) * SECOND
    return _shifted(mixed ^ _shifted(mixed, 31), 40).to(torch.float32) / 2**24


class SeededDropout(nn.Module):
    """A layer of dropout with a number of its own, which changes with every step.

    Parameters
    ----------
    p : float
        Share of what is left out.
    of_channels : bool
    draws : int
    """

    draws: Any

    def __init__(self, p: float, of_channels: bool, draws: int) -> None:
        super().__init__()
        self.p, self.of_channels = p, of_channels
        self.register_buffer(NAME, torch.tensor(draws, dtype=torch.int64))

    def forward(self, values: Any) -> Any:
        """Values (n, ...), some of them 0 and the others larger, while the network is trained."""
        if not self.training or self.p == 0.0:
            return values
        shape = list(values.shape)
        if self.of_channels:
            shape[2:] = [1] * (len(shape) - 2)
        places = torch.arange(prod(shape), device=values.device).reshape(shape)
        kept = uniform(self.draws, places) >= self.p
        return values * kept / max(1.0 - self.p, 1e-12)

    def extra_repr(self) -> str:
        """As of PyTorch's layers."""
        return f"p={self.p}, of_channels={self.of_channels}"


def with_own_noise(module: nn.Module, seed: int) -> nn.Module:
    """The network with its layers of dropout replaced."""
    numbers = count(1)
    if type(module) in KINDS:
        module = nn.Sequential(module)
    for part in [*module.modules()]:
        for name, child in part.named_children():
            if type(child) in KINDS:
                # Far apart, and within the numbers of 63 bits.
                draws = (seed * 2**31 + next(numbers) * 2**20) % 2**62
                setattr(part, name, SeededDropout(child.p, KINDS[type(child)], draws))
    return module


def advance(buffers: dict[str, Any]) -> None:
    """New noise for the next step, in place."""
    for name, buffer in buffers.items():
        if name.rpartition(".")[2] == NAME and buffer.dtype == torch.int64:
            buffer += 1


def check_parts(module: Any) -> None:
    """Raise if some part of a network cannot be trained in many networks at once."""
    for part in module.modules():
        is_batch_norm = isinstance(part, nn.modules.batchnorm._BatchNorm)
        if is_batch_norm or getattr(part, "track_running_stats", False):
            raise ValueError(
                f"{type(part).__name__} needs statistics of a batch, which many networks at once "
                "cannot keep; use GroupNorm or LayerNorm."
            )
        for name, value in vars(part).items():
            if isinstance(value, torch.Tensor):
                raise ValueError(
                    f"{name!r} of {type(part).__name__} is a tensor, but neither a parameter nor a "
                    f"buffer: use self.register_buffer({name!r}, ...)."
                )
