"""How long a fit will take, from what was measured so far.

Time goes into base models, into the steps of the epochs, and into the models that are trained after
the last epoch::

    seconds = (seconds per model) * (models left) + (seconds per epoch) * (epochs left)

Seconds are measured; what is left must be foreseen. A refresh comes when alpha has moved too far
from the masks. After a start or a revival alpha moves fast, and slows down as it settles, so that
the gap between two refreshes grows with the epochs u since then, about linearly. Hence a law with
two numbers, the first gap g and the growth s of the gap per epoch:

    gap(u) = g + s u,        n(u) = log(1 + s u / g) / s   refreshes in u epochs

Early in a fit little is known of s, so that n(u) is averaged over laws, each with a weight: its
fit to the refreshes so far, times what recorded fits lead to expect. In these, many features made
alpha move away sooner (g is smaller), and the gap of fits with a large g grew faster. After a
revival the former law is expected again, with a gap that grows faster.

Independent tasks are refreshed one by one, so refreshes are counted in parts of a whole one. A
plateau may end training early; recorded fits went on for about twice ``n_iter_no_change`` epochs
after a start. Large first subsets shrink and small ones grow, and base models take their time
accordingly. The parts of a fit with several loops take time in proportion to their work.
"""

import math
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from randsub._typing import FloatArray
from randsub.solver.problem import Settings
from randsub.solver.run import Run
from randsub.solver.schedule import revival_epoch
from randsub.solver.state import INTERRUPTED, TrainingState

# First gap in epochs for 300 features and a threshold of 0.35, its power of the number of features,
# and the standard deviation of its logarithm.
FIRST_GAP, POWER_OF_WIDTH, SPREAD_OF_GAP = 5.5, -0.35, 0.4
# Growth of the gap per epoch for that gap, its power of the gap, and the standard deviation of its
# logarithm.
GROWTH, POWER_OF_GAP, SPREAD_OF_GROWTH = 0.08, 2.5, 0.5
# After a revival: factors of the former gap and growth.
REVIVED_GAP, REVIVED_GROWTH = 1.1, 1.8
# Epochs until a plateau, in units of n_iter_no_change.
UNTIL_PLATEAU = 2.0
# Subsets tend to a few features.
LAST_SIZE = 7.0
# Models that are enough to know how long one takes.
ENOUGH_MODELS = 8
# Weight of a refresh in the mean seconds per model, relative to the next one: subsets shrink.
MEMORY = 0.7


class Law(NamedTuple):
    """Gaps between refreshes: ``gap + growth * u`` after u epochs; numbers or arrays of them."""

    gap: FloatArray | float
    growth: FloatArray | float

    def refreshes(self, epochs: FloatArray | float) -> FloatArray:
        """Number of refreshes in so many epochs since the start or the last revival."""
        return np.log1p(self.growth * np.maximum(epochs, 0.0) / self.gap) / self.growth


def expected_law(n_parameters: int, ess_threshold: float) -> Law:
    """What recorded fits lead to expect, for a number of features and an ESS threshold."""
    # Weights of masks are about log-normal: how far alpha may move is a root of their variance.
    reach = math.sqrt(math.log(max(ess_threshold, 1e-3)) / math.log(0.35)) if ess_threshold else 9.0
    gap = max(1.0, FIRST_GAP * (n_parameters / 300.0) ** POWER_OF_WIDTH * max(reach, 0.05))
    return Law(gap, GROWTH * (gap / FIRST_GAP) ** POWER_OF_GAP)


