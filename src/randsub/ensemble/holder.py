"""What every estimator with a base model does with it, whatever it learns."""

from abc import ABCMeta, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, MetaEstimatorMixin
from sklearn.utils import get_tags
from sklearn.utils._param_validation import Interval, InvalidParameterError


class BaseModelHolder(MetaEstimatorMixin, BaseEstimator, metaclass=ABCMeta):
    """An estimator that trains many copies of another one.

    The constructor of a subclass has the parameter ``estimator``.
    """

    estimator: Any

    @abstractmethod
    def _default_estimator(self) -> Any:
        """The base model when the user names none."""

    def _base(self) -> Any:
        """The base model that was asked for, or the default."""
        return self._default_estimator() if self.estimator is None else self.estimator

    def _check_kind(self, base: Any, wanted: str) -> None:
        kind = get_tags(base).estimator_type
        # An estimator of one's own that does not say what it is, is taken at its word.
        if kind not in (None, wanted):
            raise ValueError(
                f"{type(self).__name__} needs a {wanted} as base model, got the {kind} {base!r}."
            )

    def _validate_params(self) -> None:
        """As scikit-learn does, and without truth values in place of numbers."""
        super()._validate_params()
        for name, value in self.get_params(deep=False).items():
            kinds = self._parameter_constraints.get(name, ())
            is_number = any(isinstance(kind, Interval) for kind in kinds)
            if is_number and "boolean" not in kinds and isinstance(value, bool | np.bool_):
                raise InvalidParameterError(
                    f"The {name!r} parameter of {type(self).__name__} must be a number, got "
                    f"{value!r}; write {int(value)} if that is what you mean."
                )

    @contextmanager
    def _all_or_nothing(self) -> Iterator[None]:
        """A fit that fails, or is interrupted too early, leaves the model as it was."""
        former = vars(self).copy()
        try:
            self._forget()
            yield
        except BaseException:
            self.__dict__.clear()
            self.__dict__.update(former)
            raise

    def _forget(self) -> None:
        """Drop what an earlier fit has learned."""
        for name in [name for name in vars(self) if name.endswith("_")]:
            delattr(self, name)
