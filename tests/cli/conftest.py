"""Tiny tables and a model folder, made by the command itself."""

import shutil

import pytest

from randsub.cli import main

# Trained in a moment: few and simple models, and nothing to compile.
TINY = ["--epochs", "3", "--members", "5", "--param", "engine=generic", "--base", "ridge"]


@pytest.fixture(scope="session")
def made(tmp_path_factory):
    """A folder with d.csv (Friedman) and model, which are not to be changed."""
    pytest.importorskip("skops", reason="model folders need skops")
    folder = tmp_path_factory.mktemp("made")
    data, model = folder / "d.csv", folder / "model"
    words = ["simulate", "friedman", "--samples", "60", "--irrelevant", "10", "-o", str(data), "-q"]
    assert main([*words, "--correlation", "0"]) == 0
    fit = ["fit", str(data), "--target", "y", "-o", str(model), "-q"]
    assert main([*fit, *TINY, "--epochs", "150", "--param", "learning_rate=0.01"]) == 0
    return folder


@pytest.fixture
def here(made, tmp_path, monkeypatch):
    """A copy of that folder to work in."""
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path
