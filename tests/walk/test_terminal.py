"""A walk of the command line with a terminal, as a user sees it."""

import os
import re
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import randsub

pexpect = pytest.importorskip("pexpect")
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="a terminal of Unix")

LINE = re.compile(
    r"epoch (?P<epoch>\d+)/(?P<of>\d+) \[[#.]{24}\] +(?P<percent>\d+)%"
    r"(?:  models (?P<n_done>\d+)/(?P<n_all>\d+))?"
    r"  (?P<gone>[\d:]+) elapsed(?:, about (?P<left>[\d:]+) left)?"
)


def walked(folder, *words, timeout=120):
    """Everything that a command writes to its terminal, and its exit code."""
    child = pexpect.spawn(
        sys.executable,
        ["-m", "randsub", *words],
        cwd=str(folder),
        # The package under test, wherever the command runs.
        env={**os.environ, "TERM": "xterm", "PYTHONPATH": str(Path(randsub.__file__).parents[1])},
        dimensions=(30, 140),
        encoding="utf-8",
        timeout=timeout,
    )
    text = child.read()
    child.close()
    return text, child.exitstatus


def seconds(text):
    """The seconds of 1:02:03 or 02:03."""
    return sum(int(part) * 60**n for n, part in enumerate(reversed(text.split(":"))))


def lines_of(text):
    return [match.groupdict() for match in LINE.finditer(text)]


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """A table on which a generic model takes a few milliseconds."""
    folder = tmp_path_factory.mktemp("walk")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 6))
    frame = pd.DataFrame(X.round(4), columns=[f"x{j}" for j in range(6)])
    frame.assign(y=(X[:, 0] + X[:, 1] ** 2).round(4)).to_csv(folder / "d.csv", index=False)
    frame.to_csv(folder / "genes.csv", index=False)
    return folder


SMALL = ["--base", "ridge", "--param", "engine=generic", "--seed", "0"]


def test_a_fit_counts_models_and_epochs_and_says_what_is_left(table):
    words = ["fit", "d.csv", "--target", "y", "-o", "model", *SMALL, "--members", "60"]
    text, code = walked(table, *words, "--epochs", "150", "--param", "learning_rate=0.01")
    assert code == 0, text
    lines = lines_of(text)
    first = [line for line in lines if line["epoch"] == "0" and line["n_done"]]
    assert first, "the first models are counted"
    n_done = [int(line["n_done"]) for line in first]
    assert n_done == sorted(n_done)
    assert {line["n_all"] for line in first} == {"300"}
    epochs = [int(line["epoch"]) for line in lines]
    assert epochs == sorted(epochs)
    assert (epochs[-1], lines[-1]["of"]) == (150, "150")
    gone = [seconds(line["gone"]) for line in lines]
    assert gone == sorted(gone)
    left = [seconds(line["left"]) for line in lines if line["left"]]
    assert left
    # The final ensemble is trained after the last epoch, so that a little is left.
    assert left[-1] < max(left)
    assert lines[-1]["left"] is None
    assert "validation" in text


def test_a_network_counts_the_epochs_of_all_its_fits(table):
    words = ["network", "genes.csv", "-o", "links.csv", *SMALL, "--epochs", "6"]
    text, code = walked(table, *words, "--param", "n_estimators=5", "--param", "lams=[0.01, 0.1]")
    assert code == 0, text
    lines = lines_of(text)
    # Six epochs, then as many as follow a revival, on each of three splits.
    assert {line["of"] for line in lines} == {"24"}
    epochs = [int(line["epoch"]) for line in lines]
    assert epochs == sorted(epochs)
    assert epochs[-1] == 24


def test_a_time_limit_that_is_too_short_is_a_clear_refusal(table):
    words = ["fit", "d.csv", "--target", "y", "-o", "none", *SMALL, "--members", "5000"]
    text, code = walked(table, *words, "--time-limit", "2s")
    assert code != 0
    assert not (table / "none").exists()
    message = " ".join(text.split())
    assert re.search(r"TimeLimit: 2 seconds are (too short|over)", message), message
    assert re.search(r"\d+ of the first 25000 base models were trained in", message), message
    assert "--max-samples" in message


def test_fewer_samples(table):
    words = [
        "fit",
        "d.csv",
        "--target",
        "y",
        "-o",
        "few",
        *SMALL,
        "--epochs",
        "2",
        "--members",
        "5",
    ]
    text, code = walked(table, *words, "--max-samples", "50")
    assert code == 0, text
    text, code = walked(table, "info", "few")
    assert re.search(r"max_samples\W+50\b", text), text
    text, code = walked(table, *words, "--max-samples", "1.5", "--force")
    assert code == 2
    assert "'1.5' is neither an integer of at least 2 nor a fraction between 0 and 1" in " ".join(
        text.split()
    )
