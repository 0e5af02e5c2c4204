"""The device that models are trained on: its choice, its memory, and its failures."""

import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from functools import partial
from importlib.util import find_spec
from typing import Any, TypeAlias

import numpy as np

from randsub._typing import FloatArray, IntArray
from randsub.exceptions import DeviceError

# Of PyTorch, which need not be installed where types are checked.
Tensor: TypeAlias = Any

MISSING = "needs PyTorch, which is not installed; install randsub[torch]"
# Share of the free memory that one portion of the work may take, and the most that it takes: more
# does not make it faster. The CPU has caches rather than a memory of its own.
SHARE, MOST_BYTES, CPU_BYTES = 0.4, 2**34, 2**27
# What a GPU, or one of its libraries, says when it does not work any more.
LOST = re.compile(r"CUDA error|cu(DNN|solver) error: \w*(EXECUTION_FAILED|INTERNAL_ERROR)")
# Threads on one device wait for each other in any case, and their memory adds up. So does whoever
# seeds PyTorch's generator, which all threads share.
TURN = threading.RLock()


def is_installed() -> bool:
    """Whether PyTorch is there; it is not imported."""
    return find_spec("torch") is not None


def obstacle_of(device: str | None) -> str | None:
    """Why nothing can be trained on a device, and the remedy, as a clause; None if it can."""
    if device is not None and not re.fullmatch(r"cpu|mps|cuda(:\d+)?", device):
        return f"does not know device={device!r}; use None, 'cuda', 'cuda:1', 'mps' or 'cpu'"
    if not is_installed():
        return MISSING
    import torch

    if device in (None, "cpu"):
        return None
    if device == "mps":
        if torch.backends.mps.is_available():
            return None
        return "finds no GPU of Apple's Metal for device='mps'; use device='cpu'"
    if not torch.cuda.is_available():
        return f"finds no CUDA GPU for device={device!r}; use device='cpu'"
    n_devices = torch.cuda.device_count()
    if int(device.partition(":")[2] or 0) >= n_devices:
        return f"finds {n_devices} CUDA GPUs, numbered from 0, but not device={device!r}"
    return None


def check_device(device: str | None) -> None:
    """Raise a ValueError if nothing can be trained on a device."""
    reason = obstacle_of(device)
    if reason is not None:
        raise ValueError(f"The engine 'torch' {reason}.")


def chosen(device: str | None) -> Any:
    """The torch device of a name; by default a GPU if there is one."""
    import torch

    if device is None:
        device = "cpu"
        if torch.cuda.is_available():
            device = "cuda"
        elif torch.backends.mps.is_available():
            device = "mps"
    return torch.device(device)


def wide_dtype(device: Any) -> Any:
    """Double precision, where the device has it."""
    import torch

    return torch.float32 if device.type == "mps" else torch.float64


def _is_cpu(device: Any) -> bool:
    return bool(device.type == "cpu")


@contextmanager
def at_work(device: Any) -> Iterator[None]:
    """One piece of work at a time on a device, without gradients; say in a sentence if it fails."""
    import torch

    # Streams and graphs are those of the current GPU, which need not be the one that is used.
    current = torch.cuda.device(device) if device.type == "cuda" else nullcontext()
    with TURN, torch.no_grad(), current:
        try:
            yield
        except RuntimeError as failure:
            if is_out_of_memory(failure):
                raise DeviceError.full(str(device)) from failure
            if _is_cpu(device) or isinstance(failure, DeviceError):
                raise
            reason = str(failure).strip().splitlines()[0]
            # What PyTorch says of a device, not of shapes or types.
            if type(failure).__name__ != "AcceleratorError" and not LOST.search(reason):
                raise
            raise DeviceError.lost(str(device), reason) from failure


def is_out_of_memory(error: RuntimeError) -> bool:
    """Whether memory was too small: of a GPU, of its libraries, or of the CPU."""
    import torch

    words = ("out of memory", "ALLOC_FAILED", "can't allocate memory")
    is_told = not isinstance(error, DeviceError) and any(one in str(error) for one in words)
    return isinstance(error, torch.OutOfMemoryError) or is_told


