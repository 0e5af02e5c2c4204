"""Noisy images of 5 and 6: PRS with sparse and smooth alpha, beside the paper's table."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any, ClassVar, Final

import pandas as pd
from matplotlib.figure import Figure

from randsub.penalties import Penalty
from randsub.penalty_search import image_penalties
from randsub_experiments import datasets
from randsub_experiments.cells import Cell, Row
from randsub_experiments.datasets.mnist import SOURCE, DigitImages
from randsub_experiments.experiments.base import CHOICES, Experiment, Options
from randsub_experiments.experiments.cell_grid import N_ESTIMATORS, WITHOUT_BASE
from randsub_experiments.experiments.real_data import data_folder, fingerprint, origin_of
from randsub_experiments.figures.alpha_maps import alpha_maps, chosen_maps
from randsub_experiments.methods import measure_fitted
from randsub_experiments.paper_tables import (
    MEASURE,
    METHOD,
    METHOD_COLUMNS,
    OURS,
    SPREAD_NOTE,
    condition_columns,
    plain_table,
    several,
    wide_table,
)
from randsub_experiments.problem import Problem
from randsub_experiments.prs_settings import SETTINGS, prs_parameters
from randsub_experiments.result_table import Column, Table, plain
from randsub_experiments.summaries import beside_paper, summarise

PROBLEM: Final = "mnist 5 against 6"
DIGITS: Final = (5, 6)
SHAPE: Final = (28, 28)
# The paper holds out half of the training images at a time.
N_BATCHES: Final = 2
NO_PENALTY: Final = "no penalty"
CHOSEN: Final = "penalty chosen on validation"
COEFFICIENTS: Final = ("sparsity", "smoothness")
# Decimals of alpha in the results.
_DECIMALS: Final = 6
PARTS: Final = ("train", "val", "test")
_NOISES: Final = ("noise", "salt_and_pepper")
# Conditions that decide the data.
_DATA: Final = ("n_train", *_NOISES)
METHODS: Final = ("prs", "rf", "gbdt")
ORIGIN: Final = origin_of(SOURCE)


class Mnist(Experiment):
    """The digits 5 and 6 of MNIST with noise.

    A cell is one fit with one pair of coefficients; all fits of a replicate draw the same numbers,
    as those of :func:`randsub.penalty_search.search_penalty` do, and the choice among them is made
    in the tables. Replicates differ in the noise and in the training images.
    """

    name: ClassVar[str] = "mnist"
    summary: ClassVar[str] = "images of 5 and 6 with noise, PRS with sparse and smooth alpha"
    flags: ClassVar[tuple[str, ...]] = (
        "bases",
        "methods",
        "settings",
        "replicates",
        "epochs",
        "samples",
        "noise",
        "salt_and_pepper",
        "coefficients",
        "data",
    )
    choices: ClassVar[Mapping[str, tuple[str, ...]]] = {**CHOICES, "methods": METHODS}
    full: ClassVar[Options] = Options(
        methods=METHODS, settings=("defaults",), replicates=1, samples=(1500,)
    )
    quick: ClassVar[Options] = replace(
        full,
        bases=("knn",),
        methods=("prs", "rf"),
        epochs=100,
        samples=(300,),
        coefficients=(0.0, 1e-3),
    )

    def cells(self, options: Options) -> list[Cell]:
        """Base model by base model."""
        images = _images(data_folder(options.data, self.name, ORIGIN), seed=0)
        if max(options.samples) > len(images.y_train):
            raise ValueError(
                f"--samples asks for {max(options.samples)} training images, but there are "
                f"{len(images.y_train)} beside those for validation."
            )
        data = fingerprint(*(getattr(images, f"{X}_{part}") for X in "Xy" for part in PARTS))
        return [
            cell
            for replicate in range(options.replicates)
            for n_train in options.samples
            for cell in _cells(replicate, _conditions(n_train, options), options, data)
        ]

    def run(self, cell: Cell, data: Path | None) -> Row:
        """Train one model, and test it on the test images of MNIST."""
        home, n_train = data_folder(data, self.name, ORIGIN), cell.conditions["n_train"]
        images = _images(home, cell.seed, **{kind: cell.conditions[kind] for kind in _NOISES})
        # Training and validation images are in random order; the proportion stays that of all.
        n_val = max(2, round(n_train * len(images.y_val) / len(images.y_train)))
        is_prs = cell.method == "prs"
        problem = Problem(
            "classification",
            images.X_train[:n_train],
            images.y_train[:n_train],
            images.X_val[:n_val],
            images.y_val[:n_val],
            images.X_test,
            images.y_test,
            penalty=_penalty(cell) if is_prs else None,
        )
        fitted, row = measure_fitted(cell, problem)
        row["validation_score"] = float(fitted.model.score(problem.X_val, problem.y_val))
        if is_prs:
            row["validation_loss"] = float(fitted.model.validation_loss_)
            row["alpha"] = [round(float(one), _DECIMALS) for one in fitted.model.alpha_]
        return row

    def tables(self, results: pd.DataFrame) -> list[Table]:
        """Accuracies beside the paper's; every pair of coefficients; times."""
        rows = chosen_rows(results)
        by = several(results, *_DATA)
        every = [
            self._beside_paper(rows),
            self._grid(results) if "prs" in set(results["method"]) else None,
            plain_table(
                "time",
                "Seconds for training and testing, on one thread",
                results,
                ["seconds"],
                by,
                "Of PRS one fit, n of them with all pairs; of forests with their tuning.",
            ),
        ]
        return [table for table in every if table is not None]

    def _beside_paper(self, rows: pd.DataFrame) -> Table:
        by = several(rows, *_DATA, "settings")
        groups = ["problem", *by, *METHOD_COLUMNS]
        frame = beside_paper(summarise(rows, groups, ["score", "size"]), self.name)
        frame = frame.drop(columns=["standard_errors", "verdict", "paper_n"])
        for name in COEFFICIENTS:
            means = summarise(rows, groups, [name]).rename(columns={"mean": name})
            frame = frame.merge(means[[*groups, name]], how="left", on=groups)
        columns = {
            **condition_columns(by),
            **MEASURE,
            **METHOD,
            **{name: _coefficient(name) for name in COEFFICIENTS},
            **OURS,
            # Printed with three digits, as no other table is.
            "paper": lambda row: plain(row.paper_mean, 3),
            "difference": lambda row: plain(row.difference, 3, "+"),
        }
        noise, replaced = (
            ", ".join(f"{one:g}" for one in sorted(rows[kind].unique())) for kind in _NOISES
        )
        note = (
            f"{SPREAD_NOTE} Normal noise of standard deviation {noise}, where ink is 1; share of "
            f"pixels that are ink or background by chance: {replaced}. The paper does not state "
            "its noise. The coefficients are those with the lowest loss on validation (mean "
            "over replicates). Sizes are expected numbers of pixels that a model sees."
        )
        title = "Test accuracies, beside the paper (tab:mnist)"
        return Table("comparison", title, frame, columns, note)

    @staticmethod
    def _grid(results: pd.DataFrame) -> Table:
        """Every pair of coefficients."""
        prs = results[results["method"] == "prs"]
        prs = prs.sort_values([*_DATA, "base", "setting", *COEFFICIENTS], kind="stable")
        by = [*several(prs, *_DATA), *METHOD_COLUMNS, *COEFFICIENTS]
        measures = ["score", "validation_score", "validation_loss", "size"]
        return wide_table("grid", "PRS under every pair of coefficients", prs, by, measures)

    def figures(self, results: pd.DataFrame) -> dict[str, Figure]:
        """Maps of alpha: without and with the chosen penalty, and for every pair."""
        prs = results[results["method"] == "prs"]
        if not len(prs):
            return {}
        first = prs[prs["replicate"] == prs["replicate"].min()]
        first = first[(first[list(_DATA)] == first[list(_DATA)].iloc[0]).all(axis=1)]
        by_setting = first["setting"].nunique() > 1
        figures = {"alpha": chosen_maps(chosen_rows(first), SHAPE)}
        for (setting, base), rows in first.groupby(["setting", "base"], sort=False):
            name = f"alpha-{base}-{setting}" if by_setting else f"alpha-{base}"
            figures[name] = alpha_maps(rows, SHAPE)
        return figures


