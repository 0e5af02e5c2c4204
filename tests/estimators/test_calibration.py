"""Temperatures: truth by direct minimisation, invariants, and what becomes of them in a fit."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.metrics import log_loss
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from flat_parameters import flat
from randsub import PRSClassifier
from randsub.datasets import make_hypercube, make_linear
from randsub.estimators import calibration
from randsub.estimators.calibration import LARGEST, best_temperature, tempered
from randsub.exceptions import InterruptedFitWarning

SETTINGS = {"n_estimators": 20, "max_iter": 15, "n_batches": 3, "learning_rate": 0.02}
X, Y, _ = make_hypercube(n_samples=200, n_irrelevant=6, random_state=3)


def classifier(base=None, **changes):
    base = KNeighborsClassifier() if base is None else base
    return PRSClassifier(base, **flat(random_state=0, **{**SETTINGS, **changes}))


outputs = arrays(float, st.tuples(st.integers(1, 6), st.integers(2, 4)), elements=st.floats(0, 1))


@given(outputs, st.floats(1 / LARGEST, LARGEST), st.sampled_from([1e-3, 0.02, 0.25]))
def test_probabilities_that_keep_the_order_of_the_classes(output, temperature, floor):
    p = tempered(output, temperature, floor)
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    assert (p >= 0.0).all()
    for before, after in zip(output, p, strict=True):
        higher = before[:, None] > before[None, :]
        assert (after[:, None] >= after[None, :])[higher].all()
        assert after[before.argmax()] == after.max()


def test_temperature_1_adds_half_a_vote_to_every_class():
    p = tempered(np.array([[0.0, 1.0], [0.25, 0.75]]), 1.0, 0.05)
    np.testing.assert_allclose(p, [[0.05 / 1.1, 1.05 / 1.1], [0.3 / 1.1, 0.8 / 1.1]])


def test_the_temperature_of_a_known_law_is_found():
    """Classes drawn from a power of the output have the inverse of that power as temperature."""
    rng = np.random.default_rng(0)
    output = rng.dirichlet(np.ones(3), size=20_000)
    for power in (0.5, 1.0, 2.5):
        law = tempered(output, 1.0 / power, 1e-6)
        codes = (rng.random((len(law), 1)) > law.cumsum(axis=1)).sum(axis=1)
        found = best_temperature(output, np.eye(3)[codes], np.ones(len(law)), 1e-6)
        assert found == pytest.approx(1.0 / power, rel=0.05)


def test_few_samples_leave_the_temperature_near_1():
    output = np.tile([[0.6, 0.4]], (200, 1))
    truth = np.tile([[1.0, 0.0]], (200, 1))
    few, many = (best_temperature(output[:n], truth[:n], np.ones(n), 0.01) for n in (2, 200))
    assert many < few < 1.0
    assert few > 0.7


def test_weights_count_as_copies_of_samples():
    rng = np.random.default_rng(1)
    output = rng.dirichlet(np.ones(2), size=4000)
    truth = np.eye(2)[(rng.random(4000) < output[:, 1]).astype(int)]
    once = best_temperature(output, truth, np.ones(4000), 0.01)
    scaled = best_temperature(output, truth, np.full(4000, 7.0), 0.01)
    assert scaled == pytest.approx(once)
    doubled = np.r_[np.arange(4000), np.arange(2000)]
    weight = np.r_[np.full(2000, 2.0), np.ones(2000)]
    copies = best_temperature(output[doubled], truth[doubled], np.ones(6000), 0.01)
    # Unequal weights are worth fewer samples, so the prior counts a trifle more.
    assert best_temperature(output, truth, weight, 0.01) == pytest.approx(copies, rel=1e-3)


@pytest.mark.parametrize("voting", ["hard", "soft", "auto"])
@pytest.mark.parametrize("n_repeats", [1, 3])
def test_predictions_stay_and_probabilities_change(voting, n_repeats):
    plain = classifier(voting=voting, n_repeats=n_repeats, calibrate=False).fit(X, Y)
    model = classifier(voting=voting, n_repeats=n_repeats).fit(X, Y)
    assert not hasattr(plain, "temperature_")
    np.testing.assert_array_equal(model.alpha_, plain.alpha_)
    np.testing.assert_array_equal(model.predict(X), plain.predict(X))
    expected = tempered(plain.predict_proba(X), model.temperature_, 0.5 / 20)
    np.testing.assert_allclose(model.predict_proba(X), expected)
    assert model.n_models_trained_ == plain.n_models_trained_ + 20 * n_repeats


def test_with_validation_data_nothing_more_is_trained():
    parts = {"X": X[:120], "y": Y[:120], "X_val": X[120:], "y_val": Y[120:]}
    plain = classifier(calibrate=False).fit(**parts)
    model = classifier().fit(**parts)
    assert model.n_models_trained_ == plain.n_models_trained_
    output, truth = plain.predict_proba(X[120:]), np.eye(2)[Y[120:]]
    found = best_temperature(output, truth, np.ones(80), 0.5 / 20)
    assert model.temperature_ == pytest.approx(found)


def test_the_temperature_does_not_come_from_rows_that_members_have_seen():
    """Trees know their training rows by heart: votes there would ask for a low temperature."""
    noise = np.random.default_rng(0).normal(size=(300, 4))
    y = np.random.default_rng(1).integers(2, size=300)
    model = classifier(DecisionTreeClassifier(), bootstrap=False).fit(noise, y)
    assert model.temperature_ > 1.5


def test_each_repeat_is_judged_on_rows_that_its_members_have_not_seen(monkeypatch):
    really, seen = calibration._trained_without, []

    def watched(model, data, result, repeat, rows):
        predict = data.dispatcher.predict

        def told(assignments):
            seen.extend((repeat, one.train_rows, one.query_rows) for one in assignments)
            return predict(assignments)

        with monkeypatch.context() as patch:
            patch.setattr(data.dispatcher, "predict", told)
            return really(model, data, result, repeat, rows)

    monkeypatch.setattr(calibration, "_trained_without", watched)
    classifier(n_repeats=4).fit(X, Y)
    assert [repeat for repeat, *_ in seen] == [0, 1, 2, 3]
    for _, train_rows, query_rows in seen:
        assert not np.intersect1d(train_rows, query_rows).size
        np.testing.assert_array_equal(np.union1d(train_rows, query_rows), np.arange(len(X)))
    # As there are samples for them, the repeats have disjoint ones.
    judged = np.concatenate([query_rows for *_, query_rows in seen])
    assert len(np.unique(judged)) == len(judged)


def test_log_loss_on_new_samples_is_lower():
    X, y, _ = make_linear(n_samples=900, n_irrelevant=10, random_state=5)
    losses = [
        log_loss(
            y[300:],
            classifier(SVC(), calibrate=c, max_iter=60)
            .fit(X[:300], y[:300])
            .predict_proba(X[300:]),
        )
        for c in (False, True)
    ]
    assert losses[1] < losses[0]


def test_without_validation_samples_there_is_no_temperature():
    model = classifier(validation_fraction=None).fit(X, Y)
    assert not hasattr(model, "temperature_")
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)


def test_several_base_models_and_workers():
    bases = [("knn", KNeighborsClassifier()), ("svm", SVC())]
    one, two = (classifier(bases, voting="auto", n_jobs=n).fit(X, Y) for n in (1, 2))
    assert one.temperature_ == two.temperature_
    np.testing.assert_array_equal(one.predict_proba(X), two.predict_proba(X))


def test_validation_data_of_the_user_count_without_a_fraction():
    parts = {"X": X[:120], "y": Y[:120], "X_val": X[120:], "y_val": Y[120:]}
    assert classifier(validation_fraction=None).fit(**parts).temperature_ > 0.0


def test_the_unit_of_weights_does_not_matter():
    one, tiny = (classifier().fit(X, Y, sample_weight=np.full(200, w)) for w in (1.0, 1e-200))
    assert tiny.temperature_ == pytest.approx(one.temperature_)


def test_few_members_of_many_base_models():
    """Base models without a member leave their share to the others."""
    bases = [(f"k{k}", KNeighborsClassifier(k)) for k in (1, 3, 5, 7)]
    model = classifier(bases, n_estimators=3).fit(X, Y)
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)
    assert 1.0 / LARGEST < model.temperature_ < LARGEST


@pytest.mark.parametrize("is_compiled", [False, True])
def test_an_interrupted_calibration_keeps_the_ensemble(monkeypatch, is_compiled):
    def interrupted(*args):
        if is_compiled:
            raise SystemError("CPUDispatcher returned a result with an exception set") from (
                KeyboardInterrupt()
            )
        raise KeyboardInterrupt

    monkeypatch.setattr("randsub.estimators.classifier.fitted_temperature", interrupted)
    with pytest.warns(InterruptedFitWarning, match="plain average"):
        model = classifier().fit(X, Y)
    assert len(model.estimators_) == 20
    assert not hasattr(model, "temperature_")


def test_parameters_that_are_set_after_a_fit_wait_for_the_next_one():
    model = classifier().fit(X, Y)
    before = model.predict_proba(X)
    model.set_params(n_estimators=3, calibrate=False)
    np.testing.assert_array_equal(model.predict_proba(X), before)
    assert not hasattr(model.fit(X, Y), "temperature_")
