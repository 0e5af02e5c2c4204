"""GRNBoost2: links by the importances of stochastic gradient boosting, one model per target."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.tree import DecisionTreeRegressor
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
    samples that they were not trained on. The defaults are those of the paper.

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
        :class:`sklearn.tree.DecisionTreeRegressor`.
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
    boosting = Boosting(n_estimators, learning_rate, max_features, subsample, early_stopping)
    seed = seed_words(random_state).tolist()
    prepared = prepare(expression, regulators, gene_names=gene_names, targets=targets, layer=layer)
    candidates, allowed = prepared.candidates, prepared.candidates.allowed
    calls = [
        delayed(_of_target)(
            # The same table in all tasks, so that a backend may send it once.
            prepared.X,
            allowed[g],
            prepared.Y[:, g],
            boosting,
            np.random.RandomState(gene_seed(name, seed)),
        )
        for g, name in enumerate(candidates.targets)
    ]
    theta, n_models = np.zeros(allowed.shape), 0
    for g, (row, n_trees) in enumerate(WorkerPool(n_jobs, "processes").run_all(calls)):
        theta[g, allowed[g]] = row
        n_models += n_trees
    return candidates.network(theta, n_models)


@dataclass(frozen=True)
class Boosting:
    """Stochastic gradient boosting of the squared error by trees of depth 3.

    It is our own loop, since improvements must be those of one tree on one set of samples; in
    :class:`sklearn.ensemble.GradientBoostingRegressor` they are differences between the errors of
    two trees on two sets.
    """

    n_estimators: int
    learning_rate: float
    max_features: Any
    subsample: float
    window: int

    def importances(
        self, X: FloatArray, y: FloatArray, rng: np.random.RandomState
    ) -> tuple[FloatArray, int]:
        """Importances of the columns, which add up to the number of trees, and this number."""
        n_samples = len(y)
        n_inside = min(max(1, int(self.subsample * n_samples)), n_samples - 1)
        X = np.asarray(X, dtype=np.float32)
        left, total = y - y.mean(), np.zeros(X.shape[1])
        improvements: list[float] = []
        while len(improvements) < self.n_estimators:
            order = rng.permutation(n_samples)
            inside, outside = order[:n_inside], order[n_inside:]
            tree = DecisionTreeRegressor(
                max_depth=3,
                max_features=self.max_features,
                random_state=rng.randint(np.iinfo(np.int32).max),
            ).fit(X[inside], left[inside])
            before = np.mean(left[outside] ** 2)
            left = left - self.learning_rate * tree.predict(X)
            improvements.append(float(before - np.mean(left[outside] ** 2)))
            total += tree.tree_.compute_feature_importances(normalize=False)
            if self._has_ended(improvements):
                break
        n_trees = len(improvements)
        return total * (n_trees / (total.sum() or 1.0)), n_trees

    def _has_ended(self, improvements: list[float]) -> bool:
        last = improvements[-self.window :]
        return len(last) == self.window and float(np.mean(last)) < 0.0


def _of_target(
    X: FloatArray,
    columns: BoolArray,
    y: FloatArray,
    boosting: Boosting,
    rng: np.random.RandomState,
) -> tuple[FloatArray, int]:
    if not columns.any():
        return np.zeros(0), 0
    return boosting.importances(X[:, columns], y, rng)
