"""Intervals of scores, against scores of rows that are really drawn."""

import numpy as np
import pytest
from sklearn.metrics import accuracy_score, r2_score

from randsub.report import bootstrap
from randsub.report.bootstrap import interval, resampled_scores


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("is_regression", [False, True])
def test_scores_are_those_of_the_drawn_rows(is_regression, weighted, monkeypatch):
    rng = np.random.default_rng(0)
    y = 1e4 + rng.normal(size=30) if is_regression else rng.integers(3, size=30)
    predictions = [y + rng.normal(size=30) if is_regression else rng.integers(3, size=30)] * 2
    predictions[1] = np.roll(predictions[1], 1)
    weight = rng.uniform(0.1, 2.0, size=30) if weighted else None
    # Few at a time, so that the loop over chunks runs more than once.
    monkeypatch.setattr(bootstrap, "_CHUNK", 70)
    found = resampled_scores(y, predictions, weight, 5, is_regression, n_resamples=5)
    draws = np.random.default_rng(5)
    score = r2_score if is_regression else accuracy_score
    for row in found:
        rows = np.repeat(np.arange(30), draws.multinomial(30, np.full(30, 1 / 30)))
        drawn = None if weight is None else weight[rows]
        for value, prediction in zip(row, predictions, strict=True):
            assert value == pytest.approx(score(y[rows], prediction[rows], sample_weight=drawn))


def test_equal_targets_have_no_r2():
    y = np.full(4, 7.0)
    assert np.isnan(resampled_scores(y, [y + 1.0], None, 0, True, 10)).all()


def test_interval_holds_the_middle_and_ignores_what_is_undefined():
    assert interval(np.append(np.arange(1001.0), np.nan)) == pytest.approx((25.0, 975.0))
    assert np.isnan(interval(np.array([np.nan]))).all()
