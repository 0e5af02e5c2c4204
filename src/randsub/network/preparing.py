"""From what a user passes to samples and pairs that can be worked on; every check is made here."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from randsub._typing import FloatArray, IntArray, Table
from randsub.ensemble.fingerprint import describe_data
from randsub.ensemble.inputs import split_validation
from randsub.ensemble.standardize import Standardizer
from randsub.network.expression import (
    check_varies,
    kept,
    match_genes,
    read_expression,
    read_further,
    resolve_genes,
)
from randsub.network.panel import Panel, make_panel


@dataclass(frozen=True)
class Prepared:
    """Samples of regulators and targets, scaled to mean 0 and deviation 1 by the training rows.

    Parameters
    ----------
    panel : Panel
    X, X_val : ndarrays of shape (n, n_regulators) and (n_val, n_regulators)
        ``X_val`` is X where validation rows were split off.
    Y, Y_val : ndarrays of shape (n, n_targets) and (n_val, n_targets)
    train_rows, val_rows : int ndarrays
        Rows of X to train on, and rows of X_val to judge on; the latter may be empty.
    """

    panel: Panel
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
) -> Prepared:
    """Check everything, and split and scale the samples.

    Parameters are those of :meth:`randsub.network.PRSNetwork.fit`. Without validation samples, a
    fraction of them is split off, by the generator; None splits nothing off.
    """
    gene_names = kept(gene_names)
    data = read_expression(expression, gene_names, layer)
    splits = expression_val is None and validation_fraction is not None
    n_samples, least = len(data.values), 3 if splits else 2
    if n_samples < least:
        raise ValueError(
            f"expression has {n_samples} sample(s) (rows) of {len(data.names)} genes, but at "
            f"least {least} are needed. Samples are rows and genes are columns: transpose the "
            "table if it has them the other way round."
        )
    chosen = resolve_genes(regulators, data, "regulators")
    panel = make_panel(data, chosen, resolve_genes(targets, data, "targets"))
    used = np.union1d(panel.regulator_columns, panel.target_columns)
    names = [data.names[j] for j in used]
    check_varies(data.values[:, used], names, "samples of expression")
    judges = data.values
    train_rows: IntArray = np.arange(n_samples)
    val_rows: IntArray = np.arange(0)
    if expression_val is not None:
        second = read_further(expression_val, gene_names, layer, what="expression_val")
        judges = match_genes(second, data)
        val_rows = np.arange(len(judges))
    elif validation_fraction is not None:
        assert rng is not None
        train_rows, val_rows = split_validation(train_rows, validation_fraction, None, rng)
        check_varies(
            data.values[np.ix_(train_rows, used)],
            names,
            "training samples that remain after validation samples were split off",
        )
    scaler = Standardizer().fit(data.values, None, train_rows)
    values = scaler.transform(data.values)
    val_values = values if judges is data.values else scaler.transform(judges)
    regulator, target = panel.regulator_columns, panel.target_columns
    X, Y = _columns(values, regulator), _columns(values, target)
    if val_values is values:
        return Prepared(panel, X, X, Y, Y, train_rows, val_rows)
    X_val, Y_val = _columns(val_values, regulator), _columns(val_values, target)
    return Prepared(panel, X, X_val, Y, Y_val, train_rows, val_rows)


def _columns(values: FloatArray, columns: IntArray) -> FloatArray:
    return np.ascontiguousarray(values[:, columns])


def describe_expression(
    expression: Table,
    regulators: Any = None,
    expression_val: Table | None = None,
    *,
    gene_names: Any = None,
    targets: Any = None,
    layer: str | None = None,
) -> dict[str, dict[str, str] | None]:
    """What a checkpoint remembers of the data of a fit: shapes, types and digests by name."""
    data = read_expression(expression, gene_names, layer)
    further = expression_val
    if expression_val is not None:
        read = read_further(expression_val, gene_names, layer, what="expression_val")
        further = match_genes(read, data)
    # The order of the genes is that of the user's answer, and so part of it.
    tables = {
        "expression": data.values,
        "gene_names": np.array(data.names)[data.in_file],
        "expression_val": further,
        "regulators": None if regulators is None else resolve_genes(regulators, data, "regulators"),
        "targets": None if targets is None else resolve_genes(targets, data, "targets"),
    }
    return {name: None if t is None else describe_data(t) for name, t in tables.items()}
