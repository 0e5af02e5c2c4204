"""Bars of importances."""

import warnings

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import BaseEstimator
from sklearn.dummy import DummyRegressor
from sklearn.ensemble import RandomForestRegressor
from sklearn.exceptions import NotFittedError
from sklearn.feature_selection import SelectFromModel
from sklearn.linear_model import LinearRegression, Ridge

from randsub import PRSRegressor, RandomSubspaceRegressor, RaSERegressor
from randsub.inspection import ImportanceDisplay
from randsub.inspection.feature_names import shortened, threshold_of


def widths(bars):
    return [bar.get_width() for bar in bars]


def labels(ax):
    return [text.get_text() for text in ax.get_yticklabels()]


def test_bars_are_the_largest_alphas_in_order(model):
    display = ImportanceDisplay.from_estimator(model, n_features=4)
    order = np.argsort(-model.alpha_, kind="stable")
    np.testing.assert_array_equal(display.shown_, order[:4])
    np.testing.assert_array_equal(widths(display.bars_[0]), model.alpha_[order[:4]])
    assert labels(display.ax_)[:4] == [f"x{j}" for j in order[:4]]
    assert labels(display.ax_)[4].startswith("8 others")
    # The first one is at the top.
    assert display.ax_.get_ylim()[0] > display.ax_.get_ylim()[1]
    assert display.ax_.get_xlabel() == "alpha"


def test_the_rest_counts_the_features_that_reach_a_level():
    alpha = np.array([0.9, 0.5, 0.4, 0.4, 0.1, 0.0])
    display = ImportanceDisplay(alpha).plot(n_features=2)
    outline = display.rests_[0].get_paths()[0].vertices
    bottom = outline[:, 1].max()
    tallest = bottom - outline[:, 1].min()

    def height(level):
        above = outline[(outline[:, 0] >= level)]
        return (bottom - above[:, 1].min()) / tallest

    # Of four others two reach 0.4, three 0.1, four 0.
    for level, count in [(0.4, 2), (0.3, 2), (0.1, 3), (0.05, 3), (0.0, 4)]:
        assert height(level) == pytest.approx(np.log1p(count) / np.log1p(4))
    assert outline[:, 0].max() == 0.4


def test_the_rest_of_very_many_features_is_a_short_outline():
    alpha = np.random.default_rng(0).beta(0.1, 5.0, size=10_000)
    display = ImportanceDisplay(alpha).plot()
    assert len(display.bars_[0]) == 20
    assert len(display.rests_[0].get_paths()[0].vertices) < 3_000
    assert "9,980 others" in labels(display.ax_)[-1]


def test_nothing_is_left_over_where_all_have_bars(model):
    display = ImportanceDisplay.from_estimator(model, n_features=None)
    assert len(display.bars_[0]) == 12 == len(labels(display.ax_))
    assert display.rests_ == [None]


@pytest.mark.parametrize("threshold", ["mean", "median", "1.25*mean", " 0.5 * median", 0.03])
def test_the_line_is_where_select_from_model_selects(model, threshold):
    display = ImportanceDisplay.from_estimator(model, threshold=threshold, n_features=None)
    selector = SelectFromModel(model, threshold=threshold, prefit=True).fit(None)
    assert display.threshold_lines_[0].get_xdata()[0] == pytest.approx(selector.threshold_)
    pale = [bar.get_alpha() is not None for bar in display.bars_[0]]
    np.testing.assert_array_equal(~np.array(pale), selector.get_support()[display.shown_])


def test_no_line_without_a_threshold(model):
    display = ImportanceDisplay.from_estimator(model, threshold=None)
    assert display.threshold_lines_ == [None]
    assert not any(bar.get_alpha() for bar in display.bars_[0])


@pytest.mark.parametrize("threshold", ["max", "2*", "x*mean", np.nan, "nan*mean", [1.0, 2.0]])
def test_thresholds_that_are_none(threshold):
    with pytest.raises(ValueError, match="threshold must be a finite number"):
        threshold_of(np.ones(3), threshold)


