"""``randsub-experiments`` from its flags to its files, its errors and its exit codes."""

import json
import os
import signal
import subprocess
import sys
import time
import warnings

import pandas as pd
import pytest

import loader_files
from randsub_experiments import command_line
from randsub_experiments.command_line import main
from randsub_experiments.experiments import EXPERIMENTS
from randsub_experiments.experiments.genomic import Genomic
from randsub_experiments.experiments.simulated import Simulated
from randsub_experiments.program import Exit, Terminated

TINY = ["simulated", "--methods", "single", "--problems", "friedman", "linear"]
TINY += ["--bases", "tree", "knn", "--irrelevant", "3", "--test-samples", "20"]


def contents(folder):
    """Everything that must not depend on how it was run."""
    files = [folder / "results.csv", *sorted((folder / "tables").iterdir())]
    return {path.name: path.read_bytes() for path in files if not path.name.startswith("time")}


def test_files_tables_and_messages(tmp_path, capsys):
    assert main([*TINY, "--replicates", "2", "--output", str(tmp_path)]) == Exit.DONE
    out, err = capsys.readouterr()
    assert "single kNN" in out
    assert out.endswith(f"Written to {tmp_path}.\n")
    assert err.splitlines()[-1].startswith("8/8, ")
    results = pd.read_csv(tmp_path / "results.csv")
    assert len(results) == 8
    assert "seconds" not in results
    assert set(results["seed"]) == {1000, 1001}
    assert set(pd.read_csv(tmp_path / "timings.csv")) >= {"seconds", "method", "replicate"}
    assert (tmp_path / "figures" / "boxes.png").read_bytes().startswith(b"\x89PNG")
    assert not (tmp_path / "failed.csv").exists()

    # Once more: nothing is left to do, and nothing changes.
    before = contents(tmp_path)
    assert main([*TINY, "--replicates", "2", "--output", str(tmp_path)]) == Exit.DONE
    assert capsys.readouterr().err == "simulated: 8 cells of friedman, linear\n"
    assert contents(tmp_path) == before


def test_a_killed_run_goes_on_to_the_same_files(tmp_path):
    flags = [*TINY, "--replicates", "40", "--output"]
    killed, whole = tmp_path / "killed", tmp_path / "whole"
    command = [sys.executable, "-m", "randsub_experiments", *flags, str(killed)]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    cells = killed / "cells"
    deadline = time.monotonic() + 60
    while len(list(cells.glob("*.json"))) < 5 and time.monotonic() < deadline:
        time.sleep(0.002)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    there = len(list(cells.glob("*.json")))
    assert 5 <= there < 160
    # What a kill may leave behind, and what a broken disk may.
    (cells / ".half.json.1.part").write_text('{"cell"')
    next(cells.glob("*.json")).write_text("")
    kept = {path: path.stat().st_mtime_ns for path in cells.glob("*.json") if path.stat().st_size}
    assert main([*flags, str(killed)]) == Exit.DONE
    assert main([*flags, str(whole)]) == Exit.DONE
    assert contents(killed) == contents(whole)
    # Cells that were there were not run again.
    assert all(path.stat().st_mtime_ns == when for path, when in kept.items())


def test_any_number_of_jobs_gives_the_same(tmp_path):
    flags = [*TINY, "--replicates", "2", "--output"]
    assert main([*flags, str(tmp_path / "one")]) == Exit.DONE
    assert main([*flags, str(tmp_path / "two"), "--jobs", "2"]) == Exit.DONE
    assert contents(tmp_path / "one") == contents(tmp_path / "two")


