"""From a table to a model, and all that can be done with it."""

import json

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

from cli_words import TINY
from flat_parameters import flat
from randsub import PRSRegressor
from randsub.cli import main
from randsub.cli.main import Exit
from randsub.io import ModelFolder
from randsub.solver import Solver, Window


def run(*words):
    return main([str(word) for word in words])


def document(capsys):
    """Standard output, which is one json document and nothing else."""
    return json.loads(capsys.readouterr().out)


def test_fit_is_the_fit_of_python(here):
    frame = pd.read_csv("d.csv")
    model = ModelFolder.read(here / "model").model
    X, y = frame.drop(columns="y"), frame["y"].to_numpy()
    twin = PRSRegressor(**flat(**model.get_params(deep=False))).fit(X, y)
    assert_array_equal(twin.alpha_, model.alpha_)
    assert_array_equal(twin.predict(X), model.predict(X))


def test_parameters_of_the_solver_need_no_prefix(here):
    words = ["fit", "d.csv", "--target", "y", "-o", "w", "-q", *TINY, "--param", "tol=0.5"]
    window = ["--param", "refresh=window", "--param", "n_generations=2"]
    assert run(*words, *window, "--param", "n_batches=3") == Exit.DONE
    solver = ModelFolder.read(here / "w").model.solver
    expected = Solver(tol=0.5, refresh=Window(2), n_batches=3)
    assert repr(solver) == repr(expected)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        (["solver=quick"], "--param solver: choose one with --solver"),
        (["n_generations=3"], "n_generations belongs to refresh=window"),
        (["refresh=fresh", "n_generations=3"], "n_generations belongs to refresh=window"),
        (["size=3"], "and its solver has baseline,"),
    ],
)
def test_parameters_that_would_be_lost_are_refused(here, capsys, params, message):
    words = ["fit", "d.csv", "--target", "y", "-o", "w", "-q", *TINY]
    assert run(*words, *(word for one in params for word in ("--param", one))) != Exit.DONE
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("baseline", ["none", "None", "optimal"])
def test_a_baseline_is_named_as_in_python(here, baseline):
    words = ["fit", "d.csv", "--target", "y", "-o", baseline, "-q", *TINY]
    assert run(*words, "--param", f"baseline={baseline}") == Exit.DONE
    assert ModelFolder.read(here / baseline).model.solver.baseline == baseline.lower()


def test_the_same_seed_gives_the_same_model(here):
    for name in ("one", "two"):
        words = ["fit", "d.csv", "--target", "y", "-o", name, "-q", *TINY, "--seed", "3"]
        assert run(*words, *(["--jobs", "2"] if name == "two" else [])) == Exit.DONE
    one, two = (ModelFolder.read(here / name) for name in ("one", "two"))
    assert_array_equal(one.model.alpha_, two.model.alpha_)
    other = ModelFolder.read(here / "model").model
    assert not np.array_equal(one.model.alpha_, other.alpha_)


def test_predictions_are_those_of_the_model(here, capsys):
    assert run("predict", "model", "d.csv", "-o", "p.csv", "--json") == Exit.DONE
    told = document(capsys)
    frame = pd.read_csv("d.csv")
    model = ModelFolder.read(here / "model").model
    X = frame.drop(columns="y")
    assert_array_equal(pd.read_csv("p.csv")["prediction"], model.predict(X))
    assert told["rows"] == 60
    assert told["training_score"] == pytest.approx(model.score(X, frame["y"]))

    # Other columns, in another order, and on standard output.
    frame.assign(more="text")[["more", *reversed(X.columns)]].to_csv("shuffled.csv", index=False)
    assert run("predict", "model", "shuffled.csv") == Exit.DONE
    out, err = capsys.readouterr()
    assert out == (here / "p.csv").read_text()
    assert "R2" not in err


def test_rank_in_all_its_forms(here, capsys):
    model = ModelFolder.read(here / "model").model
    order = np.argsort(-model.alpha_, kind="stable")[:3]
    names = model.feature_names_in_[order].tolist()
    assert run("rank", "model", "--top", "3") == Exit.DONE
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["rank", "feature", "importance"]
    assert [line.split()[1] for line in lines[1:]] == names
    assert run("rank", "model", "--top", "3", "--format", "csv") == Exit.DONE
    (here / "r.csv").write_text(capsys.readouterr().out)
    assert_array_equal(pd.read_csv("r.csv")["importance"], model.alpha_[order])
    assert run("rank", "model", "--top", "3", "--json") == Exit.DONE
    assert [row["feature"] for row in document(capsys)] == names
    assert run("rank", "model", "--top", "3", "-o", "s.csv", "-q") == Exit.DONE
    assert (here / "s.csv").read_text() == (here / "r.csv").read_text()


