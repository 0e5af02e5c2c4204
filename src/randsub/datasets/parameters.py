"""What the functions of this folder share about their parameters."""

from collections.abc import Callable
from os import PathLike
from typing import Any, TypeAlias, TypeVar

import numpy as np

from randsub._sklearn import validate_params

Seed: TypeAlias = int | np.random.RandomState | None
Folder: TypeAlias = str | PathLike[str]
FOLDER: list[Any] = [str, PathLike]
_Function = TypeVar("_Function", bound=Callable[..., Any])


def validated(constraints: dict[str, Any]) -> Callable[[_Function], _Function]:
    """scikit-learn's parameter validation, which is untyped, without the loss of the signature."""
    return validate_params(constraints, prefer_skip_nested_validation=True)
