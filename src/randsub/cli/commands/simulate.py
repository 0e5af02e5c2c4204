"""``randsub simulate``: data with known relevant features, or known links."""

import argparse
from typing import Any, Final

import numpy as np
import pandas as pd

from randsub import datasets
from randsub.cli.console import Console
from randsub.cli.tables import check_table_file, write_table

# The problems that an option is for.
_PROBLEMS_OF: Final = {
    "irrelevant": ("friedman", "checkerboard", "hypercube", "linear"),
    "noise": ("friedman", "checkerboard", "network"),
    "correlation": ("friedman", "checkerboard"),
    "regulators": ("network",),
    "targets": ("network",),
}


def run(args: argparse.Namespace) -> None:
    """Draw the data, and write them."""
    given = {
        name: getattr(args, name)
        for name in (*_PROBLEMS_OF, "samples")
        if getattr(args, name) is not None
    }
    for name in given:
        problems = _PROBLEMS_OF.get(name, (args.problem,))
        if args.problem not in problems:
            raise ValueError(
                f"--{name} has no meaning for {args.problem}; it is for {', '.join(problems)}."
            )
    for path in (args.output, args.truth):
        if path is not None:
            check_table_file(path, replace=args.force)
    draw = _draw_network if args.problem == "network" else _draw_table
    frame, truth, facts = draw(args.problem, given, args.seed)
    write_table(args.output, frame, target="y")
    if args.truth is not None:
        write_table(args.truth, truth)
    n_rows, n_columns = frame.shape
    shown = "; ".join(f"{key}: {_shown(value)}" for key, value in facts.items())
    Console(args).done(
        f"{args.output}: {n_rows} rows, {n_columns} columns of {args.problem}, seed {args.seed}; "
        f"{shown}.",
        {
            "problem": args.problem,
            "output": str(args.output),
            "rows": n_rows,
            "columns": n_columns,
            "seed": args.seed,
            **facts,
        },
    )


def _shown(value: Any) -> str:
    if not isinstance(value, list):
        return str(value)
    return ", ".join(value[:10]) + (", ..." if len(value) > 10 else "")


def _draw_table(problem: str, given: dict[str, Any], seed: int) -> tuple[Any, Any, dict[str, Any]]:
    """The table, which features are relevant, and what to say about it."""
    counts = {f"n_{name}": given.pop(name) for name in ("samples", "irrelevant") if name in given}
    make = getattr(datasets, f"make_{problem}")
    X, y, relevant = make(**counts, **given, random_state=seed)
    is_relevant = np.isin(np.arange(X.shape[1]), relevant)
    # Without an underscore, so that --groups prefix does not group them.
    number = np.where(is_relevant, np.cumsum(is_relevant), np.cumsum(~is_relevant))
    names = [f"{'x' if r else 'noise'}{j}" for r, j in zip(is_relevant, number, strict=True)]
    frame = pd.DataFrame(X, columns=names)
    frame["y"] = y
    truth = pd.DataFrame({"feature": names, "relevant": is_relevant.astype(int)})
    task = "regression" if y.dtype.kind == "f" else "classification"
    return frame, truth, {"task": task, "target": "y", "relevant": [names[j] for j in relevant]}


def _draw_network(
    problem: str, given: dict[str, Any], seed: int
) -> tuple[Any, Any, dict[str, Any]]:
    """The expression data, the links, and what to say about them."""
    n_regulators = given.get("regulators", 20)
    network = datasets.make_network(
        given.get("samples", 200),
        n_regulators,
        given.get("targets", 80),
        n_modules=min(10, n_regulators),
        regulators_per_gene=(1, min(4, n_regulators)),
        noise=given.get("noise", 0.2),
        random_state=seed,
    )
    names = np.array(network.gene_names)
    truth = pd.DataFrame(
        {
            "regulator": names[network.edges[:, 0]],
            "target": names[network.edges[:, 1]],
            "sign": network.signs,
        }
    )
    facts = {"regulators": names[network.regulators].tolist(), "links": len(network.edges)}
    return pd.DataFrame(network.expression, columns=names), truth, facts
