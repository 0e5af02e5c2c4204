"""Time series: targets are what regulators, at the same time, let them tend to."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import Ridge

from flat_parameters import flat_network
from randsub.network import PRSNetwork, infer_network
from randsub.network.fit_data import read_samples
from randsub.network.time_series import find_steps


def driven(rng, n_series=4, n_times=15):
    """Gene T follows R at the next time; S is T's own past, seen by nobody else."""
    tables = []
    for _ in range(n_series):
        R, S = rng.normal(size=(2, n_times))
        T = np.concatenate([[0.0], R[:-1]]) + 0.1 * rng.normal(size=n_times)
        tables.append(np.column_stack([R, S, T]))
    time = np.tile(np.arange(n_times) * 50.0, n_series)
    return np.vstack(tables), time, np.repeat(np.arange(n_series), n_times)


NAMES = ["R", "S", "T"]
SETTINGS = {"n_estimators": 10, "max_iter": 30, "n_batches": 3, "random_state": 0, "lam": 0.0}


def fitted(expression, max_iter=30, **data):
    model = PRSNetwork(Ridge(), **flat_network(**{**SETTINGS, "max_iter": max_iter}))
    return model.fit(expression, gene_names=NAMES, **data)


def test_a_link_that_takes_time_is_seen_in_time_only():
    expression, time, series = driven(np.random.default_rng(0))
    links = fitted(expression, time=time, series=series, max_iter=200).links()
    assert links.iloc[0, :2].tolist() == ["R", "T"]
    # The others stay about where they began, at a half.
    assert links["weight"][0] > 0.7 > 0.6 > links["weight"][1]
    still = fitted(expression, max_iter=200).to_frame()
    assert still.loc["R", "T"] < 0.5


def test_levels_are_next_values_and_scaled_changes():
    values = np.array([[1.0], [3.0], [4.0], [7.0], [8.0]])
    # Samples 3, 0, 2 are a series at 0, 1, 5; samples 1 and 4 are steady states.
    steps = find_steps([1.0, None, 5.0, 0.0, np.nan], None, 5)
    np.testing.assert_array_equal(steps.now, [0, 1, 3, 4])
    np.testing.assert_array_equal(steps.after, [2, 1, 0, 4])
    # The mean time is 2.5: 1 + 3 * 2.5 / 4, 3, 7 - 6 * 2 since 2.5 / 1 is more than 2, 8.
    np.testing.assert_allclose(steps.levels(values)[:, 0], [2.875, 3.0, -5.0, 8.0])
    np.testing.assert_array_equal(steps.touching(np.array([0])), [0, 2])


@given(st.permutations(range(12)), st.floats(0.01, 100.0), st.floats(-1e3, 1e3))
def test_order_of_samples_and_unit_of_time_do_not_matter(order, unit, start):
    time = start + unit * np.tile(np.arange(4.0), 3)
    series = np.repeat(["a", "b", "c"], 4)
    values = np.random.default_rng(0).normal(size=(12, 2))
    steps = find_steps(time, series, 12)
    order = np.array(order)
    other = find_steps(time[order], series[order], 12)
    pairs = {*zip(steps.now.tolist(), steps.after.tolist(), strict=True)}
    assert {*zip(order[other.now].tolist(), order[other.after].tolist(), strict=True)} == pairs
    # Equally far apart: the next value.
    np.testing.assert_allclose(steps.levels(values), values[steps.after], rtol=1e-6, atol=1e-6)


def test_without_times_steps_are_the_samples():
    assert find_steps(None, None, 3) is None
    expression, *_ = driven(np.random.default_rng(1))
    still = fitted(expression)
    steady = fitted(expression, time=[None] * len(expression))
    np.testing.assert_array_equal(still.link_weights_, steady.link_weights_)


def test_perturbations_leave_out_the_steps_that_they_touch():
    expression, time, series = driven(np.random.default_rng(0), n_series=2, n_times=5)
    perturbed = ["T" if row == 2 else None for row in range(10)]
    samples = read_samples(
        expression, gene_names=NAMES, perturbed=perturbed, time=time, series=series, splits=True
    )
    # Steps 0-1, 1-2, 2-3, 3-4 of the first series: the second and the third.
    assert {g: rows.tolist() for g, rows in samples.perturbed.items()} == {2: [1, 2]}
    assert samples.values.shape == samples.levels.shape == (8, 3)


