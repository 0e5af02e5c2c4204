"""Model folders: there as a whole or not at all, and never in the place of something else."""

import functools
import json
import os

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeRegressor

from flat_parameters import flat
from randsub import PRSRegressor, RandomSubspaceRegressor
from randsub.exceptions import ModelFormatError, UnsafeLoadWarning, UnsavableModelError
from randsub.io import DataFacts, ModelFolder
from randsub.io.metadata import importances

pytest.importorskip("skops")

X = pd.DataFrame(np.random.default_rng(0).normal(size=(30, 3)), columns=["a", "NA", "c"])
Y = pd.Series(X["a"] * 2, name="size")
SMALL = {"n_estimators": 2, "max_iter": 2, "n_revivals": 0, "random_state": 5}


@functools.cache
def model():
    return PRSRegressor(Ridge(), **flat(**SMALL)).fit(X, Y)


def names_in(folder):
    return sorted(path.name for path in folder.iterdir())


def test_what_is_written_can_be_read(tmp_path):
    data = DataFacts.of(X, Y, source=tmp_path / "d.csv")
    written = ModelFolder.write(
        tmp_path / "model",
        model(),
        data=data,
        scores={"test_r2": 0.5},
        command=["randsub", "fit", "d.csv"],
        extra={"note": [1, None]},
        files={"split.bin": b"\x00\x01", "words.txt": "grün"},
    )
    assert written.model is model()
    folder = ModelFolder.read(tmp_path / "model")
    assert folder.facts == written.facts == json.loads((folder.path / "model.json").read_text())
    assert folder.data == data
    assert (data.n_samples, data.columns, data.target) == (30, ["a", "NA", "c"], "size")
    measured = {"validation_r2": model().validation_score_, "test_r2": 0.5}
    assert folder.facts["scores"] == measured
    assert folder.facts["command"] == ["randsub", "fit", "d.csv"]
    assert folder.facts["extra"] == {"note": [1, None]}
    about = folder.facts["model"]
    assert (about["task"], about["seed"]) == ("regression", 5)
    assert about["parameters"]["estimator"] == "Ridge()"
    assert "scikit-learn" in folder.facts["versions"]
    assert folder.file("split.bin").read_bytes() == b"\x00\x01"
    assert folder.file("words.txt").read_text(encoding="utf-8") == "grün"
    np.testing.assert_array_equal(folder.model.predict(X), model().predict(X))
    assert folder.model is folder.model
    pd.testing.assert_frame_equal(folder.history, model().history_, check_exact=True)
    importances = folder.importances.set_index("feature")["importance"]
    assert importances.is_monotonic_decreasing
    np.testing.assert_array_equal(importances[["a", "NA", "c"]], model().alpha_)
    assert names_in(tmp_path) == ["model"]


def test_importances_name_the_groups_of_features():
    grouped = PRSRegressor(Ridge(), feature_groups=[["a", "c"], ["NA"]], **flat(**SMALL)).fit(X, Y)
    table = importances(grouped).set_index("feature")
    assert table["group"]["a"] == table["group"]["c"] != table["group"]["NA"]
    np.testing.assert_array_equal(table["importance"][["a", "NA", "c"]], grouped.alpha_)


def test_shares_of_several_base_models_are_told(tmp_path):
    bases = [("ridge", Ridge()), ("tree", DecisionTreeRegressor())]
    mix = PRSRegressor(bases, **flat(**SMALL)).fit(X, Y)
    folder = ModelFolder.write(tmp_path / "a", make_pipeline(StandardScaler(), mix).fit(X, Y))
    assert folder.facts["model"]["shares"] == folder.model[-1].shares_ != {}
    about = ModelFolder.write(tmp_path / "b", mix).facts["model"]
    assert about["parameters"]["estimator"] == [[name, f"{base}"] for name, base in bases]
    pd.testing.assert_frame_equal(ModelFolder.read(tmp_path / "b").history, mix.history_)


def test_a_model_without_names_history_or_importances(tmp_path):
    plain = PRSRegressor(Ridge(), **flat(**SMALL)).fit(X.to_numpy(), Y)
    named = ModelFolder.write(tmp_path / "a", plain, data=DataFacts.of(X, Y))
    assert set(named.importances["feature"]) == {"a", "NA", "c"}
    assert set(ModelFolder.write(tmp_path / "b", plain).importances["feature"]) == {
        "x0",
        "x1",
        "x2",
    }
    single = ModelFolder.write(
        tmp_path / "c", RandomSubspaceRegressor(n_estimators=2, max_features=1).fit(X, Y)
    )
    assert single.history is None
    assert single.importances is None
    assert single.data is None


