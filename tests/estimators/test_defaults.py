"""The defaults are those that the study in benchmarks/defaults chose."""

import runpy
from pathlib import Path

import pytest

from randsub import PRSClassifier, PRSRegressor
from randsub.estimators.prs import initial_theta
from randsub.solver import Solver

SETTINGS = Path(__file__).parents[2] / "benchmarks" / "defaults" / "settings.py"


@pytest.mark.parametrize("kind", [PRSClassifier, PRSRegressor])
def test_the_defaults_are_what_the_study_chose(kind) -> None:
    chosen = runpy.run_path(str(SETTINGS))["CHOSEN"]
    # The number of epochs is one of the solver's.
    defaults = {**kind().get_params(deep=False), **Solver().get_params(deep=False)}
    assert kind().solver is None
    assert kind()._solver().get_params() == Solver().get_params()
    # The study has a few hundred features.
    assert defaults.pop("revival_level") == "auto"
    assert Solver().level_of_revival(305) == chosen.pop("revival_level")
    assert len(chosen) > 10
    for name, value in chosen.items():
        # Regressors do not vote.
        if name != "voting" or kind is PRSClassifier:
            assert defaults[name] == value, name


def test_the_paper_s_settings_are_those_of_the_study() -> None:
    paper = runpy.run_path(str(SETTINGS))["PAPER"]
    solver = Solver.paper().get_params()
    # There is no plateau to notice, and nothing is revived.
    for name in ("tol", "revival_level"):
        del solver[name]
    assert paper.items() >= solver.items()
    assert paper.keys() - solver.keys() == {
        *("n_estimators", "n_iter_no_change", "voting", "revival_level"),
    }


@pytest.mark.parametrize("n_features", [2, 305, 10_000, 10_001, 50_000])
def test_a_revival_does_not_make_subsets_larger_than_the_first_ones(n_features) -> None:
    level = Solver().level_of_revival(n_features)
    assert level == (0.02 if n_features <= 10_000 else 200 / n_features)
    assert level <= initial_theta("auto", 100, n_features, None)[0, 0]
    assert Solver(revival_level=0.3).level_of_revival(n_features) == 0.3
