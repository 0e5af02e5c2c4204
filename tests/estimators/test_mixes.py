"""Several base models in one ensemble: parameters, errors, shares, and everything around a fit."""

import pickle

import joblib
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator, ClassifierMixin, clone, is_classifier
from sklearn.dummy import DummyRegressor
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler
from sklearn.svm import SVC, SVR
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from crashing import CrashAt, CrashError
from flat_parameters import flat
from randsub import PRSClassifier, PRSRegressor, RandomSubspaceClassifier, RaSERegressor
from randsub.callbacks import Checkpoint, EarlyStopping, ScoringMonitor, TimeLimit
from randsub.datasets import make_friedman, make_hypercube
from randsub.estimators import run as ensemble_run
from randsub.estimators.calibration import tempered
from randsub.exceptions import BaseModelError, CheckpointError, InterruptedFitWarning
from randsub.penalties import ExpectedSize
from randsub.solver import Solver

SETTINGS = {"n_estimators": 12, "max_iter": 12, "n_batches": 3, "learning_rate": 0.02}
X, Y, _ = make_friedman(n_samples=90, n_irrelevant=6, random_state=3)
XC, YC, _ = make_hypercube(n_samples=90, n_irrelevant=6, random_state=3)

# Its predictions are so far off that it loses its share in a few epochs.
USELESS = ("useless", DummyRegressor(strategy="constant", constant=30.0))


def knn_tree_svm():
    return [
        ("knn", KNeighborsClassifier()),
        ("tree", DecisionTreeClassifier(max_depth=3)),
        ("svm", SVC()),
    ]


def ridge_tree_svm():
    return [("ridge", Ridge()), ("tree", DecisionTreeRegressor(max_depth=3)), ("svm", SVR())]


def classifier(bases=None, **changes):
    bases = knn_tree_svm() if bases is None else bases
    return PRSClassifier(bases, **flat(random_state=0, **{**SETTINGS, **changes}))


def regressor(bases=None, **changes):
    bases = ridge_tree_svm() if bases is None else bases
    return PRSRegressor(bases, **flat(random_state=0, **{**SETTINGS, **changes}))


MODELS = {
    "classes": lambda **c: classifier(**c),
    "soft votes": lambda **c: classifier(knn_tree_svm()[:2], voting="soft", **c),
    "window": lambda **c: classifier(refresh="window", n_generations=4, **c),
    "coupled": lambda **c: regressor(refresh="coupled", **c),
    "numbers": lambda **c: regressor(**c),
    "members": lambda **c: regressor(objective="members", **c),
    "repeats": lambda **c: regressor(n_repeats=3, **c),
    "penalty": lambda **c: regressor(penalty=ExpectedSize(0.01), **c),
    "proximal": lambda **c: regressor(penalty=ExpectedSize(0.01), optimizer="prox_adam", **c),
    "groups": lambda **c: classifier(feature_groups=[[0, 1], [2, 3, 4]], max_samples=30, **c),
    "patience": lambda **c: regressor(n_iter_no_change=3, n_revivals=1, **c),
    "no validation": lambda **c: classifier(validation_fraction=None, **c),
    "dropped": lambda **c: regressor([*ridge_tree_svm(), USELESS], max_iter=45, **c),
    "dropped in repeats": lambda **c: MODELS["dropped"](**{"n_repeats": 3, **c}),
}


def data_of(model):
    return (XC, YC) if is_classifier(model) else (X, Y)


def fitted(name, **changes):
    model = MODELS[name](**changes)
    return model.fit(*data_of(model))


def assert_same_model(one, two):
    assert one.shares_ == two.shares_
    assert one.estimators_bases_ == two.estimators_bases_
    np.testing.assert_array_equal(one.estimators_weights_, two.estimators_weights_)
    np.testing.assert_array_equal(one.repeat_alphas_, two.repeat_alphas_)
    for name, alphas in one.alphas_.items():
        np.testing.assert_array_equal(alphas, two.alphas_[name])
    np.testing.assert_array_equal(one._average(X), two._average(X))
    pd.testing.assert_frame_equal(one.history_, two.history_, check_exact=True)
    for name in ("n_iter_", "best_iter_", "stop_reason_", "n_models_trained_", "validation_loss_"):
        assert getattr(one, name) == getattr(two, name)


