"""``randsub reproduce``: run an experiment of the paper, or write the page of several runs."""

import argparse
import math
import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from randsub.cli.workers import add_cluster_flags, workers_of
from randsub.reproduce.cells import Cell
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


def _number(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0.0 <= value < math.inf:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 0")
    return value


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
        {
            "type": _whole(2),
            "metavar": "N",
            "help": "test samples; another number draws other training samples too",
        },
    ),
    "noise": (
        ("--noise",),
        {
            "type": _number,
            "metavar": "SD",
            "help": "standard deviation of the noise on the images, whose ink is 1",
        },
    ),
    "coefficients": (
        ("--coefficients",),
        {
            "type": _number,
            "nargs": "+",
            "metavar": "LAMBDA",
            "help": "coefficients of each kind of penalty",
        },
    ),
    "trees": (
        ("--trees",),
        {"type": _whole(1), "metavar": "N", "help": "trees of each forest of GENIE3"},
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
    "fetch": (
        ("--fetch",),
        {
            "action": "store_true",
            "help": "download the data sets from OpenML; --data is where they are then kept",
        },
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
    page.add_argument(
        "--template",
        type=Path,
        metavar="FILE",
        help="markdown around the tables (default: one without explanations)",
    )
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
        more = {} if choices is None else {"choices": choices}
        one.add_argument(*names, **{**options, "dest": flag, "help": text, **more})
    one.add_argument(
        "--quick", action="store_true", help="a small part, in minutes; other flags still count"
    )
    one.add_argument(
        "--jobs",
        type=_whole(1),
        metavar="N",
        help="cells at a time (default: 1, or one a worker of a cluster)",
    )
    add_cluster_flags(one)
    one.add_argument(
        "--output",
        type=Path,
        metavar="FOLDER",
        help=f"where results go (default: reproduce-output/{experiment.name}, or with --quick "
        f"reproduce-output/{experiment.name}-quick)",
    )
    one.set_defaults(
        run=_run_experiment,
        after_interruption="what was finished is kept, the same command goes on from there.",
    )


def _shown(value: Any) -> str:
    if value is None or value is False or value == ():
        return ""
    return " ".join(map(str, value)) if isinstance(value, tuple) else str(value)


def _run_experiment(args: argparse.Namespace) -> int:
    from randsub.cli.main import Exit, tell
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
    folder.prepare()
    cells = experiment.cells(options)
    tell(_announcement(experiment, cells), sys.stderr)
    store = Store(folder.cells)
    command = shlex.join(["randsub", *args.command])
    n_jobs = args.jobs if args.backend or args.jobs else 1
    try:
        with workers_of(args):
            records = run_cells(experiment, cells, store, data=options.data, n_jobs=n_jobs)
    except (KeyboardInterrupt, RuntimeError):
        done = [record for cell in cells if (record := store.read(cell)) is not None]
        folder.write(experiment, done, command, n_missing=len(cells) - len(done))
        tell(
            f"randsub: {folder.path} has the tables of the {len(done)} of {len(cells)} cells that "
            "were finished.",
            sys.stderr,
        )
        raise
    written = folder.write(experiment, records, command)
    for table in written.tables:
        tell(f"{table.text()}\n", sys.stdout, end="")
    if written.n_others:
        tell(
            f"The tables include {written.n_others} cells of earlier commands in this folder.",
            sys.stdout,
        )
    tell(f"Written to {folder.path}.", sys.stdout)
    if written.n_left_out:
        tell(
            f"randsub: {written.n_left_out} cells of earlier commands in {folder.path} were "
            "measured with other parameters, test samples or data and are left out of the tables; "
            "another --output keeps runs apart.",
            sys.stderr,
        )
    if not written.draws:
        tell("randsub: no figures without matplotlib: pip install randsub[plot]", sys.stderr)
    failed = sum(record.failed for record in records)
    if failed:
        tell(
            f"randsub: {failed} of {len(records)} cells failed, see {folder.path / 'failed.csv'}; "
            "the same command tries them again.",
            sys.stderr,
        )
        return Exit.INCOMPLETE
    return Exit.DONE


def _announcement(experiment: Experiment, cells: Sequence[Cell]) -> str:
    """What is about to be run, so that a wrong folder or flag shows before hours have passed."""
    problems: dict[str, dict[str, None]] = {}
    for cell in cells:
        problems.setdefault(cell.conditions.get("benchmark", ""), {})[cell.problem] = None
    parts = [
        f"{benchmark}: {', '.join(names)}" if benchmark else ", ".join(names)
        for benchmark, names in problems.items()
    ]
    return f"{experiment.name}: {len(cells)} cells of {'; '.join(parts)}"


def _write_page(args: argparse.Namespace) -> int:
    from randsub.cli.main import Exit, tell
    from randsub.reproduce.page import write_page

    write_page(args.results, args.output, figures=not args.no_figures, template=args.template)
    tell(f"Written to {args.output.resolve()}.", sys.stdout)
    return Exit.DONE
