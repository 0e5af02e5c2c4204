"""Contenders are trained on the same rows and asked about others."""

from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import Ridge
from sklearn.metrics import balanced_accuracy_score, r2_score, root_mean_squared_error
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.preprocessing import StandardScaler

from randsub import PRSClassifier, PRSRegressor, RandomSubspaceRegressor
from randsub.report import reference_models
from randsub.report.labelled_rows import Rows
from randsub.report.model_comparison import compare

OPTIONS = {"test_fraction": 0.25, "seed": 0, "n_jobs": None}


def untimed(comparison):
    return [replace(contender, seconds=None) for contender in comparison.contenders]


def test_scores_on_new_rows_are_those_of_the_models(regressor, friedman):
    X, y = friedman
    train, test = Rows(X[:80], y[:80], None), Rows(X[80:], y[80:], None)
    found = compare(regressor, train, test, **OPTIONS)
    assert [c.key for c in found.contenders] == [
        "model",
        "forest",
        "subspace",
        "single",
        "constant",
    ]
    assert (found.n_train, found.n_test, found.is_refit, found.left_out) == (80, 40, False, ())
    prediction = regressor.predict(X[80:])
    assert found.model.score == regressor.score(X[80:], y[80:])
    assert found.model.other_score == root_mean_squared_error(y[80:], prediction)
    # The base model alone, on columns scaled as the model scales them.
    scaler = StandardScaler().fit(X[:80])
    alone = KNeighborsRegressor().fit(scaler.transform(X[:80]), y[:80])
    expected = r2_score(y[80:], alone.predict(scaler.transform(X[80:])))
    assert found.find("single").score == pytest.approx(expected)
    constant = np.full(40, y[:80].mean())
    assert found.find("constant").score == pytest.approx(r2_score(y[80:], constant))
    for contender in found.contenders[1:]:
        lead, low, high = contender.lead
        assert lead == pytest.approx(found.model.score - contender.score)
        assert low < lead < high


def test_the_forest_is_that_of_scikit_learn(regressor, friedman, monkeypatch):
    X, y = friedman
    made = []

    class Forest(RandomForestRegressor):
        def fit(self, X, y, sample_weight=None):
            made.append(self)
            return super().fit(X, y, sample_weight)

    monkeypatch.setattr(reference_models, "RandomForestRegressor", Forest)
    train, test = Rows(X[:80], y[:80], None), Rows(X[80:], y[80:], None)
    found = compare(regressor, train, test, **OPTIONS)
    (forest,) = made
    again = RandomForestRegressor(**forest.get_params()).fit(X[:80], y[:80])
    assert found.find("forest").score == pytest.approx(again.score(X[80:], y[80:]))


def test_without_new_rows_a_copy_is_trained_on_a_part(regressor, friedman, monkeypatch):
    X, y = friedman
    seen = {}
    fit, predict = PRSRegressor.fit, PRSRegressor.predict
    monkeypatch.setattr(
        PRSRegressor,
        "fit",
        lambda self, X, y, *more: (seen.update(fit=X), fit(self, X, y, *more))[1],
    )
    monkeypatch.setattr(
        PRSRegressor, "predict", lambda self, X: (seen.update(predict=X), predict(self, X))[1]
    )
    found = compare(regressor, Rows(X[:80], y[:80], None), None, **OPTIONS)
    assert found.is_refit
    assert (found.n_train, found.n_test) == (60, 20) == (len(seen["fit"]), len(seen["predict"]))
    together = np.vstack([seen["fit"], seen["predict"]])
    assert np.array_equal(np.unique(together, axis=0), np.unique(X[:80], axis=0))
    targets = {tuple(row): target for row, target in zip(X, y, strict=True)}
    kept, aside = ([targets[tuple(row)] for row in seen[key]] for key in ("fit", "predict"))
    again = fit(clone(regressor), seen["fit"], kept)
    assert found.model.score == r2_score(aside, predict(again, seen["predict"]))
    assert found.find("model").name == "This model, trained again"


def test_without_training_rows_only_the_model_is_scored(regressor, friedman):
    X, y = friedman
    found = compare(regressor, None, Rows(X[80:], y[80:], None), **OPTIONS)
    assert [c.key for c in found.contenders] == ["model"]
    assert found.n_train is None
    assert "not given" in found.left_out[0]
    assert compare(regressor, None, None, **OPTIONS) is None


def test_the_same_for_any_number_of_workers(classifier, classes):
    X, y = classes
    train, test = Rows(X[:60], y[:60], None), Rows(X[60:], y[60:], None)
    one = compare(classifier, train, test, **OPTIONS)
    two = compare(classifier, train, test, **{**OPTIONS, "n_jobs": 2})
    other = compare(classifier, train, test, **{**OPTIONS, "seed": 1})
    assert untimed(one) == untimed(two)
    assert untimed(one) != untimed(other)


