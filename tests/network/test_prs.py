"""PRSNetwork: what is learned, and what it must not depend on."""

import sys
import tracemalloc
from types import SimpleNamespace

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.neighbors import KNeighborsRegressor
from sklearn.svm import SVR

from flat_parameters import flat_network
from randsub.callbacks import Checkpoint
from randsub.datasets import make_network
from randsub.estimators.fit_data import split_validation
from randsub.exceptions import InterruptedFitWarning
from randsub.network import PRSNetwork, infer_network, score_network, solving
from randsub.network import repeats as repeats_module
from randsub.network import run as network_run
from randsub.network.fit_data import prepare
from randsub.network.infer import LAMS, N_REPEATS
from randsub.network.path import choose, path_table
from randsub.network.solving import Solution
from randsub.solver import Solver

QUICK = {"n_estimators": 30, "max_iter": 24, "n_batches": 3, "random_state": 0}
PATH = {"lam": "path", "lams": (0.004, 0.0, 0.02)}
TRUTH = make_network(60, n_regulators=7, n_targets=8, n_modules=2, random_state=0)
NAMES = np.array(TRUTH.gene_names)
REGULATORS = NAMES[TRUTH.regulators]


def fitted(table=TRUTH.expression, names=NAMES, regulators=REGULATORS, **parameters):
    model = PRSNetwork(
        **flat_network(**{**QUICK, "estimator": KNeighborsRegressor(), **parameters})
    )
    return model.fit(table, regulators, gene_names=names)


def assert_same_links(one, other):
    pd.testing.assert_frame_equal(one.links(), other.links(), check_exact=True)


# -- learning ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "parameters", [{"lam": 0.0}, {"lam": 0.005}, {**PATH}], ids=["apart", "together", "path"]
)
@pytest.mark.parametrize("estimator", [None, SVR(), Ridge()], ids=repr)
def test_true_links_are_found(estimator, parameters):
    model = fitted(estimator=estimator, **{**parameters, "max_iter": 90})
    scores = score_network(model, TRUTH.gold, gene_names=NAMES)
    assert scores.aupr > 2.5 * scores.n_edges / scores.n_pairs
    assert scores.n_pairs == 7 * 14
    assert model.alpha_.shape == model.link_weights_.shape == (7, 15)
    assert ((model.alpha_ >= 0.0) & (model.alpha_ <= 1.0)).all()
    np.testing.assert_allclose(model.alpha_.sum(axis=0), model.expected_sizes_)
    # Regulators are the first genes.
    assert (np.diagonal(model.alpha_) == 0.0).all()
    assert (np.diagonal(model.link_weights_) == 0.0).all()
    expected = KNeighborsRegressor if estimator is None else type(estimator)
    assert isinstance(model.estimator_, expected)


def test_a_stronger_penalty_leaves_fewer_regulators():
    sizes = [fitted(lam=lam, max_iter=60).expected_sizes_.sum() for lam in (0.001, 0.02, 0.1)]
    assert sizes[0] > 1.2 * sizes[1] > 1.44 * sizes[2]


def test_the_penalty_gathers_links_at_few_regulators():
    """Rows of alpha die out as wholes: fewer regulators with links at equal numbers of links."""

    def n_used(model):
        return (model.alpha_.max(axis=1) > 0.01).sum()

    free = fitted(lam=0.0, max_iter=120, n_revivals=0)
    coupled = fitted(lam=0.1, max_iter=120, n_revivals=0)
    assert n_used(coupled) < n_used(free) == 7


def test_links_are_ranked_by_the_mean_or_by_alpha():
    mean, plain = fitted(lam=0.0), fitted(lam=0.0, ranking="alpha")
    np.testing.assert_array_equal(mean.alpha_, plain.alpha_)
    np.testing.assert_array_equal(plain.link_weights_, plain.alpha_)
    assert (mean.link_weights_ != mean.alpha_).any()
    top = mean.links(1)
    assert top["weight"].item() == mean.link_weights_.max()


