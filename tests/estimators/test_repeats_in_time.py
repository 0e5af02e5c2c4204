"""Repeats under a time limit: one after the other, and those that are done in time are kept."""

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.neighbors import KNeighborsClassifier

from flat_parameters import flat
from randsub import PRSClassifier, PRSRegressor
from randsub.callbacks import Callback, Checkpoint, TimeLimit
from randsub.datasets import make_friedman, make_hypercube
from randsub.exceptions import InterruptedFitWarning, UnfinishedFitError

SETTINGS = {"n_estimators": 12, "max_iter": 10, "n_batches": 3, "learning_rate": 0.02}
X, Y, _ = make_friedman(n_samples=90, n_irrelevant=6, random_state=3)
XC, YC, _ = make_hypercube(n_samples=90, n_irrelevant=6, random_state=3)


class Limit(Callback):
    """A time limit that counts epochs, or the first models of parts, instead of seconds."""

    def __init__(self, n_epochs=10_000, n_parts=10_000):
        self.left, self.parts = n_epochs, n_parts

    def for_run(self, run):
        self.run, run.time_limit = run, 1e9
        return self

    def _out(self, is_over):
        self.run.is_out_of_time |= is_over
        return "TimeLimit: over" if is_over else None

    def on_prepare(self, settings):
        self.parts -= 1

    def on_models_trained(self, n_done, n_all):
        return self._out(self.parts == 0)

    def on_epoch_end(self, state):
        self.left -= 1
        return self._out(self.left == 0)


def regressor(*callbacks, **changes):
    model = PRSRegressor(
        LinearRegression(), **flat(random_state=0, n_repeats=3, **{**SETTINGS, **changes})
    )
    return model.set_callbacks(*callbacks)


def fitted(*callbacks, **fit_params):
    return regressor(*callbacks).fit(X, Y, **fit_params)


@pytest.mark.parametrize("limit", [Limit(25), Limit(20), Limit(n_parts=3)])
def test_repeats_that_are_done_in_time_are_kept(limit):
    model = fitted(limit)
    assert model.n_repeats_ == 2
    np.testing.assert_array_equal(model.repeat_alphas_, fitted().repeat_alphas_[:2])
    assert len(model.estimators_) == 12
    assert model.stop_reason_ == "TimeLimit: over; 2 of 3 repeats"


@pytest.mark.parametrize(("limit", "n_epochs"), [(Limit(4), 4), (Limit(n_parts=2), 10)])
def test_of_the_first_one_something_is_kept(limit, n_epochs):
    model = fitted(limit)
    assert (model.n_repeats_, model.n_iter_) == (1, n_epochs)


def test_without_the_first_models_there_is_nothing():
    with pytest.raises(UnfinishedFitError):
        fitted(Limit(n_parts=1))


def test_a_limit_that_is_kept_changes_nothing():
    one_by_one, together = fitted(Limit()), fitted()
    np.testing.assert_array_equal(one_by_one.repeat_alphas_, together.repeat_alphas_)
    np.testing.assert_array_equal(one_by_one.predict(X), together.predict(X))
    assert one_by_one.stop_reason_ == together.stop_reason_


def test_ctrl_c_keeps_the_repeats_that_are_done():
    class CtrlC(Callback):
        n_epochs = 0

        def on_epoch_end(self, state):
            self.n_epochs += 1
            if self.n_epochs == 13:
                raise KeyboardInterrupt

    with pytest.warns(InterruptedFitWarning) as told:
        model = fitted(Limit(), CtrlC())
    assert "1 of 3 repeats were finished" in str(told[-1].message)
    assert (model.n_repeats_, model.stop_reason_) == (1, "interrupted; 1 of 3 repeats")
    np.testing.assert_array_equal(model.repeat_alphas_, fitted().repeat_alphas_[:1])


def test_probabilities_of_fewer_repeats():
    model = PRSClassifier(
        KNeighborsClassifier(), **flat(random_state=0, n_repeats=3, **SETTINGS)
    ).set_callbacks(Limit(25))
    assert model.fit(XC, YC).n_repeats_ == 2
    np.testing.assert_allclose(model.predict_proba(XC).sum(axis=1), 1.0)


def test_time_is_set_aside_for_the_repeats_that_there_will_be():
    class Work(Limit):
        """Notes the work that is left for later when a repeat begins."""

        work = ()

        def on_prepare(self, settings):
            super().on_prepare(settings)
            self.work += (self.run.models_after,)

    def work(n_repeats):
        limit = Work()
        options = flat(random_state=0, n_repeats=n_repeats, **SETTINGS)
        PRSClassifier(KNeighborsClassifier(), **options).set_callbacks(limit).fit(XC, YC)
        return limit.work

    (of_one,), of_three = work(1), work(3)
    # The members, and for each repeat the models that calibrate its probabilities.
    assert of_three[0] == of_one
    assert of_three[2] - of_three[1] == pytest.approx(of_three[1] - of_three[0])
    assert of_three[1] > of_one


@pytest.mark.parametrize("n_epochs", [4, 10, 15, 29])
def test_what_was_not_done_in_time_can_be_done_later(tmp_path, n_epochs):
    path = tmp_path / "run.ckpt"
    fitted(Checkpoint(path), Limit(n_epochs))
    resumed, whole = fitted(resume_from=path), fitted()
    np.testing.assert_array_equal(resumed.repeat_alphas_, whole.repeat_alphas_)
    np.testing.assert_array_equal(resumed.predict(X), whole.predict(X))


class Stop(Callback):
    def on_epoch_end(self, state):
        return state.epoch == 4


def test_repeats_that_a_callback_has_stopped_one_by_one_can_be_trained_to_the_end(tmp_path):
    path = tmp_path / "run.ckpt"
    stopped = fitted(Limit(), Checkpoint(path), Stop())
    assert (stopped.n_repeats_, stopped.n_iter_) == (3, 4)
    resumed, whole = fitted(resume_from=path), fitted()
    np.testing.assert_array_equal(resumed.repeat_alphas_, whole.repeat_alphas_)
    np.testing.assert_array_equal(resumed.predict(X), whole.predict(X))


def test_a_checkpoint_of_all_repeats_is_resumed_under_a_limit(tmp_path):
    path = tmp_path / "run.ckpt"
    fitted(Checkpoint(path), Stop())
    resumed = fitted(Limit(), resume_from=path)
    np.testing.assert_array_equal(resumed.repeat_alphas_, fitted().repeat_alphas_)


def test_seconds():
    model = regressor(TimeLimit(1.0), max_iter=10_000, n_iter_no_change=None).fit(X, Y)
    assert model.n_repeats_ == 1
    assert 1 < model.n_iter_ < 10_000
