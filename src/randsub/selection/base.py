"""What the selectors share: input, tags, and the selected columns."""

from typing import Any

from sklearn.base import MetaEstimatorMixin
from sklearn.feature_selection import SelectorMixin
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from randsub._sklearn import DocumentedEstimator
from randsub._tables import take_rows
from randsub._typing import BoolArray, Table
from randsub.estimators.fit_data import Samples
from randsub.estimators.validation import check_samples, check_table
from randsub.selection.repeated_fits import check_weights_are_taken


class Selector(SelectorMixin, MetaEstimatorMixin, DocumentedEstimator):
    """Selects columns by fits of ``estimator``; :meth:`fit` sets ``support_``."""

    estimator: Any
    support_: BoolArray

    def _checked(self, X: Table, y: Any, sample_weight: Any) -> Samples:
        """Checked data, without the samples of weight 0; ``rows`` are their rows in X."""
        parts = self._input_tags()
        X = check_table(
            self,
            X,
            reset=True,
            accept_sparse=all(part.sparse for part in parts),
            allow_nan=all(part.allow_nan for part in parts),
            min_samples=2,
        )
        samples = check_samples(self, X, y, sample_weight, y_numeric=False)
        check_weights_are_taken(self.estimator, sample_weight)
        rows, weight = samples.rows, samples.sample_weight
        weight = None if weight is None else weight[rows]
        return Samples(take_rows(X, rows), samples.y[rows], weight, rows)

    def _names(self) -> list[str]:
        """Names of the columns, or nothing."""
        return [str(name) for name in getattr(self, "feature_names_in_", ())]

    def _get_support_mask(self) -> BoolArray:
        check_is_fitted(self, "support_")
        return self.support_

    def _models(self) -> list[Any]:
        """The models that are trained on X."""
        return [self.estimator]

    def _input_tags(self) -> list[Any]:
        return [get_tags(model).input_tags for model in self._models()]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        parts = self._input_tags()
        tags.input_tags.sparse = all(part.sparse for part in parts)
        tags.input_tags.allow_nan = all(part.allow_nan for part in parts)
        tags.target_tags.required = True
        return tags
