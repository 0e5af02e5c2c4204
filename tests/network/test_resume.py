"""A network whose fit was stopped and resumed is the one of an uninterrupted fit."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import Ridge

from flat_parameters import flat_network
from randsub.callbacks import Callback, Checkpoint, TimeLimit
from randsub.checkpoint.archive import read_archive, write_archive
from randsub.datasets import make_network
from randsub.exceptions import CheckpointError
from randsub.network import PRSNetwork
from randsub.solver import Solver

TRUTH = make_network(40, n_regulators=4, n_targets=4, n_modules=2, random_state=0)
WAYS = {
    "apart": {"lam": 0.0, "block_size": 3},
    "together": {"lam": 0.01},
    "path": {"lam": "path", "lams": (0.0, 0.005, 0.01)},
}


class CrashError(Exception):
    """Stands for whatever may end a process."""


class CrashAfter(Callback):
    """Ends the fit after so many epochs, of whatever training."""

    def __init__(self, n_epochs):
        self.left = n_epochs

    def on_epoch_end(self, state):
        self.left -= 1
        if self.left == 0:
            raise CrashError


def make(**changes):
    settings = {"n_estimators": 6, "max_iter": 6, "n_revivals": 1, "random_state": 0, **changes}
    return PRSNetwork(
        Ridge(), **flat_network(solver=Solver(n_batches=3, learning_rate=0.02), **settings)
    )


def fitted(model, **kwargs):
    return model.fit(TRUTH.expression, TRUTH.regulators, gene_names=TRUTH.gene_names, **kwargs)


@pytest.mark.parametrize("way", WAYS)
def test_a_resumed_fit_ends_bit_for_bit_like_an_uninterrupted_one(tmp_path, way):
    path = tmp_path / "run.ckpt"
    whole = fitted(make(**WAYS[way]))
    for n_epochs in range(1, len(whole.history_) + 1, 2):
        with pytest.raises(CrashError):
            fitted(make(**WAYS[way]).set_callbacks(Checkpoint(path), CrashAfter(n_epochs)))
        resumed = fitted(make(**WAYS[way]), resume_from=path)
        np.testing.assert_array_equal(resumed.alpha_, whole.alpha_)
        np.testing.assert_array_equal(resumed.link_weights_, whole.link_weights_)
        pd.testing.assert_frame_equal(resumed.history_, whole.history_, check_exact=True)
        columns = ["lam", "validation_error", "standard_error", "mean_size", "n_models"]
        pd.testing.assert_frame_equal(
            resumed.path_[columns], whole.path_[columns], check_exact=True
        )
        assert resumed.lam_ == whole.lam_
        assert resumed.stop_reason_ == whole.stop_reason_
        assert (resumed.path_["seconds"] > 0.0).all()


def test_finished_trainings_are_not_repeated(tmp_path):
    path = tmp_path / "run.ckpt"
    epochs = []

    class Count(Callback):
        def on_epoch_end(self, state):
            epochs.append(state.epoch)

    with pytest.raises(CrashError):
        fitted(make(**WAYS["path"]).set_callbacks(Checkpoint(path), CrashAfter(8)))
    fitted(make(**WAYS["path"]).set_callbacks(Count()), resume_from=path)
    assert epochs == [3, 1, 2, 3]


@pytest.fixture(scope="module")
def stopped(tmp_path_factory):
    path = tmp_path_factory.mktemp("checkpoint") / "run.ckpt"
    with pytest.raises(CrashError):
        fitted(make(**WAYS["path"]).set_callbacks(Checkpoint(path), CrashAfter(8)))
    return path


def test_another_fit_is_refused(stopped):
    model = make(**WAYS["path"])
    genes = {"gene_names": TRUTH.gene_names}
    expression, regulators = TRUTH.expression, TRUTH.regulators
    for message, args, kwargs in [
        ("expression was float64 of", (expression + 1e-9, regulators), genes),
        (r"regulators was .* shape \(4,\)", (expression, regulators[:3]), genes),
        ("gene_names was", (expression, [0, 1, 2, 3]), {}),
        ("targets was not given", (expression, regulators), {**genes, "targets": [0, 1]}),
        ("expression_val was not given", (expression, regulators, expression), genes),
    ]:
        with pytest.raises(CheckpointError, match=message):
            model.fit(*args, **kwargs, resume_from=stopped)
    with pytest.raises(CheckpointError, match="max_iter was 6 and is 7"):
        fitted(make(**WAYS["path"], max_iter=7), resume_from=stopped)


@pytest.mark.parametrize(
    "name", ["theta", "shares", "mean_alpha", "errors", "history", "total", "finished"]
)
def test_made_up_content_is_refused(stopped, tmp_path, name):
    tree = read_archive(stopped)
    progress = tree["progress"]
    if name == "finished":
        progress["finished"] = 3
    elif name == "total":
        progress["current"]["total"] = np.zeros(2)
    else:
        progress["finished"][0][name] = np.zeros((1, 1))
    write_archive(tmp_path / "run.ckpt", tree)
    with pytest.raises(CheckpointError, match="content is invalid"):
        fitted(make(**WAYS["path"]), resume_from=tmp_path / "run.ckpt")


@pytest.mark.parametrize("way", WAYS)
def test_a_time_limit_leaves_no_target_out(way):
    model = fitted(
        make(**WAYS[way], max_iter=10**5, n_iter_no_change=10**5).set_callbacks(TimeLimit(2.0))
    )
    assert model.stop_reason_.startswith("TimeLimit: ")
    # Of a path, penalties whose first models could not be trained in time are left out.
    assert 1 <= len(model.path_) <= (3 if way == "path" else 1)
    # Every gene may have a regulator, and each is seen with some probability at the start.
    assert (model.link_weights_.sum(axis=0) > 0.0).all()
