"""Gene network inference by PRS, as a function."""

from typing import Any, Literal

import numpy as np
import pandas as pd

from randsub._typing import Table
from randsub.network.expression_data import kept
from randsub.network.links import check_fdr, check_n_links
from randsub.network.prs import PRSNetwork
from randsub.network.ranking import Ranking
from randsub.solver import Solver

# Above this number of targets they are trained independently, in blocks, with one base model and
# the optimiser of the ensembles, which finds a few regulators among hundreds of candidates.
MANY_TARGETS = 300
MANY = {"n_repeats": 1, "max_iter": 300, "n_estimators": 100}
# Many short fits rank links better than few long ones: links are ranked by alpha averaged over the
# epochs, and what one split or base model misses, another one finds.
SHORT = {"max_iter": 90, "n_estimators": 40}
LAMS = (0.0, 0.001, 0.002, 0.003, 0.005)
N_REPEATS = 3
# From this number of targets on it is known well enough which regulators stand out.
STANDING_OUT = 50


def recommended(
    *, n_targets: int, knows_regulators: bool, fdr: float | None = None, **given: Any
) -> dict[str, Any]:
    """Parameters of :class:`PRSNetwork`, if users do not say; chosen by a study on simulated data.

    Parameters
    ----------
    n_targets : int
    knows_regulators : bool
        Whether the user lists the candidates. Otherwise every gene is one; a gene with many strong
        links is then more likely to be a regulator at all, and of two opposite links one is the
        shadow of the other.
    fdr : float or None
        With a penalty, or a rule that multiplies links by what their regulator does elsewhere, a
        rate that is measured by shadows, which regulate nothing, would be too optimistic.
    **given
        What users say of parameters; None if they say nothing.
    """
    chosen: dict[str, Any] = {
        "estimator": "auto",
        "mixing": "apart",
        "n_repeats": N_REPEATS,
        "lam": "path",
    }
    chosen |= {"lams": LAMS, **SHORT}
    if fdr is not None or n_targets > MANY_TARGETS:
        chosen |= {"estimator": None, "lam": 0.0}
    if n_targets > MANY_TARGETS:
        chosen |= {"solver": Solver(), **MANY}
    if fdr is not None:
        chosen["shadows"] = True
    elif not knows_regulators:
        how: Literal["sum", "both"] = "both" if n_targets >= STANDING_OUT else "sum"
        chosen["ranking"] = Ranking(direction="weaker", regulators=how)
    return chosen | {name: value for name, value in given.items() if value is not None}


def count_targets(expression: Table, targets: Any) -> int:
    """Number of targets, as far as it is known before the data are checked."""
    if targets is None:
        shape = getattr(expression, "shape", None) or np.shape(expression)
        return int(shape[1]) if len(shape) > 1 else 0
    try:
        which = np.asarray(targets)
    except ValueError:
        # Lists of different lengths are an error of the fit.
        return 0
    return int(which.sum()) if which.dtype == bool else which.size


def recommended_network(
    expression: Table,
    regulators: Any = None,
    targets: Any = None,
    *,
    fdr: float | None = None,
    estimator: Any = None,
    lam: float | Literal["path"] | None = None,
    **parameters: Any,
) -> PRSNetwork:
    """The network that :func:`infer_network` fits, not yet fitted: for files, pictures, callbacks.

    Parameters
    ----------
    expression, regulators, targets
        The data that it will be fitted to, as in :func:`infer_network`; only their number counts.
    fdr : float, default=None
        Whether shadows compete in the fit, for ``links(fdr=...)``.
    estimator, lam
        As in :func:`infer_network`.
    **parameters
        Further parameters of :class:`PRSNetwork`.

    Returns
    -------
    network : PRSNetwork

    Examples
    --------
    >>> from randsub.datasets import make_network
    >>> from randsub.network import recommended_network
    >>> truth = make_network(80, n_regulators=6, n_targets=10, n_modules=2, random_state=0)
    >>> network = recommended_network(truth.expression, max_iter=5, random_state=0)
    >>> [name for name, _ in network.fit(truth.expression).estimator_]
    ['knn', 'svm', 'tree']
    """
    check_fdr(fdr)
    chosen = recommended(
        n_targets=count_targets(expression, kept(targets)),
        knows_regulators=regulators is not None,
        fdr=fdr,
        estimator=estimator,
        lam=lam,
    )
    return PRSNetwork(**{**chosen, **parameters})


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
    time: Any = None,
    series: Any = None,
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
        The base model, any scikit-learn regressor, or several of them with names. None is "auto",
        neighbours, trees and, unless there are too many samples, support vector machines, trained
        apart; and nearest neighbours alone with ``fdr``, and for more than 300 targets.
    lam : "path", float or None, default=None
        Coefficient of the penalty that couples the targets; 0 for independent targets, "path" to
        choose it on validation samples. None is "path", and 0 for more than 300 targets, and with
        ``fdr``, since a penalty makes the rate too optimistic.
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
    time, series : sequences, default=None
        Times of the samples, and which time series they are of, as in :meth:`PRSNetwork.fit`.
    n_jobs : int, default=None
        Number of workers. The result is the same for any number.
    random_state : int, RandomState instance or None, default=None
        Pass an int for the same result, bit for bit, at every call.
    verbose : int, default=0
        1 shows a progress bar.
    **parameters
        Further parameters of :class:`PRSNetwork`. Some have other defaults here, which rank links
        best on simulated networks for their time: ``n_repeats=3``, ``mixing="apart"``,
        ``max_iter=90``, ``n_estimators=40``, ``lams=(0, 0.001, 0.002, 0.003, 0.005)``, and unless
        there are ``regulators`` or ``fdr``, ``ranking=Ranking(direction="weaker",
        regulators="sum")``, or ``"both"`` for at least 50 targets. For more than 300 targets
        ``n_repeats=1``, ``max_iter=300``, ``n_estimators=100`` and ``solver=Solver()``.

    Returns
    -------
    links : pandas.DataFrame
        Columns ``regulator``, ``target`` and ``weight`` (and ``q_value`` with ``fdr``), sorted by
        decreasing weight, then by name.

    See Also
    --------
    recommended_network : The estimator behind it, for files, pictures and callbacks.
    PRSNetwork : The estimator, with all results of a fit.

    Examples
    --------
    >>> from randsub.datasets import make_network
    >>> from randsub.network import infer_network
    >>> truth = make_network(80, n_regulators=6, n_targets=10, n_modules=2, random_state=0)
    >>> links = infer_network(truth.expression, truth.regulators, lam=0.003, max_iter=20,
    ...                       gene_names=truth.gene_names, n_links=5, random_state=0)
    >>> links.columns.tolist(), len(links)
    (['regulator', 'target', 'weight'], 5)
    """
    # Checked before training.
    check_n_links(n_links)
    check_fdr(fdr)
    regulators, targets = kept(regulators), kept(targets)
    parameters |= {"n_jobs": n_jobs, "random_state": random_state, "verbose": verbose}
    network = recommended_network(
        expression, regulators, targets, fdr=fdr, estimator=estimator, lam=lam, **parameters
    )
    network.fit(
        expression,
        regulators,
        expression_val,
        gene_names=gene_names,
        targets=targets,
        layer=layer,
        perturbed=perturbed,
        time=time,
        series=series,
    )
    return network.links(n_links, fdr=fdr)
