"""Dropout in users' networks, of which many are trained at once.

PyTorch has one generator per device: of networks that are trained at once, the noise of dropout
would depend on their number and order. Here it is a hash of a number that each network has for
itself, of the layer, the step and the place.
"""

from functools import cache
from itertools import count
from math import prod
from typing import Any

from randsub.engines.torch.device import Tensor

# Of the generator SplitMix64, as signed numbers; products wrap around.
GOLDEN, FIRST, SECOND = -7046029254386353131, -4658895280553007687, -7723592293110705685
# Buffer of a layer with its number.
NAME = "_randsub_draws"


def uniform(draws: Tensor, places: Tensor) -> Tensor:
    """A number from 0 to 1 for each place."""
    import torch

    mixed = draws + (places + 1) * GOLDEN
    mixed = (mixed ^ _shifted(mixed, 30)) * FIRST
    mixed = (mixed ^ _shifted(mixed, 27)) * SECOND
    return _shifted(mixed ^ _shifted(mixed, 31), 40).to(torch.float32) / 2**24


def _shifted(values: Tensor, n_bits: int) -> Tensor:
    """Bits moved to the right, with zeros in their place."""
    return (values >> n_bits) & ((1 << (64 - n_bits)) - 1)


@cache
def _kind() -> Any:
    """The class of layers, made when PyTorch is there."""
    import torch

    class SeededDropout(torch.nn.Module):
        """A layer of dropout with a number of its own, which changes with every step."""

        def __init__(self, p: float, of_channels: bool, draws: int) -> None:
            super().__init__()
            self.p, self.of_channels = p, of_channels
            # Uses of the layer in this step: each has noise of its own.
            self.n_uses = 0
            self.register_buffer(NAME, torch.tensor(draws, dtype=torch.int64))

        def forward(self, values: Tensor) -> Tensor:
            """Values (n, ...), some of them 0 and the others larger, in training."""
            if not self.training or self.p == 0.0:
                return values
            shape = list(values.shape)
            if self.of_channels:
                shape[2:] = [1] * (len(shape) - 2)
            places = torch.arange(prod(shape), device=values.device).reshape(shape)
            places = places + (self.n_uses << 40)
            self.n_uses += 1
            kept = uniform(getattr(self, NAME), places) >= self.p
            return values * kept / max(1.0 - self.p, 1e-12)

        def extra_repr(self) -> str:
            """As of PyTorch's layers."""
            return f"p={self.p}, of_channels={self.of_channels}"

        def __reduce__(self) -> Any:
            draws = int(getattr(self, NAME))
            return seeded_dropout, (self.p, self.of_channels, draws, self.training)

    return SeededDropout


def seeded_dropout(p: float, of_channels: bool, draws: int, training: bool = True) -> Any:
    """A layer of dropout.

    Parameters
    ----------
    p : float
        Share of what is left out.
    of_channels : bool
        Whether whole channels are left out, or single values.
    draws : int
        The number of the layer.
    training : bool, default=True
    """
    return _kind()(p, of_channels, draws).train(training)


def with_own_noise(module: Any, seed: int) -> Any:
    """The network with its layers of dropout replaced."""
    from torch import nn

    kinds = {nn.Dropout: False, nn.Dropout1d: True, nn.Dropout2d: True, nn.Dropout3d: True}
    numbers = count(1)
    if type(module) in kinds:
        module = nn.Sequential(module)
    for part in [*module.modules()]:
        # named_children would leave out the second place of a layer.
        for name, child in [*part._modules.items()]:
            if type(child) in kinds:
                # Far apart, and within the numbers of 63 bits.
                draws = (seed * 2**31 + next(numbers) * 2**20) % 2**62
                setattr(part, name, seeded_dropout(child.p, kinds[type(child)], draws))
    return module


def first_use(module: Any) -> None:
    """The next use of each layer of dropout is its first in a step."""
    for part in module.modules():
        if hasattr(part, NAME):
            part.n_uses = 0


def advance(buffers: dict[str, Tensor]) -> None:
    """New noise for the next step of networks with these stacked buffers, in place."""
    for name, buffer in buffers.items():
        if name.rpartition(".")[2] == NAME:
            buffer += 1
