"""Regression with several outputs: one alpha for all of them."""

import numpy as np
import pandas as pd
import pytest
from joblib import parallel_config
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.ensemble import GradientBoostingRegressor, RandomForestRegressor
from sklearn.inspection import permutation_importance
from sklearn.linear_model import (
    ElasticNet,
    LassoLars,
    LinearRegression,
    MultiTaskLasso,
    Ridge,
)
from sklearn.metrics import r2_score
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.multioutput import MultiOutputRegressor, RegressorChain
from sklearn.neighbors import KNeighborsRegressor
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVR
from sklearn.tree import DecisionTreeRegressor
from sklearn.utils import get_tags
from sklearn.utils.discovery import all_estimators

from flat_parameters import flat
from randsub import PRSRegressor, RandomSubspaceRegressor, RaSERegressor
from randsub.callbacks import Checkpoint
from randsub.cli import main
from randsub.cli.main import Exit
from randsub.engines import GenericEngine, KNNEngine
from randsub.engines.base import takes_outputs
from randsub.exceptions import BaseModelError
from randsub.inspection import ConvergenceDisplay, ImportanceDisplay, SubspaceDisplay
from randsub.io import DataFacts, ModelFolder, load, save
from randsub.losses import Huber, Loss
from randsub.penalties import ExpectedSize
from randsub.selection import stability

# Some base models are left to scikit-learn here, which a fit says.
pytestmark = pytest.mark.filterwarnings("ignore::randsub.exceptions.SlowEngineWarning")

SMALL = {"n_estimators": 8, "max_iter": 4, "n_batches": 3, "n_revivals": 0, "random_state": 0}
RNG = np.random.default_rng(0)
N, M = 90, 6
X = RNG.normal(size=(N, M))
# In units that have nothing to do with each other.
UNITS, ORIGINS = np.array([1.0, 1e5, 1e-3]), np.array([0.0, 7e5, 2.0])
PLAIN = np.c_[X[:, 0] + X[:, 1], X[:, 1] + np.sin(2 * X[:, 1]), X[:, 2] - X[:, 0]]
PLAIN += 0.1 * RNG.normal(size=PLAIN.shape)
Y = PLAIN * UNITS + ORIGINS

BASES = {
    "knn": KNeighborsRegressor(4),
    "tree": DecisionTreeRegressor(max_depth=4),
    "forest": RandomForestRegressor(3, max_depth=4),
    "ridge": Ridge(),
    "least squares": LinearRegression(),
    "elastic net": ElasticNet(0.01),
    "lasso of groups": MultiTaskLasso(0.01),
    "lars": LassoLars(0.001),
    "network": MLPRegressor(hidden_layer_sizes=(8,), solver="lbfgs", max_iter=40),
    "machines": MultiOutputRegressor(SVR()),
    "chain": RegressorChain(Ridge()),
    "pipeline": make_pipeline(StandardScaler(), KNeighborsRegressor(4)),
    "search": GridSearchCV(Ridge(), {"alpha": [0.1, 1.0]}, cv=2),
}


def prs(base=None, **changes):
    base = KNeighborsRegressor(4) if base is None else base
    return PRSRegressor(base, **flat(**{**SMALL, **changes}))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("base", BASES.values(), ids=BASES)
def test_many_base_models_learn_all_outputs(base):
    model = prs(base, alpha_init=0.6).fit(X, Y)
    predicted = model.predict(X)
    assert predicted.shape == Y.shape
    assert model.n_outputs_ == 3
    scaled = model.standardizer_.transform(X)
    members = [
        one.predict(scaled[:, columns] if len(columns) else scaled[:, :1])
        for one, columns in zip(model.estimators_, model.estimators_features_, strict=True)
        if len(columns)
    ]
    if len(members) == len(model.estimators_):
        np.testing.assert_allclose(predicted, np.mean(members, axis=0), rtol=1e-9)
    assert model.score(X, Y) == pytest.approx(r2_score(Y, predicted, multioutput="uniform_average"))
    # Each of them, whatever its units: members for users are in the units of users.
    assert (r2_score(Y, predicted, multioutput="raw_values") > 0.2).all()
    assert model.feature_importances_.shape == (M,)


