"""Repeats: alpha is optimised several times in one fit, each time as if it were alone."""

import tracemalloc
from dataclasses import replace

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.tree import DecisionTreeClassifier

from flat_parameters import flat
from randsub import PRSClassifier, PRSRegressor
from randsub.callbacks import Callback, Checkpoint, ScoringMonitor
from randsub.datasets import make_friedman, make_hypercube
from randsub.estimators import run as ensemble_run
from randsub.estimators.fit_data import MOST_SAMPLES, count_repeats
from randsub.exceptions import CheckpointError, InterruptedFitWarning
from randsub.penalties import ExpectedSize
from randsub.solver import Solver, Window

SETTINGS = {"n_estimators": 12, "max_iter": 16, "n_batches": 3, "learning_rate": 0.02}
X, Y, _ = make_friedman(n_samples=90, n_irrelevant=6, random_state=3)
XC, YC, _ = make_hypercube(n_samples=90, n_irrelevant=6, random_state=3)


def regressor(**changes):
    return PRSRegressor(LinearRegression(), **flat(random_state=0, **{**SETTINGS, **changes}))


def classifier(base=None, **changes):
    base = KNeighborsClassifier() if base is None else base
    return PRSClassifier(base, **flat(random_state=0, **{**SETTINGS, **changes}))


MODELS = {
    "fresh": lambda **c: regressor(**c),
    "window": lambda **c: classifier(refresh="window", n_generations=4, **c),
    "coupled": lambda **c: classifier(refresh="coupled", voting="soft", **c),
    "penalty": lambda **c: regressor(penalty=ExpectedSize(0.01), optimizer="prox_adam", **c),
    "groups": lambda **c: regressor(feature_groups=[[0, 1], [2, 3, 4]], max_samples=30, **c),
    "patience": lambda **c: regressor(n_iter_no_change=3, n_revivals=1, **c),
    "no validation": lambda **c: classifier(validation_fraction=None, **c),
}


def fitted(name, **changes):
    model = MODELS[name](**changes)
    data = (XC, YC) if isinstance(model, PRSClassifier) else (X, Y)
    return model.fit(*data)


def assert_same_model(one, two):
    np.testing.assert_array_equal(one.alphas_, two.alphas_)
    np.testing.assert_array_equal(one._average(X), two._average(X))
    for a, b in zip(one.estimators_features_, two.estimators_features_, strict=True):
        np.testing.assert_array_equal(a, b)
    for name in ("n_iter_", "best_iter_", "stop_reason_", "n_models_trained_", "validation_loss_"):
        assert getattr(one, name) == getattr(two, name)


@pytest.mark.parametrize("name", MODELS)
def test_a_repeat_does_not_depend_on_the_number_of_repeats(name):
    two, four = (fitted(name, n_repeats=n) for n in (2, 4))
    np.testing.assert_array_equal(two.alphas_, four.alphas_[:2])
    # And each is an optimisation of its own.
    assert len(np.unique(four.alphas_, axis=0)) == 4


@pytest.mark.parametrize("name", MODELS)
def test_what_a_fit_says_is_the_mean_over_its_repeats(name):
    model = fitted(name, n_repeats=3)
    assert model.n_repeats_ == 3
    n_features = model.n_features_in_
    assert model.alphas_.shape == (3, n_features)
    np.testing.assert_allclose(model.alpha_, model.alphas_.mean(axis=0))
    np.testing.assert_allclose(model.alpha_std_, model.alphas_.std(axis=0))
    np.testing.assert_array_equal(model.feature_importances_, model.alpha_)
    np.testing.assert_allclose(model.expected_size_, model.alphas_.sum(axis=1).mean())
    if name == "groups":
        np.testing.assert_allclose(model.group_alpha_[model.feature_groups_], model.alpha_)
    assert len(model.history_) == model.n_iter_
    assert model.best_iter_ <= model.n_iter_
    last = model.history_["n_models_trained"].iloc[-1]
    # Classifiers train one more ensemble per repeat, to calibrate their probabilities.
    n_ensembles = 1 + 3 * (name in ("window", "coupled"))
    assert model.n_models_trained_ == last + n_ensembles * model.n_estimators


