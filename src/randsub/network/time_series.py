"""Time series: regulators at one time, and the level that their targets then tend to.

Of a gene that is produced at a rate r, which its regulators set, and decays with a mean lifetime
tau,

    dx / dt = r - x / tau,

the level that it tends to, tau r, is ``x + tau dx / dt``. Between two samples of a series, at times
t and t', it is estimated by ``x(t) + tau (x(t') - x(t)) / (t' - t)``; in a steady state it is x.
tau is the mean time between samples: where all are equally far apart, the level is the next value.
The change of a short step says little: it is extrapolated at most to twice its length.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from randsub._typing import FloatArray, IntArray
from randsub.estimators.fit_data import Split, repeated_splits
from randsub.network.expression_data import one_for_each

# tau / (t' - t) of the shortest steps.
LONGEST_LIFETIME = 2.0


@dataclass(frozen=True)
class Steps:
    """Pairs of samples that follow each other in a series, and steady states.

    Parameters
    ----------
    now, after : int ndarrays of shape (n_steps,)
        Samples at the start and at the end of each step, ascending in ``now``; the same sample for
        a steady state.
    lifetimes : ndarray of shape (n_steps,)
        tau / (t' - t), at most 2; 0 for a steady state.
    series : sequence of int ndarrays
        The steps of each series, in order of time; steady states are in none.
    """

    now: IntArray
    after: IntArray
    lifetimes: FloatArray
    series: Sequence[IntArray] = field(default_factory=list)

    def levels(self, values: FloatArray) -> FloatArray:
        """Levels that genes tend to, (n_steps, n_genes), from their values in all samples."""
        change = values[self.after] - values[self.now]
        return np.asarray(values[self.now] + self.lifetimes[:, np.newaxis] * change)

    def touching(self, samples: IntArray) -> IntArray:
        """Steps that start or end in one of some samples."""
        return np.flatnonzero(np.isin(self.now, samples) | np.isin(self.after, samples))

    @property
    def _steady(self) -> IntArray:
        return np.flatnonzero(self.now == self.after)

    def shuffled(self, rng: np.random.Generator) -> IntArray:
        """A place for each step to take its values from, which has nothing to do with it.

        Values that follow each other go on doing so: what drifts slowly agrees by chance with
        anything else that does, and values in a random order would not. All series, end to end,
        are turned by a quarter to three quarters. Steady states are in a random order.
        """
        places = np.arange(len(self.now))
        in_order = np.concatenate([*self.series, places[:0]])
        n_steps = len(in_order)
        turn = int(rng.integers(-(-n_steps // 4), 3 * n_steps // 4 + 1)) if n_steps > 1 else 0
        places[in_order] = np.roll(in_order, turn)
        places[self._steady] = rng.permutation(self._steady)
        return places

    def splits(self, fraction: float, rngs: Sequence[np.random.Generator]) -> list[Split]:
        """Steps to train on, and a fraction to validate on; one split per generator.

        Steps that follow each other are alike, and stay together: whole series are split off, or
        stretches of them, end to end, if there are only two or one is more than twice the fraction.
        """
        rows: IntArray = np.arange(len(self.now))
        blocks, in_order = list(self.series), np.concatenate([*self.series, rows[:0]])
        longest = max(map(len, blocks), default=0)
        if len(blocks) < 3 or longest > 2.0 * fraction * len(in_order):
            n_blocks = max(round(1.0 / fraction), 3)
            blocks = np.array_split(in_order, min(n_blocks, max(len(in_order), 1)))
        if len(blocks) < 3:
            return repeated_splits(rows, fraction, None, rngs)
        belongs = np.empty(len(rows), dtype=np.intp)
        for number, block in enumerate(blocks):
            belongs[block] = number
        steady = self._steady
        belongs[steady] = np.arange(len(steady)) % len(blocks)
        of_blocks = repeated_splits(np.arange(len(blocks)), fraction, None, rngs)
        chosen = [np.isin(belongs, split.val_rows) for split in of_blocks]
        return [Split(np.flatnonzero(~one), np.flatnonzero(one)) for one in chosen]


def find_steps(time: Any, series: Any, n_samples: int) -> Steps | None:
    """The steps of all series; None if the samples are no time series.

    Parameters
    ----------
    time : sequence of n_samples numbers, or None
        NaN or None for a sample of a steady state.
    series : sequence of n_samples labels, or None
        Which series each sample is of; by default there is one.
    n_samples : int
    """
    if time is None:
        if series is not None:
            raise ValueError("series tells time series apart, and there is no time; give both.")
        return None
    times = _times(time, n_samples)
    labels = ["the series"] * n_samples
    if series is not None:
        labels = one_for_each("series", series, n_samples)
    in_time = np.flatnonzero(~np.isnan(times))
    # Codes instead of labels, which may be of types that cannot be sorted.
    codes, _ = pd.factorize(pd.Series([labels[row] for row in in_time.tolist()], dtype=object))
    if (codes < 0).any():
        raise ValueError(
            f"series has no label for sample {in_time[codes < 0][0]}, which has a time; label it, "
            "or set its time to NaN if it is of a steady state."
        )
    order = in_time[np.lexsort((times[in_time], codes))]
    code = np.empty(n_samples, dtype=np.intp)
    code[in_time] = codes
    follows = code[order[1:]] == code[order[:-1]]
    now, after = order[:-1][follows], order[1:][follows]
    steps = times[after] - times[now]
    if (steps == 0).any():
        row = now[steps == 0][0]
        raise ValueError(
            f"Two samples of {_shown(labels[row])} are at time {times[row]:g}; replicates are "
            "series of their own: give them different labels in series."
        )
    alone = np.setdiff1d(in_time, np.union1d(now, after))
    if len(alone):
        raise ValueError(
            f"{_shown(labels[alone[0]]).capitalize()} has a single sample, at time "
            f"{times[alone[0]]:g}, which no other follows; leave it out, or set its time to NaN if "
            "it is of a steady state."
        )
    steady = np.flatnonzero(np.isnan(times))
    in_steps = np.minimum(steps.mean() / steps, LONGEST_LIFETIME) if len(steps) else steps
    lifetimes = np.concatenate([in_steps, 0.0 * steady])
    of_series = code[now]
    now, after = np.concatenate([now, steady]), np.concatenate([after, steady])
    by_sample = np.argsort(now)
    # Where each step has gone to; those in time come first, series by series.
    place = np.argsort(by_sample)[: len(of_series)]
    each = [place[of_series == number] for number in np.unique(of_series)]
    return Steps(now[by_sample], after[by_sample], lifetimes[by_sample], each)


def _times(time: Any, n_samples: int) -> FloatArray:
    entries = one_for_each("time", time, n_samples)
    try:
        if any(isinstance(one, np.datetime64 | np.timedelta64) for one in entries):
            raise TypeError("dates")
        times = np.array([np.nan if pd.isna(one) else one for one in entries], dtype=float)
    except (TypeError, ValueError):
        raise ValueError(
            "time must hold a number for each sample, or NaN for a steady state; dates are numbers "
            "of days or hours after the first."
        ) from None
    if np.isinf(times).any():
        row = np.flatnonzero(np.isinf(times))[0]
        raise ValueError(f"time is infinite in sample {row}; use NaN for a steady state.")
    return times


def _shown(label: Any) -> str:
    return label if label == "the series" else f"series {label!r}"
