"""How data gets to workers on other machines: once to each, not with every task.

joblib's backends for clusters bring every argument of every task to whoever runs it. Dask and Ray
send an argument separately, once per call of joblib, where it is the same object in several tasks
and says that it is large. The :class:`Cargo` is such an object: engines and data of a fit. A
worker that has got it keeps it, so that later tasks only need to name it. One that has not, such as
a worker that has replaced a dead one, answers that it does not know that name, and the task is
given out again with the cargo.

What is left for the tasks are a few rows, masks and seeds. A call is cut into few tasks, each a
bundle of pieces, so that what is sent depends on the size of the work and of the cluster alone.

Nobody can tell a worker that a fit is over, so it forgets what it has not used for a while.
"""

import pickle
import threading
import time
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, TypeAlias
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray

from randsub._joblib import cloudpickle
from randsub._typing import BoolArray, IntArray
from randsub.parallel.assignment import Piece, Rows
from randsub.parallel.worker_pool import on_one_worker

# Rows of assignments, and for each piece which of them, its columns, masks in bits, and seeds.
Bundle: TypeAlias = tuple[list[Rows], list[tuple[int, IntArray, NDArray[np.uint8], IntArray]]]

# A worker of a cluster keeps the data of this many fits at most ...
KEPT = 4
# ... and each for this long after its last use.
SECONDS_KEPT = 60.0


class Cargo:
    """The engines and the data of a fit, under a name that workers know it by.

    It is pickled here and unpickled inside a task: where a base model cannot be sent, or its code
    is missing on a worker, that is an error like any other. A backend that pickles it might wait
    for ever for tasks that it has failed to send.

    Parameters
    ----------
    engines : sequence of Engine
    data : Data
    """

    def __init__(self, engines: Any, data: Any) -> None:
        self.name = uuid4().hex
        buffers: list[pickle.PickleBuffer] = []
        self._body: bytes = cloudpickle.dumps(
            (engines, data), protocol=5, buffer_callback=buffers.append
        )
        # Large arrays: not copied here, and not once more by the backend.
        self._buffers = [np.frombuffer(buffer.raw(), dtype=np.uint8) for buffer in buffers]

    def unpacked(self) -> tuple[Any, Any]:
        """The engines and the data."""
        engines, data = pickle.loads(self._body, buffers=self._buffers)
        return engines, data

    def __sizeof__(self) -> int:
        # Backends ask for this to find out what is worth being sent once for all.
        n_bytes = len(self._body) + sum(buffer.nbytes for buffer in self._buffers)
        return object.__sizeof__(self) + n_bytes


class Hold:
    """What a worker has been sent; the oldest and the unused make room."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._held: dict[str, tuple[tuple[Any, Any], float]] = {}
        self._is_swept = False

    def look_up(self, name: str, cargo: Cargo | None) -> tuple[Any, Any] | None:
        """Engines and data of that name, kept from earlier or sent now, if they are here."""
        with self._lock:
            held, _ = self._held.pop(name, (None, 0.0))
            if held is None:
                if cargo is None:
                    return None
                held = cargo.unpacked()
            # Whatever was used last stands last.
            self._held[name] = held, time.monotonic()
            while len(self._held) > KEPT:
                del self._held[next(iter(self._held))]
            self._sweep_later()
            return held

    def __len__(self) -> int:
        return len(self._held)

    def _sweep_later(self) -> None:
        if not self._is_swept:
            self._is_swept = True
            sweeper = threading.Timer(SECONDS_KEPT, self._sweep)
            # It must not keep a worker from exiting.
            sweeper.daemon = True
            sweeper.start()

    def _sweep(self) -> None:
        with self._lock:
            oldest = time.monotonic() - SECONDS_KEPT
            self._held = {name: held for name, held in self._held.items() if held[1] >= oldest}
            self._is_swept = False
            if self._held:
                self._sweep_later()


_HOLD = Hold()


def deliver(
    work: Callable[[Any, Any, Any], Any], name: str, cargo: Cargo | None, argument: Any
) -> Any:
    """Do some work on a worker of a cluster.

    Parameters
    ----------
    work : callable
        Takes engines, data, and the argument. What it returns is not None.
    name : str
        Of the cargo.
    cargo : Cargo or None
        None to use the one that the worker has kept.
    argument : object

    Returns
    -------
    answer : object or None
        None where the worker does not know the cargo.
    """
    known = _HOLD.look_up(name, cargo)
    if known is None:
        return None
    with on_one_worker():
        return work(*known, argument)


def unbundled(task: Callable[..., Any], engines: Any, data: Any, bundle: Bundle) -> list[Any]:
    """Answers to a task for each piece of a bundle.

    Parameters
    ----------
    task : callable
        Takes engines, data, rows, columns, masks and seeds.
    engines : sequence of Engine
    data : Data
    bundle : tuple
        As :func:`bundled` returns it.
    """
    rows, pieces = bundle
    answers = []
    for place, columns, bits, seeds in pieces:
        masks: BoolArray = np.unpackbits(bits, axis=1, count=len(columns)).astype(bool)
        answers.append(task(engines, data, rows[place], columns, masks, seeds))
    return answers


def bundled(rows: Sequence[Rows], pieces: Sequence[Piece]) -> Bundle:
    """Pieces with the rows that they need, in few bytes.

    It is a plain tuple: objects that say how large they are, as arrays do, would be sent
    separately, each, and Ray would keep them until its workers are let go.

    Parameters
    ----------
    rows : sequence of Rows
        Of all assignments.
    pieces : sequence of Piece
    """
    places = {number: n for n, number in enumerate(dict.fromkeys(p.number for p in pieces))}
    return (
        [rows[number] for number in places],
        [
            (places[number], columns.astype(np.int32), np.packbits(masks, axis=1), seeds)
            for number, columns, masks, seeds in pieces
        ],
    )


def split(pieces: Sequence[Piece], n_bundles: int) -> list[Sequence[Piece]]:
    """Neighbouring pieces together, in at most ``n_bundles`` lists of similar numbers of models."""
    sizes = np.array([len(piece.masks) for piece in pieces])
    ends = np.cumsum(sizes)
    # Where the middle of a piece falls among equal shares of all models.
    shares = np.minimum(((ends - sizes / 2) * n_bundles / ends[-1]).astype(int), n_bundles - 1)
    bounds = [0, *(np.flatnonzero(np.diff(shares)) + 1).tolist(), len(pieces)]
    return [pieces[a:b] for a, b in pairwise(bounds)]
