"""The data of a network fit: checked, split into training and validation samples, scaled."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd

from randsub._typing import BoolArray, FloatArray, IntArray, Table
from randsub.checkpoint.fingerprint import describe_data
from randsub.estimators.fit_data import Split, repeated_splits
from randsub.estimators.standardize import Standardizer
from randsub.network.candidate_links import CandidateLinks, candidate_links
from randsub.network.expression_data import (
    Expression,
    check_varies,
    kept,
    one_for_each,
    read_expression,
    read_validation,
    resolve_genes,
)
from randsub.network.time_series import Steps, find_steps


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
    perturbed : mapping of int to int ndarray
        Rows of X in which a target, given by its place, was perturbed. They are left out for it.

    If there are shadows, X and X_val have those of all regulators behind the regulators.
    """

    candidates: CandidateLinks
    X: FloatArray
    X_val: FloatArray
    Y: FloatArray
    Y_val: FloatArray
    train_rows: IntArray
    val_rows: IntArray
    perturbed: Mapping[int, IntArray] = field(default_factory=dict)

    @property
    def allowed(self) -> BoolArray:
        """Which columns of X each target may be linked to: no gene to itself or its shadow."""
        n_copies = self.X.shape[1] // len(self.candidates.regulators)
        return np.tile(self.candidates.allowed, (1, n_copies))

    def own_rows(self, target: int, rows: IntArray) -> IntArray:
        """Those of some rows of X in which a target was not perturbed."""
        if target not in self.perturbed:
            return rows
        return np.setdiff1d(rows, self.perturbed[target])


