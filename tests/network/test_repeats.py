"""Networks trained on several validation splits, and base models that are trained apart."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import Ridge
from sklearn.neighbors import KNeighborsRegressor

from flat_parameters import flat_network
from randsub.callbacks import Callback, Checkpoint, TimeLimit
from randsub.datasets import make_network
from randsub.estimators.fit_data import repeat_generators
from randsub.exceptions import InterruptedFitWarning
from randsub.network import PRSNetwork, Ranking
from randsub.network.fit_data import read_samples
from randsub.network.path import PathPoint
from randsub.network.solving import Solution
from randsub.solver import Solver

TRUTH = make_network(40, n_regulators=4, n_targets=4, n_modules=2, random_state=0)
WAYS = {
    "apart": {"lam": 0.0, "block_size": 3},
    "together": {"lam": 0.01},
    "path": {"lam": "path", "lams": (0.0, 0.01)},
}
BASES = [("knn", KNeighborsRegressor(3)), ("ridge", Ridge())]


def make(estimator=None, **changes):
    settings = {"n_estimators": 6, "max_iter": 6, "n_revivals": 1, "random_state": 0, **changes}
    solver = Solver(n_batches=3, learning_rate=0.02)
    return PRSNetwork(estimator or Ridge(), **flat_network(solver=solver, **settings))


def fit(model, **kwargs):
    return model.fit(TRUTH.expression, TRUTH.regulators, gene_names=TRUTH.gene_names, **kwargs)


def fitted(estimator=None, **changes):
    return fit(make(estimator, **changes))


@pytest.mark.parametrize("way", WAYS)
def test_the_first_repeats_do_not_depend_on_their_number(way):
    one, two, three = (fitted(n_repeats=n, lam_choice="lowest", **WAYS[way]) for n in (1, 2, 3))
    assert (one.n_repeats_, three.n_repeats_) == (1, 3)
    np.testing.assert_array_equal(one.repeat_alphas_[0], one.alpha_)
    assert (one.alpha_std_ == 0.0).all()
    if way != "path":
        # The coefficient of a path is chosen by all repeats.
        np.testing.assert_array_equal(three.repeat_alphas_[0], one.alpha_)
        np.testing.assert_array_equal(three.repeat_alphas_[:2], two.repeat_alphas_)
    np.testing.assert_allclose(three.alpha_, three.repeat_alphas_.mean(axis=0))
    np.testing.assert_allclose(three.alpha_std_, three.repeat_alphas_.std(axis=0))
    np.testing.assert_allclose(three.alpha_.sum(axis=0), three.expected_sizes_)
    assert (three.alpha_std_ > 0.0).any()
    assert three.n_models_trained_ > 2 * one.n_models_trained_
    history = three.history_.xs(0, level="repeat")
    pd.testing.assert_frame_equal(history, one.history_, check_exact=True)


def test_link_weights_are_means_over_the_repeats():
    alphas = []

    class Watch(Callback):
        def on_epoch_end(self, state):
            alphas.append(state.alpha)

    model = fit(make(lam=0.01, n_repeats=2).set_callbacks(Watch()))
    assert len(alphas) == 2 * 6
    order = [sorted(TRUTH.gene_names).index(name) for name in TRUTH.gene_names]
    np.testing.assert_allclose(model.link_weights_, np.mean(alphas, axis=0)[order].T)


def test_no_sample_validates_twice_while_there_are_others():
    samples = read_samples(TRUTH.expression, TRUTH.regulators, splits=True)
    splits = samples.splits(0.1, repeat_generators(np.arange(4), 10))
    validating = np.concatenate([split.val_rows for split in splits])
    np.testing.assert_array_equal(np.sort(validating), np.arange(40))
    for split in splits:
        scaled = samples.scaled(split)
        np.testing.assert_allclose(scaled.X[split.train_rows].std(axis=0), 1.0)
        np.testing.assert_array_equal(scaled.val_rows, split.val_rows)


def test_the_coefficient_is_chosen_by_the_errors_of_all_repeats():
    model = fitted(n_repeats=4, lam_choice="lowest", **WAYS["path"])
    alone = [fitted(n_repeats=n, **WAYS["path"]).path_["validation_error"] for n in (1, 2, 3)]
    errors = model.path_["validation_error"]
    # Folds have the same size: the error is the mean over repeats, so three of them tell a fourth.
    first, second = alone[0], 2.0 * alone[1] - alone[0]
    third = 3.0 * alone[2] - first - second
    fourth = 4.0 * errors - first - second - third
    assert (fourth > 0.0).all()
    np.testing.assert_allclose(alone[2], (first + second + third) / 3.0)
    assert model.lam_ == model.path_["lam"][errors.idxmin()]


def test_a_sample_that_several_repeats_leave_out_counts_once():
    nothing = np.zeros((1, 1))

    def solution(errors):
        return Solution(
            0.1, nothing, nothing, nothing, np.array(errors), pd.DataFrame(), 3, 1.0, ""
        )

    point = PathPoint(
        [[solution([1.0, 2.0]), solution([3.0, 4.0])], [solution([4.0, 6.0])] * 2],
        [np.array([0, 5]), np.array([5, 7])],
    )
    np.testing.assert_allclose(point.errors, [2.0, (3.0 + 4.0) / 2.0, 6.0])
    assert point.standard_error == pytest.approx(np.std([2.0, 3.5, 6.0], ddof=1) / 3**0.5)
    assert (point.n_models, point.seconds) == (12, 4.0)


@pytest.mark.parametrize("way", WAYS)
def test_base_models_that_are_trained_apart_are_as_if_alone(way):
    both = fitted(BASES, mixing="apart", n_repeats=2, lam_choice="lowest", **WAYS[way])
    alone = {name: fitted(base, n_repeats=2, **WAYS[way]) for name, base in BASES}
    weights = np.mean([one.network_at(both.lam_).alpha for one in alone.values()], axis=0)
    np.testing.assert_allclose(both.link_weights_, weights)
    assert (both.shares_ == 0.5).all(axis=None)
    if way != "path":
        for name, one in alone.items():
            np.testing.assert_array_equal(both.alphas_[name], one.alpha_)
    errors = [one.path_["validation_error"] for one in alone.values()]
    np.testing.assert_allclose(both.path_["validation_error"], np.mean(errors, axis=0))
    assert both.n_models_trained_ == sum(one.n_models_trained_ for one in alone.values())
    for number in range(2):
        history = both.history_.xs((number, "ridge"), level=("repeat", "base"))
        expected = alone["ridge"].history_.xs(number, level="repeat")
        columns = [*expected.columns]
        pd.testing.assert_frame_equal(history[columns], expected, check_exact=True)


@pytest.mark.parametrize("mixing", ["shares", "apart"])
def test_workers_change_nothing(mixing):
    parameters = {"n_repeats": 2, "mixing": mixing, **WAYS["together"]}
    one, other = fitted(BASES, **parameters), fitted(BASES, n_jobs=2, **parameters)
    pd.testing.assert_frame_equal(one.links(), other.links(), check_exact=True)


class CrashError(Exception):
    """Stands for whatever may end a process."""


class CrashAfter(Callback):
    """Ends the fit after so many epochs, of whatever training."""

    def __init__(self, n_epochs, error=CrashError):
        self.left, self.error = n_epochs, error

    def on_epoch_end(self, state):
        self.left -= 1
        if self.left == 0:
            raise self.error


@pytest.mark.parametrize("way", WAYS)
def test_a_resumed_fit_ends_bit_for_bit_like_an_uninterrupted_one(tmp_path, way):
    path = tmp_path / "run.ckpt"
    parameters = {"n_repeats": 2, "mixing": "apart", **WAYS[way]}
    whole = fitted(BASES, **parameters)
    for n_epochs in range(2, len(whole.history_), 17):
        with pytest.raises(CrashError):
            fit(make(BASES, **parameters).set_callbacks(Checkpoint(path), CrashAfter(n_epochs)))
        resumed = fit(make(BASES, **parameters), resume_from=path)
        np.testing.assert_array_equal(resumed.repeat_alphas_, whole.repeat_alphas_)
        np.testing.assert_array_equal(resumed.link_weights_, whole.link_weights_)
        assert resumed.lam_ == whole.lam_


@pytest.mark.parametrize("way", WAYS)
def test_ctrl_c_keeps_the_repeats_that_are_finished(way):
    parameters = {"n_repeats": 3, **WAYS[way]}
    two = fitted(**{**parameters, "n_repeats": 2})
    n_epochs = len(two.history_) + 2
    with pytest.warns(InterruptedFitWarning, match="2 of 3 repeats were finished"):
        model = fit(make(**parameters).set_callbacks(CrashAfter(n_epochs, error=KeyboardInterrupt)))
    assert model.n_repeats_ == 2
    pd.testing.assert_frame_equal(model.links(), two.links(), check_exact=True)
    assert model.stop_reason_ == "interrupted"


def test_ctrl_c_before_all_base_models_have_one_repeat():
    stop = CrashAfter(8, error=KeyboardInterrupt)
    with pytest.raises(KeyboardInterrupt):
        fit(make(BASES, mixing="apart", lam=0.01).set_callbacks(stop))


def test_a_time_limit_is_for_all_repeats():
    model = make(n_repeats=3, lam=0.01, max_iter=10**5, n_iter_no_change=10**5)
    fit(model.set_callbacks(TimeLimit(3.0)))
    assert model.n_repeats_ == 3
    assert model.stop_reason_.startswith("TimeLimit: ")
    epochs = model.history_.groupby("repeat").size()
    assert epochs.min() > epochs.max() / 10


def test_progress_counts_the_epochs_of_all_repeats(capsys):
    fitted(lam=0.01, n_repeats=3, verbose=1)
    assert "18/18" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_repeats": 0}, "'n_repeats' parameter"),
        ({"n_repeats": "auto"}, "'n_repeats' parameter"),
        ({"mixing": "none"}, "'mixing' parameter"),
    ],
)
def test_bad_parameters(parameters, message):
    with pytest.raises(ValueError, match=message):
        fitted(**parameters)


def test_base_models_apart_are_as_if_alone_on_fewer_validation_samples():
    """max_samples below the number of validation samples: each draws the same ones."""
    options = {"validation_fraction": 0.5, "max_samples": 8, **WAYS["together"]}
    both = fitted(BASES, mixing="apart", **options)
    alone = [fitted(base, **options) for _, base in BASES]
    for (name, _), one in zip(BASES, alone, strict=True):
        np.testing.assert_array_equal(both.alphas_[name], one.alpha_)
    errors = [one.path_["validation_error"].item() for one in alone]
    assert both.path_["validation_error"].item() == pytest.approx(np.mean(errors))
    # Asking whether members say something draws nothing, either.
    ranking = Ranking(evidence=("mean", "members"), combine="rank")
    asked = fitted(BASES[1][1], ranking=ranking, **options)
    np.testing.assert_array_equal(asked.alpha_, alone[1].alpha_)
