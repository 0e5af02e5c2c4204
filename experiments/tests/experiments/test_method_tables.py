"""Methods side by side, against values computed by hand."""

import pandas as pd
import pytest

from randsub_experiments.cell_store import Record
from randsub_experiments.cells import METHOD_LABELS, Cell
from randsub_experiments.experiments import EXPERIMENTS
from randsub_experiments.experiments.base import Options
from randsub_experiments.experiments.cell_grid import method_cells
from randsub_experiments.experiments.method_tables import (
    scores_by_dataset,
    summary_tables,
    wins_table,
)
from randsub_experiments.experiments.tabular import EVERY_METHOD
from randsub_experiments.figures.style import COLORS
from randsub_experiments.result_folder import results_frame

REGRESSION, CLASSIFICATION = "tabular regression", "tabular classification"
SCORES = {
    # Benchmark and dataset: scores of two resamplings.
    (REGRESSION, "a"): {
        "auto": [0.9, 0.8],
        "rf": [0.7, 0.7],
        "gbdt": [0.8, 0.8],
        "hgb": [0.6, 0.9],
    },
    (REGRESSION, "b"): {
        "auto": [0.5, 0.5],
        "rf": [0.7, 0.7],
        "gbdt": [0.1, 0.1],
        "hgb": [0.2, 0.2],
    },
    (CLASSIFICATION, "a"): {"auto": [0.6], "rf": [0.5], "gbdt": [0.5], "hgb": [0.5]},
}


def record(benchmark, problem, replicate, method, score, base="", setting="", **more):
    setting = "defaults" if method == "auto" else setting
    cell = Cell("tabular", problem, replicate, method, base, setting, {"benchmark": benchmark})
    return Record(cell, {"score": score, "models": 1, "seconds": 2.0, **more})


@pytest.fixture
def results():
    records = [
        record(*dataset, replicate, method, score)
        for dataset, methods in SCORES.items()
        for method, scores in methods.items()
        for replicate, score in enumerate(scores)
    ]
    return results_frame(records)


def test_wins_by_hand(results):
    table = wins_table(results)
    assert table.cells() == [
        ["benchmark", "problem", "PRS auto", "best of the others", "difference", "n"],
        [CLASSIFICATION, "a", "PRS auto, defaults: 0.600", "GBDT: 0.500", "+0.100", "1"],
        [REGRESSION, "a", "PRS auto, defaults: 0.850", "GBDT: 0.800", "+0.050 ± 0.050", "2"],
        [REGRESSION, "b", "PRS auto, defaults: 0.500", "RF: 0.700", "-0.200 ± 0.000", "2"],
    ]
    assert table.note.startswith(
        "PRS auto is above the best of RF, GBDT, HGB on 2 of 3 datasets: 1 of 1 (tabular "
        "classification), 1 of 2 (tabular regression)."
    )
    assert wins_table(results[results["method"] != "auto"]).frame.empty


def test_summary_by_hand(results):
    (table,) = summary_tables(results)
    assert table.name == "summary"
    lines = {line[0]: line[1:] for line in table.cells()[1:]}
    # On (a, 0), (a, 1), where 0.7 is the worst and 0.9 the best, twice on b, and on the last.
    normalised = (1 + 1 / 2 + 2 / 3 + 2 / 3 + 1) / 5
    assert lines["PRS auto, defaults"][0] == f"{normalised:.3f}"
    # Ranks of GBDT: 2, 2 (with PRS auto: 2.5), 4, 4, and 3 of three equals.
    assert lines["GBDT"][1] == f"{(2 + 2.5 + 4 + 4 + 3) / 5:.2f}"
    assert lines["GBDT"][2:] == ["", "", "5"]


def test_scores_by_dataset(results):
    assert scores_by_dataset(results).cells() == [
        ["benchmark", "problem", "PRS auto, defaults", "RF", "GBDT", "HGB"],
        [CLASSIFICATION, "a", "0.600", "0.500", "0.500", "0.500"],
        [REGRESSION, "a", "0.850", "0.700", "0.800", "0.750"],
        [REGRESSION, "b", "0.500", "0.700", "0.100", "0.200"],
    ]


def test_probabilities_of_some_cells():
    """Cells of earlier versions, regression and SVMs have none."""
    known = {"log_loss": 0.25, "calibration": 0.125}
    records = [
        record(CLASSIFICATION, "a", 0, "rf", 0.5, **known),
        record(CLASSIFICATION, "a", 1, "rf", 0.5),
        record(CLASSIFICATION, "a", 0, "tuned", 0.6, "svm", log_loss=None, calibration=None),
        record(REGRESSION, "b", 0, "rf", 0.5, log_loss=None, calibration=None),
    ]
    results = results_frame(records)
    assert list(results["log_loss"].dropna()) == [0.25]
    table = {one.name: one for one in EXPERIMENTS["tabular"].tables(results)}["probabilities"]
    assert [line[1:] for line in table.cells()[1:]] == [
        [CLASSIFICATION, "log loss", "RF", "0.250", "1"],
        [CLASSIFICATION, "calibration error", "RF", "0.125", "1"],
    ]
    # None at all.
    old = results_frame([records[1]])
    assert "log_loss" not in old
    assert "probabilities" not in {one.name for one in EXPERIMENTS["tabular"].tables(old)}


def test_methods_are_in_the_order_of_their_labels():
    records = [record(REGRESSION, "a", 0, method, 0.5) for method in reversed(METHOD_LABELS)]
    assert list(results_frame(records)["method"]) == list(METHOD_LABELS)
    assert len(METHOD_LABELS) > 10


def test_every_method_has_a_colour():
    assert set(EVERY_METHOD) <= set(COLORS)


def test_cells_of_the_new_methods():
    options = Options(methods=("auto", "hgb", "stack", "tuned", "prs"), settings=("paper",))
    cells = list(method_cells("tabular", "a", 0, options, {"benchmark": REGRESSION}, data="x"))
    found = pd.DataFrame([(c.method, c.base, c.setting) for c in cells])
    assert found[found[0] != "prs"].to_numpy().tolist() == [
        ["auto", "", "defaults"],
        ["hgb", "", ""],
        ["stack", "", ""],
        *(["tuned", base, ""] for base in ("tree", "knn", "svm")),
    ]
    # Another portfolio makes other cells; where there is none, they are as they were.
    with_portfolio = {cell.method for cell in cells if "portfolio" in cell.params}
    assert with_portfolio == {"auto", "stack"}
