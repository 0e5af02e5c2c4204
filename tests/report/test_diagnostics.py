"""Each warning is given where it is due, and not elsewhere."""

from copy import copy

import numpy as np
import pytest
from sklearn.neighbors import KNeighborsRegressor

from randsub import PRSRegressor
from randsub.datasets import make_friedman
from randsub.report.diagnostics import notices
from randsub.report.findings import Findings
from randsub.report.labelled_rows import Rows
from randsub.report.model_comparison import Comparison, Contender
from randsub.report.text_format import score
from randsub.selection import Stability
from randsub.solver import Solver


def titles(model, train=None, comparison=None):
    found = notices(Findings(model, train, comparison=comparison))
    levels = [notice.level for notice in found]
    assert levels == sorted(levels, reverse=True)  # warnings first
    return {notice.title: notice for notice in found}


def with_history(model, **columns):
    """The model with another past of 100 epochs: by default a quiet one."""
    model = copy(model)
    quiet = {
        "objective": np.ones(100),
        "validation_objective": np.r_[np.linspace(1.0, 0.5, 50), np.full(50, 0.6)],
        "min_ess": np.full(100, 15.0),
        "expected_size": np.full(100, 5.0),
        "refreshed": np.arange(100) % 10 == 0,
        "revived": np.zeros(100, dtype=bool),
        "n_models_trained": np.arange(100),
    }
    model.history_ = (
        model.history_.iloc[:0].reindex(range(1, 101)).assign(**quiet, **{}).assign(**columns)
    )
    model.n_iter_, model.stop_reason_ = 100, "all epochs done"
    model.best_iter_ = int(model.history_["validation_objective"].idxmin())
    return model


def test_a_quiet_training_is_not_doubted(regressor):
    found = titles(with_history(regressor))
    assert not {"Training was still improving", "Alpha was still moving"} & set(found)
    assert "The best epoch is among the last" not in found
    assert "Models were renewed very often" not in found


def test_improvement_at_the_end(regressor):
    model = with_history(regressor, validation_objective=np.linspace(1.0, 0.5, 100))
    notice = titles(model)["Training was still improving"]
    assert notice.level == "warning"
    assert "epoch 100 of 100" in notice.explanation
    assert "10% of the total gain" in notice.explanation


def test_a_best_epoch_at_the_end_that_gains_nothing_is_a_note(regressor):
    falling = np.r_[np.linspace(1.0, 0.5, 90), np.full(9, 0.5), 0.4999]
    found = titles(with_history(regressor, validation_objective=falling))
    assert found["The best epoch is among the last"].level == "note"
    assert "Training was still improving" not in found


def test_an_expected_size_that_still_grows(regressor):
    size = np.r_[np.full(90, 5.0), np.linspace(5.0, 7.0, 10)]
    notice = titles(with_history(regressor, expected_size=size))["Alpha was still moving"]
    assert "from 5 to 7" in notice.explanation


def test_models_renewed_all_the_time(regressor):
    refreshed = np.arange(100) % 4 > 0
    found = titles(with_history(regressor, refreshed=refreshed))
    notice = found["Models were renewed very often"]
    assert "75% of the epochs" in notice.explanation


def test_one_or_another_of_many_repeats_is_renewed_all_the_time():
    X, y, _ = make_friedman(n_samples=60, n_irrelevant=8, random_state=0)
    model = PRSRegressor(
        KNeighborsRegressor(),
        n_estimators=20,
        max_iter=60,
        n_repeats=8,
        solver=Solver(learning_rate=1e-2, ess_threshold=0.7, n_revivals=0, n_iter_no_change=None),
        random_state=0,
    ).fit(X, y)
    share = model.history_["refreshed"]
    assert (share > 0.0).mean() > 0.5 > share.mean()
    assert "Models were renewed very often" not in titles(model)


def test_interruption(regressor):
    model = copy(regressor)
    model.stop_reason_ = "interrupted"
    assert "epoch 30 of 30" in titles(model)["Training was interrupted"].explanation
    model.max_iter = None
    assert f"of {Solver().max_iter}" in titles(model)["Training was interrupted"].explanation
    model.stop_reason_ = "interrupted; 3 of 5 repeats"
    assert "Only 3 of 5 repeats" in titles(model)["Training was interrupted"].explanation
    assert "Training was interrupted" not in titles(regressor)


