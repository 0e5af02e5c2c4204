"""What all compiled engines share."""

import numpy as np
import pytest
from sklearn.linear_model import Ridge

from randsub.engines import GenericEngine, Learner, LinearAndBayesEngine
from randsub.engines.compiled import is_finite

LARGEST = np.finfo(float).max


@pytest.mark.parametrize("values", [[np.nan, 1.0], [np.inf, 1.0], [np.inf, -np.inf]])
def test_numbers_that_are_not_finite_are_found(values):
    assert not is_finite(np.array([0.0, *values, 2.0]))


def test_finite_numbers_may_have_a_sum_that_is_not():
    assert is_finite(np.array([1.0, -2.0]))
    assert is_finite(np.array([LARGEST, LARGEST]))
    assert is_finite(np.empty((0, 3)))


@pytest.mark.parametrize("pattern", ["all distinct", "twice the same", "some empty", "all empty"])
def test_each_mask_gets_its_own_answer_whatever_the_others_are(pattern):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 4)), rng.normal(size=30)
    masks = np.eye(4, dtype=bool)
    if pattern == "twice the same":
        masks[3] = masks[1]
    elif pattern == "some empty":
        masks[[0, 2]] = False
    elif pattern == "all empty":
        masks[:] = False
    data = (X[:20], y[:20], masks, X[20:], np.zeros(4, dtype=int))
    ours, plain = (
        kind(Learner(Ridge())).predict_many(*data) for kind in (LinearAndBayesEngine, GenericEngine)
    )
    np.testing.assert_allclose(ours, plain, rtol=1e-9)
