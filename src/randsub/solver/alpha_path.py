"""Alpha along the epochs, in bounded memory."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from randsub._typing import FloatArray

# Largest number of recorded epochs, and of bytes per task where this many would take more. Fewer
# than four would not show a path.
MOST_SNAPSHOTS = 100
MOST_BYTES = 4_000_000
FEWEST_SNAPSHOTS = 4


class AlphaPath(NamedTuple):
    """Alpha of all tasks after some epochs.

    The epochs are the multiples of a power of two, which doubles when they become too many. They
    depend on the epoch alone, so that tasks which are trained elsewhere, or resumed, have the same.

    Parameters
    ----------
    epochs : tuple of int
        Ascending; 0 is the start.
    alphas : tuple of float32 ndarrays of shape (P, M)
    """

    epochs: tuple[int, ...] = ()
    alphas: tuple[NDArray[np.float32], ...] = ()

    def extended(self, epoch: int, alpha: FloatArray, most: int) -> "AlphaPath":
        """The path after one more epoch, with fewer than ``most`` snapshots.

        One place is left for the last epoch; see :meth:`ended`.
        """
        stride = _stride(epoch, most - 1)
        kept = [place for place, former in enumerate(self.epochs) if former % stride == 0]
        path = self
        if len(kept) < len(self.epochs):
            path = AlphaPath(
                tuple(self.epochs[place] for place in kept),
                tuple(self.alphas[place] for place in kept),
            )
        return path if epoch % stride else path.ended(epoch, alpha)

    def ended(self, epoch: int, alpha: FloatArray) -> "AlphaPath":
        """The path with this epoch as its last one."""
        if self.epochs and self.epochs[-1] == epoch:
            return self
        return AlphaPath((*self.epochs, epoch), (*self.alphas, alpha.astype(np.float32)))

    def at(self, epoch: int) -> NDArray[np.float32]:
        """Alpha after an epoch of the path, or after the last one if the path has ended before."""
        return self.alphas[self.epochs.index(min(epoch, self.epochs[-1]))]


NO_PATH = AlphaPath()


def most_snapshots(n_columns: int) -> int:
    """Largest number of snapshots of alpha for so many columns."""
    return max(FEWEST_SNAPSHOTS, min(MOST_SNAPSHOTS, MOST_BYTES // (4 * n_columns)))


def joined_paths(paths: Sequence[AlphaPath]) -> AlphaPath:
    """One path of all tasks, from those of tasks that were trained one by one."""
    longest = max(paths, key=lambda path: path.epochs[-1:])
    alphas = [np.concatenate([path.at(epoch) for path in paths]) for epoch in longest.epochs]
    return AlphaPath(longest.epochs, tuple(alphas))


def _stride(epoch: int, most: int) -> int:
    """Smallest power of two with at most so many multiples from 0 to the epoch."""
    stride = 1
    while epoch // stride + 1 > most:
        stride *= 2
    return stride
