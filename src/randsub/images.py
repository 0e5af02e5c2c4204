"""Images as rows of a table, and back.

PRS sees one column per number of an image. The columns have the order of the flattened array: its
rows one after the other, the channels of a pixel side by side;
:meth:`randsub.penalties.FusedLasso.grid` uses the same order. For images of 28 x 28 pixels::

    model = PRSClassifier(penalty=FusedLasso.grid(1e-3, 28, 28))
    model.fit(images_to_columns(images), labels)
    alpha_image(model, (28, 28))

A model knows columns, not images: the shape is an argument of :func:`alpha_image`, and not an
attribute of the model.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from randsub._typing import FloatArray, IntArray

__all__ = ["alpha_image", "columns_to_images", "images_to_columns", "pixel_groups"]


def images_to_columns(images: Any) -> NDArray[Any]:
    """Flatten images into rows of a table.

    Parameters
    ----------
    images : array-like of shape (n, height, width) or (n, height, width, channels)

    Returns
    -------
    X : ndarray of shape (n, height * width * channels)
        A view of the images where that is possible.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from randsub.images import images_to_columns
    >>> images_to_columns(load_digits().images).shape
    (1797, 64)
    """
    images = np.asarray(images)
    if images.ndim not in (3, 4):
        raise ValueError(
            "images must have the shape (n, height, width) or (n, height, width, channels), got "
            f"{images.shape}."
        )
    return images.reshape(len(images), int(np.prod(images.shape[1:])))


def columns_to_images(X: Any, shape: Sequence[int]) -> NDArray[Any]:
    """Reshape rows of a table to images: the inverse of :func:`images_to_columns`.

    Parameters
    ----------
    X : array-like of shape (n, height * width * channels)
    shape : tuple of int
        (height, width) or (height, width, channels).

    Returns
    -------
    images : ndarray of shape ``(n, *shape)``
    """
    X, shape = np.asarray(X), _checked(shape)
    if X.ndim != 2 or X.shape[1] != np.prod(shape):
        raise ValueError(
            f"Images of shape {shape} are rows of {int(np.prod(shape))} numbers, got an array of "
            f"shape {X.shape}."
        )
    return X.reshape(len(X), *shape)


def pixel_groups(shape: Sequence[int]) -> IntArray:
    """A group label per column, so that all channels of a pixel are in the same group.

    Parameters
    ----------
    shape : tuple of int
        (height, width, channels).

    Returns
    -------
    groups : int ndarray of shape (height * width * channels,)
        For ``feature_groups``. Penalties then see one entry per pixel:
        ``FusedLasso.grid(lam, height, width)``.
    """
    height, width, *channels = _checked(shape)
    return np.repeat(np.arange(height * width), int(np.prod(channels)))


def alpha_image(model: Any, shape: Sequence[int]) -> FloatArray:
    """The importances of the pixels, as an image.

    Parameters
    ----------
    model : fitted estimator
        With ``feature_importances_``, which in PRS is alpha.
    shape : tuple of int
        (height, width) or (height, width, channels).

    Returns
    -------
    alpha : ndarray of the given shape
    """
    check_is_fitted(model)
    alpha, shape = np.asarray(model.feature_importances_), _checked(shape)
    if alpha.shape != (np.prod(shape),):
        raise ValueError(
            f"An image of shape {shape} has {int(np.prod(shape))} numbers, but the model "
            f"was trained on {len(alpha)} columns."
        )
    return alpha.reshape(shape)


def _checked(shape: Sequence[int]) -> tuple[int, ...]:
    # A single number is not a shape.
    sizes = tuple(shape) if isinstance(shape, Iterable) else ()
    whole = all(isinstance(size, int | np.integer) and size > 0 for size in sizes)
    if len(sizes) not in (2, 3) or not whole:
        raise ValueError(
            "shape must be (height, width) or (height, width, channels), all positive "
            f"integers, got {shape!r}."
        )
    return sizes
