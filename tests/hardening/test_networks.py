"""Networks: alpha for each pair of genes, or an error that was written for the user."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flat_parameters import flat_network
from hardening import inputs, parameters
from hardening.cases import Case, Data, hostile_dimensions, pick
from hardening.inputs import kind
from hardening.tally import Tally, tries
from hardening.verdict import attempt
from randsub.network import PRSNetwork

DIMENSIONS = ["rows", "columns", "values", "container", "genes", "validation", "base", "parameters"]

GENES: Mapping[str, Mapping[str, Callable[[int], dict[str, Any]]]] = {
    "tame": {
        "as they are": lambda m: {},
        "two targets": lambda m: {"targets": [0, m - 1][: min(m, 2)]},
        "a regulator": lambda m: {"regulators": [0]},
        "a mask": lambda m: {"regulators": np.arange(m) < 2},
    },
    "hostile": {
        "names": lambda m: {"gene_names": [f"gene{j}" for j in range(m)]},
        "too few names": lambda m: {"gene_names": ["one"]},
        "equal names": lambda m: {"gene_names": ["one"] * m},
        "empty names": lambda m: {"gene_names": [""] * m},
        "numbers as names": lambda m: {"gene_names": list(range(m))},
        "one name": lambda m: {"gene_names": "gene"},
        "a number as names": lambda m: {"gene_names": 3},
        "by name": lambda m: {"regulators": ["a_0"]},
        "by default names": lambda m: {"regulators": ["G1"]},
        "unknown": lambda m: {"regulators": ["nobody"]},
        "outside": lambda m: {"targets": [99]},
        "negative": lambda m: {"targets": [-1]},
        "twice": lambda m: {"targets": [0, 0]},
        "none": lambda m: {"targets": []},
        "an empty mask": lambda m: {"regulators": np.zeros(m, dtype=bool)},
        "a short mask": lambda m: {"regulators": [True]},
        "of two kinds": lambda m: {"regulators": ["a_0", 1]},
        "fractions": lambda m: {"regulators": [0.5]},
        "objects": lambda m: {"regulators": [None, {}]},
        "nested": lambda m: {"targets": [[0]]},
        "ragged": lambda m: {"targets": [[0], [0, 1]]},
        "a number": lambda m: {"targets": 3},
        "a layer": lambda m: {"layer": "counts"},
    },
}
VALIDATION = {
    "tame": ["none", "the same", "none at all"],
    "hostile": ["one sample", "another width", "no numbers", "missing", "huge", "a word"],
}


def validation(how: str, X: Any, data: Data) -> dict[str, Any]:
    """Validation samples."""
    match how:
        case "the same":
            return {"expression_val": X}
        case "one sample":
            return {"expression_val": np.ones((1, data.n_columns))}
        case "another width":
            return {"expression_val": np.ones((3, data.n_columns + 1))}
        case "no numbers":
            return {"expression_val": np.full((3, data.n_columns), "a")}
        case "missing":
            return {"expression_val": np.full((3, data.n_columns), np.nan)}
        case "huge":
            return {"expression_val": np.full((3, data.n_columns), 1e300)}
        case "a word":
            return {"expression_val": "more"}
    return {}


@st.composite
def cases(draw: Any) -> Case:
    """A network, and expression data."""
    hostile = hostile_dimensions(draw, DIMENSIONS)
    X, data = inputs.tables(draw, hostile)
    genes, choose = pick(draw, GENES[kind("genes", hostile)])
    base, estimator = parameters.base_model(draw, parameters.REGRESSORS, hostile)
    given_ = parameters.parameters(draw, parameters.NETWORK, "PRSNetwork", hostile, data.n_columns)
    further = draw(st.sampled_from(VALIDATION[kind("validation", hostile)]))
    fit = {"expression": X, **choose(data.n_columns), **validation(further, X, data)}
    told = {**data.told, "genes": genes, "base": base, "validation": further}
    return Case(
        PRSNetwork(estimator, **flat_network(**given_)), fit, [], told, (*given_, "estimator", *fit)
    )


def judge(case: Case, tally: Tally) -> None:
    """Try a case, and count what comes of it."""
    model = case.model
    outcome = attempt(lambda: model.fit(**case.given))
    tally.add(outcome, case.parameters)
    if outcome != "fitted":
        assert not [name for name in vars(model) if name.endswith("_")]
        return
    shape = len(model.regulator_names_), len(model.target_names_)
    for weights in (model.alpha_, model.link_weights_):
        assert weights.shape == shape
        assert ((weights >= 0.0) & (weights <= 1.0)).all()
    itself = model.regulator_names_[:, np.newaxis] == model.target_names_
    assert (model.alpha_[itself] == 0.0).all()
    assert np.isfinite(model.history_.to_numpy(dtype=float)).all()
    assert np.isfinite(model.path_["validation_error"]).all()
    np.testing.assert_allclose(model.expected_sizes_, model.alpha_.sum(axis=0), atol=1e-12)


@pytest.mark.subject("PRSNetwork")
@given(case=cases())
@tries("PRSNetwork")
def test_networks(tally: Tally, case: Case) -> None:
    judge(case, tally)
