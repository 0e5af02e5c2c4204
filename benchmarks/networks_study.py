"""Rules by which a network ranks its links, compared on many kinds of simulated networks.

Each cell is a kind of network and a seed. Two fits serve all rules: one with nearest neighbours,
support vector machines, trees and ridge regression trained apart, three repeats and a path of
coefficients, whose parts are ranked again by each rule; and one that mixes the first three of them
by learned shares. GENIE3 and GRNBoost2 stand beside them. Rows go to
benchmarks/results/network_rules.csv at once; cells that are there are not run again. No network of
a challenge is used.

What was chosen is confirmed on seeds that the choice never saw, by ``--confirm``: rows "default",
as ``infer_network`` does it, "direction, regulator sum" and "direction, regulator variance", the
same fit by other rules, and "with ridge", the same with a fourth base model.

    python benchmarks/networks_study.py [--kinds plain hubs] [--seeds 0 1 2] [--minutes 25]
    python benchmarks/networks_study.py --confirm --seeds 6
    python benchmarks/networks_study.py --print
"""

import argparse
import time
import warnings
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from cells import RESULTS, Results
from sklearn.linear_model import Ridge
from sklearn.neighbors import KNeighborsRegressor
from sklearn.svm import SVR
from sklearn.tree import DecisionTreeRegressor

from randsub.datasets import make_kinetic_network, make_network
from randsub.datasets.simulated_network import RegulatoryNetwork
from randsub.network import PRSNetwork, Ranking, genie3, grnboost, score_network
from randsub.network.infer import recommended
from randsub.network.links import InferredNetwork
from randsub.network.path import choose

# Every gene is a candidate, and most are regulated, so that indirect links and the wrong direction
# of links compete with the true ones, as in the networks of the challenges.
SIZE = {
    **{"n_samples": 60, "n_regulators": 20, "n_targets": 8, "n_modules": 2},
    **{"regulated_fraction": 0.8, "noise": 0.5},
}
KINDS: dict[str, dict[str, Any]] = {
    "plain": {},
    "few samples": {"n_samples": 30},
    "many samples": {"n_samples": 150},
    "little noise": {"noise": 0.2},
    "much noise": {"noise": 0.75},
    "hubs": {"hubs": 1.5, "n_modules": 1},
    "linear": {"response": "linear"},
    "bell": {"response": "bell"},
    "product": {"response": "product"},
    "many regulators": {"regulators_per_gene": (3, 6)},
    "one regulator": {"regulators_per_gene": 1},
    "confounded": {"confounding": 0.3},
    "hundred genes": {
        **{"n_samples": 100, "n_regulators": 40, "n_targets": 60, "n_modules": 5},
        **{"hubs": 1.0, "regulators_per_gene": (1, 3)},
    },
    "wide": {"n_samples": 30, "n_regulators": 36, "n_targets": 4},
    # Candidates are the regulators, none of which is regulated.
    "known regulators": {"regulated_fraction": 0.0, "n_targets": 20},
}
# Reaction kinetics: regulators act together and in cycles, and noise of one gene reaches others.
FIFTY = {"n_regulators": 20, "n_targets": 30}
KINETIC: dict[str, dict[str, Any]] = {
    "kinetic": {},
    "kinetic, few samples": {**FIFTY, "n_samples": 50},
    "kinetic, strong changes": {**FIFTY, "perturbation": 0.2},
    "kinetic, no cycles": {**FIFTY, "feedback": False},
    "kinetic, much noise": {**FIFTY, "molecular_noise": 0.1},
    "kinetic, equal regulators": {**FIFTY, "hubs": 0.0},
}
ALL_KINDS = [*KINDS, *KINETIC]
BASES = {
    "knn": KNeighborsRegressor(),
    "svm": SVR(),
    "tree": DecisionTreeRegressor(min_samples_leaf=5),
    "ridge": Ridge(),
}
THREE = [(name, base) for name, base in BASES.items() if name != "ridge"]
# Those that say themselves what they use.
WITH_MEMBERS = ("tree", "ridge")
LAMS = (0.0, 0.005)
N_REPEATS = 3
# Short fits, so that there can be many: links are ranked by the mean over the epochs.
SHORT = {"max_iter": 90, "n_estimators": 40}
PATH: dict[str, Any] = {"lam": "path", "lams": LAMS, "n_jobs": 1, **SHORT}
KEYS = {"kind": str, "seed": int, "rule": str}
MEASURES = ("aupr", "auroc", "early", "chance", "seconds")
# Rules that are tried on what each set of base models says, in three repeats.
RULES: dict[str, dict[str, Any]] = {
    "mean": {},
    "alpha": {"evidence": "alpha"},
    "rank": {"combine": "rank"},
    "path mean": {"path": "mean"},
    "path rank": {"path": "mean", "combine": "rank"},
    "target max": {"targets": "max"},
    "target sum": {"targets": "sum"},
    "target rank": {"targets": "rank"},
    "direction": {"direction": "weaker"},
    "regulator sum": {"regulators": "sum"},
    "regulator variance": {"regulators": "variance"},
    "direction, regulator sum": {"direction": "weaker", "regulators": "sum"},
    "direction, regulator variance": {"direction": "weaker", "regulators": "variance"},
    "direction, regulator both": {"direction": "weaker", "regulators": "both"},
    "path mean, regulator sum": {"path": "mean", "regulators": "sum"},
    "target sum, regulator sum": {"targets": "sum", "regulators": "sum"},
    "alpha, regulator sum": {"evidence": "alpha", "regulators": "sum"},
    "rank, regulator sum": {"combine": "rank", "regulators": "sum"},
    "rank, direction": {"combine": "rank", "direction": "weaker"},
    "rank, members": {"combine": "rank", "evidence": ("mean", "members")},
    "members": {"evidence": "members"},
}
SETS = {
    "knn": ["knn"],
    "svm": ["svm"],
    "tree": ["tree"],
    "knn+svm": ["knn", "svm"],
    "knn+svm+ridge": ["knn", "svm", "ridge"],
    "three": ["knn", "svm", "tree"],
    "all": ["knn", "svm", "tree", "ridge"],
}


