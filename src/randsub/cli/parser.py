"""Every command with its options.

A command is declared by a function of its name, whose docstring is its help. Nothing heavy is
imported here, so that help appears at once; the module of a command in :mod:`randsub.cli.commands`
is imported when the command is run.
"""

import argparse
import inspect
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import randsub
from randsub.cli.base_models import AUTO, BASE_MODELS
from randsub.cli.option_values import (
    PENALTY_FORMS,
    assignment,
    coupling,
    number_from,
    penalty,
    repeats,
    sample_number,
    seconds,
)
from randsub.cli.options import Options
from randsub.cli.table_options import add_force, add_keep, add_layout, add_samples

PROBLEMS: Final = ("friedman", "checkerboard", "hypercube", "linear", "network")
SHELLS: Final = ("bash", "zsh", "fish")
_TABLE_FILE: Final = "table file: .csv, .tsv, .parquet, .feather or .npz"
_REPEATED: Final[Mapping[str, Any]] = {"action": "append", "default": []}
_EPILOG: Final = """\
exit codes:
  0    success
  1    error; the message says what to do
  2    invalid command line
  130  stopped by Ctrl-C
  143  stopped by SIGTERM

Files and folders are written completely or not at all, and none is replaced
without --force. A command that is stopped leaves nothing behind, except for
`fit --checkpoint` and `fit --keep-best`.
"""


def fit(options: Options) -> None:
    """Learn which columns of a table predict a target, and fit a model to them.

    The model is written to a folder, together with its training history, the
    importances and a description of the data. `randsub predict`, `rank`,
    `select`, `report` and `info` read that folder.

    Ctrl-C and SIGTERM stop training and leave nothing behind except the
    --checkpoint file; with --keep-best, the best model so far is written. The
    exit code is 130 (143) in both cases. Use --time-limit to end training
    after a given time with exit code 0.
    """
    options.add("DATA", _TABLE_FILE, Path)
    options.add("-o --output FOLDER", "model folder to write", Path, required=True)
    add_force(options, "model folder or checkpoint")
    options.add(
        "--format {skops,joblib}",
        "format of the model file; joblib stores any Python object, but loading it can run "
        "arbitrary code (default: skops)",
        default="skops",
    )
    columns = options.section("columns")
    columns.add("--target COLUMN", "column to predict", required=True)
    columns.add("--task {regression,classification}", "default: guessed from the target's values")
    columns.add("--drop COLUMN...", "columns to ignore")
    columns.add(
        "--categorical COLUMN...",
        "columns of numbers that are categories; columns of text always are",
    )
    columns.add("--weight COLUMN", "column of sample weights")
    columns.add(
        "--groups prefix|FILE",
        "columns that are selected together: those whose names agree up to the last underscore, or "
        "as listed in a file: json {group: [columns]}, or a table with columns feature and group",
    )
    add_keep(columns)
    add_layout(options)
    method = options.section("method")
    _add_base_model(method, "tree", "tree", "whose shares in the ensemble are learned")
    method.add(
        "--penalty NAME=LAM",
        f"penalty on alpha: {PENALTY_FORMS}; may be repeated",
        penalty,
        **_REPEATED,
    )
    method.add(
        "--members N", "number of base models in the ensemble (default: 100)", number_from(int, 2)
    )
    method.add("--epochs N", "number of training epochs (default: 900)", number_from(int, 1))
    method.add(
        "--repeats N|auto",
        "number of times that alpha is optimised, with different validation rows; alpha is the "
        "mean (default: auto, which for at most 1000 rows is 5 if there are at least as many "
        "features, and 20 if there are ten times as many)",
        repeats,
    )
    held_out = method.exclusive()
    held_out.add("--validation FILE", "table of validation samples, to choose the best alpha", Path)
    held_out.add(
        "--validation-fraction X",
        "fraction of the rows to hold out for validation (default: 0.2)",
        number_from(float, 0, 1, inclusive=False),
    )
    scored = options.section("scores on rows that no training sees").exclusive()
    scored.add("--test FILE", "table of test rows, to score the model on", Path)
    scored.add(
        "--test-size X",
        "fraction of the rows to hold out from training, and to score the model on",
        number_from(float, 0, 1, inclusive=False),
    )
    run = options.section("run")
    _add_run(run)
    run.add("--checkpoint FILE", "save the state of training to this file, for --resume", Path)
    run.add(
        "--checkpoint-every N",
        "epochs between two checkpoints (default: one minute)",
        number_from(int, 1),
    )
    run.add("--resume FILE", "continue from a checkpoint of the same command, and update it", Path)
    run.add("--keep-best", "when interrupted, write the best model so far")


