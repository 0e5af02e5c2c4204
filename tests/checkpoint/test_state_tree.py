"""A state that was put into a file and taken out again is the same, to the last bit."""

import copy
from dataclasses import replace

import numpy as np
import pytest

from oracle import Chain
from randsub.checkpoint import frozen, frozen_result, thawed, thawed_result
from randsub.checkpoint.archive import read_archive, write_archive
from randsub.distributions import Bernoulli
from randsub.optim import FisherAdam, LogitAdam, ProjectedAdam, ProjectedGradientDescent
from randsub.penalties import RowGroups
from randsub.solver import train
from tiny_world import (
    Recorder,
    assert_same,
    begin,
    learning,
    make_problem,
    make_settings,
    noisy,
    signal,
)


def world(optimizer=None, penalty=None):
    problem = make_problem(
        noisy, n_tasks=2, penalty=penalty, optimizer=optimizer or ProjectedAdam(0.03)
    )
    return replace(problem, most_snapshots=5)


@pytest.mark.parametrize("way", ["fresh", "window", "coupled"])
@pytest.mark.parametrize("penalty", [None, RowGroups(0.01)], ids=["apart", "together"])
def test_training_goes_on_as_if_it_had_never_stopped(tmp_path, way, penalty) -> None:
    settings = make_settings(refresh=way, n_generations=4, max_iter=12, n_revivals=1)
    recorder = Recorder()
    problem = world(penalty=penalty)
    final = train(problem, settings, begin(problem, settings), [recorder])
    for epoch in (0, 1, 5, 6, 7, 12):
        state = recorder.states[epoch]
        write_archive(tmp_path / "file", frozen(state))
        problem = world(penalty=penalty)
        back = thawed(read_archive(tmp_path / "file"), problem, settings)
        assert_same(back, state)
        assert_same(train(problem, settings, back), final)


@pytest.mark.parametrize(
    "optimizer", [FisherAdam(0.1), LogitAdam(0.1), ProjectedGradientDescent(0.1)], ids=repr
)
def test_any_optimizer_has_its_memory_back(optimizer) -> None:
    settings = make_settings(max_iter=3)
    state = train(world(optimizer), settings, begin(world(optimizer), settings))
    assert_same(thawed(frozen(state), world(optimizer), settings), state)


@pytest.mark.parametrize("family", [Bernoulli(80), Chain(80)], ids=["independent", "chain"])
def test_masks_that_hold_few_of_many_features(family) -> None:
    problem = make_problem(noisy, n_features=80, distribution=family)
    settings = make_settings(max_iter=2, n_masks=10)
    state = train(problem, settings, begin(problem, settings, 0.02))
    tree = frozen(state)
    assert_same(thawed(tree, problem, settings), state)
    masks = state.rounds[0][0].masks
    assert (len(masks.parameters) < 60) is family.is_independent
    # Small numbers in files, and all of the same features.
    assert tree["rounds"][0][0]["indices"].dtype == np.int32
    assert set(tree["rounds"][0][0]["indices"]) == set(masks.parameters[masks.counts > 0])


SETTINGS = make_settings(max_iter=3)


@pytest.fixture(scope="module")
def state():
    return train(world(), SETTINGS, begin(world(), SETTINGS))


def with_round(name, change):
    def apply(tree):
        entry = tree["rounds"][1][2]
        entry[name] = change(entry[name])

    return apply


def with_path(name, change):
    def apply(tree):
        tree["path"][name] = change(tree["path"][name])

    return apply


