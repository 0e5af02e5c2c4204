"""The defaults are those that the study in benchmarks/defaults chose."""

import inspect
import runpy
from pathlib import Path

import pytest

from randsub import PRSClassifier, PRSRegressor

SETTINGS = Path(__file__).parents[2] / "benchmarks" / "defaults" / "settings.py"


@pytest.mark.parametrize("kind", [PRSClassifier, PRSRegressor])
def test_the_defaults_are_what_the_study_chose(kind) -> None:
    chosen = runpy.run_path(str(SETTINGS))["CHOSEN"]
    defaults = {
        name: parameter.default for name, parameter in inspect.signature(kind).parameters.items()
    }
    assert len(chosen) > 10
    for name, value in chosen.items():
        # Regressors do not vote.
        if name != "voting" or kind is PRSClassifier:
            assert defaults[name] == value, name
