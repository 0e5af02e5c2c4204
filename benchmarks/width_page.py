"""Tables and a picture of the results of benchmarks/width.py, and whether they keep the bounds.

    python benchmarks/width_page.py [--results FILE] [--page docs/width.md] [--print]

Writes the tables into the page, between their marks, and the picture beside it. A bound is kept,
missed, or open where cells are missing or did not end within their time limit.
"""

import argparse
from collections.abc import Iterator, Sequence
from itertools import combinations
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from cells import RESULTS
from tables import DOCS, place, table
from width import N_BEST, PROBLEMS, PRS, WIDTHS, stored

LABELS = {
    "one_run": "PRS, one run",
    "default": "PRS, default repeats",
    "marginal": "PRS, one run, marginal start",
    "marginal_default": "PRS, default repeats, marginal start",
    "former": "PRS, former defaults",
    "forest": "random forest",
    "f_test": "F test",
    "l1": "L1",
}
PEERS = ("forest", "f_test", "l1")
MEASURES = ("models", "feature_models", "seconds", "megabytes", "score", "aupr")
MOST_MODELS, LARGEST_EXPONENT, MOST_MEGABYTES = 120_000, 0.5, 600
MOST_SECONDS = {5_000: 3, 20_000: 12, 50_000: 30}
COMPARED = (5_000, 20_000)
# From here on the growth is also given apart.
WIDE = 10_000
# A ranking with a lower AUPR has none of the relevant features near its top.
NOTHING = 0.01
# Fewer leave a bound open.
LEAST_SEEDS = LEAST_PAIRS = 3
LEAST_SHARED = {"linear": 11, "hypercube": 11, "Prostate_GE": 14, "colon": 14}

# Text of a bound, what was measured, and whether it is kept (None: open).
Verdict = tuple[str, str, bool | None]


def read(path: Path) -> pd.DataFrame:
    """One row per cell; measures of cells that did not end are missing."""
    results = stored(path)
    frame = pd.DataFrame(results.rows, columns=results.fields)
    for name in (*MEASURES, "limit"):
        frame[name] = pd.to_numeric(frame[name], errors="coerce")
    return frame


def of(frame: pd.DataFrame, **values: object) -> pd.DataFrame:
    """Rows with these values."""
    for name, value in values.items():
        frame = frame[frame[name] == value]
    return frame


def first_fits(frame: pd.DataFrame) -> pd.DataFrame:
    return frame[(frame["fit"] == 0) & frame["problem"].isin(PROBLEMS)]


def means(frame: pd.DataFrame) -> pd.DataFrame:
    """Means over seeds, for each method, problem and width; missing where a cell did not end."""
    keys = ["method", "problem", "features"]
    return frame.groupby(keys)[list(MEASURES)].agg(lambda values: values.mean(skipna=False))


def over_problems(frame: pd.DataFrame) -> pd.DataFrame:
    """Means over the three problems, where all three are there."""
    groups = means(frame).groupby(["method", "features"])
    complete = groups.size() == len(PROBLEMS)
    averages = groups.agg(lambda values: values.mean(skipna=False))
    return averages[complete]


def exponent(frame: pd.DataFrame, widths: Sequence[int] = WIDTHS) -> float:
    """Slope of log feature-models on log features, by least squares, over some widths.

    Missing unless all widths are there.
    """
    ended = frame[frame["features"].isin(widths)].dropna(subset="feature_models")
    if ended["features"].nunique() < len(widths):
        return np.nan
    return float(np.polyfit(np.log(ended["features"]), np.log(ended["feature_models"]), 1)[0])


# -- the bounds ------------------------------------------------------------------------------------


def _at_most(values: pd.Series, bound: float, n_seeds: int) -> bool | None:
    """Whether all values are at most the bound; open if one is missing, or seeds are."""
    if (values > bound).any():
        return False
    return True if values.notna().all() and n_seeds >= LEAST_SEEDS else None


def cost_bounds(frame: pd.DataFrame) -> Iterator[Verdict]:
    """Bounds on the cost of one run of the optimisation."""
    runs = of(frame, method="one_run")
    # Of each problem and width, the worst seed; missing if a seed did not end.
    cells = runs.groupby(["problem", "features"])
    wanted = pd.MultiIndex.from_product([PROBLEMS, sorted({*WIDTHS, *MOST_SECONDS})])
    worst = cells[["models", "megabytes"]].agg(lambda values: values.max(skipna=False))
    worst = worst.reindex(wanted)
    n_seeds = int(cells["models"].count().reindex(wanted, fill_value=0).min())
    seeds = f" ({n_seeds} seed(s))"
    text = f"at most {MOST_MODELS:,} models at every width"
    most = worst["models"]
    yield text, f"{most.max():,.0f}{seeds}", _at_most(most, MOST_MODELS, n_seeds)
    slopes = pd.Series({name: exponent(of(runs, problem=name)) for name in PROBLEMS})
    text = f"feature-models grow with an exponent of at most {LARGEST_EXPONENT}"
    wide = [width for width in WIDTHS if width >= WIDE]
    told = ", ".join(
        f"{name} {slope:.2f} (from {WIDE:,} on {exponent(of(runs, problem=name), wide):.2f})"
        for name, slope in slopes.items()
    )
    yield text, told + seeds, _at_most(slopes, LARGEST_EXPONENT, n_seeds)
    for width, bound in MOST_SECONDS.items():
        # The slowest problem, in the mean over seeds.
        seconds = of(runs, features=width).groupby("problem")["seconds"]
        slowest = seconds.agg(lambda values: values.mean(skipna=False)).reindex(list(PROBLEMS))
        text = f"{width:,} features within {bound} s"
        yield text, f"{slowest.max():.1f} s{seeds}", _at_most(slowest, bound, n_seeds)
    text = f"peak memory under {MOST_MEGABYTES} MB beyond the data at every width"
    peak = worst["megabytes"]
    yield text, f"{peak.max():,.0f} MB{seeds}", _at_most(peak, MOST_MEGABYTES, n_seeds)