def free_bytes(device: Any) -> int:
    """Memory that one portion of the work may take."""
    import torch

    if device.type == "cuda":
        free, _ = torch.cuda.mem_get_info(device)
        # memory_reserved and memory_allocated take longer than a small portion of the work.
        stats = torch.cuda.memory_stats_as_nested_dict(device)
        reserved, allocated = (
            stats[name]["all"]["current"] for name in ("reserved_bytes", "allocated_bytes")
        )
        return min(int(SHARE * (free + reserved - allocated)), MOST_BYTES)
    if device.type == "mps":
        free = torch.mps.recommended_max_memory() - torch.mps.current_allocated_memory()
        return min(int(SHARE * free), MOST_BYTES)
    return CPU_BYTES


def release(device: Any) -> None:
    """Give back memory that PyTorch keeps for later."""
    import torch

    # Not while another thread records a graph.
    with TURN:
        if device.type == "cuda":
            torch.cuda.empty_cache()
        elif device.type == "mps":
            torch.mps.empty_cache()


def in_portions(
    work: Callable[[slice, slice], Tensor],
    n_masks: int,
    n_queries: int,
    bytes_per_pair: int,
    device: Any,
    out: FloatArray,
    which: IntArray | None = None,
    *,
    nested: bool = False,
) -> None:
    """Do the work for all pairs of a mask and a query, as many at a time as memory allows.

    Parameters
    ----------
    work : callable
        Takes a slice of the masks and one of the queries; returns a tensor (t, q, C).
    n_masks, n_queries : int
    bytes_per_pair : int
        Memory that a pair takes.
    device : torch.device
    out : ndarray of shape (n_masks or more, n_queries, C)
        Receives the results.
    which : int ndarray of shape (n_masks,), default=None
        Places of the masks in ``out``; by default they are all of its places.
    nested : bool, default=False
        Whether this is part of a portion of masks, which are fewer next time if memory is too
        small even for a single pair.
    """
    import torch

    most = max(free_bytes(device) // max(bytes_per_pair, 1), 1)
    mask = query = 0
    while mask < n_masks and n_queries:
        masks_at_once = max(min(most // n_queries, n_masks), 1)
        queries_at_once = n_queries if most >= n_queries else most
        part = slice(mask, min(mask + masks_at_once, n_masks))
        asked = slice(query, min(query + queries_at_once, n_queries))
        n_pairs = (part.stop - part.start) * (asked.stop - asked.start)
        is_last = n_pairs == 1 and not nested
        found = _tried(partial(work, part, asked), device, is_last, bytes_per_pair)
        if found is None and n_pairs == 1:
            raise torch.OutOfMemoryError("not even a pair of a mask and a query fits")
        if found is None:
            most = max(n_pairs // 2, 1)
            continue
        out[part if which is None else which[part], asked] = found
        query = asked.stop
        if query == n_queries:
            mask, query = part.stop, 0


def mask_portions(
    work: Callable[[slice], Tensor], n_masks: int, bytes_per_mask: int, device: Any
) -> list[Any]:
    """Results for all masks, as many at a time as memory allows: ``work`` takes a slice of them."""
    most = int(np.clip(free_bytes(device) // max(bytes_per_mask, 1), 1, max(n_masks, 1)))
    found: list[Any] = []
    begin = 0
    while begin < n_masks:
        part = slice(begin, min(begin + most, n_masks))
        one = _tried(partial(work, part), device, part.stop - begin == 1, bytes_per_mask)
        if one is None:
            most = max((part.stop - begin) // 2, 1)
            continue
        found.append(one)
        begin = part.stop
    return found


def joined(parts: list[FloatArray]) -> FloatArray:
    """Results of :func:`mask_portions` as one array; a single one as it is."""
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def _tried(work: Callable[[], Any], device: Any, is_last: bool, n_bytes: int) -> Any:
    """What the work returns, tensors as arrays of the host; None if memory is too small for it."""
    import torch

    try:
        found = work()
        return found.cpu().numpy() if isinstance(found, torch.Tensor) else found
    except RuntimeError as failure:
        if not is_out_of_memory(failure):
            raise
        if is_last:
            raise DeviceError.full(str(device), n_bytes) from failure
    # Outside the handler: the error holds what has been allocated.
    release(device)
    return None


def on_device(values: Any, device: Any, dtype: Any = None) -> Tensor:
    """A host array as a tensor of its own on the device."""
    import torch

    array = np.ascontiguousarray(values)
    if not array.flags.writeable:
        array = array.copy()
    return torch.from_numpy(array).to(device=device, dtype=dtype)
