"""Files that are no models, damaged, or of other versions; and what cannot be saved."""

import functools
import io
import json
import os
import sys
import tempfile
import zipfile
from pathlib import Path

import joblib
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from randsub import PRSRegressor
from randsub.callbacks import Checkpoint, ScoringMonitor
from randsub.exceptions import (
    ModelFormatError,
    UnsafeLoadWarning,
    UnsavableModelError,
    VersionMismatchWarning,
)
from randsub.io import load, save
from randsub.io.files import FORMAT_VERSION, NOTE, dumped
from randsub.solver import Solver

skops_io = pytest.importorskip("skops.io")

X = np.random.default_rng(0).normal(size=(30, 3))
Y = X[:, 0]


@functools.cache
def model():
    return PRSRegressor(
        Ridge(),
        n_estimators=2,
        max_iter=2,
        solver=Solver(n_revivals=0),
        validation_fraction=None,
        random_state=0,
    ).fit(X, Y)


@functools.cache
def content(format="skops"):
    return dumped(model(), format)[0]


def with_note(changes, format="skops"):
    """A model file that says something else about itself."""
    archive = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content(format))) as old, zipfile.ZipFile(archive, "w") as new:
        for name in old.namelist():
            member = old.read(name)
            if name == NOTE:
                member = json.dumps(changes(json.loads(member))).encode()
            new.writestr(name, member)
    return archive.getvalue()


def zipped(**members):
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as file:
        for name, member in members.items():
            file.writestr(name, member)
    return archive.getvalue()


def pickled(compress):
    archive = io.BytesIO()
    joblib.dump(model(), archive, compress=compress)
    return archive.getvalue()


NO_MODELS = {
    "empty": (lambda: b"", "the file is empty"),
    "text": (lambda: b"a,b\n1,2\n", "not a model file"),
    "one byte": (lambda: b"P", "not a model file"),
    "another archive": (lambda: zipped(letter=b"dear"), "archive of something else"),
    "skops alone": (lambda: skops_io.dumps(Ridge()), "written by skops without randsub"),
    "pickle": (lambda: pickled(0), "looks like a pickle"),
    "compressed pickle": (lambda: pickled(3), "looks like a pickle"),
    "truncated": (lambda: content()[:-30], "damaged or incomplete"),
    "half": (lambda: content()[: len(content()) // 2], "damaged or incomplete"),
    "no objects": (lambda: with_only_the_note(), "content is damaged"),
    "note is a list": (lambda: with_note(lambda note: []), "which format"),
    "format is true": (lambda: with_note(lambda note: note | {"format_version": True}), "which"),
    "versions missing": (lambda: with_note(lambda note: note | {"versions": 3}), "incomplete"),
    "format unknown": (lambda: with_note(lambda note: note | {"holds": "wax"}), "incomplete"),
}


def with_only_the_note():
    with zipfile.ZipFile(io.BytesIO(content())) as file:
        return zipped(**{NOTE: file.read(NOTE)})


@pytest.mark.parametrize("name", NO_MODELS)
def test_what_is_no_model_is_told_apart(name, tmp_path):
    make, words = NO_MODELS[name]
    path = tmp_path / "model.skops"
    path.write_bytes(make())
    with pytest.raises(ModelFormatError, match=words) as caught:
        load(path)
    assert str(path) in str(caught.value)


def test_a_folder_and_nothing_at_all(tmp_path):
    with pytest.raises(ModelFormatError, match=r"it is a folder.*ModelFolder\.read"):
        load(tmp_path)
    with pytest.raises(FileNotFoundError, match="No such file"):
        load(tmp_path / "nothing")


def test_a_newer_format_is_refused(tmp_path):
    path = tmp_path / "model.skops"
    newer = {"format_version": FORMAT_VERSION + 1, "versions": {"randsub": "9.1"}}
    path.write_bytes(with_note(lambda note: note | newer))
    with pytest.raises(ModelFormatError, match=r"reads up to 1.*saved by randsub 9\.1"):
        load(path)


@given(data=st.data())
@settings(max_examples=60, deadline=None)
def test_a_damaged_file_is_refused_or_harmlessly_damaged(data):
    """What can be loaded from a file with bytes changed or lost is still the model."""
    good = content()
    place = data.draw(st.integers(0, len(good) - 1))
    if data.draw(st.booleans()):
        bad = good[:place] + good[place + data.draw(st.integers(1, 50)) :]
    else:
        bad = good[:place] + data.draw(st.binary(min_size=1, max_size=4)) + good[place + 1 :]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.skops"
        path.write_bytes(bad)
        try:
            loaded = load(path)
        except ModelFormatError:
            return
    np.testing.assert_array_equal(loaded.predict(X), model().predict(X))


@given(junk=st.binary(max_size=200), start=st.sampled_from([b"", b"PK\x03\x04", b"\x80\x04"]))
@settings(max_examples=40, deadline=None)
def test_any_bytes_are_refused(junk, start):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.skops"
        path.write_bytes(start + junk)
        with pytest.raises(ModelFormatError):
            load(path)


@pytest.mark.parametrize(
    ("name", "version", "warns"),
    [
        ("scikit-learn", "0.1.2", True),
        ("randsub", "0.0.1", True),
        ("numpy", "1.2.3", True),
        ("python", "3.1.0", True),
        ("skops", "0.1", True),
        ("a-library-that-is-not-here", "1.0", True),
        ("numpy", ".".join(np.__version__.split(".")[:2]) + ".999", False),
    ],
)
@pytest.mark.filterwarnings("default::randsub.exceptions.VersionMismatchWarning")
def test_other_versions_are_told(name, version, warns, tmp_path, recwarn):
    path = tmp_path / "model.skops"
    path.write_bytes(
        with_note(lambda note: note | {"versions": note["versions"] | {name: version}})
    )
    loaded = load(path)
    told = [str(w.message) for w in recwarn if w.category is VersionMismatchWarning]
    assert len(told) == warns
    if warns:
        assert f"{name} {version} (here " in told[0]
        assert "fit it again" in told[0]
    np.testing.assert_array_equal(loaded.predict(X), model().predict(X))


def test_the_versions_are_in_the_file(tmp_path):
    with zipfile.ZipFile(io.BytesIO(content())) as file:
        note = json.loads(file.read(NOTE))
    assert {"randsub", "python", "scikit-learn", "numpy", "skops"} <= set(note["versions"])
    assert note["type"] == "randsub.estimators.regressor.PRSRegressor"


def test_members_of_another_version_say_so_once(tmp_path, monkeypatch):
    path = tmp_path / "model.skops"
    monkeypatch.setattr("sklearn.base.__version__", "0.1")
    path.write_bytes(dumped(model(), "skops")[0])
    monkeypatch.undo()
    load(path)


# -- saving --------------------------------------------------------------------------------------


@pytest.mark.parametrize("format", ["skops", "joblib"])
def test_what_cannot_be_saved_is_told_and_nothing_is_written(format, tmp_path):
    path = tmp_path / "model.skops"
    path.write_bytes(b"before")
    strange = FunctionTransformer(lambda x: x)
    with pytest.raises(UnsavableModelError, match="Define functions and classes"):
        save(strange, path, format=format)
    assert path.read_bytes() == b"before"
    assert list(tmp_path.iterdir()) == [path]


def test_a_full_disk_leaves_what_was_there(tmp_path, monkeypatch):
    path = tmp_path / "model.skops"
    path.write_bytes(b"before")

    def full(descriptor):
        raise OSError("disk full")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="disk full"):
        save(model(), path)
    assert path.read_bytes() == b"before"
    assert list(tmp_path.iterdir()) == [path]


def test_bad_arguments(tmp_path):
    with pytest.raises(ValueError, match="got 'pickle'"):
        save(model(), tmp_path / "m", format="pickle")
    with pytest.raises(ValueError, match="got 'pickle'"):
        load(tmp_path / "m", format="pickle")
    with pytest.raises(TypeError, match=r"got <class .*PRSRegressor"):
        save(PRSRegressor, tmp_path / "m")
    with pytest.raises(TypeError, match="must be an estimator"):
        save([1, 2], tmp_path / "m")
    with pytest.raises(IsADirectoryError, match="is a folder"):
        save(model(), tmp_path)
    with pytest.raises(FileNotFoundError, match="create it first"):
        save(model(), tmp_path / "none" / "m")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("trusted", [True, "module.Class", [3], ["Class"], ["os; x"], [""]])
def test_bad_trust(trusted, tmp_path):
    with pytest.raises(TypeError, match="trusted"):
        load(tmp_path / "m", trusted=trusted)


def test_a_link_is_followed(tmp_path):
    (tmp_path / "real").mkdir()
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "real" / "model.skops")
    save(model(), link)
    assert link.is_symlink()
    np.testing.assert_array_equal(load(link).predict(X), model().predict(X))


