"""PRSNetwork with several base models: what is learned, and what it must not depend on."""

import json
import pickle

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.dummy import DummyRegressor
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler
from sklearn.svm import SVR

from crashing import CrashAt, CrashError
from engine_choice import choose_engine
from flat_parameters import flat_network
from randsub import PRSRegressor
from randsub.callbacks import Callback, Checkpoint
from randsub.cli.main import main
from randsub.datasets import make_network
from randsub.distributions import Bernoulli
from randsub.engines import Learner
from randsub.estimators import fit_data as ensemble_data
from randsub.estimators.assembly import choose_optimizer, initial_theta
from randsub.estimators.fit_data import seed_words
from randsub.exceptions import CheckpointError, InterruptedFitWarning
from randsub.io import load, save
from randsub.losses import Reference, SquaredError
from randsub.network import PRSNetwork, genie3, infer_network, rase_network, score_network, solving
from randsub.network.candidate_links import gene_generator
from randsub.network.fit_data import prepare
from randsub.network.infer import N_REPEATS
from randsub.network.portfolio import network_portfolio
from randsub.parallel import Data, Dispatcher
from randsub.solver import Problem, Solver, Target, solve

TRUTH = make_network(48, n_regulators=5, n_targets=4, n_modules=2, random_state=0)
NAMES = np.array(TRUTH.gene_names)
REGULATORS = NAMES[TRUTH.regulators]
QUICK = {"n_estimators": 12, "max_iter": 15, "n_batches": 3, "learning_rate": 0.02}
# Its predictions are so far off that it loses its share in a few epochs, unless it is faster to
# learn that it should see no regulator: a model without features predicts the mean.
USELESS = ("useless", DummyRegressor(strategy="constant", constant=30.0))
SLOW = {"learning_rate": 1e-3}
WAYS = {
    "apart": {"lam": 0.0, "block_size": 4},
    "together": {"lam": 0.01},
    "path": {"lam": "path", "lams": (0.0, 0.005, 0.02)},
}


def knn_svm():
    return [("knn", KNeighborsRegressor()), ("svm", SVR())]


def make(bases=None, **changes):
    bases = knn_svm() if bases is None else bases
    return PRSNetwork(bases, **flat_network(**{**QUICK, "random_state": 0, **changes}))


def fit(model, **options):
    return model.fit(TRUTH.expression, REGULATORS, gene_names=NAMES, **options)


def fitted(bases=None, **changes):
    return fit(make(bases, **changes))


def assert_same(one, other):
    pd.testing.assert_frame_equal(one.links(), other.links(), check_exact=True)
    pd.testing.assert_frame_equal(one.shares_, other.shares_, check_exact=True)
    for name in ("alpha_", "link_weights_", "path_link_weights_", "path_expected_sizes_"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
    assert [*one.alphas_] == [*other.alphas_]
    for name, alpha in one.alphas_.items():
        np.testing.assert_array_equal(alpha, other.alphas_[name])
    pd.testing.assert_frame_equal(
        one.path_.drop(columns="seconds"), other.path_.drop(columns="seconds"), check_exact=True
    )
    assert (one.lam_, one.stop_reason_) == (other.lam_, other.stop_reason_)
    assert one.n_models_trained_ == other.n_models_trained_


# -- parameters ------------------------------------------------------------------------------------


def test_base_models_are_parameters_by_their_names():
    model = make()
    assert set(model.get_params(deep=False)) == set(PRSNetwork().get_params(deep=False))
    assert {"knn", "svm", "knn__n_neighbors", "svm__C"} <= set(model.get_params())
    model.set_params(knn__n_neighbors=7, svm__C=10.0, solver__n_batches=4, lam=0.1)
    assert (model.estimator[0][1].n_neighbors, model.estimator[1][1].C) == (7, 10.0)
    assert (model.solver.n_batches, model.lam) == (4, 0.1)
    copy = clone(model).set_params(svm="drop")
    assert model.get_params()["svm"] != "drop"
    assert [name for name, _ in fit(copy.set_params(lam=0.0)).estimator_] == ["knn"]
    with pytest.raises(ValueError, match="Invalid parameter 'forest'"):
        model.set_params(forest=Ridge())


# -- what a fit says -------------------------------------------------------------------------------


@pytest.mark.parametrize("way", WAYS)
def test_what_a_fit_says_of_its_base_models(way):
    model = fitted(max_iter=60, **WAYS[way])
    scores = score_network(model, TRUTH.gold, gene_names=NAMES)
    assert scores.aupr > 1.5 * scores.n_edges / scores.n_pairs
    assert [(name, type(base)) for name, base in model.estimator_] == [
        ("knn", KNeighborsRegressor),
        ("svm", SVR),
    ]
    assert model.estimator_[0][1] is not model.estimator[0][1]
    assert model.shares_.index.tolist() == NAMES.tolist()
    assert model.shares_.index.name == "target"
    assert model.shares_.columns.tolist() == ["knn", "svm"] == [*model.alphas_]
    np.testing.assert_allclose(model.shares_.sum(axis=1), 1.0)
    # They are learned for each target.
    assert np.ptp(model.shares_["knn"]) > 0.01
    mean = sum(model.shares_[name].to_numpy() * alpha for name, alpha in model.alphas_.items())
    np.testing.assert_allclose(model.alpha_, mean)
    assert (model.alphas_["knn"] != model.alphas_["svm"]).any()
    np.testing.assert_allclose(model.alpha_.sum(axis=0), model.expected_sizes_)
    for alpha in (model.alpha_, *model.alphas_.values()):
        assert alpha.shape == (5, 9)
        assert (np.diagonal(alpha) == 0.0).all()
    shares = model.history_[["share_knn", "share_svm"]]
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)
    assert shares.iloc[0].tolist() == [0.5, 0.5]
    # Batches of a round, then those of the validation error, of two base models.
    assert model.history_["n_models_trained"].iloc[0] % (2 * 12 * 3) == 0


