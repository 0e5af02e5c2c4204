"""Masks in sparse rows, from masks of any kind, and over the parameters that some of them hold."""

from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.sparse import csc_array, csr_array, csr_matrix

from randsub._masks import as_dense, as_sparse, renumbered, sparse_rows
from randsub.distributions import Bernoulli


def some_masks(shape=(7, 5)):
    masks = np.random.default_rng(14).random(shape) < 0.4
    masks[0], masks[-1] = False, True
    return masks


def with_wide_indices(masks):
    rows = csr_array(masks, dtype=float)
    rows.indices, rows.indptr = rows.indices.astype(np.int64), rows.indptr.astype(np.int64)
    return rows


def with_explicit_zeros(masks):
    rows = csr_array(np.ones(masks.shape))
    rows.data[:] = masks.ravel()
    assert rows.nnz == masks.size
    return rows


MASK_KINDS = {
    "bool": np.asarray,
    "numbers": lambda masks: masks.astype(float),
    "fortran": np.asfortranarray,
    "strided": lambda masks: np.repeat(masks, 2, axis=1)[:, ::2],
    "csr float": partial(csr_array, dtype=float),
    "csr bool": csr_array,
    "csr single precision": partial(csr_array, dtype=np.float32),
    "csr_matrix": partial(csr_matrix, dtype=float),
    "csc": partial(csc_array, dtype=float),
    "wide indices": with_wide_indices,
    "explicit zeros": with_explicit_zeros,
}
SHAPES = {
    "some": some_masks(),
    "one": some_masks((2, 1)),
    "nothing held": np.zeros((4, 5), dtype=bool),
    "everything held": np.ones((4, 5), dtype=bool),
    "no masks": np.zeros((0, 5), dtype=bool),
}


@pytest.mark.parametrize("kind", MASK_KINDS.values(), ids=MASK_KINDS)
@pytest.mark.parametrize("masks", SHAPES.values(), ids=SHAPES)
def test_masks_in_sparse_rows(kind, masks):
    given = kind(masks)
    rows = as_sparse(given)
    assert type(rows) is csr_array
    assert rows.shape == masks.shape
    # What the kernels are compiled for.
    assert (rows.data.dtype, rows.indices.dtype, rows.indptr.dtype) == (float, np.int32, np.int32)
    np.testing.assert_array_equal(rows.toarray(), masks.astype(float))
    np.testing.assert_array_equal(as_dense(given) != 0, masks)
    expected = csr_array(masks, dtype=float)
    if kind is not with_explicit_zeros:
        np.testing.assert_array_equal(rows.indptr, expected.indptr)
        np.testing.assert_array_equal(rows.indices, expected.indices)
        np.testing.assert_array_equal(rows.data, np.ones(masks.sum()))
    # It is a matrix like any other.
    rows.check_format(full_check=True)
    np.testing.assert_array_equal((rows @ np.ones((masks.shape[1], 1)))[:, 0], masks.sum(axis=1))
    # Whichever way they came, they mean the same.
    family, theta = Bernoulli(masks.shape[1]), np.linspace(0.2, 0.8, masks.shape[1])
    coefficients = np.random.default_rng(15).normal(size=(2, len(masks)))
    np.testing.assert_allclose(
        family.log_prob(given, theta), family.log_prob(masks, theta), rtol=1e-14
    )
    np.testing.assert_allclose(
        family.score_sums(given, theta, coefficients),
        family.score_sums(masks, theta, coefficients),
        rtol=1e-13,
    )


def test_masks_that_are_in_sparse_rows_are_not_copied():
    rows = csr_array(some_masks(), dtype=float)
    assert as_sparse(rows) is rows
    assert as_sparse(as_sparse(some_masks()[:0])).shape == (0, 5)


@pytest.mark.parametrize("kind", MASK_KINDS.values(), ids=MASK_KINDS)
def test_masks_that_were_given_stay_as_they_are(kind):
    given, before = kind(some_masks()), kind(some_masks())
    rows = as_sparse(given)
    if rows is not given:
        rows.data[:] = 5.0
    np.testing.assert_array_equal(as_dense(given), as_dense(before))


@settings(max_examples=60, deadline=None, derandomize=True)
@given(masks=arrays(bool, st.tuples(st.integers(0, 8), st.integers(1, 70))))
def test_rows_from_their_parts(masks):
    expected = csr_array(masks, dtype=float)
    for dtype in (np.int32, np.int64):
        begin, held = expected.indptr.astype(dtype), expected.indices.astype(dtype)
        rows = sparse_rows(begin, held, masks.shape[1])
        rows.check_format(full_check=True)
        assert (rows.data.dtype, rows.indices.dtype, rows.indptr.dtype) == (float, "i4", "i4")
        np.testing.assert_array_equal(rows.toarray(), masks)
        # What was given is not shared.
        assert not np.shares_memory(rows.indices, held)
        assert not np.shares_memory(rows.indptr, begin)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(data=st.data(), n_parameters=st.integers(1, 60), dtype=st.sampled_from(["i4", "i8"]))
def test_parameters_that_occur_are_numbered_anew(data, n_parameters, dtype):
    held = np.array(data.draw(st.lists(st.integers(0, n_parameters - 1), max_size=90)), dtype=dtype)
    parameters, places = renumbered(held, n_parameters)
    expected, inverse = np.unique(held, return_inverse=True)
    np.testing.assert_array_equal(parameters, expected)
    np.testing.assert_array_equal(places, inverse)
