"""Gene network inference by PRS, as a function."""

from typing import Any, Literal

import pandas as pd

from randsub._typing import Table
from randsub.network.links import check_fdr, check_n_links
from randsub.network.prs import PRSNetwork


def default_lam(fdr: float | None) -> float | Literal["path"]:
    """Coefficient of the penalty, if users do not say.

    With a penalty a regulator of other targets costs less, and a shadow regulates none: a rate that
    is measured by shadows would be too optimistic.
    """
    return "path" if fdr is None else 0.0


def infer_network(
    expression: Table,
    regulators: Any = None,
    estimator: Any = None,
    lam: float | Literal["path"] | None = None,
    *,
    expression_val: Table | None = None,
    gene_names: Any = None,
    targets: Any = None,
    layer: str | None = None,
    n_links: int | None = None,
    fdr: float | None = None,
    perturbed: Any = None,
    n_jobs: int | None = None,
    random_state: Any = None,
    verbose: int = 0,
    **parameters: Any,
) -> pd.DataFrame:
    """Infer a gene network by PRS and return its links.

    Parameters
    ----------
    expression : array-like, sparse matrix, pandas or polars frame, or AnnData, of shape \
            (n_samples, n_genes)
        Samples as rows, genes as columns.
    regulators : sequence of str or int, or bool array, default=None
        Candidate regulators: names, positions, or a mask over the genes; all by default.
    estimator : estimator, list of (str, estimator) or "auto", default=None
        The base model, any scikit-learn regressor, or several of them with names, whose shares are
        learned ("auto" for a choice of these); nearest neighbours (``KNeighborsRegressor()``) by
        default.
    lam : "path", float or None, default=None
        Coefficient of the penalty that couples the targets; 0 for independent targets, "path" to
        choose it on validation samples. None is "path", and 0 with ``fdr``, since a penalty makes
        the rate too optimistic.
    expression_val : same as expression, default=None
        Validation samples; by default a tenth of ``expression`` is set aside.
    gene_names, targets, layer
        As in :meth:`PRSNetwork.fit`.
    n_links : int, default=None
        Number of links to return; None for all pairs.
    fdr : float, default=None
        False discovery rate of the list: only links that stand out against those of shadows, which
        then compete in the fit; see :meth:`PRSNetwork.q_values`.
    perturbed : sequence of str, None or lists of str, default=None
        Genes that were perturbed in each sample, as in :meth:`PRSNetwork.fit`.
    n_jobs : int, default=None
        Number of workers. The result is the same for any number.
    random_state : int, RandomState instance or None, default=None
        Pass an int for the same result, bit for bit, at every call.
    verbose : int, default=0
        1 shows a progress bar.
    **parameters
        Further parameters of :class:`PRSNetwork`.

    Returns
    -------
    links : pandas.DataFrame
        Columns ``regulator``, ``target`` and ``weight`` (and ``q_value`` with ``fdr``), sorted by
        decreasing weight, then by name.

    See Also
    --------
    PRSNetwork : The estimator, with all results of a fit.

    Examples
    --------
    >>> from randsub.datasets import make_network
    >>> from randsub.network import infer_network
    >>> truth = make_network(80, n_regulators=6, n_targets=10, n_modules=2, random_state=0)
    >>> links = infer_network(truth.expression, truth.regulators, lam=0.003, max_iter=100,
    ...                       gene_names=truth.gene_names, n_links=5, random_state=0)
    >>> links.columns.tolist(), len(links)
    (['regulator', 'target', 'weight'], 5)
    """
    # Checked before training.
    check_n_links(n_links)
    check_fdr(fdr)
    if fdr is not None:
        parameters = {"shadows": True, **parameters}
    if lam is None:
        lam = default_lam(fdr)
    network = PRSNetwork(
        estimator,
        lam=lam,
        n_jobs=n_jobs,
        random_state=random_state,
        verbose=verbose,
        **parameters,
    )
    network.fit(
        expression,
        regulators,
        expression_val,
        gene_names=gene_names,
        targets=targets,
        layer=layer,
        perturbed=perturbed,
    )
    return network.links(n_links, fdr=fdr)