def test_select_writes_the_columns_that_matter(here, capsys):
    assert run("rank", "model", "--json") == Exit.DONE
    ranking = document(capsys)
    names = [row["feature"] for row in ranking]
    frame = pd.read_csv("d.csv")
    assert run("select", "model", "d.csv", "--top", "4", "-o", "s.csv", "--json") == Exit.DONE
    assert document(capsys)["selected"] == names[:4]
    pd.testing.assert_frame_equal(pd.read_csv("s.csv"), frame[[*names[:4], "y"]])

    level = ranking[2]["importance"]
    words = ["select", "model", "d.csv", "--threshold", level, "-o", "s.csv", "-q", "--no-target"]
    assert run(*words, "--force") == Exit.DONE
    # Others may be level with the third.
    chosen = [row["feature"] for row in ranking if row["importance"] >= level]
    assert list(pd.read_csv("s.csv").columns) == chosen
    assert 3 <= len(chosen) < len(names)
    # After an epoch no alpha is far from where it began.
    short = ["fit", "d.csv", "--target", "y", "-o", "short", "-q", *TINY, "--epochs", "1"]
    assert run(*short) == Exit.DONE
    assert run("select", "short", "d.csv", "--threshold", "1", "-o", "none.csv") == Exit.ERROR
    assert "No column is selected" in capsys.readouterr().err
    assert not (here / "none.csv").exists()


def test_select_by_shadow_features(here, capsys):
    frame = pd.read_csv("d.csv").assign(y=lambda f: 10 * f["x1"] + 8 * f["x2"] + 6 * f["x4"])
    frame.to_csv("easy.csv", index=False)
    words = ["fit", "easy.csv", "--target", "y", "-o", "easy", "-q", *TINY]
    assert (
        run(*words, "--epochs", "20", "--param", "learning_rate=0.05", "--param", "n_batches=2")
        == Exit.DONE
    )
    words = ["select", "easy", "easy.csv", "--fdr", "0.2", "-o", "s.csv", "--json", "-q"]
    assert run(*words) == Exit.DONE
    selected = document(capsys)["selected"]
    assert set(selected) & {"x1", "x2", "x4"}
    assert list(pd.read_csv("s.csv").columns) == [*selected, "y"]
    assert run(*words, "--null", "conditional", "--force") == Exit.DONE
    assert set(document(capsys)["selected"]) & {"x1", "x2", "x4"}


def test_select_by_a_null_without_a_rate(here, capsys):
    words = ["select", "nothing", "d.csv", "--top", "2", "--null", "conditional", "-o", "s.csv"]
    assert run(*words) == Exit.ERROR
    assert "--null conditional is for --fdr, which was not given" in capsys.readouterr().err


def test_select_a_minimal_set(here, capsys):
    frame = pd.read_csv("d.csv").assign(y=lambda f: 10 * f["x1"] + 8 * f["x2"])
    frame = frame.assign(copy=frame["x1"])[["x1", "x2", "x3", "copy", "y"]]
    frame.to_csv("easy.csv", index=False)
    words = ["fit", "easy.csv", "--target", "y", "-o", "easy", "-q", *TINY]
    # Ridge would shrink less with a copy, and predict better.
    assert run(*words, "--epochs", "10", "--base", "linear") == Exit.DONE
    words = ["select", "easy", "easy.csv", "--minimal", "-o", "s.csv", "--seed", "0"]
    assert run(*words, "--json", "-q") == Exit.DONE
    found = document(capsys)
    assert len(found["selected"]) == 2
    assert set(found["selected"]) < {"x1", "x2", "copy"}
    assert "x2" in found["selected"]
    assert found["score"] > 0.9 < found["score_of_all"]
    assert list(pd.read_csv("s.csv").columns) == [*found["selected"], "y"]
    assert run(*words, "--force") == Exit.DONE
    told = "".join(capsys.readouterr())
    assert "2 of 4 features" in told
    assert "Cross-validated score" in told
    with pytest.raises(SystemExit) as refused:
        run(*words, "--top", "3")
    assert refused.value.code == Exit.USAGE
    assert "not allowed with" in capsys.readouterr().err


