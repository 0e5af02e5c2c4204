"""A model with some of the objects in it exchanged for others, however deep they lie."""

import copy
import pickle
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

# Of these there is nothing to exchange, and a model holds many of them.
ATOMS = (str, int, float, bool, bytes, type(None))

Copy = Callable[[Any], Any]


@dataclass(frozen=True)
class Swap:
    """What takes the place of an object.

    Parameters
    ----------
    replacement : object
    fill : callable or None
        Called once all swaps are known, for a replacement that holds parts of the original: it is
        given a function that copies such a part with everything in it exchanged.
    """

    replacement: Any
    fill: Callable[[Copy], None] | None = None


class _Nowhere:
    """A file that forgets."""

    def write(self, content: Any) -> int:
        return len(content)


class _Visitor(pickle.Pickler):
    """Shows every object that pickle would meet; where ``visit`` says so, it goes no deeper."""

    def __init__(self, visit: Callable[[Any], bool]) -> None:
        # Arrays are offered as buffers, which are not taken: nothing of their size is copied.
        super().__init__(_Nowhere(), protocol=5, buffer_callback=lambda buffer: None)
        self._visit = visit

    def persistent_id(self, obj: Any) -> str | None:
        return "met" if self._visit(obj) else None


def visit_parts(model: Any, visit: Callable[[Any], bool]) -> None:
    """Show every object that is part of a model to ``visit``.

    What pickle would write is what belongs to a model, whatever its class does with its state.

    Parameters
    ----------
    model : object
    visit : callable
        Given an object; returns whether its own parts should be passed over.
    """
    _Visitor(visit).dump(model)


def parts_of(model: Any) -> Iterator[Any]:
    """Every object that is part of a model, each once, numbers and strings left out."""
    met: dict[int, Any] = {}

    def visit(obj: Any) -> bool:
        if type(obj) not in ATOMS:
            # Keeping it alive keeps its id from being given to another.
            met.setdefault(id(obj), obj)
        return False

    visit_parts(model, visit)
    yield from met.values()


def exchange(model: Any, swap: Callable[[Any], Swap | None]) -> Any:
    """A copy of a model in which some objects are exchanged; arrays of numbers are shared.

    Parameters
    ----------
    model : object
        Is not changed.
    swap : callable
        What takes the place of an object, or None to keep it.

    Returns
    -------
    copy : object
    """
    memo: dict[int, Any] = {}
    originals: list[Any] = []
    fills: list[Callable[[Copy], None]] = []

    def visit(obj: Any) -> bool:
        if type(obj) in ATOMS:
            return False
        if id(obj) in memo:
            return True
        found = swap(obj)
        if found is None and type(obj) is np.ndarray and not obj.dtype.hasobject:
            found = Swap(obj)
        if found is None:
            return False
        memo[id(obj)] = found.replacement
        # Keeping it alive keeps its id from being given to another.
        originals.append(obj)
        if found.fill is not None:
            fills.append(found.fill)
        # Only what is filled later has parts that matter.
        return found.fill is None

    visit_parts(model, visit)
    for fill in fills:
        fill(lambda part: copy.deepcopy(part, memo))
    return copy.deepcopy(model, memo)


def without_callbacks(swap: Callable[[Any], Swap | None]) -> Callable[[Any], Swap | None]:
    """The same swap, but callbacks of estimators stay behind: they belong to a fit, not to a model.

    Parameters
    ----------
    swap : callable
        As for :func:`exchange`.

    Returns
    -------
    swap : callable
    """
    callbacks: set[int] = set()

    def leaving(obj: Any) -> Swap | None:
        if id(obj) in callbacks:
            return Swap([])
        # An estimator is met before what it holds.
        held = getattr(obj, "__dict__", {}).get("_skl_callbacks")
        if held is not None:
            callbacks.add(id(held))
        return swap(obj)

    return leaving
