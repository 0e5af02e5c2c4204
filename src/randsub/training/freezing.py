"""The state of the loop as a tree of plain values and arrays, and back.

What follows from the problem is not written: targets, weights, and the types of things. Whatever
comes back is checked against the problem, so that a file which somebody has made up leads to an
error and not to an array that is read beyond its end.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from randsub._typing import FloatArray, IntArray
from randsub.distributions.base import INDEX_TYPE
from randsub.training.batches import Batch
from randsub.training.problem import Problem, Settings
from randsub.training.rounds import Proposal, Round
from randsub.training.state import EpochRecord, TrainingState

_NUMBERS = {"epoch": int, "mark_epoch": int, "n_models_trained": int, "n_revived": int}
_BIT_GENERATORS = ("PCG64", "PCG64DXSM", "Philox", "SFC64", "MT19937")


def frozen(state: TrainingState) -> dict[str, Any]:
    """A tree that :func:`thawed` makes the same state of, bit for bit."""
    return {
        **{name: getattr(state, name) for name in _NUMBERS},
        "mark_objective": state.mark_objective,
        "theta": state.theta,
        "optimizer": list(state.optimizer),
        "rounds": [[_frozen_round(round_) for round_ in of_task] for of_task in state.rounds],
        "due": state.due,
        "generators": [_plain(generator) for generator in state.generators],
        "history": frozen_history(state.history),
        "barred": state.barred,
        "best_theta": state.best_theta,
        "best_objectives": state.best_objectives,
        "best_epochs": state.best_epochs,
        "stopped": state.stopped,
    }


def thawed(tree: Mapping[str, Any], problem: Problem, settings: Settings) -> TrainingState:
    """The state that was frozen; raises a ValueError where it is not one of this problem."""
    try:
        return _thawed(tree, problem, settings)
    except (KeyError, TypeError, IndexError, AttributeError) as error:
        raise ValueError(f"{type(error).__name__}: {error}") from error


def frozen_history(history: tuple[EpochRecord, ...]) -> dict[str, Any]:
    """The history, one array a column."""
    columns = zip(*history, strict=True) if history else [()] * len(EpochRecord._fields)
    kinds = EpochRecord.__annotations__
    return {
        name: np.array(column, dtype=kinds[name])
        for name, column in zip(EpochRecord._fields, columns, strict=True)
    }


def thawed_history(tree: Mapping[str, Any]) -> tuple[EpochRecord, ...]:
    """The records again."""
    columns = [tree[name].tolist() for name in EpochRecord._fields]
    return tuple(EpochRecord(*row) for row in zip(*columns, strict=True))


def _frozen_round(round_: Round) -> dict[str, Any]:
    return {
        "train_rows": round_.batch.train_rows,
        "query_rows": round_.batch.query_rows,
        "thetas": round_.proposal.thetas,
        "generations": round_.proposal.generations,
        "indices": round_.masks.indices,
        "indptr": round_.masks.indptr,
        "log_q": round_.log_q,
        "predictions": round_.predictions,
        "validation": round_.validation,
    }


def _plain(generator: Any) -> Any:
    if isinstance(generator, Mapping):
        return {key: _plain(value) for key, value in generator.items()}
    return generator


def _thawed(tree: Mapping[str, Any], problem: Problem, settings: Settings) -> TrainingState:
    n_tasks, n_parameters = problem.n_tasks, problem.distribution.n_parameters
    theta = _array(tree, "theta", (n_tasks, n_parameters), "f")
    n_verdicts = n_tasks if problem.penalty is None else 1
    history = thawed_history(tree["history"])
    numbers = {name: kind(tree[name]) for name, kind in _NUMBERS.items()}
    if len(history) != numbers["epoch"]:
        raise ValueError(f"{len(history)} records of {numbers['epoch']} epochs")
    if len(tree["rounds"]) != n_tasks or len(tree["generators"]) != n_tasks:
        raise ValueError(f"rounds of {len(tree['rounds'])} tasks where there are {n_tasks}")
    return TrainingState(
        **numbers,
        mark_objective=float(tree["mark_objective"]),
        theta=theta,
        optimizer=_memory(tree["optimizer"], problem, theta),
        rounds=tuple(
            _task_rounds(rounds, problem, settings, task)
            for task, rounds in enumerate(tree["rounds"])
        ),
        due=_array(tree, "due", (n_tasks,), "i"),
        generators=tuple(_generator(entry) for entry in tree["generators"]),
        history=history,
        barred=_array(tree, "barred", theta.shape, "b"),
        best_theta=_array(tree, "best_theta", theta.shape, "f"),
        best_objectives=_array(tree, "best_objectives", (n_verdicts,), "f"),
        best_epochs=_array(tree, "best_epochs", (n_verdicts,), "i"),
        stopped=None if tree["stopped"] is None else str(tree["stopped"]),
    )


def _memory(entries: list[Any], problem: Problem, theta: FloatArray) -> Any:
    """The optimiser's memory, in the type that it has at the start."""
    template = problem.optimizer.init(theta)
    if [e.shape for e in entries] != [np.shape(t) for t in template]:
        raise ValueError("the memory of another optimiser")
    return type(template)(*entries)


