"""The state of training as a tree of plain values and arrays, and back.

What follows from the problem is not written: targets, weights and types. Everything that is read
is checked against the problem, so that a forged file leads to an error and not to an array that is
read beyond its end.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from randsub._masks import sparse_rows
from randsub._typing import FloatArray, IntArray
from randsub.solver.alpha_path import AlphaPath
from randsub.solver.problem import Problem, Settings
from randsub.solver.rounds import Batch, HeldMasks, Proposal, Round
from randsub.solver.state import EpochRecord, Result, TrainingState

_COLUMN_TYPES = {**EpochRecord.__annotations__, "shares": float}
_BIT_GENERATORS = ("PCG64", "PCG64DXSM", "Philox", "SFC64", "MT19937")


def frozen(state: TrainingState) -> dict[str, Any]:
    """A tree from which :func:`thawed` makes the same state, bit for bit."""
    return {
        **frozen_result(state),
        "optimizer": list(state.optimizer),
        "rounds": [[_frozen_round(round_) for round_ in of_task] for of_task in state.rounds],
        "revivals": [list(epochs) for epochs in state.revivals],
    }


def frozen_result(result: Result) -> dict[str, Any]:
    """A tree from which :func:`thawed_result` makes the same result, bit for bit."""
    return {
        **vars(result),
        "generators": list(result.generators),
        "history": frozen_history(result.history),
        "path": {
            "epochs": np.array(result.path.epochs, dtype=int),
            "alphas": np.array(result.path.alphas, dtype=np.float32),
        },
    }


def frozen_history(history: tuple[EpochRecord, ...]) -> dict[str, Any]:
    """The history, one array per column."""
    columns = zip(*history, strict=True) if history else [()] * len(EpochRecord._fields)
    return {
        name: np.array(column, dtype=_COLUMN_TYPES[name])
        for name, column in zip(EpochRecord._fields, columns, strict=True)
    }


def _frozen_round(round_: Round) -> dict[str, Any]:
    masks = round_.masks.whole()
    return {
        **vars(round_.batch),
        **vars(round_.proposal),
        "indices": masks.indices,
        "indptr": masks.indptr,
        "log_q": round_.log_q,
        "predictions": round_.predictions,
        "validation": round_.validation,
    }


def thawed(tree: Mapping[str, Any], problem: Problem, settings: Settings) -> TrainingState:
    """The state that was frozen; raises a ValueError if it does not belong to this problem."""
    try:
        return _thawed(tree, problem, settings)
    except (KeyError, TypeError, IndexError, AttributeError) as error:
        raise ValueError(f"{type(error).__name__}: {error}") from error


def thawed_result(tree: Mapping[str, Any], problem: Problem) -> Result:
    """The result that was frozen; raises an error if it does not belong to this problem."""
    n_tasks = len(problem.targets)
    of_verdicts = (1 if problem.joint else n_tasks,)
    generators = tuple(_generator(entry) for entry in tree["generators"])
    if len(generators) != n_tasks:
        raise ValueError(f"{len(generators)} generators")
    shape = (n_tasks * problem.n_bases, problem.distribution.n_parameters)
    return Result(
        best_theta=_array(tree, "best_theta", shape, "f"),
        best_shares=_shares(tree, "best_shares", (n_tasks, problem.n_bases)),
        best_objectives=_array(tree, "best_objectives", of_verdicts, "f"),
        best_epochs=_array(tree, "best_epochs", of_verdicts, "i"),
        best_scores=_array(tree, "best_scores", (n_tasks,), "f"),
        generators=generators,
        history=thawed_history(tree["history"], problem.n_bases),
        n_models_trained=int(tree["n_models_trained"]),
        path=_path(tree["path"], problem),
        stopped=None if tree["stopped"] is None else str(tree["stopped"]),
    )


def _path(tree: Mapping[str, Any], problem: Problem) -> AlphaPath:
    """Alpha along the epochs; of networks, it is not recorded."""
    if not problem.most_snapshots:
        return AlphaPath()
    n_snapshots = len(tree["epochs"])
    epochs = _array(tree, "epochs", (n_snapshots,), "i")
    if not 0 < n_snapshots <= problem.most_snapshots or epochs[0] or (np.diff(epochs) <= 0).any():
        raise ValueError(f"alpha after the epochs {epochs.tolist()}")
    shape = (n_snapshots, len(problem.targets), problem.distribution.n_parameters)
    return AlphaPath(tuple(epochs.tolist()), tuple(_array(tree, "alphas", shape, "f")))


def thawed_history(tree: Mapping[str, Any], n_bases: int = 1) -> tuple[EpochRecord, ...]:
    """The records of the epochs, with the shares of so many base models."""
    if len(tree["shares"]):
        _array(tree, "shares", (len(tree["shares"]), n_bases), "f")
    columns = [tree[name].tolist() for name in EpochRecord._fields]
    records = [EpochRecord(*row) for row in zip(*columns, strict=True)]
    return tuple(record._replace(shares=tuple(record.shares)) for record in records)


def _thawed(tree: Mapping[str, Any], problem: Problem, settings: Settings) -> TrainingState:
    result = thawed_result(tree, problem)
    of_rows, of_verdicts = (len(result.best_theta),), result.best_epochs.shape
    arrays = {
        "theta": (result.best_theta.shape, "f"),
        "due": (of_rows, "i"),
        "barred": (result.best_theta.shape, "b"),
        "best_criteria": (of_verdicts, "f"),
        "objectives": (of_verdicts, "f"),
        "verdicts": (of_verdicts, "f"),
        "ess": (of_rows, "f"),
        "mark_objectives": (of_verdicts, "f"),
        "mark_epochs": (of_verdicts, "i"),
    }
    checked = {name: _array(tree, name, *wanted) for name, wanted in arrays.items()}
    shares = _shares(tree, "shares", result.best_shares.shape)
    rounds = tuple(
        _rounds_of_row(entries, problem, settings, row, has_share=bool(share > 0.0))
        for row, (entries, share) in enumerate(zip(tree["rounds"], shares.ravel(), strict=True))
    )
    for of_task in np.split(np.arange(len(rounds)), len(problem.targets)):
        first, *others = [rounds[row] for row in of_task.tolist() if rounds[row]] or [()]
        if any(_query_rows(other) != _query_rows(first) for other in others):
            raise ValueError("base models with different batches")
    epoch = int(tree["epoch"])
    revivals = tuple(tuple(map(int, epochs)) for epochs in tree["revivals"])
    counts = {"epochs": len(result.history), "revivals": len(revivals)}
    if tuple(counts.values()) != (epoch, *of_verdicts):
        raise ValueError(f"wrong numbers of parts: {counts}")
    return TrainingState(
        **vars(result),
        **checked,
        shares=shares,
        epoch=epoch,
        optimizer=_memory(tree["optimizer"], problem, checked["theta"]),
        rounds=rounds,
        revivals=revivals,
    )


def _query_rows(rounds: tuple[Round, ...]) -> list[list[int]]:
    return [round_.batch.query_rows.tolist() for round_ in rounds]


def _memory(entries: list[Any], problem: Problem, theta: FloatArray) -> Any:
    """The optimiser's memory, in the type that it has at the start."""
    template = problem.optimizer.init(theta)
    if [entry.shape for entry in entries] != [np.shape(t) for t in template]:
        raise ValueError("the memory of another optimiser")
    return type(template)(*entries)


