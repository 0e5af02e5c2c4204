"""``randsub-experiments``: run an experiment of the paper, or write the page of several runs."""

import argparse
import io
import math
import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Final

import randsub
from randsub_experiments.cell_file import CellFile
from randsub_experiments.cell_store import Store
from randsub_experiments.cells import Cell
from randsub_experiments.cluster import add_cluster_flags, workers_of
from randsub_experiments.experiments import EXPERIMENTS
from randsub_experiments.experiments.base import Experiment
from randsub_experiments.program import EPILOG, NAME, Exit, guarded, say, tell
from randsub_experiments.reproduction_page import write_page
from randsub_experiments.result_folder import Folder, Written
from randsub_experiments.runner import run_cells

_DESCRIPTION: Final = """\
Run an experiment of the paper again, beside its published numbers. Finished cells (one fit and its
test each) are stored at once under OUTPUT/cells: the same command resumes a run that was stopped.
At the end OUTPUT has results.csv, timings.csv, tables/ and figures/.
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command.

    Parameters
    ----------
    arguments : sequence of str, default=None
        What follows ``randsub-experiments``; by default the arguments of the process.

    Returns
    -------
    code : int
        0 done, 1 error, 2 wrong usage, 3 done with failures, 130 interrupted, 143 terminated.
    """
    words = list(sys.argv[1:] if arguments is None else arguments)
    if isinstance(sys.stdout, io.TextIOWrapper):
        # A terminal that cannot show ± must not cost the result.
        sys.stdout.reconfigure(errors="replace")
    args = _parser().parse_args(words)
    args.command = shlex.join([NAME, *words])
    return guarded(
        partial(args.run, args), after_interruption=args.after_interruption, debug=args.debug
    )


# -- flags -----------------------------------------------------------------------------------------


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


def _probability(text: str) -> float:
    value = _number(text)
    if value > 1.0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 0 to 1")
    return value


def _flag(text: str, metavar: str, type: Any = str, **more: Any) -> dict[str, Any]:
    return {"help": text, "metavar": metavar, "type": type, **more}


# The flags that experiments may have, by the option that they set.
_FLAGS: Final[Mapping[str, dict[str, Any]]] = {
    "problems": _flag("problems or datasets", "NAME", nargs="+"),
    "bases": _flag("base models", "NAME", nargs="+"),
    "methods": _flag("methods", "NAME", nargs="+"),
    "settings": _flag("settings of PRS", "NAME", nargs="+"),
    "ablations": _flag("questions", "NAME", nargs="+"),
    "replicates": _flag("number of datasets or resamplings", "N", _whole(1)),
    "epochs": _flag("epochs of PRS, instead of the setting's", "N", _whole(1)),
    "irrelevant": _flag("irrelevant features", "N", _whole(0), nargs="+"),
    "samples": _flag("training samples", "N", _whole(20), nargs="+"),
    "test_samples": _flag(
        "test samples; another number draws other training samples too", "N", _whole(2)
    ),
    "noise": _flag("standard deviation of the noise on the images, whose ink is 1", "SD", _number),
    "salt_and_pepper": _flag(
        "probability with which a pixel is replaced by ink or background", "P", _probability
    ),
    "coefficients": _flag("coefficients of each kind of penalty", "LAMBDA", _number, nargs="+"),
    "trees": _flag("trees of each forest of GENIE3", "N", _whole(1)),
    "rase_candidates": _flag("subsets RaSE chooses a member among", "B", _whole(1)),
    "rase_iterations": _flag("iterations of RaSE", "N", _whole(1)),
    "data": _flag("folder of the data sets", "FOLDER", Path),
    "fetch": {
        "help": "download the data sets from OpenML; --data is where they are then kept",
        "action": "store_true",
    },
}
_SYNONYMS: Final = {"problems": ["--datasets"]}


