"""What cannot be done is told in one sentence, with a code, and leaves nothing behind."""

import json
import os
import resource
import signal
import subprocess
import sys
import time
from contextlib import suppress

import joblib
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from sklearn.linear_model import Ridge

from cli_words import TINY
from randsub.cli import main
from randsub.cli.main import Exit
from randsub.estimators.prs import BasePRS
from randsub.io import ModelFolder

ROWS = 30


def table(**columns):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(ROWS, 2)), columns=["a", "b"])
    return frame.assign(y=np.arange(ROWS) % 2, **columns)


def csv(**columns):
    return table(**columns).to_csv(index=False)


def with_line(text, number, line):
    lines = text.splitlines()
    lines[number] = line
    return "\n".join(lines) + "\n"


HOSTILE = {
    "missing file": (None, [], "There is no file d.csv."),
    "empty file": ("", [], "d.csv: it is empty."),
    "header alone": ("a,y\n", [], "it has a header and no rows"),
    "no such target": (csv(), ["--target", "z"], "there is no column 'z', which --target asks for"),
    "several targets": (csv(), ["--target", "a,b"], "--target is one column, got 2: 'a', 'b'"),
    "ragged csv": (with_line(csv(), 3, "1,2"), [], "line 4 has 2 value(s)"),
    "all-NaN column": (csv(c=np.nan), [], "column 'c' has no value in any row"),
    "text among numbers": (
        csv(c=["1"] * (ROWS - 1) + ["n.a.?"]),
        [],
        "column 'c' holds numbers, but has 'n.a.?' in row 30",
    ),
    "text as target": (
        csv(t="red"),
        ["--target", "t", "--task", "regression"],
        "column 't' should hold numbers, but has 'red' in row 1",
    ),
    "one class": (csv(t="red"), ["--target", "t"], "only one class, 'red', in all 30 rows"),
    "duplicate columns": ("a,a,y\n1,2,3\n", [], "several columns named 'a'"),
    "another format": ("PAR1 and so on", [], "named as csv, but its content is parquet"),
    "gaps": (
        csv(c=[np.nan] + [1.0] * (ROWS - 1)),
        [],
        "missing values (first in row 1), which the base model ridge does not support",
    ),
    "gaps among several": (
        csv(c=[np.nan] + [1.0] * (ROWS - 1)),
        ["--base", "tree,knn,svm"],
        "missing values (first in row 1), which the base models knn, svm do not support",
    ),
    "infinite": (csv(c=np.inf), [], "column 'c' has inf in row 1"),
    "no features": ("y\n1\n2\n3\n", [], "it has no column besides the target 'y'"),
    "two rows": ("a,y\n1,0\n2,1\n", [], "it has 2 row(s), but at least 3 are needed"),
    "no such base": (csv(), ["--base", "forest"], "There is no base model 'forest'"),
    "a base twice": (csv(), ["--base", "knn,tree, knn"], "has a name more than once"),
    "no such base among several": (csv(), ["--base", "knn,forest"], "no base model 'forest'"),
    "nothing among several": (csv(), ["--base", "knn,"], "There is no base model ''"),
    "whose base parameter": (
        csv(),
        ["--base", "knn,tree", "--base-param", "max_depth=3"],
        "write which of knn, tree it belongs to, such as knn__max_depth",
    ),
    "base parameter of none": (
        csv(),
        ["--base", "knn,tree", "--base-param", "svm__C=3"],
        "write which of knn, tree it belongs to, such as knn__C",
    ),
    "wrong base parameter of one": (
        csv(),
        ["--base", "knn,tree", "--base-param", "tree__size=3"],
        "--base-param does not fit --base tree",
    ),
    "base parameter of auto": (
        csv(),
        ["--base", "auto", "--base-param", "x=1"],
        "--base-param x: --base auto chooses the parameters of its base models",
    ),
    "auto among several": (csv(), ["--base", "knn, auto"], "auto stands alone"),
    "base of the other task": (
        csv(t=np.linspace(0, 1, ROWS)),
        ["--target", "t", "--base", "nb"],
        "The base model nb is for classification only",
    ),
    "no such module": (
        csv(),
        ["--base", "nowhere:Thing"],
        "cannot be imported: No module named 'nowhere'",
    ),
    "no such class": (csv(), ["--base", "math:Thing"], "module 'math' has no attribute 'Thing'"),
    "no class at all": (csv(), ["--base", "math:pi"], "is a float, not a class"),
    "no model": (csv(), ["--base", "fractions:Fraction"], "has no fit and predict"),
    "wrong base parameter": (csv(), ["--base-param", "size=3"], "--base-param does not fit"),
    "wrong parameter": (csv(), ["--param", "size=3"], "PRSClassifier has no such parameter"),
    "bad parameter": (
        csv(),
        ["--param", "learning_rate=-1"],
        "'learning_rate' parameter of Solver",
    ),
    "no such group": (csv(), ["--groups", "g.json"], "There is no file g.json"),
    "no such dropped": (csv(), ["--drop", "z"], "there is no column 'z', which --drop asks for"),
    "penalty of another image": (
        csv(),
        ["--penalty", "fused=0.1@3x3"],
        "needs 9 columns, but there are 2",
    ),
    "target as weight": (csv(), ["--weight", "y"], "cannot be the target and something else"),
    "negative weights": (csv(w=-1), ["--weight", "w"], "should not be negative"),
    "no such validation": (csv(), ["--validation", "v.csv"], "There is no file v.csv."),
    "no such checkpoint": (csv(), ["--resume", "c.ckpt"], "There is no checkpoint c.ckpt"),
    "no folder for it": (csv(), ["-o", "nowhere/m"], "nowhere does not exist; create it first"),
    "a file in its place": (csv(), ["-o", "d.csv"], "d.csv is a file; pass a folder"),
    "a full folder in its place": (csv(), ["-o", "full"], "full exists and is not a model folder"),
    "no model in its place": (
        csv(),
        ["-o", "full", "--force"],
        "full exists and is not a model folder",
    ),
}


