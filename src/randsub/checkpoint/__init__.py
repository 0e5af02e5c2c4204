"""Checkpoints: a fit on disk, and back.

Read from top to bottom:

* :mod:`~randsub.checkpoint.callback`: when a checkpoint is written;
* :mod:`~randsub.checkpoint.logbook`: what is in it, and which fit may be resumed from it;
* :mod:`~randsub.checkpoint.fingerprint`: how parameters and data are compared;
* :mod:`~randsub.checkpoint.state_tree`: the state of training as plain values and arrays;
* :mod:`~randsub.checkpoint.archive`: these in one file, protected by a checksum.
"""

from randsub.checkpoint.callback import Checkpoint
from randsub.checkpoint.fingerprint import describe_data
from randsub.checkpoint.logbook import Logbook, check_course
from randsub.checkpoint.state_tree import (
    frozen,
    frozen_history,
    frozen_result,
    thawed,
    thawed_history,
    thawed_result,
)

__all__ = [
    "Checkpoint",
    "Logbook",
    "check_course",
    "describe_data",
    "frozen",
    "frozen_history",
    "frozen_result",
    "thawed",
    "thawed_history",
    "thawed_result",
]
