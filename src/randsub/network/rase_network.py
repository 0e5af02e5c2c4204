"""RaSE for gene networks: one RaSE ensemble per target."""

from contextlib import closing
from typing import Any

import numpy as np

from randsub._progress import Bar
from randsub._typing import Table
from randsub.estimators import RaSERegressor
from randsub.estimators.fit_data import seed_words
from randsub.network.candidate_links import gene_seed
from randsub.network.fit_data import prepare
from randsub.network.links import InferredNetwork


def rase_network(
    expression: Table,
    regulators: Any = None,
    estimator: Any = None,
    *,
    expression_val: Table | None = None,
    gene_names: Any = None,
    targets: Any = None,
    layer: str | None = None,
    validation_fraction: float | None = 0.1,
    n_jobs: int | None = None,
    random_state: Any = None,
    verbose: int = 0,
    **parameters: Any,
) -> InferredNetwork:
    """Infer a network by RaSE: alpha of one RaSE ensemble per target.

    Parameters
    ----------
    expression, regulators, expression_val, gene_names, targets, layer
        As in :meth:`PRSNetwork.fit`.
    estimator : estimator, default=None
        The base model, any scikit-learn regressor. None means a decision tree.
    validation_fraction : float, default=0.1
        Fraction of the samples set aside to choose the best iteration. Ignored if
        ``expression_val`` is given. None chooses it by cross-validation.
    n_jobs : int, default=None
        Number of workers. The result does not depend on it.
    random_state : int, RandomState instance or None, default=None
        Seed. The ensemble of a target depends on it and on the name of the gene.
    verbose : int, default=0
        If positive, show a progress bar over targets.
    **parameters
        Further parameters of :class:`randsub.RaSERegressor`. With the defaults, each target takes
        10 iterations of 50,000 subsets, each evaluated by ten-fold cross-validation.

    Returns
    -------
    network : InferredNetwork
        ``alpha`` holds the share of members of each target's ensemble that use each regulator.

    Examples
    --------
    >>> from randsub.datasets import make_network
    >>> from randsub.network import rase_network
    >>> truth = make_network(60, n_regulators=5, n_targets=5, n_modules=1, random_state=0)
    >>> network = rase_network(
    ...     truth.expression, truth.regulators, n_estimators=5, n_candidates=5, max_iter=1
    ... )
    >>> network.alpha.shape
    (5, 10)
    """
    seed = seed_words(random_state)
    prepared = prepare(
        expression,
        regulators,
        expression_val,
        gene_names=gene_names,
        targets=targets,
        layer=layer,
        validation_fraction=validation_fraction,
        rng=np.random.default_rng(seed),
    )
    candidates, train, val = prepared.candidates, prepared.train_rows, prepared.val_rows
    allowed = candidates.allowed
    theta, n_models = np.zeros(allowed.shape), 0
    with closing(Bar("RaSE", len(candidates.targets), "target", shown=bool(verbose))) as bar:
        for g in np.flatnonzero(allowed.any(axis=1)).tolist():
            columns = np.flatnonzero(allowed[g])
            model = RaSERegressor(
                estimator,
                validation_fraction=None,
                standardize=False,
                n_jobs=n_jobs,
                random_state=gene_seed(candidates.targets[g], seed.tolist()),
                **parameters,
            )
            judges = {}
            if len(val):
                X_val, y_val = prepared.X_val[np.ix_(val, columns)], prepared.Y_val[val, g]
                judges = {"X_val": X_val, "y_val": y_val}
            model.fit(prepared.X[np.ix_(train, columns)], prepared.Y[train, g], **judges)
            theta[g, columns] = model.alpha_
            n_models += model.n_models_trained_
            bar.advance()
    return candidates.network(theta, n_models, candidates.sizes_for_user(theta))
