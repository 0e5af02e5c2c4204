"""The first model of a call checks parameters and data, and the others trust it."""

from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn import config_context, get_config
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.tree import ExtraTreeRegressor

from randsub import PRSRegressor
from randsub.engines import GenericEngine, Learner
from randsub.exceptions import BaseModelError
from randsub.solver import Solver

N, M = 30, 4
MASKS = np.array([[1, 0, 0, 0], [0, 1, 1, 0], [1, 1, 1, 1], [0, 0, 0, 1], [1, 1, 0, 0]], dtype=bool)
SEEDS = np.arange(len(MASKS))
CONFIG = get_config()


class Spy(KNeighborsRegressor):
    """Notes when its parameters are checked, and what it may assume of its data."""

    checked: ClassVar[list[int]] = []
    finite_in_fit: ClassVar[list[bool]] = []
    finite_in_predict: ClassVar[list[bool]] = []

    def _validate_params(self) -> None:
        # At the place of the model in the call.
        self.checked.append(len(self.finite_in_fit))
        super()._validate_params()

    def fit(self, X: Any, y: Any) -> "Spy":
        super().fit(X, y)
        self.finite_in_fit.append(get_config()["assume_finite"])
        return self

    def predict(self, X: Any) -> np.ndarray:
        self.finite_in_predict.append(get_config()["assume_finite"])
        return super().predict(X)


@pytest.fixture(autouse=True)
def _forgetful() -> Iterator[None]:
    for seen in (Spy.checked, Spy.finite_in_fit, Spy.finite_in_predict):
        seen.clear()
    yield
    # Whatever a call sets, it takes back.
    assert get_config() == CONFIG


@pytest.fixture(name="X")
def table() -> np.ndarray:
    return np.random.default_rng(0).normal(size=(N, M))


def predict(base: Any, X: Any, y: np.ndarray, X_query: Any = None, masks: Any = MASKS) -> Any:
    X_query = X if X_query is None else X_query
    return GenericEngine(Learner(base)).predict_many(X, y, masks, X_query, SEEDS[: len(masks)])


# -- parameters ----------------------------------------------------------------------------------


def test_the_first_model_checks_its_parameters_and_the_others_do_not(X) -> None:
    predict(Spy(), X, X[:, 0])
    assert len(Spy.finite_in_fit) == len(MASKS)
    assert Spy.checked == [0]
    # The next call trusts nobody.
    GenericEngine(Learner(Spy())).fit_many(X, X[:, 0], MASKS, SEEDS)
    assert Spy.checked == [0, len(MASKS)]


@pytest.mark.parametrize("n_empty", [1, 3])
def test_a_constant_model_checks_nothing_for_the_others(n_empty, X) -> None:
    masks = MASKS.copy()
    masks[:n_empty] = False
    predict(Spy(), X, X[:, 0], masks=masks)
    assert Spy.checked == [0]
    bad = GenericEngine(Learner(Ridge(alpha=-1.0)))
    with pytest.raises(BaseModelError, match="'alpha' parameter of Ridge must be"):
        bad.predict_many(X, X[:, 0], masks, X, SEEDS)
    with pytest.raises(BaseModelError, match="'alpha' parameter of Ridge must be") as caught:
        bad.fit_many(X, X[:, 0], masks, SEEDS)
    assert caught.value.features == tuple(np.flatnonzero(masks[n_empty]))


def test_a_bad_parameter_is_reported_with_the_columns_of_the_first_model(X) -> None:
    for base in (Ridge(alpha="strong"), make_pipeline(StandardScaler(), Ridge(solver="guess"))):
        with pytest.raises(BaseModelError, match="InvalidParameterError: The") as e:
            predict(base, X, X[:, 0])
        assert e.value.features == (0,)


def test_a_user_who_skips_the_check_has_it_skipped(X) -> None:
    with config_context(skip_parameter_validation=True):
        predict(Spy(), X, X[:, 0])
    assert Spy.checked == []


# -- data ----------------------------------------------------------------------------------------


def assumed(base: Any, X: Any, y: np.ndarray, X_query: Any = None) -> tuple[Any, ...]:
    predict(base, X, y, X_query)
    assert len(Spy.finite_in_fit) == len(Spy.finite_in_predict) == len(MASKS)
    assert Spy.finite_in_fit[0] is Spy.finite_in_predict[0] is get_config()["assume_finite"]
    assert Spy.finite_in_fit == Spy.finite_in_predict
    [rest] = set(Spy.finite_in_fit[1:])
    return rest


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_finite_data_are_looked_at_once(dtype, X) -> None:
    assert assumed(Spy(), X.astype(dtype), X[:, 0]) is True


LARGEST = float(np.finfo(np.float32).max)
KINDS = {
    "whole numbers": lambda X: (10 * X).astype(int),
    "pandas": pd.DataFrame,
    "polars": lambda X: pl.DataFrame(X, schema=list("abcd")),
    "sparse": sparse.csr_array,
}


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_other_tables_are_looked_at_each_time(kind, X) -> None:
    """They are turned into arrays by the model, which may find something on the way."""
    assert assumed(Spy(), kind(X), X[:, 0]) is False


