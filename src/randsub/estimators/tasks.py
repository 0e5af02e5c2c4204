"""Ensembles for classification and for regression: targets and predictions."""

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils.multiclass import check_classification_targets

from randsub._typing import FloatArray, IntArray, Table
from randsub.engines import Learner
from randsub.estimators.base import SubspaceEnsemble
from randsub.estimators.targets import label_classes, label_indicators


@dataclass(eq=False, repr=False, kw_only=True)
class ClassificationEnsemble(ClassifierMixin, SubspaceEnsemble):
    """Ensemble of classifiers that vote, or whose probabilities are averaged."""

    _task: ClassVar[Literal["regression", "classification"]] = "classification"
    _base_kind: ClassVar[str] = "classifier"

    voting: Literal["auto", "hard", "soft"] = "hard"

    def _default_estimator(self) -> Any:
        return DecisionTreeClassifier()

    def _checked_base(self, base: Any) -> Any:
        base = super()._checked_base(base)
        if self.voting == "soft" and not hasattr(base, "predict_proba"):
            raise ValueError(
                f"voting='soft' needs a base model with predict_proba, which {base!r} lacks. "
                "Use voting='hard', or a base model that gives probabilities."
            )
        return base

    def _check_targets(self, y: Any, rows: IntArray) -> None:
        if y.ndim == 2:
            classes = label_classes(y)
            if (y[rows] == y[rows[0]]).all():
                raise ValueError(
                    f"{type(self).__name__} needs a label that some samples have and others have "
                    f"not, but all samples have the labels {y[rows[0]].tolist()}."
                )
            self.classes_: Any = [classes.copy() for _ in range(y.shape[1])]
            return
        check_classification_targets(y)
        self.classes_ = np.unique(y)
        present = np.unique(y[rows])
        if len(present) < 2:
            raise ValueError(
                f"{type(self).__name__} needs samples of at least 2 classes, but the data contains "
                f"only one class: {present.tolist()[0]!r}."
            )

    def _encode(self, y: Any, rows: IntArray) -> tuple[FloatArray, IntArray | None]:
        if y.ndim == 2:
            # Rows with the same labels may be few: splits are not stratified.
            return label_indicators(y), None
        unknown = np.setdiff1d(y[rows], self.classes_)
        if len(unknown):
            raise ValueError(
                f"y_val contains the classes {unknown.tolist()}, which are not in y: "
                f"{self.classes_.tolist()}."
            )
        # Samples of weight 0 may have other labels; they are encoded as the first class.
        codes = np.zeros(len(y), dtype=np.intp)
        codes[rows] = np.searchsorted(self.classes_, y[rows])
        return np.eye(len(self.classes_))[codes], codes

    def _learner(self, base: Any, passes_weight: bool, n_samples: int, n_bases: int) -> Learner:
        draws_rows = self._draws_rows(base, n_samples)
        voting = self._voting_of(base, n_bases)
        classes = self.classes_[0] if self._has_labels else self.classes_
        return Learner(base, classes, voting, passes_weight, draws_rows)

    @property
    def _has_labels(self) -> bool:
        """Whether y has several columns of labels, each with classes of its own."""
        return isinstance(self.classes_, list)

    def _apart(self, output: FloatArray) -> FloatArray:
        """Output (n, C) as it is or, of several labels, as (n, K, 2)."""
        return output.reshape(len(output), -1, 2) if self._has_labels else output

    def _by_label(self, p: FloatArray) -> Any:
        """Probabilities as scikit-learn's forests give them: a list, if there are labels."""
        return p if p.ndim == 2 else [np.ascontiguousarray(one) for one in np.moveaxis(p, 1, 0)]

    def _voting_of(self, base: Any, n_bases: int) -> Literal["hard", "soft"]:
        """How models of a base model vote, out of n_bases in the ensemble."""
        if self.voting != "auto":
            return self.voting
        return "soft" if n_bases > 1 and hasattr(base, "predict_proba") else "hard"

    def predict_proba(self, X: Table) -> Any:
        """Class probabilities: average probabilities of the members, or fractions of votes.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)

        Returns
        -------
        p : ndarray of shape (n_samples, n_classes)
            Columns in the order of ``classes_``.
        """
        return self._by_label(self._apart(self._average(X)))

    def predict(self, X: Table) -> Any:
        """Predict the class with the highest average probability, or with the most votes.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)

        Returns
        -------
        y : ndarray of shape (n_samples,) or (n_samples, n_labels)
            Classes or, if y has several columns, 1 for the labels that are more likely than not.
        """
        probabilities = self.predict_proba(X)
        if self._has_labels:
            pairs = zip(self.classes_, probabilities, strict=True)
            return np.column_stack([classes[np.argmax(p, axis=1)] for classes, p in pairs])
        return self.classes_[np.argmax(probabilities, axis=1)]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = self._bases_take_outputs()
        return tags


class RegressionEnsemble(RegressorMixin, SubspaceEnsemble):
    """Ensemble of regressors whose predictions are averaged."""

    _task: ClassVar[Literal["regression", "classification"]] = "regression"

    def _default_estimator(self) -> Any:
        return DecisionTreeRegressor()

    def _check_targets(self, y: Any, rows: IntArray) -> None:
        """Do nothing: any numbers are valid, unless the loss requires more."""

    def _encode(self, y: Any, rows: IntArray) -> tuple[FloatArray, IntArray | None]:
        return np.asarray(y, dtype=float).reshape(len(y), -1), None

    def _learner(self, base: Any, passes_weight: bool, n_samples: int, n_bases: int) -> Learner:
        draws_rows = self._draws_rows(base, n_samples)
        return Learner(base, passes_weight=passes_weight, bootstrap=draws_rows)

    def predict(self, X: Table) -> FloatArray:
        """Predict the average of the members.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)

        Returns
        -------
        y : ndarray of shape (n_samples,) or (n_samples, n_outputs)
        """
        average = self._average(X)
        return average[:, 0] if average.shape[1] == 1 else average

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = self._bases_take_outputs()
        return tags
