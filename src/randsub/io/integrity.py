"""Whether the parts of a loaded model fit together.

Types say what an object is, not whether its numbers make sense. Compiled code, ours and
scikit-learn's, relies on some of them without checking: a forged model could make it read beyond
the end of an array. What is checked here is what such code relies on.
"""

from types import FunctionType, ModuleType
from typing import Any

import numpy as np
from scipy import sparse
from sklearn import neighbors, svm
from sklearn.ensemble import BaggingClassifier, BaggingRegressor, BaseEnsemble, IsolationForest
from sklearn.tree import BaseDecisionTree

from randsub.estimators.base import SubspaceEnsemble
from randsub.io.object_graph import ObjectGraph

COMPRESSED = (sparse.csr_array, sparse.csr_matrix, sparse.csc_array, sparse.csc_matrix)
MACHINES = (svm.SVC, svm.NuSVC, svm.SVR, svm.NuSVR, svm.OneClassSVM)
# Ensembles whose members may see some of the features only.
ON_SUBSETS = (BaggingClassifier, BaggingRegressor, IsolationForest)
NEIGHBORS = (
    neighbors.KNeighborsClassifier,
    neighbors.KNeighborsRegressor,
    neighbors.KNeighborsTransformer,
    neighbors.LocalOutlierFactor,
    neighbors.NearestNeighbors,
    neighbors.RadiusNeighborsClassifier,
    neighbors.RadiusNeighborsRegressor,
    neighbors.RadiusNeighborsTransformer,
)


def check_model(model: Any) -> None:
    """Raise a ValueError if parts of a loaded model do not fit together."""
    for part in ObjectGraph(model, _check_attributes).parts:
        _check_part(part)


def _check_attributes(obj: Any) -> None:
    """Raise if an object has special methods as attributes.

    Python looks some of them up on the object, not on its class: they would decide how it is
    copied.
    """
    if isinstance(obj, type | FunctionType | ModuleType):
        return
    for name in getattr(obj, "__dict__", ()):
        if not isinstance(name, str) or name.startswith("__"):
            raise ValueError(f"a {type(obj).__name__} in it has the attribute {name!r}")


def _check_part(part: Any) -> None:
    """Compare the sizes of what compiled code reads side by side."""
    if isinstance(part, COMPRESSED):
        part.check_format(full_check=True)
    elif isinstance(part, SubspaceEnsemble):
        _check_members(part)
    elif isinstance(part, BaseEnsemble) and not isinstance(part, ON_SUBSETS):
        # Forests and boosted trees pass X to their trees unchecked.
        for member in np.ravel(getattr(part, "estimators_", [])):
            _same(part, member.n_features_in_, part.n_features_in_)
    elif isinstance(part, BaseDecisionTree) and hasattr(part, "tree_"):
        _same(part, part.tree_.n_features, part.n_features_in_)
    elif isinstance(part, NEIGHBORS) and hasattr(part, "_fit_X"):
        n_samples, n_features = part._fit_X.shape
        _same(part, n_features, part.n_features_in_)
        targets = getattr(part, "_y", None)
        _same(part, n_samples if targets is None else len(targets), n_samples)
    elif isinstance(part, MACHINES) and hasattr(part, "support_vectors_"):
        n_vectors, n_features = part.support_vectors_.shape
        _same(part, n_features, part.n_features_in_)
        _same(part, int(np.sum(part.n_support_)), n_vectors)
        _same(part, part.dual_coef_.shape[1], n_vectors)


def _check_members(ensemble: Any) -> None:
    if not hasattr(ensemble, "estimators_"):
        return
    encoder = ensemble.column_encoder_
    for name in ("estimators_features_", "estimators_bases_", "estimators_weights_"):
        of_members = getattr(ensemble, name, ensemble.estimators_)
        _same(ensemble, len(of_members), len(ensemble.estimators_))
    if not set(getattr(ensemble, "estimators_bases_", ())) <= set(getattr(ensemble, "shares_", ())):
        raise ValueError("a member of the ensemble has a base model without a share")
    for member, features, (base, _) in zip(
        ensemble.estimators_,
        ensemble.estimators_features_,
        ensemble._kinds(slice(None)),
        strict=True,
    ):
        features = np.asarray(features)
        if features.size and not (features.min() >= 0 and features.max() < ensemble.n_features_in_):
            raise ValueError("a member of the ensemble sees columns that do not exist")
        seen = features if encoder is None else encoder.expand(features, base)
        _same(ensemble, getattr(member, "n_features_in_", len(seen)), len(seen))


def _same(part: Any, seen: Any, expected: Any) -> None:
    if seen != expected:
        raise ValueError(
            f"a {type(part).__name__} in it has parts of different sizes, {seen} and {expected}"
        )