@pytest.mark.parametrize("n_repeats", [1, 3])
def test_the_share_of_repeats_that_are_refreshed_is_that_of_their_models(n_repeats):
    model = fitted("fresh", n_repeats=n_repeats)
    trained = np.diff(model.history_["n_models_trained"])
    of_all = model.history_["n_models_trained"].iloc[0]
    share = model.history_["refreshed"]
    np.testing.assert_array_equal(trained / of_all, share.iloc[1:])
    assert 0.0 < share.mean() < 1.0


def test_one_repeat_has_no_spread():
    model = fitted("fresh", n_repeats=1)
    np.testing.assert_array_equal(model.alphas_, model.alpha_[np.newaxis])
    np.testing.assert_array_equal(model.alpha_std_, np.zeros(X.shape[1]))


def test_the_validation_loss_is_the_mean_of_the_best_ones():
    losses = []
    for n in (1, 2, 3):
        model = fitted("penalty", n_repeats=n)
        losses.append(n * model.validation_loss_)
        assert model.history_["validation_objective"].min() > 0.0
    own = np.diff([0.0, *losses])
    assert (own > 0.0).all()
    assert len(np.unique(own)) == 3


@pytest.mark.parametrize("n_estimators", [2, 3, 10, 11])
def test_members_are_divided_among_the_repeats(n_estimators):
    """Repeat r would draw feature r for sure and no other, so members tell whose they are."""
    found = []

    class Watch(Callback):
        def for_run(self, run):
            self.run = run
            return self

        def on_epoch_end(self, state):
            theta = np.eye(3, X.shape[1])
            found.append(self.run.members(replace(state.result(), best_theta=theta))[1])

    model = regressor(n_repeats=3, n_estimators=n_estimators, max_iter=1)
    model.set_callbacks(Watch()).fit(X, Y)
    assert len(model.estimators_) == len(model.estimators_features_) == n_estimators
    owners = [columns.tolist() for columns in found[0]]
    assert owners == sorted([[member % 3] for member in range(n_estimators)])


@pytest.mark.parametrize("name", ["fresh", "window", "penalty", "patience"])
def test_workers_and_backends(name):
    alone = fitted(name, n_repeats=3, n_jobs=1)
    assert_same_model(fitted(name, n_repeats=3, n_jobs=2), alone)
    for backend in ("threading", "loky"):
        with joblib.parallel_config(backend=backend, n_jobs=2):
            assert_same_model(fitted(name, n_repeats=3), alone)


def test_rows_of_weight_0_are_in_no_repeat():
    weight = np.where(np.arange(len(X)) % 3 == 0, 0.0, 1.0)
    strange = np.where(weight[:, np.newaxis] == 0.0, 1e6, X)
    model = regressor(n_repeats=4).fit(strange, Y, sample_weight=weight)
    kept = weight > 0.0
    np.testing.assert_allclose(
        model.alphas_, regressor(n_repeats=4).fit(X[kept], Y[kept]).alphas_, atol=1e-12
    )


def test_repeats_have_the_units_of_their_own_training_rows():
    seen = []

    class Watch(Callback):
        def for_run(self, run):
            seen.append(run.problem)
            return self

    regressor(n_repeats=5, max_iter=1).set_callbacks(Watch()).fit(X, Y)
    (problem,) = seen
    rows = np.concatenate([target.val_rows for target in problem.targets])
    np.testing.assert_array_equal(np.sort(rows), np.arange(len(X)))
    for target in problem.targets:
        assert target.reference.center == pytest.approx(Y[target.train_rows].mean())
        assert target.reference.scale == pytest.approx(Y[target.train_rows].std())


