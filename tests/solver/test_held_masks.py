"""Masks over the parameters that some of them hold mean what they mean over all parameters."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from oracle import Chain, dense
from randsub._masks import as_sparse
from randsub.distributions import EDGE, Bernoulli, GroupedBernoulli, SubsetDistribution
from randsub.gradients import score_gradient
from randsub.solver.loop import _loss_gradients
from randsub.solver.refresh import with_rows
from randsub.solver.rounds import HeldMasks
from tiny_world import begin, make_problem, make_settings, noisy

shapes = st.tuples(st.integers(1, 8), st.integers(1, 90))
levels = st.floats(0.0, 1.0) | st.sampled_from([0.0, 1.0, 1e-300, EDGE, 1.0 - 1e-12])
anything = settings(max_examples=80, deadline=None, derandomize=True)


@st.composite
def some_masks(draw):
    """Masks of any density; most hold few parameters of many."""
    n_masks, n_parameters = draw(shapes)
    density = draw(st.sampled_from([0.0, 0.02, 0.2, 0.8, 1.0]))
    rng = np.random.default_rng(draw(st.integers(0, 1000)))
    return rng.random((n_masks, n_parameters)) < density


@anything
@given(masks=some_masks(), is_independent=st.booleans())
def test_there_and_back(masks, is_independent):
    held = HeldMasks.of(as_sparse(masks), is_independent=is_independent)
    assert held.n_parameters == masks.shape[1]
    expected = np.flatnonzero(masks.any(axis=0)) if is_independent else np.arange(masks.shape[1])
    np.testing.assert_array_equal(held.parameters, expected)
    np.testing.assert_array_equal(dense(held.rows), masks[:, expected])
    np.testing.assert_array_equal(held.counts, masks[:, expected].sum(axis=0))
    np.testing.assert_array_equal(dense(held.whole()), masks)
    for rows in (held.rows, held.whole()):
        rows.check_format(full_check=True)
        assert (rows.data.dtype, rows.indices.dtype, rows.indptr.dtype) == (float, "i4", "i4")
        assert rows.has_sorted_indices


@anything
@given(data=st.data(), masks=some_masks(), n_thetas=st.integers(1, 3), grouped=st.booleans())
def test_log_probabilities_are_those_over_all_parameters(data, masks, n_thetas, grouped):
    n_parameters = masks.shape[1]
    family = GroupedBernoulli(np.arange(n_parameters)) if grouped else Bernoulli(n_parameters)
    thetas = data.draw(arrays(float, (n_thetas, n_parameters), elements=levels))
    inside = np.clip(thetas, EDGE, 1.0 - EDGE)[:, np.newaxis]
    expected = np.where(masks, np.log(inside), np.log1p(-inside)).sum(axis=2)
    held = HeldMasks.of(as_sparse(masks), is_independent=True)
    given_thetas = thetas.copy()
    found = held.log_probs(family, given_thetas)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(given_thetas, thetas)
    # What any other independent family would do.
    plain = SubsetDistribution.log_probs_held(family, held.rows, held.parameters, thetas)
    np.testing.assert_array_equal(family.log_probs_held(held.rows, held.parameters, thetas), plain)


@anything
@given(data=st.data(), masks=some_masks())
def test_log_probabilities_of_a_family_that_is_not_independent(data, masks):
    family = Chain(masks.shape[1])
    thetas = data.draw(arrays(float, (2, masks.shape[1]), elements=st.floats(0.01, 0.99)))
    held = HeldMasks.of(as_sparse(masks), is_independent=family.is_independent)
    assert len(held.parameters) == masks.shape[1]
    expected = [family.log_prob(masks, theta) for theta in thetas]
    np.testing.assert_array_equal(held.log_probs(family, thetas), expected)


@pytest.mark.parametrize("family", [Bernoulli(30), Chain(30)], ids=["independent", "chain"])
def test_empty_masks(family):
    held = HeldMasks.of(as_sparse(np.zeros((4, 30), bool)), is_independent=family.is_independent)
    theta = np.linspace(0.1, 0.9, 30)
    expected = family.log_prob(np.zeros((4, 30), dtype=bool), theta)
    np.testing.assert_allclose(held.log_probs(family, theta[np.newaxis])[0], expected, rtol=1e-12)
    assert not held.whole().nnz


@pytest.mark.parametrize("family", [Bernoulli(30), Chain(30)], ids=["independent", "chain"])
@pytest.mark.parametrize("baseline", ["optimal", "weighted"])
def test_gradient_of_a_round_is_that_over_all_parameters(family, baseline):
    """0 where no mask holds a parameter; for the others nothing is left out."""
    problem = make_problem(noisy, n_features=30, distribution=family)
    numbers = make_settings(baseline=baseline, objective="members", n_masks=60)
    theta = np.where(np.arange(30) % 3, 0.0101, 0.4)
    state = begin(problem, numbers, theta)
    for round_ in state.rounds[0]:
        masks = dense(round_.masks.whole())
        nowhere = ~masks.any(axis=0)
        assert 3 < nowhere.sum() < 27
        at = family.project(theta + 0.02 * np.sin(np.arange(30)))
        log_w = family.log_prob(masks, at) - family.log_prob(masks, theta)
        weights = np.exp(log_w - log_w.max())
        weights /= weights.sum()
        costs = problem.loss.of_members(round_.targets, round_.predictions, round_.sample_weight)
        expected = score_gradient(family, masks, at, weights, costs, baseline)
        [found], _ = _loss_gradients(problem, numbers, [round_], at[np.newaxis], np.ones(1))
        np.testing.assert_allclose(found[~nowhere], expected[~nowhere], rtol=1e-8, atol=1e-10)
        np.testing.assert_array_equal(found[nowhere], 0.0)
        np.testing.assert_array_equal(round_.unknown(), nowhere | masks.all(axis=0))


@anything
@given(masks=some_masks(), seed=st.integers(0, 100), as_places=st.booleans())
def test_rows_are_replaced(masks, seed, as_places):
    rng = np.random.default_rng(seed)
    changed = rng.random(len(masks)) < 0.5
    new = rng.random((changed.sum(), masks.shape[1])) < 0.3
    expected = masks.copy()
    expected[changed] = new
    given_masks, given_new = as_sparse(masks), as_sparse(new)
    found = with_rows(given_masks, np.flatnonzero(changed) if as_places else changed, given_new)
    np.testing.assert_array_equal(dense(found), expected)
    assert (found.data.dtype, found.indices.dtype, found.indptr.dtype) == (float, "i4", "i4")
    assert found.has_sorted_indices
    np.testing.assert_array_equal(dense(given_masks), masks)
    np.testing.assert_array_equal(dense(given_new), new)
