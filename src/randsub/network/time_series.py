"""Time series: regulators at one time, and the level that their targets then tend to.

Of a gene that is produced at a rate r, which its regulators set, and decays with a mean lifetime
tau,

    dx / dt = r - x / tau,

the level that it tends to, tau r, is ``x + tau dx / dt``. Between two samples of a series, at times
t and t', it is estimated by ``x(t) + tau (x(t') - x(t)) / (t' - t)``; in a steady state it is x.
tau is the median time between samples: where all are equally far apart, the level is the next
value.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from randsub._typing import FloatArray, IntArray


@dataclass(frozen=True)
class Steps:
    """Pairs of samples that follow each other in a series, and steady states.

    Parameters
    ----------
    now, after : int ndarrays of shape (n_steps,)
        Samples at the start and at the end of each step, ascending in ``now``; the same sample for
        a steady state.
    lifetimes : ndarray of shape (n_steps,)
        tau / (t' - t); 0 for a steady state.
    """

    now: IntArray
    after: IntArray
    lifetimes: FloatArray

    def levels(self, values: FloatArray) -> FloatArray:
        """Levels that genes tend to, (n_steps, n_genes), from their values in all samples."""
        change = values[self.after] - values[self.now]
        return np.asarray(values[self.now] + self.lifetimes[:, np.newaxis] * change)

    def touching(self, samples: IntArray) -> IntArray:
        """Steps that start or end in one of some samples."""
        return np.flatnonzero(np.isin(self.now, samples) | np.isin(self.after, samples))


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
    labels = ["the series"] * n_samples if series is None else list(series)
    _check_length("series", len(labels), n_samples)
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
    lifetimes = np.concatenate([np.median(steps) / steps if len(steps) else steps, 0.0 * steady])
    now, after = np.concatenate([now, steady]), np.concatenate([after, steady])
    by_sample = np.argsort(now)
    return Steps(now[by_sample], after[by_sample], lifetimes[by_sample])


def _times(time: Any, n_samples: int) -> FloatArray:
    entries = list(time)
    _check_length("time", len(entries), n_samples)
    try:
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


def _check_length(name: str, n_entries: int, n_samples: int) -> None:
    if n_entries != n_samples:
        raise ValueError(
            f"{name} has {n_entries} entries, but expression has {n_samples} samples; give one "
            "for each."
        )


def _shown(label: Any) -> str:
    return label if label == "the series" else f"series {label!r}"
