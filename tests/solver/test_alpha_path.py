"""Alpha along the epochs: what is recorded, in how much memory, and by whom."""

from dataclasses import replace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from randsub.solver import joined, train
from randsub.solver.alpha_path import AlphaPath, joined_paths, most_snapshots
from tiny_world import Recorder, begin, make_problem, make_settings, noisy


def walked(n_epochs, most, ends):
    """The path of tasks that end after different numbers of epochs, in lockstep."""
    path = AlphaPath()
    for epoch in range(n_epochs + 1):
        path = path.extended(epoch, alphas_at(epoch, ends), most)
        assert len(path.epochs) < most
    return path.ended(n_epochs, alphas_at(n_epochs, ends))


def alphas_at(epoch, ends):
    return np.array([[min(epoch, end) / 1000.0, task] for task, end in enumerate(ends)])


@settings(deadline=None, derandomize=True)
@given(n_epochs=st.integers(0, 400), most=st.integers(4, 50))
def test_snapshots_are_few_even_and_true(n_epochs, most):
    path = walked(n_epochs, most, (n_epochs,))
    epochs = np.array(path.epochs)
    assert len(epochs) <= most
    assert len(epochs) >= min(n_epochs + 1, most // 2)
    assert (epochs[0], epochs[-1]) == (0, n_epochs)
    # Evenly spaced, but for the last one, which is there in any case.
    assert len(set(np.diff(epochs[:-1]))) <= 1
    for epoch, alpha in zip(path.epochs, path.alphas, strict=True):
        assert alpha.dtype == np.float32
        np.testing.assert_array_equal(alpha, alphas_at(epoch, (n_epochs,)).astype(np.float32))


@settings(deadline=None, derandomize=True)
@given(ends=st.lists(st.integers(0, 90), min_size=1, max_size=4), most=st.integers(4, 20))
def test_paths_of_tasks_alone_are_joined_to_that_of_lockstep(ends, most):
    together = walked(max(ends), most, ends)
    alone = []
    for task, end in enumerate(ends):
        path = AlphaPath()
        for epoch in range(end + 1):
            path = path.extended(epoch, alphas_at(epoch, ends)[[task]], most)
        alone.append(path.ended(end, alphas_at(end, ends)[[task]]))
    found = joined_paths(alone)
    assert found.epochs == together.epochs
    np.testing.assert_array_equal(found.alphas, together.alphas)


def test_memory_is_bounded_for_wide_data():
    assert most_snapshots(10) == most_snapshots(10_000) == 100
    for n_columns in (20_000, 100_000, 250_000):
        assert 4 <= most_snapshots(n_columns) < 100
        assert 4 * n_columns * most_snapshots(n_columns) <= 4_000_000
    assert most_snapshots(10**7) == 4


def test_training_records_what_it_does_and_does_nothing_else():
    rules = make_settings(max_iter=12)
    plain = make_problem(noisy)
    problem = replace(plain, most_snapshots=8)
    recorder = Recorder()
    final = train(problem, rules, begin(problem, rules), [recorder])
    np.testing.assert_array_equal(final.theta, train(plain, rules, begin(plain, rules)).theta)
    path = final.result().path
    assert path.epochs == (0, 2, 4, 6, 8, 10, 12)
    for epoch, alpha in zip(path.epochs, path.alphas, strict=True):
        np.testing.assert_array_equal(alpha, recorder.states[epoch].alpha.astype(np.float32))


def test_without_a_place_for_it_nothing_is_recorded():
    rules, problem = make_settings(max_iter=2), make_problem(noisy, n_tasks=2)
    result = train(problem, rules, begin(problem, rules)).result()
    assert result.path == joined([result, result]).path == AlphaPath()
