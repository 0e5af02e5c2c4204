"""What every ensemble over feature subsets shares: check, prepare, route, average.

:class:`SubspaceEnsemble` knows nothing of how subsets are found. A subclass says that in
:meth:`SubspaceEnsemble._learn`, which gets data that has been checked, split and scaled, and an
engine that trains models on any subsets of its columns.
"""

from abc import abstractmethod
from os import PathLike
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

import numpy as np
from scipy.sparse import issparse
from sklearn.base import _fit_context, clone
from sklearn.utils import get_tags
from sklearn.utils.metadata_routing import (
    MetadataRouter,
    MethodMapping,
    _raise_for_params,
    _routing_enabled,
    process_routing,
)
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from randsub._tables import frame_kind, is_large, n_rows, row_portions, take_rows
from randsub._typing import FloatArray, IntArray, Table
from randsub.engines import Data, Dispatcher, Engine, Learner, average_prediction
from randsub.ensemble import parts
from randsub.ensemble.categories import CategoryEncoder, choose_categorical
from randsub.ensemble.constraints import COMMON
from randsub.ensemble.holder import BaseModelHolder
from randsub.ensemble.inputs import (
    Given,
    Samples,
    as_fitted,
    check_parameters,
    check_samples,
    check_table,
    match_frame,
    refuse_missing,
    seed_words,
    split_validation,
)
from randsub.ensemble.material import Material
from randsub.ensemble.missing import takes_missing
from randsub.ensemble.standardize import Standardizer
from randsub.exceptions import BaseModelError