def predict(options: Options) -> None:
    """Predict the rows of a table with a fitted model.

    The table needs the columns that the model was trained on, in any order;
    other columns are ignored. If it has the target as well, the score is shown;
    rows that the model was trained on are recognised, and scored apart.
    """
    _add_model(options)
    options.add("DATA", "table of rows to predict", Path)
    options.add(
        "-o --output FILE",
        "output file: .csv, .tsv, .parquet or .feather (default: csv on standard output)",
        Path,
    )
    add_force(options)
    options.add(
        "--probabilities", "add a column for each class: its probability, or share of votes"
    )
    _add_jobs(options)
    add_layout(options)


def rank(options: Options) -> None:
    """List the columns by importance.

    The importance of a column is its alpha: the probability that a member of
    the ensemble is trained on it.
    """
    _add_model(options)
    options.add("--top N", "only the N most important", number_from(int, 1))
    options.add(
        "--format {table,csv,json}",
        "format on standard output (default: table); --json is the same as --format json",
        default="table",
    )
    options.add("-o --output FILE", "write a .csv, .tsv, .parquet or .feather file instead", Path)
    add_force(options)


def select(options: Options) -> None:
    """Write a table with the most important columns and the target.

    Choose the columns by number (--top), by importance (--threshold), or for
    a purpose. --minimal: few columns from which the base model predicts as
    well as from all, by cross-validation; the others may be relevant, too.
    --fdr: all relevant columns, with a bound on the false ones among them;
    the model is trained again with copies of the columns (see --null).
    """
    _add_model(options)
    options.add("DATA", "table to take the columns from", Path)
    options.add("-o --output FILE", _TABLE_FILE, Path, required=True)
    add_force(options)
    rule = options.exclusive(required=True)
    rule.add("--top N", "the N most important", number_from(int, 1))
    rule.add("--threshold A", "those with an alpha of at least A", number_from(float, 0, 1))
    rule.add(
        "--fdr Q",
        "by shadow features, with a false discovery rate of at most Q, such as 0.1",
        number_from(float, 0, 1, inclusive=False),
    )
    rule.add("--minimal", "a minimal set from which the base model predicts as well as from all")
    options.add(
        "--null {marginal,conditional}",
        "what makes a column false: to be independent of the target (marginal, the default), or to "
        "add nothing to the other columns (conditional, for tables of numbers)",
    )
    options.add("--no-target", "leave the target out")
    _add_seed(options)
    _add_jobs(options)
    add_layout(options)


def report(options: Options) -> None:
    """Write a report on a fitted model, as one html file.

    What was fitted to which data, how well it predicts compared with a random
    forest and a plain random subspace, which columns matter, whether training
    has converged, and how to repeat it.

    The comparison needs data: rows that the model has not seen (--test, or those
    of `randsub fit --test` and `--test-size`), or else the training table, if it
    is still there and unchanged. Training rows among the test rows are left out.
    """
    _add_model(options)
    options.add(
        "-o --output FILE", "output file (default: report.html)", Path, default=Path("report.html")
    )
    add_force(options)
    options.add("--data FILE", "the training table, if it was moved", Path)
    options.add("--test FILE", "table of rows that the model has not seen", Path)
    options.add("--title TEXT", "title of the report")
    options.add("--no-compare", "do not train other methods for comparison")
    _add_seed(options)
    _add_jobs(options)
    add_layout(options)