def test_a_failed_cell_is_told_and_the_rest_goes_on(tmp_path, monkeypatch, capsys):
    whole_run = Simulated.run

    def run(self, cell, data):
        if cell.base == "knn" and cell.problem == "linear":
            raise ArithmeticError("out of\nnumbers")
        return whole_run(self, cell, data)

    monkeypatch.setattr(Simulated, "run", run)
    flags = [*TINY, "--replicates", "1", "--output", str(tmp_path)]
    assert main(flags) == Exit.INCOMPLETE == 3
    err = capsys.readouterr().err
    assert (
        "failed: linear #0 (irrelevant 3, train 300), single kNN: ArithmeticError: out of numbers"
        in err
    )
    assert "1 of 4 cells failed" in err
    failed = pd.read_csv(tmp_path / "failed.csv")
    assert list(failed["error"]) == ["ArithmeticError: out of numbers"]
    assert len(pd.read_csv(tmp_path / "results.csv")) == 3

    monkeypatch.setattr(Simulated, "run", whole_run)
    assert main(flags) == Exit.DONE
    assert len(pd.read_csv(tmp_path / "results.csv")) == 4
    assert not (tmp_path / "failed.csv").exists()


def test_commands_in_one_folder_add_up(tmp_path, capsys):
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    flags = [*TINY, "--replicates", "2", "--output"]
    assert main([*flags, str(whole)]) == Exit.DONE
    for base in ("knn", "tree"):
        assert main([*flags, str(parts), "--bases", base]) == Exit.DONE
    assert contents(parts) == contents(whole)
    assert "The tables include 4 cells of earlier commands" in capsys.readouterr().out
    run = json.loads((parts / "run.json").read_text())
    assert [command.split()[-1] for command in run["commands"]] == ["knn", "tree"]
    assert (run["cells"], run["complete"]) == (8, True)

    # What was measured on other data sets does not.
    assert main([*flags, str(parts), "--bases", "knn", "--test-samples", "30"]) == Exit.DONE
    assert "8 cells of earlier commands" in capsys.readouterr().err
    assert set(pd.read_csv(parts / "results.csv")["n_test"]) == {30}
    assert len(json.loads((parts / "run.json").read_text())["commands"]) == 1


def test_interrupted_runs_leave_their_tables(tmp_path, monkeypatch, capsys):
    whole_run = Simulated.run

    def run(self, cell, data):
        if cell.problem == "linear" and cell.base == "knn":
            raise KeyboardInterrupt
        return whole_run(self, cell, data)

    monkeypatch.setattr(Simulated, "run", run)
    flags = [*TINY, "--replicates", "1", "--output", str(tmp_path)]
    assert main(flags) == Exit.INTERRUPTED
    assert "has the tables of the 3 of 4 cells" in capsys.readouterr().err
    assert len(pd.read_csv(tmp_path / "results.csv")) == 3
    assert list(tmp_path.glob("tables/*.md"))
    run_file = json.loads((tmp_path / "run.json").read_text())
    assert (run_file["complete"], run_file["missing"]) == (False, 1)

    monkeypatch.setattr(Simulated, "run", whole_run)
    assert main(flags) == Exit.DONE
    assert json.loads((tmp_path / "run.json").read_text())["complete"]


def test_a_run_goes_on_elsewhere(tmp_path, monkeypatch, capsys):
    """A file has the finished cells; the folder of the first machine is not needed."""
    file = tmp_path / "cells.csv"
    flags = [*TINY, "--replicates", "2", "--cells", str(file), "--output"]
    whole_run = Simulated.run

    def run(self, cell, data):
        if cell.replicate == 1:
            raise KeyboardInterrupt
        return whole_run(self, cell, data)

    monkeypatch.setattr(Simulated, "run", run)
    assert main([*flags, str(tmp_path / "first")]) == Exit.INTERRUPTED
    before = file.read_text().splitlines()
    assert len(before) == 1 + 4
    monkeypatch.setattr(Simulated, "run", whole_run)
    capsys.readouterr()
    assert main([*flags, str(tmp_path / "second")]) == Exit.DONE
    assert f"4 finished cells are taken from {file}" in capsys.readouterr().err
    after = file.read_text().splitlines()
    assert len(after) == 1 + 8
    assert set(before) <= set(after)
    assert main([*TINY, "--replicates", "2", "--output", str(tmp_path / "whole")]) == Exit.DONE
    assert contents(tmp_path / "second") == contents(tmp_path / "whole")
    # All of them are there now: nothing is run.
    monkeypatch.setattr(Simulated, "run", lambda *_: pytest.fail("a cell was run"))
    assert main([*flags, str(tmp_path / "third")]) == Exit.DONE
    assert contents(tmp_path / "third") == contents(tmp_path / "whole")


