"""The page made of several runs."""

import json

import pandas as pd
import pytest

from randsub.reproduce.cells import Cell
from randsub.reproduce.experiments import EXPERIMENTS
from randsub.reproduce.outputs import Folder
from randsub.reproduce.page import agreement, fill, merge, write_page
from randsub.reproduce.store import Record


def records(method, scores, base="", setting=""):
    sizes = {"n_irrelevant": 300, "n_train": 300, "n_val": 100, "n_test": 10}
    return [
        Record(
            Cell("simulated", "friedman", replicate, method, base, setting, sizes),
            {"score": score, "aupr": 1.0, "models": 100, "size": 5.0, "seconds": 1.0},
        )
        for replicate, score in enumerate(scores)
    ]


@pytest.fixture
def written(tmp_path):
    def write(name, some):
        Folder(tmp_path / name).write(EXPERIMENTS["simulated"], some, f"randsub {name}")
        return tmp_path / name

    return write


def test_runs_of_one_experiment_are_put_together(written, tmp_path):
    forests = written("one", records("rf", [0.5, 0.51]))
    both = written("two", records("rf", [0.5, 0.51]) + records("prs", [0.97, 0.98], "knn", "paper"))
    page = tmp_path / "page.md"
    write_page([forests, both], page, figures=False)
    text = page.read_text()
    assert "`randsub one`" in text
    assert "`randsub two`" in text
    # (0.505 - 0.73) / sqrt(0.005 ** 2 / 1 + 0.04 ** 2 / 9); PRS kNN is at 0.88 in the paper.
    assert "* friedman, RF, score: 0.505, paper 0.73 (-15.8 standard errors)" in text
    assert "| simulated | comparison | paper | 1 | 1 | 0 | 0 |" in text
    assert "| friedman | score | RF | 0.505 ± 0.005 | 2 | 0.73 ± 0.04 |" in text
    assert text.count("Not among the results of this page.") == len(EXPERIMENTS) - 1
    assert not (tmp_path / "page").exists()


def test_runs_that_contradict_each_other(written):
    one, other = (Folder(written(str(score), records("rf", [score]))) for score in (0.5, 0.6))
    frames = [one.read()[1], other.read()[1]]
    assert len(merge([frames[0], frames[0]], "simulated")) == 1
    with pytest.raises(ValueError, match=r"different results for one cell of 'simulated'.*RF"):
        merge(frames, "simulated")


def test_folders_without_results(tmp_path, written):
    with pytest.raises(FileNotFoundError, match=r"has no results \(run.json is missing\)"):
        write_page([tmp_path], tmp_path / "page.md")
    folder = written("odd", records("rf", [0.5]))
    run = json.loads((folder / "run.json").read_text())
    (folder / "run.json").write_text(json.dumps({**run, "experiment": "alchemy"}))
    with pytest.raises(ValueError, match="'alchemy', which this version"):
        write_page([folder], tmp_path / "page.md")


def test_template_and_parts_must_fit():
    assert fill("a {{ x }} c", {"x": "b\n"}) == "a b c"
    with pytest.raises(ValueError, match="do not fit together: x, y"):
        fill("{{ x }}", {"y": ""})


def test_nothing_to_compare():
    assert "None of these" in agreement({"timing": []})


def test_results_survive_the_way_to_disk_and_back(written):
    folder = Folder(written("x", records("rf", [0.1 + 0.2]) + records("single", [0.5], "knn")))
    _, frame = folder.read()
    # In the order of the methods.
    assert list(frame["method"]) == ["single", "rf"]
    assert list(frame["score"]) == [0.5, 0.1 + 0.2]
    assert list(frame["base"]) == ["knn", ""]
    assert isinstance(frame["models"].dtype, pd.Int64Dtype)
