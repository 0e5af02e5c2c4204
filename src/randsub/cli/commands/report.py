"""``randsub report``: a report on a fitted model."""

import argparse
from pathlib import Path
from typing import Any

from randsub.cli.console import Console
from randsub.cli.fitted_model import FittedModel, command_line
from randsub.cli.output_files import check_file, whole_file
from randsub.io import DataFacts
from randsub.report import write_report


def run(args: argparse.Namespace) -> None:
    """Write the report."""
    check_file(args.output, replace=args.force)
    console = Console(args)
    fitted = FittedModel(args)
    training = _training_samples(args, fitted, console)
    data: dict[str, Any] = {}
    if training is not None:
        data |= zip(("X", "y", "sample_weight"), training, strict=True)
    if args.test is not None:
        test = fitted.samples(args.test, fitted.read(args.test, console))
        data |= zip(("X_test", "y_test", "sample_weight_test"), test, strict=True)
    # Without the folders of this machine, which mean nothing to other readers.
    facts = {
        "Model folder": args.model.resolve().name,
        "Made": str(fitted.folder.facts.get("made")),
    }
    if fitted.source is not None:
        facts["Data"] = fitted.source.name
    with whole_file(args.output) as draft:
        write_report(
            fitted.model,
            draft,
            **data,
            title=args.title,
            compare=not args.no_compare,
            facts=facts,
            command=command_line(fitted.folder),
            n_jobs=args.jobs,
            random_state=args.seed,
        )
    console.done(
        f"{args.output}: a report on {args.model}.",
        {"output": str(args.output), "model": str(args.model), "compared": training is not None},
    )


def _training_samples(args: argparse.Namespace, fitted: FittedModel, console: Console) -> Any:
    """The samples that the model was trained on, or None if they are not available."""
    path: Path | None = args.data or fitted.source
    if path is None:
        return None
    if args.data is None and not path.is_file():
        console.say(
            f"The training table {path} no longer exists: the report has no comparison. Use --data "
            "if it was moved."
        )
        return None
    X, y, weight = fitted.samples(path, fitted.read(path, console))
    known = fitted.folder.data
    if known is not None and DataFacts.of(X, y).fingerprint != known.fingerprint:
        if args.data is not None:
            raise ValueError(f"{path} is not the data that {args.model} was trained on.")
        console.say(f"{path} has changed since {args.model} was trained: no comparison.")
        return None
    return X, y, weight
