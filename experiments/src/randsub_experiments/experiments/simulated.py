"""Four problems with known relevant features: every method, beside the paper's tables."""

from collections.abc import Mapping
from dataclasses import replace
from typing import ClassVar, Final

import pandas as pd
from matplotlib.figure import Figure

from randsub_experiments import published
from randsub_experiments.cells import BASE_LABELS, Cell
from randsub_experiments.experiments.base import COMMON_FLAGS, METHODS, RASE_FLAGS, Options
from randsub_experiments.experiments.cell_grid import method_cells
from randsub_experiments.experiments.simulated_data import (
    N_IRRELEVANT,
    PROBLEMS,
    SimulatedExperiment,
    sizes,
)
from randsub_experiments.figures.scores import boxes, curves
from randsub_experiments.paper_tables import MEASURES, plain_table, table_beside_paper
from randsub_experiments.result_table import Table, plain
from randsub_experiments.summaries import paired

# How much worse the defaults may be than the paper's settings.
TOLERANCE: Final = {"score": 0.01, "aupr": 0.03}


class Simulated(SimulatedExperiment):
    """The simulated problems."""

    name: ClassVar[str] = "simulated"
    summary: ClassVar[str] = "the four simulated problems, with every method"
    flags: ClassVar[tuple[str, ...]] = (*COMMON_FLAGS, "irrelevant", "test_samples", *RASE_FLAGS)
    choices: ClassVar[Mapping[str, tuple[str, ...]]] = {
        **SimulatedExperiment.choices,
        "methods": (*METHODS, "auto"),
    }
    full: ClassVar[Options] = Options(
        problems=PROBLEMS,
        methods=("single", "rs", "prs", "rf", "gbdt"),
        settings=("paper", "defaults"),
    )
    quick: ClassVar[Options] = replace(
        full, bases=("tree", "knn"), settings=("defaults",), replicates=2, epochs=800
    )

    def cells(self, options: Options) -> list[Cell]:
        """Dataset by dataset, so that an unfinished run has something of everything."""
        return [
            cell
            for replicate in range(options.replicates)
            for n_irrelevant in options.irrelevant
            for problem in options.problems
            for cell in method_cells(
                self.name, problem, replicate, options, sizes(options, n_irrelevant)
            )
        ]

    def tables(self, results: pd.DataFrame) -> list[Table]:
        """Beside the paper where there are its 300 irrelevant features."""
        tables = []
        as_paper = results[results["n_irrelevant"] == N_IRRELEVANT]
        if len(as_paper):
            tables += self._beside_paper(as_paper)
        if results["n_irrelevant"].nunique() > 1:
            title = "Score and AUPR by the number of irrelevant features"
            tables.append(
                plain_table("irrelevant", title, results, ["score", "aupr"], ["n_irrelevant"])
            )
        elif not len(as_paper):
            tables.append(plain_table("scores", "Scores", results, ["score", "aupr", "size"]))
        title = "Seconds for training (tuning included) and testing, on one thread"
        tables.append(plain_table("time", title, results, ["seconds"], ["n_irrelevant"]))
        return tables

    def _beside_paper(self, results: pd.DataFrame) -> list[Table]:
        ranked = results[results["method"].isin(["rase", "prs", "auto", "rf", "gbdt"])]
        chosen = results[results["method"].isin(["rs", "rase", "prs", "auto"])]
        against = results[results["method"].isin(["rase", "prs", "auto"])]
        said = published.remarks(self.name)
        remark = f"The paper says: PRS has {said['paper']}, RaSE {said['rase']}."
        tables = [
            table_beside_paper(
                "comparison",
                "Score (R2 or accuracy) and AUPR of the ranking, beside the paper (tab:sim_comp)",
                ranked,
                ["score", "aupr"],
                self.name,
            ),
            plain_table("scores", "Test score of every method", results, ["score"]),
            table_beside_paper(
                "sizes",
                "Features a model sees, beside the paper (tab:sim_alphas_sum)",
                chosen,
                ["size"],
                self.name,
            ),
            plain_table(
                "models", "Base models trained", chosen, ["models", "epochs"], remark=remark
            ),
        ]
        if "rase" in set(results["method"]):
            title = "PRS and RaSE (the paper's tab:sim_PRS_rase is missing in our copy)"
            tables.insert(2, plain_table("rase", title, against, ["score", "aupr", "size"]))
        settings = settings_table(results)
        if len(settings.frame):
            tables.append(settings)
        return [table for table in tables if len(table.frame)]

    def figures(self, results: pd.DataFrame) -> dict[str, Figure]:
        """Box plots, and curves over the number of irrelevant features where there are several."""
        figures = {}
        most = N_IRRELEVANT if (results["n_irrelevant"] == N_IRRELEVANT).any() else None
        at = results["n_irrelevant"] == (most or results["n_irrelevant"].max())
        methods = ["single", "rs", "rase", "prs"]
        if results.loc[at, "method"].isin(methods).any():
            figures["boxes"] = boxes(results[at], methods, "score", "R2 or accuracy")
        # A curve needs more than one point.
        lines = results.groupby(["problem", "method", "base", "setting"], dropna=False)
        along = results[lines["n_irrelevant"].transform("nunique") > 1]
        if len(along):
            for measure in ("score", "aupr"):
                if along[measure].notna().any():
                    names = {
                        "score": "R2 or accuracy",
                        "aupr": "AUPR of the ranking",
                        "n_irrelevant": "irrelevant features",
                    }
                    figures[f"irrelevant-{measure}"] = curves(along, measure, "n_irrelevant", names)
        return figures


def settings_table(results: pd.DataFrame) -> Table:
    """The defaults against the paper's settings, on the same datasets."""
    parts = [
        paired(results, ["problem", "base"], measure, "defaults", "paper") for measure in TOLERANCE
    ]
    frame = pd.concat(parts, ignore_index=True)
    frame["kept"] = frame["mean"] >= -frame["measure"].map(TOLERANCE).astype(float)
    columns = {
        "problem": lambda row: row.problem,
        "base": lambda row: BASE_LABELS[row.base],
        "measure": lambda row: MEASURES[row.measure],
        "difference": lambda row: plain(row.mean, 3, "+"),
        "standard error": lambda row: plain(row.error, 3),
        "n": lambda row: str(row.n),
        "kept": lambda row: "yes" if row.kept else "no",
    }
    note = (
        "Mean over the same datasets, defaults minus paper's settings. Kept: not worse by more "
        f"than {TOLERANCE['score']} in score and {TOLERANCE['aupr']} in AUPR."
    )
    title = "PRS with its defaults against the paper's settings"
    return Table("settings", title, frame, columns, note)
