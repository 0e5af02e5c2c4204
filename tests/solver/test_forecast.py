"""Forecasts of the time of a fit, on histories that are simulated."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from randsub.solver import EpochRecord, Solver
from randsub.solver.forecast import (
    FIRST_GAP,
    GROWTH,
    LAST_SIZE,
    POWER_OF_GAP,
    Forecast,
    Law,
    Refreshes,
    expected_law,
    worth,
)
from tiny_world import Part

SETTINGS = Solver(n_iter_no_change=None).settings(
    n_masks=100, n_train=10**4, n_parameters=300, objective="ensemble"
)


def simulated(law, revived=(300, 600), n_epochs=900):
    """Epochs with a refresh, if gaps follow a law after the start and after each revival."""
    refreshes, begin = [], 0
    for epoch in range(1, n_epochs + 1):
        if epoch - 1 in revived:
            refreshes.append(epoch)
            begin = epoch - 1
        elif np.floor(law.refreshes(epoch - begin)) > np.floor(law.refreshes(epoch - begin - 1)):
            refreshes.append(epoch)
    return refreshes


def forecasts(law, seconds_per_model, seconds_per_step, run=None, in_epoch=lambda *_: None):
    """Estimated and true seconds of a whole fit, after each epoch."""
    run = run or Part(n_parameters=300)
    now, n_models, n_revived = [0.0], 500, 0
    forecast = Forecast(run, lambda: now[0])
    forecast.prepare(SETTINGS)
    estimates = []
    for n_done in (100, 200, 500):
        now[0] = n_done * seconds_per_model
        forecast.models_trained(n_done, 500)
        estimates.append((now[0], forecast.seconds_left()))

    def state(epoch):
        record = EpochRecord(1.0, 1.0, 50.0, 7.0, False, False, n_models)
        return SimpleNamespace(
            epoch=epoch,
            n_models_trained=n_models,
            n_revived=np.array([n_revived]),
            mark_epochs=np.array([epoch]),
            history=(record,),
        )

    forecast.start(SETTINGS, state(0))
    refreshes = set(simulated(law))
    for epoch in range(1, 901):
        n_revived += epoch - 1 in (300, 600)
        if epoch in refreshes:
            for n_done in (250, 500):
                now[0] += 250 * seconds_per_model
                forecast.models_trained(n_done, 500)
            n_models += 500
        now[0] += seconds_per_step
        in_epoch(forecast, now, epoch)
        forecast.epoch_done(state(epoch))
        estimates.append((now[0], forecast.seconds_left()))
    return [(at, left) for at, left in estimates if left is not None], now[0]


def after(share, estimates, total):
    """Estimate of the whole after a share of the time, relative to the truth."""
    at, left = next(one for one in estimates if one[0] >= share * total)
    return (at + left) / total


@pytest.mark.parametrize("step", [0.0001, 0.01])
@pytest.mark.parametrize(
    ("n_features", "law"),
    # As in recorded fits: neighbours and trees, then SVM and trees on few features.
    [(300, Law(5.0, 0.09)), (300, Law(5.5, 0.05)), (20, Law(13.0, 0.8)), (8, Law(20.0, 2.0))],
)
def test_the_estimate_after_a_tenth_of_the_time(n_features, law, step):
    estimates, total = forecasts(law, 1e-3, step, Part(n_parameters=n_features))
    assert 1 / 1.5 < after(0.1, estimates, total) < 1.5
    assert 1 / 1.25 < after(0.5, estimates, total) < 1.25
    assert estimates[-1][1] == 0.0


def test_the_law_is_that_of_its_gaps():
    law = Law(5.0, 0.1)
    epochs, at = [], 0.0
    while at < 300.0:
        at += law.gap + law.growth * at
        epochs.append(at)
    # A sum of gaps, and the integral of the rate.
    assert law.refreshes(epochs[-1]) == pytest.approx(len(epochs), rel=0.06)


@given(gap=st.floats(3.0, 15.0), factor=st.floats(0.4, 2.5))
def test_refreshes_teach_the_law(gap, factor):
    law = Law(gap, factor * GROWTH * (gap / FIRST_GAP) ** POWER_OF_GAP)
    seen = Refreshes(expected_law(300, 0.35))
    for epoch in simulated(law, revived=(), n_epochs=300):
        seen.add(epoch, 1.0)
    learned = seen.law(300)
    assert learned.refreshes(300) == pytest.approx(law.refreshes(300), rel=0.4, abs=1.0)


@given(
    n_parameters=st.integers(1, 10**6),
    threshold=st.floats(0.0, 1.0),
    epochs=st.integers(0, 10**5),
    counts=st.lists(st.floats(0.01, 1.0), max_size=20),
)
def test_the_weights_of_the_laws_are_finite(n_parameters, threshold, epochs, counts):
    seen = Refreshes(expected_law(n_parameters, threshold))
    for epoch, count in enumerate(counts, start=1):
        seen.add(epoch, count)
    laws, weight = seen.laws(epochs)
    assert np.isfinite(weight).all()
    assert weight.sum() == pytest.approx(1.0)
    assert np.isfinite(laws.refreshes(10**4)).all()


def test_parts_that_are_still_to_come_take_their_share():
    alone, _ = forecasts(Law(5.5, 0.08), 1e-3, 1e-3)
    first, _ = forecasts(Law(5.5, 0.08), 1e-3, 1e-3, Part(0.25, n_parameters=300))
    for (at, left), (_, left_of_all) in zip(alone, first, strict=True):
        assert at + left_of_all == pytest.approx(4.0 * (at + left))


def test_models_after_the_last_epoch_take_time():
    _, total = forecasts(Law(5.5, 0.08), 1e-3, 1e-3)
    estimates, _ = forecasts(Law(5.5, 0.08), 1e-3, 1e-3, Part(n_parameters=300, models_after=250.0))
    assert estimates[-1] == (pytest.approx(total), pytest.approx(0.25))


def test_what_is_compiled_does_not_count():
    now = [0.0]
    forecast = Forecast(Part(), lambda: now[0])
    forecast.prepare(SETTINGS)
    forecast.compile()
    now[0] = 60.0
    forecast.models_trained(1, 500)
    assert forecast.elapsed == 0.0
    now[0] = 61.0
    forecast.models_trained(101, 500)
    assert forecast.seconds_per_model() == pytest.approx(0.01)
    assert forecast.refresh == (101, 500)


@pytest.mark.parametrize("epoch", [1, 3])
def test_what_is_compiled_in_an_epoch_does_not_count(epoch):
    def told(forecast, now, n):
        if n == epoch:
            # Functions of the gradient or of the optimiser, say.
            forecast.compile()
            now[0] += 60.0

    plain, total = forecasts(Law(5.5, 0.08), 1e-3, 1e-3)
    compiled, longer = forecasts(Law(5.5, 0.08), 1e-3, 1e-3, in_epoch=told)
    assert longer == pytest.approx(total + 60.0)
    assert compiled[-1][1] == plain[-1][1] == 0.0
    # The epoch itself is not measured.
    for (_, left), (_, left_then) in zip(plain, compiled, strict=True):
        assert left_then == pytest.approx(left, rel=1e-6)


def test_the_first_epoch_is_not_typical():
    def told(forecast, now, n):
        now[0] += 5.0 * (n == 1)

    plain, _ = forecasts(Law(5.5, 0.08), 1e-3, 1e-3)
    loaded, _ = forecasts(Law(5.5, 0.08), 1e-3, 1e-3, in_epoch=told)
    for (_, left), (_, left_then) in zip(plain, loaded, strict=True):
        assert left_then == pytest.approx(left)


def test_the_first_model_alone_says_nothing():
    now = [0.0]
    forecast = Forecast(Part(), lambda: now[0])
    assert forecast.seconds_left() is None
    forecast.prepare(SETTINGS)
    now[0] = 7.0
    forecast.models_trained(1, 500)
    assert forecast.seconds_per_model() is None
    assert forecast.seconds_left() is None


def test_the_first_task_is_not_typical():
    """It may load an engine, or start workers."""
    now = [0.0]
    forecast = Forecast(Part(), lambda: now[0])
    forecast.prepare(SETTINGS)
    for now[0], n_done in ((7.0, 1), (8.0, 101), (12.0, 501)):
        forecast.models_trained(n_done, 501)
    assert forecast.seconds_per_model() == pytest.approx(0.01)


def test_more_rows_cost_more():
    assert worth([100, 100], 100) == 2.0
    assert worth([200], 100) == 4.0
    assert worth([], 100) == 0.0


def test_models_of_large_first_subsets_take_longer_than_later_ones():
    def left_before_the_first_epoch(first_size):
        run = Part(n_parameters=300)
        run.first_size, run.power_of_size = first_size, 1.0
        now = [0.0]
        forecast = Forecast(run, lambda: now[0])
        forecast.prepare(SETTINGS)
        for n_done in (100, 500):
            now[0] = 0.01 * n_done
            forecast.models_trained(n_done, 500)
        return forecast.seconds_left()

    assert left_before_the_first_epoch(None) == left_before_the_first_epoch(LAST_SIZE)
    ratio = left_before_the_first_epoch(4 * LAST_SIZE) / left_before_the_first_epoch(LAST_SIZE)
    assert ratio == pytest.approx(0.25)
