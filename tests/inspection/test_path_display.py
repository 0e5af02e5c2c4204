"""Alpha along the epochs: what is remembered, and what is drawn."""

from dataclasses import dataclass
from types import SimpleNamespace

import matplotlib.pyplot as plt
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import Ridge
from sklearn.neighbors import KNeighborsRegressor

from randsub import PRSRegressor
from randsub.inspection import AlphaPath, ConvergenceDisplay, PathDisplay
from randsub.inspection.path_display import spread
from randsub.solver import Solver, train
from tiny_world import begin, make_problem, make_settings, noisy


@dataclass
class State:
    """As much of a training state as is looked at."""

    epoch: int
    alpha: np.ndarray
    best_alpha: np.ndarray
    best_epoch: int


def state(epoch, n_features=2):
    theta = np.full((1, n_features), epoch / 1000.0)
    return State(epoch, theta, theta, epoch)


def watch(path, n_epochs, first=0, n_features=2):
    path.on_prepare(None)
    path.on_start(None, state(first, n_features))
    for epoch in range(first + 1, first + n_epochs + 1):
        path.on_epoch_end(state(epoch, n_features))
        assert len(path.epochs_) <= path.max_snapshots
    path.on_end(state(first + n_epochs, n_features))
    return path


@settings(deadline=None, derandomize=True)
@given(n_epochs=st.integers(0, 400), limit=st.integers(4, 50), first=st.integers(0, 30))
def test_snapshots_are_few_even_and_true(n_epochs, limit, first):
    path = watch(AlphaPath(limit), n_epochs, first)
    epochs = path.epochs_
    assert len(epochs) <= limit
    assert len(epochs) >= min(n_epochs + 1, limit // 2)
    assert epochs[0] == first
    assert epochs[-1] == first + n_epochs
    # Evenly spaced, but for the last one, which is there in any case.
    assert len(set(np.diff(epochs[:-1]))) <= 1
    np.testing.assert_array_equal(
        path.alphas_[:, 0], np.repeat(epochs[:, np.newaxis] / 1000.0, 2, axis=1).astype(np.float32)
    )


def test_memory_is_bounded_for_wide_data():
    path = watch(AlphaPath(200, max_megabytes=0.4), 100, n_features=10_000)
    assert path.alphas_.nbytes <= 0.4e6
    assert path.alphas_.dtype == np.float32
    # Too small a bound leaves four, not none.
    assert 3 <= len(watch(AlphaPath(200, max_megabytes=1e-6), 100).epochs_) <= 4


def test_a_fit_is_watched_and_not_changed():
    path, rules = AlphaPath(), make_settings(max_iter=12)
    alone = train(make_problem(noisy), rules, begin(make_problem(noisy), rules))
    watched = train(make_problem(noisy), rules, begin(make_problem(noisy), rules), [path])
    np.testing.assert_array_equal(watched.alpha, alone.theta)
    np.testing.assert_array_equal(path.epochs_, np.arange(13))
    np.testing.assert_array_equal(path.alphas_[-1], watched.alpha.astype(np.float32))
    np.testing.assert_array_equal(path.best_alpha_, watched.best_alpha)
    assert path.best_epoch_ == watched.best_epoch


def test_fits_at_the_same_time_do_not_mix():
    path = AlphaPath(20)
    first, second = path.for_run(None), path.for_run(None)
    for watcher, n_features in ((first, 2), (second, 3)):
        watcher.on_start(None, state(0, n_features))
    for watcher, n_features in ((first, 2), (second, 3)):
        watcher.on_epoch_end(state(1, n_features))
        watcher.on_end(state(1, n_features))
    assert first.alphas_.shape == (2, 1, 2)
    # The one that ended last.
    assert path.has_ended
    assert path.alphas_.shape == (2, 1, 3)


def test_a_fit_that_fails_leaves_no_path():
    path = watch(AlphaPath(), 3)
    path.on_prepare(None)
    path.on_end(state(0))
    assert not path.has_ended
    assert not len(path.epochs_)


@pytest.mark.parametrize("bad", [{"max_snapshots": 3}, {"max_megabytes": 0.0}])
def test_bounds_that_are_none(bad):
    with pytest.raises(ValueError, match=f"{next(iter(bad))} must be"):
        AlphaPath(**bad)


def path_of(model):
    """As if it had watched the fit."""
    path = AlphaPath()
    start = np.full((1, len(model.alpha_)), 0.5)
    path.on_start(None, State(0, start, start, 0))
    best = model.alpha_[np.newaxis]
    path.on_end(State(model.n_iter_, start / 2.0, best, model.best_iter_))
    return path


def test_a_model_is_drawn_with_its_marks(model):
    display = PathDisplay.from_estimator(model, path_of(model), n_features=3)
    order = np.argsort(-model.alpha_, kind="stable")[:3]
    np.testing.assert_array_equal(display.shown_, order)
    assert [text.get_text() for text in display.texts_] == [f"x{j}" for j in order]
    assert display.lines_[0].get_xdata().tolist() == [0, 20]
    assert display.lines_[0].get_ydata().tolist() == [0.5, 0.25]
    assert display.best_line_.get_xdata()[0] == model.best_iter_
    revived = model.history_.index[model.history_["revived"]]
    assert len(revived) == 1
    assert [line.get_xdata()[0] for line in display.revival_lines_] == [revived[0] - 0.5]
    display.figure_.canvas.draw()


def test_the_path_is_found_among_the_callbacks(model):
    path = path_of(model)
    try:
        model._skl_callbacks = [object(), path]
        display = PathDisplay.from_estimator(model)
    finally:
        del model._skl_callbacks
    assert len(display.lines_) == 10
    with pytest.raises(ValueError, match="no record of alpha along the epochs"):
        PathDisplay.from_estimator(model)


def test_set_callbacks_records_a_fit(friedman):
    prs = PRSRegressor(
        KNeighborsRegressor(),
        n_estimators=5,
        max_iter=4,
        solver=Solver(n_revivals=0),
        random_state=0,
    )
    prs.set_callbacks(AlphaPath()).fit(*friedman)
    display = PathDisplay.from_estimator(prs)
    assert display.lines_[0].get_xdata().tolist() == [0, 1, 2, 3, 4]
    at_best = [line.get_ydata()[prs.best_iter_] for line in display.lines_]
    np.testing.assert_allclose(at_best, np.sort(prs.alpha_)[::-1][:10], rtol=1e-6)


def test_others_are_bands():
    alphas = np.random.default_rng(0).uniform(size=(5, 300))
    display = PathDisplay(np.arange(5), alphas).plot(n_features=4)
    others = np.delete(alphas, display.shown_, axis=1)
    full, middle = display.bands_
    for band, low, high in ((full, 0, 1), (middle, 0.05, 0.95)):
        drawn = band.get_paths()[0].vertices
        assert drawn[:, 1].min() == pytest.approx(np.quantile(others, low, axis=1).min())
        assert drawn[:, 1].max() == pytest.approx(np.quantile(others, high, axis=1).max())
    assert not PathDisplay(np.arange(5), alphas[:, :3]).plot().bands_


def test_it_is_drawn_where_and_how_the_user_wants_it():
    figure, axes = plt.subplots(1, 2)
    display = PathDisplay([0, 5], np.ones((2, 3)), best_epoch=5).plot(
        axes[1], n_features=2, line_kw={"lw": 3}, band_kw={"fc": "red"}, mark_kw={"ls": ":"}
    )
    assert display.figure_ is figure
    assert display.ax_ is axes[1]
    assert {line.get_linewidth() for line in display.lines_} == {3}
    assert display.best_line_.get_linestyle() == ":"
    assert display.bands_[0].get_facecolor()[0, 0] == 1.0


heights = st.lists(st.floats(0.0, 1.0), min_size=1, max_size=40).map(np.array)


@settings(deadline=None, derandomize=True)
@given(heights=heights)
def test_names_keep_apart_and_in_order(heights):
    placed = spread(heights, 0.05)
    apart = min(0.05, 1.0 / max(len(heights) - 1, 1))
    assert placed.min() >= -1e-9
    assert placed.max() <= 1.0 + 1e-9
    order = np.argsort(heights, kind="stable")
    assert (np.diff(placed[order]) >= apart - 1e-9).all()
    # Those that have room stay.
    if (np.diff(heights[order]) >= apart).all():
        np.testing.assert_allclose(placed, heights, atol=1e-12)


def test_paths_of_other_fits(model):
    with pytest.raises(ValueError, match="has not recorded a fit yet"):
        PathDisplay.from_estimator(model, AlphaPath())
    with pytest.raises(ValueError, match="has recorded another fit"):
        PathDisplay.from_estimator(model, watch(AlphaPath(), 3, n_features=12))
    tasks = AlphaPath()
    several = SimpleNamespace(epoch=0, alpha=np.ones((3, 12)), best_alpha=np.ones((3, 12)))
    tasks.on_start(None, several)
    several.best_epoch = 0
    tasks.on_end(several)
    with pytest.raises(ValueError, match=r"holds 3 task\(s\), but the model has 1 repeat"):
        PathDisplay.from_estimator(model, tasks)


@pytest.mark.parametrize(
    "epochs, alphas, more, message",
    [
        ([0], np.ones(3), {}, r"got \(3,\)"),
        ([0, 1], np.ones((3, 2)), {}, r"got \(3, 2\) and 2 epoch"),
        (
            [0],
            np.ones((1, 2)),
            {"feature_names": ["a"]},
            "2 features, but feature_names has 1 entries",
        ),
        ([0], np.ones((1, 2)), {"final_alpha": [1.0]}, "2 features, but final_alpha has 1 entries"),
    ],
)
def test_what_cannot_be_drawn(epochs, alphas, more, message):
    with pytest.raises(ValueError, match=message):
        PathDisplay(epochs, alphas, **more).plot()


def test_the_path_of_repeats_is_their_mean():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 5))
    path = AlphaPath()
    model = PRSRegressor(KNeighborsRegressor(), n_estimators=8, max_iter=6, n_repeats=3)
    model.set_callbacks(path).fit(X, X[:, 0])
    assert path.alphas_.shape == (7, 3, 5)
    display = PathDisplay.from_estimator(model, n_features=2)
    np.testing.assert_array_equal(display.shown_, np.argsort(-model.alpha_, kind="stable")[:2])
    for line, j in zip(display.lines_, display.shown_, strict=True):
        np.testing.assert_allclose(line.get_ydata(), path.alphas_[:, :, j].mean(axis=1))
    assert display.best_line_ is None
    assert not ConvergenceDisplay.from_estimator(model).best_lines_


def test_of_several_base_models_the_mean_by_share_is_drawn(friedman):
    bases = [("knn", KNeighborsRegressor()), ("ridge", Ridge())]
    prs = PRSRegressor(bases, n_estimators=5, max_iter=6, n_repeats=2, random_state=0)
    prs.set_callbacks(path := AlphaPath()).fit(*friedman)
    display = PathDisplay.from_estimator(prs, n_features=None)
    assert path.alphas_.shape == (7, 2, len(prs.alpha_))
    np.testing.assert_array_equal(display.final_alpha, prs.alpha_)
