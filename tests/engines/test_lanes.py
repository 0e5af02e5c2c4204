"""Eight numbers at a time do what eight numbers do one at a time."""

import numba as nb
import numpy as np

from randsub.engines import lanes


@nb.njit
def _arithmetic(one, other, out):
    a, b = lanes.load(one, 3), lanes.load(other, 1)
    lanes.store(out, 0, lanes.add(a, b))
    lanes.store(out, 8, lanes.subtract(a, b))
    lanes.store(out, 16, lanes.multiply(a, b))
    above = lanes.greater(a, b)
    positive = lanes.greater(a, lanes.splat(0.0))
    lanes.store(out, 24, lanes.choose(above, a, b))
    lanes.store(out, 32, lanes.choose(lanes.both(above, positive), a, lanes.splat(7.0)))


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
def _unpack(words, out):
    lanes.store(out, 1, lanes.upper_floats(lanes.load(words, 2)))


def test_floats_in_the_upper_half_of_a_word():
    values = np.random.default_rng(1).normal(size=10).astype(np.float32)
    words = (values.view(np.int32).astype(np.int64) << 32) | np.arange(10)
    out = np.zeros(10, dtype=np.float32)
    _unpack(words, out)
    np.testing.assert_array_equal(out, [0.0, *values[2:], 0.0])
