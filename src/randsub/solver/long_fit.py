"""Says that a fit takes long, as soon as that is known, and what would be faster."""

import time
import warnings
from collections.abc import Callable, Sequence

import numpy as np

from randsub._typing import FloatArray
from randsub.exceptions import LongFitWarning, duration
from randsub.parallel import Assignment
from randsub.solver.callback import Callback, TimedCallback
from randsub.solver.forecast import LongFit
from randsub.solver.problem import Problem, Settings
from randsub.solver.rounds import deal_batches
from randsub.solver.run import Run
from randsub.solver.state import TrainingState

# Expected time of a fit from which on it is long.
LONG = 600.0
# Time that models are measured for before a fit is judged, and between two judgements.
SECONDS_BETWEEN_LOOKS = 2.0
# Numbers of samples per base model that are tried out until the fit would not be long.
FEWER_SAMPLES = (2000, 1000, 500, 200)
# Models that are trained for such a trial.
N_TRIED = 3


class LongFitWatch(TimedCallback):
    """Tells callbacks, or else warns, once, that the fit takes long.

    A fit with a time limit is left alone.

    Parameters
    ----------
    run : Run
    problem : Problem
    theta : ndarray of shape (R, M)
        At the start.
    callbacks : sequence of Callback
        Those of the user.
    clock : callable, default=time.monotonic
    """

    def __init__(
        self,
        run: Run,
        problem: Problem,
        theta: FloatArray,
        callbacks: Sequence[Callback] = (),
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(run, clock)
        self._problem, self._theta, self._callbacks = problem, theta, callbacks
        self._next_look = SECONDS_BETWEEN_LOOKS
        self._is_suspected = self._is_told = False

    def on_prepare(self, settings: Settings) -> None:
        """Keep the settings."""
        super().on_prepare(settings)
        self._settings = settings

    def on_models_trained(self, n_done: int, n_all: int) -> None:
        """Look at the time."""
        super().on_models_trained(n_done, n_all)
        self._look()

    def on_start(self, settings: Settings, state: TrainingState) -> None:
        """Keep the settings."""
        super().on_start(settings, state)
        self._settings = settings

    def on_epoch_end(self, state: TrainingState) -> None:
        """Look at the time."""
        super().on_epoch_end(state)
        self._look()

    def _look(self) -> None:
        elapsed = self.forecast.elapsed
        if self._is_told or elapsed < self._next_look or self.forecast.run.time_limit is not None:
            return
        if not self.forecast.is_sure(SECONDS_BETWEEN_LOOKS):
            return
        self._next_look = elapsed + SECONDS_BETWEEN_LOOKS
        left, each = self.forecast.seconds_left(), self.forecast.seconds_per_model()
        is_long = left is not None and elapsed + left >= LONG
        # Twice in a row: once, models may have waited for processes to start.
        was_suspected, self._is_suspected = self._is_suspected, is_long
        if left is None or each is None or not (is_long and was_suspected):
            return
        self._is_told = True
        remedy = self._remedy(elapsed + left)
        run = self.forecast.run
        advice = LongFit(elapsed + left, each, *remedy, run.n_repeats, run.n_at_once)
        # All of them are told.
        if not sum(bool(callback.on_long_fit(advice)) for callback in self._callbacks):
            warnings.warn(
                advised(advice, "max_samples={}", "n_repeats={}", "TimeLimit"),
                LongFitWarning,
                stacklevel=2,
            )

    def _remedy(self, seconds: float) -> tuple[int | None, float]:
        """Fewer samples for each base model, and the time of the fit with them."""
        per_model = self._problem.dispatcher.seconds_per_model()
        base = int(np.argmax(per_model))
        settings = self._settings
        best: tuple[int | None, float] = None, seconds
        n_train = len(self._problem.targets[0].train_rows) * (1.0 - 1.0 / settings.n_batches)
        n_train = min(n_train, settings.max_samples or n_train)
        for n_samples in FEWER_SAMPLES:
            if 2 * n_samples > n_train or not per_model[base]:
                continue
            share = self._tried(base, n_samples) / per_model[base]
            if share * seconds < 0.8 * best[1]:
                best = n_samples, share * seconds
            if best[1] < LONG:
                break
        return best

    def _tried(self, base: int, n_samples: int) -> float:
        """Seconds that a model takes with fewer samples, measured here."""
        problem, rng = self._problem, np.random.default_rng(0)
        target, distribution = problem.targets[0], problem.distribution
        batch = deal_batches(
            target.train_rows, self._settings.n_batches, target.strata, n_samples, rng
        )[0]
        masks = distribution.sample(self._theta[base], N_TRIED, rng)
        assignment = Assignment(
            y=target.y,
            train_rows=batch.train_rows,
            query_rows=batch.query_rows,
            val_rows=target.val_rows,
            masks=distribution.expand(masks),
            seeds=np.zeros(N_TRIED, dtype=np.intp),
            base=base,
        )
        engine = self.forecast.run.engine_for(problem.dispatcher.engines[base], base, n_samples)
        return problem.dispatcher.trial(assignment, engine)


def advised(advice: LongFit, max_samples: str, n_repeats: str, time_limit: str) -> str:
    """What to do about a long fit, in words.

    Parameters
    ----------
    advice : LongFit
    max_samples, n_repeats : str
        How the number of samples, and of repeats, is set, with braces in its place.
    time_limit : str
        How a time limit is called.
    """
    times = []
    if advice.n_repeats > 1:
        times.append((n_repeats.format(1), advice.seconds_of_one))
    if advice.max_samples is not None:
        times.append((max_samples.format(advice.max_samples), advice.seconds_with))
    fewer = "A faster base model would help"
    if times:
        known = ", and with ".join(f"{what} about {duration(time)}" for what, time in times)
        fewer = f"With {known}; a faster base model would help, too"
    return (
        f"This fit will take about {duration(advice.seconds)}, at "
        f"{duration(advice.seconds_per_model)} per base model. {fewer}. {time_limit} ends it in "
        "time with the best alpha so far."
    )
