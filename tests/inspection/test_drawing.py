"""Where displays are drawn."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

from randsub.inspection import AlphaMapDisplay, ConvergenceDisplay
from randsub.inspection.drawing import Display

MAPS = [np.full((2, 2), 0.5)] * 3


def make_panels(ax, n_panels, **options):
    display = Display()
    display._make_panels(ax, n_panels, **options)
    return display


def box(ax):
    return ax.get_position().extents


def test_new_panels_share_an_axis_and_leave_no_empty_axes():
    panels = make_panels(None, 5, size=(4.0, 4.0), n_columns=3, share="x")
    assert panels.figure_.axes == panels.axes_.tolist()
    assert panels.ax_ is panels.axes_[0]
    panels.axes_[0].set_xlim(2.0, 7.0)
    assert panels.axes_[4].get_xlim() == (2.0, 7.0)


@pytest.mark.parametrize("kind", ["subplot", "free"])
def test_one_axes_is_divided(kind):
    figure, (first, ax) = plt.subplots(1, 2)
    if kind == "free":
        ax = figure.add_axes([0.1, 0.2, 0.3, 0.4])
    outer = box(ax)
    panels = make_panels(ax, 4, size=(4.0, 4.0), n_columns=2, heights=[3.0, 1.0])
    assert panels.ax_ is ax
    assert not ax.axison
    boxes = np.array([box(panel) for panel in panels.axes_])
    assert (boxes[:, :2] >= outer[:2] - 1e-9).all()
    assert (boxes[:, 2:] <= outer[2:] + 1e-9).all()
    heights = boxes[:, 3] - boxes[:, 1]
    np.testing.assert_allclose(heights, heights[0] * np.array([1.0, 1.0, 1 / 3, 1 / 3]))
    assert first.axison


def test_given_axes_are_used_as_they_are():
    figure, axes = plt.subplots(1, 3)
    panels = make_panels(axes, 3, size=(1.0, 1.0), grid="x")
    assert panels.axes_.tolist() == figure.axes == axes.tolist()
    with pytest.raises(ValueError, match="3 panels to draw, but 2 axes"):
        AlphaMapDisplay(MAPS).plot(axes[:2])


def test_narrow_axes_have_a_narrow_legend(model):
    wide = ConvergenceDisplay.from_estimator(model).ax_.get_legend()
    _, ax = plt.subplots(figsize=(4.0, 3.0))
    narrow = ConvergenceDisplay.from_estimator(model, panels="objective", ax=ax).ax_.get_legend()
    assert (wide._ncols, narrow._ncols) == (3, 2)


def test_one_entry_per_label():
    _, ax = plt.subplots()
    Display._mark_epochs(ax, [1, 2, 3], "revival", ":", None)
    Display._add_legend(ax)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["revival"]
