"""Samples in which a gene was perturbed are left out where it is the target."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import Ridge

from flat_parameters import flat_network
from randsub.datasets import make_network
from randsub.network import PRSNetwork, infer_network
from randsub.network.fit_data import _as_text, read_samples

TRUTH = make_network(40, n_regulators=4, n_targets=4, n_modules=2, random_state=0)
NAMES = list(TRUTH.gene_names)
# T2 in three samples, R1 with T1 in another.
PERTURBED = [None] * 40
PERTURBED[3] = PERTURBED[17] = PERTURBED[30] = "T2"
PERTURBED[8] = ["R1", "T1"]


def fitted(expression=TRUTH.expression, perturbed=PERTURBED, **parameters):
    settings = {"n_estimators": 10, "max_iter": 8, "n_batches": 3, "random_state": 0, "lam": 0.0}
    model = PRSNetwork(Ridge(), **flat_network(**{**settings, **parameters}))
    return model.fit(expression, TRUTH.regulators, gene_names=NAMES, perturbed=perturbed)


@pytest.mark.parametrize("lam", [0.0, 0.01])
@pytest.mark.parametrize("fraction", [0.25, None])
def test_what_a_perturbed_gene_is_set_to_does_not_matter_for_it(fraction, lam):
    """The target in its perturbed samples, scaled by the others, may have any value."""
    values, options = TRUTH.expression.copy(), {"validation_fraction": fraction, "lam": lam}
    one, plain = fitted(values, **options), fitted(values, None, **options)
    assert (one.link_weights_ != plain.link_weights_).any()
    column = NAMES.index("T2")
    # T2 regulates nothing, so no other target can tell.
    values[[3, 17, 30], column] = [1e3, -50.0, 0.0]
    other = fitted(values, **options)
    np.testing.assert_allclose(other.link_weights_, one.link_weights_, rtol=1e-9)
    assert other.mean_error_ == pytest.approx(one.mean_error_, rel=1e-9)
    changed = fitted(values, None, **options)
    assert not np.allclose(changed.link_weights_[:, column], plain.link_weights_[:, column])


def test_values_of_perturbed_samples_do_not_matter_for_validation_samples_of_ones_own():
    values, column = TRUTH.expression.copy(), NAMES.index("T2")
    found = []
    for value in (0.0, 1e3):
        values[[3, 17, 30], column] = value
        model = PRSNetwork(Ridge(), lam=0.01, max_iter=5, n_estimators=5, random_state=0)
        data = (values, TRUTH.regulators, TRUTH.expression[:5])
        found.append(model.fit(*data, gene_names=NAMES, perturbed=PERTURBED))
    np.testing.assert_allclose(*(one.link_weights_ for one in found), rtol=1e-9)
    assert found[0].mean_error_ == pytest.approx(found[1].mean_error_, rel=1e-9)


def test_a_gene_that_varies_only_where_it_was_perturbed_is_refused():
    values = TRUTH.expression.copy()
    values[:, NAMES.index("T2")] = np.where(np.arange(40) == 17, 0.0, 5.0)
    with pytest.raises(ValueError, match=r"in which it was not perturbed: 'T2'"):
        fitted(values)


def test_entries_of_all_kinds():
    names = pd.Series(["T2", pd.NA, "", "R1"], dtype="string").repeat(10)
    one = fitted(perturbed=names)
    lists = [["T2"]] * 10 + [None] * 10 + [[]] * 10 + [{"R1"}] * 10
    pd.testing.assert_frame_equal(one.links(), fitted(perturbed=lists).links())


def test_a_set_is_described_without_its_order():
    sets = [{"R1", "T1", "T2", "R2"}, {"R2", "T2", "T1", "R1"}]
    texts = {_as_text(one) for one in (*sets, frozenset(sets[0]))}
    assert texts == {"['R1', 'R2', 'T1', 'T2']"}


def test_targets_that_are_not_perturbed_are_as_ever():
    one, plain = fitted(), fitted(perturbed=None)
    changed = [name in ("R1", "T1", "T2") for name in NAMES]
    differs = (one.link_weights_ != plain.link_weights_).any(axis=0)
    np.testing.assert_array_equal(differs, changed)
    nobody = fitted(perturbed=["", *[None] * 38, np.nan])
    np.testing.assert_array_equal(nobody.link_weights_, plain.link_weights_)


def test_rows_of_each_target():
    samples = read_samples(TRUTH.expression, gene_names=NAMES, perturbed=PERTURBED, splits=True)
    names = samples.candidates.targets
    assert {names[g]: rows.tolist() for g, rows in samples.perturbed.items()} == {
        "T2": [3, 17, 30],
        "R1": [8],
        "T1": [8],
    }
    (split,) = samples.splits(0.25, [np.random.default_rng(0)])
    prepared = samples.scaled(split)
    left = prepared.own_rows(names.index("T2"), np.arange(40))
    np.testing.assert_array_equal(left, np.setdiff1d(np.arange(40), [3, 17, 30]))


@pytest.mark.parametrize("block_size", [1, 3, 100])
def test_blocks_and_repeats(block_size):
    whole = fitted(n_repeats=2, validation_fraction=0.25)
    blocks = fitted(n_repeats=2, validation_fraction=0.25, block_size=block_size)
    pd.testing.assert_frame_equal(whole.links(), blocks.links(), check_exact=True)
    errors = whole.path_["validation_error"], blocks.path_["validation_error"]
    np.testing.assert_allclose(*errors)
    assert np.isfinite(errors[0]).all()


def test_validation_samples_of_ones_own_have_no_perturbations():
    model = PRSNetwork(Ridge(), lam=0.0, max_iter=5, n_estimators=5, random_state=0)
    model.fit(
        *(TRUTH.expression, TRUTH.regulators, TRUTH.expression[:5]),
        gene_names=NAMES,
        perturbed=PERTURBED,
    )
    assert np.isfinite(model.path_["validation_error"].item())


def test_the_function_passes_them_on():
    options = {"lam": 0.0, "max_iter": 5, "n_estimators": 5, "random_state": 0}
    options |= {"gene_names": NAMES, "estimator": Ridge()}
    one = infer_network(TRUTH.expression, perturbed=PERTURBED, **options)
    assert not one.equals(infer_network(TRUTH.expression, **options))


@pytest.mark.parametrize(
    ("perturbed", "message"),
    [
        (["T1"], "perturbed has 1 entries, but expression has 40 samples"),
        (5, "perturbed is 5, but expression has 40 samples"),
        (["X9", *[None] * 39], "names 'X9' in sample 0, which is not a gene"),
        ([["T1", 3], *[None] * 39], "names 3 in sample 0"),
        (["T1"] * 39 + [None], r"'T1' was perturbed in 39 sample\(s\), which leaves"),
    ],
)
def test_bad_perturbations_are_refused_before_any_work(perturbed, message):
    with pytest.raises(ValueError, match=message):
        fitted(perturbed=perturbed)
