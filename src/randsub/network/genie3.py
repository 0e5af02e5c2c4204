"""GENIE3: links by the importances of one random forest per target."""

from typing import Any

import numpy as np
from sklearn.ensemble import RandomForestRegressor
from sklearn.utils.parallel import delayed

from randsub._typing import BoolArray, FloatArray, Table
from randsub.estimators.fit_data import seed_words
from randsub.network.candidate_links import gene_seed
from randsub.network.fit_data import prepare
from randsub.network.links import InferredNetwork
from randsub.parallel import WorkerPool, on_one_worker


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
    """Infer a network by GENIE3: importances of the regulators in one random forest per target.

    Parameters
    ----------
    expression, regulators, gene_names, targets, layer
        As in :meth:`PRSNetwork.fit`. All samples are used for training.
    n_estimators : int, default=1000
        Number of trees per forest.
    max_features : {"sqrt", "log2"}, int, float or None, default="sqrt"
        Number of regulators considered at each split, as in
        :class:`sklearn.ensemble.RandomForestRegressor`.
    n_jobs : int, default=None
        Number of workers. The result does not depend on it.
    random_state : int, RandomState instance or None, default=None
        Seed. The forest of a target depends on it and on the name of the gene, so the order of
        the genes does not matter.

    Returns
    -------
    network : InferredNetwork
        ``alpha`` holds the importances: the reduction of the variance of the target by splits on
        a regulator, averaged over trees. Expression has unit variance, so the importances of a
        target add up to the share of its variance that the trees explain.

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
    seed = seed_words(random_state).tolist()
    prepared = prepare(expression, regulators, gene_names=gene_names, targets=targets, layer=layer)
    candidates, allowed = prepared.candidates, prepared.candidates.allowed
    calls = [
        delayed(_importances)(
            # The same table in all tasks, so that a backend may send it once.
            prepared.X,
            allowed[g],
            prepared.Y[:, g],
            RandomForestRegressor(
                n_estimators=n_estimators,
                max_features=max_features,
                random_state=gene_seed(name, seed),
            ),
        )
        for g, name in enumerate(candidates.targets)
    ]
    theta = np.zeros(allowed.shape)
    for g, row in enumerate(WorkerPool(n_jobs, "processes").run_all(calls)):
        theta[g, allowed[g]] = row
    return candidates.network(theta, n_estimators * int(allowed.any(axis=1).sum()))


def _importances(
    X: FloatArray, columns: BoolArray, y: FloatArray, forest: RandomForestRegressor
) -> FloatArray:
    if not columns.any():
        return np.zeros(0)
    # Targets are the only level of parallelism; trees are not sent to the workers.
    with on_one_worker():
        forest.fit(X[:, columns], y)
    # feature_importances_ of a forest is normalised per tree. GENIE3's importances are not, so that
    # links of targets that are explained better rank higher.
    trees = [tree.tree_.compute_feature_importances(normalize=False) for tree in forest.estimators_]
    return np.mean(trees, axis=0)