def simulated(kind: str, seed: int) -> tuple[RegulatoryNetwork, Any]:
    """A network, and its candidate regulators."""
    if kind in KINETIC:
        return make_kinetic_network(**KINETIC[kind], random_state=100 + seed), None
    truth = make_network(**{**SIZE, **KINDS[kind]}, random_state=100 + seed)
    return truth, truth.regulators if kind == "known regulators" else None


def parts_of(model: Any, bases: list[str], n_repeats: int) -> dict[str, Any]:
    """The evidence of some base models and the first repeats."""
    parts, trained = {}, [name for name, _ in model.estimator_]
    for kind, scores in model.evidence_.items():
        names = [name for name in trained if kind != "members" or name in WITH_MEMBERS]
        chosen = [
            r * len(names) + names.index(base)
            for r in range(n_repeats)
            for base in bases
            if base in names
        ]
        if chosen:
            parts[kind] = scores[:, chosen]
    return parts


def ranked(model: PRSNetwork, place: int) -> Iterator[tuple[str, np.ndarray]]:
    """Weights of the links by every rule."""
    genes = model.regulator_names_.tolist(), model.target_names_.tolist()
    for name, bases in SETS.items():
        one = parts_of(model, bases, 1)
        yield f"{name}: one repeat", Ranking().weights(one, place, *genes)
        parts = parts_of(model, bases, N_REPEATS)
        for rule, changes in RULES.items():
            if "members" not in rule or "members" in parts:
                yield f"{name}: {rule}", Ranking(**changes).weights(parts, place, *genes)
        for choice in ("lowest", "one_se"):
            row = choose(model.path_, choice)
            yield f"{name}: lam {choice}", Ranking().weights(parts, row, *genes)
        # What lam=0, without a path, is.
        yield f"{name}: lam 0", Ranking().weights(parts, 0, *genes)
        yield f"{name}: lam 0, rank", Ranking(combine="rank").weights(parts, 0, *genes)


