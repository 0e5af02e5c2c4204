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
* :mod:`~randsub.engines.dispatch`: how the work of an engine is spread over workers, be they
  :mod:`~randsub.engines.threads` of this process or a :mod:`~randsub.engines.crew` that joblib
  engages, with its data by :mod:`~randsub.engines.delivery` where that is a cluster,
  under the :mod:`~randsub.engines.watch` of somebody who notices that it is gone;
* :mod:`~randsub.engines.native`: thread pools of native libraries, kept at one thread meanwhile.
"""

from randsub.engines.base import Engine, Learner
from randsub.engines.crew import Crew, ask_all, lost_a_worker, on_one_worker
from randsub.engines.dispatch import Assignment, Data, Dispatcher, average_prediction
from randsub.engines.generic import GenericEngine
from randsub.engines.kernel import KernelEngine
from randsub.engines.moments import MomentsEngine
from randsub.engines.native import one_thread
from randsub.engines.neighbors import NeighborsEngine
from randsub.engines.tree import TreeEngine

__all__ = [
    "Assignment",
    "Crew",
    "Data",
    "Dispatcher",
    "Engine",
    "GenericEngine",
    "KernelEngine",
    "Learner",
    "MomentsEngine",
    "NeighborsEngine",
    "TreeEngine",
    "ask_all",
    "average_prediction",
    "lost_a_worker",
    "on_one_worker",
    "one_thread",
]