def test_alpha_does_not_depend_on_units_of_the_outputs():
    first, second = prs(max_iter=20).fit(X, PLAIN), prs(max_iter=20).fit(X, Y)
    np.testing.assert_allclose(first.alpha_, second.alpha_, atol=1e-9)
    assert first.validation_loss_ == pytest.approx(second.validation_loss_, rel=1e-9)


@pytest.mark.parametrize("objective", ["ensemble", "members"])
def test_an_output_given_twice_is_the_same_as_once(objective):
    twice = np.c_[Y[:, 1], Y[:, 1]]
    one = prs(max_iter=20, objective=objective).fit(X, Y[:, 1])
    two = prs(max_iter=20, objective=objective).fit(X, twice)
    np.testing.assert_allclose(two.alpha_, one.alpha_, atol=1e-9)
    assert two.validation_loss_ == pytest.approx(one.validation_loss_, rel=1e-9)
    np.testing.assert_allclose(two.predict(X)[:, 1], one.predict(X), rtol=1e-12)


class Guess(RegressorMixin, BaseEstimator):
    """Predicts the same whatever it is trained on."""

    def fit(self, X, y):
        self.n_features_in_ = X.shape[1]
        return self

    def predict(self, X):
        return np.tile([1.0, 6e5, 2.5], (len(X), 1))


def test_the_validation_loss_is_the_mean_of_scaled_squared_errors():
    train, held_out = np.arange(60), np.arange(60, 90)
    model = prs(Guess(), alpha_init=1.0 - 1e-12, max_iter=1)
    model.fit(X[train], Y[train], X_val=X[held_out], y_val=Y[held_out])
    errors = ((Guess().predict(X[held_out]) - Y[held_out]) / Y[train].std(axis=0)) ** 2
    assert model.validation_loss_ == pytest.approx(errors.mean(), rel=1e-9)


def test_features_of_any_output_are_found():
    model = prs(max_iter=60, n_estimators=40, learning_rate=0.02).fit(X, Y)
    assert set(model.alpha_.argsort()[-3:]) == {0, 1, 2}


@pytest.mark.parametrize(
    "changes",
    [
        {"n_repeats": 3},
        {"penalty": ExpectedSize(0.01)},
        {"feature_groups": [0, 0, 1, 1, 2, 2]},
        {"loss": "huber"},
        {"loss": Huber(0.5)},
        {"bootstrap": True},
        {"max_samples": 30},
        {"refresh": "coupled"},
        {"validation_fraction": None},
    ],
    ids=lambda changes: next(iter(changes)),
)
def test_other_parameters_work_as_with_one_output(changes):
    model = prs(**changes).fit(X, Y)
    assert model.predict(X).shape == Y.shape
    assert np.isfinite(model.validation_loss_)


def test_counts_in_several_columns():
    counts = RNG.poisson(np.exp(0.5 * PLAIN))
    assert prs(loss="poisson").fit(X, counts).predict(X).min() >= 0.0
    with pytest.raises(ValueError, match=r"PoissonDeviance needs targets y >= 0"):
        prs(loss="poisson").fit(X, PLAIN)


class Quartic(Loss):
    """A loss of a user, who thinks of one output."""

    def pointwise(self, y, f):
        return ((f - y) ** 4).sum(axis=-1)

    def pointwise_gradient(self, y, f):
        return 4.0 * (f - y) ** 3


def test_a_loss_of_a_user_is_averaged_over_outputs():
    once = prs(loss=Quartic(), max_iter=10).fit(X, PLAIN[:, 0])
    thrice = prs(loss=Quartic(), max_iter=10).fit(X, PLAIN[:, [0, 0, 0]])
    np.testing.assert_allclose(thrice.alpha_, once.alpha_, atol=1e-9)


def test_several_base_models():
    bases = [("knn", KNeighborsRegressor(4)), ("ridge", Ridge())]
    model = prs(bases).fit(X, Y)
    assert model.predict(X).shape == Y.shape
    assert sum(model.shares_.values()) == pytest.approx(1.0)
    with pytest.raises(ValueError, match=r"y has 3 columns, but the base model SVR\(\)"):
        prs([*bases, ("svm", SVR())]).fit(X, Y)


