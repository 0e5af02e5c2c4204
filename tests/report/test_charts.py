"""Charts show the numbers they are given."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from randsub.report.charts import SIDE, Line, LineChart, histogram, nice_ticks, thinned

FLOATS = st.floats(-1e6, 1e6)


@given(st.lists(FLOATS, min_size=1, max_size=300), st.integers(2, 50))
def test_thinning_keeps_ends_and_extremes(values, most):
    values = np.array(values)
    kept = thinned(values, most)
    assert (np.diff(kept) > 0).all()
    assert len(kept) <= most + 3
    assert {0, len(values) - 1} <= set(kept.tolist())
    assert values[kept].min() == values.min()
    assert values[kept].max() == values.max()


@given(FLOATS, st.floats(1e-3, 1e6))
def test_ticks_lie_within_and_are_few(low, span):
    ticks = nice_ticks(low, low + span)
    room = 1e-6 * (abs(low) + span)
    assert all(low - room <= tick <= low + span + room for tick in ticks)
    assert 2 <= len(ticks) <= 8


def points(page):
    found = []
    for piece in page.split('<polyline points="')[1:]:
        pairs = piece[: piece.index('"')].split()
        found.append(np.array([[float(v) for v in pair.split(",")] for pair in pairs]))
    return found


def test_lines_go_through_their_values():
    values = np.array([3.0, 1.0, 2.0])
    chart = LineChart("key", "Title", "Summary", np.arange(1.0, 4.0), "Epoch", [Line("a", values)])
    low, high = chart.data()["yRange"]
    (drawn,) = points(chart.draw())
    assert drawn[:, 0].tolist() == [0.0, SIDE / 2, SIDE]
    assert high - drawn[:, 1] / SIDE * (high - low) == pytest.approx(values, abs=1e-3)
    assert chart.data()["lines"] == [{"name": "a", "values": values.tolist()}]


def test_gaps_and_constants_are_drawn():
    values = np.array([2.0, np.nan, 2.0])
    chart = LineChart("key", "Title", "Summary", np.arange(3.0), "Epoch", [Line("a", values)])
    (drawn,) = points(chart.draw())
    assert len(drawn) == 2
    assert chart.data()["lines"][0]["values"] == [2.0, None, 2.0]


def test_bars_count_every_member(read):
    sizes = np.array([3, 4, 4, 9])
    page = read(histogram("Sizes", "Summary", sizes, "features"))
    titles = [e["attrs"]["title"] for e in page.find("div", class_="column")]
    assert [title.split(": ")[1] for title in titles] == ["1", "2", "0", "0", "0", "0", "1"]
    wide = read(histogram("Sizes", "Summary", np.arange(1000), "features"))
    columns = wide.find("div", class_="column")
    assert len(columns) <= 24
    assert sum(int(c["attrs"]["title"].split(": ")[1]) for c in columns) == 1000
