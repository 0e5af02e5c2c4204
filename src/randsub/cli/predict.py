"""``randsub predict``: predictions for the rows of a table."""

import argparse
from pathlib import Path
from typing import Any

from randsub.cli.options import add_model, add_table_flags, add_verb, opened

_DESCRIPTION = """\
Predict with a model. The table needs the columns that the model was trained on, in any order;
others are passed over. Where it has the target as well, the score is told.
"""


def add(verbs: Any) -> None:
    """Add the verb and what may follow it."""
    verb = add_verb(verbs, "predict", "predict with a model", _DESCRIPTION)
    add_model(verb)
    verb.add_argument("data", type=Path, metavar="DATA", help="table whose rows to predict")
    verb.add_argument(
        "-o",
        "--output",
        type=Path,
        metavar="FILE",
        help="where predictions go: .csv, .tsv, .parquet or .feather (default: csv on standard "
        "output)",
    )
    verb.add_argument(
        "--probabilities",
        action="store_true",
        help="one more column for each class with its probability, or its share of votes",
    )
    verb.add_argument("--jobs", type=int, metavar="N", help="workers (default: 1)")
    add_table_flags(verb)
    verb.set_defaults(run=_run)


def _run(args: argparse.Namespace) -> int:
    import sys

    from randsub.cli.console import Console
    from randsub.cli.main import Exit, tell
    from randsub.cli.tables import check_table_file, read_table, write_table
    from randsub.cli.tables.writing import as_text

    if args.output is not None:
        check_table_file(args.output)
    console = Console(args)
    fitted = opened(args)
    if args.probabilities and fitted.task != "classification":
        raise ValueError(
            f"--probabilities is for classification, and {args.model} is a regression."
        )
    frame = read_table(args.data, args.separator)
    X = fitted.features(args.data, frame)
    if args.jobs is not None:
        fitted.model.set_params(n_jobs=args.jobs)
    predictions = _predicted(fitted.model, X, args.probabilities)
    told = _scored(fitted, args.data, frame, predictions["prediction"])
    if args.output is not None:
        write_table(args.output, predictions)
    elif not console.json:
        tell(as_text(predictions), sys.stdout, end="")
    document: dict[str, Any] = {"rows": len(predictions), **told}
    words = f"{len(predictions)} rows predicted"
    if args.output is None:
        document["predictions"] = predictions.to_dict("list")
    else:
        document["output"] = str(args.output)
        words = f"{args.output}: {words}"
    if told:
        words += f"; {told['metric']} {told['score']:.4f} for the target {told['target']!r}"
    console.done(f"{words}.", document)
    return Exit.DONE


def _predicted(model: Any, X: Any, probabilities: bool) -> Any:
    import numpy as np
    import pandas as pd

    # A model of arrays knows no names, and would say so.
    table = X if hasattr(model, "feature_names_in_") else X.to_numpy()
    if not probabilities:
        return pd.DataFrame({"prediction": model.predict(table)}, index=X.index)
    # Predicted once: the class is the one with the highest probability, as predict has it.
    p = model.predict_proba(table)
    columns = {"prediction": model.classes_[np.argmax(p, axis=1)]}
    columns |= {f"p_{label}": p[:, c] for c, label in enumerate(model.classes_)}
    return pd.DataFrame(columns, index=X.index)


def _scored(fitted: Any, path: Path, frame: Any, predictions: Any) -> dict[str, Any]:
    """Score of the predictions, where the table has the target in every row."""
    from sklearn.metrics import accuracy_score, r2_score

    from randsub.cli.tables.columns import check_numbers, same_labels

    if fitted.target is None or fitted.target not in frame.columns:
        return {}
    y = frame[fitted.target]
    if y.isna().any() or len(y) < 2:
        return {}
    if fitted.task == "regression":
        metric, score = "R2", r2_score(check_numbers(path, y), predictions)
    else:
        labels = same_labels(path, y, fitted.model.classes_)
        metric, score = "accuracy", accuracy_score(labels, predictions)
    return {"target": fitted.target, "metric": metric, "score": float(score)}