def test_a_file_of_cells_that_is_none(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(Simulated, "run", lambda *_: pytest.fail("a cell was run"))
    output = ["--output", str(tmp_path / "out"), "--cells"]
    (tmp_path / "other.csv").write_text("a,b\n1,2\n")
    for name, told in (
        ("other.csv", "is not a file of finished cells"),
        ("nowhere/cells.csv", "does not exist"),
        (".", "is a folder"),
    ):
        assert main([*TINY, *output, str(tmp_path / name)]) == Exit.ERROR
        assert told in capsys.readouterr().err


def test_methods_that_only_some_experiments_have(capsys):
    for name, method in (("simulated", "hgb"), ("genomic", "stack"), ("timing", "auto")):
        with pytest.raises(SystemExit):
            main([name, "--methods", method])
        assert f"invalid choice: '{method}'" in capsys.readouterr().err
    assert {"auto", "hgb", "stack", "tuned"} <= set(EXPERIMENTS["tabular"].full.methods)
    for name in ("simulated", "genomic"):
        assert "auto" in EXPERIMENTS[name].choices["methods"]
        assert "auto" not in EXPERIMENTS[name].full.methods


def test_unusable_output_is_told_before_anything_is_run(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(Simulated, "run", lambda *_: pytest.fail("a cell was run"))
    file = tmp_path / "file"
    file.write_text("")
    assert main([*TINY, "--output", str(file)]) == Exit.ERROR
    told = capsys.readouterr().err
    assert told.startswith(f"randsub-experiments: error: Nothing can be written to {file} (")
    assert told.endswith("name another folder with --output.\n")


def test_output_that_cannot_show_everything(tmp_path):
    """A terminal of ascii, and a reader that leaves after a line."""
    flags = [*TINY, "--problems", "friedman", "--bases", "knn", "--replicates", "1"]
    command = [sys.executable, "-m", "randsub_experiments", *flags, "--output", str(tmp_path)]
    ascii_only = {**os.environ, "PYTHONIOENCODING": "ascii"}
    answer = subprocess.run(command, capture_output=True, env=ascii_only, check=True)
    assert b"Mean ? standard deviation" in answer.stdout
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "wb") as pipe:
        left = subprocess.run(command, stdout=pipe, stderr=subprocess.PIPE, check=False)
    assert left.returncode == Exit.DONE
    assert b"Error" not in left.stderr


def test_everything_failing_still_ends_well_behaved(tmp_path, monkeypatch):
    def run(self, cell, data):
        raise ArithmeticError

    monkeypatch.setattr(Simulated, "run", run)
    assert main([*TINY, "--replicates", "1", "--output", str(tmp_path)]) == Exit.INCOMPLETE
    assert len(pd.read_csv(tmp_path / "failed.csv")) == 4


@pytest.mark.parametrize("name", ["tabular", "genomic"])
def test_data_folder_is_asked_for(name, tmp_path, capsys):
    origin = {"tabular": "OpenML", "genomic": "scikit-feature"}[name]
    output = ["--output", str(tmp_path / "out")]
    assert main([name, *output]) == Exit.ERROR
    told = capsys.readouterr().err
    assert "--data" in told
    assert origin in told
    assert ("--fetch" in told) == (name == "tabular")
    for folder, word in (("nowhere", "is not a folder"), (".", "Found no dataset at all")):
        data = str(tmp_path / folder)
        assert main([name, "--data", data, *output]) == Exit.ERROR
        told = capsys.readouterr().err
        assert word in told
        assert origin in told


def test_what_is_about_to_be_run_is_told_first(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(Genomic, "run", lambda *_: {"score": 0.5, "seconds": 1.0})
    for name in ("lung", "colon"):
        path = tmp_path / "genomic" / f"{name}.npz"
        loader_files.save(path, loader_files.genomic({1: 30, 2: 31}))
    flags = ["--methods", "single", "rf", "--bases", "knn", "--replicates", "1"]
    flags += ["--data", str(tmp_path), "--output", str(tmp_path / "out")]
    assert main(["genomic", *flags]) == Exit.DONE
    assert capsys.readouterr().err.startswith("genomic: 4 cells of scikit-feature: colon, lung\n")


def test_quick_is_a_part_of_the_whole():
    for experiment in EXPERIMENTS.values():
        for flag, values in experiment.choices.items():
            assert set(getattr(experiment.quick, flag)) <= set(getattr(experiment.full, flag))
            assert set(getattr(experiment.full, flag)) <= set(values)
        assert experiment.quick.replicates <= experiment.full.replicates


@pytest.fixture
def page(monkeypatch):
    """A command that raises what it is given, under the name of one that exists."""

    def call(error, *before):
        def run(args):
            raise error

        monkeypatch.setattr(command_line, "_write_page", run)
        return main([*before, "page", "--results", "x"])

    return call


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (ValueError("no such\n  thing; try another"), "error: no such thing; try another"),
        (KeyError("x"), "error: KeyError: 'x' (--debug shows where it comes from)"),
        (RuntimeError(), "error: RuntimeError: no message (--debug shows where it comes from)"),
    ],
    ids=["value", "unexpected", "wordless"],
)
def test_errors_are_one_sentence(page, capsys, error, told):
    assert page(error) == Exit.ERROR == 1
    assert capsys.readouterr().err == f"randsub-experiments: {told}\n"


