"""Every way of renewing masks keeps the law that the weights assume.

Theta moves independently of the masks here, as the laws demand; models are a table of random
predictions, one for each subset, so that a prediction tells whose it is.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from oracle import Chain, all_masks, dense, index_of, p_value_of_law, probabilities
from randsub._masks import as_sparse
from randsub.distributions import Bernoulli
from randsub.gradients import importance_weights, score_gradient
from randsub.losses import Reference, SquaredError
from randsub.optim import ProjectedAdam
from randsub.parallel import Assignment
from randsub.solver.problem import Problem, Target
from randsub.solver.refresh import WAYS, couple_masks, coupled, fresh, window
from randsub.solver.rounds import HeldMasks, Proposal, carry_out
from tiny_world import make_settings

M = 4
N_ROWS = 12
SUBSETS = all_masks(M)
HELD = HeldMasks.of(as_sparse(SUBSETS), is_independent=True)
# A path of theta, each step as far as a refresh may find it.
PATH = np.array(
    [
        [0.5, 0.3, 0.6, 0.4],
        [0.6, 0.25, 0.5, 0.5],
        [0.7, 0.2, 0.45, 0.6],
        [0.65, 0.1, 0.5, 0.75],
        [0.8, 0.15, 0.4, 0.7],
    ]
)


@dataclass(frozen=True)
class TableDispatcher:
    """Looks predictions up: held-out rows in one table, validation rows in another."""

    held_out: np.ndarray
    validation: np.ndarray

    def predict(self, assignments: Sequence[Assignment], watch: Any = None) -> list[np.ndarray]:
        return [
            np.concatenate(
                [
                    self.held_out[index_of(work.masks)][:, work.query_rows],
                    self.validation[index_of(work.masks)][:, work.val_rows],
                ],
                axis=1,
            )
            for work in assignments
        ]


@pytest.fixture
def problem() -> Problem:
    rng = np.random.default_rng(0)
    y = rng.normal(size=N_ROWS)
    target = Target(
        y=y,
        encoded=y[:, np.newaxis],
        validation=rng.normal(size=(2, 1)),
        train_rows=np.arange(N_ROWS),
        val_rows=np.arange(2),
        val_weight=np.ones(2),
        strata=None,
        reference=Reference(),
    )
    return Problem(
        distribution=Bernoulli(M),
        loss=SquaredError(),
        penalty=None,
        optimizer=ProjectedAdam(),
        dispatcher=TableDispatcher(
            rng.normal(size=(2**M, N_ROWS, 1)), rng.normal(size=(2**M, 2, 1))
        ),
        targets=[target],
        sample_weight=np.ones(N_ROWS),
    )


def refreshed(problem, settings, path, rng):
    """Rounds, and the plans they came from, after a fresh start and a refresh for each theta."""
    plans = fresh(problem, settings, 0, (), path[0], rng)
    rounds = carry_out(problem, plans, {0: rng})
    for theta in path[1:]:
        plans = WAYS[settings.refresh](problem, settings, 0, rounds, theta, rng)
        rounds = carry_out(problem, plans, {0: rng})
    return rounds, plans


# Fresh


@pytest.mark.parametrize("refresh", ["fresh", "window", "coupled"])
def test_fresh_masks_follow_theta_and_their_proposal_says_so(problem, refresh):
    settings = make_settings(n_masks=20_000, n_batches=2, refresh=refresh, n_generations=3)
    rng = np.random.default_rng(1)
    plans = fresh(problem, settings, 0, (), PATH[0], rng)
    assert len(plans) == 2
    for plan, round_ in zip(plans, carry_out(problem, plans, {0: rng}), strict=True):
        assert plan.untrained.all()
        assert plan.former is None
        assert p_value_of_law(plan.masks, probabilities(PATH[0])) > 1e-4
        np.testing.assert_allclose(
            round_.log_q, np.log(probabilities(PATH[0]))[index_of(plan.masks)], rtol=1e-12
        )
        assert len(plan.proposal.thetas) == (3 if refresh == "window" else 1)
    held_out = np.concatenate([plan.batch.query_rows for plan in plans])
    np.testing.assert_array_equal(np.sort(held_out), np.arange(N_ROWS))


def test_batches_do_not_share_masks(problem):
    settings = make_settings(n_masks=200, n_batches=2)
    plans = fresh(problem, settings, 0, (), PATH[0], np.random.default_rng(2))
    assert (dense(plans[0].masks) != dense(plans[1].masks)).any()


# Coupled

PAIRS = {
    "a small step": (PATH[0], PATH[1]),
    "a large step": (PATH[0], np.array([0.9, 0.8, 0.1, 0.3])),
    "to the edges": (PATH[0], np.array([1.0, 0.0, 0.5, 0.45])),
    "from the edges": (np.array([1.0, 0.0, 0.5, 0.45]), np.array([0.8, 0.3, 0.5, 0.45])),
    "one feature moves": (PATH[0], np.array([0.5, 0.3, 0.9, 0.4])),
}
every_pair = pytest.mark.parametrize("old, new", PAIRS.values(), ids=PAIRS.keys())
N_MASKS = 60_000


def naively_coupled(distribution, masks, old, new, rng):
    """A mistake: the first draw is taken, although the old law may have covered it already."""
    log_ratio = distribution.log_prob(masks, new) - distribution.log_prob(masks, old)
    changed = np.log(rng.random(len(log_ratio))) >= log_ratio
    masks = dense(masks)
    masks[changed] = dense(distribution.sample(new, int(changed.sum()), rng))
    return masks, changed


@every_pair
def test_coupled_masks_follow_the_new_law(old, new):
    rng = np.random.default_rng(3)
    before = Bernoulli(M).sample(old, N_MASKS, rng)
    after, _ = couple_masks(Bernoulli(M), before, old, new, rng)
    assert p_value_of_law(after, probabilities(new)) > 1e-4
    # The test can tell: masks that have not moved, and a coupling that forgets to reject.
    assert p_value_of_law(before, probabilities(new)) < 1e-6
    naive, _ = naively_coupled(Bernoulli(M), before, old, new, rng)
    assert p_value_of_law(naive, probabilities(new)) < 1e-6


@every_pair
def test_as_many_masks_stay_as_the_laws_overlap(old, new):
    rng = np.random.default_rng(4)
    before = Bernoulli(M).sample(old, N_MASKS, rng)
    kept_before = before.copy()
    _, changed = couple_masks(Bernoulli(M), before, old, new, rng)
    np.testing.assert_array_equal(dense(before), dense(kept_before))
    overlap = np.minimum(probabilities(old), probabilities(new)).sum()
    error = np.sqrt(overlap * (1.0 - overlap) / N_MASKS)
    assert abs(np.mean(~changed) - overlap) < 4.5 * error
    assert 0.02 < overlap < 0.98


@every_pair
def test_exactly_the_masks_that_differ_are_flagged(old, new):
    rng = np.random.default_rng(5)
    before = Bernoulli(M).sample(old, N_MASKS, rng)
    after, changed = couple_masks(Bernoulli(M), before, old, new, rng)
    np.testing.assert_array_equal(changed, (dense(before) != dense(after)).any(axis=1))


def test_masks_stay_where_theta_does():
    before = Bernoulli(M).sample(PATH[0], 1000, np.random.default_rng(6))
    after, changed = couple_masks(
        Bernoulli(M), before, PATH[0], PATH[0].copy(), np.random.default_rng(7)
    )
    np.testing.assert_array_equal(dense(after), dense(before))
    assert not changed.any()


def test_coupling_needs_nothing_but_the_protocol():
    family, rng = Chain(M), np.random.default_rng(8)
    old, new = PATH[0], PATH[4]
    before = as_sparse(family.sample(old, N_MASKS, rng))
    after, changed = couple_masks(family, before, old, new, rng)
    p_old, p_new = (np.exp(family.log_prob(SUBSETS, theta)) for theta in (old, new))
    assert p_value_of_law(after, p_new) > 1e-4
    assert p_value_of_law(before, p_new) < 1e-6
    assert np.mean(~changed) == pytest.approx(np.minimum(p_old, p_new).sum(), abs=0.01)


def test_coupled_rounds_follow_theta_along_its_path(problem):
    settings = make_settings(n_masks=20_000, n_batches=2, refresh="coupled")
    rng = np.random.default_rng(9)
    for n_refreshes in (1, 4):
        theta = PATH[n_refreshes]
        rounds, plans = refreshed(problem, settings, PATH[: n_refreshes + 1], rng)
        for plan, round_ in zip(plans, rounds, strict=True):
            assert p_value_of_law(plan.masks, probabilities(theta)) > 1e-4
            differs = (dense(plan.masks) != dense(plan.former.masks.whole())).any(axis=1)
            np.testing.assert_array_equal(plan.untrained, differs)
            # Weights restart at 1: the proposal is theta, whatever came before.
            log_w = round_.log_weights(problem.distribution, theta)
            np.testing.assert_allclose(log_w, 0.0, atol=1e-12)


def test_coupled_masks_start_from_the_law_of_their_round(problem):
    """Not from another theta of the path: then they would not arrive at the new one."""
    settings = make_settings(n_masks=40_000, n_batches=1, refresh="coupled")
    rng = np.random.default_rng(10)
    rounds, _ = refreshed(problem, settings, PATH[:2], rng)
    (plan,) = coupled(problem, settings, 0, rounds, PATH[4], rng)
    overlap = np.minimum(probabilities(PATH[1]), probabilities(PATH[4])).sum()
    assert np.mean(~plan.untrained) == pytest.approx(overlap, abs=0.012)
    wrong, _ = couple_masks(problem.distribution, rounds[0].masks.whole(), PATH[0], PATH[4], rng)
    assert p_value_of_law(wrong, probabilities(PATH[4])) < 1e-6


# Window


def generations_of(n_masks: int, n_generations: int) -> np.ndarray:
    return np.arange(n_masks) * n_generations // n_masks


@pytest.mark.parametrize("n_refreshes", [1, 2, 3, 4])
def test_a_window_holds_the_latest_generations(problem, n_refreshes):
    n_masks, n_generations = 20_000, 3  # generations of unequal size
    settings = make_settings(
        n_masks=n_masks, n_batches=1, refresh="window", n_generations=n_generations
    )
    rng = np.random.default_rng(11)
    (round_,), (plan,) = refreshed(problem, settings, PATH[: n_refreshes + 1], rng)
    # Theta of each generation, oldest first; at the start all of them have the first one.
    steps = np.maximum(np.arange(n_refreshes - 2, n_refreshes + 1), 0)
    np.testing.assert_array_equal(plan.proposal.thetas, PATH[steps])
    # The masks of a generation keep their place until they are the oldest.
    born = (generations_of(n_masks, n_generations) - n_refreshes) % n_generations
    np.testing.assert_array_equal(plan.proposal.generations, born)
    for generation, step in enumerate(steps):
        masks = plan.masks[born == generation]
        assert p_value_of_law(masks, probabilities(PATH[step])) > 1e-4
    # Only the newest generation is trained; the others are what they were.
    np.testing.assert_array_equal(plan.untrained, born == n_generations - 1)
    np.testing.assert_array_equal(
        dense(plan.masks)[~plan.untrained], dense(plan.former.masks.whole())[~plan.untrained]
    )
    # And every mask is weighted against all of the window.
    sizes = np.bincount(born)
    mixture = sum(
        size / n_masks * probabilities(PATH[step]) for size, step in zip(sizes, steps, strict=True)
    )
    np.testing.assert_allclose(np.exp(round_.log_q), mixture[index_of(plan.masks)], rtol=1e-12)


THETAS = PATH[[0, 2, 3, 4]]
GENERATIONS = np.repeat([0, 1, 2, 3], [30, 10, 40, 20])
FURTHER = np.array([0.75, 0.12, 0.55, 0.6])


def arbitrary_function() -> np.ndarray:
    return np.random.default_rng(12).normal(size=(2**M, 3)) + 1.0


def exact_mean_of_estimate(log_q, theta, values):
    """Expectation of ``mean_t w_t h(z_t)`` over masks of which each follows its generation."""
    w = np.exp(Bernoulli(M).log_prob(SUBSETS, theta) - log_q)
    shares = np.bincount(GENERATIONS) / len(GENERATIONS)
    return sum(
        share * (probabilities(born) * w) @ values
        for share, born in zip(shares, THETAS, strict=True)
    )


def test_mixture_weights_give_the_exact_expectation():
    values = arbitrary_function()
    exact = probabilities(FURTHER) @ values
    proposal = Proposal(THETAS, GENERATIONS)
    log_q = proposal.log_prob(Bernoulli(M), HELD)
    found = exact_mean_of_estimate(log_q, FURTHER, values)
    np.testing.assert_allclose(found, exact, rtol=0, atol=1e-12)
    # The newest theta alone is not where these masks come from, nor is a mixture in other shares.
    newest = np.log(probabilities(THETAS[-1]))
    assert np.abs(exact_mean_of_estimate(newest, FURTHER, values) - exact).max() > 0.1
    even = Proposal(THETAS, np.arange(4)).log_prob(Bernoulli(M), HELD)
    assert np.abs(exact_mean_of_estimate(even, FURTHER, values) - exact).max() > 0.01


def test_gradient_of_a_window_is_unbiased():
    """The same for the gradient: each generation's one-mask estimates, in its share."""
    costs = arbitrary_function()[:, 0]
    log_q = Proposal(THETAS, GENERATIONS).log_prob(Bernoulli(M), HELD)
    log_w = Bernoulli(M).log_prob(SUBSETS, FURTHER) - log_q
    estimates = np.array(
        [
            score_gradient(
                Bernoulli(M),
                SUBSETS[[row]],
                FURTHER,
                importance_weights(log_w[[row]], self_normalize=False),
                costs[[row]],
                "none",
            )
            for row in range(2**M)
        ]
    )
    shares = np.bincount(GENERATIONS) / len(GENERATIONS)
    found = sum(
        share * probabilities(born) @ estimates for share, born in zip(shares, THETAS, strict=True)
    )
    held = probabilities(FURTHER) * costs
    expected = [
        held[SUBSETS[:, j]].sum() / FURTHER[j] - held[~SUBSETS[:, j]].sum() / (1.0 - FURTHER[j])
        for j in range(M)
    ]
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)