def test_function_and_resumed_fits(tmp_path):
    from randsub.callbacks import Checkpoint

    expression, time, series = driven(np.random.default_rng(0))
    data = {"gene_names": NAMES, "time": iter(time), "series": iter(series)}
    links = infer_network(expression, estimator=Ridge(), max_iter=5, lam=0.0, **data)
    assert len(links) == 6
    model = PRSNetwork(Ridge(), **flat_network(**SETTINGS)).set_callbacks(
        Checkpoint(tmp_path / "c.npz")
    )
    model.fit(expression, gene_names=NAMES, time=time, series=series)
    again = PRSNetwork(Ridge(), **flat_network(**SETTINGS))
    resume = {"gene_names": NAMES, "resume_from": tmp_path / "c.npz"}
    again.fit(expression, time=time, series=series, **resume)
    np.testing.assert_array_equal(again.alpha_, model.alpha_)
    with pytest.raises(ValueError, match="time"):
        again.fit(expression, time=time + 1.0, series=series, **resume)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"time": [0, 1]}, "time has 2 entries, but expression has 6 samples"),
        ({"time": 5}, "time is 5, but expression has 6 samples"),
        ({"time": ["now"] * 6}, "time must hold a number for each sample"),
        ({"time": np.arange(6).astype("datetime64[D]")}, "dates are numbers of days"),
        ({"time": [0, 1, 2, 3, 4, np.inf]}, "time is infinite in sample 5"),
        ({"time": [0, 1, 2, 0, 1, 2]}, "Two samples of the series are at time 0; replicates"),
        ({"time": range(6), "series": "aabbbb"[:5]}, "series has 5 entries"),
        ({"time": range(6), "series": "abbbbb"}, "Series 'a' has a single sample, at time 0"),
        ({"time": range(6), "series": [None, *"bbbbb"]}, "series has no label for sample 0"),
        ({"series": "aaabbb"}, "there is no time"),
        ({"time": range(6), "expression_val": np.eye(6, 3)}, "expression_val and time cannot be"),
        ({"time": [0, 1, 0, 1, 0, 1][:6], "series": "aabbcc", "targets": ["T"]}, None),
    ],
)
def test_bad_times_are_refused_before_any_work(data, message):
    expression = np.random.default_rng(0).normal(size=(6, 3))
    if message is None:
        assert fitted(expression, **data).link_weights_.shape == (3, 1)
        return
    with pytest.raises(ValueError, match=message):
        fitted(expression, **data)


def test_too_few_steps_and_constant_levels_are_refused():
    with pytest.raises(ValueError, match=r"The 3 samples are 2 step\(s\) in time"):
        fitted(np.random.default_rng(0).normal(size=(3, 3)), time=range(3))
    expression = np.random.default_rng(0).normal(size=(6, 3))
    # T varies at the start alone, which is no level.
    expression[1:, 2] = 1.0
    with pytest.raises(ValueError, match="'T'"):
        fitted(expression, time=range(6))


def series_of(*lengths):
    """Times and labels of series, samples in a random order."""
    time = np.concatenate([np.arange(n) for n in lengths]).astype(float)
    series = np.repeat(np.arange(len(lengths)), lengths)
    order = np.random.default_rng(0).permutation(len(time))
    return time[order], series[order]


@given(st.lists(st.integers(2, 9), min_size=1, max_size=7), st.floats(0.05, 0.5), st.integers(0, 5))
def test_steps_that_follow_each_other_are_validated_together(lengths, fraction, n_steady):
    time, series = series_of(*lengths)
    time, series = np.append(time, [np.nan] * n_steady), np.append(series, [0] * n_steady)
    steps = find_steps(time, series, len(time))
    n_steps = sum(lengths) - len(lengths)
    in_order = np.concatenate(steps.series)
    # Each series in order of time, and each step once.
    assert len({*in_order.tolist()}) == len(in_order) == n_steps
    for block in steps.series:
        assert (np.diff(time[steps.now[block]]) == 1.0).all()
        assert len({*series[steps.now[block]].tolist()}) == 1
    if n_steps + n_steady < 3:
        return
    n_repeats = 3
    rngs = [np.random.default_rng(n) for n in range(n_repeats)]
    for split in steps.splits(fraction, rngs):
        both = np.concatenate([split.train_rows, split.val_rows])
        np.testing.assert_array_equal(np.sort(both), np.arange(len(steps.now)))
        assert 0 < len(split.val_rows) < len(both)
        if n_steps >= 3:
            # Stretches of what is in order: as many ends as there are blocks, at most.
            chosen = np.isin(in_order, split.val_rows)
            n_stretches = int(np.sum(np.diff(np.append(0, chosen.astype(int))) == 1))
            assert n_stretches <= max(1, round(fraction * max(len(lengths), 1.0 / fraction, 3)) + 1)


def test_whole_series_are_validated_on_if_they_are_short_enough():
    steps = find_steps(*series_of(6, 6, 6, 6, 6), 30)
    rngs = [np.random.default_rng(n) for n in range(5)]
    found = [sorted(split.val_rows.tolist()) for split in steps.splits(0.2, rngs)]
    # Five folds: each series once.
    assert sorted(found) == sorted(sorted(block.tolist()) for block in steps.series)


def test_shadows_of_series_drift_as_they_do():
    steps = find_steps(np.r_[np.arange(40.0), [np.nan] * 5], None, 45)
    places = steps.shuffled(np.random.default_rng(0))
    np.testing.assert_array_equal(np.sort(places), np.arange(44))
    # Turned: all but one of the steps are followed by the same one as before.
    assert (np.diff(places[:39]) % 39 == 1).sum() == 38
    assert 39 / 4 <= abs(places[0] - 0) <= 3 * 39 / 4 + 1
    assert sorted(places[39:].tolist()) == [*range(39, 44)]


def test_genes_that_drift_apart_are_no_discovery():
    # Independent random walks: each agrees with some other by chance.
    found = []
    for seed in range(4):
        walks = np.random.default_rng(seed).normal(size=(60, 12)).cumsum(axis=0)
        model = PRSNetwork(Ridge(), **flat_network(**SETTINGS), shadows=True)
        model.fit(walks, [*range(6)], time=np.arange(60))
        found.append(len(model.links(fdr=0.1)))
    assert np.mean(np.array(found) > 0) <= 0.25