def test_info_tells_what_is_there(here, capsys):
    assert run("info", "model", "--json") == Exit.DONE
    told = document(capsys)
    assert told["model"]["task"] == "regression"
    assert told["data"]["target"] == "y"
    assert told["last epoch"]["epoch"] == 150
    assert told["command"].startswith("randsub fit ")
    assert run("info", "model") == Exit.DONE
    assert "PRSRegressor" in capsys.readouterr().out
    assert run("info", "--json") == Exit.DONE
    told = document(capsys)
    assert set(told["engines"]) >= {"knn", "tree", "generic"}
    assert told["packages"]["numpy"] == np.__version__


def test_report_is_written(here, capsys):
    words = ["report", "model", "-o", "r.html", "--json", "--no-compare"]
    pd.read_csv("d.csv").assign(y=lambda f: f["y"] + 0.5).to_csv("new.csv", index=False)
    assert run(*words, "--test", "new.csv") == Exit.DONE
    assert document(capsys)["output"] == "r.html"
    page = (here / "r.html").read_text()
    assert "<html" in page
    assert "noise3" in page
    # The data that it was trained on has gone.
    model = json.loads((here / "model" / "model.json").read_text())
    model["data"]["source"] = str(here / "gone.csv")
    (here / "model" / "model.json").write_text(json.dumps(model))
    assert run("report", "model", "-o", "r.html", "--no-compare", "--force") == Exit.DONE
    assert "no longer exists" in capsys.readouterr().err
    pd.read_csv("d.csv").assign(y=1.5).to_csv("other.csv", index=False)
    assert run("report", "model", "--data", "other.csv", "-o", "r2.html") == Exit.ERROR
    assert "is not the data" in capsys.readouterr().err


@pytest.fixture
def classes(here):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(60, 3)), columns=["a", "b_1", "b_2"])
    frame["colour"] = rng.choice(["red", "green"], 60)
    frame["code"] = rng.choice([1, 2, 3], 60)
    frame["importance"] = rng.uniform(1, 2, 60)
    frame["kind"] = np.where(frame["a"] > 0, "cat", "dog")
    frame.to_csv("c.csv", index=False)
    return here


def test_classification_with_all_there_is_to_say(classes, capsys):
    groups = classes / "groups.json"
    groups.write_text(json.dumps({"both": ["b_1", "b_2"]}))
    pd.read_csv("c.csv").head(30).to_csv("v.csv", index=False)
    words = ["fit", "c.csv", "--target", "kind", "-o", "m", "--json", *TINY, "--base", "nb"]
    words += ["--categorical", "code", "--weight", "importance", "--groups", groups]
    words += ["--validation", "v.csv", "--penalty", "size=0.001", "--time-limit", "1h"]
    words += ["--base-param", "var_smoothing=1e-8"]
    assert run(*words) == Exit.DONE
    told = document(capsys)
    assert told["task"] == "classification"
    assert told["features"] == 5
    model = ModelFolder.read(classes / "m").model
    assert model.classes_.tolist() == ["cat", "dog"]
    assert model.estimator.var_smoothing == 1e-8
    assert model.penalty.lam == 0.001
    alpha = dict(zip(model.feature_names_in_, model.alpha_, strict=True))
    assert alpha["b_1"] == alpha["b_2"]
    assert model.column_encoder_ is not None

    assert run("predict", "m", "c.csv", "--probabilities", "-o", "p.csv", "-q") == Exit.DONE
    p = pd.read_csv("p.csv")
    assert list(p.columns) == ["prediction", "p_cat", "p_dog"]
    X = pd.read_csv("c.csv", dtype={"code": str})[model.feature_names_in_]
    assert_array_equal(p[["p_cat", "p_dog"]], model.predict_proba(X))
    assert ((p["p_cat"] < p["p_dog"]) == (p["prediction"] == "dog"))[p["p_cat"] != 0.5].all()
    assert run("report", "m", "-o", "r.html", "--no-compare", "-q") == Exit.DONE


