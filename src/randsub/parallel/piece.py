"""What a worker does: train the models of a piece."""

import time
from collections.abc import Sequence
from typing import Any, Literal, TypeAlias

from randsub._joblib import cloudpickle
from randsub._typing import BoolArray, IntArray, Table
from randsub.engines.base import Engine, short_name
from randsub.exceptions import BaseModelError
from randsub.parallel.assignment import Data, Rows
from randsub.parallel.blas_threads import one_thread

# What becomes of the models of a task. Those that come from another machine are pickled there.
Wanted: TypeAlias = Literal["predictions", "models", "pickled models"]


def run_piece(
    wanted: Wanted,
    engines: Sequence[Engine],
    data: Data,
    rows: Rows,
    columns: IntArray,
    masks: BoolArray,
    seeds: IntArray,
) -> tuple[Any, float]:
    """Train the models of a piece, wherever that is; the result, and the seconds that it took."""
    result: Any
    engine = engines[rows.base]
    with one_thread():
        start = time.perf_counter()
        train, weight, params = data.part(rows.train, columns, rows.base)
        X: Table = train if engine.on_device else train.table()
        unit, y = engine.learner.unit, rows.targets
        if unit is not None:
            y = unit.of_targets(y)
        try:
            if wanted == "predictions":
                query = data.query(rows.query, rows.val, columns, rows.base)
                X_query: Table = query if engine.on_device else query.table()
                result = engine.predict_many(X, y, masks, X_query, seeds, weight, params)
                if unit is not None:
                    result = unit.of_predictions(result)
            else:
                result = engine.fit_many(X, y, masks, seeds, weight, params)
                if unit is not None:
                    for model in result:
                        unit.turn_back(model)
        except BaseModelError as error:
            raise data.located(error.among(columns.tolist()), rows.base) from error.__cause__
        seconds = time.perf_counter() - start
    if wanted == "pickled models":
        result = [
            _pickled(engine, model, columns[mask])
            for model, mask in zip(result, masks, strict=True)
        ]
    return result, seconds


def _pickled(engine: Engine, model: Any, columns: IntArray) -> bytes:
    """A fitted model, ready to be sent back.

    Where that fails inside the task, it is an error like any other. A backend that pickles the
    model might wait for ever for an answer that it has failed to send.
    """
    try:
        return bytes(cloudpickle.dumps(model))
    except Exception as failure:
        reason = (
            f"once fitted it cannot be sent back from its worker ({type(failure).__name__}: "
            f"{failure}). n_jobs=1 fits it here"
        )
        raise BaseModelError(short_name(engine.learner), reason, columns.tolist()) from failure
