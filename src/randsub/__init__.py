"""randsub: random-subspace ensembles that learn which features each member should see."""

from typing import TYPE_CHECKING, Any

from randsub._version import __version__

if TYPE_CHECKING:
    from randsub.estimators import (
        PRSClassifier,
        PRSRegressor,
        RandomSubspaceClassifier,
        RandomSubspaceRegressor,
        RaSEClassifier,
        RaSERegressor,
    )

__all__ = [
    "PRSClassifier",
    "PRSRegressor",
    "RaSEClassifier",
    "RaSERegressor",
    "RandomSubspaceClassifier",
    "RandomSubspaceRegressor",
    "__version__",
]


def __getattr__(name: str) -> Any:
    # The estimators bring in a good part of scikit-learn; who needs a loss or a penalty alone, or
    # is a worker that unpickles a task, need not wait for that.
    if name in __all__:
        from randsub import estimators

        return getattr(estimators, name)
    raise AttributeError(f"module 'randsub' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*globals(), *__all__]