def test_groups_as_a_table_and_by_prefix(classes):
    pd.DataFrame({"feature": ["b_1", "b_2"], "group": ["g", "g"]}).to_csv("g.csv", index=False)
    words = ["fit", "c.csv", "--target", "kind", "-q", "--drop", "importance", *TINY]
    for name, groups in (("one", "g.csv"), ("two", "prefix")):
        assert run(*words, "--groups", groups, "-o", name) == Exit.DONE
    one, two = (ModelFolder.read(classes / name).model for name in ("one", "two"))
    assert_array_equal(one.feature_groups_, [0, 1, 1, 2, 3])
    assert_array_equal(one.feature_groups_, two.feature_groups_)


def test_several_base_models(here, capsys):
    words = ["fit", "d.csv", "--target", "y", "-o", "m", *TINY, "--members", "8"]
    words += ["--base", "ridge, tree,sklearn.neighbors:KNeighborsRegressor"]
    words += ["--base-param", "tree__max_depth=2", "--base-param", "ridge__alpha=3"]
    assert run(*words) == Exit.DONE
    told = capsys.readouterr().err
    assert "Base models: [('ridge', Ridge(alpha=3)), ('tree', DecisionTree" in told
    folder = ModelFolder.read(here / "m")
    model = folder.model
    assert [name for name, _ in model.estimator] == ["ridge", "tree", "KNeighborsRegressor"]
    assert model.get_params()["tree__max_depth"] == 2
    assert f"Shares of the base models: ridge {model.shares_['ridge']:.2f}, tree " in told
    assert run("info", "m", "--json") == Exit.DONE
    assert document(capsys)["model"]["shares"] == model.shares_
    assert run("info", "m") == Exit.DONE
    assert f"ridge                {model.shares_['ridge']:.6g}" in capsys.readouterr().out
    assert run("rank", "m", "--top", "3") == Exit.DONE
    told = capsys.readouterr().out.splitlines()
    assert told[0].split()[2:] == [
        "importance",
        "alpha_ridge",
        "alpha_tree",
        "alpha_KNeighborsRegressor",
    ]
    ranking = pd.read_csv("m/importances.csv")
    best = ranking["feature"][0]
    place = list(model.feature_names_in_).index(best)
    assert ranking["alpha_tree"][0] == model.alphas_["tree"].mean(axis=0)[place]
    assert f"{ranking['alpha_tree'][0]:.4f}" in told[1]
    assert run("predict", "m", "d.csv", "-o", "p.csv") == Exit.DONE
    assert run("select", "m", "d.csv", "--fdr", "0.5", "-o", "s.csv") == Exit.DONE
    assert run("report", "m", "-o", "r.html") == Exit.DONE
    assert "Plain random subspace of tree" in (here / "r.html").read_text()


def test_base_models_that_suit_the_data(classes, capsys):
    """With numbers and categories that are missing, which no base model of the list takes."""
    frame = pd.read_csv("c.csv")
    frame.loc[::9, "a"] = np.nan
    frame["colour"] = np.where(frame["b_1"] > 0, "red", None)
    frame.to_csv("gaps.csv", index=False)
    # Boosting has no weights, which saves its time.
    words = ["fit", "gaps.csv", "--target", "kind", "-o", "m", "--weight", "importance", "--json"]
    words += ["--base", "auto", "--epochs", "2", "--members", "4", "--param", "engine=generic"]
    assert run(*words, "--param", "n_batches=2", "--repeats", "1") == Exit.DONE
    told = document(capsys)
    assert told["base"] == "auto"
    assert sum(told["shares"].values()) == pytest.approx(1.0)
    model = ModelFolder.read(classes / "m").model
    assert (model.estimator, model.shares_) == ("auto", told["shares"])
    assert run("predict", "m", "gaps.csv", "--probabilities", "-o", "p.csv", "-q") == Exit.DONE
    p = pd.read_csv("p.csv")
    X = frame[model.feature_names_in_]
    assert_array_equal(p["prediction"], model.predict(X))
    assert_array_equal(p[["p_cat", "p_dog"]], model.predict_proba(X))


def test_a_class_of_ones_own(here, monkeypatch):
    (here / "mine.py").write_text(
        "from sklearn.linear_model import Ridge\nclass Mine(Ridge):\n    pass\n"
    )
    monkeypatch.syspath_prepend(str(here))
    words = ["fit", "d.csv", "--target", "y", "-q", *TINY, "--base", "mine:Mine", "-o", "m"]
    assert run(*words, "--base-param", "alpha=2.5") == Exit.DONE
    assert run("rank", "m") == Exit.ERROR
    assert run("rank", "m", "--trust", "mine.Mine") == Exit.DONE


