"""From importances to a selection, against brute force and against the law it must keep."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from randsub._significance import pooled_p_values, q_values
from randsub.selection.fdr import (
    enough_shadows,
    smallest_selection,
)

# Few different values, so that there are ties; 0 as alpha has it.
VALUES = st.sampled_from([0.0, 0.1, 0.25, 0.5, 1.0])
FDR = st.sampled_from([0.01, 0.05, 0.1, 0.2, 0.3, 0.5, 0.9])


@given(st.lists(VALUES, min_size=1, max_size=8), st.lists(VALUES, min_size=1, max_size=20))
def test_p_values_are_ranks(importances, shadows):
    expected = [
        (1 + sum(shadow >= importance for shadow in shadows)) / (1 + len(shadows))
        for importance in importances
    ]
    found = pooled_p_values(np.array(importances), np.array(shadows))
    np.testing.assert_allclose(found, expected, rtol=1e-15)


def test_a_feature_of_no_importance_is_never_significant():
    np.testing.assert_array_equal(pooled_p_values(np.zeros(2), np.array([0.0, 0.0, 0.3])), 1.0)


@given(st.lists(st.floats(0.001, 1.0), min_size=1, max_size=12), FDR)
def test_q_values_select_as_benjamini_and_hochberg(p_values, fdr):
    p_values = np.array(p_values)
    n = len(p_values)
    # The largest k such that the k smallest are at most fdr k / n.
    ordered = np.sort(p_values)
    k = max((k for k in range(1, n + 1) if ordered[k - 1] * n / k <= fdr), default=0)
    expected = p_values <= ordered[k - 1] if k else np.zeros(n, bool)
    np.testing.assert_array_equal(q_values(p_values) <= fdr, expected)


@given(st.integers(1, 300), st.integers(1, 12), FDR)
def test_smallest_selection(n_features, n_shadows, fdr):
    needed = smallest_selection(n_features, n_shadows, fdr)
    best = 1 / (1 + n_shadows * n_features)
    for k in {1, needed - 1, needed, needed + 1} & set(range(1, n_features + 1)):
        p_values = np.ones(n_features)
        p_values[:k] = best
        chosen = q_values(p_values) <= fdr * (1 + 1e-9)
        assert chosen[:k].all() == (k >= needed)


@given(st.integers(1, 500), FDR)
def test_enough_shadows_are_enough_and_not_more(n_features, fdr):
    n_shadows = enough_shadows(n_features, fdr)
    least = min(2, n_features)
    assert smallest_selection(n_features, n_shadows, fdr) <= least
    if n_shadows > 1:
        assert smallest_selection(n_features, n_shadows - 1, fdr) > least


def test_the_documented_numbers():
    assert enough_shadows(100, 0.1) == 5
    assert enough_shadows(100, 0.05) == 10
    assert smallest_selection(100, 1, 0.1) == 10


def draws(rng, n_features, n_relevant, n_shadows):
    """Exchangeable importances of noise, half of them 0 as alpha is, and larger ones."""
    noise = np.maximum(rng.normal(size=(1 + n_shadows) * n_features), 0.0)
    importances, shadows = noise[:n_features], noise[n_features:]
    importances[:n_relevant] = rng.uniform(1.5, 6.0, n_relevant)
    return importances, shadows


@pytest.mark.parametrize("n_shadows", [1, 3, 5])
def test_p_values_of_noise_are_uniform_up_to_ties(n_shadows):
    rng = np.random.default_rng(n_shadows)
    p_values = np.array([pooled_p_values(*draws(rng, 20, 0, n_shadows))[0] for _ in range(4000)])
    # Exact where importances are positive; the other half of the features has a p-value of 1.
    for level in (0.05, 0.1, 0.25):
        size = 1 + 20 * n_shadows
        exact = np.floor(level * size + 1e-9) / size
        error = np.sqrt(exact * (1 - exact) / 4000)
        assert np.mean(p_values <= level) == pytest.approx(exact, abs=4 * error)


@pytest.mark.parametrize("n_relevant", [0, 4, 12])
def test_the_false_discovery_rate_is_kept_and_nearly_reached(n_relevant):
    rng = np.random.default_rng(n_relevant)
    n_features, fdr = 40, 0.2
    proportions, power = [], []
    for _ in range(2000):
        chosen = q_values(pooled_p_values(*draws(rng, n_features, n_relevant, 5))) <= fdr
        proportions.append(chosen[n_relevant:].sum() / max(chosen.sum(), 1))
        power.append(chosen[:n_relevant].sum() / max(n_relevant, 1))
    bound = fdr * (1 - n_relevant / n_features)
    error = np.std(proportions) / np.sqrt(2000)
    assert np.mean(proportions) <= bound + 3 * error
    assert np.mean(proportions) >= 0.5 * bound
    if n_relevant:
        assert np.mean(power) > 0.5


@pytest.mark.parametrize("spread", [0.0, 1.0, 3.0])
@pytest.mark.parametrize("n_relevant", [0, 4])
def test_the_rate_is_kept_if_features_are_like_their_own_copies_only(n_relevant, spread):
    """As with the conditional null: the noise of some features is larger than that of others."""
    rng = np.random.default_rng(int(10 * spread) + n_relevant)
    n_features, fdr, proportions = 30, 0.2, []
    for _ in range(1000):
        scale = np.exp(spread * rng.normal(size=(n_features, 1)))
        values = scale * rng.exponential(size=(n_features, 6))
        values[:n_relevant, 0] += rng.uniform(0.0, 8.0, n_relevant)
        chosen = q_values(pooled_p_values(values[:, 0], values[:, 1:].ravel())) <= fdr
        proportions.append(chosen[n_relevant:].sum() / max(chosen.sum(), 1))
    assert np.mean(proportions) <= fdr + 2 * np.std(proportions) / np.sqrt(1000)
