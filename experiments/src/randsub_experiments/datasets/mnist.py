"""Images of handwritten digits, with noise."""

import gzip
import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import train_test_split
from sklearn.utils import check_random_state

from randsub._sklearn import Interval
from randsub._typing import BoolArray, FloatArray
from randsub.datasets.npz import read_arrays
from randsub.datasets.parameters import FOLDER, Folder, Seed, validated
from randsub.exceptions import DatasetFormatError, DatasetNotFoundError
from randsub_experiments.datasets.data_folder import Source, check_column
from randsub_experiments.datasets.split import Split

_SIDE = 28
SOURCE = Source(
    what="the MNIST digits",
    folders=("mnist",),
    origin=(
        "Any copy of the four original files (train-images-idx3-ubyte, train-labels-idx1-ubyte, "
        "t10k-images-idx3-ubyte, t10k-labels-idx1-ubyte; .gz or not) will do, and so will Keras' "
        "mnist.npz; OpenML has them as mnist_784."
    ),
)
# Images drawn noise for at a time: bounds the memory beside the images themselves.
_BLOCK = 1000


class _Images(NamedTuple):
    """Pixels (n, 784) uint8, digits (n,) and whether each image is of the test part (n,)."""

    pixels: NDArray[np.uint8]
    digits: NDArray[Any]
    is_test: BoolArray


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class DigitImages(Split):
    """Training, validation and test images of some digits.

    Attributes
    ----------
    X_train, X_val, X_test : ndarray of shape (n_train | n_val | n_test, 784), float32
        Pixels, row by row: 0 is background and 1 ink, before noise.
    y_train, y_val, y_test : ndarray of shape (n_train | n_val | n_test,), int
        The digits themselves.
    """

    @property
    def images_train(self) -> FloatArray:
        """`X_train` as images, (n_train, 28, 28)."""
        return self.X_train.reshape(-1, _SIDE, _SIDE)

    @property
    def images_val(self) -> FloatArray:
        """`X_val` as images, (n_val, 28, 28)."""
        return self.X_val.reshape(-1, _SIDE, _SIDE)

    @property
    def images_test(self) -> FloatArray:
        """`X_test` as images, (n_test, 28, 28)."""
        return self.X_test.reshape(-1, _SIDE, _SIDE)


def _check_images(path: Path, pixels: NDArray[Any], digits: NDArray[Any]) -> NDArray[np.uint8]:
    """Pixels as (n, 784), checked together with their digits."""
    if pixels.dtype != np.uint8 or pixels.shape[1:] not in ((_SIDE, _SIDE), (_SIDE * _SIDE,)):
        raise DatasetFormatError(
            path,
            f"images should be uint8 of 28 x 28 pixels, and are {pixels.dtype} of shape "
            f"{pixels.shape}",
        )
    check_column(path, "the digits", digits, len(pixels))
    if digits.dtype.kind not in "iu":
        raise DatasetFormatError(path, f"digits should be integers, and are {digits.dtype}")
    return pixels.reshape(len(pixels), -1)


def _join(path: Path, parts: Sequence[tuple[NDArray[Any], NDArray[Any]]]) -> _Images:
    """The training part followed by the test part."""
    tables = [_check_images(path, pixels, digits) for pixels, digits in parts]
    is_test = np.repeat([False, True], [len(table) for table in tables])
    return _Images(np.concatenate(tables), np.concatenate([d for _, d in parts]), is_test)


def _read_npz(path: Path) -> _Images:
    keras = ["x_train", "y_train", "x_test", "y_test"]
    arrays = read_arrays(path, [], ["X", "y", "is_test", *keras])
    if all(name in arrays for name in keras):
        x_train, y_train, x_test, y_test = (arrays[name] for name in keras)
        return _join(path, [(x_train, y_train), (x_test, y_test)])
    if not all(name in arrays for name in ("X", "y", "is_test")):
        raise DatasetFormatError(
            path, f"it has neither the arrays X, y, is_test nor {', '.join(keras)}"
        )
    pixels = _check_images(path, arrays["X"], arrays["y"])
    is_test = check_column(path, "is_test", arrays["is_test"], len(pixels))
    if is_test.dtype != np.bool_:
        raise DatasetFormatError(path, f"is_test should be bool, and is {is_test.dtype}")
    return _Images(pixels, arrays["y"], is_test)


def _read_idx(path: Path) -> NDArray[np.uint8]:
    """An array in the format of the original files: type, number of axes, lengths, bytes."""
    try:
        data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
        zeros, kind, n_axes = struct.unpack_from(">HBB", data)
        shape = struct.unpack_from(f">{n_axes}I", data, 4)
        if zeros or kind != 8:
            raise DatasetFormatError(path, "it does not begin as an idx file of bytes does")
        return np.frombuffer(data, np.uint8, offset=4 + 4 * n_axes).reshape(shape)
    except DatasetFormatError:
        raise
    except (OSError, EOFError, zlib.error, struct.error, ValueError) as error:
        raise DatasetFormatError(path, f"it cannot be read as idx ({error})") from error


