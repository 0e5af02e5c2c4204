"""Repeats of a network fit: the same targets, trained on several validation splits.

As for the ensembles, the splits are folds while there are samples, and the first repeats do not
depend on the number of repeats. A repeat is a training of its own, and not a task beside others: a
penalty couples the targets of one repeat, and those alone.

Several base models are mixed by shares within one training or, if they are trained apart, have one
training each, bit for bit as if they were alone.
"""

from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from randsub._typing import FloatArray, IntArray
from randsub.checkpoint import Logbook
from randsub.engines import Engine
from randsub.estimators.fit_data import repeat_generators
from randsub.exceptions import UnfinishedFitError
from randsub.network.assembly import assemble
from randsub.network.candidate_links import gene_generator
from randsub.network.fit_data import NetworkSamples
from randsub.network.member_evidence import member_scores, says_importances
from randsub.network.path import PathPoint
from randsub.network.run import NetworkRun, judged_rows
from randsub.network.solving import (
    Case,
    Solution,
    follow_path,
    mean_error,
    solve_apart,
    solve_together,
)
from randsub.solver.callback import Callback
from randsub.solver.interruption import is_interruption, warn_of_repeats
from randsub.solver.long_fit import LongFitWatch
from randsub.solver.state import INTERRUPTED

# Apart from the random numbers of training.
MEMBERS, SHADOWS = 1_000_003, 1_000_033


@dataclass(frozen=True)
class Repeat:
    """A finished repeat.

    Parameters
    ----------
    solutions : list of lists of Solution
        Along the path; one list, or one per base model if these are trained apart.
    rows : int ndarray
        Samples on which the errors are.
    mean_error : float
        Error of predicting the mean of each target.
    """

    solutions: list[list[Solution]]
    rows: IntArray
    mean_error: float

    @property
    def is_interrupted(self) -> bool:
        """Whether Ctrl-C ended it."""
        return any(path[-1].stop_reason == INTERRUPTED for path in self.solutions)

    def interrupted(self) -> "Repeat":
        """The same, as the last one before Ctrl-C."""
        *paths, path = self.solutions
        last = replace(path[-1], stop_reason=INTERRUPTED)
        return replace(self, solutions=[*paths, [*path[:-1], last]])

    @property
    def length(self) -> int:
        """Number of coefficients that all paths have."""
        return min(map(len, self.solutions))