def info(options: Options) -> None:
    """Describe a model folder, or this installation.

    With a model folder: what was fitted to which data, with which parameters
    and versions, and how training went. Without: versions, engines and the
    optional packages that are installed.
    """
    options.add("MODEL", "folder written by `randsub fit`", Path, nargs="?")


def network(options: Options) -> None:
    """Infer which genes regulate which others from expression data.

    The table has samples as rows and genes as columns. The links are written
    with the largest weight first: to a .csv or .tsv file with the columns
    regulator, target and weight, to a .graphml file for Gephi and others, or to
    a .cyjs file for Cytoscape.
    """
    options.add("DATA", "table of expression data", Path)
    options.add(
        "-o --output FILE", "output file: .csv, .tsv, .graphml or .cyjs", Path, required=True
    )
    add_force(options)
    options.add(
        "--format {links,arboreto,pyscenic}",
        "columns of a .csv or .tsv file: regulator, target, weight; or TF, target, importance as "
        "arboreto and pySCENIC have them (default: links)",
        default="links",
    )
    options.add(
        "--regulators LIST",
        "candidate regulators: a file with one name per line, or names separated by commas "
        "(default: all genes)",
    )
    options.add("--targets LIST", "genes whose regulators to infer (default: all genes)")
    options.add("--drop COLUMN...", "columns that are not genes")
    add_keep(options)
    options.add("--validation FILE", "table of samples to choose alpha and lam on", Path)
    options.add(
        "--lam X",
        "coefficient of the penalty that lets targets share regulators; 0 to treat each target on "
        "its own, path to choose it on the validation samples (default: path; 0 with --fdr, and "
        "for more than 300 targets)",
        coupling,
    )
    options.add("--top N", "only the N best links", number_from(int, 1))
    options.add(
        "--fdr X",
        "only links at this false discovery rate, such as 0.1, measured by permuted copies of the "
        "regulators that compete in the fit",
        number_from(float, 0, 1, inclusive=False),
    )
    options.add(
        "--repeats N",
        "number of validation splits; weights are means over them (default: 3; 1 for more than 300 "
        "targets)",
        number_from(int, 1),
    )
    add_samples(options)
    told = "number of training epochs (default: 90; 300 for more than 300 targets)"
    options.add("--epochs N", told, number_from(int, 1))
    shown = f"{AUTO}; knn with --fdr, and for more than 300 targets"
    _add_base_model(options, None, shown, "each trained on its own")
    _add_run(options)
    add_layout(options)


def simulate(options: Options) -> None:
    """Write simulated data with known relevant features.

    Relevant features are named x1, x2, ..., irrelevant ones noise1, noise2,
    ..., and the target y. A network has the regulators R1, R2, ... and the
    targets T1, T2, ... as columns.

    friedman      regression, 5 relevant       a sine, a parabola, two lines
    checkerboard  regression, 4 relevant       two products of two features
    hypercube     classification, 5 relevant   clusters on the vertices
    linear        classification, 10 relevant  the sign of a weighted sum
    network       expression of genes          a few regulators per target
    """
    options.add("PROBLEM", ", ".join(PROBLEMS), choices=PROBLEMS)
    options.add("-o --output FILE", _TABLE_FILE, Path, required=True)
    add_force(options)
    options.add("--truth FILE", "table of the relevant features, or of the links", Path)
    options.add("--samples N", "number of rows (default: 500; network: 200)", number_from(int, 2))
    options.add("--irrelevant N", "irrelevant features (default: 300)", number_from(int, 0))
    options.add("--noise X", "standard deviation of the noise", number_from(float, 0))
    options.add(
        "--correlation X",
        "correlation of neighbouring features (default: 0.9)",
        number_from(float, 0),
    )
    options.add("--regulators N", "regulators of a network (default: 20)", number_from(int, 1))
    options.add("--targets N", "targets of a network (default: 80)", number_from(int, 1))
    _add_seed(options)


