"""Flags that several verbs have, and how their values are read."""

import argparse
import ast
from pathlib import Path
from typing import Any


def whole_number(least: int) -> Any:
    """A reader of whole numbers from a least one on."""

    def number(text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            value = least - 1
        if value < least:
            raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from {least}")
        return value

    return number


def real_number(low: float, high: float = float("inf"), *, open_ends: bool = False) -> Any:
    """A reader of numbers in an interval."""

    def number(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            value = float("nan")
        inside = low < value < high if open_ends else low <= value <= high
        if not inside or value == float("inf"):
            between = f"above {low:g}" if open_ends else f"from {low:g}"
            upto = "" if high == float("inf") else f" and {'below' if open_ends else 'to'} {high:g}"
            raise argparse.ArgumentTypeError(f"{text!r} is not a number {between}{upto}")
        return value

    return number


def seconds(text: str) -> float:
    """A time such as 90, 90s, 15m or 2h, in seconds."""
    units = {"s": 1.0, "m": 60.0, "h": 3600.0}
    unit = units.get(text[-1:].lower())
    try:
        value = float(text if unit is None else text[:-1]) * (unit or 1.0)
    except ValueError:
        value = float("nan")
    if not 0.0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is not a time; write 90s, 15m or 2h")
    return value


def assignment(text: str) -> tuple[str, Any]:
    """NAME=VALUE, where the value is read as Python would: 3, 0.5, None, [1, 2]; else as text."""
    name, equals, value = text.partition("=")
    if not equals or not name.isidentifier():
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=VALUE")
    try:
        return name, ast.literal_eval(value)
    except (ValueError, SyntaxError):
        return name, {"true": True, "false": False, "none": None}.get(value.lower(), value)


def add_verb(
    verbs: Any, name: str, summary: str, description: str, *, json: bool = True, epilog: str = ""
) -> argparse.ArgumentParser:
    """A verb with the flags that all have."""
    verb: argparse.ArgumentParser = verbs.add_parser(
        name,
        help=summary,
        description=description,
        epilog=epilog or None,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    about = verb.add_argument_group("what is shown")
    about.add_argument("-q", "--quiet", action="store_true", help="nothing but answers and errors")
    if json:
        about.add_argument(
            "--json", action="store_true", help="the answer as one json document on standard output"
        )
    # Also before the verb; what is given there is not undone by this default.
    about.add_argument(
        "--debug",
        action="store_true",
        default=argparse.SUPPRESS,
        help="show where an error comes from",
    )
    return verb


def add_table_flags(verb: Any) -> None:
    """How delimited text is read."""
    verb.add_argument(
        "--separator",
        metavar="CHAR",
        help="what is between the columns of a text file (default: comma in .csv, tab in .tsv)",
    )


def add_model(verb: Any) -> None:
    """The model folder to work on."""
    verb.add_argument("model", type=Path, metavar="MODEL", help="folder that `randsub fit` wrote")
    trust = verb.add_argument_group("trust in the model file")
    trust.add_argument(
        "--trust",
        nargs="+",
        default=[],
        metavar="TYPE",
        help="types in the model that you know to be harmless, as the error lists them",
    )
    trust.add_argument(
        "--allow-joblib",
        action="store_true",
        help="load a joblib file, which can run any code: only from those you trust",
    )


def opened(args: argparse.Namespace) -> Any:
    """The model that the flags of :func:`add_model` name."""
    from randsub.cli.models import open_model

    return open_model(args.model, allow_joblib=args.allow_joblib, trusted=args.trust)


def add_base_flags(verb: Any, default: str) -> None:
    """Which base model, with which parameters."""
    from randsub.cli.bases import BASES

    verb.add_argument(
        "--base",
        default=default,
        metavar="MODEL",
        help=f"base model: {', '.join(BASES)}, or any class as module:Class (default: {default})",
    )
    verb.add_argument(
        "--base-param",
        type=assignment,
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="a parameter of the base model, as n_neighbors=3; may be repeated",
    )


def add_run_flags(verb: Any) -> None:
    """How a training runs."""
    verb.add_argument(
        "--jobs",
        type=int,
        metavar="N",
        help="workers, -1 for all cores; the result is the same for any number (default: 1)",
    )
    verb.add_argument(
        "--seed",
        type=whole_number(0),
        default=0,
        metavar="N",
        help="the same seed gives the same result, bit for bit (default: 0)",
    )
    verb.add_argument(
        "--param",
        type=assignment,
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="any other parameter of the Python class, as n_estimators=200; may be repeated",
    )