class SubspaceEnsemble(BaseModelHolder):
    """An ensemble each member of which sees some of the columns.

    The constructor of a subclass has the parameters below, among others.
    """

    _task: ClassVar[Literal["regression", "classification"]]

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = COMMON

    validation_fraction: float | None
    standardize: bool
    # A constructor may let the user choose; see ``choose_categorical``.
    categorical_features: Any = None
    engine: str | type[Engine]
    n_jobs: int | None
    task_timeout: float | None
    random_state: Any

    @abstractmethod
    def _check_base(self, base: Any) -> None:
        """Raise where the base model is of the wrong kind."""

    @abstractmethod
    def _check_targets(self, y: Any, rows: IntArray) -> None:
        """Raise where the targets of the rows that count cannot be learned from."""

    @abstractmethod
    def _encode(self, y: Any, rows: IntArray) -> tuple[FloatArray, IntArray | None]:
        """Targets as a loss sees them, (n, C), and the class of each sample, (n,), if any."""

    @abstractmethod
    def _learner(self, base: Any, passes_weight: bool) -> Learner:
        """What is trained on each subset."""

    @abstractmethod
    def _learn(self, material: Material, rng: np.random.Generator) -> None:
        """Find the subsets, and train ``estimators_`` on ``estimators_features_``."""

    def _splits_validation(self) -> bool:
        """Whether a part of the training data is set aside where the user gives no other."""
        return self.validation_fraction is not None

    def _most_rows(self, n: int) -> int:
        """Size of the largest training set of a member, of n samples."""
        return n

    # -- fitting ---------------------------------------------------------------------------------

    @_fit_context(prefer_skip_nested_validation=False)
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
        """Learn what members should see, then train the final ensemble.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Training data. Sparse matrices and missing values are accepted where the base model
            takes them; a pandas or polars frame reaches the base model as a frame.
        y : array-like of shape (n_samples,)
            Targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the samples in losses and scores, and in the base models if they accept
            weights. Samples of weight 0 are left out.
        X_val, y_val, sample_weight_val : same as above, default=None
            Validation data, on which what is learned is chosen. By default a part of X, given by
            ``validation_fraction``, is set aside for that.
        **fit_params : dict
            Metadata for the base model's ``fit``; needs ``enable_metadata_routing=True``, see the
            scikit-learn guide on metadata routing.

        Returns
        -------
        self : object
            The fitted ensemble.
        """
        with self._all_or_nothing():
            given = self._given(X, y, sample_weight, X_val, y_val, sample_weight_val, fit_params)
            rng = np.random.default_rng(seed_words(self.random_state))
            material = self._prepared(given, rng)
            with material.dispatcher:
                self._learn(material, rng)
            self._ask_one_member(material)
        return self

    def _given(
        self,
        X: Table,
        y: Any,
        sample_weight: Any,
        X_val: Table | None,
        y_val: Any,
        sample_weight_val: Any,
        fit_params: dict[str, Any],
    ) -> Given:
        """What ``fit`` was given, checked before anything is trained."""
        _raise_for_params(fit_params, self, "fit")
        base = clone(self._base())
        self._check_base(base)
        check_parameters(base)
        passes_weight, metadata = self._routed(base, sample_weight, fit_params)
        samples = self._checked(X, y, sample_weight, base, has_val=X_val is not None)
        try:
            validation = self._checked_validation(samples, X_val, y_val, sample_weight_val)
        except (ValueError, TypeError) as error:
            message = f"In the validation data (X_val, y_val, sample_weight_val): {error}"
            raise type(error)(message) from error
        self.estimator_ = base
        return Given(self._learner(base, passes_weight), samples, validation, metadata)

    def _routed(
        self, base: Any, sample_weight: Any, fit_params: dict[str, Any]
    ) -> tuple[bool, dict[str, Any]]:
        """Whether the base model gets the weights, and its further metadata."""
        if not _routing_enabled():
            return sample_weight is not None and has_fit_parameter(base, "sample_weight"), {}
        routed = process_routing(self, "fit", sample_weight=sample_weight, **fit_params)
        params = {name: value for name, value in routed.estimator.fit.items() if value is not None}
        return params.pop("sample_weight", None) is not None, params

    def _checked(
        self, X: Table, y: Any, sample_weight: Any, base: Any, *, has_val: bool
    ) -> Samples:
        """The training data, checked before anything is trained."""
        least = 2 if has_val or not self._splits_validation() else 3
        X = self._check_table(X, reset=True, min_samples=least)
        samples = check_samples(self, X, y, sample_weight, y_numeric=self._task == "regression")
        if len(samples.rows) < least:
            raise ValueError(
                f"Only {len(samples.rows)} sample(s) have a positive weight, but at least {least} "
                "are needed."
            )
        self._check_targets(samples.y, samples.rows)
        self._kind = frame_kind(X) or ("sparse" if issparse(X) else None)
        self._columns = list(X.columns) if frame_kind(X) else []
        names = [str(name) for name in getattr(self, "feature_names_in_", ())]
        columns = choose_categorical(self.categorical_features, X, base, names)
        self.category_encoder_ = None
        if len(columns):
            self.category_encoder_ = CategoryEncoder(columns).fit(X, samples.rows)
        self._check_missing(X)
        return samples

    def _checked_validation(
        self, samples: Samples, X_val: Table | None, y_val: Any, sample_weight_val: Any
    ) -> Samples | None:
        """The validation data, if there is some."""
        if X_val is None:
            if y_val is not None or sample_weight_val is not None:
                raise ValueError("y_val or sample_weight_val was given without X_val.")
            return None
        if y_val is None:
            raise ValueError("X_val was given without y_val.")
        X_val = self._check_table(X_val, reset=False)
        if self.category_encoder_ is None:
            X_val = match_frame(X_val, samples.X)
        return check_samples(
            self,
            X_val,
            y_val,
            sample_weight_val,
            y_numeric=self._task == "regression",
            suffix="_val",
        )

    def _check_table(self, X: Table, *, reset: bool, min_samples: int = 1) -> Table:
        tags = get_tags(self)
        X = check_table(
            self,
            X,
            reset=reset,
            accept_sparse=tags.input_tags.sparse,
            allow_nan=tags.input_tags.allow_nan or self._lists_categories(),
            min_samples=min_samples,
        )
        if reset:
            return X
        X = as_fitted(X, self._kind, self._columns)
        self._check_missing(X)
        return X

    def _lists_categories(self) -> bool:
        """Whether the user names the columns of categories, which may be columns of numbers."""
        return self.categorical_features is not None and not isinstance(
            self.categorical_features, str
        )

    def _check_missing(self, X: Table) -> None:
        """Raise where a number is missing, now that it is known which columns hold labels.

        A missing label is a category of its own, so these columns were let pass at first.
        """
        if not self._lists_categories() or get_tags(self).input_tags.allow_nan:
            return
        encoder = self.category_encoder_
        labels: IntArray = np.arange(0) if encoder is None else encoder.columns
        refuse_missing(self, X, np.setdiff1d(np.arange(X.shape[1]), labels))

    def _prepared(self, given: Given, rng: np.random.Generator) -> Material:
        """Split and scale the data, and choose who trains on it."""
        learner, samples, validation, metadata = given
        encoded, strata = self._encode(samples.y, samples.rows)
        train_rows, judges, val_rows = samples.rows, samples, samples.rows[:0]
        val_encoded, val_strata = encoded, strata
        if validation is not None:
            judges, val_rows = validation, validation.rows
            val_encoded, val_strata = self._encode(judges.y, judges.rows)
        elif self._splits_validation():
            assert self.validation_fraction is not None
            train_rows, val_rows = split_validation(
                samples.rows, self.validation_fraction, strata, rng
            )
        X, X_val = self._standardized(samples, judges, train_rows)
        origin = None
        if self.category_encoder_ is not None:
            X, X_val = self._encoded(samples, X), self._encoded(judges, X_val)
            origin = self.category_encoder_.origin_
        engine = parts.choose_engine(
            self.engine,
            learner.estimator,
            X,
            samples.y,
            samples.sample_weight,
            self._most_rows(n_rows(X)),
        )
        self._engine = engine(learner)
        data = Data(X, X_val, samples.sample_weight, metadata)
        return Material(
            samples=samples,
            encoded=encoded,
            strata=strata,
            train_rows=train_rows,
            judges=judges,
            val_encoded=val_encoded,
            val_strata=val_strata,
            val_rows=val_rows,
            dispatcher=Dispatcher(
                self._engine, data, self.n_jobs, origin, time_limit=self.task_timeout
            ),
            feature_names=list(getattr(self, "feature_names_in_", ())),
        )

    def _standardized(
        self, samples: Samples, judges: Samples, train_rows: IntArray
    ) -> tuple[Table, Table]:
        """X and X_val, scaled by what the training rows say."""
        self.standardizer_ = None
        if not self.standardize:
            return samples.X, judges.X
        self.standardizer_ = Standardizer().fit(samples.X, samples.sample_weight, train_rows)
        X = self.standardizer_.applied_to(samples.X)
        return X, X if judges is samples else self.standardizer_.applied_to(judges.X)

    def _encoded(self, samples: Samples, scaled: Table) -> FloatArray:
        assert self.category_encoder_ is not None
        return self.category_encoder_.transform(samples.X, scaled)

    # -- using -----------------------------------------------------------------------------------

    def _average(self, X: Table) -> FloatArray:
        """Average of the members' predictions, shape (n, C)."""
        check_is_fitted(self, "estimators_")
        X = self._check_table(X, reset=False)
        if not is_large(*X.shape):
            return self._average_of_rows(X)
        # Scaled, and its columns copied, a portion at a time.
        rows = np.arange(n_rows(X))
        portions = [rows[portion] for portion in row_portions(*X.shape)]
        return np.concatenate([self._average_of_rows(take_rows(X, part)) for part in portions])

    def _ask_one_member(self, material: Material) -> None:
        """Raise where a member fails only when it is asked.

        Training may never have asked such a model: in small batches with one class, say, none is
        needed.
        """
        samples = material.samples
        # One that sees nothing predicts a constant, whatever the base model.
        sighted = (i for i, columns in enumerate(self.estimators_features_) if len(columns))
        place = next(sighted, 0)
        row = take_rows(samples.X, samples.rows[:1])
        self._average_of_rows(row, members=slice(place, place + 1))

    def _average_of_rows(self, X: Table, members: slice = slice(None)) -> FloatArray:
        """The same for a checked table that is worked on as a whole, and for some members."""
        scaled = X if self.standardizer_ is None else self.standardizer_.transform(X)
        models, encoder = self.estimators_[members], self.category_encoder_
        features = self.estimators_features_[members]
        if encoder is not None:
            scaled = encoder.transform(X, scaled)
            features = [encoder.expand(columns) for columns in features]
        try:
            return average_prediction(self._engine, models, features, scaled, self.n_jobs)
        except BaseModelError as error:
            names = getattr(self, "feature_names_in_", ())
            if encoder is not None:
                error = error.among(encoder.origin_.tolist()).once()
            raise error.located(names, None) from error.__cause__

    def to_report(
        self, path: PathLike[str] | str, X: Table | None = None, y: Any = None, **options: Any
    ) -> Path:
        """Write all there is to say about this fitted model into one HTML page.

        Parameters
        ----------
        path : path-like
            The file to write.
        X, y : table and array-like, default=None
            What the model was fitted on.
        **options : dict
            Further arguments of :func:`randsub.report.write_report`: ``X_test`` and ``y_test`` for
            scores on new rows, ``title``, ``compare``, ``stability`` and others.

        Returns
        -------
        path : Path
            Where the page is.
        """
        from randsub.report import write_report

        return write_report(self, path, X, y, **options)

    def get_metadata_routing(self) -> MetadataRouter:
        """Metadata routing: ``fit`` uses sample weights itself and hands them to the base model.

        Returns
        -------
        routing : MetadataRouter
        """
        return (
            MetadataRouter(owner=self)
            .add_self_request(self)
            .add(
                estimator=self._base(),
                method_mapping=MethodMapping().add(caller="fit", callee="fit"),
            )
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        base = self._base()
        tags.input_tags.sparse = get_tags(base).input_tags.sparse
        tags.input_tags.allow_nan = takes_missing(base)
        return tags


class AlphaEnsemble(SubspaceEnsemble):
    """An ensemble that learns how likely a member should see each feature.

    ``_learn`` of a subclass sets ``alpha_``, of shape (n_features,).
    """

    alpha_: FloatArray

    @property
    def feature_importances_(self) -> FloatArray:
        """Importance of each feature: the probability with which a member sees it, ``alpha_``."""
        check_is_fitted(self, "alpha_")
        return self.alpha_