def versus(
    frame: pd.DataFrame, other: str, measure: str, width: int, problem: str
) -> tuple[float, float, int]:
    """Mean with the default repeats, that of another method on the same datasets, and these."""
    part = of(frame, features=width, problem=problem)
    both = part.pivot_table(index="seed", columns="method", values=measure)
    both = both.reindex(columns=["default", other]).dropna()
    return both["default"].mean(), both[other].mean(), len(both)


def quality_bounds(frame: pd.DataFrame) -> Iterator[Verdict]:
    """With the default repeats: above the former defaults; a better ranking than peers."""
    for width in COMPARED:
        at = f"at {width:,} features"
        for measure, name in (("aupr", "AUPR"), ("score", "score")):
            pairs = [versus(frame, "former", measure, width, problem) for problem in PROBLEMS]
            told = ", ".join(f"{a:.3f} and {b:.3f}" for a, b, _ in pairs)
            text = f"{name} above the former defaults on {', '.join(PROBLEMS)} {at}"
            yield text, f"{told}{_seeds(pairs)}", _above([pair[:2] for pair in pairs], pairs)
        for peer in PEERS:
            pairs = [versus(frame, peer, "aupr", width, problem) for problem in PROBLEMS]
            ours, theirs, _ = np.mean(pairs, axis=0)
            text = f"AUPR above that of {LABELS[peer]} in the mean over the problems {at}"
            told = f"{ours:.3f} and {theirs:.3f}{_seeds(pairs)}"
            yield text, told, _above([(ours, theirs)], pairs)


def _seeds(compared: Sequence[tuple[float, float, int]]) -> str:
    return f" ({min(n for *_, n in compared)} seed(s))"


def _above(
    pairs: Sequence[tuple[float, float]], compared: Sequence[tuple[float, float, int]]
) -> bool | None:
    """Whether ours are above theirs; open if problems have too few datasets in common."""
    if min(n for *_, n in compared) < LEAST_SEEDS:
        return None
    return all(ours > theirs for ours, theirs in pairs)


# -- agreement -------------------------------------------------------------------------------------


def shared(frame: pd.DataFrame) -> pd.DataFrame:
    """Features among the 20 best that two fits of the same data share, for each pair."""
    rows = []
    keys = ["method", "problem", "features", "seed"]
    for cell, part in frame.dropna(subset="seconds").groupby(keys):
        best = [set(features.split()) for features in part["best"]]
        rows += [(*cell, len(one & other)) for one, other in combinations(best, 2)]
    return pd.DataFrame(rows, columns=[*keys, "shared"])


def agreement_bounds(frame: pd.DataFrame) -> Iterator[Verdict]:
    pairs = of(shared(frame), method="default")
    for problem, least in LEAST_SHARED.items():
        part = of(pairs, problem=problem)
        if problem in PROBLEMS:
            part = of(part, features=5_000)
        text = f"two fits share at least {least} of their {N_BEST} best features, {problem}"
        value = part["shared"].mean()
        is_kept = bool(value >= least) if len(part) >= LEAST_PAIRS else None
        yield text, f"{value:.1f} ({len(part)} pairs)", is_kept


def agreement_table(frame: pd.DataFrame) -> list[str]:
    groups = shared(frame).groupby(["problem", "features", "method"])["shared"]
    rows = [
        [problem, f"{features:,}", LABELS[method], f"{part.mean():.1f}", str(len(part))]
        for (problem, features, method), part in groups
    ]
    return table(["problem", "features", "method", f"shared of {N_BEST}", "pairs"], rows)


# -- tables ----------------------------------------------------------------------------------------

FORMS = {"models": "{:,.0f}", "seconds": "{:,.1f}", "megabytes": "{:,.0f}"}


def form(measure: str, value: float, limit: float = np.nan) -> str:
    """A number as the tables show it; "> 600 s" for a cell that did not end."""
    if np.isnan(value):
        return "" if np.isnan(limit) else f"> {limit:g} s"
    if measure == "feature_models":
        return f"{value / 1e6:.2f} M"
    return FORMS.get(measure, "{:.3f}").format(value)


