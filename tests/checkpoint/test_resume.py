"""A fit that was stopped and resumed ends as if it had never been stopped."""

import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

from crashing import CrashAt, CrashError
from flat_parameters import flat, nested
from randsub import PRSClassifier, PRSRegressor
from randsub._version import versions_of
from randsub.callbacks import Checkpoint, EarlyStopping
from randsub.checkpoint import logbook
from randsub.checkpoint.archive import read_archive, write_archive
from randsub.datasets import make_friedman, make_hypercube
from randsub.exceptions import CheckpointError, CheckpointWarning, InterruptedFitWarning
from randsub.penalties import ExpectedSize
from randsub.solver import Solver, Window

SETTINGS = {
    "n_estimators": 12,
    "max_iter": 24,
    "n_batches": 3,
    "learning_rate": 0.02,
    "ess_threshold": 0.5,
    "n_revivals": 2,
}


class Earlier(Checkpoint):
    """Writes nothing at the end, as if the process had been killed."""

    def for_run(self, run):
        writer = super().for_run(run)
        writer.on_end = lambda state: None
        return writer


def data(model):
    make = make_friedman if isinstance(model, PRSRegressor) else make_hypercube
    X, y, _ = make(n_samples=90, n_irrelevant=6, random_state=3)
    return X[:60], y[:60], X[60:]


def assert_same_model(one, two, X):
    np.testing.assert_array_equal(one.alpha_, two.alpha_)
    np.testing.assert_array_equal(one.validation_scores_, two.validation_scores_)
    pd.testing.assert_frame_equal(one.history_, two.history_, check_exact=True)
    np.testing.assert_array_equal(one.alpha_path_, two.alpha_path_)
    np.testing.assert_array_equal(one.alpha_path_epochs_, two.alpha_path_epochs_)
    np.testing.assert_array_equal(one._average(X), two._average(X))
    for a, b in zip(one.estimators_features_, two.estimators_features_, strict=True):
        np.testing.assert_array_equal(a, b)
    for name in ("n_iter_", "best_iter_", "stop_reason_", "n_models_trained_", "validation_loss_"):
        assert getattr(one, name) == getattr(two, name)


MODELS = {
    "fresh": lambda: PRSRegressor(LinearRegression(), random_state=0),
    "window": lambda: PRSRegressor(
        KNeighborsRegressor(), solver=Solver(refresh=Window(4)), random_state=0
    ),
    "coupled": lambda: PRSClassifier(
        KNeighborsClassifier(), solver=Solver(refresh="coupled"), random_state=0
    ),
    "penalty": lambda: PRSRegressor(
        LinearRegression(),
        penalty=ExpectedSize(0.01),
        solver=Solver(optimizer="prox_adam"),
        random_state=0,
    ),
    "groups": lambda: PRSRegressor(
        LinearRegression(), feature_groups=[[0, 1], [2, 3, 4]], max_samples=30, random_state=0
    ),
    "patience": lambda: PRSRegressor(LinearRegression(), n_iter_no_change=3, random_state=0),
    "no validation": lambda: PRSClassifier(
        KNeighborsClassifier(), voting="soft", validation_fraction=None, random_state=0
    ),
}


@pytest.mark.parametrize("name", MODELS)
def test_a_resumed_fit_ends_bit_for_bit_like_an_uninterrupted_one(tmp_path, name):
    path = tmp_path / "run.ckpt"
    whole = MODELS[name]().set_params(**nested(**SETTINGS))
    X, y, X_test = data(whole)
    whole.fit(X, y)
    last = whole.n_iter_
    assert whole.history_["refreshed"].sum() > 1
    # Before, at and after a revival, between two checkpoints, and after the last epoch.
    for epoch in sorted({4, min(8, last), min(9, last), last}):
        model = MODELS[name]().set_params(**nested(**SETTINGS))
        with pytest.raises(CrashError):
            model.set_callbacks(Earlier(path, every=4), CrashAt(epoch)).fit(X, y)
        resumed = (
            MODELS[name]().set_params(**nested(**SETTINGS, n_jobs=2)).fit(X, y, resume_from=path)
        )
        assert_same_model(resumed, whole, X_test)


