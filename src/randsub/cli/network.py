"""``randsub network``: which genes regulate which."""

import argparse
from pathlib import Path
from typing import Any

from randsub.cli.options import (
    add_base_flags,
    add_run_flags,
    add_table_flags,
    add_verb,
    whole_number,
)

_DESCRIPTION = """\
Infer which genes regulate which from a table of expression data, samples as rows and genes as
columns, and write the links, best first: to a .csv or .tsv file with the columns regulator, target
and weight, or to a .graphml file as Cytoscape, Gephi and others read it.
"""


def add(verbs: Any) -> None:
    """Add the verb and what may follow it."""
    verb = add_verb(verbs, "network", "infer which genes regulate which", _DESCRIPTION)
    verb.add_argument("data", type=Path, metavar="EXPRESSION", help="table of expression data")
    verb.add_argument(
        "-o",
        "--output",
        type=Path,
        required=True,
        metavar="FILE",
        help="where links go: .csv, .tsv or .graphml",
    )
    verb.add_argument(
        "--regulators",
        metavar="LIST",
        help="candidate regulators: a file with one name a line, or names with commas between "
        "(default: all genes)",
    )
    verb.add_argument(
        "--targets", metavar="LIST", help="genes whose regulators are sought (default: all)"
    )
    verb.add_argument(
        "--drop", nargs="+", default=[], metavar="COLUMN", help="columns that are no genes"
    )
    verb.add_argument(
        "--validation", type=Path, metavar="FILE", help="samples to choose alpha and lam on"
    )
    verb.add_argument(
        "--lam",
        type=_lam,
        default="path",
        metavar="X",
        help="how strongly links are drawn to regulators that have others; 0 for targets on their "
        "own; path to choose it on validation samples (default: path)",
    )
    verb.add_argument("--top", type=whole_number(1), metavar="N", help="only the N best links")
    verb.add_argument(
        "--epochs", type=whole_number(1), metavar="N", help="epochs of training (default: 600)"
    )
    add_base_flags(verb, "knn")
    add_run_flags(verb)
    add_table_flags(verb)
    verb.set_defaults(run=_run)


def _lam(text: str) -> Any:
    from randsub.cli.options import real_number

    return text if text == "path" else real_number(0.0)(text)


def _run(args: argparse.Namespace) -> int:
    from randsub.cli.bases import make_base
    from randsub.cli.console import Console
    from randsub.cli.main import Exit
    from randsub.cli.outputs import check_file
    from randsub.network import PRSNetwork

    if args.output.suffix.lower() not in _WRITERS:
        raise ValueError(
            f"{args.output}: links are written to {', '.join(_WRITERS)}; name such a file."
        )
    check_file(args.output)
    console = Console(args)
    base = make_base(args.base, args.base_param, "regression")
    expression = _genes(args, args.data)
    validation = None if args.validation is None else _genes(args, args.validation)
    regulators, targets = (_names(args, text) for text in (args.regulators, args.targets))
    model = _model(args, base, PRSNetwork)
    console.say(
        f"{args.data}: {expression.shape[0]} samples of {expression.shape[1]} genes, "
        f"{expression.shape[1] if regulators is None else len(regulators)} candidate regulators."
    )
    _trained(model, expression, regulators, validation, targets, console)
    links = model.links(args.top)
    _WRITERS[args.output.suffix.lower()](model, args.output, args.top)
    document = {
        "output": str(args.output),
        "genes": expression.shape[1],
        "samples": expression.shape[0],
        "links": len(links),
        "lam": model.lam_,
        "models_trained": model.n_models_trained_,
        "best": links.head(5).to_dict("records"),
    }
    best = links.iloc[0]
    console.done(
        f"{args.output}: {len(links)} links, lam {model.lam_:g}; the first is {best['regulator']} "
        f"-> {best['target']} ({best['weight']:.3f}).",
        document,
    )
    return Exit.DONE


def _genes(args: argparse.Namespace, path: Path) -> Any:
    """Expression data, every column of which is a gene."""
    from randsub.cli.tables import read_table
    from randsub.cli.tables.columns import as_numbers, find_column

    frame = read_table(path, args.separator)
    frame = frame.drop(columns=[find_column(path, frame, name, "--drop") for name in args.drop])
    return as_numbers(path, frame)


def _names(args: argparse.Namespace, text: str | None) -> list[str] | None:
    """Names of genes: those in a file, one a line, or those in the text itself."""
    if text is None:
        return None
    path = Path(text)
    words = path.read_text(encoding="utf-8").splitlines() if path.is_file() else text.split(",")
    names = [word.strip() for word in words if word.strip()]
    if not names:
        raise ValueError(f"{text!r} names no gene; give a file with one name a line, or A,B,C.")
    return names


def _model(args: argparse.Namespace, base: Any, cls: Any) -> Any:
    from randsub.cli.models import with_parameters

    given = dict(args.param)
    if args.epochs is not None:
        given["max_iter"] = args.epochs
    return with_parameters(cls(base, lam=args.lam, n_jobs=args.jobs, random_state=args.seed), given)


def _trained(
    model: Any, expression: Any, regulators: Any, validation: Any, targets: Any, console: Any
) -> None:
    """Train; what Ctrl-C cuts short is no answer."""
    import sys

    from randsub.cli.interruptions import interruptions_are_errors
    from randsub.cli.progress import TrainingProgress, is_terminal

    if not console.quiet and is_terminal(sys.stderr):
        # Its own bar knows of all the parts that are trained one after the other.
        model.set_params(verbose=1)
    elif not console.quiet:
        model.set_callbacks(TrainingProgress())
    with interruptions_are_errors():
        model.fit(expression, regulators, validation, targets=targets)


def _write_csv(model: Any, path: Path, n: int | None) -> None:
    from randsub.cli.outputs import whole_file

    with whole_file(path) as draft:
        model.to_csv(draft, n, sep="\t" if path.suffix.lower() == ".tsv" else ",")


def _write_graphml(model: Any, path: Path, n: int | None) -> None:
    from randsub.cli.outputs import whole_file

    with whole_file(path) as draft:
        model.to_graphml(draft, n)


_WRITERS = {".csv": _write_csv, ".tsv": _write_csv, ".graphml": _write_graphml}
