"""The fit of an ensemble as callbacks see it: repeats, in one block or several, and its members."""

from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar, TypeAlias

import numpy as np
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
from randsub.estimators.fit_data import FitData
from randsub.exceptions import BaseModelError
from randsub.parallel import Assignment
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
from randsub.solver.rounds import thin

# Fitted models, and the columns of each.
Members: TypeAlias = tuple[list[Any], list[IntArray]]
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
    _finished: list[Result] = field(default_factory=list)
    _last: tuple[Result, Members] | None = None

    @property
    def has_parts(self) -> bool:  # type: ignore[override]
        """Whether the repeats are trained in several blocks."""
        return len(list(self._blocks())) > 1

    @property
    def name(self) -> str:
        """Name of the model and, if there are several blocks, of the current repeats."""
        return f"{type(self.estimator).__name__}{self._part and ', '}{self._part}"

    def trained(self, theta: FloatArray, callbacks: Sequence[Callback]) -> tuple[Result, Members]:
        """Train all repeats from theta (P, M), and the members drawn from their best alphas."""
        # Whoever watches, saves or resumes sees all repeats of a block after each epoch.
        is_bound = callbacks or self.logbook.progress is not None
        if is_bound or len(theta) == 1 or not self.problem.dispatcher.has_others():
            self._train_together(theta, callbacks)
        else:
            results = solve_each(self.problem, self.settings, theta, self.data.rngs)
            # Means over repeats have the same bits as those of blocks in lockstep.
            blocks = [results[block] for block in self._blocks()]
            self._finished = [joined(block) for block in blocks if block]
        result = joined(self._finished)
        return result, self.members(result)

    def _train_together(self, theta: FloatArray, callbacks: Sequence[Callback]) -> None:
        """Train all repeats in lockstep, or those that fit into memory at the same time."""
        rngs = self.data.rngs
        for block in self._blocks():
            problem = replace(self.problem, targets=self.problem.targets[block])
            if self._recalled(problem):
                continue
            former = self._begin(block, problem)
            # Not named: the next block begins when the predictions of this one are gone.
            self._finished.append(
                solve(problem, self.settings, theta[block], rngs[block], callbacks, former).result()
            )
            del former
            if self._finished[-1].stopped == "interrupted":
                break

    def _blocks(self) -> Iterator[slice]:
        """Repeats that are trained at the same time, so that they fit into memory."""
        n_repeats = len(self.problem.targets)
        size = max(1, REPEAT_BYTES // max(map(self._bytes_of, self.problem.targets)))
        for begin in range(0, n_repeats, size):
            yield slice(begin, min(begin + size, n_repeats))

    def _bytes_of(self, target: Target) -> int:
        settings, n_held_out = self.settings, len(target.train_rows)
        if settings.max_samples is not None:
            n_held_out = min(n_held_out, settings.n_batches * settings.max_samples)
        n_rows = n_held_out + settings.n_batches * len(target.val_rows)
        n_predictions = settings.n_masks * target.encoded.shape[1] * n_rows
        return 8 * (n_predictions + THETA_COPIES * self.problem.distribution.n_parameters)

    def _begin(self, block: slice, problem: Problem) -> TrainingState | None:
        """Begin a block of repeats; its state in the resumed fit, if it has one."""
        n_repeats = len(self.problem.targets)
        if block != slice(0, n_repeats):
            self._part = f"repeats {block.start + 1} to {block.stop}"
            self.share = block.stop / n_repeats
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

    def _thawed(self, tree: Any, problem: Problem) -> Result:
        then, now = int(tree["max_iter"]), self.settings.max_iter
        if then != now:
            raise self.logbook.refusal(
                f"max_iter was {then} and is {now}, but {len(problem.targets)} repeat(s) are "
                "finished already; keep max_iter"
            )
        return thawed_result(tree["result"], problem)

    def _former(self, problem: Problem) -> TrainingState | None:
        tree = self.logbook.begun()
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
            if known.generators == result.generators and np.array_equal(
                known.best_theta, result.best_theta
            ):
                return self._last[1]
        model = self.estimator
        distribution, draws = model._distribution, []
        shares = np.array_split(np.arange(model.n_estimators), len(result.best_theta))
        for repeat, (theta, share) in enumerate(zip(result.best_theta, shares, strict=True)):
            if len(share):
                rng = result.rng(repeat)
                masks = distribution.expand(distribution.sample(theta, len(share), rng))
                draws.append((masks, rng))
        made = train_members(
            self.data,
            draws,
            max_samples=model._most_rows(len(self.data.samples.rows)),
            n_parts=self.settings.n_batches,
        )
        self._last = result, made
        return made

    def fitted_estimator(self, state: TrainingState) -> Any:
        """The model that ``fit`` would return if training ended with this state."""
        model = copy(self.estimator).set_callbacks()
        result = joined([*self._finished, state.result()])
        model._record(result, self.problem.penalty)
        model.estimators_, model.estimators_features_ = map(list, self.members(result))
        model._leave_file()
        return model

    def save(self, path: Path, state: TrainingState) -> None:
        """Write a checkpoint."""
        max_iter = self.settings.max_iter
        finished = [
            {"max_iter": max_iter, "result": frozen_result(result)} for result in self._finished
        ]
        self.logbook.write(path, finished, {"max_iter": max_iter, "state": frozen(state)})


def train_members(
    data: FitData,
    draws: Sequence[tuple[Masks, np.random.Generator]],
    max_samples: int | None = None,
    n_parts: int = 1,
) -> Members:
    """One fitted model per mask, and its columns.

    ``draws`` are masks (T, M), each with the generator of the seeds of their models. With fewer
    than all rows, ``n_parts`` parts of them have their own samples of rows.
    """
    rows = data.samples.rows
    limited = max_samples is not None and max_samples < len(rows)
    assignments = []
    columns: list[IntArray] = []
    for drawn, rng in draws:
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
            )
            for part in parts
        ]
    try:
        models = data.dispatcher.fit(assignments)
    except BaseModelError as error:
        raise error.located(data.feature_names, None) from error.__cause__
    return [one for part in models for one in part], columns
