"""The page made of several runs."""

import json
from importlib.resources import files
from pathlib import Path

import pandas as pd
import pytest

from randsub_experiments.cell_store import Record
from randsub_experiments.cells import Cell
from randsub_experiments.experiments import EXPERIMENTS
from randsub_experiments.reproduction_page import (
    _parts,
    agreement,
    fill,
    merge,
    portable,
    write_page,
)
from randsub_experiments.result_folder import Folder


def records(method, scores, base="", setting="", n_test=10, **params):
    sizes = {"n_irrelevant": 300, "n_train": 300, "n_val": 100, "n_test": n_test}
    return [
        Record(
            Cell("simulated", "friedman", replicate, method, base, setting, sizes, params),
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
    scores = [0.5, 0.51, 0.5, 0.51, 0.505]
    prs = records("prs", [0.97, 0.98] * 3, "knn", "paper")
    forests = written("one", records("rf", scores))
    both = written("two", records("rf", scores) + prs + records("gbdt", [0.8, 0.8]))
    page = tmp_path / "page.md"
    write_page([forests, both], page, figures=False)
    text = page.read_text()
    assert "`randsub one`" in text
    assert "`randsub two`" in text
    # (0.505 - 0.73) / sqrt(0.00447 ** 2 / 4 + 0.04 ** 2 / 9); PRS kNN is at 0.88 in the paper.
    assert "* friedman, RF, score: 0.505, paper 0.73 (-16.6 standard errors)" in text
    assert "| simulated | comparison | paper | 1 | 1 | 0 | 0 | 0 |" in text
    # Two values of boosting are no ground for a verdict.
    assert "| simulated | comparison | (no setting) | 0 | 1 | 1 | 0 | 2 |" in text
    assert "| friedman | score | RF | 0.505 ± 0.004 | 5 | 0.73 ± 0.04 |" in text
    assert text.count("Not among the results of this page.") == len(EXPERIMENTS) - 1
    assert not (tmp_path / "page").exists()


def test_runs_that_contradict_each_other(written):
    one, other = (Folder(written(str(score), records("rf", [score]))) for score in (0.5, 0.6))
    frames = [one.read()[1], other.read()[1]]
    assert len(merge([frames[0], frames[0]], "simulated")) == 1
    with pytest.raises(ValueError, match=r"different results for one cell of 'simulated'.*RF"):
        merge(frames, "simulated")


@pytest.mark.parametrize(
    ("one", "other", "told"),
    [
        ({"n_test": 50}, {"n_test": 60}, "n_test is 50 and 60"),
        ({"max_iter": 100}, {"max_iter": 3000}, "RF has max_iter=100 and max_iter=3000"),
        ({"depth": 1}, {"depth": 2}, "the parameters of RF differ"),
    ],
    ids=["test samples", "epochs", "other"],
)
def test_cells_measured_otherwise_do_not_stand_in_one_table(written, tmp_path, one, other, told):
    """They would be counted as two datasets."""
    folders = [
        written("one", records("rf", [0.5], **one)),
        written("other", records("rf", [0.5], **other)),
    ]
    with pytest.raises(ValueError, match=f"in two ways .* one table: {told}. Leave one"):
        write_page(folders, tmp_path / "page.md", figures=False)


def test_custom_template(written, tmp_path):
    folder, template = written("one", records("rf", [0.5])), tmp_path / "words.md"
    marks = "".join(f"{{{{ {name} }}}}\n" for name in ("runs", "agreement", "missing"))
    marks += "".join(f"{{{{ {name} }}}}\n" for name in EXPERIMENTS)
    template.write_text(f"Mine.\n{marks}")
    write_page([folder], tmp_path / "page.md", figures=False, template=template)
    assert (
        (tmp_path / "page.md").read_text().startswith("Mine.\n<!-- begin runs -->\n\n| command |")
    )
    with pytest.raises(ValueError, match=r"--template=.*nowhere.md cannot be read"):
        write_page([folder], tmp_path / "page.md", template=tmp_path / "nowhere.md")


def test_an_update_keeps_the_other_experiments(written, tmp_path, monkeypatch):
    page = tmp_path / "page.md"
    command = "randsub-experiments {} --jobs 2"

    def genomic(folder, score):
        cells = [
            Cell("genomic", "colon", 0, method, "", "", {"benchmark": "scikit-feature"})
            for method in ("rf", "gbdt")
        ]
        row = {"score": score, "models": 1, "seconds": 1.0}
        some = [Record(cell, row) for cell in cells]
        Folder(folder).write(EXPERIMENTS["genomic"], some, command.format("genomic"))
        return folder

    one = tmp_path / "one"
    Folder(one).write(
        EXPERIMENTS["simulated"], records("rf", [0.5] * 5), command.format("simulated")
    )
    write_page([one, genomic(tmp_path / "old", 0.25)], page, figures=False)
    before = page.read_text()
    template = tmp_path / "words.md"
    words = files("randsub_experiments").joinpath("reproduction_page.md").read_text()
    template.write_text(words.replace("## Gene-expression data", "## Genes"))
    new = genomic(tmp_path / "new", 0.75)
    write_page([new], page, figures=False, template=template, update=True)
    after = page.read_text()
    assert after == before.replace("0.250", "0.750").replace("## Gene-expression data", "## Genes")
    # The same once more changes nothing.
    write_page([new], page, figures=False, template=template, update=True)
    assert page.read_text() == after
    with pytest.raises(ValueError, match="results of simulated in it: write the whole page"):
        write_page([one], page, figures=False, update=True)
    page.write_text("# Words\n")
    with pytest.raises(ValueError, match="is not a page of results"):
        write_page([new], page, figures=False, update=True)


def test_the_page_of_the_repository_can_be_updated():
    page = Path(__file__).parents[2] / "docs" / "reproduction.md"
    if not page.exists():
        pytest.skip("the documents of the repository are not here")
    assert set(_parts(page)) == {"runs", "agreement", "missing", *EXPERIMENTS}


def test_the_template_of_the_repository_fits(written, tmp_path):
    template = Path(__file__).parents[2] / "docs" / "reproduction.template.md"
    if not template.exists():
        pytest.skip("the documents of the repository are not here")
    write_page(
        [written("one", records("rf", [0.5]))],
        tmp_path / "page.md",
        figures=False,
        template=template,
    )
    assert "## Differences, and our best explanation" in (tmp_path / "page.md").read_text()


def test_folders_of_an_earlier_version(written, tmp_path):
    folder = written("old", records("rf", [0.5]))
    frame = pd.read_csv(folder / "results.csv").drop(columns="params")
    frame.to_csv(folder / "results.csv", index=False)
    with pytest.raises(ValueError, match="earlier version of randsub: run its command again"):
        write_page([folder], tmp_path / "page.md")


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


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        (
            "randsub-experiments simulated --jobs 2 --output /a/b",
            "randsub-experiments simulated --jobs 2",
        ),
        ("randsub-experiments simulated -o 'a b' --quick", "randsub-experiments simulated --quick"),
        (
            "randsub-experiments tabular --data ../x --output=/a",
            "randsub-experiments tabular --data DATA",
        ),
        ("randsub-experiments tabular --data=/x y", "randsub-experiments tabular --data=DATA y"),
        ("randsub-experiments timing", "randsub-experiments timing"),
        (
            "randsub-experiments simulated --cells a.csv --quick --cells=/b.csv",
            "randsub-experiments simulated --quick",
        ),
    ],
)
def test_a_page_names_no_place_of_the_machine_that_ran_it(command, expected):
    assert portable(command) == expected
