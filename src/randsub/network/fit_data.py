"""The data of a network fit: checked, split into training and validation samples, scaled."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from randsub._typing import FloatArray, IntArray, Table
from randsub.checkpoint.fingerprint import describe_data
from randsub.estimators.fit_data import split_validation
from randsub.estimators.standardize import Standardizer
from randsub.network.candidate_links import CandidateLinks, candidate_links
from randsub.network.expression_data import (
    check_varies,
    kept,
    read_expression,
    read_validation,
    resolve_genes,
)


@dataclass(frozen=True)
class NetworkFitData:
    """Regulators and targets, scaled to mean 0 and deviation 1 on the training rows.

    Parameters
    ----------
    candidates : CandidateLinks
    X, X_val : ndarrays of shape (n, n_regulators) and (n_val, n_regulators)
        ``X_val`` is X if validation rows were split off.
    Y, Y_val : ndarrays of shape (n, n_targets) and (n_val, n_targets)
    train_rows, val_rows : int ndarrays
        Training rows of X, and validation rows of X_val; the latter may be empty.
    """

    candidates: CandidateLinks
    X: FloatArray
    X_val: FloatArray
    Y: FloatArray
    Y_val: FloatArray
    train_rows: IntArray
    val_rows: IntArray


def prepare(
    expression: Table,
    regulators: Any = None,
    expression_val: Table | None = None,
    *,
    gene_names: Any = None,
    targets: Any = None,
    layer: str | None = None,
    validation_fraction: float | None = None,
    rng: np.random.Generator | None = None,
) -> NetworkFitData:
    """Check, split and scale the samples.

    Parameters are those of :meth:`randsub.network.PRSNetwork.fit`. Without validation samples,
    ``validation_fraction`` of the samples is split off by the generator; None splits nothing off.
    """
    gene_names = kept(gene_names)
    data = read_expression(expression, gene_names, layer)
    splits = expression_val is None and validation_fraction is not None
    n_samples, least = len(data.values), 3 if splits else 2
    if n_samples < least:
        raise ValueError(
            f"expression has {n_samples} sample(s) (rows) of {len(data.names)} genes, but at "
            f"least {least} are needed. Samples are rows and genes are columns: transpose the "
            "table if it is the other way round."
        )
    chosen = resolve_genes(regulators, data, "regulators")
    candidates = candidate_links(data, chosen, resolve_genes(targets, data, "targets"))
    regulator, target = candidates.regulator_columns, candidates.target_columns
    used = np.union1d(regulator, target)
    names = [data.names[j] for j in used]
    check_varies(data.values[:, used], names, "samples of expression")
    train_rows: IntArray = np.arange(n_samples)
    val_rows: IntArray = np.arange(0)
    if validation_fraction is not None and expression_val is None:
        assert rng is not None
        train_rows, val_rows = split_validation(train_rows, validation_fraction, None, rng)
        check_varies(
            data.values[np.ix_(train_rows, used)],
            names,
            "training samples that remain after validation samples were split off",
        )
    scaler = Standardizer().fit(data.values, None, train_rows)
    X, Y = _columns(scaler.transform(data.values), regulator, target)
    X_val, Y_val = X, Y
    if expression_val is not None:
        judges = read_validation(expression_val, data, gene_names, layer)
        val_rows = np.arange(len(judges))
        X_val, Y_val = _columns(scaler.transform(judges), regulator, target)
    return NetworkFitData(candidates, X, X_val, Y, Y_val, train_rows, val_rows)


def _columns(values: FloatArray, *columns: IntArray) -> list[FloatArray]:
    return [np.ascontiguousarray(values[:, which]) for which in columns]


def describe_expression(
    expression: Table,
    regulators: Any = None,
    expression_val: Table | None = None,
    *,
    gene_names: Any = None,
    targets: Any = None,
    layer: str | None = None,
) -> dict[str, str | None]:
    """Shape, type and digest of the data of a fit, by name, for a checkpoint."""
    data = read_expression(expression, gene_names, layer)
    further = expression_val
    if expression_val is not None:
        further = read_validation(expression_val, data, gene_names, layer)
    # Results are in the user's order of the genes, so it is part of the description.
    tables = {
        "expression": data.values,
        "gene_names": np.array(data.names)[data.in_file],
        "expression_val": further,
        "regulators": None if regulators is None else resolve_genes(regulators, data, "regulators"),
        "targets": None if targets is None else resolve_genes(targets, data, "targets"),
    }
    return {name: None if t is None else describe_data(t) for name, t in tables.items()}
