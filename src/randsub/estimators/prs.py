"""Parametric Random Subspace: what classifier and regressor share.

``fit`` is :meth:`SubspaceEnsemble._fit`. This module implements its learning step: the parts of the
method are collected in a :class:`Problem`, the solver optimises alpha, and the subsets of the
members are drawn from it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Any, ClassVar, Literal, Self

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from randsub._sklearn import fit_context
from randsub._typing import FloatArray, Table
from randsub.callbacks.support import CallbackSupport
from randsub.checkpoint import Logbook
from randsub.distributions import Bernoulli, GroupedBernoulli, SubsetDistribution
from randsub.estimators.base import SubspaceEnsemble
from randsub.estimators.constraints import CONSTRAINTS
from randsub.estimators.fit_data import FitData, Given, Split, sample_limit
from randsub.estimators.groups import resolve_groups
from randsub.estimators.run import EnsembleRun
from randsub.losses import (
    LOSSES,
    Loss,
    Reference,
)
from randsub.optim import (
    OPTIMIZERS,
    FisherAdam,
    Optimizer,
)
from randsub.penalties import Penalty
from randsub.solver import Problem, ProgressBar, Result, Settings, Solver, Target
from randsub.solver.problem import LARGEST_FIRST_SUBSET
from randsub.solver.rounds import thin

# n_repeats="auto" repeats where validation is noise: at least as many features as samples, and
# few samples; and more often where there are many times as many features.
AUTO_REPEATS, AUTO_REPEATS_WIDE = 5, 20
WIDE = 10
MOST_SAMPLES = 1000


@dataclass(eq=False, repr=False, kw_only=True)
class BasePRS(CallbackSupport, SubspaceEnsemble):
    """Common part of :class:`PRSClassifier` and :class:`PRSRegressor`."""

    alpha_init: Any = "auto"
    loss: str | Loss = "auto"
    objective: Literal["ensemble", "members"] = "ensemble"
    penalty: Penalty | None = None
    feature_groups: Any = None
    categorical_features: Any = "auto"
    distribution: Literal["auto"] | SubsetDistribution = "auto"
    max_samples: float | None = None
    max_iter: int | None = None
    n_iter_no_change: int | None = None
    n_repeats: int | Literal["auto"] = "auto"
    solver: Solver | None = None

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = CONSTRAINTS

    @property
    def feature_importances_(self) -> FloatArray:
        """Importance of each feature: the probability with which a member sees it, ``alpha_``."""
        check_is_fitted(self, "alpha_")
        return self.alpha_

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
        resume_from: "PathLike[str] | str | None" = None,
        **fit_params: Any,
    ) -> Self:
        """Optimise alpha, then fit the final ensemble.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Training data. Sparse matrices and missing values are accepted if the base model
            supports them; for a pandas or polars frame, base models receive frames.
        y : array-like of shape (n_samples,)
            Targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the samples in losses and scores, and in the base models if they accept
            weights. Samples of weight 0 are left out.
        X_val, y_val, sample_weight_val : same as above, default=None
            Validation data, on which the best alpha is chosen. By default the fraction
            ``validation_fraction`` of X is set aside.
        resume_from : path-like, default=None
            File that :class:`randsub.callbacks.Checkpoint` has written during an earlier fit of
            the same model to the same data. The fit is resumed from there, with bit for bit the
            result of an uninterrupted fit. A file of another fit is refused, and the error lists
            the differences. If ``random_state`` is not an int, the seed of the earlier fit is used.
            ``n_jobs``, ``task_timeout``, ``verbose`` and the callbacks may differ, and so may
            ``max_iter`` if training up to the checkpoint would have been the same, which is always
            the case if the solver has ``n_revivals=0``.
        **fit_params : dict
            Metadata for the base model's ``fit``; needs ``enable_metadata_routing=True``, see the
            scikit-learn guide on metadata routing.

        Returns
        -------
        self : object
            The fitted ensemble.
        """
        data = (X, y, sample_weight, X_val, y_val, sample_weight_val, fit_params)
        return self._fit(*data, resume_from=resume_from)

    def _default_solver(self) -> Solver:
        return Solver()

    def _begin(self) -> None:
        solver = self._solver()
        solver.check()
        # Epochs or, if not all repeats fit into memory, blocks of them.
        n_repeats = AUTO_REPEATS_WIDE if self.n_repeats == "auto" else self.n_repeats
        n_epochs = self.max_iter or solver.max_iter
        self._init_callback_context(max_subtasks=max(n_epochs, n_repeats))

    def _most_rows(self, n: int) -> int:
        limit = sample_limit(self.max_samples, n)
        return n if limit is None else min(n, limit)

    def _count_repeats(self, given: Given) -> int:
        names = list(getattr(self, "feature_names_in_", ()))
        distribution = choose_distribution(
            self.distribution, self.feature_groups, self.n_features_in_, names
        )
        return count_repeats(
            self.n_repeats,
            n_samples=len(given.samples.rows),
            n_parameters=distribution.n_parameters,
            splits=given.validation is None and self._splits_validation(),
        )

    def _learn(self, data: FitData, logbook: Logbook) -> None:
        problem, settings, theta = assemble(self, data)
        self._distribution, self.solver_ = problem.distribution, clone(self._solver())
        run = EnsembleRun(self, data, problem, settings, logbook)
        weight = data.samples.sample_weight
        facts = {
            "X": data.samples.X,
            "y": data.samples.y,
            "metadata": None if weight is None else {"sample_weight": weight},
        }
        with self._watched(run, **facts) as callbacks:
            if self.verbose:
                callbacks.append(ProgressBar().for_run(run))
            result, members = run.trained(theta, callbacks)
            self._record(result, problem.penalty)
            self.estimators_, self.estimators_features_ = members

    def _record(self, result: Result, penalty: Penalty | None) -> None:
        thetas, columns = result.best_theta, self._distribution.column_parameters()
        self.n_repeats_ = len(thetas)
        self.alphas_ = thetas[:, columns]
        self.alpha_ = self.alphas_.mean(axis=0)
        self.alpha_std_ = self.alphas_.std(axis=0)
        if (
            self._distribution.n_parameters != self.n_features_in_
            or self.feature_groups is not None
        ):
            self.group_alpha_ = thetas.mean(axis=0)
            self.feature_groups_ = columns
        sizes = [self._distribution.expected_size(theta) for theta in thetas]
        self.expected_size_ = sum(sizes) / len(sizes)
        n_epochs = len(result.history)
        self.history_ = pd.DataFrame(
            result.history, index=pd.RangeIndex(1, n_epochs + 1, name="epoch")
        )
        paid = 0.0
        if penalty is not None:
            paid = sum(penalty.value(theta[np.newaxis]) for theta in thetas) / len(thetas)
        self.validation_loss_ = result.best_objective - paid
        self.n_iter_ = n_epochs
        self.best_iter_ = result.best_epoch
        self.stop_reason_ = result.stopped
        self.n_models_trained_ = result.n_models_trained + self.n_estimators


# -- from what a user writes to a problem to solve -------------------------------------------------


def assemble(model: Any, data: FitData) -> tuple[Problem, Settings, FloatArray]:
    """The optimisation problem of a model and its data, the settings, and the initial theta.

    Every repeat is a task, with its split of the data and its random generator.
    """
    solver = model._solver()
    n_train = min(len(split.train_rows) for split in data.splits)
    distribution = choose_distribution(
        model.distribution, model.feature_groups, model.n_features_in_, data.feature_names
    )
    n_parameters = distribution.n_parameters
    theta = initial_theta(model.alpha_init, model.n_estimators, n_parameters, model.penalty)
    loss = choose_loss(model.loss, model._task, model.n_estimators, data.encoded[data.samples.rows])
    limit = sample_limit(model.max_samples, n_train)
    problem = Problem(
        distribution=distribution,
        loss=loss,
        penalty=bind_penalty(model.penalty, distribution),
        optimizer=choose_optimizer(solver, distribution, model.penalty),
        dispatcher=data.dispatcher,
        targets=[
            _target(model._task, data, split, loss, limit, rng)
            for split, rng in zip(data.splits, data.rngs, strict=True)
        ],
        sample_weight=data.loss_weight,
        feature_names=data.feature_names,
    )
    settings = solver.settings(
        n_masks=model.n_estimators,
        n_train=n_train,
        n_parameters=n_parameters,
        objective=model.objective,
        max_samples=limit,
        max_iter=model.max_iter,
        n_iter_no_change=model.n_iter_no_change,
        # The few validation samples of a repeat would choose its epoch by luck. What the other rows
        # are too kind about is not the same in all repeats.
        chooses_on_all=len(data.splits) > 1 and data.judges is data.samples,
    )
    return problem, settings, np.repeat(theta, len(data.rngs), axis=0)


def _target(
    task: str,
    data: FitData,
    split: Split,
    loss: Loss,
    limit: int | None,
    rng: np.random.Generator,
) -> Target:
    """Targets and rows of one repeat."""
    val_rows = np.sort(thin(split.val_rows, limit, data.val_strata, rng))
    val_encoded = data.val_encoded[val_rows]
    if data.judges is not data.samples:
        loss.check_validation(val_encoded)
    reference = Reference()
    if task == "regression":
        train = split.train_rows
        reference = loss.reference(data.encoded[train, 0], data.loss_weight[train])
    return Target(
        y=data.samples.y,
        encoded=reference.apply(data.encoded),
        validation=reference.apply(val_encoded),
        train_rows=split.train_rows,
        val_rows=val_rows,
        val_weight=data.val_loss_weight[val_rows],
        strata=data.strata,
        reference=reference,
    )


def count_repeats(
    n_repeats: int | Literal["auto"], *, n_samples: int, n_parameters: int, splits: bool
) -> int:
    """Number of repeats of a fit.

    Parameters
    ----------
    n_repeats : int or "auto"
        That of the user.
    n_samples : int
        Number of samples of positive weight.
    n_parameters : int
        Number of features, or of groups of them.
    splits : bool
        Whether each repeat has a validation split of its own.
    """
    if n_repeats != "auto":
        return n_repeats
    if not splits or n_samples > MOST_SAMPLES or n_parameters < n_samples:
        return 1
    return AUTO_REPEATS_WIDE if n_parameters >= WIDE * n_samples else AUTO_REPEATS


def has_repeats(model: Any) -> bool:
    """Whether a fitted model of any kind knows several alphas, and so their spread."""
    return getattr(model, "n_repeats_", 1) > 1


def choose_loss(loss: str | Loss, task: str, n_masks: int, y: FloatArray) -> Loss:
    """The loss, checked against the task and the targets (n, C)."""
    if isinstance(loss, str):
        chosen = LOSSES[{"regression": "squared_error", "classification": "cross_entropy"}[task]]()
        if loss != "auto":
            chosen = LOSSES[loss]()
    else:
        chosen = loss
    if task not in chosen.tasks:
        usable = [name for name, make in LOSSES.items() if task in make().tasks]
        raise ValueError(f"loss={loss!r} is not for {task}; use one of {usable}.")
    chosen.check(y)
    return chosen.for_ensemble(n_masks)


def choose_optimizer(
    solver: Solver, distribution: SubsetDistribution, penalty: Penalty | None = None
) -> Optimizer:
    """The optimiser, checked against distribution and penalty; an object has its own rate."""
    optimizer = solver.optimizer
    if optimizer == "auto":
        optimizer = "fisher_adam" if distribution.is_independent else "adam"
    if isinstance(optimizer, str):
        chosen = OPTIMIZERS[optimizer](solver.learning_rate)
    else:
        chosen = optimizer
        chosen.check()
    if isinstance(chosen, FisherAdam) and not distribution.is_independent:
        raise ValueError(
            f"optimizer={optimizer!r} needs features that are drawn independently of each other, "
            f"which {distribution!r} does not promise (is_independent=False); use 'adam'."
        )
    if chosen.is_proximal and penalty is not None and not penalty.has_prox:
        usable = [name for name, make in OPTIMIZERS.items() if not make(1.0).is_proximal]
        raise ValueError(
            f"optimizer={optimizer!r} needs a penalty with a proximal step, which {penalty!r} does "
            f"not have; use one of {usable}."
        )
    return chosen


def choose_distribution(
    distribution: str | SubsetDistribution,
    feature_groups: Any,
    n_features: int,
    names: Sequence[str],
) -> SubsetDistribution:
    """The distribution of masks: independent per column or per group, or that of the user."""
    if isinstance(distribution, str):
        if feature_groups is None:
            return Bernoulli(n_features)
        return GroupedBernoulli(resolve_groups(feature_groups, n_features, names))
    if feature_groups is not None:
        raise ValueError(
            "feature_groups and distribution both define which columns are drawn together; give "
            "only one of them."
        )
    if distribution.n_columns != n_features:
        raise ValueError(
            f"distribution is for {distribution.n_columns} columns, but X has {n_features}."
        )
    return distribution


def bind_penalty(penalty: Penalty | None, distribution: SubsetDistribution) -> Penalty | None:
    """The penalty, checked, with the number of columns per entry of theta."""
    if penalty is None:
        return None
    penalty.check(distribution.n_parameters)
    sizes = np.bincount(distribution.column_parameters(), minlength=distribution.n_parameters)
    return penalty.for_fit(sizes)


def initial_theta(
    alpha_init: Any, n_masks: int, n_parameters: int, penalty: Penalty | None
) -> FloatArray:
    """Initial alpha, shape (1, n_parameters)."""
    if isinstance(alpha_init, str):
        alpha_init = min(0.5, 5.0 / n_masks, LARGEST_FIRST_SUBSET / n_parameters)
    theta = probabilities(alpha_init, n_parameters)
    if penalty is None and np.isin(theta, (0.0, 1.0)).all():
        raise ValueError(
            "alpha_init must have a value between 0 and 1: every value is 0 or 1, and nothing can "
            "be learned about features that are never or always drawn."
        )
    return theta[np.newaxis]


def probabilities(alpha_init: Any, n_parameters: int) -> FloatArray:
    """One probability per feature or group, (n_parameters,), not all of them 0."""
    try:
        theta = np.asarray(alpha_init, dtype=float)
    except (ValueError, TypeError):
        raise ValueError(f"alpha_init must hold numbers, got {alpha_init!r}.") from None
    if theta.ndim and theta.shape != (n_parameters,):
        raise ValueError(
            f"alpha_init must be a number or have one entry for each of the {n_parameters} "
            f"features or groups, got an array of shape {theta.shape}."
        )
    if not ((theta >= 0.0) & (theta <= 1.0)).all() or not theta.any():
        raise ValueError(
            "alpha_init must hold probabilities in [0, 1], not all of them 0, got values from "
            f"{theta.min():g} to {theta.max():g}."
        )
    return np.broadcast_to(theta, n_parameters).copy()
