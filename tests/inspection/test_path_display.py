"""Alpha along the epochs: what is drawn."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import Ridge
from sklearn.neighbors import KNeighborsRegressor

from randsub import PRSRegressor, RandomSubspaceRegressor
from randsub.callbacks import Callback
from randsub.inspection import ConvergenceDisplay, PathDisplay
from randsub.inspection.path_display import spread
from randsub.io import load, save


def test_every_fit_can_be_drawn_with_its_marks(model):
    display = PathDisplay.from_estimator(model, n_features=3)
    order = np.argsort(-model.alpha_, kind="stable")[:3]
    np.testing.assert_array_equal(display.shown_, order)
    assert [text.get_text() for text in display.texts_] == [f"x{j}" for j in order]
    assert display.lines_[0].get_xdata().tolist() == [*range(21)]
    np.testing.assert_array_equal(display.lines_[0].get_ydata(), model.alpha_path_[:, order[0]])
    at_best = [line.get_ydata()[model.best_iter_] for line in display.lines_]
    np.testing.assert_allclose(at_best, model.alpha_[order], rtol=1e-6)
    assert display.best_line_.get_xdata()[0] == model.best_iter_
    revived = model.history_.index[model.history_["revived"]]
    assert len(revived) == 1
    assert [line.get_xdata()[0] for line in display.revival_lines_] == [revived[0] - 0.5]
    display.figure_.canvas.draw()


def test_a_model_that_is_saved_can_be_drawn(model, tmp_path):
    save(model, tmp_path / "model.skops")
    again = load(tmp_path / "model.skops")
    np.testing.assert_array_equal(again.alpha_path_, model.alpha_path_)
    assert again.alpha_path_.dtype == np.float32
    assert len(PathDisplay.from_estimator(again).lines_) == 10


def test_models_without_a_path(friedman):
    plain = RandomSubspaceRegressor(Ridge(), n_estimators=3, max_features=2)
    with pytest.raises(ValueError, match="RandomSubspaceRegressor has no alpha_path_ to draw"):
        PathDisplay.from_estimator(plain.fit(*friedman))
    with pytest.raises(NotFittedError):
        PathDisplay.from_estimator(PRSRegressor())


def test_groups_have_one_line_each(friedman):
    groups = np.arange(12) // 4
    prs = PRSRegressor(Ridge(), n_estimators=5, max_iter=4, feature_groups=groups, random_state=0)
    display = PathDisplay.from_estimator(prs.fit(*friedman))
    assert len(display.lines_) == 3
    assert prs.alpha_path_.shape == (5, 12)
    np.testing.assert_array_equal(display.alphas, prs.alpha_path_[:, ::4])


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
    model = PRSRegressor(KNeighborsRegressor(), n_estimators=8, max_iter=6, n_repeats=3)
    seen = []

    class Watch(Callback):
        def on_epoch_end(self, state):
            seen.append(state.alpha.mean(axis=0))

    model.set_callbacks(Watch()).fit(X, X[:, 0])
    display = PathDisplay.from_estimator(model, n_features=2)
    np.testing.assert_array_equal(display.shown_, np.argsort(-model.alpha_, kind="stable")[:2])
    for line, j in zip(display.lines_, display.shown_, strict=True):
        np.testing.assert_allclose(line.get_ydata()[1:], np.array(seen)[:, j], rtol=1e-6)
    assert display.best_line_ is None
    assert not ConvergenceDisplay.from_estimator(model).best_lines_


def test_of_several_base_models_the_mean_by_share_is_drawn(friedman):
    bases = [("knn", KNeighborsRegressor()), ("ridge", Ridge())]
    prs = PRSRegressor(bases, n_estimators=5, max_iter=6, n_repeats=2, random_state=0)
    display = PathDisplay.from_estimator(prs.fit(*friedman), n_features=None)
    assert prs.alpha_path_.shape == (7, len(prs.alpha_))
    np.testing.assert_array_equal(display.final_alpha, prs.alpha_)
