"""Whether the parts of a loaded model fit each other.

Types say what an object is, not whether its numbers make sense. Compiled code, ours and
scikit-learn's, takes some of them at their word: a model that was never fitted so could make it
read where nothing is. What is looked at here is what such code relies on.
"""

from collections.abc import Sized
from types import FunctionType, ModuleType
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.ensemble._forest import BaseForest
from sklearn.ensemble._gb import BaseGradientBoosting
from sklearn.neighbors._base import NeighborsBase
from sklearn.svm._base import BaseLibSVM
from sklearn.tree import BaseDecisionTree

from randsub.ensemble.subspace import SubspaceEnsemble
from randsub.persistence.exchange import parts_of


def check_attributes(obj: Any) -> None:
    """Raise where an object brings methods of Python's own as attributes.

    Python looks some of them up on the object, not on its class: they would say how it is copied.
    """
    if isinstance(obj, type | FunctionType | ModuleType):
        return
    for name in getattr(obj, "__dict__", ()):
        if not isinstance(name, str) or name.startswith("__"):
            raise ValueError(f"a {type(obj).__name__} in it has the attribute {name!r}")


def check_model(model: Any) -> None:
    """Raise a ValueError where parts of a model do not fit each other."""
    for part in parts_of(model):
        if isinstance(
            part, sparse.csr_array | sparse.csr_matrix | sparse.csc_array | sparse.csc_matrix
        ):
            part.check_format(full_check=True)
        elif isinstance(part, SubspaceEnsemble):
            _check_members(part)
        elif isinstance(part, BaseForest | BaseGradientBoosting):
            for member in np.ravel(getattr(part, "estimators_", [])):
                _same(part, member.n_features_in_, part.n_features_in_)
        elif isinstance(part, BaseDecisionTree) and hasattr(part, "tree_"):
            _same(part, part.tree_.n_features, part.n_features_in_)
        elif isinstance(part, NeighborsBase) and hasattr(part, "_fit_X"):
            _check_neighbors(part)
        elif isinstance(part, BaseLibSVM) and hasattr(part, "support_vectors_"):
            _check_support(part)


def _same(part: Any, seen: Any, expected: Any) -> None:
    if seen != expected:
        raise ValueError(
            f"a {type(part).__name__} in it has parts of different sizes, {seen} and {expected}"
        )


def _length(values: Sized | None, expected: int) -> int:
    return expected if values is None else len(values)


def _check_members(ensemble: Any) -> None:
    if not hasattr(ensemble, "estimators_"):
        return
    encoder = ensemble.category_encoder_
    _same(ensemble, len(ensemble.estimators_features_), len(ensemble.estimators_))
    for member, features in zip(ensemble.estimators_, ensemble.estimators_features_, strict=True):
        features = np.asarray(features)
        if features.size and not (features.min() >= 0 and features.max() < ensemble.n_features_in_):
            raise ValueError("a member of the ensemble sees columns that are not there")
        seen = features if encoder is None else encoder.expand(features)
        _same(ensemble, getattr(member, "n_features_in_", len(seen)), len(seen))


def _check_neighbors(model: Any) -> None:
    n_samples, n_features = model._fit_X.shape
    _same(model, n_features, model.n_features_in_)
    _same(model, _length(getattr(model, "_y", None), n_samples), n_samples)


def _check_support(model: Any) -> None:
    n_vectors, n_features = model.support_vectors_.shape
    _same(model, n_features, model.n_features_in_)
    _same(model, int(np.sum(model.n_support_)), n_vectors)
    _same(model, model.dual_coef_.shape[1], n_vectors)