def test_the_mean_is_that_over_the_epochs(monkeypatch):
    thetas = []

    class Watching(network_run.Mean):
        def on_epoch_end(self, state):
            thetas.append(state.theta)
            super().on_epoch_end(state)

    monkeypatch.setattr(network_run, "Mean", Watching)
    model = fitted(lam=0.01)
    assert len(thetas) == 24
    order = [sorted(NAMES).index(name) for name in NAMES]
    np.testing.assert_allclose(model.link_weights_, np.mean(thetas, axis=0)[order].T)


# -- what the result must not depend on ----------------------------------------------------------


@pytest.mark.parametrize("parameters", [{"lam": 0.0}, {"lam": 0.005}, PATH], ids=str)
@settings(max_examples=3, deadline=None, derandomize=True)
@given(order=st.permutations(range(15)))
def test_permuting_named_genes_permutes_the_answer_and_nothing_else(parameters, order):
    one = fitted(**parameters)
    order = np.array(order)
    shuffled = [name for name in NAMES[order] if name in REGULATORS]
    other = fitted(TRUTH.expression[:, order], NAMES[order], shuffled, **parameters)
    rows = [REGULATORS.tolist().index(name) for name in shuffled]
    np.testing.assert_array_equal(one.alpha_[rows][:, order], other.alpha_)
    np.testing.assert_array_equal(one.link_weights_[rows][:, order], other.link_weights_)
    np.testing.assert_array_equal(one.expected_sizes_[order], other.expected_sizes_)
    assert one.lam_ == other.lam_
    columns = ["lam", "validation_error", "standard_error", "mean_size", "n_models"]
    pd.testing.assert_frame_equal(one.path_[columns], other.path_[columns], check_exact=True)
    pd.testing.assert_frame_equal(one.history_, other.history_, check_exact=True)
    assert_same_links(one, other)


