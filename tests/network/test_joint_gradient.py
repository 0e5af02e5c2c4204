"""A step of the network's objective against finite differences, every subset enumerated.

Six regulators, four targets, two of which are regulators themselves. With all 64 subsets in a
round, and log q as if each had been drawn as often as it is there, what the loop computes is the
exact gradient and no estimate of it. Models are a table of predictions.
"""

from dataclasses import replace

import numpy as np
import pytest

from oracle import Truth, all_masks, finite_differences, index_of, make_truth
from randsub.distributions import Bernoulli
from randsub.optim import ProjectedGradientDescent
from randsub.penalties import RowGroups
from randsub.solver import train
from tiny_world import FIRST_VALIDATION_ROW, begin, make_problem, make_settings

N_REGULATORS, N_TARGETS = 6, 4
N_ROWS, N_VAL, RATE = 24, 6, 0.05
THETA = np.random.default_rng(0).uniform(0.2, 0.8, size=(N_TARGETS, N_REGULATORS))
OWN = [(1, 2), (3, 0)]  # (target, the regulator that it is)


class EverySubset(Bernoulli):
    """Instead of drawing, deals out every subset once, to each round."""

    def sample(self, theta, n_masks, rng) -> np.ndarray:
        every = all_masks(self.n_parameters)
        masks = [rng.permutation(every) for _ in range(n_masks // len(every))]
        return np.concatenate(masks) & (theta > 0.0)


def places(rows):
    return np.where(rows < FIRST_VALIDATION_ROW, rows, rows - FIRST_VALIDATION_ROW + N_ROWS)


@pytest.mark.parametrize("lam", [0.003, 0.3])
@pytest.mark.parametrize("barred", [False, True])
def test_a_step_descends_the_exact_gradient_of_the_joint_objective(lam, barred):
    truths = [
        make_truth("regression", N_REGULATORS, seed=p, n_samples=N_ROWS + N_VAL + 2)
        for p in range(N_TARGETS)
    ]
    theta = THETA.copy()
    if barred:
        theta[tuple(np.transpose(OWN))] = 0.0
    penalty = RowGroups(lam)
    problem = make_problem(
        lambda masks, rows, task, seeds: truths[task].predictions[index_of(masks)][:, places(rows)],
        n_features=N_REGULATORS,
        n_tasks=N_TARGETS,
        n_rows=N_ROWS,
        n_val=N_VAL,
        target=lambda rows, task: truths[task].targets[places(rows)],
        distribution=EverySubset(N_REGULATORS),
        penalty=penalty,
        optimizer=ProjectedGradientDescent(RATE),
    )
    settings = make_settings(n_masks=2**N_REGULATORS, n_batches=2, max_iter=1, ess_threshold=0.0)
    state = begin(problem, settings, theta)
    # A barred regulator halves the number of different subsets: each is there twice.
    state = replace(
        state,
        rounds=tuple(
            tuple(replace(r, log_q=multiplicity(r.masks.whole())) for r in rounds)
            for rounds in state.rounds
        ),
    )
    after = train(problem, settings, state)

    for batch in range(settings.n_batches):
        rows = [rounds[batch].batch.query_rows for rounds in state.rounds]

        def objective(theta, rows=rows) -> float:
            """(1 / G) (1 / N) sum of squared errors + lam * sum of the norms of rows."""
            losses = [
                Truth(
                    truth.loss,
                    truth.predictions[:, places(of_task)],
                    truth.targets[places(of_task)],
                    problem.sample_weight[of_task],
                ).objective(row, "ensemble")
                for truth, of_task, row in zip(truths, rows, theta, strict=True)
            ]
            return np.mean(losses) + lam * np.sqrt((theta**2).sum(axis=0)).sum()

        gradient = finite_differences(objective, theta)
        gradient[theta == 0.0] = 0.0
        assert np.abs(gradient[theta > 0.0]).min() > 1e-5
        theta = theta - RATE * gradient
    np.testing.assert_allclose(after.theta, theta, atol=1e-7)
    assert (after.theta[tuple(np.transpose(OWN))] == 0.0).all() == barred


def multiplicity(masks):
    """Log of the share of each mask in its round."""
    index = index_of(masks)
    return np.log(np.bincount(index)[index] / len(index))
