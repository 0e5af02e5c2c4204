"""What classifier and regressor share: assemble the parts of the method, and train."""

import os
from typing import Any, ClassVar, Literal, Self

import numpy as np
import pandas as pd
from sklearn.base import _fit_context

from randsub._compile import when_compiling
from randsub._typing import Table
from randsub.callbacks.support import CallbackSupport
from randsub.distributions import SubsetDistribution
from randsub.engines import Engine, one_thread
from randsub.ensemble import parts
from randsub.ensemble.constraints import CONSTRAINTS
from randsub.ensemble.inputs import seed_words
from randsub.ensemble.material import Material
from randsub.ensemble.resuming import Logbook
from randsub.ensemble.run import EnsembleRun
from randsub.ensemble.settings import sample_limit, training_settings
from randsub.ensemble.subspace import AlphaEnsemble
from randsub.losses import Loss, Reference
from randsub.optim import Optimizer
from randsub.penalties import Penalty
from randsub.training import Problem, ProgressBar, Settings, Target, TrainingState, start, train
from randsub.training.batches import thin
from randsub.training.callbacks import tell_of_compiling


class BasePRS(CallbackSupport, AlphaEnsemble):
    """Common part of :class:`PRSClassifier` and :class:`PRSRegressor`."""

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
        categorical_features: Any = "auto",
        max_iter: int = 2400,
        learning_rate: float = 5e-4,
        n_batches: int = 5,
        max_samples: float | None = None,
        ess_threshold: float = 0.5,
        refresh: Literal["fresh", "window", "coupled"] = "fresh",
        n_generations: int = 10,
        n_revivals: int = 2,
        revival_level: Any = "auto",
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
        task_timeout: float | None = None,
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
        self.categorical_features = categorical_features
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
        self.task_timeout = task_timeout
        self.random_state = random_state
        self.verbose = verbose

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
        resume_from: "os.PathLike[str] | str | None" = None,
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
        resume_from : path-like, default=None
            A file that :class:`randsub.callbacks.Checkpoint` has written during an earlier fit of
            the same model to the same data. This one goes on from there, and ends bit for bit as
            the earlier one would have. A file of another fit is refused, with what is different.
            Where ``random_state`` is no number, the numbers that were drawn then are used.
            ``n_jobs``, ``task_timeout``, ``verbose`` and the callbacks may be others; ``max_iter``
            too, as long as a fit with the new one would have come to the same point: always with
            ``n_revivals=0``.
        **fit_params : dict
            Metadata for the base model's ``fit``; needs ``enable_metadata_routing=True``, see the
            scikit-learn guide on metadata routing.

        Returns
        -------
        self : object
            The fitted ensemble.
        """
        self._init_callback_context(max_subtasks=self.max_iter)
        with self._all_or_nothing():
            given = self._given(X, y, sample_weight, X_val, y_val, sample_weight_val, fit_params)
            logbook = Logbook(
                self,
                given.described,
                seed_words(self.random_state),
                resume_from,
                # Whether it has a say depends on how far training has come.
                flexible=("max_iter",),
            )
            rng = np.random.default_rng(logbook.seed)
            material = self._prepared(given, rng)
            with material.dispatcher, self._fit_task(**material.samples.facts()):
                self._learn(material, rng, logbook)
            self._ask_one_member(material)
        return self

    def _most_rows(self, n: int) -> int:
        limit = sample_limit(self.max_samples, n)
        return n if limit is None else min(n, limit)

    def _learn(
        self, material: Material, rng: np.random.Generator, logbook: Logbook | None = None
    ) -> None:
        self._distribution = parts.choose_distribution(
            self.distribution, self.feature_groups, self.n_features_in_, material.feature_names
        )
        n_parameters = self._distribution.n_parameters
        theta = parts.initial_theta(self.alpha_init, self.n_estimators, n_parameters, self.penalty)
        problem, settings = self._assembled(material, rng)
        run = EnsembleRun(self, material, settings, logbook)
        callbacks = self._callbacks_for(run, **material.samples.facts())
        if self.verbose:
            callbacks.append(ProgressBar().for_run(run))
        former = None if logbook is None else run.former(problem)
        # Sums in the loop, too, must not depend on a number of threads.
        with one_thread(), when_compiling(lambda: tell_of_compiling(callbacks)):
            state = former or start(problem, settings, theta, rng, callbacks)
            state = train(problem, settings, state, callbacks)
        self._record(state)
        self.estimators_, self.estimators_features_ = run.members(state)

    def _assembled(self, material: Material, rng: np.random.Generator) -> tuple[Problem, Settings]:
        """Where the concrete parts meet."""
        samples, judges, train_rows = material.samples, material.judges, material.train_rows
        encoded = material.encoded
        loss = parts.choose_loss(self.loss, self._task, self.n_estimators, encoded[samples.rows])
        limit = sample_limit(self.max_samples, len(train_rows))
        val_rows = np.sort(thin(material.val_rows, limit, material.val_strata, rng))
        val_encoded = material.val_encoded[val_rows]
        if judges is not samples:
            loss.check(val_encoded)
        weight, val_weight = samples.loss_weight(), judges.loss_weight()[val_rows]
        reference = Reference()
        if self._task == "regression":
            reference = loss.reference(encoded[train_rows, 0], weight[train_rows])
        problem = Problem(
            distribution=self._distribution,
            loss=loss,
            penalty=parts.check_penalty(self.penalty, self._distribution.n_parameters),
            optimizer=parts.choose_optimizer(self.optimizer, self.learning_rate, self.penalty),
            dispatcher=material.dispatcher,
            targets=[
                Target(
                    y=samples.y,
                    encoded=reference.apply(encoded),
                    validation=reference.apply(val_encoded),
                    strata=material.strata,
                    reference=reference,
                )
            ],
            train_rows=train_rows,
            val_rows=val_rows,
            sample_weight=weight,
            val_weight=val_weight,
            feature_names=material.feature_names,
        )
        settings = training_settings(
            self,
            len(train_rows),
            self._distribution.n_parameters,
            n_iter_no_change=self.n_iter_no_change,
            tol=self.tol,
        )
        return problem, settings

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
        penalty = 0.0 if self.penalty is None else self.penalty.value(state.best_theta)
        self.validation_loss_ = state.best_objective - penalty
        self.n_iter_ = state.epoch
        self.best_iter_ = state.best_epoch
        self.stop_reason_ = state.stopped
        self.n_models_trained_ = state.n_models_trained + self.n_estimators