@pytest.mark.parametrize("block_size", [1, 4, 15])
def test_targets_apart_do_not_know_of_each_other(block_size):
    whole = fitted(lam=0.0, block_size=100)
    blocks = fitted(lam=0.0, block_size=block_size)
    np.testing.assert_array_equal(whole.alpha_, blocks.alpha_)
    assert_same_links(whole, blocks)
    assert whole.n_models_trained_ == blocks.n_models_trained_
    assert blocks.history_.index.get_level_values("block").max() == -(-15 // block_size) - 1


def test_a_target_alone_has_the_links_it_has_among_others():
    whole = fitted(lam=0.0)
    alone = PRSNetwork(
        **flat_network(**{**QUICK, "estimator": KNeighborsRegressor(), "lam": 0.0})
    ).fit(TRUTH.expression, REGULATORS, gene_names=NAMES, targets=["T3", "R2"])
    np.testing.assert_array_equal(alone.target_names_, ["T3", "R2"])
    np.testing.assert_array_equal(alone.alpha_, whole.alpha_[:, [9, 1]])


@pytest.mark.parametrize("parameters", [{"lam": 0.0}, {"lam": 0.005}], ids=str)
def test_workers_change_nothing(parameters):
    assert_same_links(fitted(**parameters), fitted(**parameters, n_jobs=2))


def test_seeds_and_names_matter():
    weights = fitted(lam=0.0).link_weights_
    assert (weights != fitted(lam=0.0, random_state=1).link_weights_).any()
    renamed = np.array([f"X{name}" for name in NAMES])
    other = fitted(names=renamed, regulators=renamed[TRUTH.regulators], lam=0.0)
    assert (weights != other.link_weights_).any()


def test_all_inputs_give_the_same_links():
    X = np.where(TRUTH.expression > 0.0, TRUTH.expression, 0.0)
    expected = fitted(X, lam=0.004)
    for table in (sparse.csr_matrix(X), sparse.csc_array(X), np.asfortranarray(X), X.tolist()):
        assert_same_links(expected, fitted(table, lam=0.004))
    for frame in (pd.DataFrame(X, columns=NAMES), pl.DataFrame(X, schema=NAMES.tolist())):
        assert_same_links(expected, fitted(frame, None, lam=0.004))
    assert_same_links(expected, fitted(X, regulators=TRUTH.regulators, lam=0.004))
    assert_same_links(expected, fitted(X, regulators=np.arange(15) < 7, lam=0.004))


def test_names_that_can_be_read_once_only(tmp_path):
    X, X_val = TRUTH.expression[:45], TRUTH.expression[45:]
    model = PRSNetwork(**flat_network(**{**QUICK, "estimator": KNeighborsRegressor(), "lam": 0.0}))
    targets = ["T1", "T2"]
    expected = clone(model).fit(X, REGULATORS, X_val, gene_names=NAMES, targets=targets)
    # A checkpoint reads the data once more.
    watched = clone(model).set_callbacks(Checkpoint(tmp_path / "run.ckpt"))
    other = watched.fit(
        X, iter(REGULATORS), X_val, gene_names=iter(NAMES.tolist()), targets=iter(targets)
    )
    assert_same_links(expected, other)


class StandIn:
    """The part of AnnData that is read; the library itself holds pandas back."""

    isbacked = False

    def __init__(self, X, var, layers=None):
        self.X, self.var_names, self.layers = X, var.index, layers or {}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", ["stand-in", "anndata"])
def test_an_annotated_matrix_gives_the_same_links(kind, monkeypatch):
    if kind == "stand-in":
        monkeypatch.setitem(sys.modules, "anndata", SimpleNamespace(AnnData=StandIn))
    anndata = pytest.importorskip("anndata")
    X = np.where(TRUTH.expression > 0.0, TRUTH.expression, 0.0)
    expected = fitted(X, lam=0.0)
    var = pd.DataFrame(index=NAMES)
    for make in (np.asarray, sparse.csr_matrix):
        table = anndata.AnnData(X=make(X), var=var)
        assert_same_links(expected, fitted(table, None, lam=0.0))
        table = anndata.AnnData(X=make(X * 0.0), var=var, layers={"log": make(X)})
        model = PRSNetwork(
            **flat_network(**{**QUICK, "estimator": KNeighborsRegressor(), "lam": 0.0})
        )
        assert_same_links(expected, model.fit(table, REGULATORS, layer="log"))


def test_units_of_expression_do_not_matter():
    scale = 2.0 ** np.arange(-7, 8)
    one, other = fitted(lam=0.0), fitted(TRUTH.expression * scale, lam=0.0)
    np.testing.assert_allclose(one.link_weights_, other.link_weights_)


# -- validation and the path ---------------------------------------------------------------------


def test_validation_samples_of_ones_own():
    X, X_val = TRUTH.expression[:45], TRUTH.expression[45:]
    model = PRSNetwork(**flat_network(**{**QUICK, "estimator": KNeighborsRegressor(), "lam": 0.0}))
    one = clone(model).fit(X, REGULATORS, X_val, gene_names=NAMES)
    frame = pd.DataFrame(X_val, columns=NAMES)[NAMES[::-1]]
    other = clone(model).fit(pd.DataFrame(X, columns=NAMES), REGULATORS, frame)
    assert_same_links(one, other)
    mixed = clone(model).fit(
        X, REGULATORS, pl.DataFrame(X_val, schema=NAMES.tolist()), gene_names=NAMES
    )
    assert_same_links(one, mixed)
    # Alpha is chosen on them.
    third = clone(model).fit(X, REGULATORS, X_val[::-1] * 0.5, gene_names=NAMES)
    assert (third.alpha_ != one.alpha_).any()


def test_the_validation_error_is_that_of_fresh_ensembles():
    """Ridge on all regulators: with alpha at 1 every model of the ensemble is the same."""
    X, X_val = TRUTH.expression[:45], TRUTH.expression[45:]
    model = PRSNetwork(
        Ridge(),
        **flat_network(
            lam=1e-9, alpha_init=1.0 - 1e-12, **{**QUICK, "max_iter": 1, "n_revivals": 0}
        ),
    )
    model.fit(X, REGULATORS, X_val, gene_names=NAMES)
    mean, deviation = X.mean(axis=0), X.std(axis=0)
    A, B = (X - mean) / deviation, (X_val - mean) / deviation
    errors = []
    for g in range(15):
        held = [j for j in range(7) if j != g]
        prediction = Ridge().fit(A[:, held], A[:, g]).predict(B[:, held])
        errors.append((B[:, g] - prediction) ** 2)
    errors = np.mean(errors, axis=0)
    row = model.path_.iloc[0]
    assert model.alpha_.max() > 0.99
    assert row["validation_error"] == pytest.approx(errors.mean(), rel=0.03)
    assert row["standard_error"] == pytest.approx(errors.std(ddof=1) / np.sqrt(15), rel=0.1)


@pytest.mark.parametrize("lam", [0.0, 0.005])
def test_without_validation_samples_the_held_out_batches_judge(lam):
    model = fitted(lam=lam, validation_fraction=None)
    error = model.path_["validation_error"].item()
    assert 0.3 < error < 1.3
    history = model.history_
    np.testing.assert_allclose(history["objective"], history["validation_objective"])


def test_a_path_tries_all_values_from_the_weakest_on():
    model = fitted(**PATH, n_revivals=2)
    assert model.path_["lam"].tolist() == [0.0, 0.004, 0.02]
    epochs = model.history_.groupby("lam").size()
    assert epochs.tolist() == [24, 8, 8]
    assert model.lam_ in (0.0, 0.004, 0.02)
    chosen = model.path_[model.path_["lam"] == model.lam_]
    assert model.expected_sizes_.mean() == pytest.approx(chosen["mean_size"].item())
    assert model.n_models_trained_ == model.path_["n_models"].sum()


def test_each_value_begins_where_the_one_before_ended(monkeypatch):
    starts, ends = [], []
    original = solving.solve_together

    def watched(case, *args):
        starts.append(case.theta)
        ends.append(original(case, *args))
        return ends[-1]

    monkeypatch.setattr(solving, "solve_together", watched)
    fitted(**PATH)
    barred = starts[0] == 0.0
    assert barred.sum() == 7
    for begin, end in zip(starts[1:], ends[:-1], strict=True):
        np.testing.assert_array_equal(begin, np.where(barred, 0.0, np.maximum(end.theta, 0.02)))


def solution(lam, errors):
    nothing = np.zeros((1, 1))
    return Solution(lam, nothing, nothing, nothing, np.array(errors), pd.DataFrame(), 0, 0.0, "")


def test_the_choice_on_the_path():
    solutions = [
        solution(0.0, [1.0, 2.0, 3.0]),
        solution(0.1, [0.9, 1.9, 2.9]),
        solution(0.2, [1.4, 2.4, 3.4]),
        solution(0.3, [1.5, 2.5, 3.5]),
    ]
    # The lowest is 1.9 with a standard error of 1 / sqrt(3) = 0.577.
    assert solutions[1].standard_error == pytest.approx(3**-0.5)
    path = path_table(solutions)
    assert path["lam"][choose(path, "lowest")] == 0.1
    assert path["lam"][choose(path, "one_se")] == 0.2
    assert solution(0.0, [1.0]).standard_error == 0.0


def test_the_path_keeps_the_links_of_every_coefficient():
    model = fitted(**PATH)
    assert model.path_link_weights_.shape == (len(model.path_), 7, 15)
    np.testing.assert_allclose(model.path_expected_sizes_.mean(axis=1), model.path_["mean_size"])
    chosen = model.network_at(model.lam_)
    pd.testing.assert_frame_equal(chosen.links(), model.links())
    np.testing.assert_array_equal(chosen.expected_sizes, model.expected_sizes_)
    assert chosen.n_models_trained < model.n_models_trained_
    # A path that ends earlier has the same links as far as it goes.
    shorter = fitted(lam="path", lams=(0.0, 0.004))
    for lam in (0.0, 0.004):
        pd.testing.assert_frame_equal(
            shorter.network_at(lam).links(), model.network_at(lam).links(), check_exact=True
        )
    assert (model.network_at(0.0).alpha != model.network_at(0.02).alpha).any()
    with pytest.raises(ValueError, match=r"lam=0.7 was not tried; the path has 0"):
        model.network_at(0.7)
    with pytest.raises(ValueError, match=r"lam='a' was not tried; the path has 0"):
        model.network_at("a")


def test_one_value_is_no_path():
    assert fitted(lam=0.004).lam_ == fitted(lam="path", lams=[0.004]).lam_ == 0.004
    assert_same_links(fitted(lam=0.004), fitted(lam="path", lams=[0.004]))


# -- interruptions -------------------------------------------------------------------------------


class InterruptingRidge(Ridge):
    """Presses Ctrl-C once, at a certain fit."""

    fits_left = 0

    def fit(self, X, y):
        InterruptingRidge.fits_left -= 1
        if InterruptingRidge.fits_left == 0:
            raise KeyboardInterrupt
        return super().fit(X, y)


def interrupted(at, **parameters):
    """A fit of 5 targets; each epoch trains 5 * 3 * 5 = 75 models."""
    InterruptingRidge.fits_left = at
    model = PRSNetwork(
        InterruptingRidge(),
        **flat_network(
            n_estimators=5,
            max_iter=9,
            solver=Solver(n_batches=3, ess_threshold=1.0),
            random_state=0,
            **parameters,
        ),
    )
    return model.fit(TRUTH.expression[:, :5])


def test_ctrl_c_among_blocks_never_passes_for_an_answer():
    with (
        pytest.warns(InterruptedFitWarning, match="interrupted after epoch"),
        pytest.raises(KeyboardInterrupt),
    ):
        interrupted(300, lam=0.0, block_size=4)


@pytest.mark.parametrize("lam", [0.0, 0.01])
def test_ctrl_c_keeps_the_best_alpha_of_all_targets(lam):
    with pytest.warns(InterruptedFitWarning, match="interrupted after epoch"):
        model = interrupted(300, lam=lam)
    assert model.stop_reason_ == "interrupted"
    assert 0 < len(model.history_) < 9
    assert (model.alpha_.max(axis=0) > 0.0).all()


def test_ctrl_c_ends_a_path():
    with pytest.warns(InterruptedFitWarning, match="interrupted after epoch"):
        model = interrupted(300, lam="path", lams=(0.0, 0.01, 0.02))
    assert model.path_["lam"].tolist() == [0.0]
    assert model.lam_ == 0.0


# -- bad input -----------------------------------------------------------------------------------


def no_training(monkeypatch):
    def fail(*args, **kwargs):
        raise AssertionError("something was trained")

    for name in ("solve_apart", "solve_together", "follow_path"):
        monkeypatch.setattr(repeats_module, name, fail)


X = TRUTH.expression


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        ((X[:1],), {}, r"1 sample\(s\) \(rows\) of 15 genes, but at least 3 are needed"),
        ((X[:2],), {}, "at least 3 are needed"),
        ((X[:1], None, X), {}, "at least 2 are needed"),
        ((X, ["R1", "X7"]), {"gene_names": NAMES}, "1 of the 2 regulators are not in the data"),
        ((X, ["R1"]), {}, "no gene names"),
        ((X,), {"gene_names": [*NAMES[:14], "R1"]}, "more than once: 'R1'"),
        ((X,), {"gene_names": [*NAMES[:14], ""]}, "have no name"),
        ((np.where(np.arange(15) == 3, 2.0, X),), {"gene_names": NAMES}, "same value.*'R4'"),
        ((np.where(X[0, 0] == X, np.nan, X),), {}, "missing"),
        ((X, None, X[:, :4]), {}, r"lacks 11 gene\(s\) of expression"),
        ((X, None, X * np.nan), {}, "expression_val has 900 missing"),
        ((X, [0]), {"targets": [0]}, "no link to infer: .*'G1'"),
        ((X,), {"targets": [99]}, "targets has positions outside 0 to 14: 99"),
    ],
)
def test_bad_data_is_refused_before_any_work(monkeypatch, arguments, options, message):
    no_training(monkeypatch)
    with pytest.raises(ValueError, match=message):
        PRSNetwork(**flat_network(**QUICK)).fit(*arguments, **options)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"lam": -0.1}, "'lam' parameter"),
        ({"lam": "lowest"}, "'lam' parameter"),
        ({"lams": []}, "at least one number"),
        ({"lams": [0.1, -0.1]}, "none of them negative"),
        ({"lams": [0.1, np.nan]}, "none of them negative"),
        ({"lams": ["a"]}, "lams must hold numbers"),
        ({"lams": [[0.1]]}, "lams must be a list"),
        ({"lam_choice": "best"}, "'lam_choice' parameter"),
        ({"ranking": "median"}, "'ranking' parameter"),
        ({"block_size": 0}, "'block_size' parameter"),
        ({"alpha_init": 0.0}, "'alpha_init' parameter"),
        ({"max_iter": 0}, "'max_iter' parameter"),
        ({"validation_fraction": 1.0}, "'validation_fraction' parameter"),
        ({"estimator": LogisticRegression()}, "needs a regressor as base model"),
        ({"estimator": KNeighborsRegressor(n_neighbors=0)}, "'n_neighbors' parameter"),
        ({"engine": "tree", "estimator": Ridge()}, "engine='tree' cannot train Ridge"),
    ],
)
def test_bad_parameters_are_refused_before_any_work(monkeypatch, parameters, message):
    no_training(monkeypatch)
    with pytest.raises(ValueError, match=message):
        fitted(**parameters)


