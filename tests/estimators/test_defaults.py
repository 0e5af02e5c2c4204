"""The defaults are those that the study in benchmarks/defaults chose."""

import runpy
from pathlib import Path

import pytest
from sklearn.tree import DecisionTreeClassifier

from randsub import PRSClassifier, PRSRegressor
from randsub.distributions import EDGE, Bernoulli
from randsub.estimators.assembly import choose_optimizer, initial_theta
from randsub.estimators.fit_data import count_repeats
from randsub.optim import OPTIMIZERS
from randsub.solver import Solver

SETTINGS = Path(__file__).parents[2] / "benchmarks" / "defaults" / "settings.py"


@pytest.mark.parametrize("kind", [PRSClassifier, PRSRegressor])
def test_the_defaults_are_what_the_study_chose(kind) -> None:
    chosen = runpy.run_path(str(SETTINGS))["CHOSEN"]
    # The number of epochs is one of the solver's.
    defaults = {**kind().get_params(deep=False), **Solver().get_params(deep=False)}
    assert kind().solver is None
    assert kind()._solver().get_params() == Solver().get_params()
    # The study has validation samples of its own, and features that are drawn independently.
    assert (defaults["n_repeats"], defaults["optimizer"]) == ("auto", "auto")
    defaults["n_repeats"] = count_repeats("auto", n_samples=300, n_parameters=305, splits=False)
    optimizer = choose_optimizer(Solver(), Bernoulli(305))
    assert type(optimizer) is OPTIMIZERS[chosen.pop("optimizer")]
    assert len(chosen) > 10
    if kind is PRSClassifier:
        # Each run of the study has one base model.
        assert defaults["voting"] == "auto"
        defaults["voting"] = kind()._voting_of(DecisionTreeClassifier(), n_bases=1)
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
        *("n_estimators", "n_repeats", "voting", "revival_level", "bootstrap"),
    }


@pytest.mark.parametrize("n_features", [2, 300, 301, 10_000, 50_000, 1_000_000])
def test_a_revival_does_not_make_subsets_larger_than_the_first_ones(n_features) -> None:
    level = Solver().level_of_revival(n_features)
    expected = 0.02 if n_features <= 300 else max(1800 / n_features**2, EDGE)
    assert level == pytest.approx(expected, rel=1e-12)
    assert level <= initial_theta("auto", 100, n_features, None)[0, 0]
    assert Solver(revival_level=0.3).level_of_revival(n_features) == 0.3
