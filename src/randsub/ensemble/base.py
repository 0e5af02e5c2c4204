"""What classifier and regressor share: assemble the parts of the method, and train."""

from typing import Any, ClassVar, Literal

import numpy as np
import pandas as pd

from randsub._compile import when_compiling
from randsub.distributions import SubsetDistribution
from randsub.engines import Engine, one_thread
from randsub.ensemble import parts
from randsub.ensemble.constraints import CONSTRAINTS
from randsub.ensemble.material import Material
from randsub.ensemble.members import train_members
from randsub.ensemble.settings import sample_limit, training_settings
from randsub.ensemble.subspace import AlphaEnsemble
from randsub.losses import Loss, Reference
from randsub.optim import Optimizer
from randsub.penalties import Penalty
from randsub.training import Problem, ProgressBar, Settings, Target, TrainingState, start, train
from randsub.training.batches import thin
from randsub.training.callbacks import Callback, tell_of_compiling


class BasePRS(AlphaEnsemble):
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
        self.random_state = random_state
        self.verbose = verbose

    # -- fitting ---------------------------------------------------------------------------------

    def _learn(self, material: Material, rng: np.random.Generator) -> None:
        self._distribution = parts.choose_distribution(
            self.distribution, self.feature_groups, self.n_features_in_, material.feature_names
        )
        n_parameters = self._distribution.n_parameters
        theta = parts.initial_theta(self.alpha_init, self.n_estimators, n_parameters, self.penalty)
        problem, settings = self._assembled(material, rng)
        callbacks: list[Callback] = [ProgressBar(type(self).__name__)] if self.verbose else []
        # Sums in the loop, too, must not depend on a number of threads.
        with one_thread(), when_compiling(lambda: tell_of_compiling(callbacks)):
            state = start(problem, settings, theta, rng, callbacks)
            state = train(problem, settings, state, callbacks)
        self._record(state)
        rng = state.rng()
        drawn = self._distribution.sample(state.best_theta[0], self.n_estimators, rng)
        self.estimators_, self.estimators_features_ = train_members(
            material,
            self._distribution.expand(drawn),
            rng,
            max_samples=sample_limit(self.max_samples, len(material.samples.rows)),
            n_parts=settings.n_batches,
        )

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
            self, len(train_rows), n_iter_no_change=self.n_iter_no_change, tol=self.tol
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