@pytest.mark.parametrize(
    ("alpha_init", "n_repeats", "is_due"),
    [(0.02, 1, True), (0.05, 1, False), (0.02, 2, False), ("auto", 1, False)],
)
def test_few_subsets_hold_a_feature(regressor, alpha_init, n_repeats, is_due):
    model = copy(regressor)  # 20 subsets in each of 5 batches
    model.alpha_init, model.n_repeats_ = alpha_init, n_repeats
    found = titles(model)
    assert ("Too few subsets hold a feature" in found) == is_due
    if is_due:
        assert "2 of 100 subsets" in found["Too few subsets hold a feature"].explanation


def test_members_without_features(regressor):
    model = copy(regressor)
    empty = [np.array([], dtype=int)] * 3
    model.estimators_features_ = [*empty, *regressor.estimators_features_[3:]]
    assert "3 of 20 members" in titles(model)["Members without any feature"].explanation


@pytest.mark.parametrize(("n_small", "is_due"), [(6, True), (7, False)])
def test_classes_that_are_missing_from_batches(classifier, n_small, is_due):
    # 80 % of them are dealt into five batches.
    y = np.repeat(["small", "large"], [n_small, 200])
    train = Rows(np.zeros((len(y), 6)), y, None)
    found = titles(classifier, train)
    assert ("Classes that are missing from batches" in found) == is_due
    if is_due:
        assert "small (6)" in found["Classes that are missing from batches"].explanation


def test_few_validation_rows(regressor):
    few, enough = (Rows(np.zeros((n, 30)), np.zeros(n), None) for n in (100, 200))
    assert "about 20 were set" in titles(regressor, few)["Few validation rows"].explanation
    assert "Few validation rows" not in titles(regressor, enough)
    assert "Raise n_repeats" in titles(regressor, few)["Few validation rows"].explanation
    model = copy(regressor)
    model.stop_reason_ = "TimeLimit: 6 seconds are over; 1 of 20 repeats"
    assert "Raise the time limit" in titles(model, few)["Few validation rows"].explanation
    model.n_repeats_ = 5
    note = titles(model, few)["Few validation rows per repeat"]
    assert note.level == "note"
    assert "mean of 5 repeats" in note.explanation
    model.validation_fraction = None
    assert "No validation rows" in titles(model)


def test_large_subsets_and_flat_importances(regressor):
    model = copy(regressor)
    model.expected_size_, model.alpha_ = 15.0, np.full(30, 0.5)
    found = titles(model)
    assert "15 of 30 features" in found["Members see much of the data"].explanation
    assert "No feature stands out" in found
    model.expected_size_, model.alpha_ = 2.0, np.eye(30)[0]
    assert not {"Members see much of the data", "No feature stands out"} & set(titles(model))


def test_training_rows_that_are_not_given(regressor):
    assert "not given" in titles(regressor)["Not all checks were possible"].explanation
    given = Rows(np.zeros((100, 30)), np.zeros(100), None)
    assert "Not all checks were possible" not in titles(regressor, given)


def test_no_seed(regressor):
    model = copy(regressor)
    model.random_state = None
    assert "No seed" in titles(model)
    assert "No seed" not in titles(regressor)


def against(lead, n_test=100):
    model = Contender("model", "This model", 0.8, (0.7, 0.9), 1.0, None, None)
    forest = Contender("forest", "Forest", 0.8 - lead[0], (0.7, 0.9), 1.0, lead, 1.0)
    return Comparison("R²", "RMSE", (model, forest), 50, n_test, False)


def test_rivals(regressor):
    better, equal, worse = (0.1, 0.05, 0.15), (0.01, -0.05, 0.07), (-0.1, -0.15, -0.05)
    assert not [t for t in titles(regressor, None, against(better)) if "forest" in t]
    assert "Not clearly better than a random forest" in titles(regressor, None, against(equal))
    found = titles(regressor, None, against(worse))["Worse than a random forest"]
    assert found.level == "warning"
    assert "0.800 against 0.900, a difference of −0.100" in found.explanation  # noqa: RUF001
    assert "Few new rows" in titles(regressor, None, against(better, n_test=10))
    assert "Few new rows" not in titles(regressor, None, against(better))


