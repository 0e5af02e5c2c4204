"""The study of ranking rules: which parts of a fit a rule sees, and its tables."""

from types import SimpleNamespace

import numpy as np
import pytest

from randsub.network import score_network


@pytest.fixture(scope="module")
def study(script):
    return script("networks_study")


def test_there_are_kinds_enough_and_each_can_be_simulated(study):
    assert len(study.KINDS) >= 12
    for kind in study.ALL_KINDS:
        truth, regulators = study.simulated(kind, 0)
        scores = score_network(truth.gold.astype(float), truth.gold, regulators=regulators)
        assert scores.aupr == 1.0


def test_parts_are_those_of_the_base_models_and_repeats(study):
    # Part r * 4 + b is base model b of repeat r; of members, of trees and ridge regression alone.
    every = np.arange(12.0).reshape(1, 12, 1, 1) * np.ones((3, 12, 2, 4))
    members = np.arange(6.0).reshape(1, 6, 1, 1) * np.ones((1, 6, 2, 4))
    model = SimpleNamespace(
        estimator_=[*study.BASES.items()],
        evidence_={"mean": every, "alpha": every, "members": members},
    )
    parts = study.parts_of(model, ["knn", "tree"], 2)
    assert parts["mean"][0, :, 0, 0].tolist() == [0.0, 2.0, 4.0, 6.0]
    assert parts["members"][0, :, 0, 0].tolist() == [0.0, 2.0]
    both = study.parts_of(model, ["tree", "ridge"], 3)
    assert both["members"][0, :, 0, 0].tolist() == [*range(6)]
    assert "members" not in study.parts_of(model, ["svm"], 3)


def test_rules_are_compared_on_the_same_cells(study, tmp_path):
    results = study.Results(tmp_path / "r.csv", study.KEYS, study.MEASURES)
    rules = {"knn: one repeat": 0.5, "all: rank": 0.6, "genie3": 0.4, "grnboost": 0.45}
    rules["shares: one repeat"] = 0.52
    for kind in ("plain", "bell", "kinetic"):
        for seed in (0, 1):
            for rule, aupr in rules.items():
                cell = {"kind": kind, "seed": seed, "rule": rule}
                results.add(cell, {"aupr": aupr + 0.1 * seed, "early": 0.5}, 0.0)
    table = study.summary(tmp_path / "r.csv")
    assert table.index[0] == "all: rank"
    assert table.loc["all: rank", "aupr"] == pytest.approx(0.65)
    assert table.loc["genie3", "gain"] == pytest.approx(-0.1)
    assert table.loc["all: rank", ["first", "cells"]].tolist() == [2, 4]
    page = study.printed(tmp_path / "r.csv")
    assert "| all: rank | 0.650 | 0.500 | 0.100 | 0.000 | 2 | 4 |" in page
    assert "| plain | 0.650 |" in page
    # Those of reaction kinetics have their own table.
    assert "| all: rank | 0.650 | 0.500 | 0.100 | 0.000 | 1 | 2 |" in page
    for rule, aupr in (("default", 0.7), ("genie3", 0.1)):
        results.add({"kind": "plain", "seed": 4, "rule": rule}, {"aupr": aupr, "early": 0.5}, 0.0)
    # Cells of the confirmation are no cells of the study.
    assert study.summary(tmp_path / "r.csv").loc["genie3", "cells"] == 4
    assert study.confirmation(tmp_path / "r.csv").loc["mean"].to_dict() == {
        "default": 0.7,
        "genie3": 0.1,
    }