def contents(folder):
    return {path: path.stat().st_mtime_ns for path in folder.rglob("*")}


@pytest.mark.parametrize("case", HOSTILE)
def test_hostile_input_of_fit(case, tmp_path, monkeypatch, capsys):
    text, words, told = HOSTILE[case]
    if "-o" not in words:
        words = [*words, "-o", "m"]
    pytest.importorskip("skops", reason="model folders need skops")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(BasePRS, "_learn", lambda *_, **__: pytest.fail("training began"))
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "precious.txt").write_text("keep")
    if text is not None:
        (tmp_path / "d.csv").write_text(text)
    before = contents(tmp_path)
    assert main(["fit", "d.csv", "--target", "y", *TINY, *words, "-q"]) == Exit.ERROR == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("randsub: error: ")
    assert err.count("\n") == 1
    assert told in err
    assert contents(tmp_path) == before


def test_without_skops_it_is_said_before_anything_is_done(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("randsub.cli.fitted_model.find_spec", lambda name: None)
    assert main(["fit", "d.csv", "--target", "y", "-o", "m"]) == Exit.ERROR
    assert "pip install skops" in capsys.readouterr().err


def test_a_model_that_is_there_is_replaced_when_told(here, capsys):
    words = ["fit", "d.csv", "--target", "y", "-q", *TINY, "-o", "model"]
    before = contents(here)
    assert main(words) == Exit.ERROR
    assert "--force" in capsys.readouterr().err
    (here / "model" / "notes.txt").write_text("mine")
    assert main([*words, "--force"]) == Exit.ERROR
    assert "did not come with the model, ['notes.txt']" in capsys.readouterr().err
    (here / "model" / "notes.txt").unlink()
    assert contents(here).keys() == before.keys()
    assert main([*words, "--force"]) == Exit.DONE
    assert ModelFolder.read(here / "model").facts["model"]["parameters"]["max_iter"] == 3
    assert sorted(path.name for path in here.iterdir()) == ["d.csv", "model"]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["predict", "nowhere", "d.csv"], "There is no model folder nowhere."),
        (["predict", "d.csv", "d.csv"], "it is a file"),
        (["predict", "empty", "d.csv"], "there is no model.json in it"),
        (["predict", "model", "less.csv"], "it lacks 1 of the 15 columns"),
        (["predict", "model", "text.csv"], "column 'x1' should hold numbers, but has 'red'"),
        (["predict", "model", "d.csv", "--probabilities"], "is a regression model"),
        (["predict", "model", "d.csv", "-o", "p.xyz"], "its name does not tell its format"),
        (["predict", "model", "d.csv", "-o", "nowhere/p.csv"], "The folder nowhere does not exist"),
        (["select", "model", "less.csv", "--top", "1", "-o", "s.csv"], "it lacks 1 of"),
        (["rank", "model", "-o", "model"], "its name does not tell its format"),
        (["report", "model", "-o", "nowhere/r.html"], "The folder nowhere does not exist"),
        (["report", "model", "--test", "nowhere.csv"], "There is no file nowhere.csv."),
        (["network", "text.csv", "-o", "l.csv"], "column 'x1' should hold numbers"),
        (["simulate", "linear", "-o", "/proc/d.csv"], "Nothing can be written to /proc"),
    ],
    ids=range(14),
)
def test_hostile_input_of_other_verbs(here, capsys, words, told):
    if "/proc/d.csv" in words and not os.path.isdir("/proc/self"):
        pytest.skip("no /proc here")
    (here / "empty").mkdir()
    frame = pd.read_csv("d.csv")
    frame.drop(columns="x3").to_csv("less.csv", index=False)
    frame.assign(x1="red").to_csv("text.csv", index=False)
    before = contents(here)
    assert main(words) == Exit.ERROR
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert told in err
    assert contents(here) == before


