"""When checkpoints are written, and what happens when they cannot be."""

import os

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

from randsub import PRSRegressor
from randsub.callbacks import Checkpoint
from randsub.checkpoint.callback import _Writer
from randsub.exceptions import CheckpointWarning
from randsub.solver import Callback, Run, train
from tiny_world import begin, make_problem, make_settings, noisy

X = np.random.default_rng(0).normal(size=(30, 4))


class Noting(Run):
    """Notes of which epochs checkpoints were asked for."""

    can_predict = False

    def __init__(self, failing=()) -> None:
        self.estimator, self.epochs, self.failing = PRSRegressor(), [], set(failing)

    def fitted_estimator(self, state):
        raise NotImplementedError

    def save(self, path, state) -> None:
        self.epochs.append(state.epoch)
        if state.epoch in self.failing:
            raise OSError("no space left on device")


def watched(run, tmp_path, *further, clock=None, **when):
    callback = Checkpoint(tmp_path / "run.ckpt", **when).for_run(run)
    if clock is not None:
        callback = _Writer(run, tmp_path / "run.ckpt", when.get("every"), when["seconds"], clock)
    problem, settings = make_problem(noisy), make_settings(max_iter=10)
    return train(problem, settings, begin(problem, settings), [callback, *further])


@pytest.mark.parametrize(
    ("every", "epochs"), [(3, [3, 6, 9, 10]), (5, [5, 10]), (100, [10]), (None, [10])]
)
def test_every_so_many_epochs_and_at_the_end(tmp_path, every, epochs) -> None:
    run = Noting()
    watched(run, tmp_path, every=every, seconds=None)
    assert run.epochs == epochs


@pytest.mark.parametrize(("every", "epochs"), [(None, [4, 8, 10]), (2, [2, 4, 6, 8, 10])])
def test_every_so_many_seconds(tmp_path, every, epochs) -> None:
    ticks = [0.0]

    class Tick(Callback):
        def on_epoch_begin(self, state) -> None:
            ticks[0] += 1.0

    run = Noting()
    watched(run, tmp_path, Tick(), clock=lambda: ticks[0], every=every, seconds=4.0)
    assert run.epochs == epochs


def test_a_failure_to_write_is_told_and_training_goes_on(tmp_path) -> None:
    run = Noting(failing=[3])
    with pytest.warns(CheckpointWarning, match=r"epoch 3 could not be written .* no space left"):
        state = watched(run, tmp_path, every=3, seconds=None)
    assert state.epoch == 10
    assert run.epochs == [3, 6, 9, 10]


def test_what_breaks_leaves_the_last_whole_epoch(tmp_path) -> None:
    class Broken(Callback):
        def on_epoch_end(self, state) -> None:
            if state.epoch == 5:
                raise RuntimeError("broken")

    run = Noting()
    with pytest.raises(RuntimeError, match="broken"):
        watched(run, tmp_path, Broken(), every=3, seconds=None)
    assert run.epochs == [3, 5]


def test_before_the_first_epoch_there_is_nothing_to_write(tmp_path) -> None:
    class Broken(Callback):
        def on_start(self, settings, state) -> None:
            raise RuntimeError("broken")

    run = Noting()
    with pytest.raises(RuntimeError, match="broken"):
        watched(run, tmp_path, Broken(), every=1)
    assert run.epochs == []


def test_the_file_is_all_there_is(tmp_path) -> None:
    path = tmp_path / "run.ckpt"
    model = PRSRegressor(LinearRegression(), n_estimators=5, max_iter=4, random_state=0)
    model.set_callbacks(Checkpoint(path, every=1)).fit(X, X[:, 0])
    assert os.listdir(tmp_path) == ["run.ckpt"]
    # As the docstring says: nearly all of it are predictions.
    predictions = 8 * 5 * (24 + 5 * 6)
    assert predictions < path.stat().st_size < predictions + 8000


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda folder: Checkpoint(folder), IsADirectoryError, "is a folder"),
        (lambda folder: Checkpoint(folder / "no" / "run"), FileNotFoundError, "does not exist"),
        (lambda folder: Checkpoint(folder / "run", every=0), ValueError, "every >= 1, got 0"),
        (lambda folder: Checkpoint(folder / "run", seconds=-1), ValueError, "seconds >= 0, got -1"),
    ],
    ids=["folder", "nowhere", "every", "seconds"],
)
def test_unusable_parameters_are_refused_before_anything_is_trained(
    tmp_path, make, error, message
) -> None:
    with pytest.raises(error, match=message):
        PRSRegressor().set_callbacks(make(tmp_path)).fit(X, X[:, 0])


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_is_closed_is_refused(tmp_path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(PermissionError, match="Nothing can be written to"):
        PRSRegressor().set_callbacks(Checkpoint(tmp_path / "run")).fit(X, X[:, 0])