def chosen_rows(results: pd.DataFrame) -> pd.DataFrame:
    """Of PRS, the rows without a penalty and with the one of the lowest validation loss.

    Parameters
    ----------
    results : DataFrame
        One row per cell.

    Returns
    -------
    rows : DataFrame
        ``setting`` says which of the two it is, and ``settings`` has the setting of PRS; rows of
        other methods are as they were.
    """
    results = results.assign(settings="")
    prs = results[results["method"] == "prs"]
    parts = [results[results["method"] != "prs"]]
    if len(prs):
        prs = prs.assign(settings=prs["setting"])
        # The first among equals, as in the order of the grid.
        ordered = prs.sort_values(list(COEFFICIENTS), kind="stable")
        groups = ordered.groupby([*_DATA, "base", "setting", "replicate"], sort=False)
        best = groups["validation_loss"].idxmin()
        plain_rows = (prs[list(COEFFICIENTS)] == 0.0).all(axis=1)
        parts += [
            prs[plain_rows].assign(setting=NO_PENALTY),
            # In the order of the rows above, whichever pair was best.
            prs.loc[list(best)].assign(setting=CHOSEN),
        ]
    return pd.concat(parts, ignore_index=True)


def _cells(
    replicate: int, conditions: Mapping[str, Any], options: Options, data: str
) -> Iterator[Cell]:
    for method in options.methods:
        if method in WITHOUT_BASE:
            params = {"n_estimators": N_ESTIMATORS, "data": data}
            yield Cell(Mnist.name, PROBLEM, replicate, method, "", "", conditions, params)
            continue
        for base, setting in product(options.bases, options.settings):
            changes = {**SETTINGS[setting], "n_batches": N_BATCHES}
            params = {**prs_parameters(changes, options.epochs), "data": data}
            for pair in product(options.coefficients, repeat=2):
                penalised = {**conditions, **dict(zip(COEFFICIENTS, pair, strict=True))}
                yield Cell(Mnist.name, PROBLEM, replicate, method, base, setting, penalised, params)


def _conditions(n_train: int, options: Options) -> dict[str, Any]:
    return {"n_train": n_train, **{kind: getattr(options, kind) for kind in _NOISES}}


def _penalty(cell: Cell) -> Penalty:
    height, width = SHAPE
    sparsity, smoothness = (cell.conditions[name] for name in COEFFICIENTS)
    return image_penalties(height, width, sparsity=[sparsity], smoothness=[smoothness])[0]


def _coefficient(name: str) -> Column:
    return lambda row: "" if pd.isna(getattr(row, name)) else f"{getattr(row, name):g}"


def _images(home: Path, seed: int, **noise: float) -> DigitImages:
    return datasets.load_mnist(home, DIGITS, random_state=seed, **noise)