def test_intervals_are_drawn_where_they_are():
    alpha = np.array([0.2, 0.6])
    # That of the second does not even hold its alpha.
    intervals = np.array([[0.1, 0.3], [0.4, 0.5]])
    display = ImportanceDisplay(alpha, intervals=intervals).plot()
    segments = display.intervals_[0].lines[2][0].get_segments()
    np.testing.assert_allclose([s[:, 0] for s in segments], [[0.3, 0.5], [0.1, 0.4]])
    np.testing.assert_array_equal([s[0, 1] for s in segments], [0, 1])


def test_models_side_by_side_share_their_rows(model, friedman):
    forest = RandomForestRegressor(10, random_state=0).fit(*friedman)
    display = ImportanceDisplay.from_estimator(
        [model, forest], names=["PRS", "$forest"], n_features=5
    )
    both = np.array([model.alpha_, forest.feature_importances_])
    relative = (both / both.max(axis=1, keepdims=True)).mean(axis=0)
    np.testing.assert_array_equal(display.shown_, np.argsort(-relative, kind="stable")[:5])
    for bars, importances in zip(display.bars_, both, strict=True):
        np.testing.assert_array_equal(widths(bars), importances[display.shown_])
    assert [ax.get_title(loc="left") for ax in display.axes_] == ["PRS", "$forest"]
    assert display.axes_[0].get_xlabel() == "importance"
    levels = [line.get_xdata()[0] for line in display.threshold_lines_]
    np.testing.assert_allclose(levels, both.mean(axis=1))
    display.figure_.canvas.draw()


def test_rase_has_importances_too(friedman):
    rase = RaSERegressor(
        LinearRegression(), n_estimators=5, n_candidates=3, max_iter=2, cv=2, random_state=0
    ).fit(*friedman)
    display = ImportanceDisplay.from_estimator(rase)
    np.testing.assert_array_equal(widths(display.bars_[0]), np.sort(rase.alpha_)[::-1])
    assert display.ax_.get_xlabel() == "alpha"


def test_groups_share_a_bar():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(30, 6)), columns=[*"ab", "c_1", "c_2", "d", "e"])
    groups = [["a"], ["b"], ["c_1", "c_2"], ["d", "e"]]
    grouped = PRSRegressor(
        LinearRegression(), n_estimators=5, max_iter=3, feature_groups=groups, random_state=0
    ).fit(frame, frame["a"] + frame["c_1"])
    display = ImportanceDisplay.from_estimator(grouped)
    assert sorted(labels(display.ax_)) == ["a", "b", "c_*", "d + 1"]
    np.testing.assert_array_equal(widths(display.bars_[0]), np.sort(grouped.group_alpha_)[::-1])
    # The line is about columns, as SelectFromModel is.
    assert display.threshold_lines_[0].get_xdata()[0] == pytest.approx(grouped.alpha_.mean())
    named = ImportanceDisplay.from_estimator(grouped, feature_names=list("ABCD"))
    assert sorted(labels(named.ax_)) == list("ABCD")
    apart = ImportanceDisplay.from_estimator(grouped, by_group=False)
    assert sorted(labels(apart.ax_)) == sorted(frame.columns)
    with pytest.raises(ValueError, match="3 entries, but the model has 4 groups of 6 columns"):
        ImportanceDisplay.from_estimator(grouped, feature_names=list("ABC"))


def test_it_is_drawn_where_and_how_the_user_wants_it(model):
    figure, axes = plt.subplots(1, 3)
    display = ImportanceDisplay.from_estimator(
        model,
        ax=axes[1],
        bar_kw={"fc": "red", "alpha": 0.7},
        threshold_kw={"ls": ":", "c": "green"},
        rest_kw={"fc": "blue"},
        n_features=3,
    )
    assert display.figure_ is figure
    assert display.ax_ is axes[1] is display.axes_[0]
    assert not axes[0].patches
    assert all(bar.get_facecolor() == (1.0, 0.0, 0.0, 0.7) for bar in display.bars_[0])
    assert display.threshold_lines_[0].get_linestyle() == ":"
    assert display.threshold_lines_[0].get_color() == "green"


