"""The data of a network fit: checked, split into training and validation samples, scaled."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from randsub._typing import FloatArray, IntArray, Table
from randsub.checkpoint.fingerprint import describe_data
from randsub.estimators.fit_data import Split, repeated_splits
from randsub.estimators.standardize import Standardizer
from randsub.network.candidate_links import CandidateLinks, candidate_links
from randsub.network.expression_data import (
    Expression,
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


@dataclass(frozen=True)
class NetworkSamples:
    """Expression of the candidate regulators and targets, checked but not yet scaled.

    Parameters
    ----------
    data : Expression
    candidates : CandidateLinks
    judges : ndarray of shape (n_val, n_genes) or None
        Validation samples of the user.
    """

    data: Expression
    candidates: CandidateLinks
    judges: FloatArray | None

    def splits(self, fraction: float | None, rngs: Sequence[np.random.Generator]) -> list[Split]:
        """Training and validation rows, one split per generator.

        Without validation samples of the user, ``fraction`` of the samples is split off; None
        splits nothing off.
        """
        rows: IntArray = np.arange(len(self.data.values))
        if self.judges is not None:
            return [Split(rows, np.arange(len(self.judges)))] * len(rngs)
        if fraction is None:
            return [Split(rows, rows[:0])] * len(rngs)
        splits = repeated_splits(rows, fraction, None, rngs)
        for split in splits:
            self._check_varies(
                split.train_rows,
                "training samples that remain after validation samples were split off",
            )
        return splits

    def scaled(self, split: Split) -> NetworkFitData:
        """Scale all samples by the training rows of a split."""
        values = self.data.values
        columns = self.candidates.regulator_columns, self.candidates.target_columns
        scaler = Standardizer().fit(values, None, split.train_rows)
        X, Y = _columns(scaler.transform(values), *columns)
        X_val, Y_val = X, Y
        if self.judges is not None:
            X_val, Y_val = _columns(scaler.transform(self.judges), *columns)
        return NetworkFitData(self.candidates, X, X_val, Y, Y_val, *split)

    def _check_varies(self, rows: IntArray, where: str) -> None:
        used = np.union1d(self.candidates.regulator_columns, self.candidates.target_columns)
        names = [self.data.names[j] for j in used]
        check_varies(self.data.values[np.ix_(rows, used)], names, where)


def read_samples(
    expression: Table,
    regulators: Any = None,
    expression_val: Table | None = None,
    *,
    gene_names: Any = None,
    targets: Any = None,
    layer: str | None = None,
    splits: bool = False,
) -> NetworkSamples:
    """Check the data of a fit.

    Parameters are those of :meth:`randsub.network.PRSNetwork.fit`; ``splits`` says whether samples
    are to be split off, if there are no validation samples.
    """
    gene_names = kept(gene_names)
    data = read_expression(expression, gene_names, layer)
    n_samples, least = len(data.values), 3 if splits and expression_val is None else 2
    if n_samples < least:
        raise ValueError(
            f"expression has {n_samples} sample(s) (rows) of {len(data.names)} genes, but at "
            f"least {least} are needed. Samples are rows and genes are columns: transpose the "
            "table if it is the other way round."
        )
    chosen = resolve_genes(regulators, data, "regulators")
    candidates = candidate_links(data, chosen, resolve_genes(targets, data, "targets"))
    judges = None
    if expression_val is not None:
        judges = read_validation(expression_val, data, gene_names, layer)
    samples = NetworkSamples(data, candidates, judges)
    samples._check_varies(np.arange(n_samples), "samples of expression")
    return samples


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
    """Check, split once and scale the samples.

    Parameters are those of :meth:`randsub.network.PRSNetwork.fit`. Without validation samples,
    ``validation_fraction`` of the samples is split off by the generator; None splits nothing off.
    """
    samples = read_samples(
        expression,
        regulators,
        expression_val,
        gene_names=gene_names,
        targets=targets,
        layer=layer,
        splits=validation_fraction is not None,
    )
    rng = np.random.default_rng() if rng is None else rng
    (split,) = samples.splits(validation_fraction, [rng])
    return samples.scaled(split)


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