@pytest.mark.parametrize("chosen", ["the same", "others", "none"])
def test_repeats_that_choose_by_chance(regressor, chosen):
    model = copy(regressor)
    n_features = model.n_features_in_
    rng = np.random.default_rng(0)
    alphas = {
        "the same": np.tile(np.arange(n_features) < 2, (8, 1)),
        "others": np.array([rng.permutation(n_features) < 2 for _ in range(8)]),
        "none": np.zeros((8, n_features)),
    }[chosen]
    model.n_repeats_, model.repeat_alphas_ = 8, alphas.astype(float)
    model.alpha_ = model.repeat_alphas_.mean(axis=0)
    found = notices(Findings(model, None, stability=Stability.from_repeats(model)))
    doubts = [notice for notice in found if notice.title == "The repeats do not agree"]
    assert [doubt.level for doubt in doubts] == ([] if chosen == "the same" else ["warning"])
    said = {"none": "none of 8 repeats selects"}.get(chosen, "the agreement of 8 repeats is")
    assert all(said in doubt.explanation for doubt in doubts)


def test_validation_that_rises_while_the_objective_falls(regressor):
    validation = np.r_[np.linspace(1.0, 0.5, 50), np.linspace(0.5, 0.8, 50)]
    model = with_history(
        regressor, validation_objective=validation, objective=np.linspace(1.0, 0.3, 100)
    )
    notice = titles(model)["Alpha adapts to its training rows"]
    assert notice.level == "warning"
    assert "After epoch 50 of 100 the" in notice.explanation
    # The epoch that was taken, whichever the validation rows would have taken.
    model.best_iter_ = 73
    said = titles(model)["Alpha adapts to its training rows"].explanation
    assert "Alpha is that of epoch 73, but" in said
    assert said.endswith("or raise n_repeats.")
    model.n_repeats_ = 5
    said = titles(model)["Alpha adapts to its training rows"].explanation
    assert "After epoch 50 of 100, in the mean over repeats, the" in said
    assert "the mean over repeats at their own best epochs" in said
    assert said.endswith("Add rows or a penalty.")
    # Both rise, as after a revival.
    model = with_history(regressor, validation_objective=validation, objective=validation)
    assert "Alpha adapts to its training rows" not in titles(model)
    # A little noise.
    level = np.r_[np.linspace(1.0, 0.5, 50), np.full(50, 0.52)]
    model = with_history(
        regressor, validation_objective=level, objective=np.linspace(1.0, 0.3, 100)
    )
    assert "Alpha adapts to its training rows" not in titles(model)


def test_scores_that_a_constant_reaches(regressor, classifier, classes, friedman):
    X, y = classes
    model = copy(regressor)
    assert "No better than a constant" not in titles(model)
    model.validation_score_ = -0.1
    said = titles(model)["No better than a constant"].explanation
    expected = f"is {score(-0.1)}, and always predicting the mean has 0.000"
    assert f"R2 on the validation rows {expected}" in said
    model = copy(classifier)
    model.validation_score_ = 0.4
    assert "No better than a constant" not in titles(model, Rows(X, y, None))
    mostly_high = np.where(y == "high", 3.0, 1.0)
    said = titles(model, Rows(X, y, mostly_high))["No better than a constant"].explanation
    assert "the most frequent class has 0.600" in said
    model.validation_score_ = float("nan")
    assert "No better than a constant" not in titles(model, Rows(X, y, mostly_high))


@pytest.mark.parametrize("n_repeats", [1, 4, 20])
def test_scores_that_a_constant_reaches_by_chance(classifier, classes, n_repeats):
    X, y = classes
    model, train = copy(classifier), Rows(X, y, None)
    model.n_repeats_ = n_repeats
    level = np.unique(y, return_counts=True)[1].max() / len(y)
    n_seen = min(len(y), n_repeats * round(model.validation_fraction * len(y)))
    error = np.sqrt(level * (1.0 - level) / n_seen)
    model.validation_score_ = level + 0.9 * error
    found = titles(model, train)
    assert found["Hardly better than a constant"].level == "warning"
    assert f"{score(level)} ± {score(error)}" in found["Hardly better than a constant"].explanation
    assert "No better than a constant" not in found
    model.validation_score_ = level + 1.1 * error
    assert "Hardly better than a constant" not in titles(model, train)
    model.validation_score_ = level
    found = titles(model, train)
    assert "No better than a constant" in found
    assert "Hardly better than a constant" not in found


def test_validation_data_of_the_user(regressor, friedman):
    X, y = friedman
    rows = Rows(X[:80], y[:80], None)
    few = [n for n in notices(Findings(regressor, rows, n_validation=12)) if "Few" in n.title]
    assert "chosen on 12 rows" in few[0].explanation
    assert not any("Few" in n.title for n in notices(Findings(regressor, rows, n_validation=40)))