def test_classes(classifier, classes):
    X, y = classes
    train, test = Rows(X[:60], y[:60], None), Rows(X[60:], y[60:], None)
    found = compare(classifier, train, test, **OPTIONS)
    assert found.model.score == classifier.score(X[60:], y[60:])
    expected = balanced_accuracy_score(y[60:], classifier.predict(X[60:]))
    assert found.model.other_score == pytest.approx(expected)
    labels, counts = np.unique(y[:60], return_counts=True)
    assert found.find("constant").score == np.mean(y[60:] == labels[np.argmax(counts)])


def test_rows_of_weight_zero_are_not_there(regressor, friedman):
    X, y = friedman
    spoilt = np.concatenate([y[:80], np.full(40, 1e6)])
    weight = np.repeat([1.0, 0.0], [80, 40])
    test = Rows(X[80:], y[80:], None)
    found = compare(regressor, Rows(X, spoilt, weight), test, **OPTIONS)
    expected = compare(regressor, Rows(X[:80], y[:80], None), test, **OPTIONS)
    assert found.find("single").score == pytest.approx(expected.find("single").score)
    assert found.find("constant").score == pytest.approx(expected.find("constant").score)
    assert found.find("forest").score > 0.0
    aside = compare(regressor, Rows(X, spoilt, weight), None, **OPTIONS)
    assert aside.n_train + aside.n_test == 80


@pytest.mark.parametrize("library", [pd, pl], ids=["pandas", "polars"])
def test_frames_with_categories(library):
    rng = np.random.default_rng(0)
    columns = {
        "size": rng.normal(size=60),
        "colour": rng.choice(["red", "green", "blue"], size=60),
        "noise": rng.normal(size=60),
    }
    y = np.where(columns["colour"] == "red", "yes", "no")
    X = library.DataFrame(columns)
    model = PRSClassifier(KNeighborsClassifier(), n_estimators=10, max_iter=5, random_state=0)
    found = compare(model.fit(X, y), Rows(X, y, None), None, **OPTIONS)
    assert found.left_out == ()
    assert found.find("forest").score == 1.0


def test_a_contender_that_fails_is_left_out_and_told(regressor, friedman, monkeypatch):
    X, y = friedman

    def fail(*_):
        raise ValueError("no forest today\nand more")

    monkeypatch.setattr(RandomForestRegressor, "fit", fail)
    train, test = Rows(X[:80], y[:80], None), Rows(X[80:], y[80:], None)
    found = compare(regressor, train, test, **OPTIONS)
    assert found.find("forest") is None
    (sentence,) = found.left_out
    assert sentence.endswith("left out, since it failed (ValueError: no forest today).")


def test_text_that_the_base_model_reads_itself_is_numbered_for_the_forest():
    frame = pd.DataFrame({"a": [1.0, 2.0], "b": ["x", None]})
    later = pd.DataFrame({"a": [3.0], "b": ["new"]})
    train, test = reference_models._as_numbers(
        Rows(frame, np.zeros(2), None), Rows(later, np.zeros(1), None)
    )
    assert train.X[:, 0].tolist() == [1.0, 2.0]
    assert len(set(train.X[:, 1])) == 2
    assert test.X.tolist() == [[3.0, -1.0]]


def test_a_random_subspace_is_not_compared_with_itself(friedman):
    X, y = friedman
    model = RandomSubspaceRegressor(
        KNeighborsRegressor(), n_estimators=5, max_features=3, random_state=0
    )
    train, test = Rows(X[:80], y[:80], None), Rows(X[80:], y[80:], None)
    found = compare(model.fit(X[:80], y[:80]), train, test, **OPTIONS)
    assert [c.key for c in found.contenders] == ["model", "forest", "single", "constant"]


def test_each_of_several_base_models_has_a_random_subspace(friedman):
    X, y = friedman
    bases = [("knn", KNeighborsRegressor()), ("ridge", Ridge())]
    model = PRSRegressor(bases, n_estimators=5, max_iter=3, random_state=0).fit(X[:80], y[:80])
    train, test = Rows(X[:80], y[:80], None), Rows(X[80:], y[80:], None)
    found = compare(model, train, test, **OPTIONS)
    assert found.find("single") is None
    assert [c.name for c in found.contenders[2:4]] == [
        "Plain random subspace of knn",
        "Plain random subspace of ridge",
    ]
    alone = PRSRegressor(Ridge(), n_estimators=5, max_iter=3, random_state=0).fit(X[:80], y[:80])
    of_ridge = compare(alone, train, test, **OPTIONS).find("subspace")
    assert found.contenders[3].score == of_ridge.score
    assert found.find("subspace").score == max(c.score for c in found.contenders[2:4])
    assert not found.left_out