def _generator(entry: Mapping[str, Any]) -> Mapping[str, Any]:
    if entry["bit_generator"] not in _BIT_GENERATORS:
        raise ValueError(f"an unknown generator, {entry['bit_generator']!r}")
    # Assigning the state is what checks it.
    bit_generator = getattr(np.random, entry["bit_generator"])()
    bit_generator.state = entry
    return dict(entry)


def _shares(tree: Mapping[str, Any], name: str, shape: tuple[int, ...]) -> FloatArray:
    shares = _array(tree, name, shape, "f")
    if not ((shares >= 0.0).all() and np.allclose(shares.sum(axis=1), 1.0)):
        raise ValueError(f"{name} that do not add up to 1")
    return shares


def _rounds_of_row(
    entries: list[Any], problem: Problem, settings: Settings, row: int, *, has_share: bool
) -> tuple[Round, ...]:
    if not entries and not has_share:
        return ()
    if len(entries) != settings.n_batches:
        raise ValueError(f"{len(entries)} batches instead of {settings.n_batches}")
    return tuple(_round(entry, problem, settings, row) for entry in entries)


def _round(entry: Mapping[str, Any], problem: Problem, settings: Settings, row: int) -> Round:
    target, n_masks, window = problem.target(row), settings.n_masks, settings.n_generations
    n_rows, n_outputs = target.encoded.shape
    n_parameters = problem.distribution.n_parameters
    query_rows = _indices(entry, "query_rows", n_rows)
    masks = _masks(entry, n_masks, n_parameters)
    return Round(
        batch=Batch(_indices(entry, "train_rows", n_rows), query_rows),
        proposal=Proposal(
            _array(entry, "thetas", (window, n_parameters), "f"),
            _indices(entry, "generations", window, n_masks),
        ),
        masks=HeldMasks.of(masks, is_independent=problem.distribution.is_independent),
        log_q=_array(entry, "log_q", (n_masks,), "f"),
        predictions=_array(entry, "predictions", (n_masks, len(query_rows), n_outputs), "f"),
        validation=_array(entry, "validation", (n_masks, len(target.val_rows), n_outputs), "f"),
        targets=target.encoded[query_rows],
        sample_weight=problem.sample_weight[query_rows],
    )


def _masks(entry: Mapping[str, Any], n_masks: int, n_parameters: int) -> csr_array:
    indices = _indices(entry, "indices", n_parameters)
    indptr = _indices(entry, "indptr", len(indices) + 1, n_masks + 1)
    is_whole = indptr[0] == 0 and indptr[-1] == len(indices) and (np.diff(indptr) >= 0).all()
    if not is_whole:
        raise ValueError("masks with invalid indices")
    return sparse_rows(indptr, indices, n_parameters)


def _array(entry: Mapping[str, Any], name: str, shape: tuple[int, ...], kind: str) -> Any:
    value = entry[name]
    if value.shape != shape or value.dtype.kind != kind:
        raise ValueError(f"{name} of shape {value.shape} and type {value.dtype}, not {shape}")
    return value


def _indices(entry: Mapping[str, Any], name: str, stop: int, length: int | None = None) -> IntArray:
    """Indices below ``stop``, of any length unless one is given."""
    value = _array(entry, name, (len(entry[name]) if length is None else length,), "i")
    if ((value < 0) | (value >= stop)).any():
        raise ValueError(f"{name} that are not between 0 and {stop}")
    return value
