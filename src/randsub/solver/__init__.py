"""Optimisation of alpha: :class:`Solver`, which holds its parameters, and the training loop.

The modules:

* :mod:`~randsub.solver.solver`: the parameters of the optimisation and their defaults;
* :mod:`~randsub.solver.problem`: data, objective and settings, constant during training;
* :mod:`~randsub.solver.rounds`: batches, with their masks, models and predictions;
* :mod:`~randsub.solver.refresh`: three ways to retrain base models;
* :mod:`~randsub.solver.state`: everything that changes during training, in one object;
* :mod:`~randsub.solver.alpha_path`: alpha along the epochs;
* :mod:`~randsub.solver.loop`: the epochs;
* :mod:`~randsub.solver.apart`: independent tasks, on several workers;
* :mod:`~randsub.solver.schedule`: revivals, and the end of training;
* :mod:`~randsub.solver.interruption`: Ctrl-C;
* :mod:`~randsub.solver.callback`: the callback protocol, and the progress bar;
* :mod:`~randsub.solver.forecast`: how long a fit takes, from what was measured;
* :mod:`~randsub.solver.long_fit`: says that a fit takes long, and what would be faster;
* :mod:`~randsub.solver.run`: the fit that the loop belongs to, as callbacks see it.

The loop only uses the protocols of its parts; :mod:`randsub.estimators` chooses the concrete ones.
"""

from randsub.solver.callback import Callback, ProgressBar
from randsub.solver.loop import solve, start, train
from randsub.solver.problem import Problem, Settings, Target
from randsub.solver.rounds import Round
from randsub.solver.run import Run
from randsub.solver.solver import Solver, Window
from randsub.solver.state import EpochRecord, Result, TrainingState, joined

__all__ = [
    "Callback",
    "EpochRecord",
    "Problem",
    "ProgressBar",
    "Result",
    "Round",
    "Run",
    "Settings",
    "Solver",
    "Target",
    "TrainingState",
    "Window",
    "joined",
    "solve",
    "start",
    "train",
]