def test_checkpoint_and_resume_end_in_the_same_model(here):
    words = ["fit", "d.csv", "--target", "y", "-q", *TINY]
    assert run(*words, "--epochs", "6", "--checkpoint", "run.ckpt", "-o", "whole") == Exit.DONE
    assert run(*words, "--epochs", "6", "--resume", "run.ckpt", "-o", "again") == Exit.DONE
    whole, again = (ModelFolder.read(here / name).model for name in ("whole", "again"))
    assert_array_equal(whole.alpha_, again.alpha_)
    frame = pd.read_csv("d.csv").drop(columns="y")
    assert_array_equal(whole.predict(frame), again.predict(frame))


def test_progress_is_told_in_lines(here, capsys):
    assert run("fit", "d.csv", "--target", "y", "-o", "m", *TINY, "--json") == Exit.DONE
    out, err = capsys.readouterr()
    assert json.loads(out)["epochs"] == 3
    lines = err.splitlines()
    assert lines[0] == "d.csv: 60 rows, 15 features, target 'y'."
    assert lines[1].startswith("Task: regression (it has numbers with fractions; override with")
    said = [line for line in lines[2:] if not line.startswith("Warning: ")]
    assert said[-2].startswith("epoch 3/3  validation ")
    assert said[-1] == "Writing the model to m."
    assert run("fit", "d.csv", "--target", "y", "-o", "m", "--force", "-q", *TINY) == Exit.DONE
    assert capsys.readouterr() == ("", "")


def test_networks(here, capsys):
    words = ["--samples", "40", "--regulators", "4", "--targets", "6", "-q"]
    assert run("simulate", "network", "-o", "e.csv", "--truth", "t.csv", *words) == Exit.DONE
    (here / "regulators.txt").write_text("R1\nR2\nR3\nR4\n")
    words = ["network", "e.csv", "--lam", "0.003", "--epochs", "3", "--base", "ridge", "--json"]
    words += ["--param", "n_estimators=5", "--param", "engine=generic", "-q"]
    assert run(*words, "-o", "l.csv", "--regulators", "regulators.txt") == Exit.DONE
    told = document(capsys)
    links = pd.read_csv("l.csv")
    assert len(links) == told["links"] == 4 * 10 - 4
    assert set(links["regulator"]) == {"R1", "R2", "R3", "R4"}
    assert links["weight"].is_monotonic_decreasing
    assert run(*words, "-o", "l.graphml", "--regulators", "R1,R2", "--top", "5") == Exit.DONE
    assert (here / "l.graphml").read_text().count("<node") == 10
    assert run(*words, "-o", "l.txt") == Exit.ERROR


def test_lists_of_networks_for_other_programs(here, capsys):
    words = ["--samples", "40", "--regulators", "4", "--targets", "6", "-q"]
    assert run("simulate", "network", "-o", "e.csv", *words) == Exit.DONE
    frame = pd.read_csv("e.csv")
    frame.insert(0, "knockout", ["T1", "T2; T3", *[None] * 38])
    frame.insert(3, "hours", [*np.arange(30.0) % 10, *[None] * 10])
    frame.insert(4, "dish", ["a"] * 10 + ["b"] * 10 + ["c"] * 10 + [None] * 10)
    frame.to_csv("k.csv", index=False)
    words = ["network", "k.csv", "--perturbed", "knockout", "--regulators", "R1,R2,R3,R4"]
    words += ["--time", "hours", "--series", "dish"]
    words += ["--lam", "0", "--epochs", "3", "--repeats", "2", "--param", "n_estimators=5", "-q"]
    ridge = ["--base", "ridge", "--json"]
    assert run(*words, *ridge, "-o", "a.tsv", "--format", "arboreto") == Exit.DONE
    assert document(capsys)["genes"] == 10
    links = pd.read_csv("a.tsv", sep="\t")
    assert links.columns.tolist() == ["TF", "target", "importance"]
    assert run(*words, *ridge, "-o", "l.csv", "--fdr", "0.9") == Exit.DONE
    assert document(capsys)["links"] == len(pd.read_csv("l.csv"))
    assert "q_value" in pd.read_csv("l.csv")
    assert run(*words, "--base", "auto", "-o", "l.cyjs", "--top", "5", "--json") == Exit.DONE
    # Trained apart, they have no shares that are learned.
    assert document(capsys)["shares"] == {}
    assert run(*words, "--base", "auto", "-o", "m.cyjs", "--param", "mixing=shares", "--json") == 0
    assert set(document(capsys)["shares"]) == {"knn", "svm", "tree"}
    unknown = ["--perturbed", "nothing"], ["--series", "nothing"], ["--time", "dish"]
    for wrong in (["--format", "arboreto"], *unknown):
        assert run(*words, *ridge, "-o", "l.graphml", *wrong) == Exit.ERROR
        assert not (here / "l.graphml").exists()


