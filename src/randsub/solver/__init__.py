"""Optimisation of alpha: :class:`Solver`, which holds its parameters, and the training loop.

The modules:

* :mod:`~randsub.solver.solver`: the parameters of the optimisation and their defaults;
* :mod:`~randsub.solver.problem`: data, objective and settings, constant during training;
* :mod:`~randsub.solver.rounds`: batches, with their masks, models and predictions;
* :mod:`~randsub.solver.refresh`: three ways to retrain base models;
* :mod:`~randsub.solver.state`: everything that changes during training, in one object;
* :mod:`~randsub.solver.loop`: epochs, validation, revival, stopping;
* :mod:`~randsub.solver.interruption`: Ctrl-C;
* :mod:`~randsub.solver.callback`: the callback protocol, and the progress bar;
* :mod:`~randsub.solver.run`: the fit that the loop belongs to, as callbacks see it.

The loop only uses the protocols of its parts; :mod:`randsub.estimators` chooses the concrete ones.
"""

from randsub.solver.callback import Callback, ProgressBar
from randsub.solver.loop import solve, start, train
from randsub.solver.problem import Problem, Settings, Target
from randsub.solver.rounds import Round
from randsub.solver.run import Run
from randsub.solver.solver import Solver, Window
from randsub.solver.state import EpochRecord, TrainingState

__all__ = [
    "Callback",
    "EpochRecord",
    "Problem",
    "ProgressBar",
    "Round",
    "Run",
    "Settings",
    "Solver",
    "Target",
    "TrainingState",
    "Window",
    "solve",
    "start",
    "train",
]
