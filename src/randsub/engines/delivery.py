"""How data gets to workers that do not share a machine: once to each, not with every task.

joblib's backends for clusters bring every argument of every task to whoever runs it. Dask and Ray
send an argument on its own, once a call, where it is the same object in several tasks and says that
it is large. The :class:`Cargo` is such an object: the engine and the data of a fit. A worker that
has got it keeps it, so that later tasks only need to name it. One that has not, as a worker that
has replaced a dead one, answers that it does not know that name, and the task is given out again
with the cargo.

What is left for the tasks are a few rows, masks and seeds. A call is cut into so few of them, each
a bundle of pieces, that what is sent depends on the size of the work and of the cluster alone.

Nobody can tell a worker that a fit is over, so it forgets what it has not used for a while.
"""

import pickle
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple, TypeAlias
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray

from randsub._typing import BoolArray, IntArray
from randsub.engines.crew import on_one_worker

try:
    import cloudpickle
except ImportError:
    # Older versions of joblib bring a copy of their own.
    from joblib.externals import cloudpickle


# Rows of assignments, and for each piece which of them, its masks in bits, their width, its seeds.
Bundle: TypeAlias = tuple[list["Rows"], list[tuple[int, NDArray[np.uint8], int, IntArray]]]

# A worker of a cluster keeps the data of so many fits at most ...
KEPT = 4
# ... and each for so long after it was last used.
SECONDS_KEPT = 60.0


@dataclass(frozen=True)
class Rows:
    """Which rows models are trained on and asked about.

    Parameters
    ----------
    targets : ndarray of shape (n_train,)
        Targets of the training rows.
    train, query, val : int ndarrays
        Training rows and held-out rows of X, and rows of X_val.
    """

    targets: Any
    train: IntArray
    query: IntArray
    val: IntArray

    @property
    def nbytes(self) -> int:
        """Memory that they take."""
        return sum(np.asarray(part).nbytes for part in (self.targets, self.train, self.query))


class Piece(NamedTuple):
    """Models of one assignment, by its number, that are trained in one go.

    Parameters
    ----------
    number : int
    masks : bool ndarray of shape (T, M)
    seeds : int ndarray of shape (T,)
    """

    number: int
    masks: BoolArray
    seeds: IntArray


class Cargo:
    """The engine and the data of a fit, under a name that workers know it by.

    It is packed here and unpacked inside a task: where a base model cannot be sent, or its code is
    not there on a worker, that is an error like any other. A backend that packs it might wait for
    ever for tasks that it has failed to send.

    Parameters
    ----------
    engine : Engine
    data : Data
    """

    def __init__(self, engine: Any, data: Any) -> None:
        self.name = uuid4().hex
        buffers: list[pickle.PickleBuffer] = []
        self._body: bytes = cloudpickle.dumps(
            (engine, data), protocol=5, buffer_callback=buffers.append
        )
        # Large arrays: not copied here, and not once more by the backend.
        self._buffers = [np.frombuffer(buffer.raw(), dtype=np.uint8) for buffer in buffers]

    def unpacked(self) -> tuple[Any, Any]:
        """The engine and the data."""
        engine, data = pickle.loads(self._body, buffers=self._buffers)
        return engine, data

    def __sizeof__(self) -> int:
        # Backends ask for this to find out what is worth being sent once for all.
        n_bytes = len(self._body) + sum(buffer.nbytes for buffer in self._buffers)
        return object.__sizeof__(self) + n_bytes


class Parcel:
    """A fitted model on its way back from a worker.

    It is packed inside the task. Where that fails, it is an error of the task like any other; a
    backend that packs it might wait for ever for an answer that it has failed to send.

    Parameters
    ----------
    model : estimator
    """

    def __init__(self, model: Any) -> None:
        self._body: bytes = cloudpickle.dumps(model)

    def unpacked(self) -> Any:
        """The model."""
        return pickle.loads(self._body)


class Hold:
    """What a worker has been sent; the oldest and the unused make room."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._held: dict[str, tuple[tuple[Any, Any], float]] = {}
        self._sweeper: threading.Timer | None = None

    def look_up(self, name: str, cargo: Cargo | None) -> tuple[Any, Any] | None:
        """The engine and the data of that name, kept from earlier or sent now, if they are here."""
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
            if self._sweeper is None:
                self._sweep_later()
            return held

    def __len__(self) -> int:
        return len(self._held)

    def _sweep_later(self) -> None:
        self._sweeper = threading.Timer(SECONDS_KEPT, self._sweep)
        # It must not keep a worker from leaving.
        self._sweeper.daemon = True
        self._sweeper.start()

    def _sweep(self) -> None:
        with self._lock:
            oldest = time.monotonic() - SECONDS_KEPT
            for name in [name for name, (_, used) in self._held.items() if used < oldest]:
                del self._held[name]
            self._sweeper = None
            if self._held:
                self._sweep_later()


_HOLD = Hold()


def deliver(
    task: Callable[..., Any], name: str, cargo: Cargo | None, bundle: Bundle
) -> list[Any] | None:
    """Run a task on a worker of a cluster, for each piece of a bundle.

    Parameters
    ----------
    task : callable
        Gets an engine, data, rows, masks and seeds.
    name : str
        Of the cargo.
    cargo : Cargo or None
        None to use the one that the worker has kept.
    bundle : tuple
        What :func:`bundled` makes of pieces.

    Returns
    -------
    answers : list or None
        None where the worker does not know the cargo.
    """
    known = _HOLD.look_up(name, cargo)
    if known is None:
        return None
    engine, data = known
    answers = []
    with on_one_worker():
        rows, pieces = bundle
        for place, bits, n_columns, seeds in pieces:
            masks: BoolArray = np.unpackbits(bits, axis=1, count=n_columns).astype(bool)
            answers.append(task(engine, data, rows[place], masks, seeds))
    return answers


def bundled(rows: Sequence[Rows], pieces: Sequence[Piece]) -> Bundle:
    """Pieces with the rows that they need, in few bytes.

    It is a plain tuple: objects that say how large they are, as arrays do, would be sent on their
    own, each, and Ray would keep them until its workers are dismissed.

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
            (places[number], np.packbits(masks, axis=1), masks.shape[1], seeds)
            for number, masks, seeds in pieces
        ],
    )


def split(pieces: Sequence[Piece], n_bundles: int) -> list[Sequence[Piece]]:
    """Neighbouring pieces together, in at most so many lists of about as many models each."""
    ends = np.cumsum([len(piece.masks) for piece in pieces])
    # Where the middle of a piece falls among equal shares of all models.
    middles = ends - np.array([len(piece.masks) for piece in pieces]) / 2
    shares = np.minimum((middles * n_bundles / ends[-1]).astype(int), n_bundles - 1)
    borders = np.flatnonzero(np.diff(shares)) + 1
    bounds = [0, *borders.tolist(), len(pieces)]
    return [pieces[a:b] for a, b in pairwise(bounds)]
