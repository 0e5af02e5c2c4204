"""benchmarks/peers.py and its page, with small cells and made-up results."""

import argparse
from dataclasses import replace

import numpy as np
import pytest

from randsub_experiments.problem import Problem


@pytest.fixture(scope="module")
def peers(script):
    return script("peers")


@pytest.fixture(scope="module")
def methods(script):
    return script("peer_methods")


@pytest.fixture(scope="module")
def page(script):
    return script("peers_page")


@pytest.mark.parametrize("problem", ["friedman", "linear"])
def test_a_cell_is_measured(peers, problem):
    cell = {"method": "l1", "kind": "simulated", "problem": problem, "seed": 5000}
    row = peers.measure(cell, None)
    assert {"failed", *row} == {*peers.MEASURES}
    assert row["score"] > 0.6
    assert 0.3 < row["aupr"] <= 1.0
    assert 0.0 <= row["distant"] <= row["false"] < 1.0


def test_samples_of_a_simulated_problem(peers):
    cell = {"kind": "wide", "problem": "checkerboard", "seed": 5000}
    problem = peers.load(cell, None)
    assert problem.final[0].shape == (200, 1994)
    assert problem.X_test.shape == (1000, 1994)
    assert np.array_equal(problem.X_test, peers.load(cell, None).X_test)


def test_selectors_predict_by_a_forest(methods):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 4))
    parts = [array[i::3] for i in range(3) for array in (X, X[:, 0])]
    problem = Problem("regression", *parts, refit=True)
    first = np.arange(4) == 0
    found = methods.forest_of(0, problem, first, first)
    assert found.model.score(problem.X_test, problem.y_test) > 0.9
    none = methods.forest_of(0, problem, first & False, first)
    assert none.model.score(problem.X_test, problem.y_test) <= 0.0


def test_false_discoveries_and_those_without_correlation(peers):
    X = np.random.default_rng(0).normal(size=(50, 5))
    X[:, 1] = X[:, 0] + 0.01 * X[:, 1]
    relevant = np.array([0, 4])
    # A relevant column, its copy, and noise.
    assert peers.discoveries(np.array([0, 1, 2]), relevant, X) == {
        "selected": 3,
        "false": pytest.approx(2 / 3),
        "distant": pytest.approx(1 / 3),
        "found": 0.5,
    }
    assert peers.discoveries(np.arange(0), relevant, X)["false"] == 0.0


def test_our_selector_is_trained_as_in_its_own_study(methods):
    X = np.random.default_rng(0).normal(size=(90, 5))
    parts = [array[i::3] for i in range(3) for array in (X, X[:, 0])]
    problem = Problem("regression", *parts, refit=True)
    found, row = methods.METHODS["shadow"].measure(0, problem)
    assert found.ranking.argmax() == 0
    # Two features at least, or none.
    assert found.support.dtype == bool
    assert not found.support[found.ranking == 0.0].any()
    assert {*row} == {"score", "seconds"}


@pytest.mark.parametrize(("n_features", "repeats"), [(20, 1), (50, 5), (500, 5)])
def test_repeats_of_prs_are_limited(methods, monkeypatch, n_features, repeats):
    seen = {}
    monkeypatch.setattr(
        methods, "experiment", lambda *names, **params: lambda *_: seen.update({names: params})
    )
    X, y = np.zeros((25, n_features)), np.zeros(25)
    problem = Problem("regression", X, y, X, y, X, y, refit=True)
    methods.METHODS["prs_svm"].measure(5000, problem)
    methods.METHODS["prs_auto"].measure(5000, problem)
    assert {names: params["n_repeats"] for names, params in seen.items()} == {
        ("prs", "svm"): repeats,
        ("auto", ""): 1,
    }


def test_a_missing_package_is_skipped_with_its_reason(peers, methods, monkeypatch, capsys):
    monkeypatch.setattr(methods, "find_spec", lambda name: None)
    assert peers.installed(["rf", "boruta", "l1"]) == ["rf", "l1"]
    assert capsys.readouterr().out == (
        "boruta: skipped, boruta is not installed: pip install --group peers\n"
    )


def test_a_package_of_others_may_fail_and_ours_may_not(peers, monkeypatch):
    def fail(*_):
        raise ValueError("no more than 2 classes\nand so on")

    cell = {"kind": "simulated", "problem": "linear", "seed": 5000}
    failing = {name: replace(peers.METHODS[name], measure=fail) for name in ("knockoffs", "rf")}
    monkeypatch.setattr(peers, "METHODS", failing)
    row = peers.measure({**cell, "method": "knockoffs"}, None)
    assert row == {"failed": "ValueError: no more than 2 classes"}
    with pytest.raises(ValueError, match="no more"):
        peers.measure({**cell, "method": "rf"}, None)