# -- parameters ------------------------------------------------------------------------------------


def test_base_models_are_parameters_by_their_names():
    model = classifier()
    own = set(PRSClassifier().get_params(deep=False))
    assert set(model.get_params(deep=False)) == own
    params = model.get_params()
    assert set(params) >= own | {"knn", "tree", "svm", "knn__n_neighbors", "svm__C"}
    assert params["knn"] is model.estimator[0][1]
    assert params["solver__n_batches"] == 3
    model.set_params(knn__n_neighbors=7, svm__C=10.0, solver__n_batches=4, n_estimators=9)
    assert model.estimator[0][1].n_neighbors == 7
    assert model.estimator[2][1].C == 10.0
    assert (model.solver.n_batches, model.n_estimators) == (4, 9)


def test_base_models_are_replaced_and_dropped_by_name():
    model = classifier()
    other = LogisticRegression()
    model.set_params(svm=other, tree="drop", svm__C=3.0)
    assert model.get_params()["svm"] is other
    assert other.C == 3.0
    model.fit(XC, YC)
    assert [name for name, _ in model.estimator_] == ["knn", "svm"] == [*model.shares_]
    assert set(model.estimators_bases_) <= {"knn", "svm"}
    assert_same_model(
        classifier([("knn", KNeighborsClassifier()), ("svm", other)]).fit(XC, YC), model
    )
    with pytest.raises(ValueError, match="Invalid parameter 'forest'"):
        model.set_params(forest=other)


def test_a_list_and_a_name_in_it_at_the_same_time():
    model = PRSClassifier().set_params(estimator=knn_tree_svm(), knn__n_neighbors=2)
    assert model.get_params()["knn__n_neighbors"] == 2
    model.set_params(estimator=KNeighborsClassifier(), estimator__n_neighbors=4)
    assert model.estimator.n_neighbors == 4
    assert "knn" not in model.get_params()


def test_solver_of_a_mix_that_has_none():
    model = PRSClassifier(knn_tree_svm()).set_params(solver__n_batches=4, tree__max_depth=2)
    assert model.solver.n_batches == 4
    assert model.get_params()["tree__max_depth"] == 2


def test_clones_share_nothing():
    model = classifier().set_params(tree="drop")
    copy = clone(model)
    assert repr(copy) == repr(model)
    copy.set_params(knn__n_neighbors=1, svm="drop")
    assert model.get_params()["knn__n_neighbors"] == 5
    assert model.get_params()["svm"] != "drop"


@pytest.mark.parametrize(
    "grid", [{"knn__n_neighbors": [1, 5]}, {"tree": ["drop", DecisionTreeClassifier(max_depth=1)]}]
)
def test_grid_search(grid):
    search = GridSearchCV(classifier(max_iter=3), grid, cv=2, error_score="raise").fit(XC, YC)
    [[name, best]] = search.best_params_.items()
    assert str(search.best_estimator_.get_params()[name]) == str(best)
    if name == "tree":
        shapes = {len(params) for params in search.cv_results_["params"]}
        assert shapes == {1}
        assert ("tree" in search.best_estimator_.shares_) == (best != "drop")


# -- errors ----------------------------------------------------------------------------------------


class Untouchable(ClassifierMixin, BaseEstimator):
    """A base model that must not be trained."""

    def fit(self, X, y):
        pytest.fail("training began")

    def predict(self, X):
        pytest.fail("training began")


