"""From the numbers that a user writes to those of the loop."""

from numbers import Integral
from typing import Any

from randsub.ensemble.parts import revival_level
from randsub.training import Settings


def training_settings(model: Any, n_train: int, n_parameters: int, **further: Any) -> Settings:
    """The settings that a model's parameters ask for.

    Parameters
    ----------
    model : estimator
        With the optimisation parameters of :class:`randsub.PRSRegressor`.
    n_train : int
        Number of rows that are dealt into batches.
    n_parameters : int
        Number of features, or of groups of them.
    **further
        Settings that not every model has.
    """
    return Settings(
        n_masks=model.n_estimators,
        # On tiny data a batch is a single sample.
        n_batches=min(model.n_batches, n_train),
        max_samples=sample_limit(model.max_samples, n_train),
        objective=model.objective,
        baseline=model.baseline or "none",
        self_normalize=model.self_normalize,
        ess_threshold=model.ess_threshold,
        refresh=model.refresh,
        n_generations=model.n_generations,
        n_revivals=model.n_revivals,
        revival_level=revival_level(model.revival_level, n_parameters),
        max_iter=model.max_iter,
        **further,
    )


def sample_limit(max_samples: Any, n_train: int) -> int | None:
    """Most rows that a model may see, from a number or a share of them."""
    if max_samples is None:
        return None
    if isinstance(max_samples, Integral):
        return int(max_samples)
    return max(2, int(max_samples * n_train))