def test_one_axes_is_divided_among_models(model):
    _, ax = plt.subplots()
    display = ImportanceDisplay.from_estimator([model, model, model], ax=ax)
    assert display.ax_ is ax
    assert not ax.axison
    display.figure_.canvas.draw()
    lefts = [panel.get_position().x0 for panel in display.axes_]
    assert len(display.axes_) == 3
    assert lefts == sorted(set(lefts))


names = st.lists(st.text(max_size=60), min_size=1, max_size=30)


@settings(deadline=None, derandomize=True, max_examples=12)
@given(names=names, data=st.data())
def test_any_names_can_be_drawn(names, data):
    size = len(names)
    alpha = data.draw(st.lists(st.floats(0.0, 1.0), min_size=size, max_size=size))
    display = ImportanceDisplay(alpha, names).plot(n_features=data.draw(st.integers(1, 30)))
    with warnings.catch_warnings():
        # Not every font has every letter.
        warnings.filterwarnings("ignore", message="Glyph|.*Matplotlib currently does not support")
        display.figure_.canvas.draw()
    assert widths(display.bars_[0]) == sorted(alpha, reverse=True)[: len(display.shown_)]
    assert display.ax_.get_xlim()[0] == 0.0
    plt.close(display.figure_)


@settings(deadline=None, derandomize=True)
@given(name=st.text(max_size=200), width=st.integers(4, 40))
def test_names_are_shortened_in_the_middle(name, width):
    short = shortened(name, width)
    assert len(short) == min(len(name), width)
    assert short.isprintable()
    if len(name) > width:
        head, tail = short.split("…", 1) if "…" not in name else (short[:2], short[-1:])
        printable = "".join(c if c.isprintable() else " " for c in name)
        assert printable.startswith(head)
        assert printable.endswith(tail)


class SimpleModel(BaseEstimator):
    """Anything with importances."""

    def __init__(self, importances):
        self.feature_importances_ = importances

    def fit(self, X, y):
        return self


def test_models_without_importances_or_a_fit(friedman):
    uniform = RandomSubspaceRegressor(LinearRegression(), n_estimators=2, max_features=2)
    with pytest.raises(ValueError, match=r"RandomSubspaceRegressor has no feature_importances_"):
        ImportanceDisplay.from_estimator(uniform.fit(*friedman))
    with pytest.raises(NotFittedError):
        ImportanceDisplay.from_estimator(PRSRegressor())
    with pytest.raises(ValueError, match="no model"):
        ImportanceDisplay.from_estimator([])
    with pytest.raises(ValueError, match="columns are 3, 2"):
        ImportanceDisplay.from_estimator([SimpleModel(np.ones(3)), SimpleModel(np.ones(2))])
    with pytest.raises(ValueError, match="was fitted without feature_groups"):
        ImportanceDisplay.from_estimator(SimpleModel(np.ones(3)), by_group=True)
    with pytest.raises(ValueError, match="3 features, but feature_names has 2"):
        ImportanceDisplay.from_estimator(SimpleModel(np.ones(3)), feature_names=["a", "b"])


@pytest.mark.parametrize(
    "data, options, message",
    [
        ({"importances": []}, {}, "at least one feature"),
        ({"importances": np.ones((1, 2, 3))}, {}, r"got \(1, 2, 3\)"),
        ({"importances": [1.0, np.nan]}, {}, r"finite, but 1 value\(s\) are not"),
        (
            {"importances": [1.0], "feature_names": ["a", "b"]},
            {},
            "1 features, but feature_names has 2 entries",
        ),
        ({"importances": [1.0], "names": ["a", "b"]}, {}, "1 models, but names has 2 entries"),
        (
            {"importances": [1.0], "thresholds": [1.0, 2.0]},
            {},
            "1 models, but thresholds has 2 entries",
        ),
        ({"importances": [1.0], "intervals": [1.0, 2.0]}, {}, r"the shape \(1, 2, 1\)"),
        ({"importances": [[1.0], [2.0]], "intervals": [[1.0], [2.0]]}, {}, r"got \(2, 1\)"),
        ({"importances": [1.0]}, {"n_features": 0}, "n_features must be .* got 0"),
        ({"importances": [1.0]}, {"n_features": 2.5}, "n_features must be .* got 2.5"),
        ({"importances": [1.0]}, {"n_features": True}, "n_features must be .* got True"),
    ],
)
def test_what_cannot_be_drawn(data, options, message):
    with pytest.raises(ValueError, match=message):
        ImportanceDisplay(**data).plot(**options)


