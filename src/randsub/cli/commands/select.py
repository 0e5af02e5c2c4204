"""``randsub select``: a table with some of the columns."""

import argparse
from typing import Any

import pandas as pd
from sklearn.base import clone

from randsub.cli.console import Console, printable
from randsub.cli.fitted_model import FittedModel, ranked
from randsub.cli.stop_signals import interruptions_are_errors
from randsub.cli.tables import check_table_file, write_table
from randsub.selection import MinimalSelector, ShadowSelector


def run(args: argparse.Namespace) -> None:
    """Select columns, most important first, and write them with the target."""
    check_table_file(args.output, replace=args.force)
    if args.null is not None and args.fdr is None:
        raise ValueError(f"--null {args.null} is for --fdr, which was not given.")
    console = Console(args)
    fitted = FittedModel(args)
    frame = fitted.read(args.data, console)
    X = fitted.features(args.data, frame)
    ranking = ranked(fitted.model)
    found: dict[str, Any] = {}
    if args.fdr is not None or args.minimal:
        selector = _fitted_selector(args, fitted, frame, console)
        ranking = ranking[ranking["feature"].isin(X.columns[selector.get_support()])]
        if args.minimal:
            found = {"score": selector.score_, "score_of_all": selector.full_score_}
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
    scores = " Cross-validated score {score:.3f}, of all features {score_of_all:.3f}."
    console.done(
        f"{args.output}: {len(names)} of {X.shape[1]} features: {shown}."
        + (scores.format(**found) if found else ""),
        {"output": str(args.output), "rows": len(frame), "selected": names, **found},
    )


def _fitted_selector(
    args: argparse.Namespace, fitted: FittedModel, frame: pd.DataFrame, console: Console
) -> Any:
    """The selector that --minimal or --fdr asks for, after fits of the model on the table."""
    X, y, weight = fitted.samples(args.data, frame)
    model = clone(fitted.model)
    if args.jobs is not None:
        model.set_params(n_jobs=args.jobs)
    settings = {"random_state": args.seed, "verbose": int(not console.quiet)}
    selector: MinimalSelector | ShadowSelector
    if args.minimal:
        console.say("Training again, on parts of the rows.")
        selector = MinimalSelector(model, **settings)
    else:
        console.say("Training again, with permuted copies of the features beside them.")
        selector = ShadowSelector(model, fdr=args.fdr, null=args.null or "marginal", **settings)
    with interruptions_are_errors():
        return selector.fit(X, y, sample_weight=weight)
