"""``randsub report``: a page about a model."""

import argparse
from pathlib import Path
from typing import Any

from randsub.cli.options import add_model, add_table_flags, add_verb, opened, whole_number

_DESCRIPTION = """\
Write a page about a model: what was fitted on what, how good it is beside a random forest and a
plain random subspace, which columns matter, whether training has converged, and how to do it again.
One file, to be read offline.

The comparison needs data. By default it is the table that the model was trained on, if it is still
there and unchanged; --test gives rows that the model has not seen, which is better.
"""


def add(verbs: Any) -> None:
    """Add the verb and what may follow it."""
    verb = add_verb(verbs, "report", "write a page about a model", _DESCRIPTION)
    add_model(verb)
    verb.add_argument(
        "-o",
        "--output",
        type=Path,
        default=Path("report.html"),
        metavar="FILE",
        help="where it goes (default: report.html)",
    )
    verb.add_argument(
        "--data", type=Path, metavar="FILE", help="the training table, if it was moved"
    )
    verb.add_argument("--test", type=Path, metavar="FILE", help="table of rows it has not seen")
    verb.add_argument("--title", metavar="TEXT", help="title of the page")
    verb.add_argument(
        "--no-compare", action="store_true", help="train no other methods for comparison"
    )
    verb.add_argument("--jobs", type=int, metavar="N", help="workers (default: 1)")
    verb.add_argument(
        "--seed", type=whole_number(0), default=0, metavar="N", help="of the comparison"
    )
    add_table_flags(verb)
    verb.set_defaults(run=_run)


def _run(args: argparse.Namespace) -> int:
    from randsub.cli.console import Console
    from randsub.cli.main import Exit
    from randsub.cli.outputs import check_file, whole_file
    from randsub.report import write_report

    check_file(args.output)
    console = Console(args)
    fitted = opened(args)
    training = _training(args, fitted, console)
    test = None if args.test is None else _rows(args, fitted, args.test)
    given: dict[str, Any] = {}
    if training is not None:
        given |= dict(zip(("X", "y", "sample_weight"), training, strict=True))
    if test is not None:
        given |= dict(zip(("X_test", "y_test", "sample_weight_test"), test, strict=True))
    # Names alone: the page is for others, to whom folders of this machine say nothing.
    facts = {"Model folder": args.model.resolve().name, "Made": fitted.made}
    if fitted.data is not None and fitted.data.source is not None:
        facts["Data"] = Path(fitted.data.source).name
    with whole_file(args.output) as draft:
        write_report(
            fitted.model,
            draft,
            **given,
            title=args.title,
            compare=not args.no_compare,
            facts=facts,
            command=fitted.command,
            n_jobs=args.jobs,
            random_state=args.seed,
        )
    console.done(
        f"{args.output}: a page about {args.model}.",
        {"output": str(args.output), "model": str(args.model), "compared": training is not None},
    )
    return Exit.DONE


def _training(args: argparse.Namespace, fitted: Any, console: Any) -> Any:
    """The rows that the model was trained on, if they can be had."""
    from randsub.persistence import DataFacts

    source = args.data
    if source is None and fitted.data is not None and fitted.data.source is not None:
        source = Path(fitted.data.source)
        if not source.is_file():
            console.say(
                f"{source}, which the model was trained on, is not there any more: the page has no "
                "comparison. --data says where it is now."
            )
            return None
    if source is None:
        return None
    X, y, weight = _rows(args, fitted, source)
    if fitted.data is not None and DataFacts.of(X, y).fingerprint != fitted.data.fingerprint:
        if args.data is not None:
            raise ValueError(f"{source} is not the data that {args.model} was trained on.")
        console.say(f"{source} has changed since {args.model} was trained: no comparison.")
        return None
    return X, y, weight


def _rows(args: argparse.Namespace, fitted: Any, path: Path) -> tuple[Any, Any, Any]:
    """Features, targets and weights of a table, as the model knows them."""
    from randsub.cli.tables import read_table
    from randsub.cli.tables.columns import check_numbers, check_weights, find_column, same_labels

    frame = read_table(path, args.separator)
    target = find_column(path, frame, fitted.target or "y", "the model")
    X, y = fitted.features(path, frame), frame[target]
    weight = fitted.extra.get("weight")
    if weight is not None:
        weight = check_weights(path, frame[find_column(path, frame, weight, "the model")])
    if fitted.task == "regression":
        return X, check_numbers(path, y), weight
    return X, same_labels(path, y, fitted.model.classes_), weight
