"""The estimators: PRS, and the random-subspace methods that it is compared with.

A map of the room:

* :mod:`~randsub.estimators.base`: ``fit`` as the list of its steps, prediction, for all of them;
* :mod:`~randsub.estimators.validation`: what a user gives, checked;
* :mod:`~randsub.estimators.fit_data`: that data, split and scaled, with the engine that trains;
* :mod:`~randsub.estimators.prs`: the parts of the method meet; :class:`PRSClassifier` and
  :class:`PRSRegressor` add their documentation;
* :mod:`~randsub.estimators.named_bases`: several base models under names, as parameters;
* :mod:`~randsub.estimators.portfolio`: those of ``estimator="auto"``;
* :mod:`~randsub.estimators.assembly`: the parts, made from what a user writes;
* :mod:`~randsub.estimators.run`: alpha is optimised, once or in several repeats, and members are
  drawn from it;
* :mod:`~randsub.estimators.calibration`: probabilities from their votes;
* :mod:`~randsub.estimators.reportable`: a fitted ensemble writes a report on itself;
* :mod:`~randsub.estimators.random_subspace`: members see K features, drawn uniformly;
* :mod:`~randsub.estimators.rase`: each member sees the best of many random subsets, found by
  :mod:`~randsub.estimators.candidate_search` among :mod:`~randsub.estimators.subsets`, by
  :mod:`~randsub.estimators.cross_validation` on :mod:`~randsub.estimators.folds`.
"""

from randsub.estimators.classifier import PRSClassifier
from randsub.estimators.random_subspace import RandomSubspaceClassifier, RandomSubspaceRegressor
from randsub.estimators.rase import RaSEClassifier, RaSERegressor
from randsub.estimators.regressor import PRSRegressor

__all__ = [
    "PRSClassifier",
    "PRSRegressor",
    "RaSEClassifier",
    "RaSERegressor",
    "RandomSubspaceClassifier",
    "RandomSubspaceRegressor",
]
