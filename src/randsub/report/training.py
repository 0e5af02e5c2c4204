"""How training went, as charts."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from randsub._typing import FloatArray
from randsub.ensemble.base import BasePRS
from randsub.ensemble.subspace import SubspaceEnsemble
from randsub.report.charts import Line, LineChart
from randsub.report.wording import number


def training_charts(model: SubspaceEnsemble) -> list[LineChart]:
    """Charts of whatever the model recorded while it was trained; may be none."""
    if isinstance(model, BasePRS):
        return _epoch_charts(model, model.history_)
    history = getattr(model, "history_", None)
    if history is not None and len(history) > 1:
        return _iteration_charts(history)
    return []


def _epoch_charts(model: BasePRS, history: pd.DataFrame) -> list[LineChart]:
    if len(history) < 2:
        return []
    epochs = history.index.to_numpy()
    held_out = history["objective"].to_numpy()
    validation = history["validation_objective"].to_numpy()
    size = history["expected_size"].to_numpy()
    ess = history["min_ess"].to_numpy() / model.n_estimators
    best = ("best epoch, kept", float(model.best_iter_))
    revived = [("dropped features revived", float(e)) for e in epochs[history["revived"]]]
    refreshed = epochs[history["refreshed"]]
    return [
        LineChart(
            "objective",
            "Objective",
            f"The validation objective falls from {number(validation[0])} to "
            f"{number(validation.min())} at epoch {model.best_iter_:,} of {len(history):,}.",
            epochs,
            "Epoch",
            [Line("validation", validation), Line("held-out batches", held_out, "second")],
            marks=[best, *revived],
        ),
        LineChart(
            "size",
            "Features that a member sees, on average",
            f"The expected size goes from {number(size[0])} to {number(size[-1])}; the best epoch "
            f"has {number(model.expected_size_)}.",
            epochs,
            "Epoch",
            [Line("expected size", size)],
            marks=[best, *revived],
            from_zero=True,
        ),
        LineChart(
            "ess",
            "Effective share of the models",
            f"The smallest share is {number(ess.min())}; models were renewed in "
            f"{len(refreshed):,} of {len(history):,} epochs.",
            epochs,
            "Epoch",
            [Line("smallest over the batches", ess)],
            level=("renewed below this", float(model.ess_threshold)),
            ticks=refreshed,
            from_zero=True,
        ),
    ]


def _iteration_charts(history: pd.DataFrame) -> list[LineChart]:
    """Of a search in iterations: every figure it recorded that is a number."""
    x: FloatArray = history.index.to_numpy()
    charts = []
    for name in _numeric(history):
        values = history[name].to_numpy(dtype=float)
        if np.isfinite(values).any():
            spoken = name.replace("_", " ")
            summary = f"From {number(values[0])} to {number(values[-1])}."
            title = spoken[0].upper() + spoken[1:]
            charts.append(LineChart(name, title, summary, x, "Iteration", [Line(spoken, values)]))
    return charts


def _numeric(history: pd.DataFrame) -> Sequence[str]:
    return [str(name) for name in history.select_dtypes("number").columns]
