"""What one fitted model predicts, as the ensemble sees it."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from randsub.engines import Learner
from randsub.engines.base import base_model_at_work, predict_one
from randsub.exceptions import BaseModelError

X = np.arange(12.0).reshape(4, 3)
COLUMNS = np.array([0, 2])


def model(**answers: Any) -> Any:
    """Answers the same whatever it is asked."""
    classes = answers.pop("classes_", None)
    return SimpleNamespace(
        classes_=classes,
        **{name: lambda X, value=value: value for name, value in answers.items()},
    )


@pytest.mark.parametrize(
    "values",
    [
        np.array([1.0, 2.0, 3.0, 4.0]),
        np.array([[1.0], [2.0], [3.0], [4.0]]),
        np.array([1, 2, 3, 4]),
        pd.Series([1.0, 2.0, 3.0, 4.0]),
        [1, 2, 3, 4],
    ],
    ids=["vector", "column", "whole numbers", "series", "list"],
)
def test_regressors_may_answer_in_any_shape(values) -> None:
    found = predict_one(Learner(None), model(predict=values), X, COLUMNS)
    np.testing.assert_array_equal(found, [[1.0], [2.0], [3.0], [4.0]])
    assert found.dtype == float


def test_the_model_is_asked_about_its_columns() -> None:
    asked = []
    spy = SimpleNamespace(predict=lambda part: asked.append(part) or np.zeros(len(part)))
    predict_one(Learner(None), spy, X, COLUMNS)
    np.testing.assert_array_equal(asked[0], X[:, COLUMNS])


def test_probabilities_are_put_in_the_order_of_all_classes() -> None:
    learner = Learner(None, np.array(["a", "b", "c", "d"]), "soft")
    two = np.array([[0.1, 0.9], [0.2, 0.8], [0.3, 0.7], [1.0, 0.0]])
    fitted = model(predict_proba=two, classes_=np.array(["b", "d"]))
    found = predict_one(learner, fitted, X, COLUMNS)
    np.testing.assert_array_equal(found[:, [1, 3]], two)
    np.testing.assert_array_equal(found[:, [0, 2]], 0.0)
    # Also where the model keeps its classes in an order of its own.
    fitted = model(predict_proba=two, classes_=np.array(["d", "b"]))
    np.testing.assert_array_equal(predict_one(learner, fitted, X, COLUMNS)[:, [3, 1]], two)


@pytest.mark.parametrize("dtype", [None, object])
def test_votes_are_indicators(dtype) -> None:
    learner = Learner(None, np.array(["a", "b", "c"], dtype=dtype), "hard")
    found = predict_one(learner, model(predict=np.array(["c", "a", "a", "b"])), X, COLUMNS)
    np.testing.assert_array_equal(found, np.eye(3)[[2, 0, 0, 1]])


def test_an_answer_for_the_wrong_number_of_rows_is_a_failure() -> None:
    with pytest.raises(BaseModelError) as caught:
        predict_one(Learner("Base()"), model(predict=np.zeros(3)), X, COLUMNS)
    assert caught.value.features == (0, 2)


def test_a_vote_for_a_class_beyond_the_last_is_a_failure() -> None:
    learner = Learner("Base()", np.array([0, 1]), "hard")
    with pytest.raises(BaseModelError):
        predict_one(learner, model(predict=np.array([0, 1, 2, 0])), X, COLUMNS)


@pytest.mark.parametrize("values", [[-0.5, 1.5], [0.1, 7.0], [-3.0, 0.5]])
def test_probabilities_that_are_none_are_a_failure(values) -> None:
    learner = Learner("Base()", np.array([0, 1]), "soft")
    fitted = model(predict_proba=np.array([values] * 4), classes_=np.array([0, 1]))
    with pytest.raises(BaseModelError, match=r"outside \[0, 1\]"):
        predict_one(learner, fitted, X, COLUMNS)


def test_probabilities_may_be_rounded() -> None:
    learner = Learner("Base()", np.array([0, 1]), "soft")
    rounded = np.array([[-1e-9, 1.0 + 1e-9]] * 4)
    fitted = model(predict_proba=rounded, classes_=np.array([0, 1]))
    np.testing.assert_array_equal(predict_one(learner, fitted, X, COLUMNS), rounded)


def test_complex_numbers_are_a_failure() -> None:
    with pytest.raises(BaseModelError, match="complex numbers"):
        predict_one(Learner("Base()"), model(predict=np.array([1j, 0, 1, 2])), X, COLUMNS)


def test_a_failure_is_named_in_one_line() -> None:
    long = SimpleNamespace()
    long_repr = type("Long", (), {"__repr__": lambda self: "Long(a=1,\n     b=2)"})()
    for estimator in (long, long_repr):
        with (
            pytest.raises(BaseModelError) as caught,
            base_model_at_work(Learner(estimator), np.array([1, 4])),
        ):
            raise KeyError("x")
        error = caught.value
        assert "\n" not in error.model
        assert error.reason == "KeyError: 'x'"
        assert error.features == (1, 4)
    assert error.model == "Long(a=1, b=2)"


def test_numpy_does_not_warn_of_each_subset() -> None:
    class Degenerate:
        def predict(self, X: Any) -> Any:
            # Without consequence for what is predicted.
            return np.nan_to_num(X[:, 0] / np.zeros(len(X)))

    predict_one(Learner(None), Degenerate(), X + 1.0, COLUMNS)
