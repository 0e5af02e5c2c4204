"""Ends the wait for a cluster that is gone.

joblib waits for every task that it was given. Where the connection is lost, or no worker is there,
at the moment when its backend hands a task on, that task never starts, and the wait never ends. The
detector stands between joblib and the backend. When nothing has come back for a while it looks at
the cluster; if that is gone, or has nothing to do, it reports the tasks as failed, in the way in
which the backend would have done it.
"""

import threading
from collections.abc import Callable
from typing import Any, Self

from randsub._joblib import SUBMIT
from randsub.exceptions import WorkerLostError

# As long as results come, nobody looks.
SECONDS_BETWEEN_LOOKS = 4.0
# Large data may be on its way for this long before the cluster knows of the work: two minutes.
IDLE_LOOKS = 30


class StallDetector:
    """Fails the tasks of a cluster that cannot be reached, or that knows nothing of them.

    Parameters
    ----------
    backend : joblib backend
        Two of its methods are replaced on this object, so nobody else may use it.
    """

    def __init__(self, backend: Any) -> None:
        self._backend = backend
        self._submit: Callable[..., Any] = getattr(backend, SUBMIT)
        self._retrieve: Callable[[Any], Any] = backend.retrieve_result_callback
        setattr(backend, SUBMIT, self._note_task)
        backend.retrieve_result_callback = self._note_result
        self._callbacks: list[Callable[[Any], Any]] = []
        self._progress = False
        self._over = threading.Event()

    def __enter__(self) -> Self:
        self._callbacks.clear()
        self._over = threading.Event()
        threading.Thread(target=self._look, args=(self._over,), daemon=True).start()
        return self

    def __exit__(self, *details: object) -> None:
        self._over.set()

    def _note_task(self, task: Any, callback: Any = None) -> Any:
        self._callbacks.append(callback)
        return self._submit(task, callback)

    def _note_result(self, result: Any) -> Any:
        if isinstance(result, WorkerLostError | StalledError):
            raise result
        self._progress = True
        return self._retrieve(result)

    def _look(self, over: threading.Event) -> None:
        n_idle = 0
        failure: Exception | None = None
        while failure is None:
            if over.wait(SECONDS_BETWEEN_LOOKS):
                return
            if self._progress:
                self._progress, n_idle = False, 0
                continue
            try:
                self._backend.effective_n_jobs(-1)
                n_idle = n_idle + 1 if _is_idle(self._backend) else 0
            except Exception as error:
                failure = WorkerLostError.out_of_reach(error)
                failure.__cause__ = error
            if n_idle >= IDLE_LOOKS:
                failure = StalledError("the cluster has nothing to do, but has not answered")
        if not over.is_set():
            # joblib pays no attention to tasks that have ended already.
            for callback in self._callbacks.copy():
                callback(failure)


class StalledError(Exception):
    """Tasks were given out, but the cluster knows nothing of them."""


def dask_client(backend: Any) -> Any:
    """The client through which a backend of joblib's reaches a Dask cluster; None for others."""
    return getattr(backend, "client", None)


def _is_idle(backend: Any) -> bool:
    """Whether no worker of a Dask cluster has anything to do; of others nothing is known."""
    client = dask_client(backend)
    return client is not None and not any(client.processing().values())
