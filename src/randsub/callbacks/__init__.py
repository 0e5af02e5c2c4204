"""Callbacks: watch a fit, stop it, save it.

``model.set_callbacks(...)`` takes any number of them, ours and, from scikit-learn 1.9 on, those of
:mod:`sklearn.callback`.
"""

from randsub.callbacks.checkpoint import Checkpoint
from randsub.callbacks.scoring import ScoringMonitor
from randsub.callbacks.stopping import EarlyStopping, TimeLimit
from randsub.training.callbacks import Callback, ProgressBar
from randsub.training.problem import Settings
from randsub.training.run import Run
from randsub.training.state import EpochRecord, TrainingState

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
