"""The judge itself: what it lets pass, and what it catches."""

import warnings
from typing import Any

import numpy as np
import pytest
from sklearn.utils import check_array

from flat_parameters import flat
from hardening.tally import BUDGETS, FACTOR, Tally, summary
from hardening.verdict import Hang, attempt, watchdog
from randsub import PRSRegressor
from randsub._tables import stack_rows
from randsub.estimators import validation
from randsub.exceptions import BaseModelError, NoFeatureLeftWarning
from randsub.parallel import Dispatcher

X = np.random.default_rng(0).normal(size=(12, 2))
SMALL: dict[str, Any] = {"n_estimators": 2, "max_iter": 1, "n_revivals": 0, "random_state": 0}


def fit(y: Any = None, **parameters: Any) -> None:
    PRSRegressor(**flat(**{**SMALL, **parameters})).fit(X, X[:, 0] if y is None else y)


def test_what_may_come_of_a_fit() -> None:
    assert attempt(fit) == "fitted"
    assert attempt(lambda: fit(max_iter=-1)) == "refused"  # by scikit-learn's constraints
    assert attempt(lambda: fit(alpha_init=[0.5])) == "refused"  # by a line of ours
    assert attempt(lambda: fit(y=["a"] * 12)) == "refused"  # by numpy, asked by scikit-learn
    assert attempt(lambda: check_array([["a"]], dtype=float)) == "refused"


def inside(*args: Any, **kwargs: Any) -> None:
    """What goes wrong in a line that did not expect it."""
    np.zeros(2) @ np.zeros(3)


def late(*args: Any, **kwargs: Any) -> None:
    raise ValueError("too late")


def unexpected(*args: Any, **kwargs: Any) -> None:
    raise KeyError("unexpected")


def blamed(*args: Any, **kwargs: Any) -> None:
    raise BaseModelError("tree", "RuntimeWarning: overflow", [0]) from RuntimeWarning("overflow")


def warned(*args: Any, **kwargs: Any) -> None:
    np.float64(1e300) * np.float64(1e300)


@pytest.mark.parametrize(
    ("owner", "name", "defect", "error", "message"),
    [
        (validation, "check_consistent_length", inside, AssertionError, "from another library"),
        (Dispatcher, "predict", late, AssertionError, "after models had been trained"),
        (validation, "check_consistent_length", unexpected, KeyError, "unexpected"),
        (validation, "check_consistent_length", warned, RuntimeWarning, "overflow"),
        (Dispatcher, "fit", blamed, AssertionError, "a warning came out of the base model"),
    ],
    ids=["inside", "late", "unexpected", "warned", "blamed"],
)
def test_defects_are_caught(monkeypatch, owner, name, defect, error, message) -> None:
    monkeypatch.setattr(owner, name, defect)
    with pytest.raises(error, match=message):
        attempt(fit)


def test_an_error_that_escapes_from_a_line_of_ours_is_caught() -> None:
    with pytest.raises(AssertionError, match="escaped from a line of ours"):
        attempt(lambda: stack_rows(np.zeros((1, 2)), np.zeros((1, 3))))


def test_our_own_warnings_pass() -> None:
    def told() -> None:
        warnings.warn("no feature left", NoFeatureLeftWarning, stacklevel=1)

    assert attempt(told) == "fitted"


def test_a_call_that_does_not_end_is_stopped() -> None:
    def busy() -> None:
        while True:
            pass

    with pytest.raises(Hang), watchdog(0.05):
        busy()


def test_too_few_examples_are_noticed() -> None:
    tally = Tally("PRSNetwork")
    tally.add("fitted")
    with pytest.raises(AssertionError):
        tally.check()
    for _ in range(BUDGETS["PRSNetwork"] * FACTOR):
        tally.add("fitted")
    tally.check()
    for _ in range(9 * BUDGETS["PRSNetwork"] * FACTOR):
        tally.add("refused")
    with pytest.raises(AssertionError, match="refused"):
        tally.check()


def test_examples_are_enough_and_are_told() -> None:
    assert sum(BUDGETS.values()) >= 2000
    tally = Tally("PRSNetwork")
    for outcome in ("fitted", "refused", "fitted"):
        tally.add(outcome, ["lam"])
    assert summary([tally.as_property()]) == [
        "PRSNetwork: 3 examples (2 fitted, 1 refused)",
        "    varied: lam",
        "in all: 3 examples (2 fitted, 1 refused)",
    ]
