"""Eight numbers at a time do what eight numbers do one at a time."""

import numba as nb
import numpy as np

from randsub.engines import simd


@nb.njit
def _arithmetic(one, other, out):
    a, b = simd.load(one, 3), simd.load(other, 1)
    simd.store(out, 0, simd.add(a, b))
    simd.store(out, 8, simd.subtract(a, b))
    simd.store(out, 16, simd.multiply(a, b))
    above = simd.greater(a, b)
    positive = simd.greater(a, simd.splat(0.0))
    simd.store(out, 24, simd.choose(above, a, b))
    simd.store(out, 32, simd.choose(simd.both(above, positive), a, simd.splat(7.0)))


def test_lanes_are_independent():
    rng = np.random.default_rng(0)
    one, other, out = rng.normal(size=12), rng.normal(size=12), np.full(41, -1.0)
    one[3], other[1] = np.nan, 0.0
    _arithmetic(one, other, out)
    a, b = one[3:11], other[1:9]
    np.testing.assert_array_equal(out[:8], a + b)
    np.testing.assert_array_equal(out[8:16], a - b)
    np.testing.assert_array_equal(out[16:24], a * b)
    # What is no number is not greater.
    np.testing.assert_array_equal(out[24:32], np.where(a > b, a, b))
    np.testing.assert_array_equal(out[32:40], np.where((a > b) & (a > 0), a, 7.0))
    assert out[40] == -1.0
    assert set(a > b) == {False, True}


@nb.njit
def _total(values, at):
    return simd.total_of(simd.load(values, at))


def test_lanes_are_added_up_in_halves_through_all_dimensions():
    values = np.random.default_rng(2).normal(size=(3, 8)) * 10.0 ** np.arange(8)
    a = values[1]
    halves = a[:4] + a[4:]
    quarters = halves[:2] + halves[2:]
    assert _total(values, 8) == quarters[0] + quarters[1]


@nb.njit
def _run(values, out):
    run = simd.running_sums(simd.load(values, 1))
    simd.store(out, 0, run)
    simd.store(out, 8, simd.last_of(run))


def test_running_sums_and_the_last_of_them():
    values, out = np.arange(9.0) ** 2, np.zeros(16)
    _run(values, out)
    np.testing.assert_array_equal(out[:8], np.cumsum(values[1:]))
    np.testing.assert_array_equal(out[8:], values.sum())


@nb.njit
def _unpack(words, out):
    simd.store(out, 1, simd.upper_floats(simd.load(words, 2)))


def test_floats_in_the_upper_half_of_a_word():
    values = np.random.default_rng(1).normal(size=10).astype(np.float32)
    words = (values.view(np.int32).astype(np.int64) << 32) | np.arange(10)
    out = np.zeros(10, dtype=np.float32)
    _unpack(words, out)
    np.testing.assert_array_equal(out, [0.0, *values[2:], 0.0])


@nb.njit
def _logarithms(one, other, table, out):
    a, b = simd.load(one, 0), simd.load(other, 0)
    simd.store(out, 0, simd.x_log_x(a, b))
    simd.store(out, 8, simd.x_log_x(b, a))
    simd.store(out, 16, simd.look_up(table, b))
    simd.store(out, 24, simd.choose(simd.equal(a, b), a, simd.splat(-7.0)))


def test_logarithms_are_exact_to_the_last_digits():
    rng = np.random.default_rng(3)
    table = np.append(0.0, np.arange(1.0, 9.0) * np.log(np.arange(1.0, 9.0)))
    for _ in range(500):
        one, other = 10.0 ** rng.uniform(-12.0, 6.0, 8), rng.permutation(8.0 + np.arange(-8, 0))
        one[0], one[1:4] = other[0], (0.0, -1e-17, 1.0)
        out = np.zeros(32)
        _logarithms(one, other, table, out)
        with np.errstate(all="ignore"):
            truth = [np.where(x > 0.0, x * np.log(x), 0.0) for x in (one, other)]
        np.testing.assert_allclose(out[:8], truth[0] + truth[1], rtol=1e-15, atol=1e-15)
        np.testing.assert_array_equal(out[:8], out[8:16])
        np.testing.assert_array_equal(out[16:24], table[other.astype(int)])
        np.testing.assert_array_equal(out[24:], np.where(one == other, one, -7.0))
    _logarithms(one, -other, table, out)
    np.testing.assert_array_equal(out[16:24], 0.0)
