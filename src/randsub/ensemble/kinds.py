"""What ensembles of classifiers share, and what ensembles of regressors share."""

from typing import Any, ClassVar, Literal

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils.multiclass import check_classification_targets

from randsub._typing import FloatArray, IntArray, Table
from randsub.engines import Learner
from randsub.ensemble.subspace import SubspaceEnsemble


class ClassificationEnsemble(ClassifierMixin, SubspaceEnsemble):
    """Members vote, or give probabilities that are averaged.

    The constructor of a subclass has the parameter ``voting``.
    """

    _task: ClassVar[Literal["regression", "classification"]] = "classification"

    voting: Literal["auto", "soft", "hard"]

    def _default_estimator(self) -> Any:
        return DecisionTreeClassifier()

    def _check_base(self, base: Any) -> None:
        self._check_kind(base, "classifier")
        if self.voting == "soft" and not hasattr(base, "predict_proba"):
            raise ValueError(
                f"voting='soft' needs a base model with predict_proba, which {base!r} lacks. "
                "Use voting='hard' or 'auto', or a base model that gives probabilities."
            )

    def _check_targets(self, y: Any, rows: IntArray) -> None:
        check_classification_targets(y)
        self.classes_ = np.unique(y)
        present = np.unique(y[rows])
        if len(present) < 2:
            raise ValueError(
                f"{type(self).__name__} needs samples of at least 2 classes, but the data contains "
                f"only one class: {present.tolist()[0]!r}."
            )

    def _encode(self, y: Any, rows: IntArray) -> tuple[FloatArray, IntArray | None]:
        unknown = np.setdiff1d(y[rows], self.classes_)
        if len(unknown):
            raise ValueError(
                f"y_val contains the classes {unknown.tolist()}, which are not in y: "
                f"{self.classes_.tolist()}."
            )
        # Samples that do not count may have labels of their own; they stand as the first class.
        codes = np.zeros(len(y), dtype=np.intp)
        codes[rows] = np.searchsorted(self.classes_, y[rows])
        return np.eye(len(self.classes_))[codes], codes

    def _learner(self, base: Any, passes_weight: bool) -> Learner:
        soft = self.voting != "hard" and hasattr(base, "predict_proba")
        return Learner(base, self.classes_, "soft" if soft else "hard", passes_weight)

    def predict_proba(self, X: Table) -> FloatArray:
        """Average probabilities of the members, or their shares of votes.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)

        Returns
        -------
        p : ndarray of shape (n_samples, n_classes)
            In the order of ``classes_``.
        """
        return self._average(X)

    def predict(self, X: Table) -> Any:
        """The class with the highest average probability or the most votes.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)

        Returns
        -------
        y : ndarray of shape (n_samples,)
        """
        probabilities = self.predict_proba(X)
        return self.classes_[np.argmax(probabilities, axis=1)]


class RegressionEnsemble(RegressorMixin, SubspaceEnsemble):
    """Predictions of the members are averaged."""

    _task: ClassVar[Literal["regression", "classification"]] = "regression"

    def _default_estimator(self) -> Any:
        return DecisionTreeRegressor()

    def _check_base(self, base: Any) -> None:
        self._check_kind(base, "regressor")

    def _check_targets(self, y: Any, rows: IntArray) -> None:
        """Any numbers will do; a loss may ask for more."""

    def _encode(self, y: Any, rows: IntArray) -> tuple[FloatArray, IntArray | None]:
        return np.asarray(y, dtype=float)[:, np.newaxis], None

    def _learner(self, base: Any, passes_weight: bool) -> Learner:
        return Learner(base, passes_weight=passes_weight)

    def predict(self, X: Table) -> FloatArray:
        """Average prediction of the members.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)

        Returns
        -------
        y : ndarray of shape (n_samples,)
        """
        return self._average(X)[:, 0]
