"""Charts show the numbers they are given, in the colours of the page."""

import re
from copy import copy

import numpy as np
import pandas as pd
import pytest
from sklearn.neighbors import KNeighborsRegressor

from randsub import RaSERegressor
from randsub.report.charts import MAX_POINTS, members_chart, training_charts


def with_history(model, n_epochs):
    """The model with a noisy history of another length."""
    rng = np.random.default_rng(0)
    model = copy(model)
    columns = {name: rng.uniform(1.0, 9.0, n_epochs) for name in ("objective", "expected_size")}
    index = pd.RangeIndex(1, n_epochs + 1, name="epoch")
    model.history_ = pd.DataFrame(columns, index=index).assign(
        validation_objective=np.nan, min_ess=5.0, refreshed=0.0, revived=False
    )
    model.history_.loc[2:, "validation_objective"] = 3.0
    model.best_iter_ = 2
    return model


def values(chart):
    return chart.data["lines"]


def test_charts_hold_the_history(regressor):
    charts, history = training_charts(regressor), regressor.history_
    assert list(charts) == ["objective", "ess", "size", "models"]
    shown = values(charts["objective"])
    assert shown["validation"] == pytest.approx(history["validation_objective"], rel=1e-4)
    assert shown["held-out batches"] == pytest.approx(history["objective"], rel=1e-4)
    assert charts["size"].data["x"] == history.index.tolist()
    assert charts["size"].data["xName"] == "Epoch"
    assert f"Best epoch: {regressor.best_iter_} of 30." in charts["size"].summary


def test_iterations_of_rase_have_charts_of_everything_recorded(friedman):
    model = RaSERegressor(
        KNeighborsRegressor(), n_estimators=5, n_candidates=3, max_iter=2, random_state=0
    ).fit(*friedman)
    recorded = [c for chart in training_charts(model).values() for c in values(chart).values()]
    assert len(recorded) == model.history_.select_dtypes("number").shape[1]
    assert training_charts(model)["error"].data["xName"] == "Iteration"


def test_one_epoch_or_no_history_has_no_chart(regressor):
    assert training_charts(with_history(regressor, 1)) == {}
    model = copy(regressor)
    del model.history_
    assert training_charts(model) == {}


def test_the_cursor_stands_on_the_curve(regressor):
    chart = training_charts(regressor)["size"]
    (low, high), (left, right) = chart.data["xRange"], chart.data["area"]
    width = float(re.search(r'viewBox="0 0 ([\d.]+)', chart.markup)[1])
    # The path of the curve: the longest one.
    curve = max(re.findall(r'<path d="([^"]*)"', chart.markup), key=len)
    drawn = np.array(re.findall(r"[ML] ([\d.]+) ([\d.]+)", curve), dtype=float)
    x = chart.data["x"]
    expected = [width * (left + (v - low) * (right - left) / (high - low)) for v in (x[0], x[-1])]
    assert drawn[[0, -1], 0] == pytest.approx(expected, abs=0.01)
    sizes = regressor.history_["expected_size"].to_numpy()
    assert (drawn[0, 1] < drawn[-1, 1]) == (sizes[0] > sizes[-1])


def test_colours_are_those_of_the_theme(regressor):
    for chart in (*training_charts(regressor).values(), members_chart(regressor)):
        assert not re.findall(r"#[0-9a-f]{6}\b", chart.markup)
        assert "var(--first)" in chart.markup


def test_names_in_drawings_are_unique_and_lead_somewhere(regressor):
    drawn = "".join(c.markup for c in training_charts(regressor).values())
    names = re.findall(r' id="([^"]*)"', drawn)
    assert len(names) == len(set(names))
    assert {*re.findall(r'url\(#(\w+)\)|href="#(\w+)"', drawn)} <= {
        pair for name in names for pair in ((name, ""), ("", name))
    }


def test_long_histories_stay_small(regressor):
    charts = training_charts(with_history(regressor, 20_000))
    x = charts["objective"].data["x"]
    assert len(x) == MAX_POINTS
    assert (x[0], x[-1]) == (1, 20_000)
    assert sum(len(chart.markup) for chart in charts.values()) < 400_000


def test_gaps_stay_gaps(regressor):
    shown = values(training_charts(with_history(regressor, 3))["objective"])["validation"]
    assert shown == [None, 3.0, 3.0]


@pytest.mark.parametrize("step", [1, 10])
def test_bars_count_every_member(regressor, step):
    model = copy(regressor)
    sizes = [3, 4, 4, 9, *range(10, 10 + 40 * (step - 1), step)]
    model.estimators_features_ = [np.arange(size) for size in sizes]
    data = members_chart(model).data
    (counts,) = values(members_chart(model)).values()
    assert sum(counts) == len(sizes)
    assert len(counts) <= 24
    for label, count in zip(data["xLabels"], counts, strict=True):
        first, _, last = label.partition(" to ")
        assert count == sum(int(first) <= size <= int(last or first) for size in sizes)


def test_one_size_is_one_bar(regressor):
    model = copy(regressor)
    model.estimators_features_ = [np.arange(4)] * 3
    chart = members_chart(model)
    assert values(chart) == {"members": [3.0]}
    assert "3 members see 4 features on average, from 4 to 4" in chart.summary