def test_joblib_files_do_not_need_skops(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "skops.io", None)
    monkeypatch.setitem(sys.modules, "skops", None)
    with pytest.raises(ImportError, match="skops"):
        save(model(), tmp_path / "m")
    assert list(tmp_path.iterdir()) == []
    save(model(), tmp_path / "m", format="joblib")
    with pytest.warns(UnsafeLoadWarning):
        loaded = load(tmp_path / "m", format="joblib")
    np.testing.assert_array_equal(loaded.predict(X), model().predict(X))


def test_a_damaged_joblib_file(tmp_path):
    path = tmp_path / "m"
    with zipfile.ZipFile(io.BytesIO(content("joblib"))) as file:
        members = {name: file.read(name) for name in file.namelist()}
    path.write_bytes(zipped(**(members | {"model.joblib": b"\x80\x04nonsense"})))
    with pytest.warns(UnsafeLoadWarning), pytest.raises(ModelFormatError, match="damaged"):
        load(path, format="joblib")
    path.write_bytes(content())
    with pytest.raises(ModelFormatError, match="format='skops'"):
        load(path, format="joblib")


@pytest.mark.parametrize("format", ["skops", "joblib"])
@pytest.mark.filterwarnings("ignore::randsub.exceptions.UnsafeLoadWarning")
def test_callbacks_stay_behind(tmp_path, format):
    watched = PRSRegressor(Ridge(), n_estimators=3, max_iter=3, random_state=0)
    watched.set_callbacks(Checkpoint(tmp_path / "run"), ScoringMonitor(X, Y))
    pipeline = make_pipeline(StandardScaler(), watched).fit(X, Y)
    save(pipeline, tmp_path / "m", format=format)
    again = load(tmp_path / "m", format=format)
    np.testing.assert_array_equal(again.predict(X), pipeline.predict(X))
    assert not getattr(again[-1], "_skl_callbacks", [])
    # Those of the model that was saved are still there.
    assert len(watched._skl_callbacks) == 2
    again.fit(X, Y)
