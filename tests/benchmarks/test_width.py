"""benchmarks/width.py and its page, on small problems and made-up results."""

import argparse
from itertools import pairwise, product

import numpy as np
import pytest


@pytest.fixture(scope="module")
def width(script):
    return script("width")


@pytest.fixture(scope="module")
def page(script):
    return script("width_page")


@pytest.mark.parametrize("problem", ["linear", "friedman", "hypercube"])
@pytest.mark.parametrize("method", ["f_test", "l1"])
def test_a_cell_is_measured(width, tmp_path, method, problem):
    width.write_data(tmp_path, problem, 40, seed=0, home=None)
    cell = {"method": method, "problem": problem, "features": 40, "seed": 0, "fit": 0}
    row = width.measure(cell, tmp_path, jobs=1)
    assert np.load(tmp_path / "X.npy").shape == (200, 40)
    assert np.load(tmp_path / "X_test.npy").shape == (1000, 40)
    assert row["score"] > 0.6
    assert 0.15 < row["aupr"] <= 1.0
    assert len(row["best"].split()) <= 20
    assert set(row) < {*width.MEASURES}


def test_the_former_defaults_belong_to_the_former_code(width):
    with pytest.raises(SystemExit, match="PYTHONPATH to the folder src of a checkout of 8360da9"):
        width.former(np.eye(4), np.array([0, 1, 0, 1]), 0, 1)


def test_models_of_other_processes_are_known_but_not_their_features(width):
    model = argparse.Namespace(n_models_trained_=50, n_repeats_=3)
    assert width._counted(width.Count(), model) == {"models": 50}
    with pytest.raises(RuntimeError, match="0 models seen, 50 trained"):
        width._counted(width.Count(), argparse.Namespace(n_models_trained_=50, n_repeats_=1))


def test_models_and_features_of_prs(width, tmp_path, monkeypatch):
    width.write_data(tmp_path, "hypercube", 30, seed=0, home=None)
    # The whole fit would take seconds.
    fit = width._prs
    short = {"n_estimators": 10, "max_iter": 3}
    monkeypatch.setattr(width, "_prs", lambda *data, **params: fit(*data, **{**params, **short}))
    cell = {"method": "one_run", "problem": "hypercube", "features": 30, "seed": 0, "fit": 1}
    row = width.measure(cell, tmp_path, jobs=1)
    assert row["models"] >= 5 * 10
    assert row["models"] < row["feature_models"] < row["models"] * 30


def test_equal_features_are_not_ranked(width):
    ranking = np.zeros(50)
    ranking[[7, 3]] = 0.2, 0.4
    assert width.best_features(ranking).tolist() == [3, 7]
    assert len(width.best_features(np.arange(50.0))) == 20


def test_cells_of_the_same_data_come_together(width):
    args = argparse.Namespace(
        problems=["linear", "friedman"],
        features=[300, 100],
        methods=["f_test", "l1"],
        seeds=2,
        fits=2,
        data=None,
    )
    cells = width.wanted_cells(args)
    assert len(cells) == 32
    data = [(cell["features"], cell["seed"], cell["problem"]) for cell in cells]
    assert len(set(data)) == 8
    # No dataset is left and taken up again.
    changes = sum(one != other for one, other in pairwise(data))
    assert changes == 7
    assert data[0][0] == 100


def test_a_file_needs_its_folder(width):
    with pytest.raises(SystemExit, match="name its folder with --data"):
        width.load_file("Prostate_GE", None)


QUALITY = {
    "one_run": 0.6,
    "default": 0.7,
    "marginal": 0.65,
    "marginal_default": 0.72,
    "former": 0.5,
    "forest": 0.4,
    "f_test": 0.3,
    "l1": 0.45,
}


@pytest.fixture
def study(width, tmp_path):
    """Results that keep all bounds of cost and quality."""

    def write(change=lambda cell, row: row):
        results = width.stored(tmp_path / "width.csv")
        for method, quality in QUALITY.items():
            for problem in width.PROBLEMS:
                for features, seed in product((*width.WIDTHS, 5_000, 20_000, 50_000), range(3)):
                    cell = {"method": method, "problem": problem, "features": features}
                    cell |= {"seed": seed, "fit": 0}
                    row = {
                        "models": 50_000,
                        "feature_models": round(1e5 * features**0.4),
                        "seconds": 1.0,
                        "megabytes": 100,
                        "score": quality,
                        "aupr": quality,
                        "best": " ".join(map(str, range(20))),
                    }
                    results.rows.append(
                        dict.fromkeys(results.fields, "") | cell | (change(cell, row) or {})
                    )
        results.add({**cell, "fit": 1}, row, 1)
        return results.path

    return write


def verdicts(page, path):
    lines = page.bounds_table(page.read(path))[2:]
    return {(cells := line.strip("| ").split(" | "))[0]: cells[-1] for line in lines}


def test_bounds_that_are_kept(page, study):
    found = verdicts(page, study())
    shares = [text for text in found if "share" in text]
    assert len(shares) == 4
    assert {text for text, word in found.items() if word != "kept"} == set(shares)
    assert {found[text] for text in shares} == {"open"}