class Refreshes:
    """Refreshes since a start or a revival, and the laws that agree with them.

    Parameters
    ----------
    expected : Law
        The law that is expected before anything is known.
    """

    def __init__(self, expected: Law) -> None:
        self.expected = expected
        # Epochs since the start, and cumulative numbers of refreshes after them.
        self._epochs: list[float] = []
        self._counts: list[float] = []

    def add(self, epoch: int, refreshes: float) -> None:
        """Add a refresh, or a part of one, after so many epochs."""
        self._counts.append(refreshes + (self._counts[-1] if self._counts else 0.0))
        self._epochs.append(float(max(epoch, 1)))

    def laws(self, epochs: int) -> tuple[Law, FloatArray]:
        """Possible laws, and their weights, after so many epochs."""
        gap, growth = self.expected
        steps = np.linspace(-3.0, 3.0, 19)
        by_gap, by_growth = (grid.ravel() for grid in np.meshgrid(steps, steps))
        # Laws with larger gaps grow faster, as between fits.
        laws = Law(
            gap * np.exp(SPREAD_OF_GAP * by_gap),
            growth * np.exp(SPREAD_OF_GROWTH * by_growth + POWER_OF_GAP * SPREAD_OF_GAP * by_gap),
        )
        log_weight = -0.5 * (by_gap**2 + by_growth**2)
        if self._counts:
            counts = np.array(self._counts)
            seen = counts >= 0.5
            seen[:-40] = False
            n, u = counts[seen], np.array(self._epochs)[seen]
            model = np.log(Law(laws.gap[:, None], laws.growth[:, None]).refreshes(u) + 1e-9)  # type: ignore[index]
            # Neighbouring counts have most of their deviation in common.
            deviation = (model - np.log(n)) / (0.1 + 0.2 / n)
            log_weight -= 0.5 * (deviation**2).sum(axis=1) * min(1.0, 6.0 / max(len(n), 1))
        # There has been no further refresh until now.
        most = (self._counts[-1] if self._counts else 0.0) + 1.0
        excess = np.maximum(np.log(laws.refreshes(epochs) + 1e-9) - math.log(most), 0.0)
        log_weight -= 0.5 * (excess / 0.2) ** 2
        weight = np.exp(log_weight - log_weight.max())
        return laws, weight / weight.sum()

    def law(self, epochs: int) -> Law:
        """Mean of the laws, as an expectation for what comes after a revival."""
        laws, weight = self.laws(epochs)
        return Law(*(float(np.exp(weight @ np.log(numbers))) for numbers in laws))


class LongFit(NamedTuple):
    """What is said of a fit that takes long.

    Parameters
    ----------
    seconds : float
        Expected time of the whole fit.
    seconds_per_model : float
    max_samples : int or None
        Number of samples per base model with which it would be faster; None if it would not.
    seconds_with : float
        Expected time with that.
    n_repeats : int
        Number of repeats, which share the time.
    n_at_once : int
        Number of repeats that are trained side by side, after the first.
    """

    seconds: float
    seconds_per_model: float
    max_samples: int | None
    seconds_with: float
    n_repeats: int = 1
    n_at_once: int = 1

    @property
    def seconds_of_one(self) -> float:
        """Expected time of a single repeat."""
        return self.seconds / (1.0 + (self.n_repeats - 1) / self.n_at_once)


