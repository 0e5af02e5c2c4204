"""What PRS is compared with, as estimators of the same quality.

* :mod:`~randsub.baselines.random_subspace`: members see K features, chosen uniformly;
* :mod:`~randsub.baselines.rase`: random subspaces, each the best of many by cross-validation;
* :mod:`~randsub.baselines.search`: the iterations of RaSE;
* :mod:`~randsub.baselines.subsets`: how its candidates are drawn;
* :mod:`~randsub.baselines.judging`: cross-validation errors of many subsets, scores of ensembles;
* :mod:`~randsub.baselines.cutoff`: from which share of the votes on a class is predicted.
"""

from randsub.baselines.random_subspace import RandomSubspaceClassifier, RandomSubspaceRegressor
from randsub.baselines.rase import RaSEClassifier, RaSERegressor

__all__ = [
    "RaSEClassifier",
    "RaSERegressor",
    "RandomSubspaceClassifier",
    "RandomSubspaceRegressor",
]
