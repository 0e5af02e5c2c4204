"""``randsub reproduce``: run an experiment of the paper, or write the page of several runs."""

import argparse
import shlex
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from randsub.reproduce.experiment import Experiment
from randsub.reproduce.experiments import EXPERIMENTS

_DESCRIPTION: Final = """\
Run an experiment of the paper again, beside its figures. Finished cells (one fit and its test each)
are kept at once under OUTPUT/cells: a run that was stopped goes on where it was when the same
command is started again. At the end OUTPUT has results.csv, timings.csv, tables/ and figures/.
"""


def _whole(least: int) -> Any:
    def number(text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            value = least - 1
        if value < least:
            raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from {least}")
        return value

    return number


_NAMES: Final = {"nargs": "+", "metavar": "NAME"}
# The flags that experiments may have, by the option that they set.
_FLAGS: Final[Mapping[str, tuple[tuple[str, ...], dict[str, Any]]]] = {
    "problems": (("--problems", "--datasets"), {**_NAMES, "help": "problems or datasets"}),
    "bases": (("--bases",), {**_NAMES, "help": "base models"}),
    "methods": (("--methods",), {**_NAMES, "help": "methods"}),
    "settings": (("--settings",), {**_NAMES, "help": "settings of PRS"}),
    "ablations": (("--ablations",), {**_NAMES, "help": "questions"}),
    "replicates": (
        ("--replicates",),
        {"type": _whole(1), "metavar": "N", "help": "number of datasets or resamplings"},
    ),
    "epochs": (
        ("--epochs",),
        {"type": _whole(1), "metavar": "N", "help": "epochs of PRS, instead of the setting's"},
    ),
    "irrelevant": (
        ("--irrelevant",),
        {"type": _whole(0), "nargs": "+", "metavar": "N", "help": "irrelevant features"},
    ),
    "samples": (
        ("--samples",),
        {"type": _whole(20), "nargs": "+", "metavar": "N", "help": "training samples"},
    ),
    "test_samples": (
        ("--test-samples",),
        {"type": _whole(2), "metavar": "N", "help": "test samples"},
    ),
    "rase_candidates": (
        ("--rase-candidates",),
        {"type": _whole(1), "metavar": "B", "help": "subsets RaSE chooses a member among"},
    ),
    "rase_iterations": (
        ("--rase-iterations",),
        {"type": _whole(1), "metavar": "N", "help": "iterations of RaSE"},
    ),
    "data": (
        ("--data",),
        {"type": Path, "metavar": "FOLDER", "help": "folder of the data sets"},
    ),
}


def add(verbs: Any) -> None:
    """Add the verb and what may follow it."""
    verb = verbs.add_parser(
        "reproduce",
        help="run the paper's experiments again, beside its figures",
        description=_DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    what = verb.add_subparsers(title="experiments", dest="what", metavar="WHAT", required=True)
    for experiment in EXPERIMENTS.values():
        _add_experiment(what, experiment)
    page = what.add_parser("page", help="write a page of the results in some folders")
    page.add_argument("--results", nargs="+", type=Path, required=True, metavar="DIR")
    page.add_argument("-o", "--output", type=Path, default=Path("docs/reproduction.md"))
    page.add_argument("--no-figures", action="store_true", help="leave the figures out")
    page.set_defaults(run=_write_page)


def _add_experiment(what: Any, experiment: Experiment) -> None:
    one = what.add_parser(
        experiment.name, help=experiment.summary, description=f"{experiment.summary}."
    )
    for flag in experiment.flags:
        names, options = _FLAGS[flag]
        choices = experiment.choices.get(flag)
        text = f"{options['help']}: {', '.join(choices)}" if choices else options["help"]
        standard = _shown(getattr(experiment.full, flag))
        text += f" (default: {standard})" if standard else ""
        one.add_argument(*names, **{**options, "dest": flag, "choices": choices, "help": text})
    one.add_argument(
        "--quick", action="store_true", help="a small part, in minutes; other flags still count"
    )
    one.add_argument(
        "--jobs", type=_whole(1), default=1, metavar="N", help="cells at a time (default: 1)"
    )
    one.add_argument(
        "--output",
        type=Path,
        metavar="FOLDER",
        help=f"where results go (default: reproduce-output/{experiment.name}, or with --quick "
        f"reproduce-output/{experiment.name}-quick)",
    )
    one.set_defaults(run=_run_experiment)


def _shown(value: Any) -> str:
    if value is None or value == ():
        return ""
    return " ".join(map(str, value)) if isinstance(value, tuple) else str(value)


def _run_experiment(args: argparse.Namespace) -> int:
    from randsub.cli.main import Exit
    from randsub.reproduce.outputs import Folder
    from randsub.reproduce.runner import run_cells
    from randsub.reproduce.store import Store

    experiment = EXPERIMENTS[args.what]
    given: dict[str, Any] = {
        # A name given twice counts once.
        flag: tuple(dict.fromkeys(value)) if isinstance(value, list) else value
        for flag in experiment.flags
        if (value := getattr(args, flag)) is not None
    }
    options = replace(experiment.quick if args.quick else experiment.full, **given)
    suffix = "-quick" if args.quick else ""
    folder = Folder(args.output or Path("reproduce-output") / f"{experiment.name}{suffix}")
    records = run_cells(
        experiment,
        experiment.cells(options),
        Store(folder.cells),
        data=options.data,
        n_jobs=args.jobs,
    )
    tables, draws = folder.write(experiment, records, shlex.join(["randsub", *args.command]))
    for table in tables:
        sys.stdout.write(table.text() + "\n")
    sys.stdout.write(f"Written to {folder.path}.\n")
    if not draws:
        sys.stderr.write("randsub: no figures without matplotlib: pip install randsub[plot]\n")
    failed = sum(record.failed for record in records)
    if failed:
        sys.stderr.write(
            f"randsub: {failed} of {len(records)} cells failed, see {folder.path / 'failed.csv'}; "
            "the same command tries them again.\n"
        )
        return Exit.INCOMPLETE
    return Exit.DONE


def _write_page(args: argparse.Namespace) -> int:
    from randsub.cli.main import Exit
    from randsub.reproduce.page import write_page

    write_page(args.results, args.output, figures=not args.no_figures)
    sys.stdout.write(f"Written to {args.output}.\n")
    return Exit.DONE