def test_the_model_inside_a_pipeline_and_a_search_is_found(tmp_path):
    search = GridSearchCV(
        make_pipeline(StandardScaler(), PRSRegressor(Ridge(), **flat(**SMALL))),
        {"prsregressor__solver__n_batches": [2]},
        cv=2,
    ).fit(X, Y)
    folder = ModelFolder.write(tmp_path / "model", search)
    inner = search.best_estimator_[-1]
    pd.testing.assert_frame_equal(folder.history, inner.history_, check_exact=True)
    assert sorted(folder.importances["importance"]) == sorted(inner.alpha_)
    assert folder.facts["model"]["seed"] == 5


def test_joblib_is_only_read_when_asked_for(tmp_path):
    ModelFolder.write(tmp_path / "model", model(), format="joblib")
    with pytest.raises(ModelFormatError, match="format='joblib'"):
        _ = ModelFolder.read(tmp_path / "model").model
    with pytest.warns(UnsafeLoadWarning):
        loaded = ModelFolder.read(tmp_path / "model", format="joblib").model
    np.testing.assert_array_equal(loaded.predict(X), model().predict(X))


# -- where it may be written ---------------------------------------------------------------------


def test_a_model_folder_is_replaced_only_when_told(tmp_path):
    ModelFolder.write(tmp_path / "model", model(), files={"old.txt": "old"})
    with pytest.raises(FileExistsError, match="overwrite=True"):
        ModelFolder.write(tmp_path / "model", model())
    assert "old.txt" in names_in(tmp_path / "model")
    ModelFolder.write(tmp_path / "model", model(), overwrite=True)
    assert names_in(tmp_path / "model") == [
        "history.csv",
        "importances.csv",
        "model.json",
        "model.skops",
    ]
    assert names_in(tmp_path) == ["model"]


def test_what_is_no_model_folder_is_never_replaced(tmp_path):
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "chapter.txt").write_text("one")
    (tmp_path / "file").write_text("two")
    for name, words in (("thesis", "not a model folder"), ("file", "is a file")):
        with pytest.raises(FileExistsError, match=words):
            ModelFolder.write(tmp_path / name, model(), overwrite=True)
    ModelFolder.write(tmp_path / "model", model())
    (tmp_path / "model" / "mine.txt").write_text("three")
    with pytest.raises(FileExistsError, match=r"mine\.txt"):
        ModelFolder.write(tmp_path / "model", model(), overwrite=True)
    assert (tmp_path / "model" / "mine.txt").read_text() == "three"
    with pytest.raises(FileNotFoundError, match="create it first"):
        ModelFolder.write(tmp_path / "none" / "model", model())
    assert names_in(tmp_path) == ["file", "model", "thesis"]


def test_an_empty_folder_may_be_used(tmp_path):
    (tmp_path / "model").mkdir()
    ModelFolder.write(tmp_path / "model", model())
    assert ModelFolder.read(tmp_path / "model").model.n_features_in_ == 3


@pytest.mark.parametrize("error", [OSError("disk full"), KeyboardInterrupt()])
@pytest.mark.parametrize("exists", [False, True])
def test_a_write_that_fails_leaves_nothing_or_what_was_there(error, exists, tmp_path, monkeypatch):
    if exists:
        ModelFolder.write(tmp_path / "model", model(), extra={"first": True})
    calls = []

    def fail(descriptor):
        calls.append(descriptor)
        if len(calls) == 3:
            raise error

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(type(error)):
        ModelFolder.write(tmp_path / "model", model(), overwrite=True)
    assert names_in(tmp_path) == (["model"] if exists else [])
    if exists:
        assert ModelFolder.read(tmp_path / "model").facts["extra"] == {"first": True}


def test_a_failed_exchange_of_folders_brings_the_former_back(tmp_path, monkeypatch):
    ModelFolder.write(tmp_path / "model", model(), extra={"first": True})
    rename, calls = type(tmp_path).rename, []

    def fail(self, target):
        calls.append(target)
        if len(calls) == 2:
            raise OSError("no more")
        return rename(self, target)

    monkeypatch.setattr(type(tmp_path), "rename", fail)
    with pytest.raises(OSError, match="no more"):
        ModelFolder.write(tmp_path / "model", model(), overwrite=True)
    assert names_in(tmp_path) == ["model"]
    assert ModelFolder.read(tmp_path / "model").facts["extra"] == {"first": True}