def test_a_foreign_type_in_a_model_is_refused(here, capsys):
    # Anything may be in a file that someone sent.
    joblib.dump(print, here / "model" / "model.skops")
    assert main(["rank", "model"]) == Exit.ERROR
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1


def test_many_columns(here, capsys):
    n, m = 20, 5_000
    X = np.random.default_rng(0).integers(0, 100, (n, m))
    X[:, 0] = np.arange(n) % 2 * 100
    lines = [",".join([*(f"g{j}" for j in range(m)), "y"])]
    lines += [",".join(map(str, [*row, i % 2])) for i, row in enumerate(X.tolist())]
    (here / "wide.csv").write_text("\n".join(lines))
    words = ["fit", "wide.csv", "--target", "y", "-o", "m", "--json", "-q", *TINY, "--epochs", "1"]
    assert main([*words, "--base", "nb"]) == Exit.DONE
    assert f'"features": {m}' in capsys.readouterr().out
    assert main(["predict", "m", "wide.csv", "-o", "p.csv", "-q"]) == Exit.DONE
    assert len(pd.read_csv("p.csv")) == n


# -- what happens to a process -------------------------------------------------------------------


def command(*words):
    return [sys.executable, "-m", "randsub", *words]


LONG = ["fit", "d.csv", "--target", "y", "-o", "m", *TINY, "--epochs", "1000000"]


def heed_ctrl_c():
    # Where the tests run in the background of a shell, they and their children ignore it.
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def begun(here, words, prepare=heed_ctrl_c):
    """A fit that is past its first epoch."""
    process = subprocess.Popen(
        command(*words),
        cwd=here,
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        preexec_fn=prepare,
    )
    assert process.stderr is not None
    seen = ""
    while "epoch 1/" not in seen:
        line = process.stderr.readline()
        assert line, f"it ended by itself: {seen}"
        seen += line
    return process


def stopped(here, words, number):
    """Start a fit, send it a signal after its first epochs, and wait for its end."""
    with begun(here, words) as process:
        time.sleep(0.3)
        process.send_signal(number)
        try:
            out, err = process.communicate(timeout=60)
        finally:
            # Without effect on one that has ended; any other would be waited for forever.
            process.kill()
    return process.returncode, out, err


@pytest.mark.parametrize(
    ("number", "code", "word"),
    [
        (signal.SIGINT, Exit.INTERRUPTED, "interrupted"),
        (signal.SIGTERM, Exit.TERMINATED, "terminated"),
    ],
    ids=["ctrl-c", "sigterm"],
)
def test_stopped_in_the_middle(here, number, code, word):
    before = contents(here)
    returned, out, err = stopped(here, LONG, number)
    assert returned == code
    assert out == ""
    assert err.splitlines()[-1] == f"randsub: {word}; nothing was written."
    assert "Traceback" not in err
    assert contents(here) == before


def ignore_ctrl_c():
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def test_a_job_in_the_background_goes_on_ignoring_ctrl_c(here):
    with begun(here, LONG, prepare=ignore_ctrl_c) as process:
        process.send_signal(signal.SIGINT)
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(timeout=0.5)
        process.terminate()
        _, err = process.communicate(timeout=60)
    assert process.returncode == Exit.TERMINATED
    assert err.splitlines()[-1] == "randsub: terminated; nothing was written."


