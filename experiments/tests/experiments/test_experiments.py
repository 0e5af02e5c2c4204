"""Every experiment from its cells to its page, with tiny sizes."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import loader_files
from randsub.datasets import make_friedman, make_hypercube, make_network
from randsub.exceptions import DatasetNotFoundError
from randsub_experiments import datasets
from randsub_experiments.cell_store import Record, Store
from randsub_experiments.datasets.dream4 import Dream4Network
from randsub_experiments.datasets.mnist import DigitImages
from randsub_experiments.experiments import EXPERIMENTS
from randsub_experiments.experiments.ablation import FAMILIES, FEWER, VARIANTS
from randsub_experiments.experiments.genomic import best_table
from randsub_experiments.paper_tables import normalised_tables
from randsub_experiments.prs_settings import SETTINGS
from randsub_experiments.reproduction_page import merge, write_page
from randsub_experiments.result_folder import Folder, results_frame
from randsub_experiments.runner import run_cells

TINY = {"bases": ("knn",), "replicates": 2, "epochs": 2}
SIMULATED = {**TINY, "problems": ("friedman",), "test_samples": 20}
OPTIONS = {
    "simulated": {
        **SIMULATED,
        "irrelevant": (3, 300),
        "methods": ("single", "prs"),
    },
    "timing": {**SIMULATED, "irrelevant": (3, 300), "samples": (50, 300)},
    "ablation": {**SIMULATED, "problems": ("friedman",), "replicates": 1},
    "tabular": {**TINY, "methods": ("single", "prs", "rf", "auto", "stack", "tuned")},
    "genomic": {
        **TINY,
        "methods": ("single", "prs", "l1"),
        "settings": ("defaults",),
        "coefficients": (0.0, 0.01),
    },
    "mnist": {
        **TINY,
        "methods": ("prs", "rf"),
        "replicates": 1,
        "samples": (20,),
        "coefficients": (0.0, 1e-3),
        "settings": ("paper", "defaults"),
    },
    "dream4": {**TINY, "trees": 5, "rase_candidates": 2, "rase_iterations": 1},
}
# Those that read a folder.
READING = ("tabular", "genomic", "mnist", "dream4")
TABLES = {
    "simulated": {"comparison", "scores", "sizes", "models", "settings", "irrelevant", "time"},
    "timing": {"models", "time"},
    "ablation": {*FAMILIES, "time"},
    "tabular": {
        *("normalised-paper", "normalised-defaults", "summary-paper", "summary-defaults"),
        *("wins", "scores-by-dataset", "scores", "sizes", "models", "probabilities"),
        *("time", "time-methods"),
    },
    "genomic": {"best", "normalised-defaults", "scores", "sizes", "models", "time"},
    "mnist": {"comparison", "grid", "time"},
    "dream4": {"comparison", "best", "scores", "path", "time"},
}
FIGURES = {
    "simulated": {"boxes", "irrelevant-score", "irrelevant-aupr"},
    "timing": {"time-samples", "time-features"},
    "ablation": set(FAMILIES),
    "tabular": {"normalised-paper", "normalised-defaults"},
    "genomic": {"normalised-defaults"},
    "mnist": {"alpha", "alpha-knn-paper", "alpha-knn-defaults"},
    "dream4": {"aupr", "regulators"},
}


class Loaders:
    """Small generated datasets behind the interface of the loaders."""

    def __init__(self):
        make = {"numbers": make_friedman, "classes": make_hypercube}
        self.data = {name: one(90, 3, random_state=0)[:2] for name, one in make.items()}
        self.listed = [("numbers", "regression"), ("classes", "classification")]

    def list_tabular(self, home):
        return self.listed

    def load_tabular(self, name, home, task=None):
        X, y = self.data[name]
        return SimpleNamespace(X=X, y=y, task=task)

    def sample_tabular(self, dataset, random_state):
        rows = np.random.default_rng(random_state).permutation(90).reshape(3, 30)
        parts = zip(("train", "val", "test"), rows, strict=True)
        drawn = {}
        for part, chosen in parts:
            drawn |= {f"X_{part}": dataset.X[chosen], f"y_{part}": dataset.y[chosen]}
        return SimpleNamespace(**drawn)

    def list_genomic(self, home, min_class_size):
        return ["classes"]

    def load_genomic(self, name, home, min_class_size):
        return self.load_tabular(name, home)

    def load_dream4(self, number, home):
        if number > 2:
            raise DatasetNotFoundError("no such network")
        truth = make_network(40, n_regulators=4, n_targets=2, n_modules=1, random_state=number)
        X, names = truth.expression, tuple(truth.gene_names)
        return Dream4Network(X[:30], X[30:], np.asarray(truth.gold, dtype=bool), names)

    def load_mnist(self, home, digits, noise=0.0, salt_and_pepper=0.0, random_state=None):
        rng = np.random.default_rng(random_state)
        parts = {}
        for part, n in (("train", 24), ("val", 12), ("test", 10)):
            y = np.array(digits)[np.arange(n) % 2]
            X = rng.normal(scale=noise, size=(n, 28, 28))
            # A stroke at the lower left makes a 6.
            X[y == 6, 18:22, 6:10] += 1.0
            X[rng.random(X.shape) < salt_and_pepper] = 0.0
            parts |= {f"X_{part}": X.reshape(n, -1), f"y_{part}": y}
        return DigitImages(**parts)

    def genomic_folds(self, dataset, random_state):
        rows = np.random.default_rng(random_state).permutation(90).reshape(5, 18)
        for fold in range(5):
            others = np.delete(rows, fold, axis=0).ravel()
            yield others[:50], others[50:], rows[fold]


@pytest.fixture
def loaders(monkeypatch):
    fake = Loaders()
    for name in vars(Loaders):
        if not name.startswith("_"):
            monkeypatch.setattr(datasets, name, getattr(fake, name))
    return fake


@pytest.fixture
def options(tmp_path, loaders, monkeypatch):
    # With all members, PRS with a portfolio takes half a minute.
    monkeypatch.setitem(SETTINGS, "defaults", {"n_estimators": 4, "n_batches": 2})

    def of(name):
        given = OPTIONS[name] | ({"data": tmp_path} if name in READING else {})
        return replace(EXPERIMENTS[name].full, **given)

    return of


def run(name, options, folder):
    experiment = EXPERIMENTS[name]
    cells = experiment.cells(options)
    records = run_cells(experiment, cells, Store(folder.cells), data=options.data)
    tables = folder.write(experiment, records, f"randsub-experiments {name}").tables
    return cells, records, tables


@pytest.mark.parametrize("name", list(EXPERIMENTS))
def test_from_cells_to_page(name, options, tmp_path):
    folder = Folder(tmp_path / name)
    cells, records, tables = run(name, options(name), folder)
    assert [record.error for record in records if record.failed] == []
    assert len({cell.key for cell in cells}) == len(cells) > 3
    assert {table.name for table in tables} == TABLES[name]
    assert {path.stem for path in (folder.path / "tables").iterdir()} == TABLES[name]
    assert {path.stem for path in (folder.path / "figures").iterdir()} == FIGURES[name]
    for table in tables:
        lines = table.text().splitlines()
        assert len(lines) >= len(table.frame) + 5
        assert len(pd.read_csv(folder.path / "tables" / f"{table.name}.csv")) == len(table.frame)

    read, frame = folder.read()
    assert read["cells"] == len(cells)
    # A path has a row for each of its coefficients.
    lengths = [len(record.row.get("parts", [None])) for record in records]
    assert len(frame) == sum(lengths) >= len(cells)
    assert (len(frame) > len(cells)) == (name == "dream4")
    pd.testing.assert_frame_equal(frame, results_frame(records), check_dtype=False)
    page = tmp_path / "docs" / "page.md"
    draws = name == "timing"  # that the others can be drawn, their folders show
    write_page([folder.path], page, figures=draws)
    text = page.read_text()
    assert f"`randsub-experiments {name}`" in text
    for table in tables:
        assert table.markdown().rstrip("\n") in text
    drawn = {path.name for path in (tmp_path / "docs").glob("page/*")}
    assert drawn == {f"{name}-{figure}.png" for figure in FIGURES[name] if draws}


def test_no_dataset_that_every_method_finished(options, tmp_path):
    """Nothing can be normalised then; the rest is there all the same."""
    experiment = EXPERIMENTS["tabular"]
    cells = experiment.cells(options("tabular"))
    row = {"score": 0.5, "models": 1, "size": 2.0, "seconds": 1.0}
    records = [
        Record(cell, row)
        if (cell.problem == "numbers") == (cell.method in ("prs", "auto"))
        else Record(cell, {}, "ValueError: no")
        for cell in cells
    ]
    # One benchmark, so that each of its datasets lacks a method.
    one = [replace(r, cell=replace(r.cell, conditions={"benchmark": "all"})) for r in records]
    folder = Folder(tmp_path / "out")
    tables = folder.write(experiment, one, "randsub").tables
    assert {table.name for table in tables} == {
        *("scores-by-dataset", "scores", "sizes", "models", "time", "time-methods")
    }
    assert not list(folder.path.glob("figures/*"))


def test_same_name_other_data_is_another_cell(options, loaders):
    before = {cell.key for cell in EXPERIMENTS["tabular"].cells(options("tabular"))}
    loaders.data["numbers"][1][0] += 1.0
    after = {cell.key for cell in EXPERIMENTS["tabular"].cells(options("tabular"))}
    # All cells of one of two datasets.
    assert len(before & after) == len(before) // 2


def test_a_name_that_is_in_both_folders_is_two_datasets(options, loaders, tmp_path):
    loaders.listed = [("classes", "classification"), ("classes", "regression")]
    cells = EXPERIMENTS["tabular"].cells(options("tabular"))
    tasks = ["tabular classification", "tabular regression"]
    assert [one for one in tasks for cell in cells if cell.conditions["benchmark"] == one] == (
        [tasks[0]] * (len(cells) // 2) + [tasks[1]] * (len(cells) // 2)
    )
    named = replace(options("tabular"), problems=("classes",))
    assert [cell.key for cell in EXPERIMENTS["tabular"].cells(named)] == [c.key for c in cells]
    # A page keeps them apart, with one score each.
    scores = {tasks[0]: 0.9, tasks[1]: 0.3}
    rows = [{"score": scores[c.conditions["benchmark"]], "seconds": 1.0} for c in cells]
    folder = Folder(tmp_path / "out")
    records = [Record(cell, row) for cell, row in zip(cells, rows, strict=True)]
    folder.write(EXPERIMENTS["tabular"], records, "randsub")
    frame = folder.read()[1]
    assert len(merge([frame, frame], "tabular")) == len(cells)


def test_each_setting_of_prs_is_normalised_with_the_others_alone():
    """PRS under another setting moves neither the worst nor the best."""
    who = [("single", "knn", "", 0.0), ("rf", "", "", 1.0)]
    who += [("prs", "knn", "paper", 0.5), ("prs", "knn", "defaults", 2.0)]
    results = pd.DataFrame(who, columns=["method", "base", "setting", "score"]).assign(
        problem="a", replicate=0, benchmark="tabular regression"
    )
    paper, defaults = normalised_tables(results, "tabular")
    assert list(paper.frame["mean"]) == [0.0, 1.0, 0.5]
    assert list(defaults.frame["mean"]) == [0.0, 0.5, 1.0]
    assert "3 methods" in paper.note
    assert "single kNN; RF; PRS kNN, paper" in paper.note
    assert paper.name == "normalised-paper"


def test_ablation_keeps_numbers_of_irrelevant_features_apart():
    ablation = EXPERIMENTS["ablation"]
    tiny = replace(ablation.full, **{**OPTIONS["ablation"], "irrelevant": (20, 300)})
    records = [
        Record(cell, {"score": 0.5, "aupr": 0.5, "models": 1, "epochs": 1, "seconds": 1.0})
        for cell in ablation.cells(tiny)
    ]
    results = results_frame(records)
    tables = {table.name: table for table in ablation.tables(results)}
    assert set(tables) == {*FAMILIES, "baseline-irrelevant", "time"}
    for table in tables.values():
        assert set(table.frame["n"]) == {1}
    assert set(tables["thresholds"].frame["n_irrelevant"]) == {20, 300}
    assert "n_irrelevant" not in tables["baseline"].frame
    drawn = ablation.figures(results)
    assert set(drawn) == {f"{family}-{n}" for family in FAMILIES for n in (20, 300)}


def test_fetched_datasets(options, loaders, monkeypatch, tmp_path):
    """The benchmark by name; the workers fetch it from the same place."""
    asked = []

    def fetch(name, task=None, data_home=None):
        asked.append((name, task, data_home))
        return loaders.load_tabular("classes", None, task)

    monkeypatch.setattr(datasets, "fetch_tabular", fetch)
    tabular = EXPERIMENTS["tabular"]
    some = replace(options("tabular"), problems=("pol",), fetch=True, methods=("single",))
    cells = tabular.cells(some)
    assert {(cell.problem, cell.conditions["benchmark"]) for cell in cells} == {
        ("pol", "tabular regression"),
        ("pol", "tabular classification"),
    }
    last = [cell for cell in cells if "classification" in cell.conditions["benchmark"]][-1]
    assert tabular.run(last, tmp_path)["score"] > 0.0
    assert asked[-1] == ("pol", "classification", tmp_path)
    with pytest.raises(ValueError, match="no dataset nothing in the benchmark on OpenML"):
        tabular.cells(replace(some, problems=("nothing",)))


def test_unknown_dataset(options):
    with pytest.raises(ValueError, match=r"no dataset nothing in .*: numbers, classes"):
        EXPERIMENTS["tabular"].cells(replace(options("tabular"), problems=("nothing",)))


def test_prs_beside_the_best_of_the_others():
    """The best base of PRS and the best other method, over the folds that all have finished."""
    scores = {
        ("prs", "knn", "defaults"): [0.8, 0.9, 1.0],
        ("prs", "tree", "defaults"): [0.7, 0.7, 0.7],
        ("rf", "", ""): [0.6, 0.6, 0.6],
        ("l1", "", ""): [0.9, 0.7],
    }
    rows = [
        (*who, fold, score) for who, several in scores.items() for fold, score in enumerate(several)
    ]
    names = ["method", "base", "setting", "replicate", "score"]
    results = pd.DataFrame(rows, columns=names).assign(problem="a", benchmark="scikit-feature")
    table = best_table(results)
    assert table.cells()[1] == [
        "a",
        "PRS kNN, defaults: 0.850",
        "L1: 0.800",
        "+0.050 ± 0.150",
        "2",
    ]
    for alone in (results["method"] == "prs", results["method"] != "prs"):
        assert best_table(results[alone]).frame.empty


def test_genomic_takes_small_classes_and_chooses_among_coefficients(tmp_path):
    for name, sizes in {"colon": {-1: 40, 1: 22}, "tiny": {0: 40, 1: 19}}.items():
        loader_files.save(tmp_path / "genomic" / f"{name}.npz", loader_files.genomic(sizes))
    genomic = EXPERIMENTS["genomic"]
    cells = genomic.cells(replace(genomic.full, data=tmp_path, settings=("defaults",)))
    assert {cell.problem for cell in cells} == {"colon"}
    # Five folds, twice.
    assert {cell.replicate for cell in cells} == set(range(10))
    prs = next(cell for cell in cells if cell.method == "prs")
    assert 0.0 in prs.params["penalties"]
    last = [cell for cell in cells if cell.method == "single"][-1]
    assert 0.0 <= genomic.run(last, tmp_path)["score"] <= 1.0


def test_timing_has_one_cell_where_its_lines_cross():
    few = replace(
        EXPERIMENTS["timing"].full, problems=("linear",), bases=("knn",), settings=("paper",)
    )
    cells = EXPERIMENTS["timing"].cells(replace(few, replicates=1))
    sizes = [(cell.conditions["n_train"], cell.conditions["n_irrelevant"]) for cell in cells]
    assert len(sizes) == len(set(sizes)) == 9
    assert sizes.count((300, 300)) == 1


def test_ablation_runs_each_setting_once_and_changes_one_thing():
    ablation = EXPERIMENTS["ablation"]
    cells = ablation.cells(replace(ablation.full, replicates=1, bases=("knn",)))
    assert len(cells) == 4 * len(VARIANTS)
    params = {cell.setting: cell.params for cell in cells}
    for setting, changed in VARIANTS.items():
        differing = {
            name for name, value in params[setting].items() if value != params["paper"][name]
        }
        shortened = {"max_iter"} if setting in ("ESS 1", "ESS 0.9, fewer epochs") else set()
        assert differing == set(changed) | shortened
    assert params["ESS 1"]["max_iter"] == 3000 // FEWER
    assert {name for family in FAMILIES.values() for name in family} == set(VARIANTS)


def test_options_that_do_not_concern_a_method_do_not_change_its_cells():
    simulated = EXPERIMENTS["simulated"]
    one = replace(simulated.full, replicates=1, methods=("rs", "rase", "prs", "rf"))
    before = {cell.key: cell for cell in simulated.cells(one)}
    after = {cell.key for cell in simulated.cells(replace(one, rase_candidates=3))}
    assert {before[key].method for key in set(before) - after} == {"rase"}
