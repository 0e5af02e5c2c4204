"""What is in a round belongs together, whatever way it was made."""

from dataclasses import FrozenInstanceError, replace
from itertools import pairwise

import numpy as np
import pytest
from scipy.sparse import csr_array

from oracle import all_masks, dense
from randsub.distributions import Bernoulli, GroupedBernoulli
from randsub.gradients import effective_sample_size
from randsub.losses import Reference
from randsub.optim import ProjectedAdam
from randsub.solver import Problem, Round, Settings, TrainingState, train
from randsub.solver.rounds import HeldMasks, Proposal
from tiny_world import (
    FIRST_VALIDATION_ROW,
    FormulaEngine,
    Recorder,
    begin,
    make_problem,
    make_settings,
    signal,
)

REFERENCE = Reference(center=3.0, scale=4.0)
WAYS = ["fresh", "window", "coupled"]


def telltale(masks, rows, task, seeds) -> np.ndarray:
    """Mask, row and task can be read off a prediction."""
    code = masks @ (1 << np.arange(masks.shape[1]))
    return (rows + 1e4 * code[:, np.newaxis] + 1e7 * task)[..., np.newaxis]


def telltale_problem(n_tasks: int = 2, **changes) -> Problem:
    return make_problem(
        telltale,
        n_features=5,
        n_tasks=n_tasks,
        reference=REFERENCE,
        optimizer=ProjectedAdam(0.006),
        **changes,
    )


def mixture(proposal: Proposal, masks: np.ndarray) -> np.ndarray:
    """Log-probability of the masks under the mixture of the generations, by plain products."""
    total = np.zeros(len(masks))
    for g, theta in enumerate(proposal.thetas):
        share = np.mean(proposal.generations == g)
        total += share * np.prod(np.where(masks, theta, 1.0 - theta), axis=1)
    return np.log(total)


def assert_belongs_together(problem: Problem, task: int, round_: Round) -> None:
    masks = dense(round_.masks.whole())
    rows = round_.batch.query_rows
    assert round_.masks.rows.nnz == masks.sum()
    columns = problem.distribution.expand(masks)
    for found, numbers in (
        (round_.predictions, rows),
        (round_.validation, FIRST_VALIDATION_ROW + problem.targets[0].val_rows),
    ):
        expected = REFERENCE.apply(telltale(columns, numbers, task, None))
        np.testing.assert_array_equal(found, expected)
        assert found.flags.c_contiguous
    np.testing.assert_array_equal(round_.targets, REFERENCE.apply(signal(rows, task)))
    np.testing.assert_array_equal(round_.sample_weight, problem.sample_weight[rows])
    np.testing.assert_array_equal(round_.unknown(), ~masks.any(axis=0) | masks.all(axis=0))
    np.testing.assert_allclose(round_.log_q, mixture(round_.proposal, masks), rtol=1e-12)
    assert len(masks) == len(round_.log_q) == len(round_.proposal.generations)


def run(problem: Problem, settings: Settings) -> list[TrainingState]:
    recorder = Recorder()
    train(problem, settings, begin(problem, settings, 0.4), [recorder])
    return recorder.states


@pytest.mark.parametrize("max_samples", [None, 4])
@pytest.mark.parametrize("way", WAYS)
def test_rounds_cannot_mix_batches(way, max_samples) -> None:
    problem = telltale_problem()
    # Generations of 7, 7 and 6: their shares in the mixture differ.
    settings = make_settings(
        refresh=way, n_generations=3, ess_threshold=0.97, max_iter=15, max_samples=max_samples
    )
    states = run(problem, settings)
    assert sum(record.refreshed for record in states[-1].history) >= 3
    for state in states:
        for task, rounds in enumerate(state.rounds):
            assert len(rounds) == settings.n_batches
            for round_ in rounds:
                assert_belongs_together(problem, task, round_)
                assert len(round_.log_q) == settings.n_masks
                if max_samples is not None:
                    assert len(round_.batch.query_rows) == max_samples
                    assert len(round_.batch.train_rows) == max_samples


@pytest.mark.parametrize("way", WAYS)
def test_groups_of_columns_are_expanded_for_the_models(way) -> None:
    groups = np.array([1, 0, 0, 2, 1])
    problem = telltale_problem(distribution=GroupedBernoulli(groups))
    settings = make_settings(refresh=way, n_generations=4, ess_threshold=0.97, max_iter=6)
    for state in run(problem, settings):
        for task, rounds in enumerate(state.rounds):
            for round_ in rounds:
                assert round_.masks.whole().shape == (settings.n_masks, 3)
                assert_belongs_together(problem, task, round_)


@pytest.mark.parametrize("way", WAYS)
def test_models_never_see_the_rows_they_are_asked_about(way) -> None:
    problem = telltale_problem()
    settings = make_settings(refresh=way, n_generations=4, ess_threshold=1.01, max_iter=5)
    run(problem, settings)
    engine = problem.dispatcher.engines[0]
    assert isinstance(engine, FormulaEngine)
    for call in engine.asked:
        n_val = len(problem.targets[0].val_rows)
        held_out, validation = call.rows[:-n_val], call.rows[-n_val:]
        np.testing.assert_array_equal(
            validation, FIRST_VALIDATION_ROW + problem.targets[0].val_rows
        )
        np.testing.assert_array_equal(
            np.sort(np.concatenate([call.train_rows, held_out])), problem.targets[0].train_rows
        )


