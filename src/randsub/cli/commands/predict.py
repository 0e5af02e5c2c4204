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
from randsub.cli.tables import check_table_file, read_table, write_table
from randsub.cli.tables.table_writer import as_csv


def run(args: argparse.Namespace) -> None:
    """Predict, and score the predictions if the table has the target."""
    if args.output is not None:
        check_table_file(args.output)
    console = Console(args)
    fitted = FittedModel(args)
    if args.probabilities and fitted.task != "classification":
        raise ValueError(
            f"--probabilities is for classification, but {args.model} is a regression model."
        )
    frame = read_table(args.data, args.separator)
    X = fitted.features(args.data, frame)
    if args.jobs is not None:
        fitted.model.set_params(n_jobs=args.jobs)
    predictions = _predictions(fitted.model, X, probabilities=args.probabilities)
    score = _score(fitted, args.data, frame, predictions["prediction"])
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
    if score:
        message += f"; {score['metric']} {score['score']:.4f} for the target {score['target']!r}"
    console.done(f"{message}.", document)


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


def _score(
    fitted: FittedModel, path: Path, frame: pd.DataFrame, predictions: Any
) -> dict[str, Any]:
    """Score of the predictions, if the table has the target in every row."""
    if fitted.target not in frame.columns:
        return {}
    y = frame[fitted.target]
    if y.isna().any() or len(y) < 2:
        return {}
    is_regression = fitted.task == "regression"
    score = (r2_score if is_regression else accuracy_score)(fitted.labels(path, y), predictions)
    metric = "R2" if is_regression else "accuracy"
    return {"target": fitted.target, "metric": metric, "score": float(score)}
