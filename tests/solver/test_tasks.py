"""Several tasks in one loop: strangers without a penalty, one objective with one."""

from dataclasses import replace

import numpy as np
import pytest

from randsub.penalties import RowGroups
from randsub.solver import start, train
from tiny_world import assert_same, begin, make_problem, make_settings, noisy

THETA = np.random.default_rng(0).uniform(0.2, 0.8, size=(3, 4))
SETTINGS = {"max_iter": 12, "n_revivals": 1, "ess_threshold": 0.8, "n_generations": 4}


def generators():
    return [np.random.default_rng([7, task]) for task in range(3)]


@pytest.mark.parametrize("way", ["fresh", "window", "coupled"])
def test_without_a_penalty_a_task_trains_as_if_it_were_alone(way):
    settings = make_settings(refresh=way, **SETTINGS)
    problem = make_problem(noisy, n_tasks=3)
    together = train(problem, settings, start(problem, settings, THETA, generators()))
    alone = []
    for task in range(3):
        one = replace(problem, targets=[problem.targets[task]])
        rng = generators()[task]
        alone.append(train(one, settings, start(one, settings, THETA[[task]], rng)))
    for task, state in enumerate(alone):
        np.testing.assert_array_equal(together.theta[task], state.theta[0])
        np.testing.assert_array_equal(together.best_theta[task], state.best_theta[0])
        assert together.best_objectives[task] == state.best_objective
        assert together.best_epochs[task] == state.best_epoch
        assert_same(together.rounds[task], state.rounds[0])
        assert_same(together.generators[task], state.generators[0])
    assert together.n_models_trained == sum(state.n_models_trained for state in alone)
    assert together.best_objective == pytest.approx(np.mean([s.best_objective for s in alone]))
    assert together.best_epoch == max(state.best_epoch for state in alone)
    # Their best epochs differ, so that it matters whose is whose.
    assert len({state.best_epoch for state in alone}) > 1


def test_with_a_penalty_all_tasks_have_one_best_epoch():
    settings = make_settings(**SETTINGS)
    problem = make_problem(noisy, n_tasks=3, penalty=RowGroups(0.05))
    state = begin(problem, settings, THETA)
    thetas = [state.theta]
    while state.epoch < settings.max_iter:
        state = train(problem, replace(settings, max_iter=state.epoch + 1, n_revivals=0), state)
        thetas.append(state.theta)
    validation = [record.validation_objective for record in state.history]
    assert state.best_epochs.shape == state.best_objectives.shape == (1,)
    assert state.best_epoch == 1 + int(np.argmin(validation))
    assert state.best_objective == min(validation)
    np.testing.assert_array_equal(state.best_theta, thetas[state.best_epoch])


def test_one_generator_for_all_gives_each_task_draws_of_its_own():
    settings = make_settings()
    problem = make_problem(noisy, n_tasks=3)
    state = begin(problem, settings)
    draws = [rounds[0].masks.toarray() for rounds in state.rounds]
    assert (draws[0] != draws[1]).any()
    assert (draws[1] != draws[2]).any()
    assert_same(state, begin(problem, settings))
