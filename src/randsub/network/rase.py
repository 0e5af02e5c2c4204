"""RaSE for gene networks: an ensemble of searched subsets for each target."""

from contextlib import closing
from typing import Any

import numpy as np

from randsub._typing import Table
from randsub.baselines import RaSERegressor
from randsub.ensemble.inputs import seed_words
from randsub.network.links import InferredNetwork
from randsub.network.panel import draws_of
from randsub.network.preparing import prepare
from randsub.training.callbacks import Bar


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
    """Links by the alpha of RaSE, fitted to each target.

    Parameters
    ----------
    expression, regulators, expression_val, gene_names, targets, layer
        As in :meth:`PRSNetwork.fit`.
    estimator : estimator, default=None
        The base model, any scikit-learn regressor; a decision tree by default.
    validation_fraction : float, default=0.1
        Share of the samples on which the best iteration is chosen, where no validation samples are
        given. None chooses it by cross-validation.
    n_jobs : int, default=None
        Number of workers; the result is the same for any number.
    random_state : int, RandomState instance or None, default=None
        Fix it to get the same result at every call.
    verbose : int, default=0
        1 shows a progress bar over targets.
    **parameters
        Further parameters of :class:`randsub.RaSERegressor`: with the defaults, every target takes
        ten times 50,000 subsets, each judged by ten-fold cross-validation.

    Returns
    -------
    network : InferredNetwork
        ``alpha`` holds the share of the members of each target's ensemble that see each regulator.

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
    panel, train, val = prepared.panel, prepared.train_rows, prepared.val_rows
    allowed = panel.allowed
    theta, n_models = np.zeros(allowed.shape), 0
    with closing(Bar("RaSE", len(panel.targets), "target", shown=bool(verbose))) as bar:
        for g in np.flatnonzero(allowed.any(axis=1)).tolist():
            columns = np.flatnonzero(allowed[g])
            model = RaSERegressor(
                estimator,
                validation_fraction=None,
                standardize=False,
                n_jobs=n_jobs,
                random_state=int(draws_of(panel.targets[g], seed.tolist()).integers(2**31)),
                **parameters,
            )
            judges = {}
            if len(val):
                judges = {
                    "X_val": prepared.X_val[np.ix_(val, columns)],
                    "y_val": prepared.Y_val[val, g],
                }
            model.fit(prepared.X[np.ix_(train, columns)], prepared.Y[train, g], **judges)
            theta[g, columns] = model.alpha_
            n_models += model.n_models_trained_
            bar.advance()
    return InferredNetwork(
        alpha=panel.for_user(theta),
        regulators=panel.regulators_for_user(),
        targets=panel.targets_for_user(),
        expected_sizes=panel.sizes_for_user(theta),
        n_models_trained=n_models,
    )