def errors_of_estimate(round_, log_q, theta, values):
    """How many standard errors the mean of ``w h`` over a round's masks is off.

    The error is exact: the sum over generations of their variances under the table.
    """
    rows, n_masks = index_of(round_.masks.whole()), len(log_q)
    # Masks are few and many: the weight of a subset can be read off any mask that is it.
    w = np.exp(Bernoulli(M).log_prob(round_.masks.whole(), theta) - log_q)
    table = np.zeros(2**M)
    table[rows] = w
    terms = table[:, np.newaxis] * values
    variance = 0.0
    for generation, born in enumerate(round_.proposal.thetas):
        p, size = probabilities(born), np.sum(round_.proposal.generations == generation)
        variance = variance + size * (p @ terms**2 - (p @ terms) ** 2)
    off = (w @ values[rows]) / n_masks - probabilities(theta) @ values
    return off * n_masks / np.sqrt(variance)


@pytest.mark.parametrize("n_refreshes", [1, 2, 4])
def test_a_window_of_drawn_masks_estimates_a_further_theta(problem, n_refreshes):
    settings = make_settings(n_masks=50_000, n_batches=1, refresh="window", n_generations=3)
    rng = np.random.default_rng(13)
    path = PATH[: n_refreshes + 1]
    (round_,), _ = refreshed(problem, settings, path, rng)
    values = arbitrary_function()
    off = errors_of_estimate(round_, round_.log_q, FURTHER, values)
    assert np.abs(off).max() < 4.5
    newest = problem.distribution.log_prob(round_.masks.whole(), path[-1])
    assert np.abs(errors_of_estimate(round_, newest, FURTHER, values)).max() > 8.0


