"""Regression targets in units that base models expect.

A tree, a neighbour or a least-squares fit predicts the same in any units. A support vector machine
does not: ``epsilon`` and ``C`` are in units of the target, and with targets around 1e-4, or 1e6,
the defaults lead to a constant. Such base models are trained on targets of mean 0 and standard
deviation 1. What they predict is turned back, and so are the models of the final ensemble: their
output is linear in a last layer of numbers.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.dummy import DummyRegressor
from sklearn.multioutput import MultiOutputRegressor
from sklearn.pipeline import Pipeline

from randsub._typing import FloatArray, IntArray


@dataclass(frozen=True)
class Unit:
    """Origin and unit in which a base model sees the targets; of K outputs, (K,) each."""

    center: float | FloatArray
    scale: float | FloatArray

    def of_targets(self, y: Any) -> FloatArray:
        """Targets as the base model sees them."""
        return (np.asarray(y, dtype=float) - self.center) / self.scale

    def of_predictions(self, predictions: FloatArray) -> FloatArray:
        """What the base model predicts, in the units of the user."""
        return self.center + self.scale * predictions

    def turn_back(self, model: Any) -> None:
        """Make a fitted model predict in the units of the user.

        What else it has learned, such as the strength of a penalty, stays in its own units.
        """
        last = _last_step(model)
        if isinstance(last, MultiOutputRegressor):
            for one, center, scale in zip(
                last.estimators_, np.atleast_1d(self.center), np.atleast_1d(self.scale), strict=True
            ):
                Unit(float(center), float(scale)).turn_back(one)
        elif isinstance(last, DummyRegressor):
            last.constant_ = self.of_predictions(last.constant_)
        elif (turn := _way_back(last)) is not None:
            turn(last, self)


def unit_for(estimator: Any, y: Any, weight: FloatArray | None, rows: IntArray) -> Unit | None:
    """The unit of the targets of some rows, if a base model needs one."""
    if not needs_units(estimator):
        return None
    given = np.ones(len(rows)) if weight is None else weight[rows]
    return unit_of(np.asarray(y, dtype=float)[rows], given)


def unit_of(y: FloatArray, weight: FloatArray) -> Unit:
    """Mean and standard deviation of targets (n,) or (n, K); of constant ones, the value and 1."""
    if y.ndim == 2:
        units = [unit_of(column, weight) for column in y.T]
        return Unit(np.array([u.center for u in units]), np.array([u.scale for u in units]))
    if np.ptp(y) == 0.0:
        # Their mean may differ from them in the last digit.
        return Unit(float(y[0]), 1.0)
    mean = float(np.average(y, weights=weight))
    deviation = float(np.sqrt(np.average((y - mean) ** 2, weights=weight)))
    return Unit(mean, deviation or 1.0)


def needs_units(estimator: Any) -> bool:
    """Whether predictions of a regressor depend on the units of its targets, as far as known.

    Of a pipeline this is asked of its last step, of a model per output of each of these. What a
    search ends with is not known before.
    """
    last = _last_step(estimator)
    if isinstance(last, MultiOutputRegressor):
        return needs_units(last.estimator)
    return _way_back(last) is not None


def _last_step(estimator: Any) -> Any:
    while isinstance(estimator, Pipeline) and estimator.steps:
        estimator = estimator.steps[-1][1]
    return estimator


def _way_back(estimator: Any) -> "Callable[[Any, Unit], None] | None":
    """How a fitted regressor is turned back; None if it needs no units."""
    kind = type(estimator)
    # Without an intercept, a user's origin is meant as it is; other losses need targets above 0.
    is_plain = getattr(estimator, "fit_intercept", True) is not False
    if kind.__name__ == "MLPRegressor":
        is_plain = getattr(estimator, "loss", "squared_error") == "squared_error"
    if not is_plain or not kind.__module__.startswith("sklearn."):
        return None
    return _WAYS.get(kind.__name__)


def _turn_machine(model: Any, unit: Unit) -> None:
    # With and without the underscore: one is shown, the other predicts.
    for name in ("dual_coef_", "_dual_coef_"):
        setattr(model, name, getattr(model, name) * unit.scale)
    for name in ("intercept_", "_intercept_"):
        setattr(model, name, unit.of_predictions(getattr(model, name)))


def _turn_linear(model: Any, unit: Unit) -> None:
    # Of several outputs, a row each.
    model.coef_ = (model.coef_.T * unit.scale).T
    model.intercept_ = unit.of_predictions(model.intercept_)


def _turn_network(model: Any, unit: Unit) -> None:
    model.coefs_[-1] = model.coefs_[-1] * unit.scale
    model.intercepts_[-1] = unit.of_predictions(model.intercepts_[-1])


_WAYS: Mapping[str, Callable[[Any, Unit], None]] = {
    **dict.fromkeys(("SVR", "NuSVR"), _turn_machine),
    **dict.fromkeys(
        (
            "ElasticNet",
            "ElasticNetCV",
            "HuberRegressor",
            "Lasso",
            "LassoCV",
            "LassoLars",
            "LassoLarsCV",
            "LassoLarsIC",
            "LinearSVR",
            "MultiTaskElasticNet",
            "MultiTaskElasticNetCV",
            "MultiTaskLasso",
            "MultiTaskLassoCV",
            "PassiveAggressiveRegressor",
            "QuantileRegressor",
            "SGDRegressor",
        ),
        _turn_linear,
    ),
    "MLPRegressor": _turn_network,
}
