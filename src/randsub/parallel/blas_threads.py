"""Threads of native libraries and base models: one each, where several workers share the cores."""

import os
import sys
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import threadpoolctl
from joblib import effective_n_jobs
from threadpoolctl import ThreadpoolController

from randsub.engines.base import thread_counts
from randsub.exceptions import BaseModelThreadsWarning

# Libraries whose limit belongs to the process; that of OpenMP belongs to the calling thread.
SHARED_POOLS = ["openblas", "mkl", "blis", "flexiblas"]
OWN_POOLS = ["openmp"]


class _ThreadLimit:
    """Keeps native thread pools at one thread while anybody in the process needs that.

    The limit of most BLAS libraries belongs to the process: without counting, the first of two
    concurrent tasks to end would lift the limit under the other. That of OpenMP belongs to the
    calling thread, so every task sets it again.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._users = 0
        self._limiter: Any = None
        self._controller: Any = None
        self._n_modules = 0

    def forget_other_threads(self) -> None:
        """In a forked process: whoever held the lock is not there to give it back."""
        self._lock = threading.Lock()

    @contextmanager
    def hold(self) -> Iterator[None]:
        with self._lock:
            if self._users == 0:
                # A module that was imported since may have brought a thread pool of its own.
                if self._controller is None or self._n_modules != len(sys.modules):
                    self._controller = ThreadpoolController()
                    self._n_modules = len(sys.modules)
                _open_to_all_threads()
                self._limiter = self._controller.select(internal_api=SHARED_POOLS).limit(limits=1)
            self._users += 1
            own = self._controller.select(internal_api=OWN_POOLS).limit(limits=1)
        try:
            yield
        finally:
            with self._lock:
                own.restore_original_limits()
                self._users -= 1
                if self._users == 0:
                    _open_to_all_threads()
                    self._limiter.restore_original_limits()
                    _open_to_all_threads()


def _open_to_all_threads() -> None:
    """Let whoever comes first set the limit of BLAS, and whoever goes last restore it.

    Recent threadpoolctl reserves OpenBLAS for the thread that has set its limit first.
    """
    openblas = getattr(threadpoolctl, "OpenBLASController", None)
    clear = getattr(openblas, "clear_controlling_thread", None)
    if clear is not None:
        clear(force=True)


_LIMIT = _ThreadLimit()
one_thread = _LIMIT.hold
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_LIMIT.forget_other_threads)


def warn_of_idle_threads(base: Any, owner: str, n_jobs: int | None) -> None:
    """Warn if a base model asks for several threads while its ensemble has one worker.

    Parameters
    ----------
    base : estimator
    owner : str
        Name of the ensemble.
    n_jobs : int or None
        Its number of workers.
    """
    threads = [f"{name}={n}" for name, n in thread_counts(base).items() if n is not None]
    if threads and effective_n_jobs(n_jobs) == 1:
        warnings.warn(
            f"{', '.join(threads)} of {type(base).__name__} has no effect, since base models are "
            f"trained on one thread each; set n_jobs of {owner} to train several at the same time.",
            BaseModelThreadsWarning,
            stacklevel=2,
        )
