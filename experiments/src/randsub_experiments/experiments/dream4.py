"""Gene networks of the DREAM4 challenge: every method, beside the paper's table."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, Final

import pandas as pd
from matplotlib.figure import Figure

from randsub.exceptions import DatasetNotFoundError
from randsub.network.path import choose as choose_on_path
from randsub_experiments import datasets, published
from randsub_experiments.cells import BASE_LABELS, Cell, Row, label
from randsub_experiments.datasets.dream4 import SOURCE, Dream4Network
from randsub_experiments.experiments.base import (
    CHOICES,
    COMMON_FLAGS,
    RASE_FLAGS,
    Experiment,
    Options,
)
from randsub_experiments.experiments.cell_grid import rase_parameters
from randsub_experiments.experiments.real_data import choose, data_folder, fingerprint, origin_of
from randsub_experiments.figures.network_paths import aupr_along_path, sizes_along_path
from randsub_experiments.network_methods import ALL_SAMPLES, TRAINING_SAMPLES, measure_network
from randsub_experiments.paper_tables import (
    MEASURE,
    METHOD,
    METHOD_COLUMNS,
    OURS,
    PAPER,
    PROBLEM,
    SPREAD_NOTE,
    condition_columns,
    plain_table,
    several,
    wide_table,
)
from randsub_experiments.prs_settings import network_parameters
from randsub_experiments.result_table import Table, plain
from randsub_experiments.summaries import beside_paper, summarise

# Rows that one path of PRS gives, and the rule that chooses each.
NO_PENALTY: Final = "no penalty"
LOWEST: Final = "penalty chosen on validation"
ONE_SE: Final = "penalty by one standard error"
RULES: Final = {LOWEST: "lowest", ONE_SE: "one_se"}
# `PRSNetwork()` with its defaults: one fit of nearest neighbours.
DEFAULT: Final = {"base": "knn", "setting": ONE_SE, "settings": "defaults"}
METHODS: Final = ("prs", "genie3", "rase", "random")
ORIGIN: Final = origin_of(SOURCE)
NOTE: Final = (
    f'{SPREAD_NOTE} All rows of PRS with a base model come from one path: "{NO_PENALTY}" is its '
    f'coefficient 0, "{LOWEST}" has the lowest error on validation (the paper\'s rule, 0 being '
    f'among the candidates here), "{ONE_SE}" the largest coefficient within one standard error of '
    "that. The rule of PRSNetwork() is the last one, with kNN. Sizes are expected numbers of "
    "regulators of a target. Empty: the paper has no such number."
)


class Dream4(Experiment):
    """The networks of 100 genes of a folder.

    Replicates differ in what is drawn by the methods; the data and their split are given.
    """

    name: ClassVar[str] = "dream4"
    summary: ClassVar[str] = "gene networks of the DREAM4 challenge in a data folder"
    flags: ClassVar[tuple[str, ...]] = (*COMMON_FLAGS, "trees", *RASE_FLAGS, "data")
    choices: ClassVar[Mapping[str, tuple[str, ...]]] = {**CHOICES, "methods": METHODS}
    # RaSE at the paper's size would train 500 million models for a network and base model, and the
    # paper's settings take some thirty times as long as the defaults.
    full: ClassVar[Options] = Options(
        methods=METHODS,
        settings=("defaults",),
        replicates=1,
        rase_candidates=20,
        rase_iterations=2,
    )
    quick: ClassVar[Options] = replace(
        full, bases=("knn",), epochs=30, trees=100, rase_candidates=3, rase_iterations=1
    )

    def cells(self, options: Options) -> list[Cell]:
        """Network by network."""
        home = data_folder(options.data, self.name, ORIGIN)
        networks = _networks(home)
        chosen = choose(options.problems, list(networks), home, ORIGIN)
        prints = {
            name: fingerprint(networks[name].X_train, networks[name].X_val, networks[name].gold)
            for name in chosen
        }
        return [
            Cell(
                self.name,
                name,
                replicate,
                method,
                base,
                setting,
                params={**params, "data": prints[name]},
            )
            for replicate in range(options.replicates)
            for name in chosen
            for method in options.methods
            for base, setting, params in _variants(method, options)
        ]

    def run(self, cell: Cell, data: Path | None) -> Row:
        """Infer the network, and compare it with the true one."""
        home = data_folder(data, self.name, ORIGIN)
        return measure_network(cell, _network(cell.problem, home))

    def tables(self, results: pd.DataFrame) -> list[Table]:
        """AUPR and sizes beside the paper's, the best of each network, other scores, the path."""
        rows = chosen_rows(results)
        path = results[results["lam"].notna()] if "lam" in results else results[:0]
        tables = [
            self._beside_paper(rows),
            best_table(rows),
            plain_table(
                "scores",
                "Other scores",
                rows,
                ["auroc", "early_precision"],
                several(rows, "settings"),
            ),
            _path_table(path) if len(path) else None,
            _time_table(results),
        ]
        return [table for table in tables if table is not None and len(table.frame)]

    def _beside_paper(self, rows: pd.DataFrame) -> Table:
        by = several(rows, "settings")
        summary = summarise(rows, ["problem", *by, *METHOD_COLUMNS], ["aupr", "size"])
        # The paper printed neither deviations nor numbers of runs: there is nothing to judge by.
        frame = beside_paper(summary, self.name).drop(
            columns=["standard_errors", "verdict", "paper_n"]
        )
        lams = summarise(rows, ["problem", *by, *METHOD_COLUMNS], ["lam"])
        frame = frame.merge(
            lams[["problem", *by, *METHOD_COLUMNS, "mean"]].rename(columns={"mean": "lam"}),
            how="left",
        )
        columns = {
            **PROBLEM,
            **condition_columns(by),
            **MEASURE,
            **METHOD,
            "lambda": lambda row: plain(row.lam, 4),
            **OURS,
            **PAPER,
        }
        title = "AUPR and expected numbers of regulators, beside the paper (tab:dream4_aupr)"
        return Table("comparison", title, frame, columns, NOTE)

    def figures(self, results: pd.DataFrame) -> dict[str, Figure]:
        """AUPR along the path, and the numbers of regulators of the targets along it."""
        if "lam" not in results or not results["lam"].notna().any():
            return {}
        return {"aupr": aupr_along_path(results), "regulators": sizes_along_path(results)}


