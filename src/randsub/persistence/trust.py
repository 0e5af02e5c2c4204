"""Which types may be made from what a file says.

To trust a name means that a file may have that class made with any attributes, or called with any
arguments that are themselves of trusted types, and may refer to that function. So names are listed
one by one, never by module: a module that defines a harmless class imports others that are not.
Each was chosen because making it only keeps what it is given, or computes with it.

Beside these, skops trusts the estimators of scikit-learn (not what merely lives in its modules),
numbers, strings, containers, arrays, NumPy's universal functions and its random generators. It
does not trust decision trees, and nor do we: they are stored by their arrays, see
:mod:`randsub.persistence.standins`.
"""

from collections.abc import Iterable
from typing import Any

from sklearn.metrics import get_scorer, get_scorer_names

OURS: tuple[str, ...] = (
    "randsub.baselines.random_subspace.RandomSubspaceClassifier",
    "randsub.baselines.random_subspace.RandomSubspaceRegressor",
    "randsub.baselines.rase.RaSEClassifier",
    "randsub.baselines.rase.RaSERegressor",
    "randsub.distributions.bernoulli.Bernoulli",
    "randsub.distributions.bernoulli.GroupedBernoulli",
    "randsub.engines.base.Learner",
    "randsub.engines.generic.GenericEngine",
    "randsub.engines.kernel.KernelEngine",
    "randsub.engines.moments.engine.MomentsEngine",
    "randsub.engines.neighbors.NeighborsEngine",
    "randsub.engines.tree.TreeEngine",
    "randsub.ensemble.categories.CategoryEncoder",
    "randsub.ensemble.classifier.PRSClassifier",
    "randsub.ensemble.regressor.PRSRegressor",
    "randsub.ensemble.standardize.Standardizer",
    "randsub.losses.classification.CrossEntropy",
    "randsub.losses.regression.Huber",
    "randsub.losses.regression.PoissonDeviance",
    "randsub.losses.regression.SquaredError",
    "randsub.network.links.InferredNetwork",
    "randsub.network.prs.PRSNetwork",
    "randsub.optim.adam.ProjectedAdam",
    "randsub.optim.descent.ProjectedGradientDescent",
    "randsub.optim.logit.LogitAdam",
    "randsub.optim.proximal.ProximalAdam",
    "randsub.optim.proximal.ProximalGradientDescent",
    "randsub.penalties.base.Sum",
    "randsub.penalties.fused_lasso.FusedLasso",
    "randsub.penalties.row_groups.RowGroups",
    "randsub.penalties.size.ExpectedSize",
    "randsub.persistence.frames.StoredFrame",
    "randsub.persistence.frames.StoredValues",
    "randsub.persistence.standins.StoredMapping",
    "randsub.persistence.standins.StoredNeighbors",
    "randsub.persistence.standins.StoredTree",
    "randsub.search.PenaltySearch",
)

_KERNELS = (
    "CompoundKernel ConstantKernel DotProduct ExpSineSquared Exponentiation Hyperparameter Matern "
    "Product RBF RationalQuadratic Sum WhiteKernel"
)
_SPLITTERS = (
    "GroupKFold GroupShuffleSplit KFold LeaveOneGroupOut LeaveOneOut LeavePGroupsOut LeavePOut "
    "PredefinedSplit RepeatedKFold RepeatedStratifiedKFold ShuffleSplit StratifiedGroupKFold "
    "StratifiedKFold StratifiedShuffleSplit TimeSeriesSplit"
)
# What estimators of scikit-learn hold and is no estimator itself.
SKLEARN: tuple[str, ...] = (
    *(f"sklearn.gaussian_process.kernels.{name}" for name in _KERNELS.split()),
    *(f"sklearn.model_selection._split.{name}" for name in _SPLITTERS.split()),
    "sklearn.compose._column_transformer._RemainderColsList",
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
# Plain values.
VALUES: tuple[str, ...] = (
    "builtins.complex",
    "builtins.frozenset",
    "builtins.range",
    "numpy.dtype",
    *(f"scipy.sparse._{kind}.{kind}_array" for kind in ("bsr", "coo", "csc", "csr", "dia")),
    *(f"scipy.sparse._{kind}.{kind}_matrix" for kind in ("bsr", "coo", "csc", "csr", "dia")),
)


def trusted_by_default() -> list[str]:
    """Names that a file may use without being asked."""
    return [*OURS, *SKLEARN, *VALUES, *_score_functions()]


def _score_functions() -> list[str]:
    """What scikit-learn's scorers by name compute; a search keeps its scorer."""
    functions = {get_scorer(name)._score_func for name in get_scorer_names()}
    return sorted(f"{function.__module__}.{function.__name__}" for function in functions)


def check_trusted(trusted: Any) -> list[str]:
    """What a user trusts, as names.

    Parameters
    ----------
    trusted : sequence of str or type
    """
    if isinstance(trusted, str) or not isinstance(trusted, Iterable):
        raise TypeError(
            "trusted must be a list of names of types, as 'module.Class', or of types, got "
            f"{trusted!r}."
        )
    return [_name(entry) for entry in trusted]


def _name(entry: Any) -> str:
    if isinstance(entry, type):
        return f"{entry.__module__}.{entry.__qualname__}"
    if not isinstance(entry, str) or not all(part.isidentifier() for part in entry.split(".")):
        raise TypeError(
            f"trusted must hold names of types, as 'module.Class', or types, got {entry!r}."
        )
    if "." not in entry:
        raise TypeError(
            f"trusted holds {entry!r}; name the type with its module, as 'module.{entry}'."
        )
    return entry
