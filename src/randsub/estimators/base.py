"""Base classes of all ensembles over feature subsets, from top to bottom.

* :class:`BaseModelHolder`: an estimator with a base model (gene networks, too);
* :class:`SubspaceEnsemble`: ``fit`` as the list of its steps, and the average of the members;
* :class:`ClassificationEnsemble`, :class:`RegressionEnsemble`: targets and predictions.

Subclasses implement :meth:`SubspaceEnsemble._learn`, which finds the subsets. It gets data that has
been checked, split and scaled, and a dispatcher that trains models on subsets of its columns.
"""

from abc import ABCMeta, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import KW_ONLY, dataclass
from os import PathLike
from typing import Any, ClassVar, Literal, Self

import numpy as np
from sklearn.base import ClassifierMixin, MetaEstimatorMixin, RegressorMixin, clone
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils import get_tags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from randsub._sklearn import DocumentedEstimator, fit_context
from randsub._tables import n_rows, portions, take_part, union
from randsub._typing import FloatArray, IntArray, Table
from randsub.checkpoint import Logbook
from randsub.engines import Engine, Learner
from randsub.estimators.constraints import COMMON
from randsub.estimators.fit_data import FitData, Given, Samples, prepare, seed_words
from randsub.estimators.reportable import Reportable
from randsub.estimators.targets import (
    class_codes,
    classes_of_labels,
    label_indicators,
    predicted_labels,
)
from randsub.estimators.training_rows import TrainingRows
from randsub.estimators.validation import check_input, check_new_table, takes_missing
from randsub.exceptions import BaseModelError
from randsub.parallel import Member, average_prediction
from randsub.parallel.blas_threads import warn_of_idle_threads


class BaseModelHolder(MetaEstimatorMixin, DocumentedEstimator, metaclass=ABCMeta):
    """An estimator that trains many copies of another one, its parameter ``estimator``."""

    _base_kind: ClassVar[str] = "regressor"

    estimator: Any
    n_jobs: int | None
    # Parameter of estimators that optimise alpha.
    solver: Any = None

    @abstractmethod
    def _default_estimator(self) -> Any:
        """The default base model."""

    def _base(self) -> Any:
        """The base model of the user, or the default."""
        return self._default_estimator() if self.estimator is None else self.estimator

    def _bases(self) -> dict[str, Any]:
        """The base models by name; the name of a single one is empty."""
        return {"": self._base()}

    def _default_solver(self) -> Any:
        """The default solver; None for estimators without a solver."""
        return None

    def _solver(self) -> Any:
        """The solver of the user, or the default."""
        return self._default_solver() if self.solver is None else self.solver

    def _checked_bases(self) -> dict[str, Any]:
        """Copies of the base models, with their types and parameters checked."""
        return {name: self._checked_base(base) for name, base in self._bases().items()}

    def _checked_base(self, base: Any) -> Any:
        """A copy of a base model, with its type and parameters checked."""
        base = clone(base)
        kind = get_tags(base).estimator_type
        # Estimators without a type are accepted.
        if kind not in (None, self._base_kind):
            raise ValueError(
                f"{type(self).__name__} needs a {self._base_kind} as base model, got the {kind} "
                f"{base!r}."
            )
        if hasattr(base, "_parameter_constraints"):
            base._validate_params()
        warn_of_idle_threads(base, type(self).__name__, self.n_jobs)
        return base

    @contextmanager
    def _all_or_nothing(self) -> Iterator[None]:
        """Remove the results of an earlier fit; restore them if this fit fails."""
        former = vars(self).copy()
        try:
            for name in [name for name in vars(self) if name.endswith("_")]:
                delattr(self, name)
            yield
        except BaseException:
            self.__dict__.clear()
            self.__dict__.update(former)
            raise


