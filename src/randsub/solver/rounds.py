"""A round: the masks, models and predictions for one batch of one task and base model.

Masks, their proposal, the predictions and the targets of the batch are in one frozen object, so
that the weights of one batch cannot be used with another.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.sparse import csr_array

from randsub._masks import renumbered, sparse_rows
from randsub._typing import BoolArray, FloatArray, IntArray
from randsub.distributions import SubsetDistribution
from randsub.gradients import (
    OBJECTIVES,
    Votes,
    effective_sample_size,
    importance_weights,
    log_of_mixture,
    mixed_output,
    size_of_weights,
)
from randsub.parallel import Assignment, Watch
from randsub.solver.problem import Problem, Settings
from randsub.solver.shares import mixed_penalty, trained_rows


@dataclass(frozen=True)
class Batch:
    """Rows that models are trained on, and held-out rows for the gradient."""

    train_rows: IntArray
    query_rows: IntArray


@dataclass(frozen=True)
class Proposal:
    """The distribution that masks were drawn from: a mixture of generations.

    Parameters
    ----------
    thetas : ndarray of shape (G, M)
        Theta that each generation was drawn from, oldest first.
    generations : int ndarray of shape (T,)
        Generation of each mask.
    """

    thetas: FloatArray
    generations: IntArray

    def log_prob(self, distribution: SubsetDistribution, masks: "HeldMasks") -> FloatArray:
        """Log-probability of each mask under the mixture of the generations, shape (T,)."""
        sizes = np.bincount(self.generations, minlength=len(self.thetas))
        logs = masks.log_probs(distribution, self.thetas)
        return log_of_mixture(logs, sizes / sizes.sum())


@dataclass(frozen=True)
class HeldMasks:
    """Masks over the parameters that at least one of them holds.

    With thousands of features, the masks of a round hold a few hundred of them. All sums over masks
    are sums over these; the others have no gradient, and the same factor in every weight.

    Parameters
    ----------
    parameters : int ndarray of shape (m,)
        Parameters that some mask holds, ascending; all of them if the distribution is not
        independent.
    rows : csr_array of shape (T, m)
        Ones where a mask holds a parameter.
    n_parameters : int
        M.
    """

    parameters: IntArray
    rows: csr_array
    n_parameters: int

    @classmethod
    def of(cls, masks: csr_array, *, is_independent: bool) -> "HeldMasks":
        """From masks over all parameters, (T, M)."""
        n_parameters = masks.shape[1]
        if not is_independent:
            return cls(np.arange(n_parameters), masks, n_parameters)
        parameters, places = renumbered(masks.indices, n_parameters)
        rows = sparse_rows(masks.indptr, places, len(parameters))
        return cls(parameters, rows, n_parameters)

    def whole(self) -> csr_array:
        """The masks over all parameters, (T, M)."""
        return sparse_rows(self.rows.indptr, self.parameters[self.rows.indices], self.n_parameters)

    @cached_property
    def counts(self) -> IntArray:
        """Number of masks that hold each of ``parameters``."""
        return np.bincount(self.rows.indices, minlength=len(self.parameters))

    def log_probs(self, distribution: SubsetDistribution, thetas: FloatArray) -> FloatArray:
        """Log-probability of each mask under several thetas (G, M), shape (G, T)."""
        if len(self.parameters) == self.n_parameters:
            return distribution.log_probs(self.rows, thetas)
        return distribution.log_probs_held(self.rows, self.parameters, thetas)


@dataclass(frozen=True)
class Round:
    """Models of one task, base model and batch, with their predictions.

    Parameters
    ----------
    batch : Batch
    proposal : Proposal
    masks : HeldMasks
    log_q : ndarray of shape (T,)
        Log-probability of the masks under the proposal.
    predictions : ndarray of shape (T, n, C)
        On the held-out rows of the batch, in units of the loss.
    validation : ndarray of shape (T, n_val, C)
        On the validation rows.
    targets : ndarray of shape (n, C)
    sample_weight : ndarray of shape (n,)
    """

    batch: Batch
    proposal: Proposal
    masks: HeldMasks
    log_q: FloatArray
    predictions: FloatArray
    validation: FloatArray
    targets: FloatArray
    sample_weight: FloatArray

    def log_weights(self, distribution: SubsetDistribution, theta: FloatArray) -> FloatArray:
        """Log importance weights of the models for theta (M,), shape (T,)."""
        return self.masks.log_probs(distribution, theta[np.newaxis])[0] - self.log_q

    def unknown(self) -> BoolArray:
        """Parameters that no mask holds, or every mask, (M,)."""
        unknown = np.ones(self.masks.n_parameters, dtype=bool)
        varied = (self.masks.counts > 0) & (self.masks.counts < self.masks.rows.shape[0])
        unknown[self.masks.parameters[varied]] = False
        return unknown


@dataclass(frozen=True)
class Plan:
    """A round whose models are not trained yet.

    Parameters
    ----------
    row : int
        Row of theta: that of a task and one of its base models.
    batch : Batch
    masks : csr_array of shape (T, M)
    proposal : Proposal
    untrained : bool ndarray of shape (T,)
        Masks whose models must be trained; the others use the predictions of ``former``.
    former : Round or None
    """

    row: int
    batch: Batch
    masks: csr_array
    proposal: Proposal
    untrained: BoolArray
    former: Round | None = None

    @property
    def untrained_masks(self) -> csr_array:
        """Masks whose models must be trained, without a copy if these are all."""
        return self.masks if self.untrained.all() else self.masks[self.untrained]


def carry_out(
    problem: Problem,
    plans: Sequence[Plan],
    rngs: Mapping[int, np.random.Generator],
    watch: Watch | None = None,
) -> list[Round]:
    """Train the models of all plans in one dispatch, and return the rounds.

    Parameters
    ----------
    problem : Problem
    plans : sequence of Plan
    rngs : mapping of int to numpy.random.Generator
        Generators of the models' seeds, by task.
    watch : callable, default=None
        See :meth:`randsub.parallel.Dispatcher.predict`.
    """
    # Not kept in a variable: what is assigned would take memory until the rounds are there.
    answers = problem.dispatcher.predict(
        [
            Assignment(
                y=problem.target(plan.row).y,
                train_rows=plan.batch.train_rows,
                query_rows=plan.batch.query_rows,
                val_rows=problem.target(plan.row).val_rows,
                masks=problem.distribution.expand(plan.untrained_masks),
                seeds=rngs[plan.row // problem.n_bases].integers(
                    np.iinfo(np.int32).max, size=int(plan.untrained.sum())
                ),
                base=plan.row % problem.n_bases,
            )
            for plan in plans
        ],
        watch,
    )
    return [_round(problem, plan, answer) for plan, answer in zip(plans, answers, strict=True)]


def _round(problem: Problem, plan: Plan, answer: FloatArray) -> Round:
    target = problem.target(plan.row)
    rows = plan.batch.query_rows
    predictions, validation = (
        target.reference.apply(part) for part in np.split(answer, [len(rows)], axis=1)
    )
    if plan.former is not None:
        predictions = _merged(plan.former.predictions, predictions, plan.untrained)
        validation = _merged(plan.former.validation, validation, plan.untrained)
    distribution = problem.distribution
    masks = HeldMasks.of(plan.masks, is_independent=distribution.is_independent)
    return Round(
        batch=plan.batch,
        proposal=plan.proposal,
        masks=masks,
        log_q=plan.proposal.log_prob(distribution, masks),
        predictions=np.ascontiguousarray(predictions),
        validation=np.ascontiguousarray(validation),
        targets=target.encoded[rows],
        sample_weight=problem.sample_weight[rows],
    )


def _merged(former: FloatArray, new: FloatArray, changed: BoolArray) -> FloatArray:
    merged = former.copy()
    merged[changed] = new
    return merged


def evaluated(
    problem: Problem,
    settings: Settings,
    rounds: Sequence[Sequence[Round]],
    theta: FloatArray,
    shares: FloatArray,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Objectives on held-out rows, verdicts on validation rows, and smallest ESS per row of theta.

    A verdict is the objective on the validation rows, or on the held-out rows if there are none.
    With a penalty, the tasks are those that it couples, and there is one objective for all of them;
    otherwise there is one per task.
    """
    objective = OBJECTIVES[settings.objective]
    held_out = np.empty((len(problem.targets), settings.n_batches))
    validation = np.empty_like(held_out)
    ess = np.full(len(theta), np.inf)
    for task, (target, of_task) in enumerate(zip(problem.targets, shares, strict=True)):
        trained = [*trained_rows(task, of_task)]
        for batch in range(settings.n_batches):
            votes, votes_on_validation = [], []
            for row, share in trained:
                round_ = rounds[row][batch]
                log_w = round_.log_weights(problem.distribution, theta[row])
                weights = importance_weights(log_w, self_normalize=settings.self_normalize)
                size = (
                    size_of_weights(weights)
                    if settings.self_normalize
                    else effective_sample_size(log_w)
                )
                ess[row] = min(ess[row], size)
                weights = share * weights
                votes.append(problem.votes(objective, row, weights, round_.predictions))
                votes_on_validation.append(
                    problem.votes(objective, row, weights, round_.validation)
                )
            held_out[task, batch] = validation[task, batch] = objective.value(
                problem.loss, round_.targets, votes, round_.sample_weight
            )
            if len(target.val_rows):
                validation[task, batch] = objective.value(
                    problem.loss, target.validation, votes_on_validation, target.val_weight
                )
    if problem.penalty is None:
        return held_out.mean(axis=1), validation.mean(axis=1), ess
    penalty = mixed_penalty(problem.penalty, theta, shares)
    return np.array([held_out.mean()]) + penalty, np.array([validation.mean()]) + penalty, ess