def test_auto_takes_the_base_models_that_have_several_outputs():
    model = prs("auto", n_batches=2).fit(X, Y)
    assert [*model.shares_] == ["knn", "tree"]
    assert model.predict(X).shape == Y.shape


def test_sample_weights_and_rows_without_weight():
    weight = np.where(np.arange(N) < 60, 1.0, 0.0)
    wild = Y.copy()
    wild[60:] = 1e9
    settings = {"validation_fraction": None, "max_iter": 10, "standardize": False}
    kept = prs(Ridge(), **settings).fit(X[:60], Y[:60])
    weighted = prs(Ridge(), **settings).fit(X, wild, sample_weight=weight)
    np.testing.assert_allclose(weighted.alpha_, kept.alpha_, atol=1e-9)
    np.testing.assert_allclose(weighted.predict(X), kept.predict(X), rtol=1e-9)


def test_validation_data_must_have_the_same_columns():
    model = prs().fit(X[:60], Y[:60], X_val=X[60:], y_val=Y[60:])
    assert np.isfinite(model.validation_loss_)
    for y_val, shape in ((Y[60:, :2], r"\(30, 2\)"), (Y[60:, 0], r"\(30,\)")):
        with pytest.raises(ValueError, match=f"validation data.*y_val has shape {shape}"):
            prs().fit(X[:60], Y[:60], X_val=X[60:], y_val=y_val)
    with pytest.raises(ValueError, match=r"y_val has shape \(30, 3\), but y has shape \(60,\)"):
        prs().fit(X[:60], Y[:60, 0], X_val=X[60:], y_val=Y[60:])


@pytest.mark.parametrize("base", [KNeighborsRegressor(4), Ridge()], ids=["compiled", "generic"])
def test_the_number_of_workers_does_not_change_a_bit(base):
    one = prs(base, n_jobs=1).fit(X, Y)
    with parallel_config("threading"):
        two = prs(base, n_jobs=2).fit(X, Y)
    np.testing.assert_array_equal(one.alpha_, two.alpha_)
    np.testing.assert_array_equal(one.predict(X), two.predict(X))


def test_a_resumed_fit_has_the_same_bits(tmp_path):
    whole = prs(max_iter=6).fit(X, Y)
    prs(max_iter=3).set_callbacks(Checkpoint(tmp_path / "fit.npz", every=3)).fit(X, Y)
    resumed = prs(max_iter=6).fit(X, Y, resume_from=tmp_path / "fit.npz")
    np.testing.assert_array_equal(resumed.alpha_, whole.alpha_)
    np.testing.assert_array_equal(resumed.predict(X), whole.predict(X))


def test_files_keep_every_bit(tmp_path):
    for base in (DecisionTreeRegressor(max_depth=3), ElasticNet(0.01), MultiOutputRegressor(SVR())):
        model = prs(base).fit(X, Y)
        save(model, tmp_path / "model.skops")
        np.testing.assert_array_equal(load(tmp_path / "model.skops").predict(X), model.predict(X))
    ModelFolder.write(tmp_path / "folder", model, data=DataFacts.of(X, Y))
    again = ModelFolder.read(tmp_path / "folder").model
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


def test_scikit_learns_tools():
    assert cross_val_score(prs(), X, Y, cv=2).shape == (2,)
    found = permutation_importance(prs().fit(X, Y), X, Y, n_repeats=1, random_state=0)
    assert found.importances_mean.shape == (M,)
    search = GridSearchCV(prs(), {"estimator__n_neighbors": [3, 6]}, cv=2).fit(X, Y)
    assert search.best_estimator_.predict(X).shape == Y.shape


@pytest.mark.parametrize("display", [ImportanceDisplay, ConvergenceDisplay, SubspaceDisplay])
def test_displays(display):
    pytest.importorskip("matplotlib").use("Agg")
    assert display.from_estimator(prs().fit(X, Y)).figure_ is not None


