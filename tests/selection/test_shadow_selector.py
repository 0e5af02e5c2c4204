"""Selection by shadows."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import Ridge
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeRegressor
from sklearn.utils.estimator_checks import parametrize_with_checks

from fake_importances import Correlation, FirstRow
from flat_parameters import flat
from randsub import PRSClassifier, PRSRegressor
from randsub.penalties import ExpectedSize
from randsub.selection import ShadowSelector

# Some base models are left to scikit-learn here, which a fit says.
pytestmark = pytest.mark.filterwarnings("ignore::randsub.exceptions.SlowEngineWarning")

PRS = {"n_estimators": 20, "max_iter": 40, "learning_rate": 0.02, "n_revivals": 0}
# The least that an estimator check can bear.
TINY = {"n_estimators": 4, "max_iter": 2, "n_batches": 2, "n_revivals": 0}


def data(n=150, n_columns=8, seed=0):
    """The first three columns matter, the others are noise."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, n_columns))
    return X, X[:, :3] @ [1.0, -1.0, 1.0] + 0.5 * rng.normal(size=n)


def brute_force(selector, n_columns):
    """The selection from the importances of the runs, step by step."""
    means = [np.mean(column) for column in selector.run_importances_.T]
    features, shadows = means[:n_columns], means[n_columns:]
    p = [(1 + sum(s >= f for s in shadows)) / (1 + len(shadows)) for f in features]
    k = max(
        (k for k in range(1, n_columns + 1) if sorted(p)[k - 1] * n_columns / k <= selector.fdr),
        default=0,
    )
    return p, [k > 0 and value <= sorted(p)[k - 1] for value in p]


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("n_shadows", ["auto", 2])
def test_the_selection_follows_from_the_runs(seed, n_shadows):
    X, y = data(seed=seed)
    selector = ShadowSelector(
        Correlation(0.2), fdr=0.25, n_shadows=n_shadows, n_runs=3, random_state=seed
    ).fit(X, y)
    p_values, support = brute_force(selector, 8)
    np.testing.assert_allclose(selector.p_values_, p_values)
    np.testing.assert_array_equal(selector.get_support(), support)
    assert selector.get_support()[:3].all()
    assert selector.n_shadows_ == 2
    assert selector.smallest_selection_ == 2
    assert selector.run_importances_.shape == (3, 24)
    np.testing.assert_array_equal(
        np.vstack([selector.importances_, selector.shadow_importances_]).ravel(),
        selector.run_importances_.mean(axis=0),
    )
    assert selector.threshold_ == selector.importances_[support].min()
    np.testing.assert_array_equal(selector.q_values_ <= 0.25, support)


def test_shadows_are_the_same_in_all_runs():
    X, y = data()
    # These importances depend on the data alone.
    selector = ShadowSelector(Correlation(), n_runs=3, random_state=0).fit(X, y)
    first, *others = selector.run_importances_
    for other in others:
        np.testing.assert_array_equal(other, first)
    again = ShadowSelector(Correlation(), n_runs=3, random_state=1).fit(X, y)
    np.testing.assert_array_equal(again.importances_, selector.importances_)
    assert not np.array_equal(again.shadow_importances_, selector.shadow_importances_)


def test_marginal_shadows_are_whole_rows_in_another_order():
    X, y = data()
    found = ShadowSelector(Correlation(), n_shadows=4, n_runs=1, random_state=3).fit(X, y)
    rng = np.random.RandomState(3)
    shadows = [Correlation().fit(X[rng.permutation(150)], y) for _ in range(4)]
    expected = [shadow.feature_importances_ for shadow in shadows]
    np.testing.assert_array_equal(found.shadow_importances_, expected)
    same = ShadowSelector(
        Correlation(), null="marginal", n_shadows=4, n_runs=1, random_state=3
    ).fit(X, y)
    np.testing.assert_array_equal(same.run_importances_, found.run_importances_)


@pytest.mark.parametrize("n_relevant", [0, 3])
def test_the_false_discovery_rate_is_kept(n_relevant):
    fdr, n_columns, n_datasets = 0.2, 15, 200
    rng = np.random.default_rng(n_relevant)
    proportions, power = [], []
    for dataset in range(n_datasets):
        X = rng.normal(size=(60, n_columns))
        y = X[:, :n_relevant].sum(axis=1) + rng.normal(size=60)
        selector = ShadowSelector(Correlation(0.05), fdr=fdr, n_runs=2, random_state=dataset)
        chosen = selector.fit(X, y).get_support()
        proportions.append(chosen[n_relevant:].sum() / max(chosen.sum(), 1))
        power.append(chosen[:n_relevant].mean() if n_relevant else 1.0)
    bound = fdr * (1 - n_relevant / n_columns)
    assert np.mean(proportions) <= bound + 3 * np.std(proportions) / np.sqrt(n_datasets)
    assert np.mean(proportions) > 0.3 * bound
    assert np.mean(power) > 0.8