def test_debug_shows_where_an_error_comes_from(page, capsys):
    assert page(ValueError("no such thing"), "--debug") == Exit.ERROR
    told = capsys.readouterr().err
    assert told.startswith("Traceback")
    assert "no such thing" in told


def test_interruptions_have_their_own_codes(page, capsys):
    assert page(KeyboardInterrupt()) == Exit.INTERRUPTED == 130
    assert capsys.readouterr().err == "randsub-experiments: interrupted; nothing was written.\n"
    assert page(Terminated()) == Exit.TERMINATED == 143
    assert capsys.readouterr().err == "randsub-experiments: terminated; nothing was written.\n"


def test_sigterm_ends_a_run_with_its_tables(tmp_path, monkeypatch, capsys):
    whole_run = Simulated.run

    def run(self, cell, data):
        if cell.problem == "linear":
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(60)
        return whole_run(self, cell, data)

    monkeypatch.setattr(Simulated, "run", run)
    before = signal.getsignal(signal.SIGTERM)
    assert main([*TINY, "--replicates", "1", "--output", str(tmp_path)]) == Exit.TERMINATED
    assert signal.getsignal(signal.SIGTERM) is before
    assert "terminated; finished cells are stored" in capsys.readouterr().err
    assert len(pd.read_csv(tmp_path / "results.csv")) == 2


def test_warnings_are_sentences(monkeypatch, capsys):
    def run(args):
        for _ in range(2):
            warnings.warn("something\n  odd", UserWarning, stacklevel=2)
        return 0

    monkeypatch.setattr(command_line, "_write_page", run)
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        assert main(["page", "--results", "x"]) == Exit.DONE
    assert capsys.readouterr().err == "randsub-experiments: warning: something odd\n"


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["nothing"],
        ["simulated", "--problems", "nothing"],
        ["simulated", "--replicates", "0"],
        ["simulated", "--irrelevant", "many"],
        ["simulated", "--ablations", "baseline"],
        ["ablation", "--methods", "prs"],
        ["mnist", "--noise", "-1"],
        ["mnist", "--salt-and-pepper", "1.1"],
        ["page"],
    ],
    ids=lambda words: " ".join(words) or "empty",
)
def test_wrong_usage(words, capsys):
    with pytest.raises(SystemExit) as stop:
        main(words)
    assert stop.value.code == Exit.USAGE == 2
    assert capsys.readouterr().err


@pytest.mark.parametrize("name", [*EXPERIMENTS, "page"])
def test_help_of_every_experiment(name, capsys):
    for words in ([name, "--help"], ["--help"]):
        with pytest.raises(SystemExit) as stop:
            main(words)
        assert stop.value.code == 0
    told = capsys.readouterr().out
    assert name in told
    assert "exit codes" in told
