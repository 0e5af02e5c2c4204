"""Many runs of one model."""

import joblib
import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeRegressor

from randsub import PRSRegressor
from randsub.estimators.fit_data import Samples
from randsub.selection.repeated_fits import (
    Replicate,
    draw_seeds,
    fit_repeatedly,
    seeded,
    without_repeats,
)


def data(n=60, n_columns=5):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, n_columns))
    return X, X[:, 0] - 2 * X[:, 1] + 0.1 * rng.normal(size=n)


def repeated(model, X, y, replicates, **options):
    samples = Samples(X, y, None, np.arange(len(y)))
    return fit_repeatedly(model, samples, replicates, **options)


def runs(n, n_rows=60):
    return [Replicate(np.arange(n_rows), seed) for seed in draw_seeds(n, np.random.RandomState(0))]


def test_a_run_is_a_fit_with_its_seed_and_rows():
    X, y = data()
    model = PRSRegressor(Ridge(), n_estimators=10, max_iter=4, random_state=5)
    some = [Replicate(np.arange(0, 60, 2), 1), Replicate(np.arange(40), 2)]
    found = repeated(model, X, y, some)
    for run, importances in zip(some, found.importances, strict=True):
        alone = seeded(PRSRegressor(Ridge(), n_estimators=10, max_iter=4), run.seed)
        np.testing.assert_array_equal(alone.fit(X[run.rows], y[run.rows]).alpha_, importances)
    assert not hasattr(model, "alpha_")
    np.testing.assert_array_equal(found.groups, np.arange(5))


def test_groups_are_those_of_the_model():
    X, y = data()
    model = PRSRegressor(Ridge(), n_estimators=5, max_iter=2, feature_groups=[0, 0, 1, 2, 1])
    np.testing.assert_array_equal(repeated(model, X, y, runs(2)).groups, [0, 0, 1, 2, 1])


@pytest.mark.parametrize("backend", ["threading", "loky", "multiprocessing"])
def test_workers_and_backends_change_nothing(backend):
    X, y = data()
    model = PRSRegressor(DecisionTreeRegressor(), n_estimators=5, max_iter=2, n_jobs=2)
    alone = repeated(model, X, y, runs(3)).importances
    with joblib.parallel_config(backend=backend, n_jobs=2):
        np.testing.assert_array_equal(repeated(model, X, y, runs(3)).importances, alone)
    assert len(np.unique(alone, axis=0)) == 3  # the seeds differ


def test_seeds_go_to_the_outermost_estimators_that_have_one():
    prs = seeded(PRSRegressor(DecisionTreeRegressor()), 0)
    assert isinstance(prs.random_state, int)
    assert prs.estimator.random_state is None
    pipeline = seeded(make_pipeline(StandardScaler(), PRSRegressor(DecisionTreeRegressor())), 0)
    assert pipeline[-1].random_state == prs.random_state
    assert pipeline[-1].estimator.random_state is None
    assert seeded(PRSRegressor(), 1).random_state != prs.random_state


def test_what_is_inside_a_pipeline_is_found_by_name():
    X, y = data()
    model = make_pipeline(StandardScaler(), Ridge())
    found = repeated(model, X, y, runs(1), importance_getter="named_steps.ridge.coef_")
    np.testing.assert_allclose(found.importances[0], np.abs(model.fit(X, y)[-1].coef_), rtol=1e-12)


class Odd(BaseEstimator):
    """Ends in a way that it was told."""

    def __init__(self, importances=(1.0, 1.0), stop_reason=None):
        self.importances = importances
        self.stop_reason = stop_reason

    def fit(self, X, y):
        self.feature_importances_ = np.array(self.importances)
        self.stop_reason_ = self.stop_reason
        return self


def test_importances_must_be_one_finite_number_for_each_column():
    X, y = data(n_columns=2)
    repeated(Odd(), X, y, runs(1))
    with pytest.raises(ValueError, match=r"importances of shape \(3,\), but X has 2 columns"):
        repeated(Odd([1.0, 1.0, 1.0]), X, y, runs(1))
    with pytest.raises(ValueError, match="Odd gives importances that are not finite"):
        repeated(Odd([1.0, np.nan]), X, y, runs(1))


def test_an_interrupted_fit_ends_everything():
    X, y = data(n_columns=2)
    with pytest.raises(KeyboardInterrupt):
        repeated(Odd(stop_reason="interrupted"), X, y, runs(2))


def test_one_bar_for_all_runs(capsys):
    X, y = data()
    model = PRSRegressor(Ridge(), n_estimators=5, max_iter=2, verbose=1)
    repeated(model, X, y, runs(3))
    assert capsys.readouterr() == ("", "")
    repeated(model, X, y, runs(3), description="three runs")
    out, err = capsys.readouterr()
    assert out == ""
    assert "three runs" in err
    assert "3/3" in err
    assert "epoch" not in err


def test_runs_are_the_repeats_unless_a_number_is_given():
    """Six rows and eight columns would have several repeats."""
    X, y = data(6, 8)
    for n_repeats, expected in [("auto", 1), (1, 1), (3, 3)]:
        model = PRSRegressor(Ridge(), n_estimators=4, max_iter=2, n_repeats=n_repeats)
        found = repeated(model, X, y, [Replicate(np.arange(6), 1)])
        alone = seeded(model.set_params(n_repeats=expected), 1).fit(X, y)
        np.testing.assert_array_equal(found.importances[0], alone.alpha_)
    inside = without_repeats(make_pipeline(StandardScaler(), PRSRegressor()))
    assert inside[-1].n_repeats == 1
    assert without_repeats(Ridge()).get_params() == Ridge().get_params()