@pytest.mark.parametrize("problem", ["friedman", "checkerboard", "hypercube", "linear"])
@pytest.mark.parametrize("suffix", [".csv", ".npz"])
def test_simulated_data_tell_what_is_relevant(tmp_path, problem, suffix, capsys):
    from randsub import datasets
    from randsub.cli.tables import read_table

    data, truth = tmp_path / f"d{suffix}", tmp_path / "t.csv"
    words = ["--samples", "20", "--irrelevant", "7", "--seed", "5", "--truth", truth, "--json"]
    assert run("simulate", problem, "-o", data, *words) == Exit.DONE
    told = document(capsys)
    X, y, relevant = getattr(datasets, f"make_{problem}")(20, 7, random_state=5)
    frame = read_table(data)
    assert_array_equal(frame.drop(columns="y").to_numpy(), X)
    assert_array_equal(frame["y"], y)
    names = list(frame.columns)
    assert [names[j] for j in relevant] == [f"x{k + 1}" for k in range(len(relevant))]
    assert told["relevant"] == [names[j] for j in relevant]
    listed = pd.read_csv(truth)
    assert listed["feature"].tolist() == names[:-1]
    assert_array_equal(np.flatnonzero(listed["relevant"]), relevant)


def test_flags_of_another_problem_are_refused(tmp_path, capsys):
    words = ["simulate", "linear", "--correlation", "0.5", "-o", tmp_path / "d.csv"]
    assert run(*words) == Exit.ERROR
    assert "--correlation has no meaning for linear" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_select_by_shadow_features_with_the_weights_of_the_model(here, capsys):
    # What follows x3 and x4 in the rows that count follows x1 in those that do not. Two columns
    # are the smallest selection that the shadows of 15 columns allow.
    frame = pd.read_csv("d.csv")
    counts = np.arange(60) % 3 > 0
    frame["y"] = np.where(counts, 10.0 * (frame["x3"] + frame["x4"]), -50.0 * frame["x1"])
    frame.assign(w=counts.astype(float)).to_csv("w.csv", index=False)
    words = ["fit", "w.csv", "--target", "y", "--weight", "w", "-o", "weighted", "-q", *TINY]
    words += ["--epochs", "30", "--param", "learning_rate=0.05", "--param", "n_batches=2"]
    words += ["--members", "15"]
    assert run(*words) == Exit.DONE
    words = ["select", "weighted", "w.csv", "--fdr", "0.5", "-o", "s.csv", "--json", "-q"]
    assert run(*words) == Exit.DONE
    # Without the weights, shadows of x1 would hide them.
    assert set(document(capsys)["selected"][:2]) == {"x3", "x4"}
    frame.to_csv("w.csv", index=False)
    assert run(*words, "--force") == Exit.ERROR
    assert "no column 'w', which the model asks for" in capsys.readouterr().err


def test_nameless_columns_have_the_same_names_everywhere(here, capsys):
    X = np.random.default_rng(0).normal(size=(40, 3))
    model = PRSRegressor(n_estimators=5, max_iter=20, random_state=0).fit(X, 3.0 * X[:, 0])
    ModelFolder.write(here / "arrays", model)
    assert run("rank", "arrays", "--json") == Exit.DONE
    ranked = [row["feature"] for row in document(capsys)]
    assert ranked == ModelFolder.read(here / "arrays").importances["feature"].tolist()
    np.savez("a.npz", X=X)
    assert run("predict", "arrays", "a.npz", "-o", "p.csv", "-q") == Exit.DONE
    assert_array_equal(pd.read_csv("p.csv")["prediction"], model.predict(X))