def test_the_mean_is_that_of_alpha_over_the_epochs():
    alphas = []

    class Watch(Callback):
        def on_epoch_end(self, state):
            alphas.append(state.alpha)

    model = fit(make(lam=0.01).set_callbacks(Watch()))
    order = [sorted(NAMES).index(name) for name in NAMES]
    np.testing.assert_allclose(model.link_weights_, np.mean(alphas, axis=0)[order].T)
    ranked = fitted(lam=0.01, ranking="alpha")
    np.testing.assert_array_equal(ranked.link_weights_, model.alpha_)


def test_one_base_model_in_a_list_is_that_base_model():
    for way in WAYS.values():
        alone = fitted(KNeighborsRegressor(), **way)
        listed = fitted([("knn", KNeighborsRegressor()), ("svm", "drop")], **way)
        assert (listed.shares_ == 1.0).all(axis=None)
        assert listed.shares_.columns.tolist() == ["knn"]
        np.testing.assert_array_equal(listed.alphas_["knn"], alone.alpha_)
        pd.testing.assert_frame_equal(listed.links(), alone.links(), check_exact=True)
        history = listed.history_.drop(columns="share_knn")
        pd.testing.assert_frame_equal(history, alone.history_, check_exact=True)
        assert not {"shares_", "alphas_"} & set(vars(alone))


def test_nothing_of_a_mix_is_left_after_a_fit_without():
    model = fitted(lam=0.0)
    fit(model.set_params(estimator=Ridge()))
    assert not {"shares_", "alphas_"} & set(vars(model))
    assert isinstance(model.estimator_, Ridge)


def test_a_target_without_candidates_has_no_shares():
    model = make(lam=0.0).fit(TRUTH.expression, ["R1"], gene_names=NAMES, targets=["T2", "R1"])
    assert model.shares_.index.tolist() == ["T2", "R1"]
    assert model.shares_.loc["R1"].isna().all()
    assert model.shares_.loc["T2"].sum() == pytest.approx(1.0)
    assert [alpha[0, 1] for alpha in model.alphas_.values()] == [0.0, 0.0]


def test_the_function_lists_the_links_of_the_estimator():
    parameters = flat_network(**{**QUICK, "random_state": 0})
    links = infer_network(
        TRUTH.expression, REGULATORS, knn_svm(), 0.01, gene_names=NAMES, **parameters
    )
    expected = make(lam=0.01, mixing="apart", n_repeats=N_REPEATS)
    pd.testing.assert_frame_equal(links, fit(expected).links())


# -- the same as solving target by target ----------------------------------------------------------