def best_score(
    problem: Problem,
    rounds: Sequence[Sequence[Round]],
    theta: FloatArray,
    shares: FloatArray,
    task: int,
) -> float:
    """Mean score of the ensembles of all batches, on the validation rows of a task.

    Without validation rows it is the score of the held-out rows of all batches together, each
    predicted by the ensemble that was not trained on it. NaN if the problem has no score.
    """
    if problem.score is None:
        return float("nan")
    target, trained = problem.targets[task], [*trained_rows(task, shares[task])]
    outputs, batches = [], rounds[trained[0][0]]
    for batch in range(len(batches)):
        votes = []
        for row, share in trained:
            round_ = rounds[row][batch]
            # Add up to 1 whatever the settings, as in the final ensemble.
            weights = importance_weights(round_.log_weights(problem.distribution, theta[row]))
            asked = round_.validation if len(target.val_rows) else round_.predictions
            votes.append(Votes(share * weights, asked))
        outputs.append(mixed_output(votes))
    if len(target.val_rows):
        judged = (problem.score(target.validation, f, target.val_weight) for f in outputs)
        return sum(judged) / len(outputs)
    return problem.score(
        np.concatenate([batch.targets for batch in batches]),
        np.concatenate(outputs),
        np.concatenate([batch.sample_weight for batch in batches]),
    )