class Forecast:
    """Measures a fit and estimates when it will end.

    Its methods are called by callbacks that show or limit the time.

    Parameters
    ----------
    run : Run
    clock : callable, default=time.monotonic
        Returns the time in seconds.
    """

    def __init__(self, run: Run, clock: Callable[[], float] = time.monotonic) -> None:
        self.run, self._clock = run, clock
        self._begin = clock()
        self._settings: Settings | None = None
        self._n_epochs = 0
        self._compiling_since: float | None = None
        # Whether all parts before the current one were trained in this fit, and not resumed.
        self._has_parts_behind = False
        self._reset()

    def _reset(self) -> None:
        """Forget what belongs to one loop, except for the seconds per model."""
        self._loop_begin = self._epoch_begin = self._clock()
        self._refreshes = Refreshes(expected_law(self.run.n_parameters, 0.35))
        self._state: TrainingState | None = None
        self._refresh: tuple[int, int] | None = None
        self._refresh_begin = self._loop_begin
        self._measured = self._refresh_begin, 0
        self._unit = 0
        self._cycle, self._cycle_begin = 0, 0
        self._in_refresh = 0.0
        self._models, self._model_seconds = 0.0, 0.0
        self._epochs, self._epoch_seconds = 0.0, 0.0
        self._has_stepped = False

    # -- what is measured --------------------------------------------------------------------------

    def prepare(self, settings: Settings) -> None:
        """The first models of a loop are about to be trained."""
        self._has_parts_behind = self._settings is not None or self.run.share_before == 0.0
        self._take(settings)
        self._reset()
        self._refreshes = Refreshes(expected_law(self.run.n_parameters, settings.ess_threshold))

    def _take(self, settings: Settings) -> None:
        """Keep the settings of a loop."""
        self._settings = settings
        if not self._n_epochs:
            # As many as if all parts were like the first: parts of fewer targets count for less.
            share = self.run.share - self.run.share_before
            self._n_epochs = round(settings.max_iter / share)

    def compile(self) -> None:
        """An engine is being compiled; that time does not count."""
        if self._compiling_since is None:
            self._compiling_since = self._clock()

    def _skip_compilation(self, now: float) -> bool:
        """Leave out the time since an engine began to be compiled, if one was."""
        if self._compiling_since is None:
            return False
        lost, self._compiling_since = now - self._compiling_since, None
        self._begin += lost
        self._loop_begin += lost
        self._epoch_begin += lost
        self._refresh_begin += lost
        self._measured = self._measured[0] + lost, self._measured[1]
        return True

    def models_trained(self, n_done: int, n_all: int) -> None:
        """So many models of a refresh are trained."""
        now = self._clock()
        self._skip_compilation(now)
        if self._refresh is None:
            # The first task may have to load an engine, or to start workers.
            self._measured = now, n_done
        self._refresh = n_done, n_all
        if not self._unit:
            self._unit = n_all
        if n_done >= n_all:
            self._in_refresh = seconds = now - self._refresh_begin
            since, n_before = self._measured
            if not self._models and n_before < n_all:
                seconds = (now - since) * n_all / (n_all - n_before)
            self._models = MEMORY * self._models + n_all
            self._model_seconds = MEMORY * self._model_seconds + seconds
            self._refresh = None

    def start(self, settings: Settings, state: TrainingState) -> None:
        """The first epoch is about to begin, or the first one after a checkpoint."""
        self._take(settings)
        self._skip_compilation(self._clock())
        if self._state is None and state.epoch:
            self._reset()
        self._state = state
        self._unit = self._unit or max(state.n_models_trained, 1)
        self._refreshes = Refreshes(expected_law(self.run.n_parameters, settings.ess_threshold))
        self._cycle, self._cycle_begin = _n_revived(state), state.epoch
        self._in_refresh = 0.0
        self._epoch_begin = self._refresh_begin = self._clock()

    def epoch_done(self, state: TrainingState) -> None:
        """An epoch has ended."""
        now = self._clock()
        # The first one of a loop may read compiled functions from disk.
        is_typical = not self._skip_compilation(now) and self._has_stepped
        self._has_stepped = True
        former, self._state = self._state, state
        trained = state.n_models_trained - (0 if former is None else former.n_models_trained)
        cycle = _n_revived(state)
        if cycle > self._cycle:
            law = self._refreshes.law(state.epoch - self._cycle_begin)
            self._refreshes = Refreshes(Law(law.gap * REVIVED_GAP, law.growth * REVIVED_GROWTH))
            self._cycle, self._cycle_begin = cycle, state.epoch - 1
        elif trained:
            self._refreshes.add(state.epoch - self._cycle_begin, trained / max(self._unit, 1))
        if is_typical:
            self._epochs += 1.0
            self._epoch_seconds += now - self._epoch_begin - self._in_refresh
        self._in_refresh, self._refresh = 0.0, None
        self._epoch_begin = self._refresh_begin = now

    # -- what is expected --------------------------------------------------------------------------

    @property
    def elapsed(self) -> float:
        """Seconds since the fit began, except for those that an engine was compiled in."""
        return self._clock() - self._begin

    @property
    def epochs(self) -> tuple[int, int]:
        """Number of epochs that are done, of all parts of the fit, and of all epochs."""
        if self._settings is None:
            return 0, 0
        done = 0.0 if self._state is None else self._state.epoch / self._settings.max_iter
        return round(self.run.share_after(done) * self._n_epochs), self._n_epochs

    def is_over(self, state: TrainingState) -> bool:
        """Whether the fit has ended with a loop that ends in this state: there is no other part."""
        return state.stopped in (None, INTERRUPTED) or self.run.share >= 1.0

    @property
    def refresh(self) -> tuple[int, int] | None:
        """Number of models of the refresh in progress that are trained, and of all of them."""
        return self._refresh

    def seconds_per_model(self) -> float | None:
        """Time between the ends of two models, on all workers together; None if unknown."""
        if self._refresh is not None:
            now, (n_done, _) = self._clock(), self._refresh
            since, n_before = self._measured
            if n_done > n_before:
                return (now - since + self._model_seconds) / (n_done - n_before + self._models)
        return self._model_seconds / self._models if self._models else None

    def is_sure(self, seconds: float) -> bool:
        """Whether models were measured for so long, or those of a whole refresh.

        A few models may have waited for a process to start, so that they have to be many, or
        measured for ten times as long.
        """
        n_done, n_before = 0 if self._refresh is None else self._refresh[0], self._measured[1]
        needed = seconds if n_done - n_before >= ENOUGH_MODELS else 10.0 * seconds
        return self.measured >= needed

    @property
    def measured(self) -> float:
        """Seconds since the first task of the first models ended; infinite once all are trained."""
        return math.inf if self._models > 0.0 else self._clock() - self._measured[0]

    def seconds_after(self, at_most: float = math.inf) -> float:
        """Time for the models that are trained after the last epoch of this loop.

        Under a time limit members are measured, too, unless more than ``at_most`` is expected
        without: scikit-learn trains them, which may take much longer than an engine's predictions.
        """
        each = self.seconds_per_model()
        expected = 0.0 if each is None else each * self.run.models_after
        if each is None or self.run.time_limit is None or expected >= at_most:
            return expected
        return max(expected, self.run.seconds_of_members(self._state))

    def time_left(self) -> float | None:
        """Expected time until the end of the fit, which may be that of a time limit."""
        left, limit = self.seconds_left(), self.run.time_limit
        if left is None or limit is None:
            return left
        return min(left, max(0.0, limit - self.elapsed))

    def seconds_left(self) -> float | None:
        """Expected time until the end of the fit, without regard to a time limit."""
        in_loop = self._left_in_loop()
        if in_loop is None:
            return None
        before, after = self.run.share_before, self.run.share
        # Parts of the fit that are still to come, at the speed of those so far.
        since, share = (
            (self.elapsed, after)
            if self._has_parts_behind
            else (
                self._clock() - self._loop_begin,
                after - before,
            )
        )
        return max(0.0, in_loop + (since + in_loop) * (1.0 - after) / share)

    def _left_in_loop(self) -> float | None:
        each, settings = self.seconds_per_model(), self._settings
        if each is None or settings is None:
            return None
        state = self._state
        size = self.run.first_size or LAST_SIZE
        if state is not None and state.history:
            size = state.history[-1].expected_size
        later = (LAST_SIZE / max(size, 0.1)) ** self.run.power_of_size
        n_models = later * (self._unit * self._refreshes_left(settings) + self.run.models_after)
        if self._refresh is not None:
            n_models += self._refresh[1] - self._refresh[0]
        step = self._epoch_seconds / self._epochs if self._epochs else 0.0
        epoch = 0 if state is None else state.epoch
        *_, (_, end) = self._cycles(settings)
        return each * n_models + step * (end - epoch)

    def _refreshes_left(self, settings: Settings) -> float:
        """Expected number of whole refreshes until the end of the loop."""
        epoch = 0 if self._state is None else self._state.epoch
        now = epoch - self._cycle_begin
        laws, weight = self._refreshes.laws(now)
        left = 0.0
        for n, (begin, end) in enumerate(self._cycles(settings)):
            future = Law(laws.gap * REVIVED_GAP**n, laws.growth * REVIVED_GROWTH**n)
            left += 1.0 if n else 0.0
            counts = future.refreshes(end - begin)
            left += float(weight @ (counts if n else counts - laws.refreshes(now)))
        return max(left, 0.0)

    def _cycles(self, settings: Settings) -> Iterator[tuple[int, int]]:
        """First and last epochs of the current cycle and of those after it, as expected."""
        state, patience = self._state, settings.n_iter_no_change
        epoch = 0 if state is None else state.epoch
        begin = self._cycle_begin
        for cycle in range(self._cycle, settings.n_revivals + 1):
            end = revival_epoch(settings, cycle) or settings.max_iter
            if patience is not None:
                plateau = begin + UNTIL_PLATEAU * patience
                if cycle == self._cycle and state is not None:
                    plateau = max(plateau, float(np.mean(state.mark_epochs)) + patience)
                end = min(end, max(round(plateau), epoch))
            end = max(end, epoch)
            yield begin, end
            begin = end
        if self._cycle > settings.n_revivals:
            yield begin, max(settings.max_iter, epoch)


def worth(rows: Sequence[int], of_refresh: int) -> float:
    """What models on so many rows each cost, in models of a refresh.

    The time of a base model is taken to grow with the square of its rows: a high estimate for trees
    and neighbours, a fair one for support vector machines.
    """
    return float(sum((n / max(of_refresh, 1)) ** 2 for n in rows))


def _n_revived(state: TrainingState) -> int:
    """Number of revivals so far of a typical task."""
    return int(statistics.median(state.n_revived.tolist()))
