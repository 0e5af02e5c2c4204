"""Backends that train many base models at once.

* :mod:`~randsub.engines.base`: the protocol, and what is done with one base model;
* :mod:`~randsub.engines.generic`: any scikit-learn estimator, one clone per subset;
* :mod:`~randsub.engines.compiled`: what compiled engines share;
* :mod:`~randsub.engines.knn`: k nearest neighbours;
* :mod:`~randsub.engines.tree`: decision trees;
* :mod:`~randsub.engines.boosting`: gradient boosting of decision trees;
* :mod:`~randsub.engines.svm`: support vector machines;
* :mod:`~randsub.engines.linear_and_bayes`: linear models, naive Bayes, linear discriminants;
* :mod:`~randsub.engines.torch`: several of these, and neural networks, by PyTorch;
* :mod:`~randsub.engines.simd`: vector registers, for kernels.

A compiled engine is a folder: ``engine.py`` says which estimators it reproduces and prepares the
data, ``kernels.py`` is the part compiled by Numba.
"""

from collections.abc import Mapping

from randsub.engines.base import Engine, Learner
from randsub.engines.boosting import BoostingEngine
from randsub.engines.generic import GenericEngine
from randsub.engines.knn import KNNEngine
from randsub.engines.linear_and_bayes import LinearAndBayesEngine
from randsub.engines.svm import SVMEngine
from randsub.engines.torch import TorchEngine
from randsub.engines.tree import TreeEngine

# In the order in which they are tried; "torch" by its cost, see there; the last one takes anything.
ENGINES: Mapping[str, type[Engine]] = {
    "knn": KNNEngine,
    "tree": TreeEngine,
    "linear_and_bayes": LinearAndBayesEngine,
    "svm": SVMEngine,
    "boosting": BoostingEngine,
    "torch": TorchEngine,
    "generic": GenericEngine,
}

__all__ = [
    "ENGINES",
    "BoostingEngine",
    "Engine",
    "GenericEngine",
    "KNNEngine",
    "Learner",
    "LinearAndBayesEngine",
    "SVMEngine",
    "TorchEngine",
    "TreeEngine",
]
