"""Reruns on subsamples."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.linear_model import Ridge
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

from fake_importances import Correlation, FirstRow
from flat_parameters import flat
from randsub import PRSClassifier, PRSRegressor
from randsub.selection import Stability, stability
from randsub.selection.stability_index import stability_index

PRS = {"n_estimators": 20, "max_iter": 40, "learning_rate": 0.02, "n_revivals": 0}


def data(n=80, n_columns=6):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, n_columns))
    return X, X[:, 0] - 2 * X[:, 1] + 0.5 * rng.normal(size=n)


def test_the_numbers_are_those_of_the_runs():
    X, y = data()
    found = stability(Correlation(0.1), X, y, 7, threshold=0.3, level=0.5, random_state=0)
    assert found.importances.shape == (7, 6)
    np.testing.assert_array_equal(found.selected, found.importances >= 0.3)
    np.testing.assert_allclose(found.mean, np.mean(found.importances, axis=0))
    np.testing.assert_allclose(found.frequency, np.mean(found.selected, axis=0))
    # Of seven runs, the quartiles are halfway between the second and third smallest and largest.
    ordered = np.sort(found.importances, axis=0)
    np.testing.assert_allclose(found.lower, (ordered[1] + ordered[2]) / 2)
    np.testing.assert_allclose(found.upper, (ordered[4] + ordered[5]) / 2)
    np.testing.assert_array_equal(found.intervals, [found.lower, found.upper])
    assert found.agreement == stability_index(found.selected, 0.5)
    table = found.table()
    assert list(table.columns) == ["feature", "mean", "lower", "upper", "frequency"]
    assert list(table["feature"]) == ["x0", "x1", "x2", "x3", "x4", "x5"]
    np.testing.assert_array_equal(table["upper"], found.upper)


def test_relevant_features_are_stable():
    X, y = data(120)
    found = stability(
        PRSRegressor(KNeighborsRegressor(), **flat(**PRS)), X, y, 6, fraction=0.7, random_state=0
    )
    assert found.frequency[1] == 1.0
    assert found.mean[[0, 1]].min() > found.mean[2:].max()


@given(st.integers(8, 40), st.floats(0.2, 1.0), st.integers(1, 4), st.integers(0, 99))
@settings(max_examples=30, deadline=None)
def test_subsamples(n, fraction, n_classes, seed):
    y = np.arange(n) % (n_classes + 1)
    X = np.arange(float(n))[:, np.newaxis]  # rows that carry their number
    FirstRow.seen.clear()
    stability(FirstRow(), X, y, 3, fraction=fraction, random_state=seed)
    assert len({state for _, _, state in FirstRow.seen}) == 3
    for rows, classes, _ in FirstRow.seen:
        rows = rows[:, 0].astype(int)
        np.testing.assert_array_equal(classes, y[rows])
        assert len(set(rows)) == len(rows)  # without replacement
        assert len(rows) == pytest.approx(fraction * n, abs=n_classes + 1)
        counts = np.bincount(classes, minlength=n_classes + 1)
        assert counts.min() >= 1  # every class is there, in its share
        assert counts.max() - counts.min() <= 2


def test_all_samples_with_a_fraction_of_one():
    X, y = data()
    found = stability(Correlation(), X, y, 3, fraction=1.0)
    # Without seeds in the model nothing differs.
    np.testing.assert_array_equal(found.importances, np.tile(found.importances[0], (3, 1)))


def test_samples_of_weight_0_are_not_there():
    X, y = data()
    weight = np.linspace(0.5, 2.0, 80)
    weight[::2] = 0.0
    with_zeros = stability(Correlation(), X, y, 3, sample_weight=weight, random_state=0)
    without = stability(
        Correlation(), X[1::2], y[1::2], 3, sample_weight=weight[1::2], random_state=0
    )
    np.testing.assert_array_equal(with_zeros.importances, without.importances)
    plain = stability(Correlation(), X[1::2], y[1::2], 3, random_state=0)
    assert not np.array_equal(plain.importances, without.importances)


def test_workers_change_nothing_and_seeds_do():
    X, y = data()
    labels = np.where(y > 0, "high", "low")
    model = PRSClassifier(KNeighborsClassifier(), n_estimators=5, max_iter=3, random_state=3)

    def run(**options):
        return stability(model, X, labels, 4, **options).importances

    alone = run(random_state=0)
    np.testing.assert_array_equal(run(random_state=0, n_jobs=2), alone)
    np.testing.assert_array_equal(run(random_state=np.random.RandomState(0)), alone)
    assert not np.array_equal(run(random_state=1), alone)


def test_tables_of_all_kinds():
    X, y = data()
    expected = stability(Correlation(), X, y, 3, random_state=0)
    names = [f"gene {j}" for j in range(6)]
    frames = [pd.DataFrame(X, columns=names), pl.DataFrame(X, schema=names)]
    for table in (X.tolist(), sparse.csc_array(X), *frames):
        found = stability(Correlation(), table, pd.Series(y), 3, random_state=0)
        np.testing.assert_allclose(found.importances, expected.importances, rtol=1e-12)
    assert found.feature_names == names


def test_a_group_is_one_choice():
    X, y = data()
    model = PRSRegressor(Ridge(), **flat(feature_groups=[0, 0, 1, 1, 1, 2], **PRS))
    found = stability(model, X, y, 4, random_state=0)
    assert list(found.table()["group"]) == [0, 0, 1, 1, 1, 2]
    np.testing.assert_array_equal(found.importances[:, 2], found.importances[:, 4])
    assert found.agreement == stability_index(found.selected[:, [0, 2, 5]], 0.9)


@pytest.mark.parametrize(
    "change, message",
    [
        ({"n_runs": 1}, "'n_runs' parameter of stability must be an int in the range"),
        ({"fraction": 0.0}, "'fraction' parameter of stability must be a float in the range"),
        ({"fraction": 1.5}, "Got 1.5 instead"),
        ({"threshold": np.inf}, "'threshold' parameter of stability"),
        ({"level": 1.0}, "'level' parameter of stability"),
        ({"y": np.zeros(3)}, "inconsistent numbers of samples"),
        ({"X": np.zeros((3, 2)), "y": np.zeros(3)}, "use fraction=1 to vary the seed alone"),
        ({"sample_weight": -np.ones(80)}, "(?i)negative"),
        (
            {"model": KNeighborsRegressor(), "sample_weight": np.ones(80)},
            "fit of KNeighborsRegressor takes none",
        ),
        ({"model": KNeighborsRegressor()}, "KNeighborsRegressor should have `coef_` or"),
    ],
)
def test_bad_input(change, message):
    X, y = data()
    arguments = {"model": Correlation(), "X": X, "y": y, **change}
    with pytest.raises(ValueError, match=message):
        stability(**arguments)


def test_repeats_of_a_fit_are_runs():
    X, y = data()
    model = PRSRegressor(Ridge(), **flat(n_repeats=4, random_state=0, **PRS)).fit(X, y)
    found = Stability.from_repeats(model, threshold=0.3, level=0.5)
    assert found.runs == "repeats"
    np.testing.assert_array_equal(found.importances, model.alphas_)
    np.testing.assert_allclose(found.mean, model.alpha_)
    np.testing.assert_array_equal(found.selected, model.alphas_ >= 0.3)
    assert found.agreement == stability_index(found.selected, 0.5)
    assert list(found.table()["feature"]) == ["x0", "x1", "x2", "x3", "x4", "x5"]


def test_repeats_of_a_fit_with_groups_and_names():
    X, y = data()
    X = pd.DataFrame(X, columns=list("abcdef"))
    groups = [0, 0, 1, 1, 2, 2]
    model = PRSRegressor(
        Ridge(), **flat(n_repeats=2, feature_groups=groups, random_state=0, **PRS)
    ).fit(X, y)
    found = Stability.from_repeats(model)
    assert found.feature_names == list("abcdef")
    np.testing.assert_array_equal(found.table()["group"], groups)
    # A group counts once.
    assert repr(found.agreement) == repr(stability_index(found.selected[:, ::2], 0.9))


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (PRSRegressor(Ridge(), n_repeats=1, max_iter=2), "fitted with a single repeat"),
        (Correlation(0.1), "Correlation has no repeats: pass a fitted PRSClassifier"),
    ],
)
def test_a_single_fit_has_no_repeats_to_tell_of(model, message):
    with pytest.raises(ValueError, match=message):
        Stability.from_repeats(model.fit(*data()))


@pytest.mark.parametrize("change", [{"threshold": "high"}, {"level": 1.5}])
def test_numbers_for_repeats_are_checked(change):
    with pytest.raises(ValueError, match="of from_repeats must be"):
        Stability.from_repeats(PRSRegressor(), **change)


def test_several_base_models():
    X, y = data()
    bases = [("ridge", Ridge()), ("knn", KNeighborsRegressor())]
    model = PRSRegressor(bases, **flat(n_repeats=3, random_state=0, **PRS)).fit(X, y)
    found = Stability.from_repeats(model)
    np.testing.assert_array_equal(found.importances, model.repeat_alphas_)
    reruns = stability(model, X, y, 2, random_state=0)
    assert reruns.importances.shape == (2, 6)
