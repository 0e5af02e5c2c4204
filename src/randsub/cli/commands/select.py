"""``randsub select``: a table with the most important columns."""

import argparse

import pandas as pd
from sklearn.base import clone

from randsub.cli.console import Console, printable
from randsub.cli.fitted_model import FittedModel, ranked
from randsub.cli.stop_signals import interruptions_are_errors
from randsub.cli.tables import check_table_file, write_table
from randsub.selection import ShadowSelector


def run(args: argparse.Namespace) -> None:
    """Select columns, most important first, and write them with the target."""
    check_table_file(args.output, replace=args.force)
    console = Console(args)
    fitted = FittedModel(args)
    frame = fitted.read(args.data, console)
    X = fitted.features(args.data, frame)
    ranking = ranked(fitted.model)
    if args.fdr is not None:
        ranking = ranking[
            ranking["feature"].isin(_by_shadow_features(args, fitted, frame, console))
        ]
    elif args.threshold is not None:
        ranking = ranking[ranking["importance"] >= args.threshold]
    else:
        ranking = ranking.head(args.top)
    names = ranking["feature"].tolist()
    if not names and args.fdr is not None:
        raise ValueError(
            "No column is selected: too few have a larger importance than their permuted copies "
            f"for --fdr {args.fdr:g}. Allow a larger rate, or use --top or --threshold, which do "
            "not control the error."
        )
    if not names:
        raise ValueError(
            "No column is selected: the largest alpha is "
            f"{fitted.model.feature_importances_.max():.4f}. Use a smaller threshold."
        )
    target = [] if args.no_target or fitted.target not in frame.columns else [fitted.target]
    write_table(args.output, frame[names + target], target=fitted.target)
    shown = ", ".join(map(printable, names[:10])) + (", ..." if len(names) > 10 else "")
    console.done(
        f"{args.output}: {len(names)} of {X.shape[1]} features: {shown}.",
        {"output": str(args.output), "rows": len(frame), "selected": names},
    )


def _by_shadow_features(
    args: argparse.Namespace, fitted: FittedModel, frame: pd.DataFrame, console: Console
) -> list[str]:
    """Columns whose importance exceeds that of permuted copies."""
    X, y, weight = fitted.samples(args.data, frame)
    model = clone(fitted.model)
    if args.jobs is not None:
        model.set_params(n_jobs=args.jobs)
    console.say("Training again, with permuted copies of the features beside them.")
    selector = ShadowSelector(
        model, fdr=args.fdr, random_state=args.seed, verbose=int(not console.quiet)
    )
    with interruptions_are_errors():
        selector.fit(X, y, sample_weight=weight)
    return list(X.columns[selector.get_support()])