ONE = ("one", Untouchable())
BAD = {
    "empty": ([], r"pairs of a name and an estimator, such as .*; got \[\]"),
    "not a pair": ([Untouchable()], r"needs pairs .*; got \[Untouchable\(\)\]"),
    "three": ([(*ONE, 1.0)], "needs pairs of a name and an estimator"),
    "one of two": ([ONE, Untouchable()], "needs pairs of a name and an estimator"),
    "no name": ([ONE, ("", Untouchable())], "needs pairs of a name and an estimator"),
    "no text": ([(1, Untouchable())], "needs pairs of a name and an estimator"),
    "two letters": (["ab"], r"needs pairs .*; got \['ab'\]"),
    "twice": ([ONE, ONE], r"not unique: \['one', 'one'\]"),
    "underscores": ([("a__b", Untouchable())], r"must not contain __: got \['a__b'\]"),
    "parameter": ([("solver", Untouchable())], r"conflict .* arguments: \['solver'\]"),
    "itself": ([("estimator", Untouchable())], r"conflict .* arguments: \['estimator'\]"),
    "class": ([ONE, ("two", SVC)], r"base model 'two' must be an estimator.*got <class .*SVC'>"),
    "none": ([ONE, ("two", None)], r"base model 'two' must be an estimator.*got None"),
    "word": ([ONE, ("two", "dropped")], r"or 'drop'; got 'dropped'"),
    "list": ([ONE, ("two", [ONE])], "base model 'two' must be an estimator"),
    "scaler": ([ONE, ("two", MinMaxScaler())], r"methods fit and predict.*got MinMaxScaler\(\)"),
    "all dropped": ([("one", "drop"), ("two", "drop")], r"dropped: \['one', 'two'\]"),
    "regressor": ([ONE, ("two", Ridge())], r"needs a classifier .* got the regressor Ridge\(\)"),
    "parameter of one": ([ONE, ("two", SVC(C=-1.0))], "'C' parameter of SVC must be"),
    "tuple": ((ONE, ONE), "'estimator' parameter of PRSClassifier must be .*'list'"),
    "mapping": ({"one": Untouchable()}, "'estimator' parameter of PRSClassifier must be .*'list'"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_lists_are_named_before_any_training(name):
    bases, message = BAD[name]
    model = PRSClassifier(bases)
    with pytest.raises((ValueError, TypeError), match=message):
        model.fit(XC, YC)
    assert not hasattr(model, "estimators_")


def test_soft_votes_need_probabilities_of_all():
    with pytest.raises(
        ValueError, match=r"voting='soft' needs .*predict_proba, which SVC\(\) lacks"
    ):
        classifier([ONE, ("svm", SVC())], voting="hard").set_params(
            voting="soft", one=LogisticRegression()
        ).fit(XC, YC)


def test_an_engine_that_is_not_for_all():
    with pytest.raises(ValueError, match=r"engine='knn' cannot train Untouchable\(\)"):
        classifier([("knn", KNeighborsClassifier()), ONE], engine="knn").fit(XC, YC)


@pytest.mark.parametrize("kind", [RandomSubspaceClassifier, RaSERegressor])
def test_other_ensembles_say_where_lists_are_accepted(kind):
    message = r"list .* is for PRSClassifier, PRSRegressor and PRSNetwork.*Got \[\('one', Unt"
    with pytest.raises(ValueError, match=message):
        kind([ONE]).fit(XC, YC)


def test_members_that_cannot_predict_are_found_for_every_base_model():
    """Each half of these rows has one class, so that training needs no neighbours."""
    bases = [("tree", DecisionTreeClassifier()), ("knn", KNeighborsClassifier(50))]
    X, solver = np.random.default_rng(0).normal(size=(3, 3)), Solver(n_batches=2)
    options = {"n_estimators": 6, "max_iter": 2, "alpha_init": 0.6, "validation_fraction": None}
    model = PRSClassifier(bases, random_state=0, solver=solver, **options)
    with pytest.raises(BaseModelError, match="n_neighbors"):
        model.fit(X, [0, 0, 1])
    assert model.set_params(knn="drop").fit(X, [0, 0, 1]).shares_ == {"tree": 1.0}


def test_a_base_model_that_fails_is_shown():
    with pytest.raises(BaseModelError, match=r"KNeighborsRegressor\(n_neighbors=500\)"):
        regressor([("ridge", Ridge()), ("knn", KNeighborsRegressor(500))]).fit(X, Y)


NAMES = st.sampled_from(["a", "b", "", "a__b", "solver", "estimator"]) | st.none() | st.integers()
BASES = st.sampled_from(
    [KNeighborsClassifier(1), Ridge(), SVC, MinMaxScaler(), "drop", "", None, 3, [], ()]
)
ENTRIES = st.tuples(NAMES, BASES) | st.tuples(NAMES) | st.tuples(NAMES, BASES, NAMES) | BASES
LISTS = st.lists(ENTRIES | st.lists(NAMES | BASES, max_size=3) | st.text(max_size=3), max_size=4)


@settings(max_examples=150, deadline=None, derandomize=True)
@given(bases=LISTS)
def test_whatever_is_in_a_list_is_used_or_refused(bases):
    model = PRSClassifier(bases, n_estimators=2, max_iter=1, solver=Solver(n_batches=2))
    for use in (
        lambda: model.fit(XC[:12], YC[:12]).predict(XC),
        model.get_params,
        lambda: model.set_params(max_iter=1),
        lambda: PRSClassifier().set_params(estimator=bases),
        lambda: is_classifier(model),
        model.get_metadata_routing,
        lambda: repr(clone(model)),
    ):
        try:
            use()
        except (ValueError, TypeError) as error:
            assert str(error)  # noqa: PT017


# -- what a fit says -------------------------------------------------------------------------------


@pytest.mark.parametrize("name", MODELS)
def test_what_a_fit_says_of_its_base_models(name):
    model = fitted(name)
    names = [base for base, _ in model.estimator]
    n_repeats, n_features = model.n_repeats_, model.n_features_in_
    assert [base for base, _ in model.estimator_] == names
    for (_, ours), (_, theirs) in zip(model.estimator_, model.estimator, strict=True):
        assert ours is not theirs
        assert repr(ours) == repr(theirs)
    assert [*model.shares_] == [*model.alphas_] == names
    assert sum(model.shares_.values()) == pytest.approx(1.0)
    assert min(model.shares_.values()) >= 0.0
    assert model.repeat_alphas_.shape == (n_repeats, n_features)
    assert {alphas.shape for alphas in model.alphas_.values()} == {(n_repeats, n_features)}
    np.testing.assert_allclose(model.alpha_, model.repeat_alphas_.mean(axis=0))
    np.testing.assert_array_equal(model.feature_importances_, model.alpha_)
    assert model.expected_size_ == pytest.approx(model.alpha_.sum())
    # Members of each base model together weigh as much as its share.
    members = pd.Series(model.estimators_weights_).groupby(model.estimators_bases_).sum()
    assert len(model.estimators_) == len(model.estimators_features_) == model.n_estimators
    for base, share in model.shares_.items():
        assert members.get(base, 0.0) == pytest.approx(share)
    kinds = dict(model.estimator_)
    for base, member, seen in zip(
        model.estimators_bases_, model.estimators_, model.estimators_features_, strict=True
    ):
        assert isinstance(member, type(kinds[base])) or not len(seen)
    shares = model.history_[[f"share_{base}" for base in names]]
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)
    if n_repeats == 1:
        assert shares.loc[model.best_iter_].tolist() == [*model.shares_.values()]
        mean = sum(share * model.alphas_[base][0] for base, share in model.shares_.items())
        np.testing.assert_allclose(model.alpha_, mean)


@pytest.mark.parametrize("name", MODELS)
def test_a_prediction_is_the_weighted_mean_of_the_members(name):
    model = fitted(name)
    X, _ = data_of(model)
    scaled, expected = model.standardizer_.transform(X), 0.0
    for member, seen, weight in zip(
        model.estimators_, model.estimators_features_, model.estimators_weights_, strict=True
    ):
        if hasattr(member, "predict_proba"):
            one = member.predict_proba(scaled[:, seen])
        elif is_classifier(model):
            one = np.eye(2)[np.searchsorted(model.classes_, member.predict(scaled[:, seen]))]
        else:
            one = member.predict(scaled[:, seen])
        expected = expected + weight * one
    if is_classifier(model) and name != "no validation":
        expected = tempered(expected, model.temperature_, 0.5 / model.n_estimators)
    ours = model.predict_proba(X) if is_classifier(model) else model.predict(X)
    np.testing.assert_allclose(ours, expected, atol=1e-9)


def test_one_base_model_in_a_list_is_that_base_model():
    alone = classifier(KNeighborsClassifier()).fit(XC, YC)
    listed = classifier([("knn", KNeighborsClassifier()), ("tree", "drop")]).fit(XC, YC)
    assert listed.shares_ == {"knn": 1.0}
    np.testing.assert_array_equal(listed.alphas_["knn"], alone.alphas_)
    np.testing.assert_array_equal(listed.alpha_, alone.alpha_)
    np.testing.assert_allclose(listed.predict_proba(XC), alone.predict_proba(XC))
    assert not hasattr(alone, "shares_")
    assert not hasattr(alone, "estimators_weights_")


def test_nothing_of_a_mix_is_left_after_a_fit_without():
    model = classifier().fit(XC, YC)
    model.set_params(estimator=KNeighborsClassifier()).fit(XC, YC)
    assert not {"shares_", "estimators_bases_", "estimators_weights_"} & set(vars(model))
    assert isinstance(model.alphas_, np.ndarray)
    assert not any(column.startswith("share_") for column in model.history_)


def test_what_predicts_badly_is_dropped_and_not_trained_any_more():
    model = fitted("dropped", n_repeats=1)
    assert model.shares_["useless"] == 0.0
    assert "useless" not in model.estimators_bases_
    shares = model.history_[[f"share_{name}" for name in model.shares_]]
    assert shares["share_useless"].iloc[[0, -1]].tolist() == [0.25, 0.0]
    n_trained = model.history_["n_models_trained"].diff()[1:]
    # 12 masks in 3 batches of each base model that had a share after the epoch before.
    n_kept = (shares > 0.0).sum(axis=1).shift()[1:]
    assert n_kept.max() == 4 > n_kept.min()
    assert (n_trained <= 12 * 3 * n_kept).all()
    assert (n_trained == 12 * 3 * n_kept)[n_kept < 4].any()
    without = regressor(max_iter=45).fit(X, Y)
    assert model.score(X, Y) > without.score(X, Y) - 0.1


def test_fewer_members_than_base_models():
    model = classifier(n_estimators=2, n_repeats=2).fit(XC, YC)
    assert len(model.estimators_) == 2
    assert model.estimators_weights_.sum() == pytest.approx(1.0)
    np.testing.assert_allclose(model.predict_proba(XC).sum(axis=1), 1.0)


def test_machines_predict_in_the_units_of_the_user():
    """Base models that depend on the scale of y see standardised targets."""
    scores = [regressor().fit(X, unit * Y).score(X, unit * Y) for unit in (1.0, 2.0**20)]
    assert scores[0] == pytest.approx(scores[1], abs=1e-6)


# -- workers, seeds, repeats -----------------------------------------------------------------------


@pytest.mark.parametrize("name", ["classes", "window", "repeats", "penalty", "dropped in repeats"])
def test_workers_backends_and_a_second_fit(name):
    alone = fitted(name, n_jobs=1)
    two = fitted(name, n_jobs=2)
    assert_same_model(two, alone)
    assert_same_model(two.fit(*data_of(two)), alone)
    for backend in ("threading", "loky"):
        with joblib.parallel_config(backend=backend, n_jobs=2):
            assert_same_model(fitted(name), alone)


@pytest.mark.parametrize("name", ["classes", "dropped"])
def test_a_repeat_does_not_depend_on_the_number_of_repeats(name):
    two, three = (fitted(name, n_repeats=n) for n in (2, 3))
    assert two.n_repeats_ == 2
    for base, alphas in two.alphas_.items():
        np.testing.assert_array_equal(alphas, three.alphas_[base][:2])
    np.testing.assert_array_equal(two.repeat_alphas_, three.repeat_alphas_[:2])


# -- data ------------------------------------------------------------------------------------------


def test_rows_of_weight_0_are_left_out_of_all():
    weight = np.where(np.arange(90) % 3 == 0, 0.0, 1.0)
    strange = np.where(weight[:, np.newaxis] == 0.0, 1e6, X)
    bases = [("ridge", Ridge()), ("knn", KNeighborsRegressor())]
    model = regressor(bases).fit(strange, Y, sample_weight=weight)
    kept = weight > 0.0
    alone = regressor(bases).fit(X[kept], Y[kept])
    np.testing.assert_allclose(model.alpha_, alone.alpha_, atol=1e-9)
    np.testing.assert_allclose([*model.shares_.values()], [*alone.shares_.values()], atol=1e-9)


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_categories_of_a_frame(kind):
    frame = pytest.importorskip(kind).DataFrame(
        {"a": XC[:, 0], "colour": np.where(YC == 1, "red", "blue"), "b": XC[:, 1]}
    )
    hist = HistGradientBoostingClassifier(max_iter=3, min_samples_leaf=2)
    model = classifier([("knn", KNeighborsClassifier()), ("hist", hist)]).fit(frame, YC)
    assert model.column_encoder_.columns.tolist() == [1]
    # It takes categories, but no text.
    assert model.column_encoder_.unused_by == []
    assert {alphas.shape for alphas in model.alphas_.values()} == {(1, 3)}
    assert model.alpha_.argmax() == 1
    assert model.score(frame, YC) > 0.8


def test_groups_are_seen_together_by_every_base_model():
    model = fitted("groups")
    assert model.group_alpha_.shape == (8,)
    np.testing.assert_array_equal(model.alpha_, model.group_alpha_[model.feature_groups_])
    for alphas in model.alphas_.values():
        np.testing.assert_array_equal(alphas[:, 2], alphas[:, 4])
    for seen in model.estimators_features_:
        assert len(np.intersect1d(seen, [2, 3, 4])) in (0, 3)


def test_a_penalty_makes_members_of_all_base_models_smaller():
    sizes = [
        regressor(penalty=penalty, max_iter=40).fit(X, Y).expected_size_
        for penalty in (None, ExpectedSize(0.01), ExpectedSize(0.5))
    ]
    assert sizes[0] > sizes[1] > sizes[2]


def test_the_validation_loss_is_without_the_penalty():
    plain = regressor(max_iter=1, learning_rate=1e-12, n_repeats=2).fit(X, Y)
    paid = clone(plain).set_params(penalty=ExpectedSize(0.01)).fit(X, Y)
    assert paid.validation_loss_ == pytest.approx(plain.validation_loss_, abs=1e-6)


def test_validation_data():
    model = classifier().fit(XC[:60], YC[:60], X_val=XC[60:], y_val=YC[60:])
    assert {m.n_samples_fit_ for m in model.estimators_ if hasattr(m, "n_samples_fit_")} == {60}
    other = classifier().fit(XC[:60], YC[:60], X_val=XC[50:], y_val=YC[50:])
    assert model.validation_loss_ != other.validation_loss_


def test_base_models_without_a_compiled_engine():
    bases = [
        ("knn", KNeighborsClassifier()),
        ("pipe", make_pipeline(MinMaxScaler(), LogisticRegression())),
        ("hist", HistGradientBoostingClassifier(max_iter=3, min_samples_leaf=2)),
    ]
    model = classifier(bases, max_iter=4).fit(XC, YC)
    engines = [type(engine).__name__ for engine in model._engines]
    assert engines == ["KNNEngine", "GenericEngine", "GenericEngine"]
    assert set(model.estimators_bases_) == {"knn", "pipe", "hist"}
    assert model.get_params()["pipe__minmaxscaler"] is bases[1][1][0]


@pytest.mark.filterwarnings("ignore::randsub.exceptions.SlowEngineWarning")
def test_sparse_data_and_missing_values_need_all_base_models():
    sparse = csr_array(np.where(np.abs(XC) > 0.5, XC, 0.0))
    assert classifier().fit(sparse, YC).predict(sparse).shape == (90,)
    hist = HistGradientBoostingClassifier(max_iter=3, min_samples_leaf=2)
    with pytest.raises(TypeError, match="Sparse data was passed"):
        classifier([("knn", KNeighborsClassifier()), ("hist", hist)]).fit(sparse, YC)
    holes = np.where(np.random.default_rng(0).random(XC.shape) < 0.1, np.nan, XC)
    tree = ("tree", DecisionTreeClassifier(max_depth=3))
    assert classifier([tree, ("hist", hist)], max_iter=3).fit(holes, YC).predict(holes).shape == (
        90,
    )
    with pytest.raises(ValueError, match="contains NaN"):
        classifier([tree, ("knn", KNeighborsClassifier())]).fit(holes, YC)


# -- callbacks and checkpoints ---------------------------------------------------------------------


@pytest.mark.parametrize("name", MODELS)
def test_a_resumed_fit_ends_like_an_uninterrupted_one(tmp_path, name):
    path = tmp_path / "run.ckpt"
    whole = fitted(name)
    for epoch in (3, whole.n_iter_ - 1):
        model = MODELS[name]().set_callbacks(Checkpoint(path, every=1), CrashAt(epoch))
        with pytest.raises(CrashError):
            model.fit(*data_of(model))
        resumed = MODELS[name](n_jobs=2)
        assert_same_model(resumed.fit(*data_of(model), resume_from=path), whole)
    if "dropped" in name:
        # At the last checkpoint it had no share any more.
        assert whole.history_["share_useless"].iloc[epoch - 1] == 0.0


def test_a_checkpoint_of_other_base_models_is_refused(tmp_path):
    path = tmp_path / "run.ckpt"
    classifier().set_callbacks(Checkpoint(path)).fit(XC, YC)
    for change in ({"tree": "drop"}, {"svm__C": 2.0}, {"estimator": knn_tree_svm()[::-1]}):
        with pytest.raises(CheckpointError, match="estimator was"):
            classifier().set_params(**change).fit(XC, YC, resume_from=path)


def test_more_epochs_before_shares_are_learned(tmp_path):
    """They are learned after a third of the epochs."""
    path = tmp_path / "run.ckpt"
    longer = classifier(n_revivals=0, max_iter=24)
    for epoch in (3, 5):
        model = classifier(n_revivals=0, max_iter=12)
        with pytest.raises(CrashError):
            model.set_callbacks(Checkpoint(path, every=1), CrashAt(epoch + 1)).fit(XC, YC)
        if epoch == 3:
            resumed = clone(longer).fit(XC, YC, resume_from=path)
            assert_same_model(resumed, clone(longer).fit(XC, YC))
        else:
            with pytest.raises(CheckpointError, match="shares of the base models would have been"):
                clone(longer).fit(XC, YC, resume_from=path)


def test_ctrl_c_keeps_the_best_mix_so_far():
    model = classifier().set_callbacks(CrashAt(5, KeyboardInterrupt))
    with pytest.warns(InterruptedFitWarning, match="after epoch 5 of 12"):
        model.fit(XC, YC)
    assert model.stop_reason_ == "interrupted"
    shares = model.history_[[f"share_{name}" for name in model.shares_]]
    assert shares.loc[model.best_iter_].tolist() == [*model.shares_.values()]


def test_callbacks_see_the_mix_and_change_nothing():
    monitor = ScoringMonitor(XC[60:], YC[60:], every=4)
    model = classifier().set_callbacks(monitor, TimeLimit(3600.0)).fit(XC[:60], YC[:60])
    assert monitor.scores_["score"].iloc[-1] == model.score(XC[60:], YC[60:])
    assert_same_model(classifier().fit(XC[:60], YC[:60]), model)


def test_a_time_limit_tries_members_of_each_base_model(monkeypatch):
    """They are measured, and what is drawn for it changes nothing."""
    trained, train_members = [], ensemble_run.train_members

    def noted(data, draws, **options):
        trained.append([(draw.base, draw.masks.shape[0]) for draw in draws])
        return train_members(data, draws, **options)

    monkeypatch.setattr(ensemble_run, "train_members", noted)
    # Beyond a tenth of the time, which is where it looks.
    monkeypatch.setattr("randsub.solver.forecast.Forecast.elapsed", 400.0)
    limited = classifier().set_callbacks(TimeLimit(3600.0)).fit(XC[:60], YC[:60])
    n_bases = len(limited.shares_)
    assert trained[:-1] == [[(base, 1)] for base in range(n_bases) for _ in range(2)]
    free = classifier().fit(XC[:60], YC[:60])
    np.testing.assert_array_equal(limited.alpha_, free.alpha_)
    np.testing.assert_array_equal(limited.predict_proba(XC), free.predict_proba(XC))


@pytest.mark.parametrize("callback", [TimeLimit(1.0), EarlyStopping(2, tol=10.0)])
def test_callbacks_end_a_fit(callback):
    model = classifier(max_iter=10**6, n_iter_no_change=None).set_callbacks(callback).fit(XC, YC)
    assert model.stop_reason_.startswith(type(callback).__name__)
    assert sum(model.shares_.values()) == pytest.approx(1.0)


def test_pickling():
    model = classifier().fit(XC, YC)
    again = pickle.loads(pickle.dumps(model))
    assert_same_model(again, model)
    assert_same_model(again.fit(XC, YC), model)
    unfitted = pickle.loads(pickle.dumps(classifier()))
    assert_same_model(unfitted.fit(XC, YC), model)