@pytest.mark.parametrize("way", WAYS)
def test_newest_generation_comes_from_the_present_theta(way) -> None:
    problem = telltale_problem()
    settings = make_settings(refresh=way, n_generations=4, ess_threshold=1.01, max_iter=7)
    states = run(problem, settings)
    for before, after in pairwise(states):
        if not after.history[-1].refreshed:
            continue
        for task, rounds in enumerate(after.rounds):
            for k, round_ in enumerate(rounds):
                thetas = round_.proposal.thetas
                np.testing.assert_array_equal(thetas[-1], before.theta[task])
                if way == "window":
                    former = before.rounds[task][k].proposal.thetas
                    np.testing.assert_array_equal(thetas[:-1], former[1:])
                else:
                    assert (thetas == thetas[-1]).all()


@pytest.mark.parametrize("way", WAYS)
def test_only_the_fresh_way_deals_new_batches(way) -> None:
    problem = telltale_problem(n_tasks=1)
    settings = make_settings(refresh=way, n_generations=4, ess_threshold=1.01, max_iter=3)
    first, _, second, _ = run(problem, settings)
    same = [
        np.array_equal(a.batch.query_rows, b.batch.query_rows)
        for a, b in zip(first.rounds[0], second.rounds[0], strict=True)
    ]
    assert not any(same) if way == "fresh" else all(same)


def test_tasks_have_batches_and_masks_of_their_own() -> None:
    problem = telltale_problem()
    one, other = begin(problem, make_settings()).rounds
    assert any(
        not np.array_equal(a.batch.query_rows, b.batch.query_rows)
        for a, b in zip(one, other, strict=True)
    )
    assert (dense(one[0].masks.whole()) != dense(other[0].masks.whole())).any()
    assert (dense(one[0].masks.whole()) != dense(one[1].masks.whole())).any()


def test_tasks_are_stratified_by_their_own_classes() -> None:
    # The first half of the rows are one class of task 0, the even rows one of task 1.
    strata = (np.arange(24) // 12, np.arange(24) % 2)
    problem = telltale_problem(strata=strata)
    settings = make_settings()
    for seed in range(5):
        for rounds, of_task in zip(begin(problem, settings, seed=seed).rounds, strata, strict=True):
            share = np.bincount(of_task[problem.targets[0].train_rows]) / settings.n_batches
            for round_ in rounds:
                held_out = np.bincount(of_task[round_.batch.query_rows], minlength=2)
                assert (np.floor(share) <= held_out).all()
                assert (held_out <= np.ceil(share)).all()


@pytest.mark.parametrize("way", WAYS)
def test_every_model_has_a_seed_of_its_own(way) -> None:
    problem = telltale_problem()
    run(problem, make_settings(refresh=way, n_generations=4, ess_threshold=1.01, max_iter=4))
    engine = problem.dispatcher.engines[0]
    assert isinstance(engine, FormulaEngine)
    seeds = np.concatenate([call.seeds for call in engine.asked])
    assert len(seeds) == engine.n_models
    assert len(np.unique(seeds)) == len(seeds)


def test_weights_and_ess_of_a_round() -> None:
    # All subsets once, weighed as if drawn uniformly: the weights are the probabilities.
    masks = all_masks(3)
    theta = np.array([0.2, 0.5, 0.9])
    p = np.prod(np.where(masks, theta, 1.0 - theta), axis=1)
    round_ = replace(
        begin(make_problem(n_features=3), make_settings()).rounds[0][0],
        masks=HeldMasks.of(csr_array(masks, dtype=float), is_independent=True),
        log_q=np.full(8, -np.log(8.0)),
    )
    found = round_.log_weights(Bernoulli(3), theta)
    np.testing.assert_allclose(np.exp(found), 8.0 * p, rtol=1e-12)
    assert effective_sample_size(found) == pytest.approx(1.0 / np.sum(p**2))


def test_a_fresh_round_is_worth_all_its_models() -> None:
    problem, settings = make_problem(), make_settings()
    state = begin(problem, settings, 0.3)
    for round_ in state.rounds[0]:
        log_w = round_.log_weights(problem.distribution, state.theta[0])
        np.testing.assert_allclose(log_w, 0.0, atol=1e-12)
        assert effective_sample_size(log_w) == pytest.approx(20.0)


def test_a_round_is_frozen() -> None:
    round_ = begin(make_problem(), make_settings()).rounds[0][0]
    with pytest.raises(FrozenInstanceError):
        round_.log_q = round_.log_q + 1.0


@pytest.mark.parametrize(
    ("n_masks", "n_generations", "sizes"),
    [(20, 5, [4] * 5), (10, 3, [4, 3, 3]), (4, 10, [1, 1, 1, 1]), (5, 1, [5])],
)
def test_generations_are_of_equal_size(n_masks, n_generations, sizes) -> None:
    settings = make_settings(refresh="window", n_masks=n_masks, n_generations=n_generations)
    assert settings.n_generations == len(sizes)
    for round_ in begin(make_problem(), settings).rounds[0]:
        np.testing.assert_array_equal(np.bincount(round_.proposal.generations), sizes)
        assert len(round_.proposal.thetas) == len(sizes)


@pytest.mark.parametrize("way", ["fresh", "coupled"])
def test_other_ways_have_a_single_generation(way) -> None:
    assert make_settings(refresh=way, n_generations=7).n_generations == 1
