"""From the names that a user writes to the parts of the method."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from randsub._tables import n_rows
from randsub._typing import FloatArray, Table
from randsub.distributions import Bernoulli, GroupedBernoulli, SubsetDistribution
from randsub.engines import (
    Engine,
    GenericEngine,
    KernelEngine,
    MomentsEngine,
    NeighborsEngine,
    TreeEngine,
)
from randsub.ensemble.groups import resolve_groups
from randsub.losses import CrossEntropy, Huber, Loss, PoissonDeviance, SquaredError
from randsub.optim import (
    LogitAdam,
    Optimizer,
    ProjectedAdam,
    ProjectedGradientDescent,
    ProximalAdam,
    ProximalGradientDescent,
)
from randsub.penalties import Penalty

LOSSES: Mapping[str, Callable[[], Loss]] = {
    "squared_error": SquaredError,
    "huber": Huber,
    "poisson": PoissonDeviance,
    "cross_entropy": CrossEntropy,
}
OPTIMIZERS: Mapping[str, Callable[[float], Optimizer]] = {
    "adam": ProjectedAdam,
    "logit_adam": LogitAdam,
    "gradient_descent": ProjectedGradientDescent,
    "prox_adam": ProximalAdam,
    "prox_gradient": ProximalGradientDescent,
}
# With thousands of features, models that see five percent of them cost more and tell less.
LARGEST_FIRST_SUBSET = 200
REVIVAL_LEVEL = 0.02
# In the order in which they are tried; the last one takes anything.
ENGINES: Mapping[str, type[Engine]] = {
    "neighbors": NeighborsEngine,
    "tree": TreeEngine,
    "moments": MomentsEngine,
    "kernel": KernelEngine,
    "generic": GenericEngine,
}


def choose_loss(loss: str | Loss, task: str, n_masks: int, y: FloatArray) -> Loss:
    """The loss, checked against the task and the targets (n, C)."""
    if isinstance(loss, str):
        chosen = LOSSES[{"regression": "squared_error", "classification": "cross_entropy"}[task]]()
        if loss != "auto":
            chosen = LOSSES[loss]()
    else:
        chosen = loss
    if task not in chosen.tasks:
        usable = [name for name, make in LOSSES.items() if task in make().tasks]
        raise ValueError(f"loss={loss!r} is not for {task}; use one of {usable}.")
    chosen.check(y)
    return chosen.for_ensemble(n_masks)


def choose_optimizer(
    optimizer: str | Optimizer, learning_rate: float, penalty: Penalty | None = None
) -> Optimizer:
    """The optimiser, checked against the penalty; an object has its own learning rate."""
    if isinstance(optimizer, str):
        chosen = OPTIMIZERS[optimizer](learning_rate)
    else:
        chosen = optimizer
        chosen.check()
    if chosen.is_proximal and penalty is not None and not penalty.has_prox:
        usable = [name for name, make in OPTIMIZERS.items() if not make(1.0).is_proximal]
        raise ValueError(
            f"optimizer={optimizer!r} needs a penalty with a proximal step, which {penalty!r} has "
            f"not; use one of {usable}."
        )
    return chosen


def choose_distribution(
    distribution: str | SubsetDistribution,
    feature_groups: Any,
    n_features: int,
    names: Sequence[str],
) -> SubsetDistribution:
    """One coin for each column, or for each group of columns."""
    if isinstance(distribution, str):
        if feature_groups is None:
            return Bernoulli(n_features)
        return GroupedBernoulli(resolve_groups(feature_groups, n_features, names))
    if feature_groups is not None:
        raise ValueError(
            "feature_groups and distribution both say what is drawn together; give one of them."
        )
    if distribution.n_columns != n_features:
        raise ValueError(
            f"distribution is for {distribution.n_columns} columns, but X has {n_features}."
        )
    return distribution


def check_penalty(penalty: Penalty | None, n_parameters: int) -> Penalty | None:
    """The penalty, if its own parameters are usable."""
    if penalty is not None:
        penalty.check(n_parameters)
    return penalty


def initial_theta(
    alpha_init: Any, n_masks: int, n_parameters: int, penalty: Penalty | None
) -> FloatArray:
    """Where alpha starts, shape (1, n_parameters)."""
    if isinstance(alpha_init, str):
        alpha_init = min(0.5, 5.0 / n_masks, LARGEST_FIRST_SUBSET / n_parameters)
    theta = probabilities(alpha_init, n_parameters)
    if penalty is None and np.isin(theta, (0.0, 1.0)).all():
        raise ValueError(
            "alpha_init must leave something to decide: every value is 0 or 1, and a feature that "
            "is never or always drawn shows no contrast to learn from."
        )
    return theta[np.newaxis]


def revival_level(level: Any, n_parameters: int) -> float:
    """Where dropped features are raised to: no subset need be larger then than the first ones."""
    if isinstance(level, str):
        return min(REVIVAL_LEVEL, LARGEST_FIRST_SUBSET / n_parameters)
    return float(level)


def probabilities(alpha_init: Any, n_parameters: int) -> FloatArray:
    """One probability for each feature or group, (n_parameters,), not all of them 0."""
    try:
        theta = np.asarray(alpha_init, dtype=float)
    except (ValueError, TypeError):
        raise ValueError(f"alpha_init must hold numbers, got {alpha_init!r}.") from None
    if theta.ndim and theta.shape != (n_parameters,):
        raise ValueError(
            f"alpha_init must be a number or have one entry for each of the {n_parameters} "
            f"features or groups, got an array of shape {theta.shape}."
        )
    if not ((theta >= 0.0) & (theta <= 1.0)).all() or not theta.any():
        raise ValueError(
            "alpha_init must hold probabilities in [0, 1], not all of them 0, got values from "
            f"{theta.min():g} to {theta.max():g}."
        )
    return np.broadcast_to(theta, n_parameters).copy()


def choose_engine(
    engine: str | type[Engine],
    estimator: Any,
    X: Table,
    y: Any,
    sample_weight: FloatArray | None,
    most_rows: int | None = None,
) -> type[Engine]:
    """The first engine that reproduces this estimator on this data, or the one asked for.

    ``most_rows`` is the size of the largest training set; by default, all of X.
    """
    n_train = n_rows(X) if most_rows is None else most_rows

    def takes_rows(engine: type[Engine]) -> bool:
        return engine.most_rows is None or n_train <= engine.most_rows

    def is_usable(engine: type[Engine]) -> bool:
        return takes_rows(engine) and engine.is_usable_for(estimator, X, y, sample_weight)

    if engine == "auto":
        return next(e for e in ENGINES.values() if is_usable(e))
    chosen = ENGINES[engine] if isinstance(engine, str) else engine
    if not (isinstance(chosen, type) and issubclass(chosen, Engine)):
        raise TypeError(
            f"engine must be 'auto', one of {list(ENGINES)}, or a subclass of "
            f"randsub.engines.Engine, got {engine!r}."
        )
    if not takes_rows(chosen):
        raise ValueError(
            f"engine={engine!r} is made for training sets of at most {chosen.most_rows} samples, "
            f"got up to {n_train}; use engine='auto', or max_samples where the model has it."
        )
    if not is_usable(chosen):
        raise ValueError(
            f"engine={engine!r} cannot train {estimator!r} on this data; use engine='auto'."
        )
    return chosen
