"""benchmarks/refresh_rules.py: other rules, and the table of what they change."""

import numpy as np
import pytest
from scipy import stats


@pytest.fixture(scope="module")
def rules(script):
    return script("refresh_rules")


@pytest.mark.parametrize("shape", [-0.3, 0.2, 0.7, 1.2])
def test_the_shape_of_a_tail_is_found(rules, shape):
    found = [
        rules.shape_of_tail(stats.genpareto(shape).rvs(4000, random_state=seed))
        for seed in range(30)
    ]
    # Ten observations of 0.5 are added to those of the tail, 189 of them.
    expected = (189 * shape + 10 * 0.5) / 199
    assert abs(np.mean(found) - expected) < 0.05


def test_equal_weights_have_no_tail(rules):
    assert rules.shape_of_tail(np.full(100, 0.01)) == -np.inf
    assert rules.shape_of_tail(np.r_[np.full(99, 0.01), 0.0]) == -np.inf


def fits(rules, monkeypatch, *names, features=40):
    monkeypatch.setattr(rules, "N_TEST", 50)
    cell = {"problem": "hypercube", "features": features, "seed": 3}
    return [rules.measure({**cell, "rule": name}) for name in names]


def test_rules_change_what_they_say(rules, monkeypatch):
    default, again, window, coupled, none, strict, last = fits(
        rules,
        monkeypatch,
        *("default", "default", "window of 5", "coupled", "no revival", "k-hat at most 0.5"),
        "alpha of the last epoch",
    )
    assert (last["models"], last["epochs"]) == (default["models"], default["epochs"])
    assert last != default
    assert default == again
    assert window["models"] < default["models"] / 1.5
    assert coupled["models"] < default["models"] / 1.5
    assert none["models"] < default["models"]
    assert strict["models"] > default["models"]
    for row in (default, window, coupled, none, strict):
        assert row["score"] > 0.6
        assert 0.5 < row["aupr"] <= 1.0


def test_a_revival_by_quarters_raises_a_quarter(rules):
    raised = []
    X, y, _ = rules.PROBLEMS["hypercube"][0](150, 395, random_state=0)
    with rules.by_quarters():
        inner = rules.loop.revived

        def counted(problem, settings, state):
            new = inner(problem, settings, state)
            if new is not state:
                raised.append(np.mean(new.theta[0] > state.best_theta[0]))
            return new

        rules.loop.revived = counted
        solver = rules.Solver(n_revivals=2, revival_level=0.4, n_iter_no_change=None)
        model = rules.PRSClassifier(rules.KNeighborsClassifier(), solver=solver, n_repeats=1)
        model.set_params(max_iter=30, random_state=0, n_estimators=10).fit(X, y)
    assert len(raised) == 2
    assert 0.15 < np.mean(raised) < 0.35
    assert rules.loop.revived is rules.schedule.revived


def test_differences_are_paired(rules):
    rows = [
        {
            **{"rule": rule, "problem": problem, "features": 300, "seed": seed, "epochs": 900},
            "score": 0.1 * seed + 0.05 * (rule == "coupled"),
            "aupr": 0.5 - 0.1 * (rule == "coupled"),
            "models": 1000 if rule == "default" else 400,
        }
        for rule in ("default", "coupled")
        for problem in ("linear", "friedman")
        for seed in (7, 8)
    ]
    *_, default, coupled = rules.differences(rows)
    assert default == "| 300 | default | 0.750 | 0.500 | 100% | 900 | 4 |"
    assert coupled == "| 300 | coupled | +0.050 ± 0.000 | -0.100 ± 0.000 | 40% | 900 | 4 |"