def test_a_gene_that_only_varies_in_validation_samples():
    table = X[:30].copy()
    table[:, 4] = np.arange(30) == 11
    refused = 0
    for seed in range(20):
        train_rows, _ = split_validation(np.arange(30), 0.5, None, np.random.default_rng(seed))
        options = {"validation_fraction": 0.5, "rng": np.random.default_rng(seed)}
        if 11 in train_rows:
            prepare(table, gene_names=NAMES, **options)
            continue
        refused += 1
        with pytest.raises(ValueError, match=r"in all 15 training samples that remain.*'R5'"):
            prepare(table, gene_names=NAMES, **options)
    assert 0 < refused < 20


def test_samples_are_scaled_by_the_training_rows():
    rng = np.random.default_rng(0)
    prepared = prepare(X, TRUTH.regulators, validation_fraction=0.2, rng=rng)
    assert len(prepared.val_rows) == 12
    assert not set(prepared.val_rows) & set(prepared.train_rows)
    for part in (prepared.X, prepared.Y):
        np.testing.assert_allclose(part[prepared.train_rows].mean(axis=0), 0.0, atol=1e-12)
        np.testing.assert_allclose(part[prepared.train_rows].std(axis=0), 1.0)


def test_a_failed_fit_leaves_the_model_as_it_was():
    model = fitted(lam=0.0)
    before = model.links()
    with pytest.raises(ValueError, match="missing"):
        model.fit(X * np.nan)
    assert model.links().equals(before)


