"""``randsub select``: a table with the columns that matter."""

import argparse
from pathlib import Path
from typing import Any

from randsub.cli.options import (
    add_model,
    add_table_flags,
    add_verb,
    opened,
    real_number,
    whole_number,
)

_DESCRIPTION = """\
Write a table with the columns of another one that a model finds important, best first, and with its
target. Say how many (--top), from which importance on (--threshold), or how large a share of false
ones is acceptable among them (--fdr): the latter trains the model once more, with permuted copies
of the columns that compete with them.
"""


def add(verbs: Any) -> None:
    """Add the verb and what may follow it."""
    verb = add_verb(verbs, "select", "write a table with the columns that matter", _DESCRIPTION)
    add_model(verb)
    verb.add_argument("data", type=Path, metavar="DATA", help="table to take columns from")
    verb.add_argument(
        "-o",
        "--output",
        type=Path,
        required=True,
        metavar="FILE",
        help="where it goes: .csv, .tsv, .parquet, .feather or .npz",
    )
    rule = verb.add_mutually_exclusive_group(required=True)
    rule.add_argument("--top", type=whole_number(1), metavar="N", help="the N most important")
    rule.add_argument(
        "--threshold",
        type=real_number(0.0, 1.0),
        metavar="A",
        help="those whose alpha is at least A",
    )
    rule.add_argument(
        "--fdr",
        type=real_number(0.0, 1.0, open_ends=True),
        metavar="Q",
        help="by shadow features, with a false discovery rate of at most Q, as 0.1",
    )
    verb.add_argument("--no-target", action="store_true", help="leave the target out")
    verb.add_argument(
        "--seed", type=whole_number(0), default=0, metavar="N", help="of the permuted copies"
    )
    verb.add_argument("--jobs", type=int, metavar="N", help="workers, with --fdr (default: 1)")
    add_table_flags(verb)
    verb.set_defaults(run=_run)


def _run(args: argparse.Namespace) -> int:
    from randsub.cli.console import Console, printable
    from randsub.cli.main import Exit
    from randsub.cli.models import importances
    from randsub.cli.tables import check_table_file, read_table, write_table

    check_table_file(args.output)
    console = Console(args)
    fitted = opened(args)
    frame = read_table(args.data, args.separator)
    X = fitted.features(args.data, frame)
    ranking = importances(fitted.model)
    if args.fdr is not None:
        chosen = _by_shadows(args, fitted, frame, X, console)
        ranking = ranking[ranking["feature"].isin(chosen)]
    elif args.threshold is not None:
        ranking = ranking[ranking["importance"] >= args.threshold]
    else:
        ranking = ranking.head(args.top)
    names = ranking["feature"].tolist()
    if not names and args.fdr is not None:
        raise ValueError(
            f"No column is selected: too few beat their permuted copies for --fdr {args.fdr:g}, "
            "which takes two at once in a table of several. Allow a larger rate, or use --top or "
            "--threshold, which bound no error."
        )
    if not names:
        raise ValueError(
            "No column is selected; the most important one has an alpha of "
            f"{fitted.model.feature_importances_.max():.4f}. Ask for less."
        )
    kept = list(names)
    if not args.no_target and fitted.target in frame.columns:
        kept.append(fitted.target)
    write_table(args.output, frame[kept], target=fitted.target)
    shown = ", ".join(map(printable, names[:10])) + (", ..." if len(names) > 10 else "")
    console.done(
        f"{args.output}: {len(names)} of {X.shape[1]} features: {shown}.",
        {"output": str(args.output), "rows": len(frame), "selected": names},
    )
    return Exit.DONE


def _by_shadows(args: argparse.Namespace, fitted: Any, frame: Any, X: Any, console: Any) -> Any:
    """Names of the columns that beat permuted copies."""
    from sklearn.base import clone

    from randsub.cli.interruptions import interruptions_are_errors
    from randsub.cli.tables.columns import check_target, check_weights, find_column
    from randsub.selection import ShadowSelector

    target = find_column(args.data, frame, fitted.target or "y", "--fdr")
    y = check_target(args.data, frame[target], fitted.task)
    weight = fitted.extra.get("weight")
    if weight is not None:
        # As it was trained.
        find_column(args.data, frame, weight, "the model")
        weight = check_weights(args.data, frame[weight])
    model = clone(fitted.model)
    if args.jobs is not None:
        model.set_params(n_jobs=args.jobs)
    console.say("Training again, with permuted copies of the features beside them.")
    selector = ShadowSelector(
        model, fdr=args.fdr, random_state=args.seed, verbose=int(not console.quiet)
    )
    with interruptions_are_errors():
        selector.fit(X, y, sample_weight=weight)
    return [name for name, taken in zip(X.columns, selector.get_support(), strict=True) if taken]
