"""``randsub rank``: the columns by importance."""

import argparse
import sys

import pandas as pd

from randsub.cli.console import Console, as_json, printable, write_line
from randsub.cli.fitted_model import FittedModel, ranked
from randsub.cli.tables import check_table_file, write_table
from randsub.cli.tables.table_writer import as_csv


def run(args: argparse.Namespace) -> None:
    """List the columns."""
    if args.output is not None:
        check_table_file(args.output, replace=args.force)
    console = Console(args)
    ranking = ranked(FittedModel(args).model).head(args.top)
    if args.output is not None:
        write_table(args.output, ranking)
        document = {"output": str(args.output), "rows": len(ranking)}
        console.done(f"{args.output}: {len(ranking)} features.", document)
    elif console.json or args.format == "json":
        write_line(as_json(ranking.to_dict("records")), sys.stdout)
    elif args.format == "csv":
        write_line(as_csv(ranking), sys.stdout, end="")
    else:
        write_line(_as_text(ranking), sys.stdout)


def _as_text(ranking: pd.DataFrame) -> str:
    """Aligned columns, with a bar for each importance."""
    numbers = {
        str(name): [f"{value:.4f}" for value in ranking[name]]
        for name in ranking
        if ranking[name].dtype.kind == "f"
    }
    bars = ["#" * round(20 * value) for value in ranking["importance"]]
    text = ranking.astype(str).assign(**numbers, bar=bars)
    columns = []
    for name in text:
        entries = ["" if name == "bar" else str(name), *map(printable, text[name])]
        width = max(map(len, entries))
        align = str.rjust if name in ("rank", *numbers) else str.ljust
        columns.append([align(entry, width) for entry in entries])
    return "\n".join("  ".join(row).rstrip() for row in zip(*columns, strict=True))
