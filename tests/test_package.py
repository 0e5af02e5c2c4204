"""What stands at the top of the package."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import randsub


def test_public_names_are_there_and_nothing_else():
    for name in randsub.__all__:
        assert getattr(randsub, name) is not None
        assert name in dir(randsub)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = randsub.nothing


def test_parts_do_not_load_the_estimators():
    code = "import sys, randsub.penalties; print('randsub.estimators' in sys.modules)"
    answer = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert answer.stdout.strip() == "False"


def test_every_extra_that_is_asked_for_exists():
    root = Path(__file__).parents[1]
    known = tomllib.loads((root / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    folders = ["src", "docs", "experiments/src", "examples"]
    pages = [path for folder in folders for path in (root / folder).rglob("*.[pm][yd]")]
    asked = {
        name
        for page in [*pages, root / "README.md"]
        for names in re.findall(r"(?:randsub|\.)\[([a-z][a-z,]*)\]", page.read_text())
        for name in names.split(",")
    }
    assert "parquet" in asked
    assert asked <= set(known)
