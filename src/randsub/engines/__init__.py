"""How many base models are trained at once.

* :mod:`~randsub.engines.base`: the protocol, and what an engine is told about the base model;
* :mod:`~randsub.engines.generic`: any scikit-learn estimator, one clone a subset;
* :mod:`~randsub.engines.compiled`: what compiled engines share;
* :mod:`~randsub.engines.neighbors`: k nearest neighbours, compiled;
* :mod:`~randsub.engines.tree`: decision trees, compiled;
* :mod:`~randsub.engines.moments`: linear models, naive Bayes and linear discriminants, compiled;
* :mod:`~randsub.engines.members`: what one fitted model predicts, and how its failure is named;
* :mod:`~randsub.engines.dispatch`: how the work of an engine is spread over workers.
"""

from randsub.engines.base import Engine, Learner
from randsub.engines.dispatch import Assignment, Data, Dispatcher, average_prediction, one_thread
from randsub.engines.generic import GenericEngine
from randsub.engines.moments import MomentsEngine
from randsub.engines.neighbors import NeighborsEngine
from randsub.engines.tree import TreeEngine

__all__ = [
    "Assignment",
    "Data",
    "Dispatcher",
    "Engine",
    "GenericEngine",
    "Learner",
    "MomentsEngine",
    "NeighborsEngine",
    "TreeEngine",
    "average_prediction",
    "one_thread",
]
