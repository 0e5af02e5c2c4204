"""A look at the cluster now and then, while nothing comes from it.

joblib waits for every task that it was given. Where the connection is lost, or no worker is there,
at the moment when its backend hands a task on, that task is never begun, and the wait never ends.
"""

import threading
from types import TracebackType
from typing import Any, Self

# As long as answers come, nobody looks.
SECONDS_BETWEEN_LOOKS = 4.0
# Large data may be on its way for so long before the cluster knows of the work: two minutes.
IDLE_LOOKS = 30


class StalledError(Exception):
    """Tasks were given out, but the cluster knows nothing of them."""


class Watch:
    """Ends a wait for a cluster that is gone, or that has nothing to do.

    Parameters
    ----------
    parallel : joblib.Parallel
        Who waits.
    backend : joblib backend
        Who is waited for.
    """

    def __init__(self, parallel: Any, backend: Any) -> None:
        self.error: Exception | None = None
        self.stalled = False
        self._parallel = parallel
        self._backend = backend
        self._over = threading.Event()
        self._progress = False
        self._thread = threading.Thread(target=self._look, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._over.set()

    def note(self) -> None:
        """An answer has come."""
        self._progress = True

    def _look(self) -> None:
        n_idle = 0
        while not self._over.wait(SECONDS_BETWEEN_LOOKS):
            if self._progress:
                self._progress, n_idle = False, 0
                continue
            try:
                self._backend.effective_n_jobs(-1)
                n_idle = n_idle + 1 if _is_idle(self._backend) else 0
            except Exception as error:
                self.error = error
            if not self._over.is_set() and (self.error is not None or n_idle >= IDLE_LOOKS):
                self.stalled = True
                # What is waited for in vain is given up; what has come is kept.
                self._parallel._abort()
                return


def dask_client(backend: Any) -> Any:
    """The client through which a backend of joblib's reaches a Dask cluster; None for others."""
    return getattr(backend, "client", None)


def _is_idle(backend: Any) -> bool:
    """Whether no worker of a Dask cluster has anything to do; of others nothing is known."""
    client = dask_client(backend)
    return client is not None and not any(client.processing().values())
