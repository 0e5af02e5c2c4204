"""``randsub simulate``: data whose relevant features, or links, are known."""

import argparse
from pathlib import Path
from typing import Any

from randsub.cli.options import add_verb, real_number, whole_number

PROBLEMS = ("friedman", "checkerboard", "hypercube", "linear", "network")
_DESCRIPTION = """\
Write simulated data to a file. Relevant features are called x1, x2, ... and the others noise1,
noise2, ...; the output is y. A network has regulators R1, R2, ... and targets T1, T2, ... as
columns and no output.

  friedman      regression, 5 relevant features       a sine of a product, a parabola, two lines
  checkerboard  regression, 4 relevant features       two products of two features
  hypercube     classification, 5 relevant features   clusters on vertices of a hypercube
  linear        classification, 10 relevant features  the sign of a weighted sum
  network       expression of genes                   each target has a few regulators
"""
# Flags that only some problems have, by the parameter that they set.
_OF_PROBLEM = {
    "irrelevant": ("friedman", "checkerboard", "hypercube", "linear"),
    "noise": ("friedman", "checkerboard", "network"),
    "correlation": ("friedman", "checkerboard"),
    "regulators": ("network",),
    "targets": ("network",),
}


def add(verbs: Any) -> None:
    """Add the verb and what may follow it."""
    verb = add_verb(verbs, "simulate", "write data whose relevant features are known", _DESCRIPTION)
    verb.add_argument("problem", choices=PROBLEMS, metavar="PROBLEM", help=", ".join(PROBLEMS))
    verb.add_argument(
        "-o",
        "--output",
        type=Path,
        required=True,
        metavar="FILE",
        help="where it goes: .csv, .tsv, .parquet, .feather or .npz",
    )
    verb.add_argument(
        "--truth",
        type=Path,
        metavar="FILE",
        help="table of the features and whether each is relevant; of a network, its links",
    )
    verb.add_argument(
        "--samples", type=whole_number(2), metavar="N", help="rows (default: 500; network: 200)"
    )
    verb.add_argument(
        "--irrelevant",
        type=whole_number(0),
        metavar="N",
        help="irrelevant features (default: 300)",
    )
    verb.add_argument(
        "--noise", type=real_number(0.0), metavar="X", help="noise of the output, or of genes"
    )
    verb.add_argument(
        "--correlation",
        type=real_number(0.0),
        metavar="X",
        help="correlation of neighbouring features (default: 0.9)",
    )
    verb.add_argument(
        "--regulators",
        type=whole_number(1),
        metavar="N",
        help="regulators of a network (default: 20)",
    )
    verb.add_argument(
        "--targets", type=whole_number(1), metavar="N", help="targets of a network (default: 80)"
    )
    verb.add_argument(
        "--seed", type=whole_number(0), default=0, metavar="N", help="of the draws (default: 0)"
    )
    verb.set_defaults(run=_run)


def _run(args: argparse.Namespace) -> int:
    from randsub.cli.console import Console
    from randsub.cli.main import Exit
    from randsub.cli.tables import check_table_file, write_table

    given = {name: getattr(args, name) for name in _OF_PROBLEM if getattr(args, name) is not None}
    foreign = [name for name in given if args.problem not in _OF_PROBLEM[name]]
    if foreign:
        raise ValueError(
            f"--{foreign[0]} has no meaning for {args.problem}; it is for "
            f"{', '.join(_OF_PROBLEM[foreign[0]])}."
        )
    check_table_file(args.output)
    if args.truth is not None:
        check_table_file(args.truth)
    if args.samples is not None:
        given["samples"] = args.samples
    frame, truth, told = (_network if args.problem == "network" else _tabular)(
        args.problem, given, args.seed
    )
    write_table(args.output, frame, target="y")
    if args.truth is not None:
        write_table(args.truth, truth)
    document = {
        "problem": args.problem,
        "output": str(args.output),
        "rows": frame.shape[0],
        "columns": frame.shape[1],
        "seed": args.seed,
        **told,
    }
    shown = "; ".join(f"{key}: {_short(value)}" for key, value in told.items())
    Console(args).done(
        f"{args.output}: {frame.shape[0]} rows, {frame.shape[1]} columns of {args.problem}, "
        f"seed {args.seed}; {shown}.",
        document,
    )
    return Exit.DONE


def _short(value: Any) -> str:
    if not isinstance(value, list):
        return str(value)
    return ", ".join(value) if len(value) <= 10 else f"{', '.join(value[:10])}, ..."


def _tabular(problem: str, given: dict[str, Any], seed: int) -> tuple[Any, Any, dict[str, Any]]:
    import numpy as np
    import pandas as pd

    from randsub import datasets

    parameters = {
        {"samples": "n_samples", "irrelevant": "n_irrelevant"}.get(name, name): value
        for name, value in given.items()
    }
    X, y, relevant = getattr(datasets, f"make_{problem}")(**parameters, random_state=seed)
    is_relevant = np.zeros(X.shape[1], dtype=bool)
    is_relevant[relevant] = True
    # Without an underscore: groups by prefix should not take them together.
    place = np.where(is_relevant, np.cumsum(is_relevant), np.cumsum(~is_relevant))
    names = [f"{'x' if mine else 'noise'}{j}" for mine, j in zip(is_relevant, place, strict=True)]
    frame = pd.concat([pd.DataFrame(X, columns=names), pd.Series(y, name="y")], axis=1)
    truth = pd.DataFrame({"feature": names, "relevant": is_relevant.astype(int)})
    task = "regression" if y.dtype.kind == "f" else "classification"
    told = {"task": task, "target": "y", "relevant": [names[j] for j in relevant]}
    return frame, truth, told


def _network(problem: str, given: dict[str, Any], seed: int) -> tuple[Any, Any, dict[str, Any]]:
    import pandas as pd

    from randsub.datasets import make_network

    regulators = given.get("regulators", 20)
    network = make_network(
        given.get("samples", 200),
        regulators,
        given.get("targets", 80),
        n_modules=min(10, regulators),
        regulators_per_gene=(1, min(4, regulators)),
        noise=given.get("noise", 0.2),
        random_state=seed,
    )
    names = network.gene_names
    truth = pd.DataFrame(
        {
            "regulator": [names[i] for i in network.edges[:, 0]],
            "target": [names[j] for j in network.edges[:, 1]],
            "sign": network.signs,
        }
    )
    told = {
        "regulators": [names[j] for j in network.regulators],
        "links": len(network.edges),
    }
    return pd.DataFrame(network.expression, columns=list(names)), truth, told
