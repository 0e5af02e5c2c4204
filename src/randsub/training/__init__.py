"""The one loop.

A map of the room:

* :mod:`~randsub.training.problem`: what stays the same while theta moves, and the settings;
* :mod:`~randsub.training.batches`: which rows train and which are held out;
* :mod:`~randsub.training.rounds`: masks, proposals and predictions that belong together;
* :mod:`~randsub.training.refresh`: the three ways of renewing them;
* :mod:`~randsub.training.objective`: the loss of the ensemble, or that of its members;
* :mod:`~randsub.training.state`: everything that changes, in one object;
* :mod:`~randsub.training.loop`: epochs, validation, revival, stopping;
* :mod:`~randsub.training.interruption`: Ctrl-C;
* :mod:`~randsub.training.callbacks`: who watches;
* :mod:`~randsub.training.run`: what they are told of the fit that the loop belongs to;
* :mod:`~randsub.training.freezing`: the state as plain values and arrays;
* :mod:`~randsub.training.archive`: these in a file that is either whole or refused.

The loop knows its parts by their protocols only; concrete ones meet in :mod:`randsub.ensemble`.
"""

from randsub.training.callbacks import Callback, ProgressBar
from randsub.training.loop import start, train
from randsub.training.problem import Problem, Settings, Target
from randsub.training.rounds import Round
from randsub.training.run import Run
from randsub.training.state import EpochRecord, TrainingState

__all__ = [
    "Callback",
    "EpochRecord",
    "Problem",
    "ProgressBar",
    "Round",
    "Run",
    "Settings",
    "Target",
    "TrainingState",
    "start",
    "train",
]
