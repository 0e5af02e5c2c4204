"""Curves of a fit."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression, Ridge

from randsub import PRSRegressor, RandomSubspaceRegressor, RaSERegressor
from randsub.inspection import ConvergenceDisplay
from randsub.network import PRSNetwork


def test_curves_and_marks_are_those_of_the_history(model):
    display = ConvergenceDisplay.from_estimator(model)
    history = model.history_
    assert display.panels_ == ["objective", "ess", "size"]
    assert set(display.lines_) == {
        "objective",
        "validation_objective",
        "min_ess",
        "expected_size",
    }
    for column, line in display.lines_.items():
        np.testing.assert_array_equal(line.get_xdata(), history.index)
        np.testing.assert_array_equal(line.get_ydata(), history[column])
    refreshed = history.index[history["refreshed"] > 0.0]
    assert len(refreshed) > 1
    marks = display.refresh_marks_.get_segments()
    assert [segment[0, 0] for segment in marks] == refreshed.tolist()
    revived = history.index[history["revived"]]
    assert [line.get_xdata()[0] for line in display.revival_lines_] == [revived[0] - 0.5] * 3
    assert [line.get_xdata()[0] for line in display.best_lines_] == [model.best_iter_] * 3
    assert display.ess_line_.get_ydata()[0] == 0.7 * 10
    assert display.axes_[-1].get_xlabel() == "epoch"
    legend = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert f"models renewed ({len(refreshed)}x)" in legend
    display.figure_.canvas.draw()


def test_rase_has_a_history_of_its_own(friedman):
    rase = RaSERegressor(
        LinearRegression(), n_estimators=5, n_candidates=3, max_iter=3, cv=2, random_state=0
    ).fit(*friedman)
    display = ConvergenceDisplay.from_estimator(rase)
    assert display.panels_ == ["error", "score", "size"]
    np.testing.assert_array_equal(display.lines_["cv_error"].get_ydata(), rase.history_["cv_error"])
    assert display.axes_[-1].get_xlabel() == "iteration"
    assert display.refresh_marks_ is None
    assert display.ess_line_ is None


def test_parts_of_a_network():
    expression = np.random.default_rng(0).normal(size=(30, 4))
    network = PRSNetwork(
        LinearRegression(), lam=0.0, max_iter=4, n_estimators=5, block_size=3, random_state=0
    ).fit(expression)
    display = ConvergenceDisplay.from_estimator(network)
    first = network.history_.loc[(0.0, 0)]
    np.testing.assert_array_equal(display.lines_["objective"].get_ydata(), first["objective"])
    other = ConvergenceDisplay.from_estimator(network, part=(0.0, 1))
    second = network.history_.loc[(0.0, 1)]
    np.testing.assert_array_equal(other.lines_["objective"].get_ydata(), second["objective"])
    assert not np.array_equal(first["objective"], second["objective"])
    with pytest.raises(ValueError, match=r"part=\(1.0, 0\) is not among .*\(0.0, 1\)"):
        ConvergenceDisplay.from_estimator(network, part=(1.0, 0))


def test_panels_are_chosen_and_placed(model):
    figure, axes = plt.subplots(2, 2)
    one = ConvergenceDisplay.from_estimator(model, panels=["models"], ax=axes[0, 0])
    assert one.ax_ is axes[0, 0]
    assert list(one.lines_) == ["n_models_trained"]
    two = ConvergenceDisplay.from_estimator(model, panels=["size", "ess"], ax=axes[1])
    assert two.axes_.tolist() == axes[1].tolist()
    parts = ConvergenceDisplay.from_estimator(model, ax=axes[0, 1], line_kw={"lw": 4})
    assert parts.ax_ is axes[0, 1]
    assert not axes[0, 1].axison
    assert len(parts.axes_) == 3
    assert {line.get_linewidth() for line in parts.lines_.values()} == {4}
    figure.canvas.draw()
    tops = [panel.get_window_extent().y1 for panel in parts.axes_]
    assert tops == sorted(tops, reverse=True)


def test_without_validation_there_is_one_objective(model):
    history = model.history_.drop(columns="validation_objective").assign(min_ess=np.nan)
    display = ConvergenceDisplay(history).plot()
    assert list(display.lines_) == ["objective", "expected_size"]
    assert display.best_lines_ == []


def test_a_single_epoch_can_be_drawn(model):
    display = ConvergenceDisplay(model.history_[:1]).plot()
    display.figure_.canvas.draw()
    assert display.ax_.get_xlim()[0] == 1


def test_what_has_no_history(friedman, model):
    uniform = RandomSubspaceRegressor(LinearRegression(), n_estimators=2, max_features=2)
    with pytest.raises(ValueError, match="RandomSubspaceRegressor has no history_ to draw"):
        ConvergenceDisplay.from_estimator(uniform.fit(*friedman))
    with pytest.raises(NotFittedError):
        ConvergenceDisplay.from_estimator(PRSRegressor())
    with pytest.raises(ValueError, match="is for networks; PRSRegressor has no parts"):
        ConvergenceDisplay.from_estimator(model, part=(0.0, 0))


@pytest.mark.parametrize("panels", [["score"], ["objective", "x"], []])
def test_panels_that_are_not_there(model, panels):
    with pytest.raises(ValueError, match=r"panels must be some of \['objective', 'ess', 'size'"):
        ConvergenceDisplay(model.history_).plot(panels=panels)


def test_axes_must_be_as_many_as_panels(model):
    axes = plt.subplots(1, 2)[1]
    with pytest.raises(ValueError, match="3 panels to draw, but 2 axes"):
        ConvergenceDisplay(model.history_).plot(axes)
    with pytest.raises(ValueError, match="at least one row"):
        ConvergenceDisplay(pd.DataFrame()).plot()


def test_the_legend_of_a_single_panel_names_the_level_of_the_ess(model):
    display = ConvergenceDisplay.from_estimator(model, panels=["ess"])
    labels = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert labels[0] == "minimum ESS"
    assert {"renewed below", "revival", f"best ({model.best_iter_})"} < set(labels)


@pytest.mark.parametrize("n_bases", [2, 8])
def test_shares_of_several_base_models(n_bases, friedman):
    bases = [(f"$ridge_{n}$", Ridge(10.0**n)) for n in range(n_bases)]
    model = PRSRegressor(bases, n_estimators=8, max_iter=12, random_state=0).fit(*friedman)
    display = ConvergenceDisplay.from_estimator(model)
    assert display.panels_ == ["objective", "ess", "size", "shares"]
    lines = [display.lines_[f"share_{name}"] for name, _ in bases]
    for (name, _), line in zip(bases, lines, strict=True):
        np.testing.assert_array_equal(line.get_ydata(), model.history_[f"share_{name}"])
    assert len({(line.get_color(), line.get_linestyle()) for line in lines}) == n_bases
    legend = [text.get_text() for text in display.axes_[-1].get_legend().get_texts()]
    assert [text.replace("\\", "") for text in legend] == [name for name, _ in bases]
    alone = ConvergenceDisplay.from_estimator(model, panels="shares")
    assert list(alone.lines_) == [f"share_{name}" for name, _ in bases]
    alone.figure_.canvas.draw()
    display.figure_.canvas.draw()
