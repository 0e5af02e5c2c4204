"""Callbacks that monitor, stop and save a fit.

``model.set_callbacks(...)`` takes any number of them and, from scikit-learn 1.9 on, also those of
:mod:`sklearn.callback`.
"""

from randsub.callbacks.scoring import ScoringMonitor
from randsub.callbacks.stopping import EarlyStopping, TimeLimit
from randsub.checkpoint.callback import Checkpoint
from randsub.solver.callback import Callback, ProgressBar
from randsub.solver.problem import Settings
from randsub.solver.run import Run
from randsub.solver.state import EpochRecord, TrainingState

__all__ = [
    "Callback",
    "Checkpoint",
    "EarlyStopping",
    "EpochRecord",
    "ProgressBar",
    "Run",
    "ScoringMonitor",
    "Settings",
    "TimeLimit",
    "TrainingState",
]
