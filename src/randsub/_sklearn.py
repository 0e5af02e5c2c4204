"""The private names of scikit-learn that we use: all imports of them are in this file.

Tried with scikit-learn 1.8 and 1.9. ``tests/test_private_names.py`` looks for each of them, and
says which one the installed release lacks.

* ``_fit_context``, the constraints and ``validate_params``: parameters are checked as scikit-learn
  checks its own, with its wording. Public estimators of other libraries do the same.
* ``_BaseComposition``: parameters of base models that have names.
* ``_raise_for_params``, ``_routing_enabled``: metadata routing in ``fit``.
* ``_check_y``, ``_check_sample_weight``, ``_check_method_params``: targets, weights and metadata.
* ``_get_feature_importances``: what ``SelectFromModel`` does with ``importance_getter``.
* ``_validate_params``: whether an estimator accepts its parameters; estimators and the solver
  inherit it, and call it on themselves and on base models.
* ``_skl_callbacks``, ``_callback_fit_ctx`` and ``_init_callback_context``: attributes of the
  ``CallbackSupportMixin`` of 1.9, which :mod:`randsub.callbacks.support` inherits or stands in for.
* ``_doc_link_module``, ``_doc_link_template`` and ``_doc_link_url_param_generator``: where the
  HTML representation of an estimator links to.
* ``predict_stages``: the sum of the trees of a boosted ensemble, without checks of the rows.
* ``_init_coef``, ``_validate_input`` and ``_initialize`` of multilayer perceptrons: first weights
  and attributes of networks that are trained elsewhere.
* ``_gamma`` of support vector machines, ``_fit_X`` and ``_y`` of nearest neighbours: what a fitted
  model predicts with, which has no public name.
"""

from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.base import _fit_context as fit_context
from sklearn.utils._param_validation import (
    HasMethods,
    InvalidParameterError,
    Options,
    RealNotInt,
    StrOptions,
    validate_parameter_constraints,
    validate_params,
)
from sklearn.utils._param_validation import Interval as _Interval
from sklearn.utils.metadata_routing import _raise_for_params as raise_for_params
from sklearn.utils.metadata_routing import _routing_enabled as routing_enabled
from sklearn.utils.metaestimators import _BaseComposition as BaseComposition
from sklearn.utils.validation import _check_method_params as check_method_params
from sklearn.utils.validation import _check_sample_weight as check_sample_weight
from sklearn.utils.validation import _check_y as check_y

__all__ = [
    "BaseComposition",
    "DocumentedEstimator",
    "HasMethods",
    "Interval",
    "InvalidParameterError",
    "Options",
    "RealNotInt",
    "StrOptions",
    "check_method_params",
    "check_sample_weight",
    "check_y",
    "first_weights",
    "fit_context",
    "gamma_of",
    "get_feature_importances",
    "has_valid_params",
    "neighbors_of",
    "predict_stages",
    "raise_for_params",
    "routing_enabled",
    "started_network",
    "validate_parameter_constraints",
    "validate_params",
]


class Interval(_Interval):
    """A range of numbers, to which True does not belong: Python takes it for 1."""

    def is_satisfied_by(self, val: Any) -> bool:
        """Whether the value is one of them."""
        return not isinstance(val, bool | np.bool_) and bool(super().is_satisfied_by(val))


class DocumentedEstimator(BaseEstimator):
    """An estimator, or a part of one, whose HTML representation links to its page of reference."""

    _doc_link_module: ClassVar[str] = "randsub"
    _doc_link_template: ClassVar[str] = (
        "https://randsub.readthedocs.io/en/stable/api/generated/{home}.{name}.html"
    )
    # The module that users import it from; by default its package, or randsub itself.
    _home: ClassVar[str | None] = None

    def _doc_link_url_param_generator(self) -> dict[str, str]:
        kind = type(self)
        package = ".".join(kind.__module__.split(".")[:2]).removesuffix(".estimators")
        return {"home": kind._home or package, "name": kind.__name__}


def get_feature_importances(*arguments: Any, **options: Any) -> Any:
    """``sklearn.feature_selection._base._get_feature_importances``, which takes time to import."""
    from sklearn.feature_selection._base import _get_feature_importances

    return _get_feature_importances(*arguments, **options)


def has_valid_params(estimator: Any) -> bool:
    """Whether scikit-learn accepts the parameters of an estimator."""
    try:
        estimator._validate_params()
    except InvalidParameterError:
        return False
    return True


def predict_stages(*arguments: Any) -> None:
    """``sklearn.ensemble._gradient_boosting.predict_stages``, which takes time to import."""
    from sklearn.ensemble._gradient_boosting import predict_stages

    predict_stages(*arguments)


def gamma_of(machine: Any) -> float:
    """The factor of squared distances in the kernel of a fitted support vector machine."""
    return float(machine._gamma)


def neighbors_of(model: Any) -> tuple[Any, Any]:
    """Rows, and targets or class numbers, among which a fitted model looks for neighbours."""
    return model._fit_X, model._y


def first_weights(
    network: Any, generator: Any, units: Any, dtype: Any
) -> tuple[list[Any], list[Any]]:
    """Coefficients and intercepts that an unfitted multilayer perceptron would begin with."""
    network._random_state = generator
    pairs = [
        network._init_coef(n_inputs, n_outputs, dtype) for n_inputs, n_outputs in pairwise(units)
    ]
    return [coefficients for coefficients, _ in pairs], [intercepts for _, intercepts in pairs]


def started_network(network: Any, X: Any, y: Any, hidden: list[int]) -> None:
    """Give a multilayer perceptron the attributes that it has when its training begins."""
    X, y = network._validate_input(X, y, False, True)
    y = y.reshape(len(y), -1)
    network._random_state = np.random.RandomState(network.random_state)
    network._initialize(y, [X.shape[1], *hidden, y.shape[1]], X.dtype)
