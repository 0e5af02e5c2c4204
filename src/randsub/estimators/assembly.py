"""From what a user writes to a problem to solve: loss, penalty, optimiser, targets, start."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from randsub._typing import FloatArray
from randsub.distributions import SubsetDistribution
from randsub.estimators.fit_data import FitData, Split
from randsub.estimators.groups import choose_distribution
from randsub.estimators.marginal_start import explained_alone, ranked_alpha
from randsub.losses import LOSSES, SCORES, Loss, MeanOverOutputs, Reference, Score, accuracy
from randsub.optim import OPTIMIZERS, FisherAdam, Optimizer
from randsub.penalties import Penalty
from randsub.solver import Problem, Settings, Solver, Target
from randsub.solver.alpha_path import most_snapshots
from randsub.solver.problem import LARGEST_FIRST_SUBSET
from randsub.solver.rounds import thin


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
    starts = np.repeat(theta, len(data.splits), axis=0)
    if isinstance(model.alpha_init, str) and model.alpha_init == "marginal":
        starts = _marginal(theta, model._task, data, distribution)
    n_targets = data.dispatcher.engines[0].learner.n_targets
    loss = choose_loss(
        model.loss,
        model._task,
        model.n_estimators,
        data.encoded[data.samples.rows],
        n_targets,
    )
    limit = model._search_rows(n_train)
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
        n_bases=len(data.dispatcher.engines),
        most_snapshots=most_snapshots(distribution.n_columns),
        score=choose_score(model._task, n_targets),
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
    return problem, settings, np.repeat(starts, problem.n_bases, axis=0)


def _marginal(
    theta: FloatArray, task: str, data: FitData, distribution: SubsetDistribution
) -> FloatArray:
    """The start of each repeat, (R, n_parameters), by what it may know: its training rows."""
    shown, parameters = data.dispatcher.data, distribution.column_parameters()
    # With validation data of the user, all repeats share one split.
    splits = {id(split): split.train_rows for split in data.splits}
    explained = explained_alone(
        shown.X,
        data.encoded,
        list(splits.values()),
        data.loss_weight,
        parameters if shown.origin is None else parameters[shown.origin],
        distribution.n_parameters,
        are_classes=task == "classification",
    )
    found = {key: ranked_alpha(theta[0], one) for key, one in zip(splits, explained, strict=True)}
    return np.stack([found[id(split)] for split in data.splits])


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
        weight = data.loss_weight[train]
        reference = joint_reference([loss.reference(y, weight) for y in data.encoded[train].T])
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


def choose_score(task: str, n_targets: int | None) -> Score:
    """R2 or accuracy; a sample with several labels is right if all of them are."""
    if task == "classification" and n_targets is not None:
        return partial(accuracy, n_labels=n_targets)
    return SCORES[task]


def joint_reference(references: Sequence[Reference]) -> Reference:
    """The reference of several outputs, each with its own center and scale."""
    if len(references) == 1:
        return references[0]
    return Reference(
        np.array([one.center for one in references]), np.array([one.scale for one in references])
    )


def has_repeats(model: Any) -> bool:
    """Whether a fitted model of any kind knows several alphas, and so their spread."""
    return getattr(model, "n_repeats_", 1) > 1


def choose_loss(
    loss: str | Loss, task: str, n_masks: int, y: FloatArray, n_targets: int | None = None
) -> Loss:
    """The loss, checked against the task and the targets (n, C); its mean over several outputs."""
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
    if n_targets is not None:
        chosen = MeanOverOutputs(chosen, n_targets)
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