def chosen_rows(results: pd.DataFrame) -> pd.DataFrame:
    """Of each path the rows without a penalty and with those that the rules choose.

    Parameters
    ----------
    results : DataFrame
        One row for each coefficient of each path, and one for each cell of other methods.

    Returns
    -------
    rows : DataFrame
        ``setting`` says how the coefficient was chosen, and ``settings`` has the setting of PRS;
        rows of other methods are as they were.
    """
    results = results.assign(settings="")
    if "lam" not in results:
        return results.assign(lam=float("nan"))
    parts = [results[results["lam"].isna()]]
    paths = results[results["lam"].notna()].groupby(
        ["problem", "base", "setting", "replicate"], sort=False
    )
    for _, path in paths:
        settings = path["setting"].iloc[0]
        ordered = path.sort_values("lam").rename(columns={"validation_loss": "validation_error"})
        places = {name: choose_on_path(ordered, rule) for name, rule in RULES.items()}
        taken = {name: ordered.index[[place]] for name, place in places.items()}
        taken[NO_PENALTY] = path.index[path["lam"] == 0.0]
        parts += [
            results.loc[taken[name]].assign(setting=name, settings=settings)
            for name in (NO_PENALTY, LOWEST, ONE_SE)
        ]
    rows = pd.concat(parts)
    order = {"random": 0, "genie3": 1, "rase": 2, "prs": 3}
    rules = {NO_PENALTY: 0, LOWEST: 1, ONE_SE: 2}
    rows["_method"] = rows["method"].map(order)
    rows["_rule"] = rows["setting"].map(rules).fillna(-1)
    bases = {name: place for place, name in enumerate(["", *BASE_LABELS])}
    rows["_base"] = rows["base"].map(bases)
    by = ["problem", "_method", "settings", "_rule", "_base", "setting", "replicate"]
    return rows.sort_values(by, kind="stable", ignore_index=True).drop(
        columns=["_method", "_rule", "_base"]
    )


