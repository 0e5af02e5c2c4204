"""The names of joblib and loky that their documentation does not promise, all of them in this file.

Tried with joblib 1.3 to 1.6; clusters need 1.4. ``tests/test_joblib_names.py`` looks for each of
them, and says which one a new release has moved.

* The backend classes and ``get_active_backend``: what kind of workers the configuration asks for.
* ``SUBMIT``: the method by which joblib gives a task to a backend; ``apply_async`` before 1.5.
* ``get_reusable_executor``: loky's processes, which joblib shares between all calls. joblib brings
  a copy of loky.
* ``cloudpickle``: a dependency of joblib since 1.6, a copy inside it before.
"""

from joblib.externals.loky import get_reusable_executor
from joblib.parallel import (
    LokyBackend,
    MultiprocessingBackend,
    ParallelBackendBase,
    SequentialBackend,
    ThreadingBackend,
    get_active_backend,
)

try:
    import cloudpickle
except ImportError:
    from joblib.externals import cloudpickle

SUBMIT = "submit" if hasattr(ParallelBackendBase, "submit") else "apply_async"

__all__ = [
    "SUBMIT",
    "LokyBackend",
    "MultiprocessingBackend",
    "ParallelBackendBase",
    "SequentialBackend",
    "ThreadingBackend",
    "cloudpickle",
    "get_active_backend",
    "get_reusable_executor",
]
