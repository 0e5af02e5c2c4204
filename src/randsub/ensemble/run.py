"""A fit of an ensemble, as callbacks see it."""

from copy import copy
from dataclasses import replace
from pathlib import Path
from typing import Any

from randsub._typing import IntArray
from randsub.ensemble.material import Material
from randsub.ensemble.members import train_members
from randsub.ensemble.resuming import Logbook, check_course
from randsub.ensemble.settings import sample_limit
from randsub.training import Problem, Run, Settings, TrainingState
from randsub.training.freezing import frozen, thawed


class EnsembleRun(Run):
    """From a state of the loop to the ensemble, and to a file and back.

    Parameters
    ----------
    model : estimator
        That is being fitted.
    material : Material
    settings : Settings
    logbook : Logbook
    """

    can_predict = True

    def __init__(
        self, model: Any, material: Material, settings: Settings, logbook: Logbook | None
    ) -> None:
        self.estimator = model
        self._material, self._settings, self._logbook = material, settings, logbook
        self._last: tuple[TrainingState, tuple[list[Any], list[IntArray]]] | None = None

    def members(self, state: TrainingState) -> tuple[list[Any], list[IntArray]]:
        """Members of the final ensemble and the columns that each sees, if training ended here."""
        if self._last is not None:
            known = self._last[0]
            # All that members come from.
            if known.best_theta is state.best_theta and known.generators == state.generators:
                return self._last[1]
        model, rng = self.estimator, state.rng()
        distribution = model._distribution
        drawn = distribution.sample(state.best_theta[0], model.n_estimators, rng)
        made = train_members(
            self._material,
            distribution.expand(drawn),
            rng,
            max_samples=sample_limit(model.max_samples, len(self._material.samples.rows)),
            n_parts=self._settings.n_batches,
        )
        self._last = state, made
        return made

    def fitted_estimator(self, state: TrainingState) -> Any:
        """The model that ``fit`` would return now."""
        model = copy(self.estimator).set_callbacks()
        model._record(state)
        model.estimators_, model.estimators_features_ = map(list, self.members(state))
        return model

    def save(self, path: Path, state: TrainingState) -> None:
        """Write a checkpoint."""
        assert self._logbook is not None
        progress = {"max_iter": self._settings.max_iter, "state": frozen(state)}
        self._logbook.write(path, progress)

    def former(self, problem: Problem) -> TrainingState | None:
        """Where the fit that is resumed was, if one is."""
        logbook = self._logbook
        if logbook is None or logbook.progress is None:
            return None
        with logbook.reading():
            progress = logbook.progress
            then = replace(self._settings, max_iter=int(progress["max_iter"]))
            state = thawed(progress["state"], problem, self._settings)
        check_course(logbook, state, then, self._settings)
        return state
