"""Tasks that do not depend on each other, each on a worker of its own.

The steps of the loop are Python code, which runs on one thread; other threads only help to train
base models. Where tasks are trained by several processes, or by the workers of a cluster, none of
it waits for the others.
"""

import pickle
import threading
import time
import warnings
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace
from itertools import count, takewhile
from typing import Any, NamedTuple

import numpy as np

from randsub._joblib import cloudpickle
from randsub._typing import FloatArray
from randsub.parallel import Dispatcher
from randsub.solver.callback import Callback
from randsub.solver.interruption import is_interruption, warn_of_repeats
from randsub.solver.loop import solve
from randsub.solver.problem import Problem, Settings
from randsub.solver.state import INTERRUPTED, Result, was_interrupted

# Starting processes takes about four seconds. Two of them gain nothing on much shorter work.
SECONDS_WORTH_SPREADING = 12.0


class Part(NamedTuple):
    """One task: fields of its problem without the dispatcher, and how it is solved."""

    problem: dict[str, Any]
    settings: Settings
    theta: FloatArray
    rng: np.random.Generator


def solve_each(
    problem: Problem,
    settings: Settings,
    theta: FloatArray,
    rngs: Sequence[np.random.Generator],
    callbacks: Sequence[Callback] = (),
) -> list[Result]:
    """Train each task of a problem as if it were alone.

    The first task is trained here, which shows how long one takes. If the others would take long,
    they are given to the workers outside this process. Results are the same wherever they come
    from.

    Parameters
    ----------
    problem : Problem
        Of P tasks that no penalty couples.
    settings : Settings
    theta : ndarray of shape (R, M)
    rngs : sequence of P numpy.random.Generator
    callbacks : sequence of Callback, default=()
        Callbacks of the first task.

    Returns
    -------
    results : list of Result
        Of one task each, in their order. After Ctrl-C those of the first tasks, as far as all are
        finished, or the unfinished one of the first.
    """
    fields = {name: value for name, value in vars(problem).items() if name != "dispatcher"}
    parts = [
        Part({**fields, "targets": [target]}, settings, rows, rng)
        for target, rows, rng in zip(problem.targets, np.split(theta, len(rngs)), rngs, strict=True)
    ]
    begin = time.perf_counter()
    first = _solved(problem.dispatcher, parts[0], callbacks, keeps_unfinished=True)
    if was_interrupted(first.stopped):
        return [first]
    seconds = (time.perf_counter() - begin) * (len(parts) - 1)
    results: dict[int, Result] = {0: first}
    try:
        if seconds > SECONDS_WORTH_SPREADING:
            _spread(problem.dispatcher, parts, results)
        for n in range(len(parts)):
            if n not in results:
                results[n] = _solved(problem.dispatcher, parts[n])
    except (KeyboardInterrupt, SystemError) as error:
        if not is_interruption(error):
            raise
        # What a worker has sent of a later task is of no use: results have the places of their
        # tasks.
        results = {n: results[n] for n in takewhile(results.__contains__, count())}
        last = len(results) - 1
        results[last] = replace(results[last], stopped=INTERRUPTED)
        warn_of_repeats(len(results), len(parts))
    return [results[n] for n in range(len(results))]


def _solved(
    dispatcher: Dispatcher,
    part: Part,
    callbacks: Sequence[Callback] = (),
    *,
    keeps_unfinished: bool = False,
) -> Result:
    """The result of a part, which is finished unless the first is all that there is."""
    return solve(
        Problem(dispatcher=dispatcher, **part.problem),
        part.settings,
        part.theta,
        [part.rng],
        callbacks,
        keeps_unfinished=keeps_unfinished,
    ).result()


# -- elsewhere -------------------------------------------------------------------------------------


def _spread(dispatcher: Dispatcher, parts: Sequence[Part], results: dict[int, Result]) -> None:
    """Add what can be trained elsewhere, of all parts but the first, to the results."""
    try:
        letters = [cloudpickle.dumps(part) for part in parts[1:]]
    except Exception:
        # A loss of the user may hold something that cannot be sent.
        return
    places = count(1)

    def keep(answer: bytes) -> None:
        n, result = next(places), _heard(answer)
        if result is not None:
            results[n] = result

    dispatcher.spread(_answer, letters, keep)


def _answer(dispatcher: Dispatcher, letter: bytes) -> bytes:
    """Train a part on its worker: the result and the warnings, or nothing.

    Whatever goes wrong, from code that is missing there to a base model that fails, the part is
    trained again where it came from, where an error is raised as it is.
    """
    try:
        part = pickle.loads(letter)
        # Warnings belong to the process. Other threads, as on Dask's workers, have theirs.
        is_main = threading.current_thread() is threading.main_thread()
        with warnings.catch_warnings(record=True) if is_main else nullcontext([]) as caught:
            result = _solved(dispatcher, part)
        return pickle.dumps((result, [_portable(warning.message) for warning in caught]))
    except Exception:
        return b""


def _portable(message: Any) -> Any:
    """A warning, or its words if a warning of its type cannot be made from a copy."""
    try:
        return pickle.loads(pickle.dumps(message))
    except Exception:
        return UserWarning(str(message))


def _heard(answer: bytes) -> Result | None:
    if not answer:
        return None
    result, messages = pickle.loads(answer)
    for message in messages:
        warnings.warn(message, stacklevel=2)
    return result