def test_cells_without_a_folder_are_those_of_simulated_data(peers):
    args = argparse.Namespace(
        kinds=peers.KINDS, problems=None, methods=["prs_knn", "hgb"], data=None
    )
    cells = list(peers.wanted_cells(args))
    # Two seeds and one; histogram boosting is not part of the wide ones.
    assert len(cells) == 4 * 2 * 2 + 4 * 1
    assert {cell["kind"] for cell in cells} == {"simulated", "wide"}


SCORES = {
    ("simulated", "friedman"): {"prs_knn": 0.80, "prs_auto": 0.90, "rf": 0.70, "l1": 0.85},
    ("regression", "abalone"): {"prs_knn": 0.50, "prs_auto": 0.60, "rf": 0.604, "l1": 0.55},
    ("genomic", "colon"): {"prs_knn": 0.70, "rf": 0.90},
}


@pytest.fixture
def frame(peers, page, tmp_path):
    results = peers.stored(tmp_path / "peers.csv")
    for (kind, problem), scores in SCORES.items():
        for method, score in scores.items():
            row = {"score": score, "seconds": 2.0}
            if kind == "simulated":
                row |= {"aupr": score, "false": 0.25, "distant": 0.0, "found": 1.0}
            cell = {"method": method, "kind": kind, "problem": problem, "seed": 5000}
            results.add(cell, row, 120)
    more = {"kind": "genomic", "problem": "colon", "seed": 5000}
    results.add({"method": "prs_auto", **more}, None, 120)
    results.add({"method": "lassonet", **more}, {"failed": "ValueError: no"}, 120)
    return page.read(results.path)


def lines_of(table):
    return [line.strip("| ").split(" | ") for line in table[2:]]


def test_where_we_are_first_and_where_not(page, frame):
    assert lines_of(page.dataset_table(frame)) == [
        ["Friedman, seed 5000", 'PRS, "auto", 0.900', "L1, 0.850", "2 : 2", "+0.050", "ours"],
        ["abalone", 'PRS, "auto", 0.600', "random forest, 0.604", "2 : 2", "-0.004", "equal"],
        ["colon", "PRS, kNN, 0.700", "random forest, 0.900", "1 : 1", "-0.200", "peer"],
    ]
    counted = {line[0]: line[1:] for line in lines_of(page.summary_table(frame))}
    assert counted["the best of ours, all"] == ["1", "1", "1", "3"]
    assert counted["the best of ours, gene expression"] == ["0", "0", "1", "1"]
    # A method is compared on the datasets that it has.
    assert counted['PRS, "auto"'] == ["1", "1", "0", "2"]
    pairs = {line[0]: line[1:] for line in lines_of(page.pairs_table(frame))}
    assert pairs["random forest"][0] == "1 : 2 of 3"
    assert pairs["random forest"][-1] == "1 : 0 of 2"


def test_means_tell_what_is_missing(page, frame):
    scores = {line[0]: line[1:] for line in lines_of(page.scores_table(frame))}
    assert scores["random forest"] == ["0.604", "", "0.900", "2.0"]
    assert scores['PRS, "auto"'] == ["0.600", "", "", "1.5 (2 of 3)"]
    ranking = {line[0]: line[1:] for line in lines_of(page.problems_table(frame, "aupr"))}
    assert ranking["L1"][1] == "0.850 / ?"
    found = {line[0]: line[1:] for line in lines_of(page.discoveries_table(frame))}
    assert found["L1"][:3] == ["simulated", "", "0.25 / 0.00 / 1.00"]
    missing = [" | ".join(line) for line in page.without_result(frame)]
    assert 'PRS, "auto" | gene expression | did not end within 120 s: colon' in missing
    assert "LassoNet | gene expression | failed on colon: ValueError: no" in missing
    assert "LassoNet | simulated | not run on 1 of 1 datasets" in missing
    assert "knockoffs | gene expression | not part of the study" in missing


def test_the_page_has_a_place_for_every_table(page, frame, tmp_path, monkeypatch):
    target = tmp_path / "peers.md"
    target.write_text((page.DOCS / "peers.md").read_text(encoding="utf-8"), encoding="utf-8")
    argv = ["peers_page.py", "--results", str(tmp_path / "peers.csv"), "--page", str(target)]
    monkeypatch.setattr("sys.argv", argv)
    page.main()
    assert '| abalone | PRS, "auto", 0.600 |' in target.read_text(encoding="utf-8")