@pytest.mark.parametrize(
    ("number", "code"),
    [(signal.SIGINT, Exit.INTERRUPTED), (signal.SIGTERM, Exit.TERMINATED)],
    ids=["ctrl-c", "sigterm"],
)
def test_a_signal_that_somebody_swallows_still_stops_the_training(here, monkeypatch, number, code):
    asked = []
    plain = Ridge.fit

    def fit(self, *given, **more):
        asked.append(self)
        if len(asked) == 40:
            # As numpy does while it looks for attributes.
            with suppress(KeyboardInterrupt):
                signal.raise_signal(number)
        return plain(self, *given, **more)

    monkeypatch.setattr(Ridge, "fit", fit)
    former = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        assert main([*LONG, "-q", "--param", "ess_threshold=1"]) == code
    finally:
        signal.signal(signal.SIGINT, former)
    assert not (here / "m").exists()


def test_stopped_in_the_middle_with_a_checkpoint(here):
    returned, _, err = stopped(here, [*LONG, "--checkpoint", "run.ckpt"], signal.SIGINT)
    assert returned == Exit.INTERRUPTED
    assert err.splitlines()[-1].endswith(
        "To continue from the checkpoint, repeat the command with --resume run.ckpt."
    )
    assert sorted(path.name for path in here.iterdir()) == ["d.csv", "model", "run.ckpt"]


@pytest.mark.parametrize(
    ("number", "code", "how"),
    [
        (signal.SIGINT, Exit.INTERRUPTED, "interrupted"),
        (signal.SIGTERM, Exit.TERMINATED, "terminated"),
    ],
    ids=["SIGINT", "SIGTERM"],
)
def test_stopped_in_the_middle_and_the_best_kept(here, number, code, how):
    returned, out, err = stopped(here, [*LONG, "--keep-best", "--json"], number)
    assert returned == code
    assert json.loads(out)["stopped"] == "interrupted"
    assert err.splitlines()[-1] == f"randsub: {how}; the model of the best alpha so far is in m."
    folder = ModelFolder.read(here / "m")
    assert folder.facts["extra"]["stopped"] == "interrupted"
    assert len(folder.model.estimators_) == 5
    assert sorted(path.name for path in here.iterdir()) == ["d.csv", "m", "model"]


def test_killed_and_resumed(here):
    words = ["fit", "d.csv", "--target", "y", *TINY, "--epochs", "400", "-q"]
    assert main([*words, "-o", "whole"]) == Exit.DONE
    process = subprocess.Popen(
        command(*words, "-o", "m", "--checkpoint", "run.ckpt", "--checkpoint-every", "5"), cwd=here
    )
    while not (here / "run.ckpt").exists():
        assert process.poll() is None
        time.sleep(0.01)
    process.kill()
    process.wait()
    if not (here / "m").exists():
        assert main([*words, "-o", "m", "--resume", "run.ckpt"]) == Exit.DONE
    whole, resumed = (ModelFolder.read(here / name).model for name in ("whole", "m"))
    assert_array_equal(whole.alpha_, resumed.alpha_)
    X = pd.read_csv("d.csv").drop(columns="y")
    assert_array_equal(whole.predict(X), resumed.predict(X))


def small_disk():
    resource.setrlimit(resource.RLIMIT_FSIZE, (3000, 3000))


@pytest.mark.parametrize(
    ("words", "place"),
    [
        (["simulate", "friedman", "-o", "big.csv"], "big.csv"),
        (["fit", "d.csv", "--target", "y", "-o", "m", "-q", *TINY], "m"),
        (["report", "model", "-o", "r.html", "--no-compare"], "r.html"),
    ],
    ids=["simulate", "fit", "report"],
)
def test_a_full_disk(here, words, place):
    before = contents(here)
    answer = subprocess.run(
        command(*words),
        cwd=here,
        preexec_fn=small_disk,
        capture_output=True,
        text=True,
        check=False,
        # Else what Python itself has no room for would be told, too.
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
    )
    assert answer.returncode == Exit.ERROR
    assert answer.stdout == ""
    last = answer.stderr.splitlines()[-1]
    assert last.startswith(f"randsub: error: {place} could not be written (File too large)")
    assert contents(here) == before


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full here")
def test_standard_output_that_takes_nothing(here):
    with open("/dev/full", "w") as full:
        answer = subprocess.run(
            command("rank", "model"), stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert answer.returncode == Exit.ERROR
    assert answer.stderr.startswith("randsub: error: ")
    assert "Traceback" not in answer.stderr