def repeated(n_repeats=3, **params):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 5))
    model = PRSRegressor(
        LinearRegression(), n_estimators=8, max_iter=6, n_repeats=n_repeats, random_state=0
    )
    return model.set_params(solver__learning_rate=0.05, **params).fit(X, X[:, 0])


def ends(display, k=0):
    """Lower and upper ends of the intervals, from the top."""
    (bars,) = display.intervals_[k][2]
    return np.array([segment[:, 0] for segment in bars.get_segments()]).T


def test_repeats_have_error_bars():
    model = repeated()
    display = ImportanceDisplay.from_estimator(model)
    alpha, spread = model.alpha_[display.shown_], model.alpha_std_[display.shown_]
    assert spread.any()
    np.testing.assert_allclose(
        ends(display), np.clip([alpha - spread, alpha + spread], 0.0, 1.0), atol=1e-12
    )
    assert ImportanceDisplay.from_estimator(model, intervals=None).intervals_ == [None]
    assert ImportanceDisplay.from_estimator(repeated(1)).intervals_ == [None]
    with pytest.raises(ValueError, match="intervals must be an array, 'auto' or None, got 'std'"):
        ImportanceDisplay.from_estimator(model, intervals="std")


def test_error_bars_of_groups_and_beside_a_model_without():
    grouped = repeated(feature_groups=[0, 0, 1, 1, 2])
    display = ImportanceDisplay.from_estimator(grouped)
    alpha = grouped.group_alpha_[display.shown_]
    assert ends(display).shape == (2, 3)
    assert (ends(display)[0] <= alpha).all()
    assert (ends(display)[1] >= alpha).all()
    beside = ImportanceDisplay.from_estimator([repeated(), repeated(1)])
    assert np.isfinite(ends(beside)).all()
    assert not np.isfinite(beside.intervals[1]).any()


@pytest.mark.filterwarnings("ignore::randsub.exceptions.NoFeatureLeftWarning")
@pytest.mark.parametrize("n_repeats", [1, 3])
def test_each_base_model_has_its_bars(n_repeats):
    useless = DummyRegressor(strategy="constant", constant=20.0)
    bases = [("linear", LinearRegression()), ("ridge", Ridge()), ("useless", useless)]
    model = repeated(n_repeats, estimator=bases, max_iter=30)
    assert model.shares_["useless"] == 0.0
    kept = [name for name, share in model.shares_.items() if share > 0.0]
    display = ImportanceDisplay.from_estimator(model, by_base=True)
    assert [ax.get_title(loc="left") for ax in display.axes_] == [
        f"{name} ({model.shares_[name]:.0%})" for name in kept
    ]
    for k, name in enumerate(kept):
        alphas = model.alphas_[name][:, display.shown_]
        np.testing.assert_allclose(widths(display.bars_[k]), alphas.mean(axis=0))
        if n_repeats > 1:
            lower = np.clip(alphas.mean(axis=0) - alphas.std(axis=0), 0.0, 1.0)
            np.testing.assert_allclose(ends(display, k)[0], lower, atol=1e-12)
    assert (display.intervals is None) == (n_repeats == 1)
    named = ImportanceDisplay.from_estimator(model, by_base=True, names=kept)
    assert named.axes_[0].get_title(loc="left") == kept[0]
    for other in (repeated(), [model, model]):
        with pytest.raises(ValueError, match="one model that was fitted with a list of base"):
            ImportanceDisplay.from_estimator(other, by_base=True)