def test_noise_that_goes_with_a_relevant_column_is_selected():
    # What the documentation warns of: a shadow has lost the correlation that a column has.
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 10))
    X[:, 1] = X[:, 0] + 0.3 * rng.normal(size=200)
    y = X[:, 0] + 0.1 * rng.normal(size=200)
    assert ShadowSelector(Correlation(), random_state=0).fit(X, y).get_support()[1]
    # With its relative in a group, both are one discovery.
    model = PRSRegressor(KNeighborsRegressor(), **flat(feature_groups=[[0, 1]], **PRS))
    selector = ShadowSelector(model, fdr=0.3, n_shadows=4, n_runs=2, random_state=0).fit(X, y)
    assert selector.get_support()[:2].all()
    np.testing.assert_array_equal(selector.p_values_[:2], 1 / (1 + 4 * 9))


def test_several_base_models():
    X, y = data()
    bases = [("knn", KNeighborsRegressor()), ("ridge", Ridge())]
    selector = ShadowSelector(PRSRegressor(bases, **flat(**PRS)), n_runs=2, random_state=1)
    assert selector.fit(X, y).get_support()[:3].all()


def test_with_prs():
    X, y = data()
    model = PRSRegressor(KNeighborsRegressor(), **flat(penalty=ExpectedSize(1e-3), **PRS))
    selector = ShadowSelector(model, fdr=0.2, n_runs=2, random_state=1).fit(X, y)
    np.testing.assert_array_equal(selector.get_support(indices=True), [0, 1, 2])
    np.testing.assert_array_equal(selector.transform(X), X[:, :3])
    parallel = clone(selector).set_params(n_jobs=2).fit(X, y)
    np.testing.assert_array_equal(parallel.run_importances_, selector.run_importances_)
    assert not hasattr(model, "alpha_")


def test_groups_and_categories_of_a_frame():
    rng = np.random.default_rng(0)
    kinds = rng.choice(["a", "b", "c"], size=200)
    frame = pd.DataFrame({"kind": pd.Categorical(kinds), "other": rng.choice(["u", "v"], size=200)})
    for j in range(4):
        frame[f"noise{j}"] = rng.normal(size=200)
    frame["pair_1"], frame["pair_2"] = rng.normal(size=(2, 200))
    y = 2.0 * (kinds == "a") + frame["pair_1"] - frame["pair_2"] + 0.1 * rng.normal(size=200)
    model = PRSRegressor(
        KNeighborsRegressor(),
        **flat(feature_groups="prefix", categorical_features=["kind", "other"], **PRS),
    )
    selector = ShadowSelector(model, fdr=0.2, n_runs=2, random_state=0).fit(frame, y)
    names = ["kind", "pair_1", "pair_2"]
    assert list(selector.get_feature_names_out()) == names
    assert list(selector.feature_groups_) == [0, 1, 2, 3, 4, 5, 6, 6]
    assert selector.p_values_[6] == selector.p_values_[7]
    selector.set_output(transform="pandas")
    pd.testing.assert_frame_equal(selector.transform(frame), frame[names])
    table = selector.table()
    assert list(table.columns) == ["feature", "importance", "p_value", "q_value", "selected"]
    assert list(table.loc[table["selected"], "feature"]) == names


def test_tables_of_all_kinds():
    X, y = data()
    X[np.abs(X) < 0.3] = 0.0
    expected = ShadowSelector(Correlation(), random_state=0).fit(X, y)
    names = [f"c{j}" for j in range(8)]
    for table in (pd.DataFrame(X, columns=names), pl.DataFrame(X, schema=names), X.tolist()):
        found = ShadowSelector(Correlation(), random_state=0).fit(table, y)
        np.testing.assert_allclose(found.run_importances_, expected.run_importances_)
    ridge = ShadowSelector(Ridge(), random_state=0)
    dense = ridge.fit(X, y).get_support()
    for make in (sparse.csr_matrix, sparse.csr_array):
        np.testing.assert_array_equal(clone(ridge).fit(make(X), y).get_support(), dense)


def test_samples_of_weight_0_are_not_there():
    X, y = data()
    weight = np.linspace(0.5, 2.0, 150)
    weight[::3] = 0.0
    kept = weight > 0
    found = ShadowSelector(Correlation(), random_state=0).fit(X, y, sample_weight=weight)
    alone = ShadowSelector(Correlation(), random_state=0).fit(X[kept], y[kept], weight[kept])
    np.testing.assert_array_equal(found.run_importances_, alone.run_importances_)