def _generator(entry: Mapping[str, Any]) -> Mapping[str, Any]:
    if entry["bit_generator"] not in _BIT_GENERATORS:
        raise ValueError(f"an unknown generator, {entry['bit_generator']!r}")
    # Assigning the state is what checks it.
    bit_generator = getattr(np.random, entry["bit_generator"])()
    bit_generator.state = entry
    return dict(entry)


def _task_rounds(
    entries: list[Any], problem: Problem, settings: Settings, task: int
) -> tuple[Round, ...]:
    if len(entries) != settings.n_batches:
        raise ValueError(f"{len(entries)} batches where there are {settings.n_batches}")
    return tuple(_round(entry, problem, settings, task) for entry in entries)


def _round(entry: Mapping[str, Any], problem: Problem, settings: Settings, task: int) -> Round:
    target, n_masks = problem.targets[task], settings.n_masks
    n_rows, n_outputs = target.encoded.shape
    query_rows = _indices(entry, "query_rows", n_rows)
    thetas = _array(entry, "thetas", (settings.window, problem.distribution.n_parameters), "f")
    generations = _indices(entry, "generations", len(thetas))
    masks = _masks(entry, n_masks, problem.distribution.n_parameters)
    held = np.zeros(problem.distribution.n_parameters, dtype=bool)
    held[masks.indices] = True
    if generations.shape != (n_masks,):
        raise ValueError(f"generations of {len(generations)} masks where there are {n_masks}")
    return Round(
        batch=Batch(_indices(entry, "train_rows", n_rows), query_rows),
        proposal=Proposal(thetas, generations),
        masks=masks,
        log_q=_array(entry, "log_q", (n_masks,), "f"),
        predictions=_array(entry, "predictions", (n_masks, len(query_rows), n_outputs), "f"),
        validation=_array(entry, "validation", (n_masks, len(problem.val_rows), n_outputs), "f"),
        targets=target.encoded[query_rows],
        sample_weight=problem.sample_weight[query_rows],
        absent=np.flatnonzero(~held),
    )


def _masks(entry: Mapping[str, Any], n_masks: int, n_parameters: int) -> csr_array:
    indices = _indices(entry, "indices", n_parameters)
    indptr = _indices(entry, "indptr", len(indices) + 1)
    whole = len(indptr) == n_masks + 1 and indptr[0] == 0 and indptr[-1] == len(indices)
    short = indices.dtype == INDEX_TYPE == indptr.dtype
    if not (whole and short) or (np.diff(indptr) < 0).any():
        raise ValueError("masks that are none")
    masks = csr_array((n_masks, n_parameters))
    masks.indices, masks.indptr, masks.data = indices, indptr, np.ones(len(indices))
    return masks


def _array(entry: Mapping[str, Any], name: str, shape: tuple[int, ...], kind: str) -> Any:
    value = entry[name]
    if value.shape != shape or value.dtype.kind != kind:
        raise ValueError(f"{name} of shape {value.shape} and type {value.dtype}, not {shape}")
    return value


def _indices(entry: Mapping[str, Any], name: str, stop: int) -> IntArray:
    value = entry[name]
    if value.ndim != 1 or value.dtype.kind != "i" or ((value < 0) | (value >= stop)).any():
        raise ValueError(f"{name} that are not between 0 and {stop}")
    return value
