"""A network that predicts nothing, or whose penalty is at an end of the path, says so."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import Ridge

from randsub.cli import main
from randsub.exceptions import DoubtfulNetworkWarning
from randsub.network import PRSNetwork
from randsub.solver import Solver

RNG = np.random.default_rng(0)
NOISE = RNG.normal(size=(40, 5))
# The last two genes follow the first.
SIGNAL = np.hstack([NOISE[:, :3], NOISE[:, :1] + 0.1 * NOISE[:, 3:]])
TARGETS = ["G4", "G5"]


def fitted(expression, **parameters):
    parameters = {"max_iter": 5, "n_estimators": 10, "random_state": 0, **parameters}
    solver = Solver.for_networks().set_params(n_batches=2, n_revivals=0)
    model = PRSNetwork(Ridge(), engine="generic", solver=solver, **parameters)
    return model.fit(expression, targets=TARGETS)


def messages(expression, **parameters):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fitted(expression, **parameters)
    assert all(issubclass(one.category, DoubtfulNetworkWarning) for one in caught)
    assert all(one.filename == __file__ for one in caught)
    return [str(one.message) for one in caught]


@pytest.mark.parametrize("lam", [0.0, 1e-6])
def test_links_of_noise_mean_little(lam):
    (message,) = messages(NOISE, lam=lam)
    assert "is not below that of predicting the mean of each target" in message
    assert messages(SIGNAL, lam=lam) == []


@pytest.mark.parametrize("fraction", [0.25, None])
def test_the_error_of_the_mean_is_that_of_the_mean(fraction):
    X_val = None if fraction is None else NOISE[30:]
    solver = Solver.for_networks().set_params(n_batches=2)
    model = PRSNetwork(
        Ridge(), lam=0.0, max_iter=2, n_estimators=5, solver=solver, validation_fraction=None
    )
    model.fit(NOISE[:30], expression_val=X_val, targets=TARGETS)
    train = NOISE[:30, 3:]
    judged = train if X_val is None else X_val[:, 3:]
    expected = (((judged - train.mean(axis=0)) / train.std(axis=0)) ** 2).mean()
    assert model.mean_error_ == pytest.approx(expected)


@pytest.mark.parametrize(
    ("lams", "chosen", "said"),
    [
        (
            [0.0, 0.01, 0.02],
            0.02,
            "is at an end of those that were tried, 0 to 0.02: a larger",
        ),
        ([0.01, 0.02], 0.01, "a smaller one may be better"),
        # There is no smaller penalty than none.
        ([0.0, 0.02], 0.0, None),
        ([0.0, 0.01, 0.02], 0.01, None),
        # A path that was interrupted has ended, but not there.
        ([0.0, 0.01, 0.02, 0.03], 0.02, None),
        ([0.01], 0.01, None),
    ],
)
def test_an_end_of_the_path(lams, chosen, said):
    model = PRSNetwork()
    model.path_ = pd.DataFrame({"lam": lams, "validation_error": 0.5})
    model.lam_, model.mean_error_ = chosen, 1.0
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model._warn_of_doubts(lams)
    assert len(caught) == (said is not None)
    assert said is None or said in str(caught[0].message)


def test_the_end_of_the_path_of_a_fit():
    (message,) = messages(SIGNAL, lam="path", lams=[1e-6, 10.0], lam_choice="lowest")
    assert "a smaller one may be better" in message
    assert messages(SIGNAL, lam="path", lams=[0.0, 10.0], lam_choice="lowest") == []


@pytest.mark.filterwarnings("always:The validation error of the network")
def test_the_command_line_says_it_in_a_line(tmp_path, capsys):
    names = [f"G{n}" for n in range(1, 6)]
    pd.DataFrame(NOISE, columns=names).to_csv(tmp_path / "e.csv", index=False)
    words = ["network", tmp_path / "e.csv", "-o", tmp_path / "links.csv", "--base", "ridge"]
    words += ["--epochs", 4, "--param", "n_estimators=5", "--param", "engine=generic"]
    assert main([*map(str, [*words, "--lam", 0])]) == 0
    lines = capsys.readouterr().err.splitlines()
    assert sum("not below that of predicting the mean" in line for line in lines) == 1
