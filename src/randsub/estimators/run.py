"""The fit of an ensemble as callbacks see it: repeats, in one block or several, and its members."""

import time
from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np
from joblib import effective_n_jobs
from scipy.sparse import csr_array

from randsub._masks import as_sparse
from randsub._typing import FloatArray, IntArray, Masks
from randsub.checkpoint import (
    Logbook,
    check_course,
    frozen,
    frozen_result,
    thawed,
    thawed_result,
)
from randsub.engines import Engine
from randsub.estimators.fit_data import FitData, find_engine
from randsub.exceptions import BaseModelError, UnfinishedFitError
from randsub.parallel import Assignment, one_thread
from randsub.solver import (
    Callback,
    Problem,
    Result,
    Run,
    Settings,
    Target,
    TrainingState,
    joined,
    solve,
)
from randsub.solver.apart import solve_each
from randsub.solver.forecast import worth
from randsub.solver.interruption import warn_of_repeats
from randsub.solver.long_fit import LongFitWatch
from randsub.solver.rounds import thin
from randsub.solver.shares import allotted, equal_shares
from randsub.solver.state import OF_ONE_TASK, was_interrupted


class Members(NamedTuple):
    """The final ensemble.

    Parameters
    ----------
    models : list of estimators
    columns : list of int ndarrays
        Columns of each.
    kinds : list of int
        Number of its base model.
    weights : ndarray
        Weights with which they are averaged; they add up to 1.
    """

    models: list[Any]
    columns: list[IntArray]
    kinds: list[int]
    weights: FloatArray


class Draw(NamedTuple):
    """Masks (T, M) of members of one base model, with the generator of their seeds."""

    masks: Masks
    rng: np.random.Generator
    base: int = 0


# Bytes for what grows with the repeats that run at the same time: predictions of base models, and
# arrays of the length of theta.
REPEAT_BYTES = 500_000_000
THETA_COPIES = 32