def deal_batches(
    rows: IntArray,
    n_batches: int,
    strata: IntArray | None,
    max_samples: int | None,
    rng: np.random.Generator,
) -> list[Batch]:
    """Shuffle the rows and split them into batches; each is held out from its training rows.

    Parameters
    ----------
    rows : int ndarray
    n_batches : int
    strata : int ndarray or None
        Class of each row of the data (indexed by ``rows``). Batches are stratified: one lacks a
        class only if the class has fewer rows than there are batches.
    max_samples : int or None
        Largest number of training rows, and of held-out rows, of a batch.
    rng : numpy.random.Generator
    """
    shuffled = _shuffled(rows, strata, rng)
    batches = []
    for k in range(n_batches):
        held_out = np.zeros(len(shuffled), dtype=bool)
        held_out[k::n_batches] = True
        train, query = shuffled[~held_out], shuffled[held_out]
        batches.append(
            Batch(
                np.sort(thin(train, max_samples, strata, rng)),
                np.sort(thin(query, max_samples, strata, rng)),
            )
        )
    return batches


def thin(
    rows: IntArray, size: int | None, strata: IntArray | None, rng: np.random.Generator
) -> IntArray:
    """A random sample of at most ``size`` rows, stratified by class."""
    if size is None or len(rows) <= size:
        return rows
    # Evenly spaced positions in an order that keeps classes together.
    places = np.floor((np.arange(size) + rng.random()) * len(rows) / size).astype(np.intp)
    # The last position may be rounded up to the length.
    return _shuffled(rows, strata, rng)[np.minimum(places, len(rows) - 1)]


def _shuffled(rows: IntArray, strata: IntArray | None, rng: np.random.Generator) -> IntArray:
    """The rows in random order; with classes, one class after the other."""
    shuffled = rng.permutation(rows)
    if strata is None:
        return shuffled
    return shuffled[np.argsort(strata[shuffled], kind="stable")]