def measure_table(frame: pd.DataFrame, measure: str) -> list[str]:
    """A measure in the mean over problems and seeds, methods across, widths down."""
    average = over_problems(frame)
    # Only PRS trains base models.
    methods = [
        name for name in LABELS if name in PRS or measure not in ("models", "feature_models")
    ]
    rows = []
    for width in sorted(frame["features"].unique()):
        cells = []
        for method in methods:
            limit = of(frame, method=method, features=width)["limit"].max()
            value = average[measure].get((method, width), np.nan)
            cells.append(form(measure, value, limit))
        rows.append([f"{width:,}", *cells])
    return table(["features", *(LABELS[name] for name in methods)], rows)


def failure_table(frame: pd.DataFrame) -> list[str]:
    """Fits that have found nothing, of all fits, methods across, widths down."""
    rows = []
    for width in sorted(frame["features"].unique()):
        cells = []
        for method in LABELS:
            found = of(frame, method=method, features=width)["aupr"].dropna()
            cells.append(f"{(found < NOTHING).sum()} of {len(found)}" if len(found) else "")
        rows.append([f"{width:,}", *cells])
    return table(["features", *LABELS.values()], rows)


def problem_table(frame: pd.DataFrame) -> list[str]:
    """Score / AUPR of each problem, at every width."""
    average = means(frame)
    rows = []
    for width in sorted(frame["features"].unique()):
        for method, label in LABELS.items():
            cells = []
            for problem in PROBLEMS:
                part = of(frame, method=method, problem=problem, features=width)
                at = (method, problem, width)
                score, aupr = (average[m].get(at, np.nan) for m in ("score", "aupr"))
                known = form("score", score, part["limit"].max())
                cells.append(known if np.isnan(score) else f"{known} / {aupr:.3f}")
            if any(cells):
                rows.append([f"{width:,}", label, *cells])
    return table(["features", "method", *(p.capitalize() for p in PROBLEMS)], rows)


def bounds_table(frame: pd.DataFrame) -> list[str]:
    fits = first_fits(frame)
    verdicts = [*cost_bounds(fits), *quality_bounds(fits), *agreement_bounds(frame)]
    words = {True: "kept", False: "missed", None: "open"}
    rows = [[text, seen.replace("nan", "?"), words[kept]] for text, seen, kept in verdicts]
    return table(["bound", "measured", ""], rows)


# -- the picture -----------------------------------------------------------------------------------

TITLES = {
    "models": "base models trained",
    "feature_models": "feature-models",
    "seconds": "seconds per fit",
    "megabytes": "peak memory beyond the data, MB",
    "score": "test score",
    "aupr": "AUPR of the ranking",
}
COLORS = dict(zip(LABELS, ("C0", "C3", "C9", "C6", "C7", "C2", "C1", "C4"), strict=True))


def draw(frame: pd.DataFrame, path: Path) -> None:
    """Every measure against the number of features, in the mean over problems and seeds."""
    figure, axes = plt.subplots(2, 3, figsize=(11, 6), layout="constrained", sharex=True)
    average = over_problems(frame)
    for ax, (measure, title) in zip(axes.ravel(), TITLES.items(), strict=True):
        for method, label in LABELS.items():
            if method not in average.index.get_level_values("method"):
                continue
            line = average.loc[method, measure].dropna()
            ax.plot(line.index, line, "o-", markersize=4, color=COLORS[method], label=label)
        ax.set(title=title, xscale="log")
        if measure not in ("score", "aupr"):
            ax.set_yscale("log")
        ax.grid(alpha=0.3)
        ax.spines[["top", "right"]].set_visible(False)
    for ax in axes[-1]:
        ax.set_xlabel("features")
    handles, labels = axes[0, 2].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4, frameon=False)
    figure.savefig(path, dpi=110)
    plt.close(figure)
    print(f"Written to {path}.")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--results", type=Path, default=RESULTS / "width.csv")
    parser.add_argument("--page", type=Path, default=DOCS / "width.md")
    parser.add_argument("--print", action="store_true", help="print the tables, write nothing")
    args = parser.parse_args()
    frame = read(args.results)
    fits = first_fits(frame)
    parts = {
        "bounds": bounds_table(frame),
        **{name.replace("_", "-"): measure_table(fits, name) for name in MEASURES},
        "failures": failure_table(fits),
        "problems": problem_table(fits),
        "agreement": agreement_table(frame),
    }
    if args.print:
        for name, lines in parts.items():
            print(f"\n{name}", *lines, sep="\n")
        return
    if len(fits):
        image = args.page.with_suffix(".png")
        draw(fits, image)
        parts["picture"] = [f"![Cost and quality by the number of features]({image.name})"]
    for name, lines in parts.items():
        place(args.page, name, lines)


if __name__ == "__main__":
    main()