def test_bad_arguments_write_nothing(tmp_path):
    target = tmp_path / "model"
    with pytest.raises(TypeError, match="extra must hold values that JSON can"):
        ModelFolder.write(target, model(), extra={"a": {1, 2}})
    with pytest.raises(TypeError, match="scores must hold values that JSON can"):
        ModelFolder.write(target, model(), scores={"a": float("nan")})
    for name in ("../x", "a/b", "", "..", "a\\b"):
        with pytest.raises(ValueError, match="plain name"):
            ModelFolder.write(target, model(), files={name: b""})
    with pytest.raises(ValueError, match="taken"):
        ModelFolder.write(target, model(), files={"model.json": b""})
    with pytest.raises(TypeError, match="bytes or text"):
        ModelFolder.write(target, model(), files={"a": 3})
    with pytest.raises(UnsavableModelError):
        ModelFolder.write(target, Ridge(alpha=lambda: 1))
    assert names_in(tmp_path) == []


# -- reading -------------------------------------------------------------------------------------


def edit(change):
    def spoil(folder):
        path = folder / "model.json"
        path.write_text(json.dumps(change(json.loads(path.read_text()))))

    return spoil


DAMAGES = {
    "no facts": (lambda f: (f / "model.json").unlink(), "no model.json"),
    "no json": (lambda f: (f / "model.json").write_text("{"), "not json"),
    "binary": (lambda f: (f / "model.json").write_bytes(b"\xff\xfe"), "not json"),
    "another json": (edit(lambda facts: {"a": 1}), "which format"),
    "a list": (edit(lambda facts: []), "which format"),
    "newer": (edit(lambda facts: facts | {"format_version": 2}), "reads up to 1"),
    "incomplete": (edit(lambda facts: {**facts, "files": {}}), "incomplete"),
    "a way out": (
        edit(lambda facts: {**facts, "files": facts["files"] | {"../x": ""}}),
        "incomplete",
    ),
    "model missing": (lambda f: (f / "model.skops").unlink(), "model.skops is missing"),
    "model damaged": (
        lambda f: (f / "model.skops").write_bytes(b"PK"),
        "not the file that was written",
    ),
    "history damaged": (lambda f: (f / "history.csv").write_bytes(b"\xff\xfe\x00"), "not a table"),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_damaged_folders(name, tmp_path):
    spoil, words = DAMAGES[name]
    ModelFolder.write(tmp_path / "model", model())
    spoil(tmp_path / "model")

    def use():
        folder = ModelFolder.read(tmp_path / "model")
        return folder.history, folder.model

    with pytest.raises(ModelFormatError, match=words):
        use()


def test_no_folder(tmp_path):
    with pytest.raises(FileNotFoundError, match="There is no model folder"):
        ModelFolder.read(tmp_path / "none")
    (tmp_path / "file").write_text("x")
    with pytest.raises(ModelFormatError, match="it is a file"):
        ModelFolder.read(tmp_path / "file")
    ModelFolder.write(tmp_path / "model", model())
    with pytest.raises(FileNotFoundError, match=r"has no file 'x'.*history\.csv"):
        ModelFolder.read(tmp_path / "model").file("x")


# -- facts ---------------------------------------------------------------------------------------


@given(table=arrays(float, (4, 3), elements=st.floats(-5, 5)), place=st.integers(0, 11))
@settings(max_examples=30, deadline=None)
def test_the_fingerprint_is_of_the_values(table, place):
    kept = DataFacts.of(table, table[:, 0]).fingerprint
    assert DataFacts.of(np.asfortranarray(table), table[:, 0]).fingerprint == kept
    assert DataFacts.of(table.tolist(), table[:, 0].tolist()).fingerprint == kept
    assert DataFacts.of(table, -1.0 - table[:, 0]).fingerprint != kept or (table == -0.5).any()
    other = table.copy()
    other.flat[place] += 1.0
    assert DataFacts.of(other, table[:, 0]).fingerprint != kept
    thin = sparse.csr_array(table)
    assert DataFacts.of(thin).fingerprint == DataFacts.of(sparse.csc_array(table)).fingerprint


def test_frames_of_both_kinds_have_one_fingerprint():
    pl = pytest.importorskip("polars")
    plain = {"a": [1.0, 2.5], "b": ["x", "y"], "c": [1, 2]}
    one, other = pd.DataFrame(plain), pl.DataFrame(plain)
    assert DataFacts.of(one).fingerprint == DataFacts.of(other).fingerprint
    renamed = one.rename(columns={"a": "z"})
    assert DataFacts.of(renamed).fingerprint != DataFacts.of(one).fingerprint
    changed = one.assign(b=["x", "z"])
    assert DataFacts.of(changed).fingerprint != DataFacts.of(one).fingerprint