def test_a_report_has_no_scores(tmp_path):
    model = prs().fit(X, Y)
    page = model.to_report(tmp_path / "page.html").read_text(encoding="utf-8")
    assert "Which features matter" in page
    for rows in ({"X": X, "y": Y}, {"X_test": X, "y_test": Y}):
        with pytest.raises(ValueError, match=r"has 3\. Leave out X.* and y"):
            model.to_report(tmp_path / "other.html", **rows)
    assert not (tmp_path / "other.html").exists()


def test_the_command_line_does_not_predict_several_columns(tmp_path, capsys):
    names = [f"x{j}" for j in range(M)]
    frame = pd.DataFrame(X, columns=names)
    frame.to_csv(tmp_path / "new.csv", index=False)
    ModelFolder.write(tmp_path / "folder", prs().fit(frame, Y))
    assert main(["predict", str(tmp_path / "folder"), str(tmp_path / "new.csv")]) == Exit.ERROR
    assert "The model predicts 3 columns" in capsys.readouterr().err


def test_stability_of_the_ranking():
    assert len(stability(prs(), X, Y, n_runs=2, random_state=0).table()) == M


@pytest.mark.parametrize("kind", [pd.DataFrame, np.ndarray.tolist, np.asfortranarray])
def test_targets_in_other_containers(kind):
    reference = prs().fit(X, Y)
    given = prs().fit(X, kind(Y))
    np.testing.assert_array_equal(given.alpha_, reference.alpha_)
    np.testing.assert_array_equal(given.predict(X), reference.predict(X))


@pytest.mark.parametrize("base", [SVR(), GradientBoostingRegressor()], ids=lambda b: type(b))
def test_base_models_of_one_output_are_refused_before_training(base):
    name = type(base).__name__
    with pytest.raises(ValueError, match=rf"y has 3 columns.*MultiOutputRegressor\({name}"):
        prs(base).fit(X, Y)


def test_a_base_model_that_nothing_is_known_of_is_named_with_the_remedy():
    with pytest.raises(BaseModelError, match=r"(?s)1d array.*MultiOutputRegressor\(GridSearchCV"):
        prs(GridSearchCV(SVR(), {"C": [1.0]}, cv=2)).fit(X, Y)


class Narrow(KNeighborsRegressor):
    """Predicts less than it was trained on."""

    def predict(self, X):
        return super().predict(X)[:, 0]


def test_predictions_of_another_shape_are_refused():
    with pytest.raises(BaseModelError, match=r"it predicts an array of shape \(\d+,\)"):
        prs(Narrow(3)).fit(X, Y)


@pytest.mark.parametrize("make", [RandomSubspaceRegressor, RaSERegressor])
def test_other_ensembles_refuse_several_outputs(make):
    with pytest.raises(ValueError, match=r"takes one target per sample.*PRSRegressor"):
        make(Ridge()).fit(X, Y)
    assert not get_tags(make(Ridge())).target_tags.multi_output


def test_tags_follow_the_base_models():
    assert get_tags(prs()).target_tags.multi_output
    assert get_tags(prs("auto")).target_tags.multi_output
    assert not get_tags(prs(SVR())).target_tags.multi_output
    assert not get_tags(prs([("a", Ridge()), ("b", SVR())])).target_tags.multi_output


@pytest.mark.filterwarnings("ignore")
def test_what_is_said_of_scikit_learns_regressors_is_true():
    """The tags of scikit-learn, but for one, tell whether a model takes several outputs."""
    for name, kind in all_estimators("regressor"):
        try:
            base = kind()
        except TypeError:
            continue
        says = takes_outputs(base, classifies=False)
        try:
            works = clone(base).fit(X[:40], np.abs(PLAIN[:40])).predict(X).shape == Y.shape
        except (ValueError, TypeError, AttributeError):
            works = False
        assert says in (works, None), name


def test_engines():
    assert isinstance(prs().fit(X, Y)._engines[0], KNNEngine)
    assert isinstance(prs(DecisionTreeRegressor()).fit(X, Y)._engines[0], GenericEngine)
    with pytest.raises(ValueError, match="engine='tree' cannot train"):
        prs(DecisionTreeRegressor(), engine="tree").fit(X, Y)
