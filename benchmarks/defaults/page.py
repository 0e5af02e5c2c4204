"""Write the page docs/defaults.md from the results of the study.

    python benchmarks/defaults/page.py [--results results.csv] [--output docs/defaults.md]

For each setting: mean test score, mean AUPR and thousands of base models trained on each problem,
and, paired over seeds, the differences to the paper's setting with 95% intervals, all on the seeds
that the choice was made on; and the chosen setting beside the former one on fresh seeds, too.
"""

import argparse
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.stats import t as student
from settings import CHOSEN, PROBLEMS, STAGES

HERE = Path(__file__).parent
WORST_SCORE, WORST_AUPR = 0.01, 0.03
# The choice was made on the first ten.
N_SEEDS = 10
CHOICE = "one rule, trees on bootstrap samples"
SPLITS, REPEATS = "one rule, own validation samples", "one rule, five repeats"
FORMER = "fresh, hard, ESS 0.5, 2400 epochs at 5e-4, 2 revivals"


def mean_and_half(values: pd.Series) -> tuple[float, float]:
    """Mean, and half the width of its 95% interval."""
    n = len(values)
    half = student.ppf(0.975, n - 1) * values.std() / np.sqrt(n) if n > 1 else np.nan
    return float(values.mean()), float(half)


def differences(
    results: pd.DataFrame, base: str, setting: str, other: str = "paper"
) -> dict[str, pd.DataFrame]:
    """Score and AUPR minus those of another setting, for each problem, paired over seeds."""
    of_base = results[results["base"] == base]
    one = of_base[of_base["setting"] == setting]
    others = of_base[of_base["setting"] == other]
    both = one.merge(others, on=["problem", "seed"], suffixes=("", "_other"))
    for measure in ("score", "aupr"):
        both[f"{measure}_gap"] = both[measure] - both[f"{measure}_other"]
    return {problem: both[both["problem"] == problem] for problem in PROBLEMS}


def quality_table(results: pd.DataFrame, base: str, settings: list[str]) -> list[str]:
    """Score / AUPR / thousand models for each problem."""
    lines = [
        "| setting | " + " | ".join(p.capitalize() for p in PROBLEMS) + " | epochs | seeds |",
        "|---|" + "---|" * (len(PROBLEMS) + 2),
    ]
    of_base = results[results["base"] == base]
    for setting in settings:
        rows = of_base[of_base["setting"] == setting]
        if rows.empty:
            continue
        cells = []
        for problem in PROBLEMS:
            part = rows[rows["problem"] == problem]
            cells.append(
                f"{part['score'].mean():.3f} / {part['aupr'].mean():.2f} / "
                f"{part['models'].mean() / 1000:.0f}"
                if len(part)
                else ""
            )
        seeds = rows.groupby("problem")["seed"].nunique().min()
        lines.append(
            f"| {setting} | " + " | ".join(cells) + f" | {rows['epochs'].mean():.0f} | {seeds} |"
        )
    return lines


def gap_table(results: pd.DataFrame, base: str, settings: list[str]) -> list[str]:
    """Differences to the paper's setting, with intervals, and whether the rule is kept."""
    lines = [
        "| setting | measure | " + " | ".join(p.capitalize() for p in PROBLEMS) + " | kept |",
        "|---|---|" + "---|" * (len(PROBLEMS) + 1),
    ]
    for setting in settings:
        gaps = differences(results, base, setting)
        if setting == "paper" or not all(len(part) for part in gaps.values()):
            continue
        for measure, margin in (("score", WORST_SCORE), ("aupr", WORST_AUPR)):
            cells, kept = [], True
            for problem in PROBLEMS:
                mean, half = mean_and_half(gaps[problem][f"{measure}_gap"])
                cells.append(f"{mean:+.3f} ± {half:.3f}")
                kept &= mean >= -margin
            name = {"score": "score", "aupr": "AUPR"}[measure]
            lines.append(
                f"| {setting} | {name} | " + " | ".join(cells) + f" | {'yes' if kept else 'no'} |"
            )
    return lines


def fresh_table(results: pd.DataFrame, setting: str, other: str = FORMER) -> list[str]:
    """A setting minus another one, on the seeds of the choice and on fresh ones."""
    lines = ["| base | problem | seeds | score | AUPR | models |", "|---|---|---|---|---|---|"]
    for base in ("knn", "tree", "svm"):
        for problem, rows in differences(results, base, setting, other).items():
            for seeds in (range(N_SEEDS), range(N_SEEDS, 2 * N_SEEDS)):
                part = rows[rows["seed"].isin(seeds)]
                if part.empty:
                    continue
                score, aupr = (mean_and_half(part[f"{name}_gap"]) for name in ("score", "aupr"))
                models = part["models"].sum() / part["models_other"].sum()
                lines.append(
                    f"| {base} | {problem.capitalize()} | {seeds[0]} to {seeds[-1]} "
                    f"| {score[0]:+.3f} ± {score[1]:.3f} | {aupr[0]:+.3f} ± {aupr[1]:.3f} "
                    f"| {models:.0%} |"
                )
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--results", type=Path, default=HERE / "results.csv")
    parser.add_argument("--output", type=Path, default=HERE.parents[1] / "docs" / "defaults.md")
    args = parser.parse_args()
    everywhere = pd.read_csv(args.results)
    results = everywhere[everywhere["seed"] < N_SEEDS]
    page = (HERE / "page.md").read_text()
    tables = {}
    for number, settings in enumerate(STAGES.values(), 1):
        tables[f"stage {number}"] = quality_table(results, "knn", list(settings))
    everything = [name for settings in STAGES.values() for name in settings]
    tables["gaps knn"] = gap_table(results, "knn", everything)
    for base in ("tree", "svm"):
        tables[f"quality {base}"] = quality_table(results, base, everything)
        tables[f"gaps {base}"] = gap_table(results, base, everything)
    tables["fresh"] = fresh_table(everywhere, CHOICE)
    tables["splits"] = fresh_table(everywhere, SPLITS, CHOICE)
    tables["repeats"] = fresh_table(everywhere, REPEATS, SPLITS)
    tables["chosen"] = [f"{name} = {value!r}" for name, value in CHOSEN.items()]
    for name, lines in tables.items():
        mark = f"{{{{ {name} }}}}"
        if mark not in page:
            raise SystemExit(f"page.md has no place for the table {name!r}.")
        page = page.replace(mark, "\n".join(lines))
    args.output.parent.mkdir(exist_ok=True)
    args.output.write_text(page)
    print(f"Written to {args.output}.")


if __name__ == "__main__":
    main()
