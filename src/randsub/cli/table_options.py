"""Options of the commands that read or write tables."""

import argparse

from randsub.cli.option_values import decimal_mark
from randsub.cli.options import Options


def add_force(options: Options, what: str = "file") -> None:
    """Whether existing outputs may be replaced."""
    options.add("--force", f"replace an existing {what}")


def add_layout(options: Options) -> None:
    """How tables are laid out in their files."""
    tables = options.section("layout of tables")
    tables.add("--separator CHAR", "separator of columns of text (default: comma, or tab in .tsv)")
    tables.add(
        "--decimal CHAR", "decimal mark of text, . or , (default: guessed, and told)", decimal_mark
    )
    tables.add(
        "--transpose",
        "samples are in columns, and features (genes) in rows, with names in the first column",
        action=argparse.BooleanOptionalAction,
    )


def add_keep(options: Options) -> None:
    """Features that look like labels of rows."""
    options.add(
        "--keep COLUMN...",
        "columns to use although they look like row numbers or identifiers, which are left out",
    )


def add_samples(options: Options) -> None:
    """Columns that say what the samples of a network are."""
    options.add(
        "--perturbed COLUMN",
        "column with the genes that were knocked out in a sample, A or A;B, or nothing; the sample "
        "is left out where one of them is the target",
    )
    options.add(
        "--time COLUMN",
        "column with the times of the samples of time series, or nothing for a steady state; what "
        "targets tend to is then predicted from the regulators at the same time",
    )
    options.add("--series COLUMN", "column that tells time series apart (default: one series)")
