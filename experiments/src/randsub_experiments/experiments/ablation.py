"""What each part of PRS contributes: the paper's settings with one change at a time."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar, Final

import pandas as pd
from matplotlib.figure import Figure

from randsub_experiments import published
from randsub_experiments.cells import Cell
from randsub_experiments.experiments.base import Options
from randsub_experiments.experiments.simulated_data import (
    N_IRRELEVANT,
    PROBLEMS,
    SimulatedExperiment,
    sizes,
)
from randsub_experiments.figures.scores import variants
from randsub_experiments.paper_tables import (
    MEASURE,
    METHOD,
    METHOD_COLUMNS,
    OURS,
    PROBLEM,
    condition_columns,
    plain_table,
    several,
    table_beside_paper,
)
from randsub_experiments.prs_settings import PAPER, prs_parameters
from randsub_experiments.result_table import Table
from randsub_experiments.summaries import summarise

# With a threshold of 1 every epoch trains all models anew. A fifth of the epochs keeps that
# feasible, and the paper's threshold with as few stands beside it for a fair comparison.
FEWER: Final = 5

VARIANTS: Final[Mapping[str, Mapping[str, Any]]] = {
    "paper": {},
    "no baseline": {"baseline": "none"},
    "ESS 0.3": {"ess_threshold": 0.3},
    "ESS 0.5": {"ess_threshold": 0.5},
    "ESS 0.7": {"ess_threshold": 0.7},
    "ESS 0.9, fewer epochs": {},
    "ESS 1": {"ess_threshold": 1.0},
    "fresh, revivals": {"n_revivals": 2},
    "window": {"refresh": "window"},
    "window, revivals": {"refresh": "window", "n_revivals": 2},
    "coupled": {"refresh": "coupled"},
    "coupled, revivals": {"refresh": "coupled", "n_revivals": 2},
    "members": {"objective": "members"},
}
SHORTENED: Final = ("ESS 0.9, fewer epochs", "ESS 1")

# Which settings answer which question, with their names on an axis.
FAMILIES: Final[Mapping[str, Mapping[str, str]]] = {
    "baseline": {"paper": "weighted", "no baseline": "none"},
    "thresholds": {
        "ESS 0.3": "0.3",
        "ESS 0.5": "0.5",
        "ESS 0.7": "0.7",
        "paper": "0.9",
        "ESS 0.9, fewer epochs": "0.9, short",
        "ESS 1": "1, short",
    },
    "refresh": {
        "paper": "fresh",
        "fresh, revivals": "fresh +r",
        "window": "window",
        "window, revivals": "window +r",
        "coupled": "coupled",
        "coupled, revivals": "coupled +r",
    },
    "objective": {"paper": "ensemble", "members": "members"},
}
TITLES: Final = {
    "thresholds": "Thresholds on the effective sample size (tab:sim_PRS_prop_eff is missing)",
    "refresh": "Ways to renew models, with and without two revivals (+r)",
    "objective": "Loss of the ensemble against mean loss of its members",
}


class Ablation(SimulatedExperiment):
    """PRS with parts left out or exchanged."""

    name: ClassVar[str] = "ablation"
    summary: ClassVar[str] = "PRS without its baseline, with other thresholds, refreshes, objective"
    flags: ClassVar[tuple[str, ...]] = (
        "problems",
        "bases",
        "ablations",
        "replicates",
        "epochs",
        "irrelevant",
        "test_samples",
    )
    choices: ClassVar[Mapping[str, tuple[str, ...]]] = {
        **SimulatedExperiment.choices,
        "ablations": tuple(FAMILIES),
    }
    full: ClassVar[Options] = Options(problems=PROBLEMS, ablations=tuple(FAMILIES))
    quick: ClassVar[Options] = replace(full, bases=("knn",), replicates=2, epochs=500)

    def cells(self, options: Options) -> list[Cell]:
        """Each setting once, however many questions it answers."""
        wanted = {name for family in options.ablations for name in FAMILIES[family]}
        return [
            Cell(
                self.name,
                problem,
                replicate,
                "prs",
                base,
                setting,
                sizes(options, n_irrelevant),
                self._parameters(setting, options.epochs),
            )
            for replicate in range(options.replicates)
            for n_irrelevant in options.irrelevant
            for problem in options.problems
            for base in options.bases
            for setting in VARIANTS
            if setting in wanted
        ]

    @staticmethod
    def _parameters(setting: str, epochs: int | None) -> dict[str, Any]:
        params = prs_parameters({**PAPER, **VARIANTS[setting]}, epochs)
        if setting in SHORTENED:
            params["max_iter"] = max(1, params["max_iter"] // FEWER)
        return params

    def tables(self, results: pd.DataFrame) -> list[Table]:
        """One for each question; that of the baseline stands beside the paper's."""
        by = several(results, "n_irrelevant")
        tables = []
        for family, settings in FAMILIES.items():
            rows = results[results["setting"].isin(settings)]
            if set(rows["setting"]) <= {"paper"}:
                continue
            order = rows["setting"].map({name: i for i, name in enumerate(settings)})
            rows = rows.assign(_order=order).sort_values(
                ["problem", *by, "base", "_order", "replicate"]
            )
            as_paper = rows[rows["n_irrelevant"] == N_IRRELEVANT]
            if family != "baseline" or not len(as_paper):
                tables.append(self._table(family, rows, by))
                continue
            tables.append(self._beside_paper(as_paper))
            if by:
                tables.append(replace(self._table(family, rows, by), name="baseline-irrelevant"))
        tables.append(plain_table("time", "Seconds, on one thread", results, ["seconds"], by))
        return tables

    def _beside_paper(self, rows: pd.DataFrame) -> Table:
        title = "With and without the baseline, beside the paper (tab:sim_PRS_vs_PRS_noVR)"
        return table_beside_paper("baseline", title, rows, ["score", "aupr", "size"], self.name)

    @staticmethod
    def _table(family: str, rows: pd.DataFrame, by: list[str]) -> Table:
        frame = summarise(
            rows, ["problem", *by, *METHOD_COLUMNS], ["score", "aupr", "models", "epochs"]
        )
        columns = {**PROBLEM, **condition_columns(by), **METHOD, **MEASURE, **OURS}
        if family == "thresholds":
            said = published.remarks(Ablation.name)
            frame["paper_says"] = frame["setting"].map(said).fillna("")
            columns["the paper says (SVM)"] = lambda row: row.paper_says
        return Table(family, TITLES.get(family, "With and without the baseline"), frame, columns)

    def figures(self, results: pd.DataFrame) -> dict[str, Figure]:
        """One for each question."""
        measures = {"score": "R2 or accuracy", "aupr": "AUPR", "models": "models trained"}
        figures = {}
        by_number = several(results, "n_irrelevant")
        for n_irrelevant, rows in results.groupby("n_irrelevant"):
            for family, settings in FAMILIES.items():
                if not set(rows["setting"]) & set(settings) <= {"paper"}:
                    name = f"{family}-{n_irrelevant}" if by_number else family
                    figures[name] = variants(rows, settings, measures)
        return figures