@dataclass(frozen=True)
class NetworkSamples:
    """Expression of the candidate regulators and targets, checked but not yet scaled.

    Parameters
    ----------
    values : ndarray of shape (n_samples, n_genes)
        Of the genes that are candidates or targets, sorted by name.
    candidates : CandidateLinks
    judges : ndarray of shape (n_val, n_genes) or None
        Validation samples of the user.
    perturbed : mapping of int to int ndarray
        Samples in which a target, given by its place, was perturbed.
    levels : ndarray of shape (n_samples, n_genes), default=None
        Of time series: what the targets are to be at the values of the regulators. By default
        values.
    steps : Steps, default=None
        Of time series: how the samples follow each other.
    """

    values: FloatArray
    candidates: CandidateLinks
    judges: FloatArray | None
    perturbed: Mapping[int, IntArray]
    levels: FloatArray | None = None
    steps: Steps | None = None

    def splits(self, fraction: float | None, rngs: Sequence[np.random.Generator]) -> list[Split]:
        """Training and validation rows, one split per generator.

        Without validation samples of the user, ``fraction`` of the samples is split off; None
        splits nothing off.
        """
        rows: IntArray = np.arange(len(self.values))
        if self.judges is not None:
            splits = [Split(rows, np.arange(len(self.judges)))] * len(rngs)
            self._check_left(splits, judged_here=False)
            return splits
        if fraction is None:
            splits = [Split(rows, rows[:0])] * len(rngs)
            self._check_left(splits, judged_here=False)
            return splits
        if self.steps is None:
            splits = repeated_splits(rows, fraction, None, rngs)
        else:
            splits = self.steps.splits(fraction, rngs)
        self._check_left(splits, judged_here=True)
        for split in splits:
            self._check_varies(
                split.train_rows,
                "training samples that remain after validation samples were split off",
            )
        return splits

    def scaled(self, split: Split, shadow_seed: Sequence[int] | None = None) -> NetworkFitData:
        """Scale all samples by the training rows of a split; add shadows, if they have a seed."""
        scaler = Standardizer().fit(self.values, None, split.train_rows)
        X, Y = self._columns(self.values, scaler)
        if self.levels is not None:
            scaler = Standardizer().fit(self.levels, None, split.train_rows)
            _, Y = self._columns(self.levels, scaler)
        X_val, Y_val = (X, Y) if self.judges is None else self._columns(self.judges, scaler)
        self._rescale(split, Y, Y_val)
        if shadow_seed is not None:
            rng = np.random.default_rng(shadow_seed)
            given, X = X_val, _with_shadows(X, self._shuffled(len(X), rng))
            X_val = X
            if self.judges is not None:
                X_val = _with_shadows(given, rng.permutation(len(given)))
        return NetworkFitData(self.candidates, X, X_val, Y, Y_val, *split, self.perturbed)

    def _shuffled(self, n_rows: int, rng: np.random.Generator) -> IntArray:
        """The order of the samples of shadows."""
        return rng.permutation(n_rows) if self.steps is None else self.steps.shuffled(rng)

    def _rescale(self, split: Split, Y: FloatArray, Y_val: FloatArray) -> None:
        """Scale perturbed targets by the training rows that are left for them, in place."""
        given = self.values if self.levels is None else self.levels
        for target, rows in self.perturbed.items():
            column = self.candidates.target_columns[target]
            left = given[np.setdiff1d(split.train_rows, rows), column]
            Y[:, target] = (given[:, column] - left.mean()) / left.std()
            if self.judges is not None:
                Y_val[:, target] = (self.judges[:, column] - left.mean()) / left.std()

    def _columns(self, values: FloatArray, scaler: Standardizer) -> list[FloatArray]:
        """Regulators and targets, scaled."""
        columns = self.candidates.regulator_columns, self.candidates.target_columns
        # A copy of each, not one of all genes beside them.
        return [scaler.transform(np.ascontiguousarray(values[:, of]), of) for of in columns]

    def _check_left(self, splits: Sequence[Split], *, judged_here: bool) -> None:
        """Raise if perturbations leave a target too few samples."""
        for target, rows in self.perturbed.items():
            for split in splits:
                n_train = len(np.setdiff1d(split.train_rows, rows))
                n_val = len(np.setdiff1d(split.val_rows, rows)) if judged_here else 1
                if n_train < 2 or n_val < 1:
                    raise ValueError(
                        f"Gene {self.candidates.targets[target]!r} was perturbed in {len(rows)} "
                        f"sample(s), which leaves {n_train} training and {n_val} validation "
                        "sample(s) for it. Leave it out of targets, change validation_fraction, or "
                        "give validation samples."
                    )

    def _check_varies(self, rows: IntArray, where: str) -> None:
        of, levels = self.candidates, self.values if self.levels is None else self.levels
        if self.levels is None:
            check_varies(self.values[rows], sorted({*of.regulators, *of.targets}), where)
        else:
            check_varies(self.values[np.ix_(rows, of.regulator_columns)], of.regulators, where)
            check_varies(levels[np.ix_(rows, of.target_columns)], of.targets, where)
        for target, perturbed in self.perturbed.items():
            left = np.setdiff1d(rows, perturbed)
            # Too few of them are an error of their own, see _check_left.
            if len(left) > 1:
                column, name = of.target_columns[[target]], of.targets[target]
                where_left = f"{where} in which it was not perturbed"
                check_varies(levels[np.ix_(left, column)], [name], where_left)


def read_samples(
    expression: Table,
    regulators: Any = None,
    expression_val: Table | None = None,
    *,
    gene_names: Any = None,
    targets: Any = None,
    layer: str | None = None,
    perturbed: Any = None,
    time: Any = None,
    series: Any = None,
    splits: bool = False,
) -> NetworkSamples:
    """Check the data of a fit.

    Parameters are those of :meth:`randsub.network.PRSNetwork.fit`; ``splits`` says whether samples
    are to be split off, if there are no validation samples.
    """
    gene_names = kept(gene_names)
    data = read_expression(expression, gene_names, layer)
    steps = find_steps(time, series, data.n_samples)
    least = 3 if splits and expression_val is None else 2
    _check_enough(data, steps, least)
    chosen, aims, used = _genes(regulators, targets, data)
    names = [data.names[j] for j in used.tolist()]
    candidates = candidate_links(names, *(np.searchsorted(used, of) for of in (chosen, aims)))
    where = perturbed_samples(perturbed, data, candidates)
    judges = None
    if expression_val is not None:
        if steps is not None:
            raise ValueError(
                "expression_val and time cannot be combined; without expression_val, "
                "validation_fraction of the steps in time is set aside."
            )
        judges = read_validation(expression_val, data, used, gene_names, layer)
    samples = NetworkSamples(data.values(used), candidates, judges, where)
    if steps is not None:
        samples = replace(
            samples,
            values=samples.values[steps.now],
            levels=steps.levels(samples.values),
            steps=steps,
            perturbed={target: steps.touching(rows) for target, rows in where.items()},
        )
    samples._check_varies(np.arange(len(samples.values)), "samples of expression")
    return samples


