"""Record alpha along the epochs during a fit."""

import numpy as np
from numpy.typing import NDArray

from randsub._typing import FloatArray, IntArray
from randsub.solver import Callback, Run, Settings, TrainingState

# Fewer snapshots would not show a path.
_LEAST = 4


class AlphaPath(Callback):
    """Record alpha at some epochs of a fit, for :class:`PathDisplay`.

    Memory does not grow with the number of epochs: when ``max_snapshots`` are held, every second
    one is dropped, and the distance between recorded epochs doubles. The first and the last epoch
    are always recorded.

    Parameters
    ----------
    max_snapshots : int, default=200
        Maximum number of recorded epochs. Long fits end with between half of that and all of it.
    max_megabytes : float, default=64
        Memory for the snapshots. A snapshot takes 4 bytes per feature and repeat (in a network, per
        pair): 200 of 10,000 features are 8 MB. With more than 80,000 features fewer snapshots are
        held, but never fewer than four.

    Attributes
    ----------
    epochs_ : int ndarray of shape (n_snapshots,)
        Ascending; 0 is the start.
    alphas_ : float32 ndarray of shape (n_snapshots, n_tasks, n_parameters)
        Alpha after these epochs. Tasks are the repeats of an ensemble, or the targets of a network;
        parameters are features, or groups of features.
    best_alpha_ : ndarray of shape (n_tasks, n_parameters)
        Alpha of the best epoch of each task, which the model keeps.
    best_epoch_ : int
        The best epoch; the latest, if tasks differ.

    Notes
    -----
    The last completed fit is recorded. Clones of a model share its callbacks, so an AlphaPath in a
    search holds the path of one candidate. A resumed fit is recorded from where it resumes. Of a
    network that is trained in several blocks of targets, or an ensemble whose repeats do not fit
    into memory at the same time, the last block is recorded.

    Examples
    --------
    >>> from randsub import PRSRegressor
    >>> from randsub.datasets import make_friedman
    >>> from randsub.inspection import AlphaPath
    >>> from sklearn.neighbors import KNeighborsRegressor
    >>> X, y, _ = make_friedman(n_samples=100, n_irrelevant=5, random_state=0)
    >>> path = AlphaPath(max_snapshots=50)
    >>> model = PRSRegressor(KNeighborsRegressor(), max_iter=90, random_state=0)
    >>> model = model.set_callbacks(path).fit(X, y)
    >>> path.alphas_.shape
    (46, 1, 10)

    ``PathDisplay.from_estimator(model)`` draws it.
    """

    def __init__(self, max_snapshots: int = 200, max_megabytes: float = 64.0) -> None:
        if max_snapshots < _LEAST:
            raise ValueError(f"max_snapshots must be at least {_LEAST}, got {max_snapshots!r}.")
        if not max_megabytes > 0.0:
            raise ValueError(f"max_megabytes must be positive, got {max_megabytes!r}.")
        self.max_snapshots = max_snapshots
        self.max_megabytes = max_megabytes
        self._owner: AlphaPath | None = None
        self._epochs: list[int] = []
        self._alphas: list[NDArray[np.float32]] = []

    def for_run(self, run: Run) -> "AlphaPath":
        """A recorder for this fit alone, since clones may be fitted at the same time.

        Parameters
        ----------
        run : Run
            The fit that is about to start.
        """
        watcher = AlphaPath(self.max_snapshots, self.max_megabytes)
        watcher._owner = self
        return watcher

    def on_prepare(self, settings: Settings) -> None:
        """Discard the previous fit."""
        self._forget()

    def on_start(self, settings: Settings, state: TrainingState) -> None:
        """Record the initial alpha."""
        self._forget()
        affordable = int(self.max_megabytes * 1e6 / (4 * state.alpha.size))
        self._limit = max(_LEAST, min(self.max_snapshots, affordable))
        self._stride = 1
        self._keep(state)

    def on_epoch_end(self, state: TrainingState) -> None:
        """Record this epoch, if it is due."""
        if (state.epoch - self._epochs[0]) % self._stride:
            return
        # One place is reserved for the last epoch.
        if len(self._epochs) >= self._limit - 1:
            del self._epochs[1::2], self._alphas[1::2]
            self._stride *= 2
            if (state.epoch - self._epochs[0]) % self._stride:
                return
        self._keep(state)

    def on_end(self, state: TrainingState) -> None:
        """Record the final alpha and the best epoch."""
        if not self._epochs:
            return
        if self._epochs[-1] != state.epoch:
            self._keep(state)
        self.best_alpha_: FloatArray = state.best_alpha
        self.best_epoch_ = state.best_epoch
        if self._owner is not None:
            self._owner._take(self)

    @property
    def epochs_(self) -> IntArray:
        """Recorded epochs."""
        return np.array(self._epochs, dtype=int)

    @property
    def alphas_(self) -> NDArray[np.float32]:
        """Alpha after each recorded epoch."""
        return np.array(self._alphas, dtype=np.float32)

    @property
    def has_ended(self) -> bool:
        """Whether a fit was recorded to its end."""
        return hasattr(self, "best_alpha_")

    def _take(self, watcher: "AlphaPath") -> None:
        self._epochs, self._alphas = watcher._epochs, watcher._alphas
        self.best_alpha_, self.best_epoch_ = watcher.best_alpha_, watcher.best_epoch_

    def _forget(self) -> None:
        self._epochs, self._alphas = [], []
        self.__dict__.pop("best_alpha_", None)
        self.__dict__.pop("best_epoch_", None)

    def _keep(self, state: TrainingState) -> None:
        self._epochs.append(state.epoch)
        self._alphas.append(state.alpha.astype(np.float32))
