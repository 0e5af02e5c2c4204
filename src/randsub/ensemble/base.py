"""What classifier and regressor share: validate, assemble, train, average."""

from abc import ABCMeta, abstractmethod
from numbers import Integral
from typing import Any, ClassVar, Literal, Self

import numpy as np
import pandas as pd
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, MetaEstimatorMixin, _fit_context, clone
from sklearn.utils import check_random_state, get_tags
from sklearn.utils.metadata_routing import (
    MetadataRouter,
    MethodMapping,
    _raise_for_params,
    _routing_enabled,
    process_routing,
)
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from randsub._compile import when_compiling
from randsub._tables import frame_kind, take_rows
from randsub._typing import FloatArray, IntArray, Table
from randsub.distributions import SubsetDistribution
from randsub.engines import Data, Dispatcher, Engine, Learner, average_prediction, one_thread
from randsub.ensemble import parts
from randsub.ensemble.constraints import CONSTRAINTS
from randsub.ensemble.inputs import (
    Samples,
    as_fitted,
    check_parameters,
    check_samples,
    check_table,
    match_frame,
    split_validation,
)
from randsub.ensemble.members import train_members
from randsub.ensemble.missing import takes_missing
from randsub.ensemble.standardize import Standardizer
from randsub.exceptions import BaseModelError
from randsub.losses import Loss, Reference
from randsub.optim import Optimizer
from randsub.penalties import Penalty
from randsub.training import Problem, ProgressBar, Settings, Target, TrainingState, start, train
from randsub.training.batches import thin
from randsub.training.callbacks import Callback, tell_of_compiling


