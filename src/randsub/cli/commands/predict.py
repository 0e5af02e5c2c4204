"""``randsub predict``: predictions for the rows of a table."""

import argparse
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.metrics import accuracy_score, r2_score

from randsub.cli.console import Console, write_line
from randsub.cli.fitted_model import FittedModel
from randsub.cli.tables import check_table_file, write_table
from randsub.cli.tables.table_writer import as_csv
from randsub.losses import METRICS


def run(args: argparse.Namespace) -> None:
    """Predict, and score the predictions if the table has the target."""
    if args.output is not None:
        check_table_file(args.output, replace=args.force)
    console = Console(args)
    fitted = FittedModel(args)
    if args.probabilities and fitted.task != "classification":
        raise ValueError(
            f"--probabilities is for classification, but {args.model} is a regression model."
        )
    frame = fitted.read(args.data, console)
    X = fitted.features(args.data, frame)
    if args.jobs is not None:
        fitted.model.set_params(n_jobs=args.jobs)
    predictions = _predictions(fitted.model, X, probabilities=args.probabilities)
    score = _scores(fitted, args.data, frame, X, predictions["prediction"].to_numpy())
    document: dict[str, Any] = {"rows": len(predictions), **score}
    message = f"{len(predictions)} rows predicted"
    if args.output is not None:
        write_table(args.output, predictions)
        document["output"] = str(args.output)
        message = f"{args.output}: {message}"
    elif console.json:
        document["predictions"] = predictions.to_dict("list")
    else:
        write_line(as_csv(predictions), sys.stdout, end="")
    console.done(f"{message}{_said(score)}.", document)


def _predictions(model: Any, X: pd.DataFrame, *, probabilities: bool) -> pd.DataFrame:
    if getattr(model, "n_outputs_", 1) > 1:
        raise ValueError(
            f"The model predicts {model.n_outputs_} columns, and randsub predict writes one "
            "prediction per row. Read it in Python, with randsub.io.ModelFolder.read(path).model, "
            "and call its predict."
        )
    # A model that was trained on arrays would warn about the names.
    table = X if hasattr(model, "feature_names_in_") else X.to_numpy()
    if not probabilities:
        return pd.DataFrame({"prediction": model.predict(table)}, index=X.index)
    # predict takes the class with the highest probability, too.
    p = model.predict_proba(table)
    columns = {"prediction": model.classes_[np.argmax(p, axis=1)]}
    columns |= {f"p_{label}": p[:, c] for c, label in enumerate(model.classes_)}
    return pd.DataFrame(columns, index=X.index)


def _scores(
    fitted: FittedModel, path: Path, frame: pd.DataFrame, X: pd.DataFrame, predictions: Any
) -> dict[str, Any]:
    """Scores of the predictions for new rows and for training rows, as far as there are both.

    Nothing, unless the table has the target in every row.
    """
    if fitted.target not in frame.columns:
        return {}
    y = frame[fitted.target]
    if y.isna().any() or len(y) < 2:
        return {}
    labels = np.asarray(fitted.labels(path, y))
    known = fitted.known_rows(X, labels)
    score = r2_score if fitted.task == "regression" else accuracy_score
    found: dict[str, Any] = {"target": fitted.target, "metric": METRICS[fitted.task]}
    # Where new rows cannot be told from training rows, none of them is scored as new.
    parts = {"score": known.new, "training_score": np.setdiff1d(np.arange(len(y)), known.new)}
    for name, rows in parts.items():
        if len(rows) > 1:
            found[name] = float(score(labels[rows], predictions[rows]))
    if known.is_known.any():
        found |= {"training_rows": int(known.is_known.sum()), "known": str(known)}
    return found


def _said(score: dict[str, Any]) -> str:
    """The scores as the end of a sentence, each named for what it is."""
    if "score" not in score and "training_score" not in score:
        return f"; {score['known']}" if "known" in score else ""
    metric = score["metric"]
    if "known" not in score:
        return f"; {metric} {score['score']:.4f} for the target {score['target']!r}"
    said = f"; {score['known']}"
    if "score" in score:
        said += f", and {metric} of the others is {score['score']:.4f} for {score['target']!r}"
    if "training_score" in score:
        said += f". On training rows {metric} is {score['training_score']:.4f}: how well they are "
        said += "remembered, not how well new rows are predicted"
    return said
