"""Alpha along the epochs, remembered while a model is trained."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from randsub._typing import FloatArray, IntArray
from randsub.training import Callback, Settings, TrainingState

# Fewer would not show a path.
_LEAST = 4


class AlphaPath(Callback):
    """Remembers alpha at some epochs of a fit, for :class:`PathDisplay`.

    The memory that it takes does not grow with the number of epochs: once ``max_snapshots`` are
    held, every second one is dropped, and from then on only every second epoch of those so far is
    looked at. The first and the last epoch are always there.

    Parameters
    ----------
    max_snapshots : int, default=200
        Epochs that are remembered, at most; in the end between half of that and all of it, if
        there were as many.
    max_megabytes : float, default=64
        Memory for them. A snapshot takes 4 bytes for each feature (in a network, for each pair), so
        200 of 10,000 features are 8 MB; of more than 80,000 features fewer snapshots are held, but
        never less than four.

    Attributes
    ----------
    epochs_ : int ndarray of shape (n_snapshots,)
        Ascending; 0 is the start.
    alphas_ : float32 ndarray of shape (n_snapshots, n_tasks, n_parameters)
        Alpha after these epochs: one task in tabular learning, and one parameter for each feature
        or group of features.
    best_alpha_ : ndarray of shape (n_tasks, n_parameters)
        Alpha of the best epoch, the one that is kept.
    best_epoch_ : int

    Notes
    -----
    What is remembered is the last fit that ended; clones of a model share its callbacks, and so an
    AlphaPath in a search holds the path of one candidate. A fit that is taken up again is
    remembered from there on. Of a network that is trained in several blocks of targets, the last
    block is remembered.

    Examples
    --------
    With ``model.set_callbacks(path).fit(X, y)``, ``PathDisplay.from_estimator(model)`` draws it.

    >>> from randsub.inspection import AlphaPath
    >>> path = AlphaPath(max_snapshots=50)
    >>> path.has_ended
    False
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

    def for_run(self, run: Any) -> "AlphaPath":
        """One that watches this fit alone, since clones may be fitted at the same time.

        Parameters
        ----------
        run : Run
            The fit that is about to begin.
        """
        watcher = AlphaPath(self.max_snapshots, self.max_megabytes)
        watcher._owner = self
        return watcher

    def on_prepare(self, settings: Settings) -> None:
        """Forget the fit before."""
        self._forget()

    def on_start(self, settings: Settings, state: TrainingState) -> None:
        """Remember where it begins."""
        self._forget()
        affordable = int(self.max_megabytes * 1e6 / (4 * state.theta.size))
        self._limit = max(_LEAST, min(self.max_snapshots, affordable))
        self._stride = 1
        self._keep(state)

    def on_epoch_end(self, state: TrainingState) -> None:
        """Remember this epoch, if it is its turn."""
        if (state.epoch - self._epochs[0]) % self._stride:
            return
        # One place is left for the last epoch.
        if len(self._epochs) >= self._limit - 1:
            del self._epochs[1::2], self._alphas[1::2]
            self._stride *= 2
            if (state.epoch - self._epochs[0]) % self._stride:
                return
        self._keep(state)

    def on_end(self, state: TrainingState) -> None:
        """Remember where it ends, and which epoch was the best."""
        if not self._epochs:
            return
        if self._epochs[-1] != state.epoch:
            self._keep(state)
        self.best_alpha_: FloatArray = state.best_theta
        self.best_epoch_ = state.best_epoch
        if self._owner is not None:
            self._owner._take(self)

    @property
    def epochs_(self) -> IntArray:
        """Epochs that are remembered."""
        return np.array(self._epochs, dtype=int)

    @property
    def alphas_(self) -> NDArray[np.float32]:
        """Alpha after each of them."""
        return np.array(self._alphas, dtype=np.float32)

    @property
    def has_ended(self) -> bool:
        """Whether a fit was watched to its end."""
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
        self._alphas.append(state.theta.astype(np.float32))
