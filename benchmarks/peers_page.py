"""Tables of docs/peers.md from the results of benchmarks/peers.py.

    python benchmarks/peers_page.py [--results FILE] [--page docs/peers.md] [--print]

Methods that select features and do not predict themselves (``SELECTORS``) are in the tables of
discoveries and of seconds alone.
"""

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path

import pandas as pd
from cells import RESULTS
from peer_methods import KINDS, KNOWN, METHODS
from peers import MEASURES, PROBLEMS, TABLES, stored
from tables import DOCS, place, table

NUMBERS = [name for name in MEASURES if name != "failed"]
DATASET = ["kind", "problem", "seed"]
SELECTORS = ("shadow", "boruta", "knockoffs")
PREDICTORS = [name for name in METHODS if name not in SELECTORS]
OURS = [name for name in PREDICTORS if METHODS[name].is_ours]
PEERS = [name for name in PREDICTORS if not METHODS[name].is_ours]
# Scores that differ by less are called equal: the standard error of an accuracy of 0.85 on 1,000
# test samples is 0.011.
EQUAL = 0.01
KIND_LABELS = {
    "simulated": "simulated",
    "wide": "wide",
    "regression": "regression tables",
    "classification": "classification tables",
    "genomic": "gene expression",
}


def read(path: Path) -> pd.DataFrame:
    """One row per cell; measures of cells that did not end, or failed, are missing."""
    results = stored(path)
    frame = pd.DataFrame(results.rows, columns=results.fields)
    for name in (*NUMBERS, "limit"):
        frame[name] = pd.to_numeric(frame[name], errors="coerce")
    return frame


def wide(frame: pd.DataFrame, measure: str, methods: Sequence[str]) -> pd.DataFrame:
    """A measure, datasets down in the order of the kinds, methods across."""
    rows = frame.assign(kind=pd.Categorical(frame["kind"], KINDS, ordered=True))
    table = rows.pivot(index=DATASET, columns="method", values=measure).sort_index()
    return table.reindex(columns=list(methods))


def name_of(dataset: tuple[str, str, int]) -> str:
    kind, problem, seed = dataset
    if kind not in KNOWN:
        return problem
    return f"{problem.capitalize()}{', wide' if kind == 'wide' else ''}, seed {seed}"


def number(value: float, digits: int = 3) -> str:
    return "" if pd.isna(value) else f"{value:.{digits}f}"


# -- who is first ----------------------------------------------------------------------------------


def best_of_both(frame: pd.DataFrame, ours: Sequence[str] = OURS) -> pd.DataFrame:
    """The best of ours and the best peer on each dataset that both have, by the test score."""
    scores = wide(frame, "score", PREDICTORS)
    mine, theirs = scores[list(ours)], scores[PEERS]
    both = mine.notna().any(axis=1) & theirs.notna().any(axis=1)
    mine, theirs = mine[both], theirs[both]
    return pd.DataFrame(
        {
            "ours": mine.idxmax(axis=1),
            "our_score": mine.max(axis=1),
            "peer": theirs.idxmax(axis=1),
            "peer_score": theirs.max(axis=1),
            "gap": mine.max(axis=1) - theirs.max(axis=1),
            "n_ours": mine.notna().sum(axis=1),
            "n_peers": theirs.notna().sum(axis=1),
        }
    )


def counts(gaps: pd.Series) -> list[str]:
    """Datasets on which we are ahead, equal and behind, and their number."""
    ahead, behind = (gaps >= EQUAL).sum(), (gaps <= -EQUAL).sum()
    return [str(n) for n in (ahead, len(gaps) - ahead - behind, behind, len(gaps))]


def summary_table(frame: pd.DataFrame) -> list[str]:
    """How often we are first: the best of ours, then each of ours, against the best peer."""
    best = best_of_both(frame)
    rows = [
        [f"the best of ours, {label}", *counts(best["gap"][kind_of(best) == kind])]
        for kind, label in KIND_LABELS.items()
    ]
    rows.append(["the best of ours, all", *counts(best["gap"])])
    ended = set(frame.dropna(subset="score")["method"])
    rows += [
        [METHODS[name].label, *counts(best_of_both(frame, [name])["gap"])]
        for name in reversed(OURS)
        if name in ended
    ]
    header = ["against the best peer", "ahead", "equal", "behind", "datasets"]
    return table(header, [row for row in rows if row[-1] != "0"])


def kind_of(frame: pd.DataFrame) -> pd.Index:
    return frame.index.get_level_values("kind")


def dataset_table(frame: pd.DataFrame) -> list[str]:
    """Each dataset, with the best of ours and the best peer."""
    best = best_of_both(frame)
    rows = []
    for dataset, row in best.iterrows():
        first = "equal" if abs(row["gap"]) < EQUAL else "ours" if row["gap"] > 0 else "peer"
        ours = f"{METHODS[row['ours']].label}, {row['our_score']:.3f}"
        peer = f"{METHODS[row['peer']].label}, {row['peer_score']:.3f}"
        numbers = [f"{row['n_ours']} : {row['n_peers']}", f"{row['gap']:+.3f}"]
        rows.append([name_of(dataset), ours, peer, *numbers, first])
    header = ["dataset", "best of ours", "best peer", "compared", "difference", "first"]
    return table(header, rows)