class Repeats:
    """The trainings of a fit.

    Parameters
    ----------
    model : PRSNetwork
    bases : mapping of str to estimator
        Base models by name; the name of a single one is empty.
    samples : NetworkSamples
    logbook : Logbook
    """

    def __init__(
        self, model: Any, bases: Mapping[str, Any], samples: NetworkSamples, logbook: Logbook
    ) -> None:
        self._model, self._samples, self._seed = model, samples, logbook.seed.tolist()
        self._groups: list[Mapping[str, Any]] = [bases]
        if model.mixing == "apart":
            self._groups = [{name: base} for name, base in bases.items()]
        self._rngs = repeat_generators(logbook.seed, model.n_repeats)
        self._splits = samples.splits(model.validation_fraction, self._rngs)
        self.run = NetworkRun(model, logbook)
        n_copies = 2 if model.shadows else 1
        self.run.n_parameters = n_copies * len(samples.candidates.regulators)
        self.engines: list[Engine] = []

    def train(self, lams: Sequence[float], callbacks: Sequence[Callback]) -> list[Repeat]:
        """Train all repeats along a path.

        After Ctrl-C, or if the time is over, those that are finished are returned, or what there is
        of the first.
        """
        finished: list[Repeat] = []
        watch: list[Callback] = []
        for number in range(len(self._rngs)):
            cases = self._cases(number)
            if not finished:
                self.engines = [e for case in cases for e in case.problem.dispatcher.engines]
                first = cases[0]
                watch = [LongFitWatch(self.run, first.problem, first.theta, callbacks)]
            repeat: Repeat | None = None
            try:
                repeat = self._repeat(number, cases, lams, [*callbacks, *watch])
            except (UnfinishedFitError, KeyboardInterrupt, SystemError) as error:
                is_known = isinstance(error, UnfinishedFitError) or is_interruption(error)
                if not finished or not is_known:
                    raise
            if finished and (repeat is None or repeat.length < finished[0].length):
                # Some coefficients alone would not do, either.
                warn_of_repeats(number, len(self._rngs))
                finished[-1] = finished[-1].interrupted()
                break
            assert repeat is not None
            finished.append(repeat)
            if repeat.is_interrupted:
                break
        return finished

    def check_members(self) -> None:
        """Raise unless some base model can be asked for the importances of its columns."""
        if not any(says_importances(case).any() for case in self._cases(0)):
            raise ValueError(
                "Ranking(evidence='members') needs base models with importances or coefficients, "
                "such as trees or linear models; none of the base models here has them."
            )

    def members(self, point: PathPoint) -> list[FloatArray]:
        """What new models of each training say of the regulators, for a coefficient: (P, M) each.

        Trainings whose base models do not say are left out.
        """
        found = []
        for number, solutions in enumerate(point.repeats):
            seed = [*self._seed, number, MEMBERS]
            for case, solution in zip(self._cases(number), solutions, strict=True):
                if not says_importances(case).any():
                    continue
                rngs = [gene_generator(name, seed) for name in self._names()]
                with case.problem.dispatcher:
                    scores = member_scores(case, solution.mean_alpha, solution.shares, rngs)
                found.append(scores)
        return found

    def _names(self) -> list[str]:
        candidates = self._samples.candidates
        return [candidates.targets[g] for g in candidates.trained]

    def _cases(self, number: int) -> list[Case]:
        """The problems of a repeat, all of them before one is trained: bad ones are errors."""
        seed = [*self._seed, number] if number else self._seed
        # One order of the samples for all repeats: chance of another one would average out, and
        # that of a regulator without links does not.
        shadow_seed = [*self._seed, SHADOWS] if self._model.shadows else None
        prepared = self._samples.scaled(self._splits[number], shadow_seed)
        # A copy for each: every base model is as if it were alone, and has the same rows.
        rngs = [deepcopy(self._rngs[number]) for _ in self._groups]
        return [
            assemble(self._model, group, prepared, self.run, rng, seed)
            for group, rng in zip(self._groups, rngs, strict=True)
        ]

    def _repeat(
        self,
        number: int,
        cases: Sequence[Case],
        lams: Sequence[float],
        callbacks: Sequence[Callback],
    ) -> Repeat:
        # What is left of the first repeat is better than nothing, if it has all base models.
        keeps_unfinished = number == 0 and len(cases) == 1
        solutions, rows = [], judged_rows(cases[0].problem)
        n_trainings = len(self._rngs) * len(cases)
        for place, case in enumerate(cases):
            name = self._name(number, place)
            self.run.enter(name, number * len(cases) + place, n_trainings, rows)
            case = replace(case, callbacks=callbacks, keeps_unfinished=keeps_unfinished)
            with case.problem.dispatcher:
                solutions.append(_solutions(case, lams, self._model.block_size))
        errors = [mean_error(case.problem) for case in cases]
        return Repeat(solutions, rows, float(np.mean(errors)))

    def _name(self, number: int, place: int) -> str:
        """Name of a training, for callbacks; empty if there is one only."""
        n_repeats = len(self._rngs)
        words = [f"repeat {number + 1} of {n_repeats}"] if n_repeats > 1 else []
        words += [*self._groups[place]] if len(self._groups) > 1 else []
        return ", ".join(words)


def path_points(repeats: Sequence[Repeat]) -> list[PathPoint]:
    """The solutions of all repeats, by coefficient."""
    return [
        PathPoint(
            [[path[place] for path in repeat.solutions] for repeat in repeats],
            [repeat.rows for repeat in repeats],
        )
        for place in range(min(repeat.length for repeat in repeats))
    ]


def _solutions(case: Case, lams: Sequence[float], block_size: int) -> list[Solution]:
    if len(lams) > 1:
        return follow_path(case, lams)
    if lams[0] == 0.0:
        return [solve_apart(case, block_size)]
    return [solve_together(case, lams[0])]
