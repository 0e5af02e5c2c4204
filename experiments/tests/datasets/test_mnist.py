"""Digits: the split, the noise, and three layouts of the same images."""

import numpy as np
import pytest
from scipy import stats
from sklearn.utils._param_validation import InvalidParameterError

import loader_files
from randsub.exceptions import DatasetFormatError, DatasetNotFoundError
from randsub_experiments.datasets import load_mnist

PARTS = ("train", "val", "test")


@pytest.fixture
def arrays():
    return loader_files.digits()


@pytest.fixture
def home(tmp_path, arrays):
    loader_files.save(tmp_path / "mnist" / "mnist.npz", arrays)
    return tmp_path


def rows_of(X, arrays):
    """Rows of the file that the images are, which are all different."""
    pixels = np.rint(X * 255).astype(np.uint8)
    position = {image.tobytes(): row for row, image in enumerate(arrays["X"])}
    return [position[image.tobytes()] for image in pixels]


def test_the_parts_are_the_images_of_the_digits(home, arrays):
    images = load_mnist(home, random_state=0)
    rows = {part: rows_of(getattr(images, f"X_{part}"), arrays) for part in PARTS}
    kept = np.isin(arrays["y"], (5, 6))
    assert rows["test"] == np.flatnonzero(kept & arrays["is_test"]).tolist()
    rest = np.flatnonzero(kept & ~arrays["is_test"]).tolist()
    assert sorted(rows["train"] + rows["val"]) == rest
    assert len(rows["val"]) == np.ceil(0.2 * len(rest))
    for part in PARTS:
        assert getattr(images, f"y_{part}").tolist() == arrays["y"][rows[part]].tolist()
        X = getattr(images, f"X_{part}")
        assert X.dtype == np.float32
        assert X.min() >= 0
        assert X.max() <= 1


def test_validation_images_are_stratified_for_any_seed(home):
    for seed in range(20):
        fives, sixes = np.bincount(load_mnist(home, random_state=seed).y_val)[5:]
        assert abs(fives - sixes) <= 1


def test_images_are_views_of_the_rows(home, arrays):
    images = load_mnist(home, random_state=0)
    for part in PARTS:
        squares, X = getattr(images, f"images_{part}"), getattr(images, f"X_{part}")
        assert squares.shape == (len(X), 28, 28)
        assert np.shares_memory(squares, X)
        np.testing.assert_array_equal(squares[0, 3], X[0, 84:112])


def test_noise_is_gaussian_unclipped_and_leaves_the_split_alone(home):
    clean, noisy = (load_mnist(home, noise=noise, random_state=3) for noise in (0.0, 0.5))
    added = []
    for part in PARTS:
        y, y_noisy = (getattr(images, f"y_{part}") for images in (clean, noisy))
        np.testing.assert_array_equal(y, y_noisy)
        added.append(getattr(noisy, f"X_{part}") - getattr(clean, f"X_{part}"))
    pooled = np.concatenate(added).ravel()
    assert stats.kstest(pooled, stats.norm(scale=0.5).cdf).pvalue > 1e-3
    assert min(getattr(noisy, f"X_{part}").min() for part in PARTS) < 0
    # No two images share their noise.
    assert len({image.tobytes() for part in added for image in part}) == sum(map(len, added))


def test_salt_and_pepper_replaces_pixels_by_ink_and_background_and_no_others(home):
    clean, noisy = (
        load_mnist(home, salt_and_pepper=share, random_state=3) for share in (0.0, 0.25)
    )
    before, after = (
        np.concatenate([getattr(images, f"X_{part}") for part in PARTS])
        for images in (clean, noisy)
    )
    np.testing.assert_array_equal(noisy.y_train, clean.y_train)
    changed = before != after
    assert set(np.unique(after[changed])) == {0.0, 1.0}
    # An eighth is ink, and an eighth background, wherever the pixel was something else.
    for value in (0.0, 1.0):
        others = before != value
        n, k = np.count_nonzero(others), np.count_nonzero(after[others] == value)
        assert stats.binomtest(k, n, 0.125).pvalue > 1e-3
    everything = load_mnist(home, salt_and_pepper=1.0, random_state=3)
    assert set(np.unique(everything.X_train)) == {0.0, 1.0}


def test_pixels_that_are_replaced_have_no_gaussian_noise(home):
    images = load_mnist(home, noise=0.5, salt_and_pepper=0.25, random_state=3)
    share = np.mean(np.isin(images.X_train, (0.0, 1.0)))
    n = images.X_train.size
    assert stats.binomtest(round(share * n), n, 0.25).pvalue > 1e-3


def test_the_noise_does_not_depend_on_the_size_of_a_block(home, monkeypatch):
    kinds = {"noise": 0.5, "salt_and_pepper": 0.2}
    whole = load_mnist(home, **kinds, random_state=3)
    monkeypatch.setattr("randsub_experiments.datasets.mnist._BLOCK", 3)
    np.testing.assert_array_equal(load_mnist(home, **kinds, random_state=3).X_val, whole.X_val)


