"""Maps of alpha."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.datasets import load_digits
from sklearn.neighbors import KNeighborsClassifier

from randsub import PRSClassifier, RandomSubspaceClassifier
from randsub.inspection import AlphaMapDisplay


@pytest.fixture(scope="module")
def model():
    X, y = load_digits(n_class=2, return_X_y=True)
    quick = PRSClassifier(KNeighborsClassifier(), n_estimators=10, max_iter=3, random_state=0)
    return quick.fit(X[:100], y[:100])


def test_a_model_is_drawn_as_its_image(model):
    display = AlphaMapDisplay.from_estimator(model, (8, 8))
    drawn = display.images_[0].get_array()
    np.testing.assert_array_equal(drawn, model.alpha_.reshape(8, 8))
    assert display.images_[0].get_clim() == (0.0, model.alpha_.max())
    assert display.colorbar_ is not None
    assert display.figure_ is display.axes_[0].figure


def test_several_models_share_a_scale_and_have_titles(model):
    models = [model, SimpleModel(model.alpha_ / 2.0)]
    display = AlphaMapDisplay.from_estimator(models, (8, 8), names=["all", "half"], colorbar=False)
    assert {image.get_clim() for image in display.images_} == {(0.0, model.alpha_.max())}
    assert [ax.get_title() for ax in display.axes_] == ["all", "half"]
    assert display.colorbar_ is None


class SimpleModel(BaseEstimator):
    """Anything with importances."""

    def __init__(self, importances):
        self.feature_importances_ = importances

    def fit(self, X, y):
        return self


def test_it_is_drawn_where_the_user_wants_it(model):
    figure, axes = plt.subplots(1, 3)
    display = AlphaMapDisplay.from_estimator(model, (8, 8), ax=axes[1], cmap="gray", vmax=0.5)
    assert display.figure_ is figure
    assert axes[1].images[0] is display.images_[0]
    assert not axes[0].images
    assert display.images_[0].get_cmap().name == "gray"
    assert display.images_[0].get_clim() == (0.0, 0.5)


def test_rows_of_maps_leave_no_empty_axes():
    alphas = [np.full((2, 3), k / 10) for k in range(1, 6)]
    display = AlphaMapDisplay(alphas).plot(n_columns=3, colorbar=False)
    assert len(display.axes_) == len(display.figure_.axes) == 5


def test_of_channels_the_largest_is_drawn():
    alpha = np.random.default_rng(0).uniform(size=(4, 5, 3))
    drawn = AlphaMapDisplay([alpha]).plot().images_[0].get_array()
    np.testing.assert_array_equal(drawn, alpha.max(axis=2))


def test_an_alpha_of_zeros_can_be_drawn():
    assert AlphaMapDisplay([np.zeros((2, 2))]).plot().images_[0].get_clim() == (0.0, 1.0)


@pytest.mark.parametrize(
    "alphas, names, ax, message",
    [
        ([], None, None, "no alpha to draw"),
        ([np.ones(4)], None, None, r"got \(4,\)"),
        ([np.ones((2, 2))], ["a", "b"], None, "1 maps, but names has 2 entries"),
        (
            [np.ones((2, 2))] * 2,
            None,
            "one",
            "2 panels to draw, but 1 axes. Give one Axes for each",
        ),
    ],
)
def test_what_cannot_be_drawn(alphas, names, ax, message):
    ax = [plt.subplots()[1]] if ax else None
    with pytest.raises(ValueError, match=message):
        AlphaMapDisplay(alphas, names).plot(ax)


def test_maps_need_a_column():
    with pytest.raises(ValueError, match="n_columns must be at least 1, got 0"):
        AlphaMapDisplay([np.ones((2, 2))]).plot(n_columns=0)


def test_one_axes_is_divided_among_maps(model):
    _, (ax, other) = plt.subplots(1, 2)
    display = AlphaMapDisplay.from_estimator([model, model], (8, 8), ax=ax)
    assert display.ax_ is ax
    lower, upper = (np.reshape(one.get_position().extents, (2, 2)) for one in display.axes_)
    assert lower[1, 0] < upper[0, 0] < upper[1, 0] < other.get_position().x0
    assert not other.images
    display.figure_.canvas.draw()


def test_a_model_without_importances(model):
    X, y = load_digits(n_class=2, return_X_y=True)
    uniform = RandomSubspaceClassifier(KNeighborsClassifier(), n_estimators=2, max_features=2)
    with pytest.raises(ValueError, match="RandomSubspaceClassifier has no feature_importances_"):
        AlphaMapDisplay.from_estimator(uniform.fit(X[:50], y[:50]), (8, 8))