@dataclass(eq=False)
class EnsembleRun(Run):
    """Turns the state of training into an ensemble or a checkpoint, and back.

    Parameters
    ----------
    estimator : estimator
        The model that is being fitted.
    data : FitData
    problem : Problem
        Of all repeats.
    settings : Settings
    logbook : Logbook
    """

    can_predict: ClassVar[bool] = True

    estimator: Any
    data: FitData
    problem: Problem
    settings: Settings
    logbook: Logbook
    _part: str = ""
    _problem: Problem = field(init=False)
    _finished: list[Result] = field(default_factory=list)
    _last: tuple[Result, Members] | None = None
    # Theta at the start, and seconds of a member of each base model.
    _theta: FloatArray = field(init=False)
    _member_seconds: list[float] = field(default_factory=list)
    # Whether repeats are trained one after the other: those that a time limit leaves are whole.
    _one_by_one: bool = False
    # Why repeats were given up, if there are results of others.
    _ended: str | None = None

    @property
    def n_repeats(self) -> int:  # type: ignore[override]
        """Number of tasks."""
        return len(self.problem.targets)

    @property
    def first_size(self) -> float:  # type: ignore[override]
        """Of the first theta."""
        return float(np.mean([*map(self.problem.distribution.expected_size, self._theta)]))

    @property
    def time_share(self) -> float:
        """Each of the repeats that are trained one by one may take all the time that is left."""
        return 1.0 if self._one_by_one else self.share

    @property
    def has_parts(self) -> bool:  # type: ignore[override]
        """Whether the repeats are trained in several blocks."""
        return len(list(self._blocks())) > 1

    @property
    def name(self) -> str:
        """Name of the model and, if there are several blocks, of the current repeats."""
        return f"{type(self.estimator).__name__}{self._part and ', '}{self._part}"

    @property
    def n_parameters(self) -> int:  # type: ignore[override]
        """Number of features, or of feature groups."""
        return self.problem.distribution.n_parameters

    @property
    def models_after(self) -> float:  # type: ignore[override]
        """Work for the final ensemble and its calibration, in models of a refresh."""
        model, n_train = self.estimator, len(self.data.splits[0].train_rows)
        of_refresh = round(n_train * (1.0 - 1.0 / self.settings.n_batches))
        of_refresh = min(of_refresh, self.settings.max_samples or of_refresh)
        rows = [model._most_rows(len(self.data.samples.rows))] * model.n_estimators
        # Of repeats that are trained one by one, this may be the last.
        n_repeats = len(self._finished) + 1 if self._one_by_one else self.n_repeats
        n_calibrated = model._n_calibrated(self.data) * min(n_repeats, self.n_repeats)
        return worth([*rows, *[model._most_rows(n_train)] * n_calibrated], of_refresh)

    @property
    def power_of_size(self) -> float:  # type: ignore[override]
        """As of the engines."""
        return max(engine.power_of_size for engine in self.data.dispatcher.engines)

    def seconds_of_members(self, state: TrainingState | None) -> float:
        """As measured with members of each base model, trained for it, at the current shares."""
        n_bases = self.problem.n_bases
        shares = equal_shares(1, n_bases) if state is None else state.shares
        if not self._member_seconds:
            # The first one may have to load a library.
            self._member_seconds = [
                min(self._tried(self._theta[base], base) for _ in range(2))
                for base in range(n_bases)
            ]
        counts = member_counts(shares, self.estimator.n_estimators).sum(axis=0)
        return float(counts @ self._member_seconds) / effective_n_jobs(self.data.dispatcher.n_jobs)

    def _tried(self, theta: FloatArray, base: int) -> float:
        """Seconds that one member takes."""
        begin, rng = time.perf_counter(), np.random.default_rng(0)
        model, distribution = self.estimator, self.problem.distribution
        masks = distribution.expand(distribution.sample(theta, 1, rng))
        most_rows = model._most_rows(len(self.data.samples.rows))
        train_members(self.data, [Draw(masks, rng, base)], max_samples=most_rows)
        return time.perf_counter() - begin

    def engine_for(self, engine: Engine, base: int, n_samples: int) -> Engine:
        """As ``fit`` would choose it: some engines take no large training sets."""
        learner, data = engine.learner, self.data.dispatcher.data
        choice = find_engine(self.estimator, learner, data, self.data.samples.y, n_samples, base)
        return choice.engine(learner)

    def trained(self, theta: FloatArray, callbacks: Sequence[Callback]) -> tuple[Result, Members]:
        """Train all repeats from theta (P, M), and the members drawn from their best alphas."""
        self._theta = theta
        self._one_by_one = self._is_one_by_one()
        # Whoever watches, saves or resumes sees all repeats of a block after each epoch.
        is_bound = callbacks or self.logbook.progress is not None
        n_repeats, dispatcher = self.n_repeats, self.problem.dispatcher
        watch = LongFitWatch(self, self.problem, theta, callbacks)
        if is_bound or n_repeats == 1 or not dispatcher.has_others():
            self._train_together(theta, [*callbacks, watch])
        else:
            # The first repeat is trained here, the others side by side.
            self.n_at_once = dispatcher.n_others()
            self.share = 1.0 / (1.0 + (n_repeats - 1) / self.n_at_once)
            results = solve_each(self.problem, self.settings, theta, self.data.rngs, [watch])
            # Means over repeats have the same bits as those of blocks in lockstep.
            blocks = [results[block] for block in self._blocks()]
            self._finished = [joined(block) for block in blocks if block]
        result = joined(self._finished)
        result = replace(result, stopped=self._ended or result.stopped)
        n_kept = len(result.best_epochs)
        are_missing = was_interrupted(result.stopped) and n_kept < n_repeats
        if (self._is_over() and n_repeats > 1) or are_missing:
            done = f"{result.stopped}; {n_kept} of {n_repeats} repeats"
            result = replace(result, stopped=done)
        return result, self.members(result)

    def _is_over(self) -> bool:
        """Whether a time limit has ended the repeats that are trained one by one."""
        return self._one_by_one and self.is_out_of_time

    def _is_one_by_one(self) -> bool:
        """Under a time limit, or as it was in the fit that is resumed."""
        if self.logbook.progress is None:
            return self.time_limit is not None
        with self.logbook.reading():
            return bool(self.logbook.progress["current"].get("one_by_one", False))

    def _train_together(self, theta: FloatArray, callbacks: Sequence[Callback]) -> None:
        """Train all repeats in lockstep, or those that fit into memory at the same time."""
        rngs = self.data.rngs
        for block in self._blocks():
            problem = replace(self.problem, targets=self.problem.targets[block])
            if self._recalled(problem):
                continue
            former, self._problem = self._begin(block, problem), problem
            rows = self.problem.rows(np.arange(self.n_repeats)[block])
            try:
                # The state is not named: the next block begins when its predictions are gone.
                result = solve(
                    problem, self.settings, theta[rows], rngs[block], callbacks, former
                ).result()
            except UnfinishedFitError as error:
                if not (self._is_over() and self._finished):
                    raise
                self._ended = error.reason
                break
            del former
            is_interrupted = was_interrupted(result.stopped)
            is_late = self._is_over() and len(result.history) < self.settings.max_iter
            if self._finished and (is_late or (self._one_by_one and is_interrupted)):
                # A repeat that has hardly begun would count as much as a finished one.
                self._ended = result.stopped
                if is_interrupted:
                    warn_of_repeats(len(self._finished), self.n_repeats)
                break
            self._finished.append(result)
            if self._is_over() or is_interrupted:
                break

    def _blocks(self) -> Iterator[slice]:
        """Repeats that are trained at the same time, so that they fit into memory."""
        n_repeats = self.n_repeats
        size = max(1, REPEAT_BYTES // max(map(self._bytes_of, self.problem.targets)))
        if self._one_by_one:
            size = 1
        for begin in range(0, n_repeats, size):
            yield slice(begin, min(begin + size, n_repeats))

    def _bytes_of(self, target: Target) -> int:
        settings, n_held_out = self.settings, len(target.train_rows)
        if settings.max_samples is not None:
            n_held_out = min(n_held_out, settings.n_batches * settings.max_samples)
        n_rows = n_held_out + settings.n_batches * len(target.val_rows)
        n_predictions = settings.n_masks * target.encoded.shape[1] * n_rows
        per_base = n_predictions + THETA_COPIES * self.problem.distribution.n_parameters
        return 8 * self.problem.n_bases * per_base

    def _begin(self, block: slice, problem: Problem) -> TrainingState | None:
        """Begin a block of repeats; its state in the resumed fit, if it has one."""
        n_repeats = self.n_repeats
        if block != slice(0, n_repeats):
            self._part = f"repeats {block.start + 1} to {block.stop}"
            self.share_before, self.share = block.start / n_repeats, block.stop / n_repeats
        return None if self.logbook.progress is None else self._former(problem)

    def _recalled(self, problem: Problem) -> bool:
        """Whether the resumed fit had finished these repeats, whose result is then taken over."""
        if self.logbook.progress is None:
            return False
        result = self.logbook.recalled(
            len(self._finished), lambda tree: self._thawed(tree, problem)
        )
        self._finished += [] if result is None else [result]
        return result is not None

    def _thawed(self, tree: Any, problem: Problem) -> Result | None:
        result = thawed_result(tree["result"], problem)
        if result.stopped is not None and not result.stopped.startswith(OF_ONE_TASK):
            # A callback has stopped these repeats. They are trained again: it may not do so now.
            return None
        then, now = int(tree["max_iter"]), self.settings.max_iter
        if then != now:
            raise self.logbook.refusal(
                f"max_iter was {then} and is {now}, but {len(problem.targets)} repeat(s) are "
                "finished already; keep max_iter"
            )
        return result

    def _former(self, problem: Problem) -> TrainingState | None:
        tree = self.logbook.begun(len(self._finished))
        if tree is None:
            return None
        with self.logbook.reading():
            then = replace(self.settings, max_iter=int(tree["max_iter"]))
            state = thawed(tree["state"], problem, self.settings)
        check_course(self.logbook, state, then, self.settings)
        return state

    def members(self, result: Result) -> Members:
        """Members of the ensemble, and their columns, of this result."""
        if self._last is not None:
            known = self._last[0]
            # The members depend on nothing else.
            if (
                known.generators == result.generators
                and np.array_equal(known.best_theta, result.best_theta)
                and np.array_equal(known.best_shares, result.best_shares)
            ):
                return self._last[1]
        model, shares = self.estimator, result.best_shares
        counts = member_counts(shares, model.n_estimators)
        draws = [
            draw
            for repeat, of_repeat in enumerate(counts)
            for draw in drawn(model, result, repeat, of_repeat, result.rng(repeat))
        ]
        models, columns = train_members(
            self.data,
            draws,
            max_samples=model._most_rows(len(self.data.samples.rows)),
            n_parts=self.settings.n_batches,
        )
        kinds = [draw.base for draw in draws for _ in range(draw.masks.shape[0])]
        made = Members(models, columns, kinds, member_weights(shares, counts))
        self._last = result, made
        return made

    def fitted_estimator(self, state: TrainingState) -> Any:
        """The model that ``fit`` would return if training ended with this state.

        Its probabilities are not calibrated, which would take further models each time.
        """
        model = copy(self.estimator).set_callbacks()
        with one_thread():
            state = state.scored(self._problem)
        result = joined([*self._finished, state.result()])
        model._record(result, self.problem.penalty)
        model._keep(self.members(result))
        model._leave_file()
        return model

    def save(self, path: Path, state: TrainingState) -> None:
        """Write a checkpoint."""
        max_iter = self.settings.max_iter
        finished = [
            {"max_iter": max_iter, "result": frozen_result(result)} for result in self._finished
        ]
        current = {"max_iter": max_iter, "state": frozen(state), "one_by_one": self._one_by_one}
        self.logbook.write(path, finished, current)


def drawn(
    model: Any, result: Result, repeat: int, counts: IntArray, rng: np.random.Generator
) -> Iterator[Draw]:
    """Masks of so many members of each base model, from the best theta of a repeat."""
    distribution = model._distribution
    for base, n_members in enumerate(counts.tolist()):
        if n_members:
            theta = result.best_theta[repeat * len(counts) + base]
            masks = distribution.expand(distribution.sample(theta, n_members, rng))
            yield Draw(masks, rng, base)


def member_counts(shares: FloatArray, n_members: int) -> IntArray:
    """Number of members of each repeat and base model, (P, B), from shares (P, B)."""
    counts = np.zeros(shares.shape, dtype=np.intp)
    for base, n_of_base in enumerate(allotted(shares.mean(axis=0), n_members).tolist()):
        if shares.shape[1] == 1:
            # Equal shares; the first repeats get what is left over.
            parts = np.array_split(np.arange(n_of_base), len(shares))
            counts[:, base] = [len(part) for part in parts]
        elif n_of_base:
            counts[:, base] = allotted(shares[:, base], n_of_base)
    return counts


def member_weights(shares: FloatArray, counts: IntArray) -> FloatArray:
    """Weight of each member, so that the ensemble is the mixture whatever numbers are rounded to.

    Members are in the order of repeats, and of base models within a repeat. The share of a base
    model in repeats that have no member of it goes to its members in others.
    """
    held = np.where(counts > 0, shares, 0.0)
    totals = held.sum(axis=0)
    factors = np.divide(shares.sum(axis=0), totals, out=np.zeros_like(totals), where=totals > 0.0)
    each = (held * factors / np.maximum(counts, 1)).ravel()
    weights = np.repeat(each, counts.ravel())
    return weights / weights.sum()


def train_members(
    data: FitData,
    draws: Sequence[Draw],
    max_samples: int | None = None,
    n_parts: int = 1,
) -> tuple[list[Any], list[IntArray]]:
    """One fitted model per mask, and its columns.

    With fewer than all rows, ``n_parts`` parts of the masks of a draw have their own samples of
    rows.
    """
    rows = data.samples.rows
    limited = max_samples is not None and max_samples < len(rows)
    assignments = []
    columns: list[IntArray] = []
    for drawn, rng, base in draws:
        # Models are trained on ascending columns; those of a group may come in any order.
        masks: csr_array = as_sparse(drawn).sorted_indices()
        n_masks = masks.shape[0]
        columns += np.split(masks.indices.astype(np.intp), masks.indptr[1:-1])
        seeds = rng.integers(np.iinfo(np.int32).max, size=n_masks)
        parts = np.array_split(np.arange(n_masks), min(n_parts, n_masks) if limited else 1)
        assignments += [
            Assignment(
                y=data.samples.y,
                train_rows=np.sort(thin(rows, max_samples, data.strata, rng)),
                query_rows=rows[:0],
                val_rows=rows[:0],
                masks=masks[part],
                seeds=seeds[part],
                base=base,
            )
            for part in parts
        ]
    try:
        models = data.dispatcher.fit(assignments)
    except BaseModelError as error:
        raise error.located(data.feature_names, None) from error.__cause__
    return [one for part in models for one in part], columns