def _parser() -> argparse.ArgumentParser:
    command = argparse.ArgumentParser(
        prog=NAME,
        description=_DESCRIPTION,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command.add_argument("--version", action="version", version=f"%(prog)s {randsub.__version__}")
    command.add_argument("--debug", action="store_true", help="show where an error comes from")
    what = command.add_subparsers(title="experiments", dest="what", metavar="WHAT", required=True)
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
    page.add_argument(
        "--update",
        action="store_true",
        help="keep what the page has of experiments that are not in these folders",
    )
    page.add_argument("--no-figures", action="store_true", help="leave the figures out")
    page.set_defaults(run=_write_page, after_interruption="nothing was written.")
    return command


def _add_experiment(what: Any, experiment: Experiment) -> None:
    one = what.add_parser(
        experiment.name, help=experiment.summary, description=f"{experiment.summary}."
    )
    for flag in experiment.flags:
        options = dict(_FLAGS[flag])
        if choices := experiment.choices.get(flag):
            options["choices"] = choices
            options["help"] += f": {', '.join(choices)}"
        if standard := _shown(getattr(experiment.full, flag)):
            options["help"] += f" (default: {standard})"
        names = [f"--{flag.replace('_', '-')}", *_SYNONYMS.get(flag, [])]
        one.add_argument(*names, dest=flag, default=None, **options)
    one.add_argument(
        "--quick", action="store_true", help="a small part, in minutes; other flags still count"
    )
    one.add_argument(
        "--jobs",
        type=_whole(1),
        metavar="N",
        help="cells at a time (default: 1, or one per worker of a cluster)",
    )
    add_cluster_flags(one)
    one.add_argument(
        "--output",
        type=Path,
        metavar="FOLDER",
        help=f"where results go (default: reproduce-output/{experiment.name}, or with --quick "
        f"reproduce-output/{experiment.name}-quick)",
    )
    one.add_argument(
        "--cells",
        type=Path,
        metavar="FILE.csv",
        help="cells in this file count as finished, and newly finished ones are added to it: a run "
        "goes on elsewhere",
    )
    one.set_defaults(
        run=_run_experiment,
        after_interruption="finished cells are stored, the same command resumes the run.",
    )


def _shown(value: Any) -> str:
    if value is None or value is False or value == ():
        return ""
    return " ".join(map(str, value)) if isinstance(value, tuple) else str(value)


# -- what is done ----------------------------------------------------------------------------------


def _run_experiment(args: argparse.Namespace) -> int:
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
    store = _store(folder, args.cells, cells)
    n_jobs = args.jobs if args.backend or args.jobs else 1
    try:
        with workers_of(args):
            records = run_cells(experiment, cells, store, data=options.data, n_jobs=n_jobs)
    except (KeyboardInterrupt, RuntimeError):
        done = [record for cell in cells if (record := store.read(cell)) is not None]
        folder.write(experiment, done, args.command, n_missing=len(cells) - len(done))
        say(
            f"{folder.path} has the tables of the {len(done)} of {len(cells)} cells that are "
            "finished."
        )
        raise
    written = folder.write(experiment, records, args.command)
    _tell_results(written, folder)
    failed = sum(record.failed for record in records)
    if failed:
        say(
            f"{failed} of {len(records)} cells failed, see {folder.path / 'failed.csv'}; the same "
            "command tries them again."
        )
        return Exit.INCOMPLETE
    return Exit.DONE


def _store(folder: Folder, path: Path | None, cells: Sequence[Cell]) -> Store:
    """The store of the folder, with the cells that are finished in the file of --cells."""
    if path is None:
        return Store(folder.cells)
    file = CellFile(path)
    file.check()
    store = Store(folder.cells, file)
    if n_taken := store.exchange(cells):
        tell(f"{n_taken} finished cells are taken from {path}", sys.stderr)
    return store


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


def _tell_results(written: Written, folder: Folder) -> None:
    for table in written.tables:
        tell(table.text(), sys.stdout)
    if written.n_others:
        tell(
            f"The tables include {written.n_others} cells of earlier commands in this folder.",
            sys.stdout,
        )
    tell(f"Written to {folder.path}.", sys.stdout)
    if written.n_left_out:
        say(
            f"{written.n_left_out} cells of earlier commands in {folder.path} were measured with "
            "other parameters, test samples or data and are left out of the tables; another "
            "--output keeps runs apart."
        )


def _write_page(args: argparse.Namespace) -> int:
    write_page(
        args.results,
        args.output,
        figures=not args.no_figures,
        template=args.template,
        update=args.update,
    )
    tell(f"Written to {args.output.resolve()}.", sys.stdout)
    return Exit.DONE
