"""What stands at the top of the package."""

import subprocess
import sys

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
