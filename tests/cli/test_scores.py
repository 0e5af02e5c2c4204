"""Scores at the command line: on rows that no training saw, or named for what they are."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import accuracy_score, r2_score

from cli_words import TINY
from randsub.cli import main
from randsub.cli.main import Exit
from randsub.io import ModelFolder

FIT = ["fit", "d.csv", "--target", "y", "-o", "m", *TINY]


def run(*words):
    return main([str(word) for word in words])


def document(capsys):
    return json.loads(capsys.readouterr().out)


@pytest.fixture
def tables(here):
    """Files with new rows, and with training rows among them."""
    assert run("simulate", "friedman", "--samples", 70, "--irrelevant", 10, "-o", "n.csv", "-q",
               "--correlation", "0", "--seed", 7) == Exit.DONE  # fmt: skip
    old, new = pd.read_csv("d.csv"), pd.read_csv("n.csv")[pd.read_csv("d.csv").columns]
    new.to_csv("new.csv", index=False)
    pd.concat([new[:30], old[:20], new[30:]]).to_csv("mixed.csv", index=False, float_format="%.12g")
    old[::-1].to_csv("back.csv", index=False)
    return old, new


@pytest.mark.parametrize("name", ["d.csv", "back.csv"])
def test_a_report_on_training_rows_is_refused(tables, capsys, name):
    assert run("report", "model", "--test", name, "-o", "r.html") == Exit.ERROR
    assert f"{name} has no new row: all 60 are training rows" in capsys.readouterr().err


@pytest.mark.filterwarnings("always:In the test data")
def test_a_report_scores_new_rows_alone(tables, here, capsys):
    words = ["--test", "mixed.csv", "-o", "r.html"]
    assert run("report", "model", *words) == Exit.DONE
    said = "20 of 90 rows are training rows"
    assert f"{said}; only the others are scored" in capsys.readouterr().err
    page = (here / "r.html").read_text()
    assert "on 70 new rows" in page
    assert said in page


def test_predictions_of_training_rows_are_not_scored_as_new(tables, capsys):
    old, new = tables
    model = ModelFolder.read("model").model
    assert run("predict", "model", "d.csv", "-o", "p.csv", "--json") == Exit.DONE
    told = document(capsys)
    assert "score" not in told
    assert told["training_rows"] == 60
    assert told["training_score"] == pytest.approx(model.score(old.drop(columns="y"), old["y"]))
    assert run("predict", "model", "mixed.csv", "-o", "p.csv", "--force") == Exit.DONE
    said = capsys.readouterr().err
    expected = model.score(new.drop(columns="y"), new["y"])
    assert f"20 of 90 rows are training rows, and R2 of the others is {expected:.4f}" in said
    assert "how well they are remembered" in said
    assert len(pd.read_csv("p.csv")) == 90
    assert run("predict", "model", "new.csv", "-o", "p.csv", "--force", "--json") == Exit.DONE
    told = document(capsys)
    assert told["score"] == pytest.approx(expected)
    assert "training_rows" not in told


def test_a_single_training_row_has_no_score(tables, capsys):
    tables[0][:1].to_csv("one.csv", index=False)
    assert run("predict", "model", "one.csv", "-o", "p.csv", "--force") == Exit.DONE
    assert "R2" not in capsys.readouterr().err


def test_a_fit_tells_its_validation_score(here, capsys):
    assert run(*FIT) == Exit.DONE
    said = capsys.readouterr().err
    folder = ModelFolder.read("m")
    score = folder.model.validation_score_
    assert folder.facts["scores"] == {"validation_r2": score}
    assert f"R2 on the validation rows is {score:.4f}, slightly optimistic" in said
    assert run("info", "m") == Exit.DONE
    shown = capsys.readouterr().out
    assert f"validation_r2  {score:.6g}" in shown
    assert "slightly optimistic" in shown
    assert run("info", "m", "--json") == Exit.DONE
    assert document(capsys)["scores"] == {"validation_r2": score}


def test_repeats_have_a_spread(here, capsys):
    assert run(*FIT, "--repeats", 2, "--json") == Exit.DONE
    told, model = document(capsys), ModelFolder.read("m").model
    expected = {
        "validation_r2": model.validation_scores_.mean(),
        "validation_r2_std": model.validation_scores_.std(),
    }
    assert told["scores"] == pytest.approx(expected)


def test_test_rows_of_a_file(tables, capsys):
    assert run(*FIT, "--test", "mixed.csv", "--json") == Exit.DONE
    out, err = capsys.readouterr()
    _, new = tables
    model = ModelFolder.read("m").model
    expected = r2_score(new["y"], model.predict(new.drop(columns="y")))
    assert json.loads(out)["scores"]["test_r2"] == pytest.approx(expected)
    assert "mixed.csv: 20 of 90 rows are training rows" in err
    assert run("info", "m", "--json") == Exit.DONE
    told = document(capsys)
    assert told["scores"]["test_r2"] == pytest.approx(expected)
    assert told["extra"]["test_rows"] == 70


def test_a_test_on_training_rows_is_refused_before_training(tables, here, capsys):
    assert run(*FIT, "--test", "back.csv") == Exit.ERROR
    assert "back.csv has no new row: all 60 are training rows" in capsys.readouterr().err
    assert not (here / "m").exists()


def test_held_out_rows_are_not_trained_on(here, capsys):
    assert run(*FIT, "--test-size", 0.25) == Exit.DONE
    said = capsys.readouterr().err
    assert "15 of these rows are held out for the test" in said
    folder, frame = ModelFolder.read("m"), pd.read_csv("d.csv")
    assert folder.data.n_samples == 45
    known = folder.model._training_rows.among(frame.drop(columns="y"), frame["y"])
    new = frame.iloc[known.new]
    assert len(new) == 15
    expected = folder.model.score(new.drop(columns="y"), new["y"])
    assert f"R2 on 15 test rows is {expected:.4f}" in said
    assert folder.facts["scores"]["test_r2"] == pytest.approx(expected)
    # The report finds the same rows, and trains the other methods on the rest.
    assert run("report", "m", "-o", "r.html", "-q") == Exit.DONE
    page = (here / "r.html").read_text()
    assert "trained on the same 45 rows and scored on the same 15 rows" in page
    assert f"{expected:.4f} on 15 test rows" in page


def test_the_report_uses_the_test_table_of_the_fit(tables, here, capsys):
    assert run(*FIT, "--test", "new.csv", "-q") == Exit.DONE
    assert run("report", "m", "-o", "r.html", "--force") == Exit.DONE
    assert "scored on the same 70 rows" in (here / "r.html").read_text()
    (here / "new.csv").unlink()
    assert run("report", "m", "-o", "r.html", "--force") == Exit.DONE
    assert "new.csv no longer exists" in capsys.readouterr().err
    assert "a part of the training rows was set aside" in (here / "r.html").read_text()


def test_classes_are_held_out_in_proportion(here, capsys):
    frame = pd.read_csv("d.csv").assign(y=lambda f: np.where(f["x1"] > 0.8, "rare", "often"))
    frame.to_csv("c.csv", index=False)
    words = ["fit", "c.csv", "--target", "y", "-o", "c", "--epochs", 3, "--members", 5]
    assert run(*words, "--base", "knn", "--test-size", 0.5, "--json") == Exit.DONE
    told, model = document(capsys), ModelFolder.read("c").model
    X, y = frame.drop(columns="y"), frame["y"].to_numpy()
    new = model._training_rows.among(X, y).new
    assert abs((y[new] == "rare").sum() - (y == "rare").sum() / 2) <= 1
    expected = accuracy_score(y[new], model.predict(X.iloc[new]))
    assert told["scores"]["test_accuracy"] == pytest.approx(expected)
    assert told["scores"]["validation_accuracy"] == pytest.approx(model.validation_score_)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--test-size", 0.01], "at least 2 test rows"),
        (["--test-size", 1.5], "1.5"),
        (["--test-size", 0.2, "--test", "d.csv"], "not allowed with"),
        (["--test", "lacking.csv"], "lacks the column 'x1'"),
    ],
)
def test_what_cannot_be_a_test(here, capsys, words, message):
    pd.read_csv("d.csv").drop(columns="x1").to_csv("lacking.csv", index=False)
    try:
        code = run(*FIT, *words)
    except SystemExit as error:
        code = error.code
    assert code in (Exit.ERROR, Exit.USAGE)
    assert message in capsys.readouterr().err
    assert not (here / "m").exists()


def test_what_the_report_warns_of_is_said_once_at_the_fit(here, capsys):
    assert run(*FIT, "--json") == Exit.DONE
    out, err = capsys.readouterr()
    warnings = json.loads(out)["warnings"]
    few = [warning for warning in warnings if warning.startswith("Few validation rows. ")]
    assert len(few) == 1
    assert "Raise --repeats" in few[0]
    assert err.count("Warning: Few validation rows. Of 60 rows about 12") == 1
    assert "n_repeats" not in err
    assert run(*FIT, "--force", "-q") == Exit.DONE
    assert "Warning" not in capsys.readouterr().err
