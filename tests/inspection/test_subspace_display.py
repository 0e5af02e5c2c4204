"""Who sees what."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.ensemble import BaggingRegressor, RandomForestRegressor
from sklearn.linear_model import LinearRegression

from randsub import PRSRegressor, RandomSubspaceRegressor
from randsub.inspection import SubspaceDisplay


def drawn(display):
    """What the picture says that each member sees, as sets."""
    image = np.asarray(display.image_.get_array())
    seen = {}
    for column, member in enumerate(display.members_):
        seen[int(member)] = set(display.shown_[image[:, column] > 0.0].tolist())
    return [seen[member] for member in sorted(seen)]


def test_rows_are_ordered_by_alpha_and_say_what_members_see(model):
    display = SubspaceDisplay.from_estimator(model, n_features=None)
    np.testing.assert_array_equal(display.shown_, np.argsort(-model.alpha_, kind="stable"))
    assert drawn(display) == [set(columns.tolist()) for columns in model.estimators_features_]
    assert display.rest_ is None
    display.figure_.canvas.draw()


def test_names_come_with_the_share_of_the_members(model):
    display = SubspaceDisplay.from_estimator(model, n_features=2)
    share = np.mean([display.shown_[0] in columns for columns in model.estimators_features_])
    labels = [text.get_text() for text in display.ax_.get_yticklabels()]
    assert labels[0] == f"x{display.shown_[0]}  {share:4.0%}"
    assert labels[-1].startswith("10 others,")


masks = arrays(bool, st.tuples(st.integers(1, 12), st.integers(1, 12)))


@settings(deadline=None, derandomize=True, max_examples=20)
@given(masks=masks, n_features=st.integers(1, 12))
def test_the_rest_is_counted(masks, n_features):
    _, ax = plt.subplots()
    display = SubspaceDisplay(masks).plot(ax, n_features=n_features)
    rest = np.setdiff1d(np.arange(masks.shape[1]), display.shown_)
    assert sorted(display.members_) == list(range(len(masks)))
    # From left to right each member is the next in the order of what it sees.
    rows = [tuple(~row) for row in masks[np.ix_(display.members_, display.shown_)]]
    assert rows == sorted(rows)
    if len(rest):
        counts = masks[np.ix_(display.members_, rest)].sum(axis=1)
        outline = display.rest_.get_paths()[0].vertices
        bottom = outline[:, 1].max()
        for place, count in enumerate(counts):
            at = outline[np.isclose(outline[:, 0], place - 0.5) | (outline[:, 0] == place + 0.5)]
            height = 2.7 * count / max(counts.max(), 1)
            assert np.isclose(bottom - at[:, 1], height).any()
    else:
        assert display.rest_ is None
    plt.close("all")


def test_ten_thousand_features_have_thirty_rows():
    rng = np.random.default_rng(0)
    display = SubspaceDisplay(rng.random((50, 10_000)) < 0.02).plot()
    assert display.image_.get_array().shape == (30, 50)
    assert "9,970 others" in display.ax_.get_yticklabels()[-1].get_text()


@pytest.mark.parametrize("kind", [RandomSubspaceRegressor, BaggingRegressor])
def test_other_ensembles_over_subsets(friedman, kind):
    ensemble = kind(LinearRegression(), n_estimators=6, max_features=3, random_state=0)
    display = SubspaceDisplay.from_estimator(ensemble.fit(*friedman))
    seen = drawn(display)
    assert seen == [set(np.asarray(c).tolist()) for c in ensemble.estimators_features_]
    shares = np.mean([[j in one for j in range(12)] for one in seen], axis=0)
    assert (np.diff(shares[display.shown_]) <= 0.0).all()


def test_groups_share_a_row():
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(30, 4)), columns=list("abcd"))
    grouped = PRSRegressor(
        LinearRegression(), n_estimators=5, max_iter=3, feature_groups=[0, 1, 1, 2], random_state=0
    ).fit(frame, frame["a"])
    display = SubspaceDisplay.from_estimator(grouped)
    assert display.image_.get_array().shape == (3, 5)
    assert len(SubspaceDisplay.from_estimator(grouped, by_group=False).shown_) == 4


def test_it_is_drawn_where_and_how_the_user_wants_it():
    figure, axes = plt.subplots(1, 2)
    display = SubspaceDisplay(np.eye(4, dtype=bool)).plot(
        axes[1], n_features=2, image_kw={"cmap": "gray"}, rest_kw={"fc": "red"}
    )
    assert display.figure_ is figure
    assert display.ax_ is axes[1]
    assert display.image_.get_cmap().name == "gray"
    assert display.rest_.get_facecolor()[0, 0] == 1.0


def test_what_cannot_be_drawn(friedman):
    with pytest.raises(ValueError, match="RandomForestRegressor has no estimators_features_"):
        SubspaceDisplay.from_estimator(RandomForestRegressor(2).fit(*friedman))
    for masks in (np.ones(3, dtype=bool), np.ones((2, 2)), np.ones((0, 2), dtype=bool)):
        with pytest.raises(ValueError, match="masks must be a bool array"):
            SubspaceDisplay(masks).plot()
    with pytest.raises(ValueError, match="2 features, but feature_names has 1 entries"):
        SubspaceDisplay(np.ones((1, 2), dtype=bool), ["a"]).plot()
    with pytest.raises(ValueError, match="2 features, but alpha has 3 entries"):
        SubspaceDisplay(np.ones((1, 2), dtype=bool), alpha=np.ones(3)).plot()