def scaled():
    """The data of a fit, and its seed."""
    seed = seed_words(0)
    rng = np.random.default_rng(seed)
    options = {"gene_names": NAMES, "validation_fraction": 0.1, "rng": rng}
    return prepare(TRUTH.expression, REGULATORS, **options), seed.tolist()


def test_targets_apart_are_mixtures_of_their_own():
    model, (data, seed) = make(lam=0.0), scaled()
    network, solver = fit(model), model.solver
    engines = [
        choose_engine("auto", base, data.X, data.Y[:, 0], None)(Learner(base))
        for _, base in knn_svm()
    ]
    numbers = {"n_masks": 12, "n_train": len(data.train_rows), "n_parameters": 5}
    settings = solver.settings(**numbers, objective="ensemble", max_samples=None, max_iter=15)
    level = initial_theta("auto", 12, 5, None)
    for g, name in enumerate(data.candidates.targets):
        target = Target(
            y=data.Y[:, g],
            encoded=data.Y[:, [g]],
            validation=data.Y_val[np.ix_(data.val_rows, [g])],
            train_rows=data.train_rows,
            val_rows=data.val_rows,
            val_weight=np.ones(len(data.val_rows)),
            strata=None,
            reference=Reference(),
        )
        problem = Problem(
            distribution=Bernoulli(5),
            loss=SquaredError(),
            penalty=None,
            optimizer=choose_optimizer(solver, Bernoulli(5)),
            dispatcher=Dispatcher(engines, Data(data.X, data.X_val, None, {})),
            targets=[target],
            sample_weight=np.ones(len(data.X)),
            n_bases=2,
        )
        theta = np.where(data.candidates.allowed[[g, g]], level, 0.0)
        state = solve(problem, settings, theta, [gene_generator(name, seed)])
        place = NAMES.tolist().index(name)
        # Regulators are the first genes, in the order of their names.
        np.testing.assert_array_equal(network.alpha_[:, place], state.best_alpha[0])
        np.testing.assert_array_equal(network.shares_.loc[name], state.best_shares[0])
        for alpha, expected in zip(network.alphas_.values(), state.best_theta, strict=True):
            np.testing.assert_array_equal(alpha[:, place], expected)


def test_targets_apart_are_those_of_the_regressor(monkeypatch):
    """Up to the units of the loss, which a network takes from all samples at once."""
    bases = [("knn", KNeighborsRegressor()), ("ridge", Ridge())]
    model, (data, seed) = make(bases, lam=0.0), scaled()
    network = fit(model)
    for g in (0, 6, 8):
        name = data.candidates.targets[g]
        generators = [gene_generator(name, seed)]
        monkeypatch.setattr(ensemble_data, "repeat_generators", lambda *_, g=generators: g)
        level = initial_theta("auto", 12, 5, None)[0]
        regressor = PRSRegressor(
            bases,
            n_estimators=12,
            max_iter=15,
            solver=model.solver,
            standardize=False,
            n_repeats=1,
            alpha_init=np.where(data.candidates.allowed[g], level, 0.0),
        )
        train, val = data.train_rows, data.val_rows
        regressor.fit(data.X[train], data.Y[train, g], X_val=data.X[val], y_val=data.Y[val, g])
        place = NAMES.tolist().index(name)
        np.testing.assert_allclose(network.alpha_[:, place], regressor.alpha_, atol=1e-9)
        np.testing.assert_allclose(network.shares_.loc[name], [*regressor.shares_.values()])


def test_a_target_alone_is_what_it_is_among_others():
    whole = fitted(lam=0.0)
    alone = fit(make(lam=0.0), targets=["T3", "R2"])
    pd.testing.assert_frame_equal(alone.shares_, whole.shares_.loc[["T3", "R2"]], check_exact=True)
    for name, alpha in alone.alphas_.items():
        np.testing.assert_array_equal(alpha, whole.alphas_[name][:, [7, 1]])


