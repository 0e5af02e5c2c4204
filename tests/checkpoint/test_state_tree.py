"""A state that was put into a file and taken out again is the same, to the last bit."""

import copy

import numpy as np
import pytest

from oracle import Chain
from randsub.checkpoint import frozen, thawed
from randsub.checkpoint.archive import read_archive, write_archive
from randsub.distributions import Bernoulli
from randsub.optim import FisherAdam, LogitAdam, ProjectedAdam, ProjectedGradientDescent
from randsub.penalties import RowGroups
from randsub.solver import train
from tiny_world import Recorder, assert_same, begin, make_problem, make_settings, noisy


def world(optimizer=None, penalty=None):
    return make_problem(
        noisy, n_tasks=2, penalty=penalty, optimizer=optimizer or ProjectedAdam(0.03)
    )


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
    "an unborn generation": with_round("generations", lambda g: g + 1),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
def test_what_does_not_belong_to_the_problem_is_refused(state, change) -> None:
    tree = copy.deepcopy(frozen(state))
    thawed(tree, world(), SETTINGS)
    change(tree)
    with pytest.raises(ValueError):  # noqa: PT011 (any reason will do)
        thawed(tree, world(), SETTINGS)
