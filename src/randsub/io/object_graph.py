"""The objects that a model is made of: looked at one by one, or replaced in a copy."""

import io
import pickle
from collections.abc import Callable
from typing import Any

# There is nothing to replace in these, and a model holds many of them.
ATOMS = (str, int, float, bool, bytes, type(None))


class ObjectGraph(pickle.Pickler):
    """Every object that pickle would write of a model, whatever its classes do with their state.

    Parameters
    ----------
    model : object
        Is not changed.
    replace : callable
        Called once with each object except numbers and strings, before any method of the object is
        called. Returns what takes its place in the copy, or None to keep it.

    Attributes
    ----------
    parts : list of objects
        Every object of the model, numbers and strings excepted.
    """

    def __init__(self, model: Any, replace: Callable[[Any], Any]) -> None:
        self._stream, self._buffers = io.BytesIO(), list[pickle.PickleBuffer]()
        # Arrays are handed over as buffers: nothing of their size is copied.
        super().__init__(self._stream, protocol=5, buffer_callback=self._buffers.append)
        self._replace = replace
        # Keeping an object alive keeps its id from being reused.
        self._met: dict[int, tuple[Any, Any]] = {}
        self.dump(model)

    def persistent_id(self, obj: Any) -> Any:
        """The replacement of an object; pickle writes it instead, with its own parts replaced."""
        if type(obj) in ATOMS:
            return None
        if id(obj) not in self._met:
            self._met[id(obj)] = obj, self._replace(obj)
        return self._met[id(obj)][1]

    @property
    def parts(self) -> list[Any]:
        """Every object of the model."""
        return [obj for obj, _ in self._met.values()]

    def copy(self) -> Any:
        """The model with the replacements; other arrays share their memory with the original."""
        return _Copier(io.BytesIO(self._stream.getvalue()), buffers=self._buffers).load()


class _Copier(pickle.Unpickler):
    def persistent_load(self, pid: Any) -> Any:
        return pid
