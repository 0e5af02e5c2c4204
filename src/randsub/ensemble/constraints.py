"""What each parameter may be, as data; scikit-learn checks it and words the error."""

from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.utils._param_validation import HasMethods, Interval, RealNotInt, StrOptions

from randsub.distributions import SubsetDistribution
from randsub.ensemble import parts
from randsub.losses import Loss
from randsub.optim import Optimizer
from randsub.penalties import Penalty


class WholeNumber(Interval):
    """An interval of whole numbers, to which True does not belong: Python takes it for 1."""

    def __init__(self, least: int) -> None:
        super().__init__(Integral, least, None, closed="left")

    def is_satisfied_by(self, val: Any) -> bool:
        """Whether the value is one of them."""
        return not isinstance(val, bool | np.bool_) and bool(super().is_satisfied_by(val))


# Of every ensemble over feature subsets.
COMMON: dict[str, list[Any]] = {
    "estimator": [HasMethods(["fit", "predict"]), None],
    "n_estimators": [Interval(Integral, 1, None, closed="left")],
    "validation_fraction": [Interval(Real, 0, 1, closed="neither"), None],
    "standardize": ["boolean"],
    "engine": [StrOptions({"auto", *parts.ENGINES}), type],
    "n_jobs": [
        Interval(Integral, 1, None, closed="left"),
        Interval(Integral, None, -1, closed="right"),
        None,
    ],
    "task_timeout": [Interval(Real, 0, None, closed="neither"), None],
    "random_state": ["random_state"],
    "verbose": ["verbose"],
}

VOTING: dict[str, list[Any]] = {"voting": [StrOptions({"auto", "soft", "hard"})]}

CONSTRAINTS: dict[str, list[Any]] = {
    **COMMON,
    "n_estimators": [Interval(Integral, 2, None, closed="left")],
    "alpha_init": [
        StrOptions({"auto"}),
        Interval(Real, 0, 1, closed="right"),
        "array-like",
    ],
    "loss": [StrOptions({"auto", *parts.LOSSES}), Loss],
    "objective": [StrOptions({"ensemble", "members"})],
    "penalty": [Penalty, None],
    "feature_groups": [StrOptions({"prefix"}), "array-like", dict, None],
    "categorical_features": [StrOptions({"auto", "from_dtype"}), "array-like", None],
    "max_iter": [Interval(Integral, 1, None, closed="left")],
    "learning_rate": [Interval(Real, 0, None, closed="neither")],
    "n_batches": [Interval(Integral, 2, None, closed="left")],
    "max_samples": [
        Interval(Integral, 2, None, closed="left"),
        Interval(RealNotInt, 0, 1, closed="right"),
        None,
    ],
    "ess_threshold": [Interval(Real, 0, 1, closed="both")],
    "refresh": [StrOptions({"fresh", "window", "coupled"})],
    "n_generations": [Interval(Integral, 1, None, closed="left")],
    "n_revivals": [Interval(Integral, 0, None, closed="left")],
    "revival_level": [StrOptions({"auto"}), Interval(Real, 0, 1, closed="neither")],
    "baseline": [StrOptions({"optimal", "weighted", "paper", "none"}), None],
    "self_normalize": ["boolean"],
    "n_iter_no_change": [Interval(Integral, 1, None, closed="left"), None],
    "tol": [Interval(Real, 0, None, closed="left")],
    "distribution": [StrOptions({"auto"}), SubsetDistribution],
    "optimizer": [StrOptions(set(parts.OPTIMIZERS)), Optimizer],
}