def test_names_that_a_terminal_would_obey_are_shown_as_harmless(here, capsys):
    frame = pd.read_csv("d.csv").rename(columns={"x1": "two\nlines", "x2": "\x1b[31mred"})
    frame.to_csv("odd.csv", index=False)
    assert run("fit", "odd.csv", "--target", "y", "-o", "odd", *TINY) == Exit.DONE
    assert run("rank", "odd") == Exit.DONE
    assert run("select", "odd", "odd.csv", "--top", "15", "-o", "s.csv") == Exit.DONE
    out, err = capsys.readouterr()
    assert len(out.splitlines()) == 16
    assert run("info", "odd") == Exit.DONE
    out += capsys.readouterr().out
    assert "\x1b" not in out + err
    assert out.count("two?lines") >= 2


def test_a_page_for_others_names_no_folder_of_this_machine(here):
    assert run("fit", "d.csv", "--target", "y", "-o", "mine", "-q", *TINY) == Exit.DONE
    words = ["report", here / "mine", "-o", "r.html", "--no-compare", "-q"]
    assert run(*words) == Exit.DONE
    page = (here / "r.html").read_text()
    assert str(here) not in page
    assert "<td>d.csv</td>" in page
    assert "<td>mine</td>" in page


def test_nothing_selected_by_shadow_features_is_said_as_that(here, capsys):
    noise = np.random.default_rng(0).normal(size=60)
    pd.read_csv("d.csv").assign(y=noise).to_csv("noise.csv", index=False)
    assert run("fit", "noise.csv", "--target", "y", "-o", "noise", "-q", *TINY) == Exit.DONE
    words = ["select", "noise", "noise.csv", "--fdr", "0.01", "-o", "s.csv", "-q"]
    assert run(*words) == Exit.ERROR
    assert "too few have a larger importance than their permuted copies" in capsys.readouterr().err
    assert not (here / "s.csv").exists()


def test_parameters_of_the_solver(here, capsys):
    fit = ["fit", "d.csv", "--target", "y", "-q", *TINY]
    given = ("n_batches=3", "refresh=window", "n_generations=2", "max_samples=0.9")
    params = [word for one in given for word in ("--param", one)]
    assert run(*fit, "-o", "m", "--solver", "paper", *params) == Exit.DONE
    model = ModelFolder.read(here / "m").model
    expected = Solver.paper().set_params(n_batches=3, refresh=Window(2))
    assert repr(model.solver) == repr(expected)
    assert (model.max_iter, model.max_samples, model.n_iter_) == (3, 0.9, 3)
    # Without --epochs, the solver sets their number.
    assert TINY[0] == "--epochs"
    quick = ["fit", "d.csv", "--target", "y", "-q", *TINY[2:], "--solver", "quick"]
    assert run(*quick, "-o", "quick", "--json") == Exit.DONE
    assert document(capsys)["epochs"] == Solver.quick().max_iter


def test_repeats_are_counted_and_their_spread_is_listed(here, capsys):
    words = ["fit", "d.csv", "--target", "y", "-o", "repeated", "--json", *TINY, "--repeats", "3"]
    assert run(*words) == Exit.DONE
    assert document(capsys)["repeats"] == 3
    model = ModelFolder.read(here / "repeated").model
    assert model.n_repeats_ == 3
    order = np.argsort(-model.alpha_, kind="stable")
    assert run("rank", "repeated") == Exit.DONE
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["rank", "feature", "importance", "std"]
    assert lines[1].split()[3] == f"{model.alpha_std_[order[0]]:.4f}"
    assert run("rank", "repeated", "--json") == Exit.DONE
    assert_array_equal([row["std"] for row in document(capsys)], model.alpha_std_[order])
    table = pd.read_csv(here / "repeated" / "importances.csv")
    assert_array_equal(table["std"], model.alpha_std_[order])
    words[words.index("--json")] = "--force"
    assert run(*words) == Exit.DONE
    assert "the mean of 3 repeats, with a mean validation loss of" in capsys.readouterr().err
    assert run(*words[:-1], "auto") == Exit.DONE
    assert ModelFolder.read(here / "repeated").model.n_repeats == "auto"
    with pytest.raises(SystemExit):
        run(*words[:-1], "0")
    assert "'0' is not an integer of at least 1" in capsys.readouterr().err