def test_a_window_of_one_generation_is_renewed_whole(problem):
    settings = make_settings(n_masks=500, n_batches=1, refresh="window", n_generations=1)
    rng = np.random.default_rng(14)
    (round_,), (plan,) = refreshed(problem, settings, PATH[:2], rng)
    assert plan.untrained.all()
    np.testing.assert_allclose(round_.log_weights(Bernoulli(M), PATH[1]), 0.0, atol=1e-12)


def test_no_more_generations_than_masks(problem):
    settings = make_settings(n_masks=5, n_batches=1, refresh="window", n_generations=10)
    rng = np.random.default_rng(15)
    _, (plan,) = refreshed(problem, settings, PATH[:2], rng)
    assert plan.untrained.sum() == 1
    assert len(plan.proposal.thetas) == 5


# All ways


@pytest.mark.parametrize("refresh", list(WAYS))
def test_predictions_stay_with_their_masks(problem, refresh):
    settings = make_settings(n_masks=200, n_batches=3, refresh=refresh, n_generations=4)
    rng = np.random.default_rng(16)
    first = carry_out(problem, fresh(problem, settings, 0, (), PATH[0], rng), {0: rng})
    rounds = first
    for theta in PATH[1:]:
        former = rounds
        rounds = carry_out(
            problem, WAYS[refresh](problem, settings, 0, former, theta, rng), {0: rng}
        )
        assert len(rounds) == 3
        for k, round_ in enumerate(rounds):
            rows = index_of(round_.masks.whole())
            table = problem.dispatcher
            np.testing.assert_array_equal(
                round_.predictions, table.held_out[rows][:, round_.batch.query_rows]
            )
            np.testing.assert_array_equal(round_.validation, table.validation[rows])
            held = dense(round_.masks.whole())
            unknown = ~held.any(axis=0) | held.all(axis=0)
            np.testing.assert_array_equal(round_.unknown(), unknown)
            same_batch = np.array_equal(round_.batch.query_rows, former[k].batch.query_rows)
            assert same_batch is (refresh != "fresh")


@pytest.mark.parametrize("refresh", list(WAYS))
def test_a_refresh_leaves_former_rounds_alone(problem, refresh):
    settings = make_settings(n_masks=100, n_batches=2, refresh=refresh, n_generations=4)
    rng = np.random.default_rng(17)
    rounds = carry_out(problem, fresh(problem, settings, 0, (), PATH[0], rng), {0: rng})
    before = [
        (dense(r.masks.whole()), r.log_q.copy(), r.predictions.copy(), r.proposal.thetas.copy())
        for r in rounds
    ]
    carry_out(problem, WAYS[refresh](problem, settings, 0, rounds, PATH[4], rng), {0: rng})
    for round_, then in zip(rounds, before, strict=True):
        now = (
            dense(round_.masks.whole()),
            round_.log_q,
            round_.predictions,
            round_.proposal.thetas,
        )
        for a, b in zip(now, then, strict=True):
            np.testing.assert_array_equal(a, b)


def test_ways_have_their_names():
    for name, way in (("fresh", fresh), ("window", window), ("coupled", coupled)):
        assert WAYS[name] is way