def completion(options: Options) -> None:
    """Print a shell script that completes commands, options and file names.

    Needs shtab: `pip install randsub[completion]`. To install the script, run
    `randsub completion SHELL > FILE` and start a new shell. FILE is for

    bash   ~/.local/share/bash-completion/completions/randsub
    zsh    ~/.zfunc/_randsub, with fpath+=~/.zfunc before compinit in ~/.zshrc
    fish   ~/.config/fish/completions/randsub.fish
    """
    options.add("SHELL", ", ".join(SHELLS), choices=SHELLS)


COMMANDS: Final[Mapping[str, Callable[[Options], None]]] = {
    command.__name__: command
    for command in (fit, predict, rank, select, report, info, network, simulate, completion)
}


def make_parser(file_completion: Any = None) -> argparse.ArgumentParser:
    """The parser of the command line.

    Parameters
    ----------
    file_completion : object, default=None
        What shtab needs to complete the names of files.
    """
    parser = argparse.ArgumentParser(
        prog="randsub",
        description="Random-subspace ensembles that learn which features each member should see.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"randsub {randsub.__version__}")
    parser.add_argument("--debug", action="store_true", help="show the traceback of an error")
    commands = parser.add_subparsers(
        title="commands", dest="command", metavar="COMMAND", required=True
    )
    for name, declare in COMMANDS.items():
        text = inspect.getdoc(declare) or ""
        command = commands.add_parser(
            name,
            help=summary(declare),
            description=text,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        options = Options(command, file_completion)
        declare(options)
        shown = options.section("messages")
        shown.add("-q --quiet", "show only results and errors")
        if declare is not completion:
            shown.add("--json", "print the result as one json document on standard output")
        # Also accepted before the command: this default does not undo what was given there.
        shown.add("--debug", "show the traceback of an error", default=argparse.SUPPRESS)
    return parser


def summary(command: Callable[[Options], None]) -> str:
    """What a command does, in one line."""
    first = (inspect.getdoc(command) or " ").splitlines()[0]
    return first[0].lower() + first[1:].rstrip(".")


def _add_model(options: Options) -> None:
    """The model folder, and what may be loaded from it."""
    options.add("MODEL", "folder written by `randsub fit`", Path)
    trust = options.section("loading the model")
    trust.add("--trust TYPE...", "types in the model file to trust, as listed by the error message")
    trust.add("--allow-joblib", "load a joblib file, which can run arbitrary code")


def _add_base_model(options: Options, default: str | None, shown: str, several: str) -> None:
    names = ", ".join(BASE_MODELS)
    options.add(
        "--base MODEL",
        f"base model: {names}, or any class as module:Class, or several of these separated by "
        f"commas, {several}; {AUTO}: several that suit the data (default: {shown})",
        default=default,
    )
    options.add(
        "--base-param NAME=VALUE",
        "parameter of the base model, such as n_neighbors=3, or knn__n_neighbors=3 if there are "
        "several base models; may be repeated",
        assignment,
        **_REPEATED,
    )


def _add_seed(options: Options) -> None:
    options.add(
        "--seed N",
        "random seed; the same seed gives the same result, bit for bit (default: 0)",
        number_from(int, 0),
        default=0,
    )


def _add_jobs(options: Options) -> None:
    options.add("--jobs N", "number of workers, -1 for all cores (default: 1)", int)


def _add_run(options: Options) -> None:
    """How a model is trained."""
    _add_jobs(options)
    _add_seed(options)
    options.add(
        "--time-limit TIME",
        "train for at most 90s, 15m or 2h, final models included, and keep the best alpha",
        seconds,
    )
    options.add(
        "--max-samples N",
        "largest number of rows, or fraction such as 0.2, that a base model is trained on "
        "(default: all)",
        sample_number,
    )
    options.add(
        "--solver {quick,paper}",
        "settings of the optimisation: quick for a first look (200 epochs), paper for those of the "
        "paper (3000 epochs)",
    )
    options.add(
        "--param NAME=VALUE",
        "any other parameter of the Python class or of its Solver, such as n_batches=10; may be "
        "repeated",
        assignment,
        **_REPEATED,
    )
