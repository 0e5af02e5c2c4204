"""From the parameters and the data of a network to the problem to solve."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from randsub._typing import IntArray
from randsub.distributions import Bernoulli
from randsub.engines import Learner
from randsub.estimators.assembly import choose_optimizer, initial_theta
from randsub.estimators.fit_data import choose_engines, sample_limit
from randsub.losses import Reference, SquaredError
from randsub.network.candidate_links import gene_generator
from randsub.network.fit_data import NetworkFitData
from randsub.network.run import NetworkRun
from randsub.network.solving import Case
from randsub.parallel import Data, Dispatcher
from randsub.solver import Problem, Target
from randsub.solver.rounds import thin


def assemble(
    model: Any,
    bases: Mapping[str, Any],
    prepared: NetworkFitData,
    run: NetworkRun,
    rng: np.random.Generator,
    seed: Sequence[int],
) -> Case:
    """The optimisation problem of a network, for the targets that have a candidate regulator.

    ``bases`` are the base models by name; the name of a single one is empty. ``seed`` seeds the
    generators of the targets, ``rng`` everything else.
    """
    candidates = prepared.candidates
    solver, n_train = model._solver(), len(prepared.train_rows)
    n_regulators = prepared.X.shape[1]
    settings = solver.settings(
        n_masks=model.n_estimators,
        n_train=n_train,
        n_parameters=n_regulators,
        objective=model.objective,
        max_samples=sample_limit(model.max_samples, n_train),
        max_iter=model.max_iter,
    )
    allowed = prepared.allowed
    trained = candidates.trained
    level = initial_theta(model.alpha_init, model.n_estimators, n_regulators, None)
    distribution = Bernoulli(n_regulators)
    problem = Problem(
        distribution=distribution,
        loss=SquaredError(),
        penalty=None,
        optimizer=choose_optimizer(solver, distribution),
        dispatcher=_dispatcher(model, bases, prepared),
        targets=_targets(prepared, trained, settings.max_samples, rng),
        sample_weight=np.ones(len(prepared.X)),
        feature_names=[*candidates.regulators, *_shadow_names(prepared)],
        n_bases=len(bases),
    )
    names = [candidates.targets[g] for g in trained]
    return Case(
        problem=problem,
        settings=settings,
        theta=np.repeat(np.where(allowed[trained], level, 0.0), len(bases), axis=0),
        generators=lambda: [gene_generator(name, seed) for name in names],
        run=run,
        base_names=[name for name in bases if name],
    )


def _dispatcher(model: Any, bases: Mapping[str, Any], prepared: NetworkFitData) -> Dispatcher:
    """Trains each base model on the scaled data. Targets need no further units: all have 1."""
    data = Data(prepared.X, prepared.X_val, None, {})
    learners = [Learner(base, device=model.device, name=name) for name, base in bases.items()]
    most_rows = min(sample_limit(model.max_samples, len(data.X)) or len(data.X), len(data.X))
    engines = choose_engines(model, learners, data, prepared.Y[:, 0], most_rows, [*bases])
    return Dispatcher(engines, data, model.n_jobs, time_limit=model.task_timeout)


def _targets(
    prepared: NetworkFitData, trained: IntArray, limit: int | None, rng: np.random.Generator
) -> list[Target]:
    """One task per trained target, all with the same rows but those of their perturbations."""
    common = np.sort(thin(prepared.val_rows, limit, None, rng))
    targets = []
    for g in trained.tolist():
        # Validation samples of the user are others than those of the perturbations.
        own = prepared.X_val is prepared.X and g in prepared.perturbed
        val_rows = prepared.own_rows(g, common) if own else common
        targets.append(
            Target(
                y=np.ascontiguousarray(prepared.Y[:, g]),
                encoded=prepared.Y[:, [g]],
                validation=prepared.Y_val[np.ix_(val_rows, [g])],
                train_rows=prepared.own_rows(g, prepared.train_rows),
                val_rows=val_rows,
                val_weight=np.ones(len(val_rows)),
                strata=None,
                # Genes are already scaled.
                reference=Reference(),
            )
        )
    return targets


def _shadow_names(prepared: NetworkFitData) -> list[str]:
    names = prepared.candidates.regulators
    return [f"shadow of {name}" for name in names[: prepared.X.shape[1] - len(names)]]