def test_not_fitted_yet():
    with pytest.raises(NotFittedError):
        PRSNetwork().links()


# -- the rest ------------------------------------------------------------------------------------


def test_parameters_survive_a_clone():
    model = PRSNetwork(Ridge(), lam=0.1, block_size=3)
    assert clone(model).get_params()["block_size"] == 3
    assert clone(model).get_params()["estimator"].alpha == 1.0
    with pytest.raises(ValueError, match="Invalid parameter 'nothing'"):
        model.set_params(nothing=1)


def test_the_function_lists_the_links_of_the_estimator():
    links = infer_network(
        X, REGULATORS, KNeighborsRegressor(), 0.004, **flat_network(gene_names=NAMES, **QUICK)
    )
    pd.testing.assert_frame_equal(links, fitted(lam=0.004, n_repeats=N_REPEATS).links())
    assert len(links) == 7 * 14
    top = infer_network(
        X, REGULATORS, **flat_network(lam=0, gene_names=NAMES, n_links=4, targets=["T1"], **QUICK)
    )
    assert len(top) == 4
    assert set(top["target"]) == {"T1"}


def test_what_the_function_does_unless_told(monkeypatch):
    fits = []
    monkeypatch.setattr(PRSNetwork, "fit", lambda self, *data, **more: fits.append(self))
    monkeypatch.setattr(PRSNetwork, "links", lambda self, *n, **more: None)

    def asked(X=X, regulators=None, **given):
        infer_network(X, regulators, **given)
        return fits[-1]

    small = asked()
    assert (small.estimator, small.mixing, small.lam, small.n_repeats) == (
        "auto",
        "apart",
        "path",
        3,
    )
    assert (small.max_iter, small.n_estimators, tuple(small.lams)) == (90, 40, LAMS)
    assert (small.ranking.direction, small.ranking.regulators) == ("weaker", "sum")
    for n_targets, how in ((49, "sum"), (50, "both")):
        assert asked(np.zeros((9, n_targets))).ranking.regulators == how
    # Who is listed as a regulator is one, whatever it does elsewhere.
    assert asked(regulators=REGULATORS).ranking == "mean"
    for large in (asked(np.zeros((9, 301))), asked(np.zeros((9, 400)), targets=np.ones(400, bool))):
        assert (large.estimator, large.lam, large.n_repeats) == (None, 0.0, 1)
        assert (large.max_iter, large.n_estimators) == (300, 100)
        assert large.solver.get_params() == Solver().get_params()
    assert asked(np.zeros((9, 400)), targets=range(300)).lam == "path"
    judged = asked(fdr=0.1)
    assert (judged.estimator, judged.lam, judged.shadows) == (None, 0.0, True)
    assert judged.ranking == "mean"
    assert (judged.n_repeats, judged.max_iter, judged.solver) == (3, 90, None)
    own = asked(estimator=Ridge(), lam=0.0, n_repeats=1, max_iter=7, ranking="alpha")
    assert (own.lam, own.n_repeats, own.max_iter, own.ranking) == (0.0, 1, 7, "alpha")
    assert isinstance(own.estimator, Ridge)


