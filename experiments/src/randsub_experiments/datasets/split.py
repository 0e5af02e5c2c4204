"""Samples in three parts: for training, for choosing and for the final score."""

from abc import ABC
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from randsub._typing import FloatArray


# Arrays have no single truth value, so that two of these could not be compared.
@dataclass(frozen=True, eq=False, kw_only=True)
class Split(ABC):
    """Training, validation and test samples of one problem.

    Attributes
    ----------
    X_train, X_val, X_test : ndarray of shape (n_train | n_val | n_test, n_features), float
        Features of each part, the same columns in all three.
    y_train, y_val, y_test : ndarray of shape (n_train | n_val | n_test,)
        Outputs: numbers, or the classes of the samples.
    """

    X_train: FloatArray
    y_train: NDArray[Any]
    X_val: FloatArray
    y_val: NDArray[Any]
    X_test: FloatArray
    y_test: NDArray[Any]

    def __repr__(self) -> str:
        sizes = f"n_train={len(self.X_train)}, n_val={len(self.X_val)}, n_test={len(self.X_test)}"
        return f"{type(self).__name__}({sizes}, n_features={self.X_train.shape[1]})"