def test_with_validation_data_repeats_differ_in_their_draws_alone():
    one, three = (
        regressor(n_repeats=n).fit(X[:60], Y[:60], X_val=X[60:], y_val=Y[60:]) for n in (1, 3)
    )
    assert len(np.unique(three.alphas_, axis=0)) == 3
    # Each chooses its epoch on that data, as a single one does.
    np.testing.assert_array_equal(one.alphas_, three.alphas_[:1])


@pytest.mark.parametrize("n_repeats", [1, 3])
def test_repeats_choose_their_epoch_on_all_rows(n_repeats):
    """A single run does so on its validation samples alone."""
    seen = []

    class Watch(Callback):
        def on_epoch_end(self, state):
            seen.append((state.objectives, state.verdicts, state.theta))

    model = regressor(n_repeats=n_repeats, max_iter=40, n_revivals=0, learning_rate=0.05)
    model.set_callbacks(Watch()).fit(X, Y)
    objectives, verdicts, thetas = map(np.array, zip(*seen, strict=True))
    chosen = [(objectives + verdicts).argmin(axis=0), verdicts.argmin(axis=0)]
    assert (chosen[0] != chosen[1]).any()
    best = chosen[n_repeats == 1]
    np.testing.assert_array_equal(model.alphas_, thetas[best, np.arange(n_repeats)])
    assert model.validation_loss_ == verdicts[best, np.arange(n_repeats)].mean()


# -- how many --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("n_samples", "n_parameters", "splits", "expected"),
    [
        (100, 99, True, 1),
        (100, 100, True, 5),
        (100, 999, True, 5),
        (100, 1000, True, 20),
        (100, 100_000, True, 20),
        (100, 5000, False, 1),
        (MOST_SAMPLES, 5000, True, 5),
        (MOST_SAMPLES, 10_000, True, 20),
        (MOST_SAMPLES + 1, 5000, True, 1),
        (MOST_SAMPLES + 1, 100_000, True, 1),
    ],
)
def test_the_rule_of_auto(n_samples, n_parameters, splits, expected):
    facts = {"n_samples": n_samples, "n_parameters": n_parameters, "splits": splits}
    assert count_repeats("auto", **facts) == expected
    assert count_repeats(3, **facts) == 3
    assert MOST_SAMPLES == 1000


def test_auto_counts_samples_of_positive_weight_and_groups():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(24, 20)), rng.normal(size=24)
    weight = np.where(np.arange(24) < 18, 1.0, 0.0)
    assert regressor(max_iter=1).fit(X, y).n_repeats_ == 1
    assert regressor(max_iter=1).fit(X, y, sample_weight=weight).n_repeats_ == 5
    wide = rng.normal(size=(24, 180))
    assert regressor(max_iter=1).fit(wide, y).n_repeats_ == 5
    assert regressor(max_iter=1).fit(wide, y, sample_weight=weight).n_repeats_ == 20
    grouped = regressor(max_iter=1, feature_groups=np.arange(20) // 2)
    assert grouped.fit(X, y, sample_weight=weight).n_repeats_ == 1
    assert regressor(max_iter=1, validation_fraction=None).fit(X[:9], y[:9]).n_repeats_ == 1
    given = regressor(max_iter=1).fit(X[:9], y[:9], X_val=X[9:], y_val=y[9:])
    assert given.n_repeats_ == 1


# -- blocks ----------------------------------------------------------------------------------------


@pytest.fixture
def blocks_of_two(monkeypatch):
    """A budget for two repeats: their predictions, and 32 arrays as long as theta."""
    bytes_of_one = 8 * (12 * (72 + 3 * 18) + 32 * X.shape[1])
    monkeypatch.setattr(ensemble_run, "REPEAT_BYTES", int(2.5 * bytes_of_one))


@pytest.mark.parametrize("name", ["fresh", "penalty", "patience"])
def test_blocks_change_nothing(name, blocks_of_two, monkeypatch):
    begun = []

    class Watch(Callback):
        def on_start(self, settings, state):
            begun.append(len(state.theta))

    model = MODELS[name](n_repeats=5).set_callbacks(Watch()).fit(X, Y)
    assert begun == [2, 2, 1]
    monkeypatch.undo()
    whole = fitted(name, n_repeats=5)
    assert_same_model(model, whole)
    pd.testing.assert_frame_equal(model.history_, whole.history_, rtol=1e-12)


def test_names_and_shares_of_blocks(blocks_of_two):
    seen = []

    class Watch(Callback):
        def for_run(self, run):
            self.run = run
            return self

        def on_start(self, settings, state):
            seen.append((self.run.name, self.run.share))

    regressor(n_repeats=5, max_iter=1).set_callbacks(Watch()).fit(X, Y)
    assert seen == [
        ("PRSRegressor, repeats 1 to 2", 0.4),
        ("PRSRegressor, repeats 3 to 4", 0.8),
        ("PRSRegressor, repeats 5 to 5", 1.0),
    ]


def peak(n_repeats):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 4))
    model = PRSRegressor(
        KNeighborsRegressor(), n_estimators=100, max_iter=3, n_repeats=n_repeats, random_state=0
    )
    tracemalloc.start()
    try:
        model.fit(X, X[:, 0])
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_memory_does_not_grow_with_the_repeats_beyond_the_budget(monkeypatch):
    peak(1)
    predictions = 8 * 100 * (480 + 5 * 120)
    two = peak(2)
    assert peak(12) > two + 8 * predictions
    monkeypatch.setattr(ensemble_run, "REPEAT_BYTES", int(2.5 * predictions))
    assert peak(12) < two + predictions // 2


