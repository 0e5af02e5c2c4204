"""A round: everything that was drawn and trained together for one batch of one task.

Masks, the law they were drawn from, the predictions and the targets of the batch sit in one frozen
object, so that weights cannot be computed from one batch and used with another.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from randsub._typing import BoolArray, FloatArray, IntArray
from randsub.distributions.base import SubsetDistribution, as_sparse
from randsub.engines.dispatch import Assignment
from randsub.gradients.weights import effective_sample_size, log_weights, mixture_log_prob
from randsub.training.batches import Batch
from randsub.training.problem import Problem


@dataclass(frozen=True)
class Proposal:
    """Where masks came from.

    Parameters
    ----------
    thetas : ndarray of shape (G, M)
        Theta at the birth of each generation, oldest first.
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
    """Models of one task on one batch.

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
    """A round before its models are trained.

    Parameters
    ----------
    task : int
    batch : Batch
    masks : bool ndarray of shape (T, M)
    proposal : Proposal
    untrained : bool ndarray of shape (T,)
        Masks whose models must be trained; the others keep the predictions of ``former``.
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
    """Train what the plans ask for, all of it in one dispatch, and make rounds of them.

    Parameters
    ----------
    problem : Problem
    plans : sequence of Plan
    rngs : mapping of int to numpy.random.Generator
        Where the seeds of each task's models come from.
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