@pytest.mark.parametrize("lam", [0.0, 0.01])
def test_progress(capsys, lam):
    fitted(lam=lam, block_size=4, verbose=1)
    shown = capsys.readouterr().err
    assert ("90/90" if lam == 0.0 else "24/24") in shown
    fitted(lam=lam, verbose=0)
    assert capsys.readouterr().err == ""


def test_a_lone_regulator_is_no_target_of_its_own():
    model = fitted(regulators=["R1"], lam=0.01)
    assert model.alpha_.shape == (1, 15)
    assert model.alpha_[0, 0] == 0.0
    assert len(model.links()) == 14


@pytest.mark.parametrize(("n_estimators", "alpha"), [(20, 0.25), (100, 0.05)])
def test_memory_grows_with_targets_as_the_notes_say(n_estimators, alpha):
    n_samples, n_val, n_regulators, n_batches = 20, 2, 400, 5
    table = np.random.default_rng(0).normal(size=(n_samples, n_regulators))

    def peak(n_targets):
        model = PRSNetwork(
            KNeighborsRegressor(),
            lam=0.001,
            n_estimators=n_estimators,
            alpha_init=alpha,
            solver=Solver(n_batches=n_batches, n_revivals=0),
            max_iter=1,
        )
        tracemalloc.start()
        try:
            model.fit(table, targets=range(n_targets))
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    peak(1)  # what is imported and compiled at first
    a_target = (peak(15) - peak(5)) / 10
    predictions = 8 * n_estimators * (n_samples - n_val + n_batches * n_val)
    subsets = (0.5 + 28 * alpha) * n_estimators * n_batches * n_regulators
    assert 0.75 * (predictions + subsets) < a_target < 1.25 * (predictions + subsets)