def test_thousands_of_features_count_as_memory():
    """Of a million features, few repeats are trained at the same time, however few the rows."""
    begun = []

    class Watch(Callback):
        def on_prepare(self, settings):
            begun.append(self.run.name)

        def for_run(self, run):
            self.run = run
            return self

    wide = np.random.default_rng(0).normal(size=(20, 200_000))
    model = regressor(n_repeats=20, max_iter=1, n_estimators=2).set_callbacks(Watch())
    model.fit(wide, np.arange(20.0))
    assert begun == [
        "PRSRegressor, repeats 1 to 9",
        "PRSRegressor, repeats 10 to 18",
        "PRSRegressor, repeats 19 to 20",
    ]


# -- callbacks and checkpoints ---------------------------------------------------------------------


class CrashError(Exception):
    """Stands for whatever may end a process."""


class CrashAt(Callback):
    def __init__(self, loop, epoch, error=CrashError):
        self.loop, self.epoch, self.error, self.loops = loop, epoch, error, 0

    def on_start(self, settings, state):
        self.loops += 1

    def on_epoch_end(self, state):
        if (self.loops, state.epoch) == (self.loop, self.epoch):
            raise self.error


@pytest.mark.parametrize("name", MODELS)
def test_a_resumed_fit_ends_like_an_uninterrupted_one(tmp_path, name):
    path = tmp_path / "run.ckpt"
    whole = fitted(name, n_repeats=3)
    data = (XC, YC) if isinstance(whole, PRSClassifier) else (X, Y)
    for epoch in (5, whole.n_iter_):
        model = MODELS[name](n_repeats=3)
        with pytest.raises(CrashError):
            model.set_callbacks(Checkpoint(path, every=2), CrashAt(1, epoch)).fit(*data)
        resumed = MODELS[name](n_repeats=3, n_jobs=2).fit(*data, resume_from=path)
        assert_same_model(resumed, whole)
        pd.testing.assert_frame_equal(resumed.history_, whole.history_, check_exact=True)


@pytest.mark.parametrize("name", ["fresh", "patience"])
def test_a_fit_in_blocks_is_resumed_in_any_of_them(tmp_path, name, blocks_of_two):
    path = tmp_path / "run.ckpt"
    whole = fitted(name, n_repeats=5)
    for loop in (1, 2, 3):
        for epoch in (1, 5):
            model = MODELS[name](n_repeats=5)
            with pytest.raises(CrashError):
                model.set_callbacks(Checkpoint(path, every=2), CrashAt(loop, epoch)).fit(X, Y)
            counter = CrashAt(0, 0)
            resumed = MODELS[name](n_repeats=5).set_callbacks(counter)
            assert_same_model(resumed.fit(X, Y, resume_from=path), whole)
            # Finished blocks are not trained again.
            assert counter.loops == 4 - loop


