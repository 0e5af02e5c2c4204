"""A round: the masks, models and predictions for one batch of one task.

Masks, their proposal, the predictions and the targets of the batch are in one frozen object, so
that the weights of one batch cannot be used with another.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from randsub._typing import BoolArray, FloatArray, IntArray
from randsub.distributions import SubsetDistribution, as_sparse
from randsub.gradients import effective_sample_size, log_weights, mixture_log_prob
from randsub.parallel import Assignment
from randsub.solver.problem import Problem


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

    def log_prob(self, distribution: SubsetDistribution, masks: csr_array) -> FloatArray:
        """Log-probability of each mask under the mixture of the generations, shape (T,)."""
        sizes = np.bincount(self.generations, minlength=len(self.thetas))
        return mixture_log_prob(distribution, masks, self.thetas, sizes / sizes.sum())


@dataclass(frozen=True)
class Round:
    """Base models of one task and one batch, with their predictions.

    Parameters
    ----------
    batch : Batch
    proposal : Proposal
    masks : csr_array of shape (T, M)
        Ones where a mask holds a parameter.
    log_q : ndarray of shape (T,)
        Log-probability of the masks under the proposal.
    predictions : ndarray of shape (T, n, C)
        On the held-out rows of the batch, in units of the loss.
    validation : ndarray of shape (T, n_val, C)
        On the validation rows.
    targets : ndarray of shape (n, C)
    sample_weight : ndarray of shape (n,)
    absent : int ndarray
        Parameters that no mask holds.
    present : int ndarray
        Parameters that every mask holds.
    """

    batch: Batch
    proposal: Proposal
    masks: csr_array
    log_q: FloatArray
    predictions: FloatArray
    validation: FloatArray
    targets: FloatArray
    sample_weight: FloatArray
    absent: IntArray
    present: IntArray

    def log_weights(self, distribution: SubsetDistribution, theta: FloatArray) -> FloatArray:
        """Log importance weights of the models for theta (M,), shape (T,)."""
        return log_weights(distribution, self.masks, theta, self.log_q)

    def ess(self, distribution: SubsetDistribution, theta: FloatArray) -> float:
        """Effective number of models for theta (M,)."""
        return effective_sample_size(self.log_weights(distribution, theta))


@dataclass(frozen=True)
class Plan:
    """A round whose models are not trained yet.

    Parameters
    ----------
    task : int
    batch : Batch
    masks : bool ndarray of shape (T, M)
    proposal : Proposal
    untrained : bool ndarray of shape (T,)
        Masks whose models must be trained; the others use the predictions of ``former``.
    former : Round or None
    """

    task: int
    batch: Batch
    masks: BoolArray
    proposal: Proposal
    untrained: BoolArray
    former: Round | None = None


def carry_out(
    problem: Problem, plans: Sequence[Plan], rngs: Mapping[int, np.random.Generator]
) -> list[Round]:
    """Train the models of all plans in one dispatch, and return the rounds.

    Parameters
    ----------
    problem : Problem
    plans : sequence of Plan
    rngs : mapping of int to numpy.random.Generator
        Generators of the models' seeds, by task.
    """
    assignments = [
        Assignment(
            y=problem.targets[plan.task].y,
            train_rows=plan.batch.train_rows,
            query_rows=plan.batch.query_rows,
            val_rows=problem.val_rows,
            masks=problem.distribution.expand(plan.masks[plan.untrained]),
            seeds=rngs[plan.task].integers(np.iinfo(np.int32).max, size=int(plan.untrained.sum())),
        )
        for plan in plans
    ]
    answers = problem.dispatcher.predict(assignments)
    return [_round(problem, plan, answer) for plan, answer in zip(plans, answers, strict=True)]


def _round(problem: Problem, plan: Plan, answer: FloatArray) -> Round:
    target = problem.targets[plan.task]
    rows = plan.batch.query_rows
    answer = target.reference.apply(answer)
    predictions, validation = answer[:, : len(rows)], answer[:, len(rows) :]
    if plan.former is not None:
        predictions = _merged(plan.former.predictions, predictions, plan.untrained)
        validation = _merged(plan.former.validation, validation, plan.untrained)
    masks = as_sparse(plan.masks)
    return Round(
        batch=plan.batch,
        proposal=plan.proposal,
        masks=masks,
        log_q=plan.proposal.log_prob(problem.distribution, masks),
        predictions=np.ascontiguousarray(predictions),
        validation=np.ascontiguousarray(validation),
        targets=target.encoded[rows],
        sample_weight=problem.sample_weight[rows],
        absent=np.flatnonzero(~np.any(plan.masks, axis=0)),
        present=np.flatnonzero(np.all(plan.masks, axis=0)),
    )


def _merged(former: FloatArray, new: FloatArray, changed: BoolArray) -> FloatArray:
    merged = former.copy()
    merged[changed] = new
    return merged


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
