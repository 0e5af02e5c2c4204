"""How many base models are trained at once.

* :mod:`~randsub.engines.base`: the protocol, and what an engine is told about the base model;
* :mod:`~randsub.engines.generic`: any scikit-learn estimator, one clone a subset;
* :mod:`~randsub.engines.compiled`: what compiled engines share;
* :mod:`~randsub.engines.neighbors`: k nearest neighbours, compiled, with their kernels in
  :mod:`~randsub.engines.nearest`;
* :mod:`~randsub.engines.tree`: decision trees, compiled, with their kernels in
  :mod:`~randsub.engines.growth`, which work on :mod:`~randsub.engines.lanes`;
* :mod:`~randsub.engines.moments`: linear models, naive Bayes and linear discriminants, compiled;
* :mod:`~randsub.engines.kernel`: support vector machines, compiled, with their kernels in
  :mod:`~randsub.engines.support` and the solver of their dual problem in
  :mod:`~randsub.engines.smo`;
* :mod:`~randsub.engines.bits`: the bits of floating-point numbers, for kernels that use them;
* :mod:`~randsub.engines.members`: what one fitted model predicts, and how its failure is named;
* :mod:`~randsub.engines.dispatch`: how the work of an engine is spread over workers.
"""

from randsub.engines.base import Engine, Learner
from randsub.engines.dispatch import Assignment, Data, Dispatcher, average_prediction, one_thread
from randsub.engines.generic import GenericEngine
from randsub.engines.kernel import KernelEngine
from randsub.engines.moments import MomentsEngine
from randsub.engines.neighbors import NeighborsEngine
from randsub.engines.tree import TreeEngine

__all__ = [
    "Assignment",
    "Data",
    "Dispatcher",
    "Engine",
    "GenericEngine",
    "KernelEngine",
    "Learner",
    "MomentsEngine",
    "NeighborsEngine",
    "TreeEngine",
    "average_prediction",
    "one_thread",
]