@pytest.mark.parametrize("kind", [KINDS["whole numbers"], KINDS["sparse"]])
def test_both_tables_must_be_arrays_of_numbers(kind, X) -> None:
    assert assumed(Spy(algorithm="brute"), X, X[:, 0], kind(X)) is False


@pytest.mark.parametrize("value", [LARGEST, -LARGEST, 1e39, -1e39])
@pytest.mark.parametrize("which", ["train", "query"])
def test_values_too_large_for_single_precision_are_looked_at_each_time(value, which, X) -> None:
    other = X.copy()
    other[3, 2] = value
    tables = (other, X) if which == "train" else (X, other)
    assert assumed(Spy(), tables[0], X[:, 0], tables[1]) is False


def test_a_value_just_below_is_fine(X) -> None:
    X[3, 2] = np.nextafter(LARGEST, 0.0)
    assert assumed(Spy(), X, X[:, 0]) is True


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("which", ["train", "query"])
def test_what_is_no_number_is_found_by_whichever_model_sees_it(value, which, X) -> None:
    other = X.copy()
    other[3, 2] = value
    tables = (other, X) if which == "train" else (X, other)
    with pytest.raises(BaseModelError, match="Input X contains") as caught:
        predict(Spy(), tables[0], X[:, 0], tables[1])
    # The first model does not see the column.
    assert caught.value.features == (1, 2)
    assert Spy.finite_in_predict[-1] is False
    # Nor is anything wrong with models that never see it.
    seeing_nothing = MASKS[~MASKS[:, 2]]
    assert len(seeing_nothing) == 3
    found = predict(Spy(), tables[0], X[:, 0], tables[1], seeing_nothing)
    assert np.isfinite(found).all()


@pytest.mark.filterwarnings("ignore:overflow encountered in cast:RuntimeWarning")
def test_single_precision_that_overflows_is_found(X) -> None:
    """Trees turn to single precision; 1e39 is infinite there."""
    X[3, 2] = 1e39
    with pytest.raises(BaseModelError, match="too large for dtype\\('float32'\\)") as caught:
        predict(ExtraTreeRegressor(), X, X[:, 0])
    assert caught.value.features == (1, 2)


def test_parts_of_a_pipeline_look_at_what_they_are_handed(X) -> None:
    pipeline = make_pipeline(StandardScaler(), Spy())
    assert assumed(pipeline, X, X[:, 0]) is False
    # Parameters are the same in all models, made of others or not.
    assert Spy.checked == [0]


def test_a_pipeline_that_makes_infinities_is_found_out() -> None:
    X = np.abs(np.random.default_rng(1).normal(size=(N, M))) + 0.1
    X[3, 2] = 0.0
    pipeline = make_pipeline(FunctionTransformer(_logarithm), LinearRegression())
    with pytest.raises(BaseModelError, match="Input X contains infinity") as caught:
        predict(pipeline, X, X[:, 0])
    assert caught.value.features == (1, 2)


def _logarithm(X: np.ndarray) -> np.ndarray:
    with np.errstate(divide="ignore"):
        return np.log(X)


def test_no_rows_to_ask_about(X) -> None:
    models = GenericEngine(Learner(Spy())).fit_many(X, X[:, 0], MASKS, SEEDS)
    assert len(models) == len(MASKS)
    assert Spy.finite_in_fit == [False, True, True, True, True]


@pytest.mark.parametrize("make", [Spy, lambda: make_pipeline(StandardScaler(), Spy())])
@pytest.mark.parametrize("kind", [np.asarray, pd.DataFrame])
def test_a_user_who_promises_finite_data_is_believed(make, kind, X) -> None:
    with config_context(assume_finite=True):
        assert assumed(make(), kind(X), X[:, 0]) is True
        assert get_config()["assume_finite"] is True


def test_predictions_are_those_of_models_that_check_everything(X) -> None:
    found = predict(Ridge(), X, X[:, 0] ** 2)
    for mask, prediction in zip(MASKS, found, strict=True):
        model = Ridge().fit(X[:, mask], X[:, 0] ** 2)
        np.testing.assert_array_equal(prediction[:, 0], model.predict(X[:, mask]))


def test_an_ensemble_checks_its_base_model_once_a_call(X) -> None:
    model = PRSRegressor(
        Spy(), n_estimators=6, max_iter=1, solver=Solver(n_batches=2), random_state=0
    )
    model.fit(X, X[:, 0])
    # Two batches before the first epoch and the final ensemble, at the least.
    assert 3 <= len(Spy.checked) < len(Spy.finite_in_fit)
    with pytest.raises(ValueError, match="The 'weights' parameter of Spy must be"):
        PRSRegressor(Spy(weights="strong"), n_estimators=6, max_iter=1).fit(X, X[:, 0])
