"""``randsub rank``: the columns by importance."""

import argparse
from pathlib import Path
from typing import Any

from randsub.cli.options import add_model, add_verb, opened, whole_number

_DESCRIPTION = """\
List the columns that a model was trained on by importance: alpha, the probability with which a
member of the ensemble sees each of them.
"""


def add(verbs: Any) -> None:
    """Add the verb and what may follow it."""
    verb = add_verb(verbs, "rank", "list the columns by importance", _DESCRIPTION)
    add_model(verb)
    verb.add_argument("--top", type=whole_number(1), metavar="N", help="only the first N")
    verb.add_argument(
        "--format",
        choices=("table", "csv", "json"),
        default="table",
        help="how it is shown (default: table); --json is the same as --format json",
    )
    verb.add_argument(
        "-o",
        "--output",
        type=Path,
        metavar="FILE",
        help="write it to a file instead: .csv, .tsv, .parquet or .feather",
    )
    verb.set_defaults(run=_run)


def _run(args: argparse.Namespace) -> int:
    import sys

    from randsub.cli.console import Console, as_json
    from randsub.cli.main import Exit, tell
    from randsub.cli.models import importances
    from randsub.cli.tables import check_table_file, write_table
    from randsub.cli.tables.writing import as_text

    if args.output is not None:
        check_table_file(args.output)
    console = Console(args)
    ranking = importances(opened(args).model).head(args.top)
    if args.output is not None:
        write_table(args.output, ranking)
        document = {"output": str(args.output), "rows": len(ranking)}
        console.done(f"{args.output}: {len(ranking)} features.", document)
    elif console.json or args.format == "json":
        tell(as_json(ranking.to_dict("records")), sys.stdout)
    elif args.format == "csv":
        # Cut from a longer list, but without names of rows.
        tell(as_text(ranking.reset_index(drop=True)), sys.stdout, end="")
    else:
        tell(_table(ranking), sys.stdout)
    return Exit.DONE


def _table(ranking: Any) -> str:
    """Columns as wide as their entries, with a bar."""
    from randsub.cli.console import printable

    shown = ranking.assign(importance=[f"{value:.4f}" for value in ranking["importance"]])
    heads = list(shown.columns)
    rows = [heads, *([printable(entry) for entry in row] for row in shown.itertuples(index=False))]
    widths = [max(len(row[j]) for row in rows) for j in range(len(heads))]
    numbers = {"rank", "importance"}
    lines = [
        "  ".join(
            entry.rjust(width) if head in numbers else entry.ljust(width)
            for entry, width, head in zip(row, widths, heads, strict=True)
        )
        for row in rows
    ]
    bars = ["", *("#" * round(20 * value) for value in ranking["importance"])]
    return "\n".join(f"{line}  {bar}".rstrip() for line, bar in zip(lines, bars, strict=True))