CHANGES = {
    "no theta": lambda tree: tree.pop("theta"),
    "a wide theta": lambda tree: tree.update(theta=np.zeros((2, 5))),
    "theta of whole numbers": lambda tree: tree.update(theta=np.zeros((2, 4), dtype=int)),
    "a task too few": lambda tree: tree.update(rounds=tree["rounds"][:1]),
    "a batch too few": lambda tree: tree.update(rounds=[r[:1] for r in tree["rounds"]]),
    "an epoch too many": lambda tree: tree.update(epoch=4),
    "another optimiser": lambda tree: tree.update(optimizer=[]),
    "an unknown generator": lambda tree: tree["generators"][0].update(bit_generator="seed"),
    "a broken generator": lambda tree: tree["generators"][0].update(state={}),
    "numbers for lists": lambda tree: tree.update(rounds=3),
    "rows beyond the end": with_round("query_rows", lambda rows: rows + 1000),
    "rows before the start": with_round("train_rows", lambda rows: rows - 1000),
    "features beyond the end": with_round("indices", lambda indices: indices + np.int32(4)),
    "masks that overlap": with_round("indptr", lambda indptr: indptr[::-1].copy()),
    "features that are no whole numbers": with_round("indices", lambda indices: 1.0 * indices),
    "features before the start": with_round("indices", lambda indices: indices - np.int32(4)),
    "a mask too few": with_round("indptr", lambda indptr: indptr[1:]),
    "predictions too few": with_round("predictions", lambda p: p[:-1]),
    "generations too few": with_round("generations", lambda g: g[:-1]),
    "a path of other features": with_path("alphas", lambda alphas: alphas[..., :-1]),
    "a path without its start": with_path("epochs", lambda epochs: epochs + 1),
    "a path that turns back": with_path("epochs", lambda epochs: 0 * epochs),
    "a path of fewer epochs": with_path("epochs", lambda epochs: epochs[:-1]),
    "no path": with_path("epochs", lambda epochs: epochs[:0]),
    "an unborn generation": with_round("generations", lambda g: g + 1),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
def test_what_does_not_belong_to_the_problem_is_refused(state, change) -> None:
    tree = copy.deepcopy(frozen(state))
    thawed(tree, world(), SETTINGS)
    change(tree)
    with pytest.raises(ValueError):  # noqa: PT011 (any reason will do)
        thawed(tree, world(), SETTINGS)


# -- several base models ---------------------------------------------------------------------------


def far_off(masks, rows, task, seeds):
    """Dropped at once in the first task; of some use in the second."""
    answers = noisy(masks, rows, task, seeds)
    return answers - 30.0 * signal(rows, task) if task == 0 else answers


def mixture(penalty=None):
    return make_problem([far_off, noisy], n_tasks=2, penalty=penalty)


@pytest.fixture(scope="module")
def mixed_states():
    recorder = Recorder()
    train(mixture(), SETTINGS, learning(begin(mixture(), SETTINGS)), [recorder])
    return recorder.states


@pytest.mark.parametrize("penalty", [None, RowGroups(0.01)], ids=["apart", "together"])
def test_mixtures_go_on_as_if_they_had_never_stopped(tmp_path, penalty) -> None:
    settings = make_settings(max_iter=9, n_revivals=1)
    recorder = Recorder()
    problem = mixture(penalty)
    final = train(problem, settings, learning(begin(problem, settings)), [recorder])
    # Four rows of theta: those of a dropped base model have no rounds in the end.
    assert [len(of_row) for of_row in final.rounds] == [0, 3, 3, 3]
    assert final.shares[0].tolist() == [0.0, 1.0]
    assert 0.0 < final.shares[1, 0] < 1.0
    for state in recorder.states:
        write_archive(tmp_path / "file", frozen(state))
        back = thawed(read_archive(tmp_path / "file"), mixture(penalty), settings)
        assert_same(back, state)
        assert_same(train(mixture(penalty), settings, back), final)


def test_a_result_of_a_mixture_is_the_same_again(tmp_path, mixed_states) -> None:
    result = mixed_states[-1].result()
    write_archive(tmp_path / "file", frozen_result(result))
    back = thawed_result(read_archive(tmp_path / "file"), mixture())
    assert_same(back, result)
    assert {len(record.shares) for record in back.history} == {2}


def with_shares(name, change):
    def apply(tree):
        tree[name] = change(tree[name])

    return apply


def without_rounds(row):
    def apply(tree):
        tree["rounds"][row] = []

    return apply


FORGED = {
    "negative": lambda shares: shares + np.array([[-0.1, 0.1], [0.0, 0.0]]),
    "a sum above 1": lambda shares: shares * 1.01,
    "a sum below 1": lambda shares: shares * 0.99,
    "no number": lambda shares: shares * np.nan,
    "infinite": lambda shares: np.array([[np.inf, 0.0], [0.5, 0.5]]),
    "a task too few": lambda shares: shares[:1],
    "a base model too few": lambda shares: np.ones((2, 1)),
    "a base model too many": lambda shares: np.full((2, 3), 1.0 / 3.0),
    "turned": lambda shares: shares.reshape(1, 4) / 2.0,
    "whole numbers": lambda shares: np.array([[0, 1], [1, 0]]),
    "a list": lambda shares: shares.tolist(),
}
FORGERIES = {
    **{
        f"{kind} in {name}": with_shares(name, change)
        for name in ("shares", "best_shares")
        for kind, change in FORGED.items()
    },
    "a base model with a share but no rounds": without_rounds(1),
    "a dropped one with too few rounds": lambda tree: tree["rounds"][0].append(
        tree["rounds"][1][0]
    ),
    "rows of one base model alone": lambda tree: tree.update(rounds=tree["rounds"][1:3]),
    "no shares": lambda tree: tree.pop("shares"),
    "no shares in the history": lambda tree: tree["history"].pop("shares"),
    "one share in the history": lambda tree: tree["history"].update(shares=np.ones(3)),
    "theta of the tasks": lambda tree: tree.update(theta=tree["theta"][:2]),
}


@pytest.mark.parametrize("change", FORGERIES.values(), ids=FORGERIES.keys())
def test_forged_mixtures_are_refused(mixed_states, change) -> None:
    tree = copy.deepcopy(frozen(mixed_states[-1]))
    assert [len(of_row) for of_row in tree["rounds"]] == [0, 3, 3, 3]
    thawed(tree, mixture(), SETTINGS)
    change(tree)
    with pytest.raises(ValueError):  # noqa: PT011 (any reason will do)
        thawed(tree, mixture(), SETTINGS)


def test_what_was_put_away_belongs_to_that_number_of_base_models(mixed_states, state) -> None:
    for one, problem in ((mixed_states[-1], world()), (state, mixture())):
        with pytest.raises(ValueError, match="of shape"):
            thawed(frozen(one), problem, SETTINGS)
    # Two tasks of two base models are not four tasks.
    four = replace(mixture(), targets=mixture().targets * 2, n_bases=1)
    with pytest.raises(ValueError, match="2 generators"):
        thawed(frozen(mixed_states[-1]), four, SETTINGS)