KILLED = """
    import os, signal, sys
    import numpy as np
    from sklearn.neighbors import KNeighborsClassifier
    from randsub import PRSClassifier
    from randsub.callbacks import Callback, Checkpoint
    from randsub.solver import Solver

    class KillAt(Callback):
        def on_epoch_end(self, state):
            if state.epoch == 14:
                os.kill(os.getpid(), signal.SIGKILL)

    data = np.load(sys.argv[1])
    solver = Solver(n_batches=3, learning_rate=0.02, ess_threshold=0.5, n_revivals=2)
    model = PRSClassifier(KNeighborsClassifier(), n_estimators=12, max_iter=24, solver=solver)
    model.set_callbacks(Checkpoint(sys.argv[2], every=5), KillAt()).fit(data["X"], data["y"])
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="this system has no SIGKILL")
def test_a_killed_process_goes_on_in_another_one(tmp_path):
    path = tmp_path / "run.ckpt"
    # Without a seed: the one that was drawn there is taken over.
    model = PRSClassifier(KNeighborsClassifier(), **flat(**SETTINGS))
    X, y, X_test = data(model)
    np.savez(tmp_path / "data.npz", X=X, y=y)
    answer = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(KILLED), str(tmp_path / "data.npz"), str(path)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        check=False,
    )
    assert answer.returncode == -signal.SIGKILL
    tree = read_archive(path)
    assert tree["progress"]["current"]["state"]["epoch"] == 10
    model.fit(X, y, resume_from=path)
    assert model.n_iter_ == 24
    # The uninterrupted run of that seed.
    whole = PRSClassifier(KNeighborsClassifier(), **flat(**SETTINGS))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("randsub.estimators.base.seed_words", lambda random_state: tree["seed"])
        whole.fit(X, y)
    assert_same_model(model, whole, X_test)
    again = PRSClassifier(KNeighborsClassifier(), **flat(**SETTINGS)).fit(X, y, resume_from=path)
    assert_same_model(again, whole, X_test)


def fitted_until(epoch, path, *further, **changes):
    """A fit that crashes after an epoch, and its data."""
    model = PRSRegressor(LinearRegression(), **flat(random_state=0, **{**SETTINGS, **changes}))
    X, y, X_test = data(model)
    model.set_callbacks(Checkpoint(path, every=4), *further, CrashAt(epoch))
    with pytest.raises(CrashError):
        model.fit(X, y)
    return X, y, X_test


def remade(**changes):
    return PRSRegressor(LinearRegression(), **flat(random_state=0, **{**SETTINGS, **changes}))


def test_a_finished_fit_gives_the_same_model_again(tmp_path):
    path = tmp_path / "run.ckpt"
    whole = remade().set_callbacks(Checkpoint(path))
    X, y, X_test = data(whole)
    whole.fit(X, y)
    assert_same_model(remade().fit(X, y, resume_from=path), whole, X_test)
    # As a text, and with more checkpoints to come.
    again = remade().set_callbacks(Checkpoint(path)).fit(X, y, resume_from=str(path))
    assert_same_model(again, whole, X_test)


def test_a_fit_that_stopped_early_stops_there_again(tmp_path):
    path = tmp_path / "run.ckpt"
    stopping = EarlyStopping(2)
    whole = remade(max_iter=200).set_callbacks(Checkpoint(path), stopping)
    X, y, X_test = data(whole)
    whole.fit(X, y)
    assert whole.n_iter_ < 200
    resumed = remade(max_iter=200).set_callbacks(stopping).fit(X, y, resume_from=path)
    assert_same_model(resumed, whole, X_test)
    # Without the callback it goes on.
    assert remade(max_iter=200).fit(X, y, resume_from=path).n_iter_ == 200


def test_an_interrupted_fit_is_a_model_and_can_go_on(tmp_path):
    path = tmp_path / "run.ckpt"
    model = remade().set_callbacks(Checkpoint(path), CrashAt(7, KeyboardInterrupt))
    X, y, X_test = data(model)
    with pytest.warns(InterruptedFitWarning):
        model.fit(X, y)
    assert model.n_iter_ == 7
    whole = remade().fit(X, y)
    assert_same_model(remade().fit(X, y, resume_from=path), whole, X_test)


@pytest.mark.parametrize("seed", [None, np.random.RandomState(3)], ids=["none", "state"])
def test_without_a_number_for_a_seed_that_of_the_checkpoint_is_used(tmp_path, seed):
    path = tmp_path / "run.ckpt"
    whole = remade().set_params(random_state=seed).set_callbacks(Checkpoint(path, every=4))
    X, y, X_test = data(whole)
    whole.fit(X, y)
    resumed = remade().set_params(random_state=seed).fit(X, y, resume_from=path)
    assert_same_model(resumed, whole, X_test)


def test_more_epochs_are_added_where_that_is_exact(tmp_path):
    path = tmp_path / "run.ckpt"
    short = remade(n_revivals=0).set_callbacks(Checkpoint(path))
    X, y, X_test = data(short)
    short.fit(X, y)
    longer = remade(n_revivals=0, max_iter=40)
    assert_same_model(
        remade(n_revivals=0, max_iter=40).fit(X, y, resume_from=path), longer.fit(X, y), X_test
    )
    with pytest.raises(CheckpointError, match="max_iter was 24 and is 20, but 24 epochs are done"):
        remade(n_revivals=0, max_iter=20).fit(X, y, resume_from=path)
    # Early enough, even the time of the revivals can be moved.
    fitted_until(6, path)
    longer = remade(max_iter=36).fit(X, y)
    assert_same_model(remade(max_iter=36).fit(X, y, resume_from=path), longer, X_test)
    with pytest.raises(CheckpointError, match="revival 1 would have been after epoch 4 and not 8"):
        remade(max_iter=12).fit(X, y, resume_from=path)
    fitted_until(12, path)
    with pytest.raises(CheckpointError, match="revival 1 would have been after epoch 12 and not 8"):
        remade(max_iter=36).fit(X, y, resume_from=path)


def test_a_revival_that_a_plateau_brought_forward_does_not_care(tmp_path):
    path = tmp_path / "run.ckpt"
    changes = {"n_iter_no_change": 3, "max_iter": 60, "n_revivals": 1}
    whole = remade(**changes).set_callbacks(Checkpoint(path))
    X, y, X_test = data(whole)
    whole.fit(X, y)
    (revived,) = np.flatnonzero(whole.history_["revived"])
    assert revived < 30
    longer = {**changes, "max_iter": 90}
    resumed = remade(**longer).fit(X, y, resume_from=path)
    assert_same_model(resumed, remade(**longer).fit(X, y), X_test)


def test_it_does_not_matter_who_says_how_many_epochs(tmp_path):
    path = tmp_path / "run.ckpt"
    X, y, X_test = fitted_until(6, path)
    model = remade(max_iter=None).set_params(solver__max_iter=24)
    assert_same_model(model.fit(X, y, resume_from=path), remade().fit(X, y), X_test)
    with pytest.raises(CheckpointError, match="max_iter was 24 and is 12, with which revival 1"):
        model.set_params(solver__max_iter=12).fit(X, y, resume_from=path)


# -- what is refused -----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def stopped(tmp_path_factory):
    path = tmp_path_factory.mktemp("checkpoint") / "run.ckpt"
    return path, *fitted_until(6, path)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"learning_rate": 0.1}, "solver__learning_rate was 0.02 and is 0.1"),
        ({"random_state": 1}, "random_state was 0 and is 1"),
        ({"random_state": None}, "random_state was 0 and is None"),
        ({"estimator": KNeighborsRegressor()}, r"estimator was LinearRegression\(.* and is KNeigh"),
        ({"penalty": ExpectedSize(0.1)}, r"penalty was None and is ExpectedSize\("),
        (
            {"n_estimators": 13, "n_batches": 4},
            "n_estimators was 12 and is 13; solver__n_batches was 3 and is 4",
        ),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, dict) else "",
)
def test_other_parameters_are_refused(stopped, changes, message):
    path, X, y, _ = stopped
    with pytest.raises(CheckpointError, match=message):
        remade().set_params(**nested(**changes)).fit(X, y, resume_from=path)


def test_other_data_is_refused(stopped):
    path, X, y, X_test = stopped
    changed = X.copy()
    changed[3, 2] += 1e-12
    weight = np.ones(len(y))
    names = [f"x{j}" for j in range(X.shape[1])]
    for message, args, validation in [
        ("X was float64 of .* and is float64 of", (changed, y), {}),
        ("y was float64 of .* and is float64 of", (X, -y), {}),
        (r"X was .* shape \(60, 11\) .* and is .* shape \(60, 10\)", (X[:, :-1], y), {}),
        ("sample_weight was not given and is float64", (X, y, weight), {}),
        ("X_val was not given and is float64", (X, y), {"X_val": X_test, "y_val": y[:30]}),
        ("X was float64 of .* and is float64 of", (pd.DataFrame(X, columns=names), y), {}),
    ]:
        with pytest.raises(CheckpointError, match=message):
            remade().fit(*args, **validation, resume_from=path)


def test_another_kind_of_model_is_refused(stopped):
    path, X, y, _ = stopped
    with pytest.raises(CheckpointError, match="model was PRSRegressor and is PRSClassifier"):
        PRSClassifier().fit(X, y > np.median(y), resume_from=path)


def test_another_version_is_refused(stopped, monkeypatch):
    path, X, y, _ = stopped
    monkeypatch.setattr(logbook, "__version__", "99.0")
    with pytest.raises(CheckpointError, match=r"randsub was .* and is 99\.0"):
        remade().fit(X, y, resume_from=path)


def test_other_versions_of_libraries_are_told(stopped, monkeypatch):
    path, X, y, X_test = stopped
    known = versions_of(*logbook.LIBRARIES)
    monkeypatch.setattr(logbook, "versions_of", lambda *names: {**known, "numpy": "99.0"})
    with pytest.warns(CheckpointWarning, match=r"other library versions: numpy was .* and is 99.0"):
        resumed = remade().fit(X, y, resume_from=path)
    assert_same_model(resumed, remade().fit(X, y), X_test)


def test_a_missing_file_is_refused(stopped, tmp_path):
    _, X, y, _ = stopped
    for path in (tmp_path / "none.ckpt", tmp_path):
        with pytest.raises(FileNotFoundError, match="is not a file"):
            remade().fit(X, y, resume_from=path)
    with pytest.raises(TypeError, match="resume_from must be the path of a file, got 3"):
        remade().fit(X, y, resume_from=3)


def damaged(tree, name):
    state = tree["progress"]["current"]["state"]
    if name == "theta":
        state["theta"] = state["theta"][:, :-1]
    elif name == "state":
        tree["progress"] = {"max_iter": 24}
    elif name == "progress":
        tree["progress"] = [1]
    elif name == "identity":
        tree["identity"] = 5
    elif name == "tree":
        return ["nothing"]
    return tree


@pytest.mark.parametrize("name", ["theta", "state", "progress", "identity", "tree"])
def test_made_up_content_is_refused(stopped, tmp_path, name):
    path, X, y, _ = stopped
    write_archive(tmp_path / "run.ckpt", damaged(read_archive(path), name))
    with pytest.raises(CheckpointError, match="content is invalid"):
        remade().fit(X, y, resume_from=tmp_path / "run.ckpt")


def test_a_damaged_file_is_refused_and_the_model_left_as_it_was(stopped, tmp_path):
    path, X, y, _ = stopped
    content = path.read_bytes()
    model = remade().fit(X, y)
    before = vars(model).copy()
    for number, broken in enumerate([content[:-1], b"", content[:100] + b"?" + content[101:]]):
        file = Path(tmp_path / f"{number}.ckpt")
        file.write_bytes(broken)
        with pytest.raises(CheckpointError, match="cannot be resumed from"):
            model.fit(X, y, resume_from=file)
    assert vars(model) == before