def test_fits_that_find_nothing_are_counted(page, study):
    def change(cell, row):
        is_lost = cell["method"] == "one_run" and cell["features"] == 100_000 and not cell["seed"]
        return row | {"aupr": 0.0004} if is_lost else row

    frame = page.first_fits(page.read(study(change)))
    *_, last = page.failure_table(frame)
    assert last == "| 100,000 | 3 of 9 |" + " 0 of 9 |" * 7


CHANGES = {
    "models": ("at most 120,000 models", {"models": 120_001}),
    "feature_models": ("exponent of at most 0.5", {"feature_models": 1e9}),
    "megabytes": ("peak memory", {"megabytes": 601}),
}


def test_two_seeds_leave_all_bounds_open(page, study):
    found = verdicts(page, study(lambda cell, row: row if cell["seed"] < 2 else None))
    assert set(found.values()) == {"open"}


def test_methods_are_compared_on_the_seeds_that_both_have(page, study):
    """A seed of a method alone, however good, does not count."""

    def change(cell, row):
        if cell["method"] == "l1" and cell["seed"] == 2:
            return None
        return {**row, "aupr": 0.1} if cell["seed"] == 2 else row

    frame = page.read(study(change))
    ours, theirs, n = page.versus(frame, "l1", "aupr", 5_000, "linear")
    assert (ours, theirs, n) == (pytest.approx(0.7), pytest.approx(0.45), 2)


def test_a_missing_width_leaves_its_bounds_open(page, study):
    found = verdicts(page, study(lambda cell, row: None if cell["features"] == 50_000 else row))
    left = [text for text, word in found.items() if word == "open"]
    for words in ("models at every width", "50,000 features within", "peak memory"):
        assert any(words in text for text in left)


@pytest.mark.parametrize(("seconds", "word"), [(2.9, "kept"), (3.1, "missed")])
def test_seconds_are_means_over_seeds(page, study, seconds, word):
    def change(cell, row):
        return {**row, "seconds": 3 * seconds if cell["seed"] == 1 else 0.0}

    assert verdicts(page, study(change))["5,000 features within 3 s"] == word


@pytest.mark.parametrize("measure", CHANGES)
def test_cost_that_is_too_high_is_a_miss(page, study, measure):
    words, worse = CHANGES[measure]

    def change(cell, row):
        is_widest = cell["method"] == "one_run" and cell["features"] == 100_000
        return row | (worse if is_widest else {})

    found = verdicts(page, study(change))
    assert [text for text, word in found.items() if word == "missed"] == [
        text for text in found if words in text
    ]


def test_quality_that_is_too_low_is_a_miss(page, study):
    def change(cell, row):
        at = (cell["method"], cell["problem"], cell["features"])
        return row | ({"aupr": 0.71} if at == ("former", "linear", 5_000) else {})

    missed = [text for text, word in verdicts(page, study(change)).items() if word == "missed"]
    assert len(missed) == 1
    assert missed[0].startswith("AUPR above the former defaults")


def test_what_did_not_end_is_open_and_named(page, study):
    def change(cell, row):
        gone = cell["method"] == "former" and cell["features"] >= 5_000
        return {"limit": "600"} if gone else row

    path = study(change)
    found = verdicts(page, path)
    assert {word for text, word in found.items() if "former defaults" in text} == {"open"}
    frame = page.first_fits(page.read(path))
    line = next(line for line in page.measure_table(frame, "aupr") if line.startswith("| 20,000"))
    assert line == ("| 20,000 | 0.600 | 0.700 | 0.650 | 0.720 | > 600 s | 0.400 | 0.300 | 0.450 |")


def test_agreement_counts_shared_features_of_pairs(page, width, tmp_path):
    results = width.stored(tmp_path / "width.csv")
    for seed, fit, best in ((0, 0, "1 2 3"), (0, 1, "2 3 4"), (0, 2, "9"), (1, 0, "1 2 3")):
        cell = {"method": "default", "problem": "linear", "features": 5_000}
        results.add(cell | {"seed": seed, "fit": fit}, {"seconds": 1, "best": best}, 1)
    pairs = page.shared(page.read(results.path))
    assert sorted(pairs["shared"]) == [0, 0, 2]
    assert page.agreement_table(page.read(results.path))[2] == (
        "| linear | 5,000 | PRS, default repeats | 0.7 | 3 |"
    )


def test_picture_and_tables_are_written(page, study, tmp_path, monkeypatch, capsys):
    text = (page.DOCS / "width.md").read_text()
    target = tmp_path / "width.md"
    target.write_text(text)
    argv = ["width_page.py", "--results", str(study()), "--page", str(target)]
    monkeypatch.setattr("sys.argv", argv)
    page.main()
    assert (tmp_path / "width.png").stat().st_size > 10_000
    written = target.read_text()
    assert "(width.png)" in written
    assert "| 100,000 | 50,000 | 50,000 | 50,000 | 50,000 |" in written
    # Without results there is nothing but headers.
    monkeypatch.setattr("sys.argv", ["width_page.py", "--results", "none.csv", "--print"])
    page.main()
    assert "| open |" in capsys.readouterr().out