def scored(kind: str, seed: int, rule: str, network: Any, seconds: float) -> dict[str, Any]:
    """A row."""
    truth, _ = simulated(kind, seed)
    scores = score_network(network, truth.gold, gene_names=truth.gene_names)
    found = {
        "aupr": scores.aupr,
        "auroc": scores.auroc,
        "early": scores.early_precision,
        "chance": scores.n_edges / scores.n_pairs,
        "seconds": seconds,
    }
    return {"kind": kind, "seed": seed, "rule": rule} | {
        name: round(value, 4) for name, value in found.items()
    }


def measured(kind: str, seed: int) -> Iterator[dict[str, Any]]:
    """Rows of a cell of the study."""
    yield from apart(kind, seed)
    yield from mixed(kind, seed)
    yield from others(kind, seed)


def apart(kind: str, seed: int) -> Iterator[dict[str, Any]]:
    """Rows of all rules, for base models that are trained apart."""
    truth, regulators = simulated(kind, seed)
    row = partial(scored, kind, seed)
    begin = time.process_time()
    ranking = Ranking(evidence=("mean", "alpha", "members"), combine="rank")
    model = PRSNetwork(
        [*BASES.items()],
        mixing="apart",
        n_repeats=N_REPEATS,
        ranking=ranking,
        random_state=seed,
        **PATH,
    ).fit(truth.expression, regulators, gene_names=truth.gene_names)
    seconds = time.process_time() - begin
    place = choose(model.path_, "one_se")
    for rule, weights in ranked(model, place):
        names = tuple(model.regulator_names_), tuple(model.target_names_)
        yield row(rule, InferredNetwork(weights, *names, None, 0), seconds)


def mixed(kind: str, seed: int) -> Iterator[dict[str, Any]]:
    """The row of three base models that are mixed by learned shares."""
    truth, regulators = simulated(kind, seed)
    begin = time.process_time()
    model = PRSNetwork(THREE, random_state=seed, **PATH)
    model.fit(truth.expression, regulators, gene_names=truth.gene_names)
    yield scored(kind, seed, "shares: one repeat", model, time.process_time() - begin)


def others(kind: str, seed: int) -> Iterator[dict[str, Any]]:
    """Rows of other methods."""
    truth, regulators = simulated(kind, seed)
    for method, options in ((genie3, {"n_estimators": 200}), (grnboost, {})):
        begin = time.process_time()
        options = {"random_state": seed, "n_jobs": 1, "gene_names": truth.gene_names, **options}
        network = method(truth.expression, regulators, **options)
        yield scored(kind, seed, method.__name__, network, time.process_time() - begin)


def confirmed(kind: str, seed: int) -> Iterator[dict[str, Any]]:
    """Rows of a cell of the confirmation."""
    truth, regulators = simulated(kind, seed)
    n_targets = truth.expression.shape[1]
    chosen = recommended(n_targets=n_targets, knows_regulators=regulators is not None)
    four = {**chosen, "estimator": [*BASES.items()]}
    for rule, params in (("default", chosen), ("with ridge", four)):
        begin = time.process_time()
        model = PRSNetwork(**params, n_jobs=1, random_state=seed)
        model.fit(truth.expression, regulators, gene_names=truth.gene_names)
        seconds = time.process_time() - begin
        yield scored(kind, seed, rule, model, seconds)
        if params is chosen and regulators is None:
            for name in ("direction, regulator sum", "direction, regulator variance"):
                network = model.ranked(Ranking(**RULES[name]))
                yield scored(kind, seed, name, network, seconds)
    yield from others(kind, seed)


