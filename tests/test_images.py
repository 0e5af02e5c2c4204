"""From images to columns and back."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression

from flat_parameters import flat
from randsub import PRSRegressor
from randsub.images import alpha_image, columns_to_images, images_to_columns, pixel_groups
from randsub.penalties import FusedLasso

sizes = st.integers(1, 5)
shapes = st.one_of(st.tuples(sizes, sizes), st.tuples(sizes, sizes, sizes))
QUICK = {"n_estimators": 10, "max_iter": 3, "n_batches": 2, "n_revivals": 0, "random_state": 0}


@settings(deadline=None, derandomize=True)
@given(shape=shapes, n=st.integers(0, 4))
def test_there_and_back(shape, n):
    images = np.random.default_rng(0).normal(size=(n, *shape))
    X = images_to_columns(images)
    assert X.shape == (n, np.prod(shape))
    np.testing.assert_array_equal(columns_to_images(X, shape), images)


def test_neighbours_on_the_image_are_neighbours_in_the_penalty():
    # A step from left to right costs once a row; the penalty would see others in another order.
    image = np.zeros((3, 5))
    image[:, 2:] = 1.0
    assert FusedLasso.grid(1.0, 3, 5).value(images_to_columns(image[np.newaxis])) == 3.0


def test_channels_of_a_pixel_share_a_group():
    groups = pixel_groups((2, 3, 4))
    np.testing.assert_array_equal(groups.reshape(2, 3, 4)[:, :, 0], [[0, 1, 2], [3, 4, 5]])
    assert (np.ptp(groups.reshape(2, 3, 4), axis=2) == 0).all()
    np.testing.assert_array_equal(pixel_groups((2, 2)), [0, 1, 2, 3])


def test_alpha_comes_back_as_an_image():
    rng = np.random.default_rng(0)
    images = rng.normal(size=(40, 3, 2, 2))
    y = images[:, 1, 1].sum(axis=1)
    model = PRSRegressor(
        LinearRegression(),
        **flat(
            feature_groups=pixel_groups((3, 2, 2)), penalty=FusedLasso.grid(1e-3, 3, 2), **QUICK
        ),
    ).fit(images_to_columns(images), y)
    alpha = alpha_image(model, (3, 2, 2))
    np.testing.assert_array_equal(alpha.ravel(), model.alpha_)
    np.testing.assert_array_equal(alpha[:, :, 0], alpha[:, :, 1])
    with pytest.raises(ValueError, match=r"shape \(3, 2\) has 6 numbers, but .* on 12 columns"):
        alpha_image(model, (3, 2))


def test_a_model_that_was_not_fitted_has_no_image():
    with pytest.raises(NotFittedError):
        alpha_image(PRSRegressor(), (2, 2))


@pytest.mark.parametrize("shape", [(2,), (2, 2, 2, 2), (0, 4), (2.0, 2), "ab", (), 4])
def test_shapes_that_are_none(shape):
    with pytest.raises(ValueError, match=r"shape must be \(height, width\)"):
        columns_to_images(np.ones((1, 4)), shape)
    with pytest.raises(ValueError, match=r"shape must be \(height, width\)"):
        pixel_groups(shape)


@pytest.mark.parametrize("images", [np.ones(3), np.ones((2, 2)), np.ones((1, 2, 2, 1, 1))])
def test_images_that_are_none(images):
    with pytest.raises(ValueError, match=r"must have the shape \(n, height, width\)"):
        images_to_columns(images)


@pytest.mark.parametrize("X", [np.ones(4), np.ones((2, 5)), np.ones((1, 2, 2))])
def test_rows_that_are_no_images(X):
    with pytest.raises(ValueError, match="are rows of 4 numbers"):
        columns_to_images(X, (2, 2))
