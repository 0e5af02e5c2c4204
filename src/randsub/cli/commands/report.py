"""``randsub report``: a report on a fitted model."""

import argparse
from pathlib import Path
from typing import Any

from randsub.cli.console import Console
from randsub.cli.fitted_model import FittedModel, command_line
from randsub.cli.output_files import check_file, whole_file
from randsub.cli.training_table import TrainingTable, split_test
from randsub.io import DataFacts
from randsub.losses import METRICS
from randsub.report import write_report


def run(args: argparse.Namespace) -> None:
    """Write the report."""
    check_file(args.output, replace=args.force)
    console = Console(args)
    fitted = FittedModel(args)
    training, held_out = _training_samples(args, fitted, console)
    data: dict[str, Any] = {}
    if training is not None:
        data |= zip(("X", "y", "sample_weight"), training, strict=True)
    test = _test_samples(args, fitted, held_out, console)
    if test is not None:
        data |= zip(("X_test", "y_test", "sample_weight_test"), test, strict=True)
    # Without the folders of this machine, which mean nothing to other readers.
    facts = {
        "Model folder": args.model.resolve().name,
        "Made": str(fitted.folder.facts.get("made")),
    }
    if fitted.source is not None:
        facts["Data"] = fitted.source.name
    facts |= _scores_of_fit(fitted)
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


def _scores_of_fit(fitted: FittedModel) -> dict[str, str]:
    """What ``randsub fit`` measured on its test rows."""
    extra, metric = fitted.extra, METRICS[fitted.task]
    value = fitted.folder.facts["scores"].get(f"test_{metric.lower()}")
    if value is None:
        return {}
    return {f"{metric} after the fit": f"{value:.4f} on {extra['test_rows']:,} test rows"}


def _test_samples(
    args: argparse.Namespace, fitted: FittedModel, held_out: Any, console: Console
) -> Any:
    """New samples: those of ``--test``, or those that ``randsub fit`` scored the model on."""
    known = fitted.extra.get("test")
    path = args.test or (None if known is None else Path(known))
    if path is None:
        return held_out
    if args.test is None and not path.is_file():
        console.say(f"The test table {path} no longer exists. Use --test if it was moved.")
        return None
    X, y, weight = fitted.samples(path, fitted.read(path, console))
    found = fitted.known_rows(X, y)
    if not len(found.new):
        raise ValueError(
            f"{path} has no new row: {found}. A score on them would tell how well they are "
            "remembered. Give rows that the model was not trained on, or leave --test out."
        )
    return X, y, weight


def _training_samples(
    args: argparse.Namespace, fitted: FittedModel, console: Console
) -> tuple[Any, Any]:
    """The samples that the model was trained on, and those that were held out of the same table.

    Each is None if there is none, or if the table is not available.
    """
    path: Path | None = args.data or fitted.source
    if path is None:
        return None, None
    if args.data is None and not path.is_file():
        console.say(
            f"The training table {path} no longer exists: the report has no comparison. Use --data "
            "if it was moved."
        )
        return None, None
    training = TrainingTable(*fitted.samples(path, fitted.read(path, console)))
    size, held_out = fitted.extra.get("test_size"), None
    if size is not None:
        seed = fitted.folder.facts["model"]["seed"]
        training, test = split_test(training, fitted.task, size, seed)
        held_out = test.X, test.y, test.weight
    known = fitted.folder.data
    if known is not None and DataFacts.of(training.X, training.y).fingerprint != known.fingerprint:
        if args.data is not None:
            raise ValueError(f"{path} is not the data that {args.model} was trained on.")
        console.say(f"{path} has changed since {args.model} was trained: no comparison.")
        return None, None
    return (training.X, training.y, training.weight), held_out