def summary(path: Path, kinds: Iterable[str] = tuple(KINDS)) -> pd.DataFrame:
    """AUPR of each rule: its mean, and its mean difference to "knn: one repeat" with its error.

    The standard error is that over cells, kinds and seeds. "first" counts the kinds on which the
    mean over seeds is the largest of all rules.
    """
    aupr = cells_with("knn: one repeat", "aupr", path, kinds)
    gain = aupr.sub(aupr["knn: one repeat"], axis=0)
    by_kind = aupr.groupby("kind").mean()
    return pd.DataFrame(
        {
            "aupr": aupr.mean(),
            "early": cells_with("knn: one repeat", "early", path, kinds).mean(),
            "gain": gain.mean(),
            "error": gain.std(ddof=1) / np.sqrt(gain.count()),
            "first": by_kind.idxmax(axis=1).value_counts().reindex(aupr.columns, fill_value=0),
            "cells": aupr.count(),
        }
    ).sort_values("gain", ascending=False)


def cells_with(
    rule: str, measure: str, path: Path, kinds: Iterable[str] = ALL_KINDS
) -> pd.DataFrame:
    """A measure of all rules, in the cells of some kinds that have one of them."""
    frame = pd.DataFrame(Results(path, KEYS, MEASURES).rows)
    frame = frame[frame["kind"].isin([*kinds])]
    frame[measure] = pd.to_numeric(frame[measure])
    table = frame.pivot_table(measure, ["kind", "seed"], "rule")
    if rule not in table:
        return table[:0]
    return table[table[rule].notna()].dropna(axis=1, how="all")


def confirmation(path: Path) -> pd.DataFrame:
    """AUPR of the defaults and of other methods, by kind, on the seeds of the confirmation."""
    table = cells_with("default", "aupr", path).groupby("kind").mean()
    table = table.reindex([kind for kind in ALL_KINDS if kind in table.index])
    return pd.concat([table, table.mean().to_frame("mean").T]) if len(table) else table


def printed(path: Path) -> str:
    """The page: all rules, the best ones and the baselines by kind, and the confirmation.

    Networks of reaction kinetics, which came later, have a table of their own.
    """
    table = summary(path)
    shown = [*table.index[:4], "knn: one repeat", "shares: one repeat", "genie3", "grnboost"]
    by_kind = cells_with("knn: one repeat", "aupr", path).groupby("kind").mean()
    by_kind = by_kind[[*dict.fromkeys(shown)]].reindex(ALL_KINDS).dropna(how="all")
    tables = table, summary(path, KINETIC), by_kind, confirmation(path)
    return "\n\n".join(map(markdown, tables))


def markdown(table: pd.DataFrame) -> str:
    """A table of numbers with the names of its rows."""
    lines = [["", *table.columns], ["---"] * (1 + len(table.columns))]
    shown = {
        name: [f"{value:.3f}" if column.dtype.kind == "f" else str(value) for value in column]
        for name, column in table.items()
    }
    for number, name in enumerate(table.index):
        lines.append([str(name), *(values[number] for values in shown.values())])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kinds", nargs="+", choices=ALL_KINDS, default=ALL_KINDS)
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    parser.add_argument("--minutes", type=float, default=np.inf, help="of CPU time, then stop")
    parser.add_argument("--results", type=Path, default=RESULTS / "network_rules.csv")
    parser.add_argument("--confirm", action="store_true", help="the defaults and other methods")
    parser.add_argument("--print", action="store_true", help="the page, without new cells")
    args = parser.parse_args()
    if args.print:
        print(printed(args.results))
        return
    warnings.simplefilter("ignore")
    results = Results(args.results, KEYS, MEASURES)
    for seed in args.seeds:
        for kind in args.kinds:
            # The last row of a cell says that all of them are there.
            if results.has({"kind": kind, "seed": seed, "rule": "grnboost"}, 0.0):
                continue
            if time.process_time() > 60.0 * args.minutes:
                return
            begin = time.process_time()
            for row in [*(confirmed if args.confirm else measured)(kind, seed)]:
                cell = {key: row.pop(key) for key in KEYS}
                results.add(cell, row, 0.0)
            print(f"{kind}, {seed}: {time.process_time() - begin:.0f} CPU seconds", flush=True)


if __name__ == "__main__":
    main()
