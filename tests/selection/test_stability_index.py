"""The stability of a selection as a whole, against its definition."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from randsub.selection.stability_index import _influences, stability_index

CHOICES = arrays(bool, array_shapes(min_dims=2, max_dims=2, min_side=2, max_side=8))


def by_definition(selected):
    """1 - mean of the unbiased variances / variance of random choices, written out."""
    n_runs, n_features = selected.shape
    variances = []
    for j in range(n_features):
        p = sum(selected[:, j]) / n_runs
        variances.append(n_runs / (n_runs - 1) * p * (1 - p))
    share = selected.sum() / n_runs / n_features
    return 1 - sum(variances) / n_features / (share * (1 - share))


@given(CHOICES)
def test_value(selected):
    assume(0 < selected.sum() < selected.size)
    found = stability_index(selected, 0.9)
    assert found.value == pytest.approx(by_definition(selected), abs=1e-12)
    assert found.lower <= found.value + 1e-12
    assert found.upper <= 1.0


@given(st.integers(2, 6), st.integers(1, 4), st.integers(0, 1000))
def test_for_selections_of_one_size_it_is_the_mean_index_of_kuncheva(n_runs, size, seed):
    n_features = 7
    rng = np.random.default_rng(seed)
    sets = [set(rng.permutation(n_features)[:size].tolist()) for _ in range(n_runs)]
    selected = np.array([[j in chosen for j in range(n_features)] for chosen in sets])
    expected = size**2 / n_features
    pairs = [
        (len(sets[a] & sets[b]) - expected) / (size - expected)
        for a in range(n_runs)
        for b in range(a)
    ]
    assert stability_index(selected, 0.9).value == pytest.approx(np.mean(pairs))


def test_extremes():
    same = np.tile([True, False, False], (5, 1))
    assert tuple(stability_index(same, 0.9)) == (1.0, 1.0, 1.0)
    for constant in (np.zeros((4, 3), bool), np.ones((4, 3), bool)):
        assert np.isnan(stability_index(constant, 0.9)).all()


def plug_in(weights, chosen):
    """The measure with runs of any weights, and without the correction for their number."""
    p = weights @ chosen
    share = p.mean()
    return 1 - (p * (1 - p)).mean() / (share * (1 - share))


def test_influences_are_derivatives():
    chosen = np.random.default_rng(0).random((6, 9)) < np.linspace(0.1, 0.9, 9)
    chosen = chosen.astype(float)
    weights = np.full(6, 1 / 6)
    step = 1e-6
    derivatives = [
        (plug_in(weights + step * (np.eye(6)[i] - weights), chosen) - plug_in(weights, chosen))
        / step
        for i in range(6)
    ]
    share = chosen.mean()
    spread = _influences(chosen, plug_in(weights, chosen), share, share * (1 - share))
    np.testing.assert_allclose(2 * (spread - spread.mean()), derivatives, atol=1e-4)


def test_the_interval_covers_with_many_runs():
    rng = np.random.default_rng(1)
    p = np.array([0.9, 0.8, 0.5, 0.2, 0.1, 0.1, 0.05, 0.0])
    share = p.mean()
    truth = 1 - (p * (1 - p)).mean() / (share * (1 - share))
    found = [stability_index(rng.random((300, 8)) < p, 0.9) for _ in range(400)]
    covered = np.mean([one.lower <= truth <= one.upper for one in found])
    assert covered == pytest.approx(0.9, abs=0.05)