def test_the_same_seed_gives_the_same_and_another_another(home):
    first, again, other = (load_mnist(home, noise=0.1, random_state=seed) for seed in (0, 0, 1))
    for part in PARTS:
        np.testing.assert_array_equal(getattr(first, f"X_{part}"), getattr(again, f"X_{part}"))
    assert not np.array_equal(first.X_train, other.X_train)


@pytest.mark.parametrize("layout", ["squares", "keras", "idx", "idx.gz", "named for the digits"])
def test_other_layouts_hold_the_same(layout, home, arrays, tmp_path_factory):
    expected = load_mnist(home, random_state=0)
    other = tmp_path_factory.mktemp("other")
    squares, y, is_test = arrays["X"].reshape(-1, 28, 28), arrays["y"], arrays["is_test"]
    if layout == "squares":
        loader_files.save(other / "mnist.npz", {**arrays, "X": squares})
    elif layout == "named for the digits":
        loader_files.save(other / "mnist56_clean.npz", arrays)
    elif layout == "keras":
        keras = {"x_train": squares[~is_test], "y_train": y[~is_test]}
        loader_files.save(
            other / "mnist.npz", {**keras, "x_test": squares[is_test], "y_test": y[is_test]}
        )
    else:
        ending = layout.removeprefix("idx")
        for part, rows in (("train", ~is_test), ("t10k", is_test)):
            loader_files.write_idx(other / f"{part}-images-idx3-ubyte{ending}", squares[rows])
            loader_files.write_idx(other / f"{part}-labels-idx1-ubyte{ending}", y[rows])
    found = load_mnist(other, random_state=0)
    for name in ("X_train", "y_train", "X_val", "y_val", "X_test", "y_test"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))


@pytest.mark.parametrize("ending", ["", ".gz"])
def test_damaged_original_files_raise_ours(ending, tmp_path, arrays):
    squares, y = arrays["X"].reshape(-1, 28, 28), arrays["y"]
    for part in ("train", "t10k"):
        loader_files.write_idx(tmp_path / f"{part}-images-idx3-ubyte{ending}", squares)
        loader_files.write_idx(tmp_path / f"{part}-labels-idx1-ubyte{ending}", y)
    load_mnist(tmp_path)
    path = tmp_path / f"t10k-images-idx3-ubyte{ending}"
    whole = path.read_bytes()
    for damaged in (whole[:-9], whole[:3], b"", b"\1" + whole[1:]):
        path.write_bytes(damaged)
        with pytest.raises(DatasetFormatError, match="t10k-images"):
            load_mnist(tmp_path)
    path.unlink()
    with pytest.raises(DatasetNotFoundError, match="t10k-images-idx3-ubyte"):
        load_mnist(tmp_path)


def test_digits_that_the_file_lacks_are_named(home):
    assert set(load_mnist(home, digits=[5, 7]).y_train) == {5, 7}
    with pytest.raises(DatasetNotFoundError, match=r"images of the digit 1;.*digits \[5, 6, 7\]"):
        load_mnist(home, digits=(5, 1))


@pytest.mark.parametrize(
    "digits", [(5,), (5, 5), (5, 10), (-1, 5), (5.0, 6.0), [[5, 6]], ("5", "6")]
)
def test_bad_digits_are_shown(digits, home):
    with pytest.raises(ValueError, match="at least two different ones of 0 to 9"):
        load_mnist(home, digits=digits)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("noise", -1),
        ("salt_and_pepper", 1.5),
        ("validation_fraction", 0.0),
        ("random_state", "a"),
        ("digits", 5),
    ],
)
def test_bad_parameters_are_named(name, value, home):
    with pytest.raises(InvalidParameterError, match=f"'{name}' parameter of load_mnist"):
        load_mnist(home, **{name: value})


@pytest.mark.parametrize(
    ("name", "wrong"),
    [("X", np.float32), ("y", np.float64), ("is_test", np.int64)],
)
def test_arrays_of_a_wrong_type_are_refused(name, wrong, home, arrays):
    arrays[name] = arrays[name].astype(wrong)
    loader_files.save(home / "mnist" / "mnist.npz", arrays)
    with pytest.raises(DatasetFormatError, match=np.dtype(wrong).name):
        load_mnist(home)


def test_the_real_digits_have_their_numbers(shared_data):
    try:
        images = load_mnist(shared_data, random_state=0)
    except DatasetNotFoundError as error:
        pytest.skip(str(error))
    assert len(images.y_test) == 1850  # 892 fives and 958 sixes
    assert np.sum(images.y_test == 5) == 892
    assert len(images.y_train) + len(images.y_val) == 11339