class BasePRS(MetaEstimatorMixin, BaseEstimator, metaclass=ABCMeta):
    """Common part of :class:`PRSClassifier` and :class:`PRSRegressor`."""

    _task: ClassVar[Literal["regression", "classification"]]

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = CONSTRAINTS

    def __init__(
        self,
        estimator: Any = None,
        *,
        n_estimators: int = 100,
        alpha_init: Any = "auto",
        loss: str | Loss = "auto",
        objective: Literal["ensemble", "members"] = "ensemble",
        penalty: Penalty | None = None,
        feature_groups: Any = None,
        max_iter: int = 1600,
        learning_rate: float = 1e-3,
        n_batches: int = 5,
        max_samples: float | None = None,
        ess_threshold: float = 0.5,
        refresh: Literal["fresh", "window", "coupled"] = "fresh",
        n_generations: int = 10,
        n_revivals: int = 2,
        revival_level: float = 0.02,
        baseline: Literal["optimal", "weighted", "paper", "none"] | None = "weighted",
        self_normalize: bool = True,
        validation_fraction: float | None = 0.2,
        n_iter_no_change: int | None = None,
        tol: float = 1e-4,
        standardize: bool = True,
        distribution: Literal["auto"] | SubsetDistribution = "auto",
        optimizer: str | Optimizer = "adam",
        engine: str | type[Engine] = "auto",
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.alpha_init = alpha_init
        self.loss = loss
        self.objective = objective
        self.penalty = penalty
        self.feature_groups = feature_groups
        self.max_iter = max_iter
        self.learning_rate = learning_rate
        self.n_batches = n_batches
        self.max_samples = max_samples
        self.ess_threshold = ess_threshold
        self.refresh = refresh
        self.n_generations = n_generations
        self.n_revivals = n_revivals
        self.revival_level = revival_level
        self.baseline = baseline
        self.self_normalize = self_normalize
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.tol = tol
        self.standardize = standardize
        self.distribution = distribution
        self.optimizer = optimizer
        self.engine = engine
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @abstractmethod
    def _default_estimator(self) -> Any:
        """The base model when the user names none."""

    def _check_kind(self, base: Any, wanted: str) -> None:
        kind = get_tags(base).estimator_type
        # An estimator of one's own that does not say what it is, is taken at its word.
        if kind not in (None, wanted):
            raise ValueError(
                f"{type(self).__name__} needs a {wanted} as base model, got the {kind} {base!r}."
            )

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
        """Learn alpha, then train the final ensemble.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Training data. Sparse matrices and missing values are accepted where the base model
            takes them; a pandas or polars frame reaches the base model as a frame.
        y : array-like of shape (n_samples,)
            Targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the samples in the loss, and in the base models if they accept weights.
            Samples of weight 0 are left out.
        X_val, y_val, sample_weight_val : same as above, default=None
            Validation data, on which the best alpha is chosen. By default a part of X, given by
            ``validation_fraction``, is set aside for that.
        **fit_params : dict
            Metadata for the base model's ``fit``; needs ``enable_metadata_routing=True``, see the
            scikit-learn guide on metadata routing.

        Returns
        -------
        self : object
            The fitted ensemble.
        """
        _raise_for_params(fit_params, self, "fit")
        former = vars(self).copy()
        try:
            self._forget()
            self._fit(X, y, sample_weight, X_val, y_val, sample_weight_val, fit_params)
        except BaseException:
            # A fit that fails, or is interrupted too early, leaves the model as it was.
            self.__dict__.clear()
            self.__dict__.update(former)
            raise
        return self

    def _forget(self) -> None:
        """Drop what an earlier fit has learned."""
        for name in [name for name in vars(self) if name.endswith("_")]:
            delattr(self, name)

    def _fit(
        self,
        X: Table,
        y: Any,
        sample_weight: Any,
        X_val: Table | None,
        y_val: Any,
        sample_weight_val: Any,
        fit_params: dict[str, Any],
    ) -> None:
        base = clone(self._base())
        self._check_base(base)
        check_parameters(base)
        passes_weight, fit_params = self._routed(base, sample_weight, fit_params)
        samples = self._checked(X, y, sample_weight, has_val=X_val is not None)
        try:
            validation = self._checked_validation(samples, X_val, y_val, sample_weight_val)
        except (ValueError, TypeError) as error:
            message = f"In the validation data (X_val, y_val, sample_weight_val): {error}"
            raise type(error)(message) from error

        # Four words: random_state alone decides over everything that is drawn from here on.
        seed = check_random_state(self.random_state).randint(np.iinfo(np.int32).max, size=4)
        rng = np.random.default_rng(seed)
        names = list(getattr(self, "feature_names_in_", ()))
        self._distribution = parts.choose_distribution(
            self.distribution, self.feature_groups, self.n_features_in_, names
        )
        n_parameters = self._distribution.n_parameters
        theta = parts.initial_theta(self.alpha_init, self.n_estimators, n_parameters, self.penalty)
        self.estimator_ = base
        learner = self._learner(base, passes_weight)
        problem, settings = self._assembled(learner, samples, validation, fit_params, names, rng)

        callbacks: list[Callback] = [ProgressBar(type(self).__name__)] if self.verbose else []
        # Sums in the loop, too, must not depend on a number of threads.
        with one_thread(), when_compiling(lambda: tell_of_compiling(callbacks)):
            state = start(problem, settings, theta, rng, callbacks)
            state = train(problem, settings, state, callbacks)
        self._record(state)
        self.estimators_, self.estimators_features_ = train_members(
            problem, settings, samples.rows, self._max_samples(len(samples.rows)), state
        )

    def _base(self) -> Any:
        """The base model that was asked for, or the default."""
        return self._default_estimator() if self.estimator is None else self.estimator

    def _routed(
        self, base: Any, sample_weight: Any, fit_params: dict[str, Any]
    ) -> tuple[bool, dict[str, Any]]:
        """Whether the base model gets the weights, and its further metadata."""
        if not _routing_enabled():
            return sample_weight is not None and has_fit_parameter(base, "sample_weight"), {}
        routed = process_routing(self, "fit", sample_weight=sample_weight, **fit_params)
        params = {name: value for name, value in routed.estimator.fit.items() if value is not None}
        return params.pop("sample_weight", None) is not None, params

    def _checked(self, X: Table, y: Any, sample_weight: Any, *, has_val: bool) -> Samples:
        """The training data, checked before anything is trained."""
        least = 2 if has_val or self.validation_fraction is None else 3
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
        X_val = match_frame(self._check_table(X_val, reset=False), samples.X)
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
            allow_nan=tags.input_tags.allow_nan,
            min_samples=min_samples,
        )
        if reset:
            return X
        return as_fitted(X, self._kind, self._columns)

    def _assembled(
        self,
        learner: Learner,
        samples: Samples,
        validation: Samples | None,
        fit_params: dict[str, Any],
        names: list[str],
        rng: np.random.Generator,
    ) -> tuple[Problem, Settings]:
        """Where the concrete parts meet."""
        encoded, strata = self._encode(samples.y, samples.rows)
        loss = parts.choose_loss(self.loss, self._task, self.n_estimators, encoded[samples.rows])
        train_rows, judges, val_rows = samples.rows, samples, samples.rows[:0]
        if validation is not None:
            judges, val_rows = validation, validation.rows
        elif self.validation_fraction is not None:
            train_rows, val_rows = split_validation(
                samples.rows, self.validation_fraction, strata, rng
            )
        limit = self._max_samples(len(train_rows))
        val_encoded, val_strata = self._encode(judges.y, judges.rows)
        val_rows = np.sort(thin(val_rows, limit, val_strata, rng))
        if validation is not None:
            loss.check(val_encoded[val_rows])

        weight, val_weight = samples.loss_weight(), judges.loss_weight()[val_rows]
        reference = Reference()
        if self._task == "regression":
            reference = loss.reference(encoded[train_rows, 0], weight[train_rows])
        X, X_val = self._standardized(samples, judges, train_rows)
        data = Data(X, X_val, samples.sample_weight, fit_params)
        engine = parts.choose_engine(
            self.engine, learner.estimator, X, samples.y, samples.sample_weight
        )
        self._engine = engine(learner)
        problem = Problem(
            distribution=self._distribution,
            loss=loss,
            penalty=parts.check_penalty(self.penalty, self._distribution.n_parameters),
            optimizer=parts.choose_optimizer(self.optimizer, self.learning_rate),
            dispatcher=Dispatcher(self._engine, data, self.n_jobs),
            targets=[
                Target(
                    y=samples.y,
                    encoded=reference.apply(encoded),
                    validation=reference.apply(val_encoded[val_rows]),
                    strata=strata,
                    reference=reference,
                )
            ],
            train_rows=train_rows,
            val_rows=val_rows,
            sample_weight=weight,
            val_weight=val_weight,
            feature_names=names,
        )
        return problem, self._settings(len(train_rows), limit)

    def _settings(self, n_train: int, limit: int | None) -> Settings:
        return Settings(
            n_masks=self.n_estimators,
            # On tiny data a batch is a single sample.
            n_batches=min(self.n_batches, n_train),
            max_samples=limit,
            objective=self.objective,
            baseline=self.baseline or "none",
            self_normalize=self.self_normalize,
            ess_threshold=self.ess_threshold,
            refresh=self.refresh,
            n_generations=self.n_generations,
            n_revivals=self.n_revivals,
            revival_level=self.revival_level,
            max_iter=self.max_iter,
            n_iter_no_change=self.n_iter_no_change,
            tol=self.tol,
        )

    def _max_samples(self, n_train: int) -> int | None:
        limit: Any = self.max_samples
        if limit is None:
            return None
        if isinstance(limit, Integral):
            return int(limit)
        return max(2, int(limit * n_train))

    def _standardized(
        self, samples: Samples, judges: Samples, train_rows: IntArray
    ) -> tuple[Table, Table]:
        """X and X_val, scaled by what the training rows say."""
        self.standardizer_ = None
        if not self.standardize:
            return samples.X, judges.X
        weight = samples.sample_weight
        self.standardizer_ = Standardizer().fit(
            take_rows(samples.X, train_rows), None if weight is None else weight[train_rows]
        )
        X = self.standardizer_.transform(samples.X)
        return X, X if judges is samples else self.standardizer_.transform(judges.X)

    def _record(self, state: TrainingState) -> None:
        theta = state.best_theta[0]
        self.alpha_ = theta[self._distribution.column_parameters()]
        if (
            self._distribution.n_parameters != self.n_features_in_
            or self.feature_groups is not None
        ):
            self.group_alpha_ = theta
            self.feature_groups_ = self._distribution.column_parameters()
        self.expected_size_ = self._distribution.expected_size(theta)
        self.history_ = pd.DataFrame(
            state.history, index=pd.RangeIndex(1, state.epoch + 1, name="epoch")
        )
        self.n_iter_ = state.epoch
        self.best_iter_ = state.best_epoch
        self.stop_reason_ = state.stopped
        self.n_models_trained_ = state.n_models_trained + self.n_estimators

    # -- using -----------------------------------------------------------------------------------

    @property
    def feature_importances_(self) -> FloatArray:
        """Importance of each feature: the probability with which a member sees it, ``alpha_``."""
        check_is_fitted(self, "alpha_")
        return self.alpha_

    def _average(self, X: Table) -> FloatArray:
        """Average of the members' predictions, shape (n, C)."""
        check_is_fitted(self, "estimators_")
        X = self._check_table(X, reset=False)
        if self.standardizer_ is not None:
            X = self.standardizer_.transform(X)
        try:
            return average_prediction(
                self._engine, self.estimators_, self.estimators_features_, X, self.n_jobs
            )
        except BaseModelError as error:
            names = getattr(self, "feature_names_in_", ())
            raise error.located(names, None) from error.__cause__

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