def test_the_validation_error_is_that_of_fresh_mixtures():
    """Ridge on all regulators: with alpha at 1 all models of a base model are the same."""
    X, X_val = TRUTH.expression[:36], TRUTH.expression[36:]
    bases = [("weak", Ridge(1.0)), ("strong", Ridge(100.0))]
    model = make(bases, lam=1e-9, alpha_init=1.0 - 1e-12, max_iter=1, n_revivals=0)
    model.set_params(solver__learning_rate=1e-9)
    mean, deviation = X.mean(axis=0), X.std(axis=0)
    A, B = (X - mean) / deviation, (X_val - mean) / deviation
    expected = []
    for g in range(9):
        held = [j for j in range(5) if j != g]
        outputs = [r.fit(A[:, held], A[:, g]).predict(B[:, held]) for _, r in bases]
        expected.append((B[:, g] - np.mean(outputs, axis=0)) ** 2)
    model.fit(X, REGULATORS, X_val, gene_names=NAMES)
    assert (model.shares_ == 0.5).all(axis=None)
    assert model.path_["validation_error"].item() == pytest.approx(np.mean(expected))
    # 2 base models of 9 targets: 12 masks in 3 batches, and once more for the error.
    assert model.n_models_trained_ == 2 * 9 * 12 * (3 + 1)


@pytest.mark.parametrize("lam", [0.0, 0.01])
def test_without_validation_samples_the_held_out_batches_judge(lam):
    model = fitted(lam=lam, validation_fraction=None, max_samples=20)
    assert 0.2 < model.path_["validation_error"].item() < 1.5
    history = model.history_
    np.testing.assert_allclose(history["objective"], history["validation_objective"])


# -- what the result must not depend on ------------------------------------------------------------


@pytest.mark.parametrize("way", WAYS)
def test_workers_change_nothing(way):
    assert_same(fitted(**WAYS[way], n_jobs=2), fitted(**WAYS[way], n_jobs=1))


def test_threads_and_processes_at_the_same_time():
    """The first base model is trained by threads, the second by processes."""
    bases = [("knn", KNeighborsRegressor()), ("pipe", make_pipeline(MinMaxScaler(), Ridge()))]
    options = {"lam": 0.01, "max_iter": 2}
    with joblib.parallel_config(backend="loky", n_jobs=2):
        assert_same(fitted(bases, **options), fitted(bases, **options, n_jobs=1))