@dataclass(eq=False, repr=False)
class SubspaceEnsemble(Reportable, BaseModelHolder):
    """Ensemble whose members each see a subset of the columns.

    Parameters are dataclass fields, so that each of them and its default is written once:
    ``@dataclass`` generates the ``__init__`` that scikit-learn reads, in which every parameter but
    ``estimator`` is keyword-only. A subclass adds its parameters to those of its bases.
    """

    estimator: Any = None
    _: KW_ONLY
    n_estimators: int = 100
    validation_fraction: float | None = 0.2
    standardize: bool = True
    engine: str | type[Engine] = "auto"
    device: str | None = None
    n_jobs: int | None = None
    task_timeout: float | None = None
    random_state: Any = None
    verbose: int = 0

    _task: ClassVar[Literal["regression", "classification"]]
    # Whether y may have several columns.
    _takes_outputs: ClassVar[bool] = False
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = COMMON

    def _check_targets(self, y: Any, rows: IntArray) -> None:
        """Raise an error if the targets of these rows are invalid; any numbers are valid."""

    @abstractmethod
    def _encode(self, y: Any, rows: IntArray) -> tuple[FloatArray, IntArray | None]:
        """Targets for the loss, (n, C), and in classification the class of each sample, (n,)."""

    @abstractmethod
    def _learner(self, base: Any, passes_weight: bool, n_samples: int, n_bases: int) -> Learner:
        """The base model with what an engine needs to know about it."""

    @abstractmethod
    def _learn(self, data: FitData, logbook: Logbook) -> None:
        """Find the subsets, and train ``estimators_`` on ``estimators_features_``."""

    def _begin(self) -> None:
        """Check parameters of nested objects; set up callbacks."""

    def _suited(self, bases: dict[str, Any], samples: Samples) -> dict[str, Any]:
        """Those of the base models that suit the data."""
        return bases

    def _fills_missing(self) -> bool:
        """Whether missing numbers are replaced, so that every base model can be used."""
        return False

    def _unfitted(self, given: Given) -> Any:
        """``estimator_``: the base model, or the base models by name."""
        return given.learners[0].estimator

    def _bases_take_outputs(self) -> bool:
        """Whether y may have several columns, as far as that is known before ``fit``."""
        return False

    def _splits_validation(self) -> bool:
        """Whether a part of X is set aside if there is no validation data."""
        return self.validation_fraction is not None

    def _count_repeats(self, given: Given) -> int:
        """Number of times that the subsets are searched, each with its own split."""
        return 1

    def _draws_rows(self, base: Any, n_samples: int) -> bool:
        """Whether models of a base model are trained on bootstrap samples."""
        return False

    def _base_weight(self, samples: Samples) -> FloatArray | None:
        """Weights of the samples for base models that are trained with them."""
        return samples.sample_weight

    def _most_rows(self, n: int) -> int:
        """Largest number of training samples of a member, out of n."""
        return n

    # -- fitting ---------------------------------------------------------------------------------

    @fit_context(prefer_skip_nested_validation=False)
    def fit(
        self,
        X: Table,
        y: Any,
        sample_weight: Any = None,
        *,
        X_val: Table | None = None,
        y_val: Any = None,
        sample_weight_val: Any = None,
        **fit_params: Any,
    ) -> Self:
        """Find the feature subsets, then fit the final ensemble.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Training data. Sparse matrices and missing values are accepted if the base model
            supports them; for a pandas or polars frame, base models receive frames, unless its
            columns must be encoded.
        y : array-like of shape (n_samples,)
            Targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the samples in losses and scores, and in the base models if they accept
            weights. Samples of weight 0 are left out.
        X_val, y_val, sample_weight_val : same as above, default=None
            Validation data, on which the subsets are chosen. By default the fraction
            ``validation_fraction`` of X is set aside.
        **fit_params : dict
            Metadata for the base model's ``fit``; needs ``enable_metadata_routing=True``, see the
            scikit-learn guide on metadata routing.

        Returns
        -------
        self : object
            The fitted ensemble.
        """
        return self._fit(X, y, sample_weight, X_val, y_val, sample_weight_val, fit_params)

    def _fit(self, *data: Any, resume_from: "PathLike[str] | str | None" = None) -> Self:
        """The steps of every fit; ``data`` are the arguments of :func:`check_input`."""
        self._begin()
        with self._all_or_nothing():
            given = check_input(self, *data)
            self.estimator_, self.column_encoder_ = self._unfitted(given), given.encoder
            self._layout, self._training_rows = given.layout, TrainingRows.given(given)
            logbook = Logbook(self, given.described, seed_words(self.random_state))
            if resume_from is not None:
                # Whether max_iter may differ depends on the epoch of the checkpoint.
                logbook.resume(resume_from, flexible=("max_iter",))
            prepared = prepare(self, given, logbook.seed)
            self.standardizer_, self._engines = prepared.standardizer, prepared.dispatcher.engines
            self.engine_ = prepared.engine_names
            with prepared.dispatcher:
                self._learn(prepared, logbook)
            self._leave_file()
            self._ask_members(prepared)
        return self

    def _leave_file(self) -> None:
        """Keep the scales of the members' columns alone, if X is a file that is read by columns."""
        if self.standardizer_ is not None and self.standardizer_.file is not None:
            self.standardizer_ = self.standardizer_.kept(union(self.estimators_features_))

    # -- using -----------------------------------------------------------------------------------

    def _average(self, X: Table) -> FloatArray:
        """Average of the members' predictions, shape (n, C)."""
        check_is_fitted(self, "estimators_")
        seen = union(self.estimators_features_)
        X = check_new_table(self, X, self._layout, self.column_encoder_, seen)
        return self._average_of(X, np.arange(n_rows(X)))

    def _ask_members(self, data: FitData) -> None:
        """Raise an error if members of a base model cannot predict, which training did not need."""
        asked: dict[int, int] = {}
        for place, (base, _) in enumerate(self._kinds(slice(None))):
            # A member without columns is a constant, not a base model.
            if len(self.estimators_features_[place]):
                asked.setdefault(base, place)
        for place in asked.values() or [0]:
            self._average_of(data.samples.X, data.samples.rows[:1], slice(place, place + 1))

    def _average_of(self, X: Table, rows: IntArray, members: slice = slice(None)) -> FloatArray:
        """The same for rows of a checked table, a portion at a time, and for some members."""
        scaler, encoder, engines = self.standardizer_, self.column_encoder_, self._engines
        features, columns = self.estimators_features_[members], np.arange(X.shape[1])
        if encoder is None and self._layout[0] is None:
            # Of an array, only what the members see is scaled.
            columns = union(features)
        cast = [
            Member(engines[base], model, base, np.searchsorted(columns, seen), seen, weight)
            for model, seen, (base, weight) in zip(
                self.estimators_[members], features, self._kinds(members), strict=True
            )
        ]
        if encoder is not None:
            cast = [one._replace(columns=encoder.expand(one.features, one.base)) for one in cast]
        answers = []
        try:
            for places in portions(len(rows), len(columns)):
                part = take_part(X, rows[places], columns)
                scaled = part if scaler is None else scaler.transform(part, columns)
                n = len(engines)
                tables = [scaled] * n if encoder is None else encoder.tables(part, scaled, n)
                answers.append(average_prediction(cast, tables, self.n_jobs))
        except BaseModelError as error:
            names = getattr(self, "feature_names_in_", ())
            raise error.located(names, None) from error.__cause__
        return np.concatenate(answers)

    def _kinds(self, members: slice) -> list[tuple[int, float]]:
        """Place of the base model, and weight, of some members."""
        return [(0, 1.0)] * len(self.estimators_[members])

    def get_metadata_routing(self) -> MetadataRouter:
        """Metadata routing: ``fit`` uses sample weights and passes them to the base model.

        Returns
        -------
        routing : MetadataRouter
        """
        mapping = MethodMapping().add(caller="fit", callee="fit")
        router = MetadataRouter(owner=self).add_self_request(self)
        for name, base in self._bases().items():
            router.add(**{name or "estimator": base}, method_mapping=mapping)
        return router

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        try:
            bases = self._bases().values()
        except ValueError:
            # Bad base models are an error of fit.
            return tags
        tags.input_tags.sparse = all(get_tags(base).input_tags.sparse for base in bases)
        tags.input_tags.allow_nan = self._fills_missing() or all(map(takes_missing, bases))
        tags.target_tags.multi_output = self._task == "regression" and self._bases_take_outputs()
        return tags


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
            self.classes_: Any = classes_of_labels(self, y, rows)
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
            return label_indicators(y), None
        codes = class_codes(self.classes_, y, rows)
        return np.eye(len(self.classes_))[codes], codes

    def _learner(self, base: Any, passes_weight: bool, n_samples: int, n_bases: int) -> Learner:
        draws_rows = self._draws_rows(base, n_samples)
        voting = self._voting_of(base, n_bases)
        classes = self.classes_[0] if isinstance(self.classes_, list) else self.classes_
        return Learner(base, classes, voting, passes_weight, draws_rows)

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
        return self._average(X)

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
        if isinstance(self.classes_, list):
            return predicted_labels(self.classes_, probabilities)
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