def test_finished_blocks_do_not_accept_other_epochs(tmp_path, blocks_of_two):
    path = tmp_path / "run.ckpt"
    model = regressor(n_repeats=5, n_revivals=0)
    with pytest.raises(CrashError):
        model.set_callbacks(Checkpoint(path, every=2), CrashAt(2, 5)).fit(X, Y)
    model.set_callbacks().set_params(max_iter=20)
    with pytest.raises(CheckpointError, match=r"max_iter was 16 and is 20, but 2 repeat\(s\) are"):
        model.fit(X, Y, resume_from=path)
    with pytest.raises(CheckpointError, match="n_repeats was 5 and is 4"):
        model.set_params(max_iter=16, n_repeats=4).fit(X, Y, resume_from=path)


def test_more_epochs_for_all_repeats(tmp_path):
    path = tmp_path / "run.ckpt"
    regressor(n_repeats=3, n_revivals=0).set_callbacks(Checkpoint(path)).fit(X, Y)
    longer = regressor(n_repeats=3, n_revivals=0, max_iter=24)
    resumed = longer.fit(X, Y, resume_from=path)
    assert_same_model(resumed, regressor(n_repeats=3, n_revivals=0, max_iter=24).fit(X, Y))


def test_ctrl_c_keeps_the_repeats_that_have_begun(blocks_of_two):
    model = regressor(n_repeats=5).set_callbacks(CrashAt(2, 7, KeyboardInterrupt))
    with pytest.warns(InterruptedFitWarning, match="after epoch 7 of 16"):
        model.fit(X, Y)
    assert model.n_repeats_ == 4
    assert model.stop_reason_ == "interrupted; 4 of 5 repeats"
    np.testing.assert_array_equal(model.alphas_[:2], regressor(n_repeats=2).fit(X, Y).alphas_)
    assert len(model.estimators_) == model.n_estimators


@pytest.mark.parametrize("in_blocks", [False, True])
def test_a_monitor_scores_the_model_of_all_repeats(in_blocks, request):
    if in_blocks:
        request.getfixturevalue("blocks_of_two")
    monitor = ScoringMonitor(X[60:], Y[60:], every=8)
    model = regressor(n_repeats=5).set_callbacks(monitor).fit(X[:60], Y[:60])
    assert monitor.scores_["score"].iloc[-1] == model.score(X[60:], Y[60:])
    assert monitor.scores_["epoch"].tolist()[-1] == 16


def test_a_tree_of_many_classes_with_few_samples_each():
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(8), 2)
    model = classifier(DecisionTreeClassifier(), n_repeats=7, max_iter=2)
    model.fit(rng.normal(size=(16, 3)), y)
    assert model.n_repeats_ == 7
    assert np.isfinite(model.alphas_).all()


def test_a_window_of_the_solver_by_object():
    model = regressor(n_repeats=2, solver=Solver(refresh=Window(3), n_batches=3))
    assert model.fit(X, Y).n_repeats_ == 2


def test_callbacks_of_scikit_learn_see_every_block(blocks_of_two):
    pytest.importorskip("sklearn.callback")
    began = []

    class Watch:
        def setup(self, estimator, context):
            pass

        def teardown(self, estimator, context):
            pass

        def on_fit_task_begin(self, estimator, context, **facts):
            began.append(context.task_name)

        def on_fit_task_end(self, estimator, context, **facts):
            pass

    regressor(n_repeats=5, max_iter=2).set_callbacks(Watch()).fit(X, Y)
    blocks = [f"PRSRegressor, repeats {names}" for names in ("1 to 2", "3 to 4", "5 to 5")]
    assert [name for name in began if name in blocks] == blocks
    assert began.count("epoch") == 6