def pairs_table(frame: pd.DataFrame) -> list[str]:
    """Datasets on which one of ours is ahead of a peer, and behind it, by at least 0.01."""
    scores = wide(frame, "score", PREDICTORS)
    rows = []
    for peer in PEERS:
        cells = []
        for name in OURS:
            ahead, _, behind, n = counts((scores[name] - scores[peer]).dropna())
            cells.append(f"{ahead} : {behind} of {n}" if n != "0" else "")
        rows.append([METHODS[peer].label, *cells])
    return table(["peer", *(METHODS[name].label for name in OURS)], rows)


# -- means -----------------------------------------------------------------------------------------


def mean_of(values: pd.Series, digits: int = 3) -> str:
    """The mean over datasets, with their number if some are missing."""
    if values.isna().all():
        return ""
    n = values.notna().sum()
    return number(values.mean(), digits) + ("" if n == len(values) else f" ({n} of {len(values)})")


def scores_table(frame: pd.DataFrame) -> list[str]:
    """Mean scores on real data, and the mean rank on all datasets."""
    scores = wide(frame, "score", PREDICTORS)
    ranks = scores.rank(axis=1, ascending=False)
    kinds = [*TABLES, "genomic"]
    rows = []
    for name in PREDICTORS:
        means = [mean_of(scores.loc[kind_of(scores) == kind, name]) for kind in kinds]
        rows.append([METHODS[name].label, *means, mean_of(ranks[name], 1)])
    return table(["method", *(KIND_LABELS[kind] for kind in kinds), "mean rank, all data"], rows)


def problems_table(frame: pd.DataFrame, measure: str) -> list[str]:
    """A measure on the simulated problems: 300 irrelevant features / wide."""
    values = wide(frame, measure, METHODS)
    methods = [
        name
        for name in METHODS
        if values[name].notna().any() and (name in PREDICTORS or measure != "score")
    ]
    rows = []
    for name in methods:
        cells = []
        for problem in PROBLEMS:
            of_problem = values.index.get_level_values("problem") == problem
            parts = [
                mean_of(values.loc[of_problem & (kind_of(values) == kind), name]) for kind in KNOWN
            ]
            cells.append(" / ".join(part or "?" for part in parts))
        rows.append([METHODS[name].label, *cells])
    return table(["method", *(problem.capitalize() for problem in PROBLEMS)], rows)


def discoveries_table(frame: pd.DataFrame) -> list[str]:
    """Shares of false and of distant discoveries, and of relevant features found: means."""
    known = frame[frame["kind"].isin(KNOWN)].dropna(subset="found")
    rows = []
    for kind in KNOWN:
        for name in (one for one in METHODS if one in set(known["method"])):
            part = known[(known["kind"] == kind) & (known["method"] == name)]
            means = part.groupby("problem")[["false", "distant", "found"]].mean()
            cells = [
                " / ".join(number(value, 2) for value in means.loc[problem])
                if problem in means.index
                else ""
                for problem in PROBLEMS
            ]
            if any(cells):
                rows.append([METHODS[name].label, KIND_LABELS[kind], *cells])
    return table(["method", "data", *(problem.capitalize() for problem in PROBLEMS)], rows)


def seconds_table(frame: pd.DataFrame) -> list[str]:
    seconds = wide(frame, "seconds", METHODS)
    rows = []
    for name in METHODS:
        means = [mean_of(seconds.loc[kind_of(seconds) == kind, name], 1) for kind in KIND_LABELS]
        if any(means):
            rows.append([METHODS[name].label, *means])
    return table(["method", *KIND_LABELS.values()], rows)


# -- what is missing -------------------------------------------------------------------------------


def without_result(frame: pd.DataFrame) -> Iterator[list[str]]:
    """Method, data and reason, where a cell has no result."""
    n_datasets = frame[DATASET].drop_duplicates()["kind"].value_counts()
    for name, method in METHODS.items():
        cells = frame[frame["method"] == name]
        for kind in KINDS:
            part = cells[cells["kind"] == kind]
            data, n_all = KIND_LABELS[kind], int(n_datasets.get(kind, 0))
            if kind not in method.kinds:
                yield [method.label, data, "not part of the study"]
            elif len(part) < n_all:
                yield [method.label, data, f"not run on {n_all - len(part)} of {n_all} datasets"]
            for limit, cut in part.groupby("limit"):
                names = ", ".join(sorted(set(cut["problem"])))
                yield [method.label, data, f"did not end within {limit:g} s: {names}"]
            failed = part[part["failed"].fillna("") != ""]
            for reason, cut in failed.groupby("failed"):
                names = ", ".join(sorted(set(cut["problem"])))
                yield [method.label, data, f"failed on {names}: {reason}"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--results", type=Path, default=RESULTS / "peers.csv")
    parser.add_argument("--page", type=Path, default=DOCS / "peers.md")
    parser.add_argument("--print", action="store_true", help="print the tables, write nothing")
    args = parser.parse_args()
    frame = read(args.results)
    parts = {
        "first": summary_table(frame),
        "datasets": dataset_table(frame),
        "pairs": pairs_table(frame),
        "scores": scores_table(frame),
        "simulated-scores": problems_table(frame, "score"),
        "ranking": problems_table(frame, "aupr"),
        "discoveries": discoveries_table(frame),
        "seconds": seconds_table(frame),
        "missing": table(["method", "data", ""], list(without_result(frame))),
    }
    for name, lines in parts.items():
        if args.print:
            print(f"\n{name}", *lines, sep="\n")
        else:
            place(args.page, name, lines)


if __name__ == "__main__":
    main()
