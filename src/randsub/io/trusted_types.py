"""Which types a model file may use.

To trust a name means that a file may create that class with any attributes, or call it with any
arguments that are themselves of trusted types, and may refer to that function. Creating one of the
classes below only stores what it is given, or computes with it. A module is never trusted as a
whole: one that defines a harmless class may import others that are not. Of our own packages, the
public estimators and parts of the method are trusted.

Beside these, skops trusts the estimators of scikit-learn, numbers, strings, containers, arrays,
NumPy's universal functions and its random generators. It does not trust decision trees, and nor do
we: see :mod:`randsub.io.safe_forms`.
"""

import re
from collections.abc import Iterable
from functools import cache
from typing import Any

from sklearn.base import BaseEstimator
from sklearn.metrics import get_scorer, get_scorer_names

from randsub import distributions, engines, estimators, losses, network, optim, penalties, solver
from randsub import torch as own_networks
from randsub.engines.target_units import Unit
from randsub.estimators.column_encoding import ColumnEncoder
from randsub.estimators.standardize import Standardizer
from randsub.estimators.training_rows import TrainingRows
from randsub.io.safe_forms import SafeForm
from randsub.penalty_search import PenaltySearch

# A model may hold the public types of these kinds, and a few others.
ROOMS = (
    distributions,
    engines,
    estimators,
    losses,
    network,
    optim,
    penalties,
    solver,
    own_networks,
)
KINDS = (BaseEstimator, distributions.SubsetDistribution, engines.Engine)
OTHERS = {ColumnEncoder, PenaltySearch, SafeForm, Standardizer, TrainingRows}
OTHERS |= {Unit, engines.Learner, network.InferredNetwork}
_KERNELS = (
    "CompoundKernel ConstantKernel DotProduct ExpSineSquared Exponentiation Hyperparameter Matern "
    "Product RBF RationalQuadratic Sum WhiteKernel"
)
_SPLITTERS = (
    "GroupKFold GroupShuffleSplit KFold LeaveOneGroupOut LeaveOneOut LeavePGroupsOut LeavePOut "
    "PredefinedSplit RepeatedKFold RepeatedStratifiedKFold ShuffleSplit StratifiedGroupKFold "
    "StratifiedKFold StratifiedShuffleSplit TimeSeriesSplit"
)
# What estimators of scikit-learn hold and is not an estimator itself.
SKLEARN = (
    *(f"sklearn.gaussian_process.kernels.{name}" for name in _KERNELS.split()),
    *(f"sklearn.model_selection._split.{name}" for name in _SPLITTERS.split()),
    "sklearn.compose._column_transformer.make_column_selector",
    "sklearn.metrics._scorer._MultimetricScorer",
    "sklearn.metrics._scorer._PassthroughScorer",
    "sklearn.metrics._scorer._Scorer",
    "sklearn.neural_network._stochastic_optimizers.AdamOptimizer",
    "sklearn.neural_network._stochastic_optimizers.SGDOptimizer",
    "sklearn.utils._bunch.Bunch",
    "sklearn.utils._metadata_requests.MetadataRequest",
    "sklearn.utils._metadata_requests.MethodMetadataRequest",
)
_SPARSE = "bsr coo csc csr dia"
# Plain values.
VALUES = (
    "builtins.complex",
    "builtins.frozenset",
    "builtins.range",
    "numpy.dtype",
    *(f"scipy.sparse._{a}.{a}_{b}" for a in _SPARSE.split() for b in ("array", "matrix")),
)


def trusted_by_default() -> list[str]:
    """Names that a file may use without being asked."""
    # What scikit-learn's named scorers compute; a search keeps its scorer.
    scores = {_name(get_scorer(name)._score_func) for name in get_scorer_names()}
    return [*our_types(), *SKLEARN, *VALUES, *sorted(scores)]


@cache
def our_types() -> tuple[str, ...]:
    """Names of our own types that a file may use."""
    public = [getattr(room, name) for room in ROOMS for name in room.__all__]
    parts = {found for found in public if isinstance(found, type) and issubclass(found, KINDS)}
    concrete = {part for part in parts if not getattr(part, "__abstractmethods__", None)}
    return tuple(sorted(map(_name, concrete | OTHERS)))


def check_trusted(trusted: Any) -> list[str]:
    """What a user trusts, as names.

    Parameters
    ----------
    trusted : sequence of str or type
    """
    given = trusted if isinstance(trusted, Iterable) and not isinstance(trusted, str) else [None]
    names: list[Any] = [_name(entry) if isinstance(entry, type) else entry for entry in given]
    if not all(isinstance(name, str) and re.fullmatch(r"\w+(\.\w+)+", name) for name in names):
        raise TypeError(
            "trusted must be a list of types, or of their names with the module as "
            f"'module.Class', got {trusted!r}."
        )
    return names


def _name(entry: Any) -> str:
    return f"{entry.__module__}.{entry.__qualname__}"
