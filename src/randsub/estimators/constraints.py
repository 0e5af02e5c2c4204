"""Constraints of the parameters, which scikit-learn checks."""

from numbers import Integral, Real
from typing import Any

from randsub._sklearn import HasMethods, Interval, RealNotInt, StrOptions
from randsub.distributions import SubsetDistribution
from randsub.engines import ENGINES
from randsub.losses import LOSSES, Loss
from randsub.penalties import Penalty
from randsub.solver import Solver


class SingleBaseModel(HasMethods):
    """A base model; the message tells whoever gives a list of them where to go with it."""

    def __str__(self) -> str:
        several = "(a list of base models is for PRSClassifier, PRSRegressor and PRSNetwork)"
        return f"{super().__str__()} {several}"


# Parameters of every ensemble over feature subsets.
COMMON: dict[str, list[Any]] = {
    "estimator": [SingleBaseModel(["fit", "predict"]), None],
    "n_estimators": [Interval(Integral, 1, None, closed="left")],
    "validation_fraction": [Interval(Real, 0, 1, closed="neither"), None],
    "standardize": ["boolean"],
    "engine": [StrOptions({"auto", *ENGINES}), type],
    "device": [str, None],
    "n_jobs": [
        Interval(Integral, 1, None, closed="left"),
        Interval(Integral, None, -1, closed="right"),
        None,
    ],
    "task_timeout": [Interval(Real, 0, None, closed="neither"), None],
    "random_state": ["random_state"],
    "verbose": ["verbose"],
}

VOTING: dict[str, list[Any]] = {"voting": [StrOptions({"hard", "soft"})]}

CONSTRAINTS: dict[str, list[Any]] = {
    **COMMON,
    "estimator": [HasMethods(["fit", "predict"]), list, StrOptions({"auto"}), None],
    "n_estimators": [Interval(Integral, 2, None, closed="left")],
    "alpha_init": [
        StrOptions({"auto", "marginal"}),
        Interval(Real, 0, 1, closed="right"),
        "array-like",
    ],
    "loss": [StrOptions({"auto", *LOSSES}), Loss],
    "objective": [StrOptions({"ensemble", "members"})],
    "penalty": [Penalty, None],
    "feature_groups": [StrOptions({"prefix"}), "array-like", dict, None],
    "categorical_features": [StrOptions({"auto", "from_dtype"}), "array-like", None],
    "bootstrap": ["boolean", StrOptions({"auto"})],
    "max_iter": [Interval(Integral, 1, None, closed="left"), None],
    "max_samples": [
        Interval(Integral, 2, None, closed="left"),
        Interval(RealNotInt, 0, 1, closed="right"),
        None,
    ],
    "n_iter_no_change": [Interval(Integral, 1, None, closed="left"), None],
    "n_repeats": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"})],
    "distribution": [StrOptions({"auto"}), SubsetDistribution],
    "solver": [Solver, None],
}