def _check_enough(data: Expression, steps: Steps | None, least: int) -> None:
    if data.n_samples < least:
        raise ValueError(
            f"expression has {data.n_samples} sample(s) (rows) of {len(data.names)} genes, but at "
            f"least {least} are needed. Samples are rows and genes are columns: transpose the "
            "table if it is the other way round."
        )
    if steps is not None and len(steps.now) < least:
        raise ValueError(
            f"The {data.n_samples} samples are {len(steps.now)} step(s) in time, but at least "
            f"{least} are needed."
        )


def _genes(regulators: Any, targets: Any, data: Expression) -> tuple[IntArray, IntArray, IntArray]:
    """Places of the regulators, of the targets, and of all of them, among the names of the data."""
    chosen = resolve_genes(regulators, data, "regulators")
    aims = resolve_genes(targets, data, "targets")
    return chosen, aims, np.union1d(chosen, aims)


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


def perturbed_samples(
    perturbed: Any, data: Expression, candidates: CandidateLinks
) -> dict[int, IntArray]:
    """Samples in which each target was perturbed, by its place among the targets.

    Parameters
    ----------
    perturbed : sequence of str, None, or lists of str; or None
        Names of the genes that were perturbed in each sample.
    data : Expression
    candidates : CandidateLinks
    """
    if perturbed is None:
        return {}
    entries = one_for_each("perturbed", perturbed, data.n_samples)
    known, places = {*data.names}, {name: g for g, name in enumerate(candidates.targets)}
    found: dict[int, list[int]] = {}
    for row, entry in enumerate(entries):
        for gene in [entry] if isinstance(entry, str) or not is_sequence(entry) else entry:
            if gene is None or gene is pd.NA or gene == "" or gene != gene:
                continue
            if gene not in known:
                raise ValueError(
                    f"perturbed names {gene!r} in sample {row}, which is not a gene of expression; "
                    "use None, or an empty cell of a file, where nothing was perturbed."
                )
            if gene in places:
                found.setdefault(places[gene], []).append(row)
    return {target: np.array(rows) for target, rows in found.items()}


def is_sequence(entry: Any) -> bool:
    """Whether an entry lists several genes."""
    return isinstance(entry, list | tuple | set | frozenset | np.ndarray)


def _with_shadows(X: FloatArray, order: IntArray) -> FloatArray:
    """Regulators, and behind them their shadows: all of them with their rows in another order."""
    return np.ascontiguousarray(np.hstack([X, X[order]]))


def describe_expression(
    expression: Table,
    regulators: Any = None,
    expression_val: Table | None = None,
    *,
    gene_names: Any = None,
    targets: Any = None,
    layer: str | None = None,
    perturbed: Any = None,
    time: Any = None,
    series: Any = None,
) -> dict[str, str | None]:
    """Shape, type and digest of the data of a fit, by name, for a checkpoint."""
    data = read_expression(expression, gene_names, layer)
    chosen, aims, used = _genes(regulators, targets, data)
    further = expression_val
    if expression_val is not None:
        further = read_validation(expression_val, data, used, gene_names, layer)
    # Results are in the user's order of the genes, so it is part of the description.
    tables = {
        "expression": data.values(used),
        "gene_names": np.array(data.names)[data.in_file],
        "expression_val": further,
        "regulators": None if regulators is None else chosen,
        "targets": None if targets is None else aims,
    }
    for name, entries in {"perturbed": perturbed, "time": time, "series": series}.items():
        tables[name] = None if entries is None else np.array([*map(_as_text, entries)])
    return {name: None if t is None else describe_data(t) for name, t in tables.items()}


def _as_text(entry: Any) -> str:
    """The same in every process: a set has no order of its own."""
    return str(sorted(map(str, entry)) if isinstance(entry, set | frozenset) else entry)
