"""The defaults are those that the study in benchmarks/defaults chose."""

import inspect
import runpy
from pathlib import Path

import pytest

from randsub import PRSClassifier, PRSRegressor
from randsub.ensemble import parts

SETTINGS = Path(__file__).parents[2] / "benchmarks" / "defaults" / "settings.py"


@pytest.mark.parametrize("kind", [PRSClassifier, PRSRegressor])
def test_the_defaults_are_what_the_study_chose(kind) -> None:
    chosen = runpy.run_path(str(SETTINGS))["CHOSEN"]
    defaults = {
        name: parameter.default for name, parameter in inspect.signature(kind).parameters.items()
    }
    # The study has a few hundred features.
    assert defaults.pop("revival_level") == "auto"
    assert parts.revival_level("auto", 305) == chosen.pop("revival_level")
    assert len(chosen) > 10
    for name, value in chosen.items():
        # Regressors do not vote.
        if name != "voting" or kind is PRSClassifier:
            assert defaults[name] == value, name


@pytest.mark.parametrize("n_features", [2, 305, 10_000, 10_001, 50_000])
def test_a_revival_does_not_make_subsets_larger_than_the_first_ones(n_features) -> None:
    level = parts.revival_level("auto", n_features)
    assert level == (0.02 if n_features <= 10_000 else 200 / n_features)
    assert level <= parts.initial_theta("auto", 100, n_features, None)[0, 0]
    assert parts.revival_level(0.3, n_features) == 0.3