def _read_originals(data_home: Folder) -> _Images:
    parts = []
    for part in ("train", "t10k"):
        images, labels = (
            SOURCE.find(data_home, [stem, f"{stem}.gz"])[0]
            for stem in (f"{part}-images-idx3-ubyte", f"{part}-labels-idx1-ubyte")
        )
        parts.append((_read_idx(images), _read_idx(labels)))
    return _join(images, parts)


def _read_images(data_home: Folder, digits: Sequence[int]) -> _Images:
    name = "".join(map(str, sorted(digits)))
    first = "train-images-idx3-ubyte"
    archives = ["mnist.npz", f"mnist{name}.npz", f"mnist{name}_clean.npz"]
    found = SOURCE.find(data_home, [*archives, first, f"{first}.gz"])[0]
    images = _read_npz(found) if found.suffix == ".npz" else _read_originals(data_home)
    for digit in digits:
        for part, rows in (("training", ~images.is_test), ("test", images.is_test)):
            if np.count_nonzero(images.digits[rows] == digit) < 2:
                raise DatasetNotFoundError(
                    f"{found} has fewer than two {part} images of the digit {digit}; it holds the "
                    f"digits {np.unique(images.digits).tolist()}. {SOURCE.origin}"
                )
    return images


def _with_noise(
    pixels: NDArray[np.uint8], noise: float, salt_and_pepper: float, rng: np.random.RandomState
) -> FloatArray:
    X = pixels.astype(np.float32)
    X /= np.float32(255)
    blocks = [X[begin : begin + _BLOCK] for begin in range(0, len(X), _BLOCK)]
    for block in blocks if noise else []:
        block += noise * rng.standard_normal(block.shape)
    for block in blocks if salt_and_pepper else []:
        drawn = rng.random_sample(block.shape)
        block[drawn < salt_and_pepper] = 0.0
        block[drawn < salt_and_pepper / 2] = 1.0
    return X


@validated(
    {
        "data_home": FOLDER,
        "digits": ["array-like"],
        "noise": [Interval(Real, 0, None, closed="left")],
        "salt_and_pepper": [Interval(Real, 0, 1, closed="both")],
        "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
        "random_state": ["random_state"],
    }
)
def load_mnist(
    data_home: Folder,
    digits: Sequence[int] = (5, 6),
    noise: float = 0.0,
    *,
    salt_and_pepper: float = 0.0,
    validation_fraction: float = 0.2,
    random_state: Seed = None,
) -> DigitImages:
    """Images of some of the MNIST digits, with Gaussian or salt-and-pepper noise.

    Parameters
    ----------
    data_home : path-like
        Folder with the files, or with a folder ``mnist`` that holds them: ``mnist.npz`` or, for the
        digits 5 and 6, ``mnist56.npz`` or ``mnist56_clean.npz`` with the arrays X (n, 784) or
        (n, 28, 28) uint8, y (n,) and is_test (n,) bool; or Keras' ``mnist.npz``; or the four
        original files, compressed by gzip or not.
    digits : sequence of int, default=(5, 6)
        The digits to keep, at least two of them.
    noise : float, default=0.0
        Standard deviation of the noise that is added to each pixel, of which ink is 1. The result
        is not clipped to [0, 1]: the noise of the background would lose its lower half.
    salt_and_pepper : float, default=0.0
        Probability with which a pixel is replaced, by ink (1) or background (0) with equal chances.
        With both kinds of noise, pixels that are replaced have no Gaussian noise.
    validation_fraction : float, default=0.2
        Fraction of the training images that is set aside for validation, stratified by digit.
    random_state : int, RandomState instance or None, default=None
        Seed of the split and of the noise. The same integer gives the same split for any noise.

    Returns
    -------
    images : DigitImages
        `X_test` are the images of MNIST's own test part, in the order of the file; the others are
        split into `X_train` and `X_val`.
    """
    given = np.asarray(digits)
    wanted = given.tolist() if given.ndim == 1 and given.dtype.kind in "iu" else []
    if len(wanted) < 2 or len(set(wanted)) < len(wanted) or not set(wanted) <= set(range(10)):
        raise ValueError(f"digits should be at least two different ones of 0 to 9; got {digits!r}.")
    images = _read_images(data_home, wanted)
    rng = check_random_state(random_state)
    kept = np.isin(images.digits, wanted)
    rest, test = np.flatnonzero(kept & ~images.is_test), np.flatnonzero(kept & images.is_test)
    train, val = train_test_split(
        rest, test_size=validation_fraction, stratify=images.digits[rest], random_state=rng
    )
    X_train, X_val, X_test = (
        _with_noise(images.pixels[rows], noise, salt_and_pepper, rng) for rows in (train, val, test)
    )
    y_train, y_val, y_test = (images.digits[rows].astype(np.int64) for rows in (train, val, test))
    return DigitImages(
        X_train=X_train, y_train=y_train, X_val=X_val, y_val=y_val, X_test=X_test, y_test=y_test
    )
