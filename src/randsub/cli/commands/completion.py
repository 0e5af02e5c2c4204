"""``randsub completion``: a script for the shell."""

import argparse
import sys

from randsub.cli.console import write_line
from randsub.cli.parser import make_parser


def run(args: argparse.Namespace) -> None:
    """Print the script."""
    try:
        import shtab
    except ImportError as error:
        raise ImportError(
            "Shell completion needs shtab: pip install randsub[completion]."
        ) from error
    script = shtab.complete(make_parser(shtab.FILE), args.shell)
    write_line(script, sys.stdout)
