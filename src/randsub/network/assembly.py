"""From the parameters and the data of a network to the problem to solve."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from randsub._typing import IntArray
from randsub.checkpoint import Logbook
from randsub.distributions import Bernoulli
from randsub.engines import Learner
from randsub.estimators.assembly import choose_optimizer, initial_theta
from randsub.estimators.fit_data import choose_engine, sample_limit
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
    logbook: Logbook,
    rng: np.random.Generator,
) -> tuple[Case, IntArray]:
    """The optimisation problem of a network, and the targets that have a candidate regulator.

    ``bases`` are the base models by name; the name of a single one is empty.
    """
    candidates = prepared.candidates
    solver, n_train = model._solver(), len(prepared.train_rows)
    n_regulators = len(candidates.regulators)
    settings = solver.settings(
        n_masks=model.n_estimators,
        n_train=n_train,
        n_parameters=n_regulators,
        objective=model.objective,
        max_samples=sample_limit(model.max_samples, n_train),
        max_iter=model.max_iter,
    )
    allowed = candidates.allowed
    # Targets whose only candidate is the target itself are not trained.
    trained: IntArray = np.flatnonzero(allowed.any(axis=1))
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
        feature_names=candidates.regulators,
        n_bases=len(bases),
    )
    names, seed = [candidates.targets[g] for g in trained], logbook.seed.tolist()
    case = Case(
        problem=problem,
        settings=settings,
        theta=np.repeat(np.where(allowed[trained], level, 0.0), len(bases), axis=0),
        generators=lambda: [gene_generator(name, seed) for name in names],
        run=NetworkRun(model, logbook),
        base_names=[name for name in bases if name],
    )
    return case, trained


def _dispatcher(model: Any, bases: Mapping[str, Any], prepared: NetworkFitData) -> Dispatcher:
    """Trains each base model on the scaled data. Targets need no further units: all have 1."""
    X, y = prepared.X, prepared.Y[:, 0]
    engines = [
        choose_engine(
            model.engine,
            base,
            X,
            y,
            None,
            device=model.device,
            n_models=model.n_estimators,
            n_jobs=model.n_jobs,
        )(Learner(base, device=model.device))
        for base in bases.values()
    ]
    return Dispatcher(
        engines,
        Data(X, prepared.X_val, None, {}),
        model.n_jobs,
        time_limit=model.task_timeout,
    )


def _targets(
    prepared: NetworkFitData, trained: IntArray, limit: int | None, rng: np.random.Generator
) -> list[Target]:
    """One task per trained target, all with the same rows."""
    val_rows = np.sort(thin(prepared.val_rows, limit, None, rng))
    val_weight = np.ones(len(val_rows))
    return [
        Target(
            y=np.ascontiguousarray(prepared.Y[:, g]),
            encoded=prepared.Y[:, [g]],
            validation=prepared.Y_val[np.ix_(val_rows, [g])],
            train_rows=prepared.train_rows,
            val_rows=val_rows,
            val_weight=val_weight,
            strata=None,
            # Genes are already scaled.
            reference=Reference(),
        )
        for g in trained
    ]