def test_in_a_pipeline():
    X, y = data()
    model = make_pipeline(ShadowSelector(Correlation(), random_state=0), Ridge()).fit(X, y)
    assert model[-1].n_features_in_ == model[0].get_support().sum() >= 3
    assert model.score(X, y) > 0.9


def test_nothing_to_select():
    X = np.random.default_rng(0).normal(size=(60, 6))
    y = np.random.default_rng(1).normal(size=60)
    selector = ShadowSelector(Correlation(), fdr=0.05, random_state=0).fit(X, y)
    assert not selector.get_support().any()
    assert selector.threshold_ == np.inf
    with pytest.warns(UserWarning, match="No features were selected"):
        assert selector.transform(X).shape == (60, 0)


def test_labels_of_any_type():
    X, y = data()
    labels = np.where(y > 0, "high", "low")
    FirstRow.seen.clear()
    ShadowSelector(FirstRow(), n_runs=2, random_state=0).fit(np.abs(X), labels)
    assert len(FirstRow.seen) == 2
    np.testing.assert_array_equal(FirstRow.seen[0][1], labels)


@pytest.mark.parametrize(
    "params, change, error, message",
    [
        ({"fdr": 0.0}, {}, ValueError, "'fdr' parameter of ShadowSelector must be a float"),
        ({"n_runs": 0}, {}, ValueError, "'n_runs' parameter of ShadowSelector"),
        ({"null": "permuted"}, {}, ValueError, "'null' parameter of ShadowSelector must be a str"),
        ({"n_shadows": "many"}, {}, ValueError, "'n_shadows' parameter of ShadowSelector"),
        ({"estimator": 3}, {}, ValueError, "'estimator' parameter of ShadowSelector"),
        (
            {"n_shadows": 1},
            {},
            ValueError,
            "no fewer than 9 features.*X has 8 columns.*use n_shadows=5 or more, or a larger fdr",
        ),
        ({}, {"y": None}, ValueError, "requires y to be passed"),
        ({}, {"y": np.zeros(7)}, ValueError, "inconsistent numbers of samples"),
        ({}, {"X": np.full((150, 3), np.nan)}, ValueError, "contains NaN"),
        (
            {"estimator": KNeighborsRegressor()},
            {"sample_weight": np.ones(150)},
            ValueError,
            "fit of KNeighborsRegressor takes none",
        ),
        (
            {"estimator": PRSRegressor(feature_groups=[0, 1])},
            {},
            ValueError,
            "feature_groups has 2 labels, but X has 8 columns",
        ),
        (
            {"estimator": PRSClassifier(KNeighborsRegressor())},
            {},
            ValueError,
            "needs a classifier as base model",
        ),
    ],
)
def test_bad_input(params, change, error, message):
    X, y = data()
    arguments = {"X": X, "y": y, **change}
    selector = ShadowSelector(**{"estimator": Correlation(), **params})
    with pytest.raises(error, match=message):
        selector.fit(**arguments)
    assert not hasattr(selector, "support_")


def test_not_fitted():
    for ask in (ShadowSelector(Ridge()).get_support, ShadowSelector(Ridge()).table):
        with pytest.raises(NotFittedError):
            ask()


def expected_to_fail(estimator):
    reason = (
        "rows are shuffled one by one, so a sample that is repeated is not shuffled as a sample of "
        "twice the weight is"
    )
    if estimator.null == "conditional":
        # Nothing of their data is selected, in either case.
        return {}
    on_dense = {"check_sample_weight_equivalence_on_dense_data": reason}
    if not isinstance(estimator.estimator, Ridge):
        # So small an ensemble selects nothing of sparse data, in either case.
        return on_dense
    return {**on_dense, "check_sample_weight_equivalence_on_sparse_data": reason}


@pytest.mark.filterwarnings("ignore:No features were selected:UserWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@pytest.mark.filterwarnings("ignore::randsub.exceptions.NoFeatureLeftWarning")
@parametrize_with_checks(
    [
        ShadowSelector(Ridge(), n_runs=1),
        ShadowSelector(Ridge(), null="conditional", n_runs=1),
        ShadowSelector(
            PRSRegressor(DecisionTreeRegressor(), **flat(**TINY)), n_shadows=3, fdr=0.5, n_runs=2
        ),
    ],
    expected_failed_checks=expected_to_fail,
)
def test_sklearn_conventions(estimator, check):
    check(estimator)
