"""GENIE3's way: a random forest for each target, and its importances."""

from typing import Any

import numpy as np
from sklearn.ensemble import RandomForestRegressor
from sklearn.utils.parallel import delayed

from randsub._typing import BoolArray, FloatArray, Table
from randsub.engines import Crew, ask_all, on_one_worker
from randsub.ensemble.inputs import seed_words
from randsub.network.links import InferredNetwork
from randsub.network.panel import draws_of
from randsub.network.preparing import prepare


def genie3(
    expression: Table,
    regulators: Any = None,
    *,
    gene_names: Any = None,
    targets: Any = None,
    layer: str | None = None,
    n_estimators: int = 1000,
    max_features: Any = "sqrt",
    n_jobs: int | None = None,
    random_state: Any = None,
) -> InferredNetwork:
    """Links by the importance of each regulator in a random forest for each target.

    Parameters
    ----------
    expression, regulators, gene_names, targets, layer
        As in :meth:`PRSNetwork.fit`. All samples are used for training.
    n_estimators : int, default=1000
        Trees of each forest.
    max_features : {"sqrt", "log2"}, int, float or None, default="sqrt"
        Candidate regulators that each split looks at.
    n_jobs : int, default=None
        Number of workers; the result is the same for any number.
    random_state : int, RandomState instance or None, default=None
        Fix it to get the same result at every call. A gene's forest is drawn by the name of the
        gene, so that the order of the genes does not matter.

    Returns
    -------
    network : InferredNetwork
        ``alpha`` holds the importances: by how much splits on a regulator reduce the variance of
        the target, the mean over trees. Expression has unit variance, so that the importances of
        each target add up to the share of its variance that the trees explain.

    References
    ----------
    V. A. Huynh-Thu, A. Irrthum, L. Wehenkel and P. Geurts, "Inferring regulatory networks from
    expression data using tree-based methods", PLoS ONE, 2010.

    Examples
    --------
    >>> from randsub.datasets import make_network
    >>> from randsub.network import genie3
    >>> truth = make_network(60, n_regulators=5, n_targets=5, n_modules=1, random_state=0)
    >>> network = genie3(truth.expression, truth.regulators, n_estimators=50, random_state=0)
    >>> network.alpha.shape
    (5, 10)
    """
    seed = seed_words(random_state)
    prepared = prepare(expression, regulators, gene_names=gene_names, targets=targets, layer=layer)
    panel = prepared.panel
    allowed = panel.allowed
    calls = [
        delayed(_importances)(
            # The same table in all tasks, so that a backend may send it once.
            prepared.X,
            allowed[g],
            prepared.Y[:, g],
            RandomForestRegressor(
                n_estimators=n_estimators,
                max_features=max_features,
                random_state=int(draws_of(name, seed.tolist()).integers(2**31)),
            ),
        )
        for g, name in enumerate(panel.targets)
    ]
    rows = ask_all(Crew(n_jobs, "processes"), calls)
    theta = np.zeros(allowed.shape)
    for g, row in enumerate(rows):
        theta[g, allowed[g]] = row
    return InferredNetwork(
        alpha=panel.for_user(theta),
        regulators=panel.regulators_for_user(),
        targets=panel.targets_for_user(),
        expected_sizes=None,
        n_models_trained=n_estimators * int(allowed.any(axis=1).sum()),
    )


def _importances(
    X: FloatArray, columns: BoolArray, y: FloatArray, forest: RandomForestRegressor
) -> FloatArray:
    if not columns.any():
        return np.zeros(0)
    # Targets are the only level of parallelism: a cluster is not told of trees.
    with on_one_worker():
        forest.fit(X[:, columns], y)
    # Those of the forest itself are scaled to add up to 1, tree by tree; GENIE3's are not, so that
    # links of targets that are explained better come first.
    trees = [tree.tree_.compute_feature_importances(normalize=False) for tree in forest.estimators_]
    return np.mean(trees, axis=0)
