"""The torch engine: precision, parameters of networks, data on the device, whole fits."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.utils import shuffle

from engine_choice import choose_engine
from randsub import PRSClassifier, PRSRegressor
from randsub.callbacks import Checkpoint
from randsub.engines import GenericEngine, KNNEngine, Learner, TorchEngine
from randsub.engines.torch import knn, perceptrons
from randsub.engines.torch.engine import _TABLES
from randsub.engines.torch.shuffles import Shuffles
from randsub.exceptions import BaseModelError

torch = pytest.importorskip("torch", reason="PyTorch is not installed; see make test-torch.")
RNG = np.random.default_rng(3)
X = RNG.normal(size=(230, 7)) + 0.5
HEIGHT = X[:, 0] + X[:, 1] * X[:, 2] + 0.3 * RNG.normal(size=230)
LABELS = np.digitize(HEIGHT, np.quantile(HEIGHT, [0.4, 0.7]))
MASKS = RNG.random((9, 7)) < 0.5
MASKS[:, 0] = True
SEEDS = np.arange(9)


def both(base, y, dtype=np.float64, **options):
    """Predictions of the engine and of scikit-learn."""
    classes = options.pop("classes", np.unique(y) if y.dtype.kind == "i" else None)
    learner = Learner(base, classes, "soft", **options)
    data = (X[:200].astype(dtype), y[:200], MASKS, X[200:].astype(dtype), SEEDS)
    return (engine(learner).predict_many(*data) for engine in (TorchEngine, GenericEngine))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    "base", [Ridge(), LinearRegression(), GaussianNB(), LinearDiscriminantAnalysis()]
)
def test_precision_is_that_of_the_data(base, dtype):
    y = LABELS if hasattr(base, "predict_proba") else HEIGHT
    found, expected = both(base, y, dtype)
    tol = 1e-6 if dtype == np.float64 else 1e-4
    np.testing.assert_allclose(found, expected, rtol=tol, atol=tol)


@pytest.mark.parametrize("base", [LinearDiscriminantAnalysis(), GaussianNB(), LinearRegression()])
def test_columns_that_are_constant_in_training(base):
    """Dummies that are rare: no rounding error may pass for their scatter."""
    rows = np.hstack([X[:, :3], np.full((230, 1), 3.3)])
    rows[200:210, 3] = 1.0
    y = LABELS if hasattr(base, "predict_proba") else HEIGHT
    learner = Learner(base, np.unique(y) if y is LABELS else None, "soft")
    data = (rows[:200], y[:200], np.ones((1, 4), dtype=bool), rows[200:], np.arange(1))
    found, expected = (one(learner).predict_many(*data) for one in (TorchEngine, GenericEngine))
    # scikit-learn's naive Bayes rounds by that much itself: squares over variances of 1e-9.
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


@pytest.fixture(params=["together", "in single precision"])
def way(request, monkeypatch):
    """Both ways to find candidates: few distances at once, and many."""
    if request.param != "together":
        monkeypatch.setattr(knn, "SMALL", 0)


@pytest.mark.parametrize("n_columns", [2, 40])
@pytest.mark.parametrize("where", [(7,), (slice(None, 80), 0), (slice(None, 500), 0)], ids=str)
@pytest.mark.parametrize("fill", [1e10, 1e16, 1e20, 1e36])
def test_neighbours_beside_rows_that_are_far_away(n_columns, where, fill, way):
    """Products round by more than the others are apart, or overflow in single precision."""
    rng = np.random.default_rng(n_columns)
    rows = rng.normal(size=(911, n_columns))
    rows[where] = fill
    y = rng.normal(size=811)
    data = (rows[:811], y, np.ones((1, n_columns), dtype=bool), rows[811:], np.arange(1))
    learner = Learner(KNeighborsRegressor(5))
    found, expected = (one(learner).predict_many(*data) for one in (TorchEngine, KNNEngine))
    np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize("n_rows", [6, 250])
def test_lengths_that_overflow(n_rows, way):
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(n_rows + 20, 8))
    rows[3, 0] = 1e160
    y = rng.normal(size=n_rows)
    data = (rows[:n_rows], y, np.ones((2, 8), dtype=bool), rows[n_rows:], np.arange(2))
    learner = Learner(KNeighborsRegressor(4))
    found, expected = (one(learner).predict_many(*data) for one in (TorchEngine, KNNEngine))
    np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize(
    "base",
    [
        MLPClassifier(hidden_layer_sizes=(4,), max_iter=3),
        MLPRegressor(hidden_layer_sizes=(4,), max_iter=3),
    ],
)
def test_networks_where_there_is_no_double_precision(base, monkeypatch):
    """As on the GPUs of Apple."""
    plain = perceptrons.on_device

    def single(values, device, dtype=None):
        found = plain(values, device, dtype)
        if found.dtype == torch.float64:
            raise TypeError("no float64")
        return found

    monkeypatch.setattr(perceptrons, "on_device", single)
    y = LABELS if hasattr(base, "predict_proba") else HEIGHT
    with pytest.warns(ConvergenceWarning):
        found, expected = both(base, y, np.float32)
    np.testing.assert_allclose(found, expected, atol=1e-4)


@pytest.mark.parametrize("n_columns", [1, 3, 40])
@pytest.mark.parametrize("offset", [0.0, 1e4])
def test_neighbours_are_those_of_the_compiled_engine(n_columns, offset, way):
    rng = np.random.default_rng(n_columns)
    rows = rng.normal(size=(3000, n_columns)) + offset
    y = rng.normal(size=2800)
    masks = rng.random((4, n_columns)) < 0.7
    masks[:, 0] = True
    data = (rows[:2800], y, masks, rows[2800:], np.arange(4))
    learner = Learner(KNeighborsRegressor(5))
    found, expected = (engine(learner).predict_many(*data) for engine in (TorchEngine, KNNEngine))
    np.testing.assert_allclose(found, expected, rtol=1e-9)


NETWORKS = [
    {"hidden_layer_sizes": (6, 4), "activation": "relu"},
    {"activation": "logistic", "batch_size": 60, "alpha": 0.3},
    {"activation": "tanh", "early_stopping": True, "validation_fraction": 0.2, "batch_size": 33},
    {"activation": "identity", "solver": "sgd", "learning_rate": "adaptive", "tol": 0.1},
    {"solver": "sgd", "learning_rate": "invscaling", "nesterovs_momentum": False, "momentum": 0.5},
    {"shuffle": False, "beta_1": 0.8, "beta_2": 0.99, "epsilon": 1e-6, "n_iter_no_change": 1},
    # More steps than their losses are kept for.
    {"batch_size": 3, "max_iter": 3},
]


KINDS = ["numbers", "classes", "outputs", "labels"]


def targets_of(kind):
    """A network for targets of some kind, the targets, and what a learner must know of them."""
    match kind:
        case "numbers":
            return MLPRegressor, HEIGHT, {}
        case "classes":
            return MLPClassifier, LABELS, {"classes": np.unique(LABELS)}
        case "outputs":
            return MLPRegressor, np.column_stack([HEIGHT, X[:, 3] ** 2]), {"n_targets": 2}
    y = np.column_stack([LABELS > 0, LABELS > 1, X[:, 1] > 0.5]).astype(int)
    return MLPClassifier, y, {"n_targets": 3, "classes": np.array([0, 1])}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("options", NETWORKS)
@pytest.mark.parametrize("kind", KINDS)
def test_networks_train_as_those_of_scikit_learn(options, kind):
    network, y, more = targets_of(kind)
    base = network(
        **{"hidden_layer_sizes": 5, "max_iter": 8, "learning_rate_init": 0.01, **options}
    )
    found, expected = both(base, y, **more)
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-7)


def test_a_network_is_a_fitted_estimator_with_its_history():
    base = MLPClassifier(6, early_stopping=True, max_iter=40, n_iter_no_change=3, tol=0.01)
    frame = pd.DataFrame(X, columns=list("abcdefg"))
    learner = Learner(base, np.unique(LABELS), "soft")
    masks = MASKS[:2]
    models = TorchEngine(learner).fit_many(frame, LABELS, masks, SEEDS[:2])
    plain = GenericEngine(learner).fit_many(frame, LABELS, masks, SEEDS[:2])
    for ours, theirs in zip(models, plain, strict=True):
        assert set(vars(theirs)) - set(vars(ours)) <= {"_optimizer"}
        for name in ("n_iter_", "t_", "n_layers_", "n_outputs_", "out_activation_", "best_loss_"):
            assert getattr(ours, name) == getattr(theirs, name), name
        np.testing.assert_allclose(ours.loss_curve_, theirs.loss_curve_, rtol=1e-7)
        np.testing.assert_allclose(ours.validation_scores_, theirs.validation_scores_)
        assert list(ours.feature_names_in_) == list(theirs.feature_names_in_)
        assert [one.shape for one in ours.coefs_] == [one.shape for one in theirs.coefs_]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("is_weighted", [False, True])
@pytest.mark.parametrize("batch_size", [3, 64])
@pytest.mark.parametrize("early_stopping", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_losses_and_scores_are_those_of_scikit_learn(kind, early_stopping, batch_size, is_weighted):
    assert len(X) > perceptrons.STEPS_PER_CHUNK * 3
    network, y, more = targets_of(kind)
    base = network(hidden_layer_sizes=4, batch_size=batch_size, alpha=0.5, max_iter=4)
    base.set_params(early_stopping=early_stopping)
    learner = Learner(base, voting="soft", passes_weight=is_weighted, **more)
    weight = np.random.default_rng(0).uniform(0.1, 3.0, len(X)) if is_weighted else None
    models, plain = fitted_by_both(learner, y, weight)
    for ours, theirs in zip(models, plain, strict=True):
        np.testing.assert_allclose(ours.loss_curve_, theirs.loss_curve_, rtol=1e-7)
        if early_stopping:
            scores = ours.validation_scores_, theirs.validation_scores_
            np.testing.assert_allclose(*scores, rtol=1e-7, atol=1e-9)


def fitted_by_both(learner, y, weight=None):
    return (
        engine(learner).fit_many(X, y, MASKS[:3], SEEDS[:3], weight)
        for engine in (TorchEngine, GenericEngine)
    )


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_weights_of_one_are_no_weights():
    base = MLPClassifier(4, early_stopping=True, validation_fraction=0.3, tol=0.0, max_iter=40)
    learner = Learner(base, np.unique(LABELS), "soft", passes_weight=True)
    plain, weighted = (
        TorchEngine(learner).fit_many(X, LABELS, MASKS, SEEDS, weight)
        for weight in (None, np.ones(len(X)))
    )
    assert len({model.n_iter_ for model in plain}) > 1
    for one, other in zip(plain, weighted, strict=True):
        assert one.validation_scores_ == other.validation_scores_
        np.testing.assert_allclose(one.coefs_[0], other.coefs_[0], rtol=1e-6, atol=1e-9)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_an_output_that_is_constant_in_the_validation_rows():
    y = np.column_stack([HEIGHT, np.ones(len(X))])
    y[7, 1] = 0.0
    base = MLPRegressor(
        hidden_layer_sizes=4, early_stopping=True, validation_fraction=0.2, max_iter=12
    )
    models, plain = fitted_by_both(Learner(base, n_targets=2), y)
    for ours, theirs in zip(models, plain, strict=True):
        np.testing.assert_allclose(ours.validation_scores_, theirs.validation_scores_, rtol=1e-6)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("failing", ["divergence", "weights of zero"])
def test_training_that_fails_is_an_error_with_early_stopping_too(failing):
    more, weight = {}, None
    if failing == "divergence":
        more = {"solver": "sgd", "learning_rate_init": 1e200, "batch_size": 50}
    else:
        more, weight = {"batch_size": 10}, np.ones(len(X))
        weight[:160] = 0.0
    base = MLPClassifier(4, early_stopping=True, max_iter=6, **more)
    learner = Learner(base, np.unique(LABELS), "soft", passes_weight=weight is not None)
    for engine in (TorchEngine, GenericEngine):
        with pytest.raises(BaseModelError):
            engine(learner).fit_many(X, LABELS, MASKS[:2], SEEDS[:2], weight)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_member_that_was_replaced_answers_for_itself():
    other = MLPRegressor("poisson", 4, max_iter=5, random_state=0).fit(X, np.exp(HEIGHT))
    assert TorchEngine(Learner(MLPRegressor(4))).predict_fitted(other, X) is None


def test_networks_that_do_not_converge_say_so():
    base = MLPRegressor(max_iter=2)
    with pytest.warns(ConvergenceWarning, match=r"Maximum iterations \(2\) reached"):
        TorchEngine(Learner(base)).predict_many(X, HEIGHT, MASKS[:2], X[:3], SEEDS[:2])


@pytest.mark.parametrize(
    ("base", "reason"),
    [
        (MLPRegressor(solver="lbfgs"), "does not support solver='lbfgs'; use 'adam' or 'sgd'"),
        (MLPRegressor(loss="poisson"), "does not support loss='poisson'"),
        (MLPRegressor(warm_start=True), "does not support warm_start=True"),
        (MLPRegressor(hidden_layer_sizes=[3.5]), r"does not support hidden_layer_sizes=\[3.5\]"),
        (MLPRegressor(hidden_layer_sizes=(3, 0)), r"does not support hidden_layer_sizes=\(3, 0\)"),
        (KNeighborsRegressor(p=1), "does not support p=1"),
        (Ridge(solver="lsqr"), "does not support solver='lsqr'"),
    ],
)
def test_it_steps_aside_with_a_reason(base, reason):
    with pytest.raises(ValueError, match=reason):
        choose_engine("torch", base, X, HEIGHT, None)


def test_too_few_rows_for_early_stopping_is_what_scikit_learn_says():
    base = MLPClassifier(early_stopping=True)
    learner = Learner(base, np.array([0, 1]), "soft")
    with pytest.raises(Exception, match="least populated class"):
        TorchEngine(learner).predict_many(
            X[:9], np.array([0] * 8 + [1]), MASKS[:1], X[:3], SEEDS[:1]
        )


def test_orders_are_those_of_scikit_learn():
    generators = [np.random.RandomState(seed) for seed in range(5)]
    shuffles = Shuffles(generators, 700, shuffles=True)
    orders = [np.arange(700)] * 5
    for epoch in range(4):
        if epoch == 2:
            shuffles.keep(np.array([1, 4]))
            generators, orders = [generators[1], generators[4]], [orders[1], orders[4]]
        orders = [
            shuffle(order, random_state=one) for order, one in zip(orders, generators, strict=True)
        ]
        np.testing.assert_array_equal(shuffles.epoch(), orders)
    shuffles.close()


FIT = {"n_estimators": 10, "max_iter": 12, "random_state": 0}


def test_data_goes_to_the_device_once(monkeypatch):
    kept, plain = [], TorchEngine._kept

    def counted(self, table, device):
        is_new = id(table) not in _TABLES.get(self, {})
        found = plain(self, table, device)
        kept.append((is_new, id(table)))
        return found

    monkeypatch.setattr(TorchEngine, "_kept", counted)
    model = PRSClassifier(KNeighborsClassifier(), engine="torch", **FIT).fit(X, LABELS)
    assert sum(is_new for is_new, _ in kept) == 1 < len(kept)
    # Nothing stays there.
    assert not any(engine in _TABLES for engine in model._engines)


@pytest.mark.parametrize("table", ["array", "single", "frame"])
def test_a_fit_is_that_of_the_compiled_engine(table):
    data = {"array": X, "single": X.astype(np.float32), "frame": pd.DataFrame(X)}[table]
    base = KNeighborsClassifier()
    slow = PRSClassifier(base, engine="knn", **FIT).fit(data, LABELS)
    fast = PRSClassifier(base, engine="torch", **FIT).fit(data, LABELS)
    assert (fast.engine_, slow.engine_) == ("torch", "knn")
    np.testing.assert_allclose(fast.alpha_, slow.alpha_, atol=1e-9)
    np.testing.assert_allclose(fast.predict_proba(data), slow.predict_proba(data), atol=1e-9)
    again = clone(fast).set_params(n_jobs=2).fit(data, LABELS)
    np.testing.assert_array_equal(again.alpha_, fast.alpha_)


def test_a_checkpoint_moves_between_devices(tmp_path):
    # Written on the default device, a GPU if there is one, and resumed on the CPU.
    path = tmp_path / "run.ckpt"
    model = PRSClassifier(KNeighborsClassifier(), engine="torch", **FIT)
    whole = clone(model).set_callbacks(Checkpoint(path, every=5)).fit(X, LABELS)
    resumed = clone(model).set_params(device="cpu").fit(X, LABELS, resume_from=path)
    np.testing.assert_allclose(resumed.alpha_, whole.alpha_, atol=1e-9)


def test_networks_as_base_models():
    base = MLPRegressor(
        hidden_layer_sizes=8, max_iter=300, tol=0.05, n_iter_no_change=3, learning_rate_init=0.01
    )
    model = PRSRegressor(base, engine="torch", **FIT).fit(X, HEIGHT)
    again = PRSRegressor(base, engine="torch", n_jobs=2, verbose=0, **FIT).fit(X, HEIGHT)
    np.testing.assert_array_equal(model.alpha_, again.alpha_)
    slow = PRSRegressor(base, engine="generic", **FIT).fit(X, HEIGHT)
    np.testing.assert_allclose(model.alpha_, slow.alpha_, atol=1e-6)
    np.testing.assert_allclose(model.predict(X), slow.predict(X), rtol=1e-5)
    assert all(isinstance(one, MLPRegressor) for one in model.estimators_)