def best_table(rows: pd.DataFrame) -> Table | None:
    """For each network our best PRS, the default, GENIE3, and the paper's best.

    Parameters
    ----------
    rows : DataFrame
        As :func:`chosen_rows` gives them.
    """
    if "prs" not in set(rows["method"]):
        return None
    means = rows.groupby(["problem", "settings", *METHOD_COLUMNS], as_index=False, sort=False)[
        "aupr"
    ].mean()
    figures = published.numbers(Dream4.name)
    paper = figures[figures["measure"] == "aupr"].groupby(["problem", "method"])["mean"].max()
    table = []
    for problem, part in means.groupby("problem", sort=False):
        prs = part[part["method"] == "prs"]
        if not len(prs):
            continue
        best = prs.loc[prs["aupr"].idxmax()]
        is_default = (prs[list(DEFAULT)] == pd.Series(DEFAULT)).all(axis=1)
        table.append(
            {
                "problem": problem,
                "default": prs.loc[is_default, "aupr"].max(),
                "best": best["aupr"],
                "who": label("prs", best["base"], best["setting"]),
                "settings": best["settings"],
                "paper_best": paper.get((problem, "prs")),
                "genie3": part.loc[part["method"] == "genie3", "aupr"].max(),
                "paper_genie3": paper.get((problem, "genie3")),
            }
        )
    columns = {
        **PROBLEM,
        "PRSNetwork()": lambda row: plain(row.default, 3),
        "our best": lambda row: plain(row.best, 3),
        "which": lambda row: f"{row.who} ({row.settings})",
        "the paper's best PRS": lambda row: plain(row.paper_best, 2),
        "our GENIE3": lambda row: plain(row.genie3, 3),
        "the paper's GENIE3": lambda row: plain(row.paper_genie3, 2),
    }
    note = (
        "Of GENIE3 the better of all samples and training samples alone. The best of several rows "
        "is chosen by the true network, in the paper as here."
    )
    return Table("best", "The best AUPR for each network", pd.DataFrame(table), columns, note)


def _path_table(path: pd.DataFrame) -> Table:
    """What happens along the path, for every coefficient."""
    measures = ["aupr", "auroc", "size", "validation_loss", "standard_error"]
    title = "PRS along the path of coefficients lam"
    ordered = path.sort_values(["problem", "base", "setting", "lam"], kind="stable")
    return wide_table("path", title, ordered, ["problem", *METHOD_COLUMNS, "lam"], measures)


def _time_table(results: pd.DataFrame) -> Table:
    """Times of whole cells, and of PRS for a coefficient on average."""
    keys = ["problem", *METHOD_COLUMNS, "replicate"]
    groups = results.groupby(keys, sort=False)["seconds"]
    times = groups.sum().to_frame("seconds")
    times["seconds_each"] = groups.mean().where(groups.size() > 1)
    return plain_table(
        "time", "Seconds, on one thread", times.reset_index(), ["seconds", "seconds_each"]
    )


def _variants(method: str, options: Options) -> list[tuple[str, str, dict[str, Any]]]:
    """Base model, setting and parameters of each cell of a method."""
    if method == "random":
        return [("", "", {})]
    if method == "genie3":
        params: dict[str, Any] = {"n_estimators": options.trees}
        return [("", setting, params) for setting in (ALL_SAMPLES, TRAINING_SAMPLES)]
    if method == "rase":
        return [(base, "", rase_parameters(options)) for base in options.bases]
    return [
        (base, setting, network_parameters(setting, options.epochs))
        for base in options.bases
        for setting in options.settings
    ]


def _networks(home: Path) -> dict[str, Dream4Network]:
    """Those of the five networks that are there, by name."""
    found = {}
    for number in range(1, 6):
        try:
            found[f"net{number}"] = _network(f"net{number}", home)
        except DatasetNotFoundError:
            continue
    return found


def _network(name: str, home: Path) -> Dream4Network:
    return datasets.load_dream4(int(name.removeprefix("net")), home)
