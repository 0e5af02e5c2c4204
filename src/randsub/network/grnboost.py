"""GRNBoost2: links by the importances of stochastic gradient boosting, one model per target."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.ensemble import GradientBoostingRegressor
from sklearn.utils.parallel import delayed

from randsub._typing import BoolArray, FloatArray, Table
from randsub.estimators.fit_data import seed_words
from randsub.network.candidate_links import gene_seed
from randsub.network.fit_data import prepare
from randsub.network.links import InferredNetwork
from randsub.parallel import WorkerPool


def grnboost(
    expression: Table,
    regulators: Any = None,
    *,
    gene_names: Any = None,
    targets: Any = None,
    layer: str | None = None,
    n_estimators: int = 5000,
    learning_rate: float = 0.01,
    max_features: Any = 0.1,
    subsample: float = 0.9,
    early_stopping: int = 25,
    n_jobs: int | None = None,
    random_state: Any = None,
) -> InferredNetwork:
    """Infer a network by GRNBoost2: importances of the regulators in boosted trees per target.

    Trees are added until the last ones have, on average, not improved the predictions of the
    samples that they were not trained on. This rule and the defaults are those of arboreto.

    Parameters
    ----------
    expression, regulators, gene_names, targets, layer
        As in :meth:`PRSNetwork.fit`. All samples are used for training.
    n_estimators : int, default=5000
        Largest number of trees per target.
    learning_rate : float, default=0.01
        Factor of the predictions of each tree.
    max_features : {"sqrt", "log2"}, int, float or None, default=0.1
        Number of regulators considered at each split, as in
        :class:`sklearn.ensemble.GradientBoostingRegressor`.
    subsample : float, default=0.9
        Fraction of the samples that each tree is trained on; below 1.
    early_stopping : int, default=25
        Number of last trees whose mean improvement must not be negative.
    n_jobs : int, default=None
        Number of workers. The result does not depend on it.
    random_state : int, RandomState instance or None, default=None
        Seed. The model of a target depends on it and on the name of the gene.

    Returns
    -------
    network : InferredNetwork
        ``alpha`` holds the importances: the reduction of the squared error by splits on each
        regulator, scaled for each target to add up to the number of its trees, so that links of
        targets that can be predicted rank higher.

    References
    ----------
    T. Moerman et al., "GRNBoost2 and Arboreto: efficient and scalable inference of gene regulatory
    networks", Bioinformatics, 2019.

    Examples
    --------
    >>> from randsub.datasets import make_network
    >>> from randsub.network import grnboost
    >>> truth = make_network(60, n_regulators=5, n_targets=5, n_modules=1, random_state=0)
    >>> network = grnboost(truth.expression, truth.regulators, n_estimators=50, random_state=0)
    >>> network.alpha.shape
    (5, 10)
    """
    if not 0.0 < subsample < 1.0:
        raise ValueError(
            f"subsample={subsample!r} must be above 0 and below 1: early stopping needs samples "
            "that a tree was not trained on."
        )
    if early_stopping < 1:
        raise ValueError(f"early_stopping must be at least 1, got {early_stopping!r}.")
    seed = seed_words(random_state).tolist()
    prepared = prepare(expression, regulators, gene_names=gene_names, targets=targets, layer=layer)
    candidates, allowed = prepared.candidates, prepared.candidates.allowed
    calls = [
        delayed(_of_target)(
            # The same table in all tasks, so that a backend may send it once.
            prepared.X,
            allowed[g],
            prepared.Y[:, g],
            GradientBoostingRegressor(
                n_estimators=n_estimators,
                learning_rate=learning_rate,
                max_features=max_features,
                subsample=subsample,
                random_state=gene_seed(name, seed),
            ),
            early_stopping,
        )
        for g, name in enumerate(candidates.targets)
    ]
    theta, n_models = np.zeros(allowed.shape), 0
    for g, (row, n_trees) in enumerate(WorkerPool(n_jobs, "processes").run_all(calls)):
        theta[g, allowed[g]] = row
        n_models += n_trees
    return candidates.network(theta, n_models)


@dataclass(frozen=True)
class Stop:
    """Ends boosting if the last trees have, on average, not improved the out-of-bag error."""

    window: int

    def __call__(self, place: int, model: GradientBoostingRegressor, _: Any) -> bool:
        """Whether the tree at this place is the last."""
        first = place + 1 - self.window
        return first >= 0 and bool(np.mean(model.oob_improvement_[first : place + 1]) < 0.0)


def _of_target(
    X: FloatArray, columns: BoolArray, y: FloatArray, model: GradientBoostingRegressor, window: int
) -> tuple[FloatArray, int]:
    """Importances of the columns, which add up to the number of trees, and this number."""
    if not columns.any():
        return np.zeros(0), 0
    model.fit(X[:, columns], y, monitor=Stop(window))
    n_trees = len(model.estimators_)
    return model.feature_importances_ * n_trees, n_trees
