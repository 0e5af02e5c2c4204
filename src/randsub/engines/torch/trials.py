"""What a network of the user is tried for before many of them are trained.

All networks of a call share one skeleton, into which the parameters and buffers of each are put.
What a network keeps elsewhere, or changes in another way, would be lost or mixed up.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from randsub.engines.torch.device import Tensor
from randsub.engines.torch.layers import first_use

BUFFER = "use self.register_buffer"


def check_parts(module: Any) -> None:
    """Raise if some part of a network cannot be trained in many networks at once."""
    import torch

    own = [*module.parameters(), *module.buffers()]
    if not any(True for _ in module.parameters()):
        raise ValueError(f"module must have parameters to train, and {module!r} has none.")
    for name, one in module.named_parameters():
        if isinstance(one, torch.nn.parameter.UninitializedParameter):
            raise ValueError(f"The parameter {name!r} has no shape yet: use no lazy layers.")
        if one.requires_grad and one.dtype != torch.float32:
            raise ValueError(
                f"The parameter {name!r} is {one.dtype}; networks take and are trained in float32."
            )
    for part in module.modules():
        is_batch_norm = isinstance(part, torch.nn.modules.batchnorm._BatchNorm)
        if is_batch_norm or getattr(part, "track_running_stats", False):
            raise ValueError(
                f"{type(part).__name__} needs statistics of a batch, which many networks at once "
                "cannot keep; use GroupNorm or LayerNorm."
            )
        if getattr(part, "sparse", False) is True:
            raise ValueError(f"{type(part).__name__} has sparse gradients: use sparse=False.")
        for name, value in _attributes(part):
            if any(all(one is not known for known in own) for one in _tensors(value)):
                raise ValueError(
                    f"{name!r} of {type(part).__name__} is or holds a tensor that is neither a "
                    f"parameter nor a buffer: {BUFFER}."
                )


def check_alike(one: Any, other: Any) -> None:
    """Raise if networks of two seeds differ in anything but their parameters and buffers."""
    for part, twin in zip(one.modules(), other.modules(), strict=False):
        others = dict(_attributes(twin))
        for name, value in _attributes(part):
            if not _is_equal(value, others.get(name)):
                raise ValueError(
                    f"{name!r} of {type(part).__name__} differs between networks of two seeds; "
                    f"what is drawn must be a parameter or a buffer: {BUFFER}."
                )


def outputs_of(module: Any, rows: Tensor, n_outputs: int, *, training: bool) -> Tensor:
    """Outputs of a network, which is used up for it; raise unless they are what is needed."""
    import torch

    module.train(training)
    buffers = dict(module.named_buffers())
    kept = [{name: _plain(one) for name, one in _attributes(part)} for part in module.modules()]
    with torch.random.fork_rng(devices=[]):
        # A layer may change its inputs in place.
        values = module(rows.clone())
    first_use(module)
    for part, before in zip(module.modules(), kept, strict=False):
        for name, value in _attributes(part):
            if name in before and not _is_equal(before[name], _plain(value)):
                raise ValueError(
                    f"{type(part).__name__} changes its {name!r} when it is called, which many "
                    f"networks at once would share: {BUFFER}, and change it in place, as by "
                    f"self.{name}.add_(...)."
                )
    for name, buffer in module.named_buffers():
        if buffer is not buffers.get(name):
            raise ValueError(
                f"The network assigns the buffer {name!r} when it is called, which many networks "
                f"at once would lose: change it in place, as by self.{name}.copy_(...)."
            )
    shape = getattr(values, "shape", None)
    if shape != (len(rows), n_outputs):
        got = f"a {type(values).__name__}" if shape is None else str(tuple(shape))
        raise ValueError(
            f"module must map inputs of shape (n, {rows.shape[1]}) to outputs of shape "
            f"(n, {n_outputs}), got {got} for n={len(rows)}{' in training' if training else ''}."
        )
    return values


def _attributes(part: Any) -> Iterator[tuple[str, Any]]:
    """What a part of a network keeps beside its parameters, buffers, parts and hooks."""
    import torch

    known = vars(torch.nn.Module())
    return ((name, value) for name, value in vars(part).items() if name not in known)


def _tensors(value: Any) -> Iterator[Tensor]:
    """Tensors in nested containers."""
    import torch

    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, list | tuple | Mapping):
        for one in value.values() if isinstance(value, Mapping) else value:
            yield from _tensors(one)


def _plain(value: Any) -> Any:
    """A copy of arrays and containers as lists; others as they are."""
    if isinstance(value, np.ndarray | set):
        return value.copy()
    if isinstance(value, Mapping):
        return [[name, _plain(one)] for name, one in value.items()]
    return [_plain(one) for one in value] if isinstance(value, list | tuple) else value


def _is_equal(one: Any, other: Any) -> bool:
    """Whether numbers, texts, arrays and containers of them are equal; others are."""
    if isinstance(one, np.ndarray):
        return isinstance(other, np.ndarray) and np.array_equal(one, other)
    if isinstance(one, Mapping):
        one, other = [*one.items()], [*other.items()] if isinstance(other, Mapping) else other
    if isinstance(one, list | tuple):
        is_like = type(one) is type(other) and len(one) == len(other)
        return is_like and all(map(_is_equal, one, other))
    return not isinstance(one, int | float | str | bytes | set) or one != one or one == other