@pytest.mark.parametrize("block_size", [1, 4])
def test_blocks_change_nothing(block_size):
    bases = [*knn_svm(), USELESS]
    options = {"lam": 0.0, "max_iter": 30, **SLOW}
    blocks = fitted(bases, block_size=block_size, **options)
    assert_same(blocks, fitted(bases, **options))
    assert blocks.history_.index.get_level_values("block").max() == -(-9 // block_size) - 1


@pytest.mark.parametrize("way", WAYS)
def test_the_order_of_the_genes_does_not_matter(way):
    order = np.random.default_rng(0).permutation(9)
    one, other = fitted(**WAYS[way]), make(**WAYS[way])
    other.fit(TRUTH.expression[:, order], REGULATORS[::-1], gene_names=NAMES[order])
    np.testing.assert_array_equal(one.alpha_[::-1][:, order], other.alpha_)
    pd.testing.assert_frame_equal(one.shares_.iloc[order], other.shares_, check_exact=True)
    for name, alpha in one.alphas_.items():
        np.testing.assert_array_equal(alpha[::-1][:, order], other.alphas_[name])


# -- penalties and paths ---------------------------------------------------------------------------


def test_a_stronger_penalty_leaves_fewer_regulators():
    sizes = [fitted(lam=lam, max_iter=60).expected_sizes_.sum() for lam in (0.001, 0.02, 0.1)]
    assert sizes[0] > 1.1 * sizes[1] > 1.21 * sizes[2]


@pytest.mark.parametrize("optimizer", ["adam", "prox_adam"])
def test_each_value_begins_where_the_one_before_ended(monkeypatch, optimizer):
    cases, ends, states = [], [], []

    def watched(case, *args):
        cases.append(case)
        ends.append(solve_together(case, *args))
        return ends[-1]

    class Watch(Callback):
        def on_start(self, settings, state):
            states.append([state])

        def on_epoch_end(self, state):
            states[-1].append(state)

    solve_together = solving.solve_together
    monkeypatch.setattr(solving, "solve_together", watched)
    bases = [*knn_svm(), USELESS]
    model = make(bases, **WAYS["path"], max_iter=45, optimizer=optimizer, **SLOW)
    fit(model.set_callbacks(Watch()))
    barred = cases[0].theta == 0.0
    assert barred.sum() == 3 * 5
    steps = zip(cases[1:], ends[:-1], ends[1:], states[1:], strict=True)
    for case, end, following, (first, second, *_) in steps:
        np.testing.assert_array_equal(
            case.theta, np.where(barred, 0.0, np.maximum(end.theta, 0.02))
        )
        np.testing.assert_array_equal(first.shares, end.shares)
        # As after a revival, shares are learned from the first epoch on.
        assert (second.shares != first.shares).any()
        # What was dropped stays so, and is not trained.
        dropped = end.shares == 0.0
        assert dropped[:, 2].all()
        assert (following.shares[dropped] == 0.0).all()
        assert [not rounds for rounds in first.rounds] == dropped.ravel().tolist()
    chosen = ends[model.path_["lam"].tolist().index(model.lam_)]
    order = [sorted(NAMES).index(name) for name in NAMES]
    np.testing.assert_array_equal(model.shares_.to_numpy(), chosen.shares[order])


def test_the_links_of_every_coefficient_are_kept():
    model = fitted(**WAYS["path"])
    assert model.path_link_weights_.shape == (3, 5, 9)
    np.testing.assert_allclose(model.path_expected_sizes_.mean(axis=1), model.path_["mean_size"])
    pd.testing.assert_frame_equal(model.network_at(model.lam_).links(), model.links())
    shorter = fitted(lam="path", lams=(0.0, 0.005))
    pd.testing.assert_frame_equal(
        shorter.network_at(0.005).links(), model.network_at(0.005).links(), check_exact=True
    )


def test_what_predicts_badly_is_dropped_and_not_trained_any_more():
    model = fitted([*knn_svm(), USELESS], lam=0.0, max_iter=45, **SLOW)
    assert (model.shares_["useless"] == 0.0).all()
    history = model.history_
    assert history["share_useless"].iloc[-1] == 0.0
    gone = (history["share_useless"] == 0.0).shift(fill_value=False)
    n_trained = history["n_models_trained"].diff()
    assert (n_trained[gone] <= 9 * 2 * 12 * 3).all()
    # Two base models are left to compute the error.
    last = history["n_models_trained"].iloc[-1]
    assert model.n_models_trained_ == last + 9 * 2 * 12


# -- checkpoints and interruptions -----------------------------------------------------------------


class CrashAfter(Callback):
    """Ends the fit after so many epochs, of whatever training."""

    def __init__(self, n_epochs):
        self.left = n_epochs

    def on_epoch_end(self, state):
        self.left -= 1
        if self.left == 0:
            raise CrashError


@pytest.mark.parametrize("way", WAYS)
def test_a_resumed_fit_ends_bit_for_bit_like_an_uninterrupted_one(tmp_path, way):
    path = tmp_path / "run.ckpt"
    model = make([*knn_svm(), USELESS], **WAYS[way], max_iter=24, n_revivals=1, **SLOW)
    whole = fit(clone(model))
    assert (whole.shares_["useless"] == 0.0).all()
    n_epochs = len(whole.history_)
    for stop in (2, n_epochs - 1):
        with pytest.raises(CrashError):
            fit(clone(model).set_callbacks(Checkpoint(path), CrashAfter(stop)))
        resumed = fit(clone(model).set_params(n_jobs=2), resume_from=path)
        assert_same(resumed, whole)
        pd.testing.assert_frame_equal(resumed.history_, whole.history_, check_exact=True)


def test_a_checkpoint_of_other_base_models_is_refused(tmp_path):
    path = tmp_path / "run.ckpt"
    fit(make(lam=0.0).set_callbacks(Checkpoint(path)))
    for change in ({"svm": "drop"}, {"svm__C": 2.0}, {"estimator": knn_svm()[::-1]}):
        with pytest.raises(CheckpointError, match="estimator was"):
            fit(make(lam=0.0).set_params(**change), resume_from=path)


def test_ctrl_c_keeps_the_best_mixture_so_far():
    model = make(lam=0.01).set_callbacks(CrashAt(9, KeyboardInterrupt))
    with pytest.warns(InterruptedFitWarning, match="after epoch 9 of 15"):
        fit(model)
    assert model.stop_reason_ == "interrupted"
    np.testing.assert_allclose(model.shares_.sum(axis=1), 1.0)


# -- files and the command line --------------------------------------------------------------------


def test_saving_and_pickling(tmp_path):
    model = fitted(**WAYS["path"])
    save(model, tmp_path / "network.skops")
    for again in (load(tmp_path / "network.skops"), pickle.loads(pickle.dumps(model))):
        assert_same(again, model)
        pd.testing.assert_frame_equal(again.history_, model.history_)
        assert repr(again.estimator_) == repr(model.estimator_)
        assert_same(fit(again), model)


def test_the_command(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pd.DataFrame(TRUTH.expression, columns=NAMES).to_csv("e.csv", index=False)
    words = ["network", "e.csv", "-o", "l.csv", "--lam", "0.01", "--epochs", "15", "--seed", "0"]
    words += ["--regulators", ",".join(REGULATORS), "--param", "n_estimators=12"]
    words += ["--param", "n_batches=3", "--param", "learning_rate=0.02", "--base", "knn,svm"]
    words += ["--param", "mixing=shares", "--repeats", "1"]
    assert main([*words, "--base-param", "knn__n_neighbors=7", "-q", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    expected = fitted(lam=0.01).set_params(knn__n_neighbors=7)
    expected = expected.fit(pd.read_csv("e.csv"), REGULATORS)
    assert told["shares"] == pytest.approx(expected.shares_.mean().to_dict())
    links = pd.read_csv("l.csv")
    np.testing.assert_allclose(links["weight"], expected.links()["weight"])
    words.append("--force")
    assert main([*words, "--base-param", "n_neighbors=7"]) == 1
    assert "which of knn, svm it belongs to" in capsys.readouterr().err
    assert main(words) == 0
    assert "Mean shares of the base models: knn 0." in capsys.readouterr().err


# -- errors ----------------------------------------------------------------------------------------


class Untouchable(RegressorMixin, BaseEstimator):
    """A base model that must not be trained."""

    def fit(self, X, y):
        pytest.fail("training began")

    def predict(self, X):
        pytest.fail("training began")


ONE = ("one", Untouchable())
BAD = {
    "empty": ([], r"pairs of a name and an estimator, such as .*; got \[\]"),
    "not a pair": ([Untouchable()], r"needs pairs .*; got \[Untouchable\(\)\]"),
    "no name": ([ONE, ("", Untouchable())], "needs pairs of a name and an estimator"),
    "twice": ([ONE, ONE], r"not unique: \['one', 'one'\]"),
    "parameter": ([("lam", Untouchable())], r"conflict .* arguments: \['lam'\]"),
    "class": ([ONE, ("two", SVR)], r"base model 'two' must be an estimator.*got <class .*SVR'>"),
    "all dropped": ([("one", "drop")], r"dropped: \['one'\]"),
    "classifier": ([ONE, ("two", LogisticRegression())], "needs a regressor as base model"),
    "parameter of one": ([ONE, ("two", SVR(C=-1.0))], "'C' parameter of SVR must be"),
    "tuple": ((ONE, ONE), "'estimator' parameter of PRSNetwork must be .*'list'"),
    "word": ("all", "'estimator' parameter of PRSNetwork must be .*'list'"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_lists_are_named_before_any_training(name):
    bases, message = BAD[name]
    model = make(bases)
    with pytest.raises((ValueError, TypeError), match=message):
        fit(model)
    assert not hasattr(model, "alpha_")


def test_auto_is_a_mix_that_suits_the_samples():
    model = fitted("auto", lam=0.01)
    assert [name for name, _ in model.estimator_] == [*model.shares_] == ["knn", "svm", "tree"]
    assert set(model.engine_) == {"knn", "svm", "tree"}
    assert [*network_portfolio(10**5)] == ["tree"]
    limited = fitted("auto", lam=0.01, max_samples=20)
    assert [*limited.shares_] == ["knn", "svm", "tree"]


def test_an_engine_that_is_not_for_all():
    with pytest.raises(ValueError, match=r"engine='knn' cannot train Untouchable\(\)"):
        fitted([("knn", KNeighborsRegressor()), ONE], engine="knn")


def test_other_methods_have_a_single_base_model():
    with pytest.raises(ValueError, match=r"list of base models is for .* and PRSNetwork\)"):
        rase_network(TRUTH.expression, estimator=[ONE])
    with pytest.raises(TypeError, match="estimator"):
        genie3(TRUTH.expression, estimator=[ONE])


def test_solver_of_a_mix_that_has_none():
    model = PRSNetwork(knn_svm()).set_params(solver__n_batches=4, svm__C=2.0)
    assert model.solver.n_batches == 4
    assert model.solver.learning_rate == Solver.for_networks().learning_rate
