"""Which five of 305 features matter? PRS with three base models, and a mix, on a Friedman problem.

The problem is the paper's: 5 relevant features, 300 irrelevant ones that are strongly correlated
with their neighbours, 300 training, 100 validation and 100 test samples. PRS runs with its default
settings. Results are written to a folder: results.csv, report.md with alpha.png, and report.html,
a report on the ensemble of nearest neighbours.

    python examples/demo.py [--output demo-output] [--seed 0] [--jobs -1]
"""

import argparse
import time
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.ensemble import BaggingRegressor, RandomForestRegressor
from sklearn.metrics import average_precision_score
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVR
from sklearn.tree import DecisionTreeRegressor

from randsub import PRSRegressor
from randsub.datasets import make_friedman

BASES = {
    "kNN": KNeighborsRegressor(),
    "tree": DecisionTreeRegressor(),
    "SVM": SVR(),
}


def compare(args: argparse.Namespace) -> tuple[pd.DataFrame, dict[str, Any], Any]:
    """Fit everything; return one row per method, the alphas, and the relevant features."""
    X, y, relevant = make_friedman(n_samples=500, n_irrelevant=300, random_state=args.seed)
    is_relevant = np.isin(np.arange(X.shape[1]), relevant)
    train, val, test = slice(0, 300), slice(300, 400), slice(400, 500)
    rows, alphas = [], {}

    def record(name: str, model: Any, fit: Any, ranking: Any = None, **more: Any) -> None:
        begin = time.perf_counter()
        fit()
        row = {"method": name, "test R2": model.score(X[test], y[test])}
        if ranking is not None:
            row["ranking AUPR"] = average_precision_score(is_relevant, ranking(model))
            top = np.argsort(ranking(model))[::-1][: len(relevant)]
            row["relevant in top 5"] = int(is_relevant[top].sum())
        row |= {key: value(model) for key, value in more.items()}
        row["seconds"] = time.perf_counter() - begin
        rows.append(row)

    # "auto" mixes several base models, whose shares are learned.
    for name, base in {**BASES, "auto": "auto"}.items():
        prs = PRSRegressor(base, n_jobs=args.jobs, random_state=args.seed, verbose=1)
        record(
            f"PRS, {name}",
            prs,
            lambda prs=prs: prs.fit(X[train], y[train], X_val=X[val], y_val=y[val]),
            lambda model: model.alpha_,
            **{
                "features per model": lambda model: model.expected_size_,
                "models trained": lambda model: model.n_models_trained_,
            },
        )
        alphas[name] = prs.alpha_
        if name == "kNN":
            prs.to_report(
                args.output / "report.html",
                X[train],
                y[train],
                X_test=X[test],
                y_test=y[test],
                title="Which five of 305 features matter?",
                n_jobs=args.jobs,
            )
    # The other methods need no validation samples and train on them, too.
    known = slice(0, 400)
    for name, base in BASES.items():
        bagging = BaggingRegressor(
            make_pipeline(StandardScaler(), base),
            n_estimators=100,
            max_features=1 / 3,
            bootstrap=False,
            n_jobs=args.jobs,
            random_state=args.seed,
        )
        record(
            f"Bagging over feature subsets, {name}",
            bagging,
            lambda bagging=bagging: bagging.fit(X[known], y[known]),
            **{"features per model": lambda model: len(model.estimators_features_[0])},
        )
    forest = RandomForestRegressor(
        n_estimators=500, max_features=1 / 3, n_jobs=args.jobs, random_state=args.seed
    )
    record(
        "Random forest, 500 trees",
        forest,
        lambda: forest.fit(X[known], y[known]),
        lambda model: model.feature_importances_,
    )
    return pd.DataFrame(rows), alphas, relevant


def plot_alpha(alphas: dict[str, Any], relevant: Any, path: Path) -> None:
    """Alpha of every feature, one panel per base model; relevant features are highlighted."""
    fig, axes = plt.subplots(len(alphas), 1, figsize=(9, 8), sharex=True, layout="constrained")
    for ax, (name, alpha) in zip(axes, alphas.items(), strict=True):
        others = np.setdiff1d(np.arange(len(alpha)), relevant)
        ax.vlines(others, 0, alpha[others], color="0.6", linewidth=1.5, label="irrelevant")
        ax.vlines(relevant, 0, alpha[relevant], color="C3", linewidth=2.5, label="relevant")
        ax.plot(relevant, alpha[relevant], "o", color="C3", markersize=5)
        ax.set(ylabel=r"$\alpha$", ylim=(0, 1.08), title=f"PRS with {name}")
        ax.spines[["top", "right"]].set_visible(False)
    axes[0].legend(loc="lower right", bbox_to_anchor=(1, 1), frameon=False, ncols=2)
    axes[-1].set_xlabel("feature")
    fig.savefig(path, dpi=120)
    plt.close(fig)


def as_text(table: pd.DataFrame, markdown: bool = False) -> str:
    """The table with two or three digits, for a terminal or as markdown."""
    formats = {"test R2": "{:.2f}", "ranking AUPR": "{:.2f}", "seconds": "{:.1f}"}
    shown = table.copy()
    for column in shown.columns[1:]:
        style = formats.get(column, "{:.0f}")
        shown[column] = [style.format(v) if pd.notna(v) else "-" for v in shown[column]]
    if not markdown:
        return shown.to_string(index=False)
    lines = [list(shown.columns), ["---"] * shown.shape[1], *shown.to_numpy().tolist()]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=Path("demo-output"))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=-1)
    args = parser.parse_args()
    args.output.mkdir(parents=True, exist_ok=True)
    print(
        "Friedman problem: 305 features, 5 of them relevant; 300 training, 100 validation and 100 "
        "test samples.\nPRS runs with its default settings.\n"
    )
    table, alphas, relevant = compare(args)
    print("\n" + as_text(table))
    print(
        "\nranking AUPR: area under the precision-recall curve of the features ranked by "
        "importance;\n1 means that the five relevant features rank first. Bagging has no "
        "importances."
    )
    table.to_csv(args.output / "results.csv", index=False)
    plot_alpha(alphas, relevant, args.output / "alpha.png")
    (args.output / "report.md").write_text(
        "# Which five of 305 features matter?\n\n"
        f"Seed {args.seed}, default settings; relevant features: {relevant.tolist()}.\n\n"
        f"{as_text(table, markdown=True)}\n\n![alpha of every feature](alpha.png)\n",
        encoding="utf-8",
    )
    print(f"\nWritten: {', '.join(str(p) for p in sorted(args.output.iterdir()))}")


if __name__ == "__main__":
    main()
