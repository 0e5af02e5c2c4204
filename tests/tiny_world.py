"""A world in which nothing is trained: models answer by a formula of their mask, at once.

Every row of the data carries its own number in all of its columns, so a prediction tells from which
row it came. Training rows are numbered 0, 1, ...; rows of the validation table 1000, 1001, ...
A task is known to the models by its targets, which are its number.
"""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import issparse

from randsub._typing import BoolArray, FloatArray, IntArray, Table
from randsub.distributions import Bernoulli, SubsetDistribution
from randsub.engines import Engine, Learner
from randsub.losses import Loss, Reference, SquaredError
from randsub.optim import Optimizer, ProjectedAdam
from randsub.optim.base import Projection
from randsub.parallel import Data, Dispatcher
from randsub.penalties import Penalty
from randsub.solver import (
    Callback,
    Problem,
    Run,
    Settings,
    Solver,
    Target,
    TrainingState,
    Window,
    start,
)

FIRST_VALIDATION_ROW = 1000

# masks (T, M), rows (n,), task and seeds (T,) to predictions (T, n, C)
Formula = Callable[[BoolArray, IntArray, int, IntArray], FloatArray]


class Asked(NamedTuple):
    """One call of the engine."""

    train_rows: IntArray
    rows: IntArray
    task: int
    masks: BoolArray
    seeds: IntArray


class FormulaEngine(Engine):
    """Predictions by a formula; remembers what it was asked."""

    def __init__(self, formula: Formula, n_outputs: int = 1) -> None:
        super().__init__(Learner(None, None if n_outputs == 1 else np.arange(n_outputs)))
        self.formula = formula
        self.asked: list[Asked] = []
        self.before_answer: Callable[[int], None] = lambda n_calls: None

    @classmethod
    def is_usable_for(
        cls, estimator: Any, X: Table, y: Any, sample_weight: FloatArray | None
    ) -> bool:
        return False

    def predict_many(
        self,
        X_train: Table,
        y_train: Any,
        masks: BoolArray,
        X_query: Table,
        seeds: IntArray,
        sample_weight: FloatArray | None = None,
        fit_params: Mapping[str, Any] | None = None,
    ) -> FloatArray:
        rows, task = X_query[:, 0].astype(int), int(y_train[0])
        self.asked.append(Asked(X_train[:, 0].astype(int), rows, task, masks, seeds))
        self.before_answer(len(self.asked))
        return self.formula(masks, rows, task, seeds)

    def fit_many(self, *args: Any, **kwargs: Any) -> list[Any]:
        raise NotImplementedError

    @property
    def n_models(self) -> int:
        """Models trained so far."""
        return sum(len(call.masks) for call in self.asked)


def signal(rows: IntArray, task: int = 0) -> FloatArray:
    """A target (n, 1) that differs from row to row and from task to task."""
    return np.sin(1.7 * rows + task)[:, np.newaxis]


def first_feature_helps(masks: BoolArray, rows: IntArray, task: int, seeds: IntArray) -> FloatArray:
    """Feature number ``task`` gives the target; every other one adds an error of its own."""
    target = signal(rows, task)[:, 0]
    errors = np.cos(np.outer(np.arange(masks.shape[1]) + 2.0, rows) * 0.9)
    errors[task] = target
    # Not a matrix product: its last bits may depend on how many models are asked at once.
    return sum(np.outer(held, error) for held, error in zip(masks.T, errors, strict=True))[
        ..., np.newaxis
    ]


def noisy(masks: BoolArray, rows: IntArray, task: int, seeds: IntArray) -> FloatArray:
    """The same with a model's seed in its answers, so that seeds matter."""
    noise = np.sin(seeds[:, np.newaxis] % 1013 + rows)[..., np.newaxis]
    return first_feature_helps(masks, rows, task, seeds) + 0.3 * noise


def nothing(masks: BoolArray, rows: IntArray, task: int, seeds: IntArray) -> FloatArray:
    """Every model predicts 0."""
    return np.zeros((len(masks), len(rows), 1))


def zero(rows: IntArray, task: int = 0) -> FloatArray:
    """Every target is 0."""
    return np.zeros((len(rows), 1))


class PathState(NamedTuple):
    """Steps taken, shape (P,)."""

    steps: IntArray


class Path(Optimizer):
    """Moves theta along a given path, whatever the gradient: every entry to one level an epoch.

    Without levels theta stays where it is. The memory counts steps, and a new memory starts the
    path again.
    """

    def __init__(self, levels: tuple[float, ...] = (), n_batches: int = 3) -> None:
        self.levels = levels
        self.n_batches = n_batches

    def init(self, theta: FloatArray) -> PathState:
        return PathState(np.zeros(len(theta), dtype=int))

    def update(
        self, gradient: FloatArray, state: PathState, theta: FloatArray, project: Projection
    ) -> tuple[FloatArray, PathState]:
        steps = state.steps + 1
        if self.levels:
            epoch = np.minimum((steps - 1) // self.n_batches, len(self.levels) - 1)
            theta = np.broadcast_to(np.array(self.levels)[epoch, np.newaxis], theta.shape).copy()
        return theta, PathState(steps)


class Height(Penalty):
    """The penalty is the mean of theta: with :class:`Path`, an objective that is known exactly."""

    def value(self, theta: FloatArray) -> float:
        return float(theta.mean())

    def gradient(self, theta: FloatArray) -> FloatArray:
        return np.full_like(theta, 1.0 / theta.size)


class Recorder(Callback):
    """Keeps the state after every epoch; the first one is that before them."""

    def __init__(self) -> None:
        self.states: list[TrainingState] = []

    def on_start(self, settings: Settings, state: TrainingState) -> None:
        self.states.append(state)

    def on_epoch_end(self, state: TrainingState) -> None:
        self.states.append(state)


def make_problem(
    formula: Formula | Sequence[Formula] = first_feature_helps,
    *,
    n_features: int = 4,
    n_tasks: int = 1,
    n_rows: int = 24,
    n_val: int = 6,
    n_outputs: int = 1,
    target: Callable[[IntArray, int], FloatArray] = signal,
    reference: Reference | None = None,
    strata: Sequence[IntArray] | None = None,
    distribution: SubsetDistribution | None = None,
    loss: Loss | None = None,
    penalty: Penalty | None = None,
    optimizer: Optimizer | None = None,
    feature_names: tuple[str, ...] = (),
    joint: bool | None = None,
) -> Problem:
    """A problem of which everything is known.

    The validation table has two rows more than are used, and those that are used come in descending
    order; sample weights grow with the number of the row. A penalty couples the tasks unless
    ``joint`` says otherwise. With several formulas, each of them is a base model of a mixture.
    """
    formulas = [formula] if callable(formula) else formula
    reference = reference or Reference()
    X = np.repeat(np.arange(n_rows)[:, np.newaxis], n_features, axis=1).astype(float)
    val_numbers = FIRST_VALIDATION_ROW + np.arange(n_val + 2)
    X_val = np.repeat(val_numbers[:, np.newaxis], n_features, axis=1).astype(float)
    val_rows = np.arange(n_val)[::-1] + 1
    if joint is None:
        joint = penalty is not None
    return Problem(
        distribution=distribution or Bernoulli(n_features),
        loss=loss or SquaredError(),
        penalty=penalty,
        optimizer=optimizer or ProjectedAdam(0.02),
        dispatcher=Dispatcher(
            [FormulaEngine(of_base, n_outputs) for of_base in formulas], Data(X, X_val, None, {})
        ),
        targets=[
            Target(
                y=np.full(n_rows, task),
                encoded=reference.apply(target(np.arange(n_rows), task)),
                validation=reference.apply(target(FIRST_VALIDATION_ROW + val_rows, task)),
                # Some rows belong to nobody, as those of weight 0 do.
                train_rows=np.setdiff1d(np.arange(n_rows), [1, 5]),
                val_rows=val_rows,
                val_weight=0.5 + np.arange(n_val) / max(n_val, 1),
                strata=None if strata is None else strata[task],
                reference=reference,
            )
            for task in range(n_tasks)
        ],
        sample_weight=1.0 + np.arange(n_rows) / n_rows,
        feature_names=feature_names,
        joint=joint,
        n_bases=len(formulas),
    )


def make_settings(**changes: Any) -> Settings:
    """Few masks, few batches, few epochs, frequent refreshes, no revival."""
    few: dict[str, Any] = {
        "n_batches": 3,
        "ess_threshold": 0.9,
        "n_revivals": 0,
        "revival_level": 0.02,
        "max_iter": 20,
    }
    numbers = {**few, **changes}
    if numbers.get("refresh") == "window":
        numbers["refresh"] = Window(numbers.pop("n_generations", 10))
    numbers.pop("n_generations", None)
    fit: dict[str, Any] = {"n_masks": 20, "objective": "ensemble"}
    of_fit = (*fit, "max_samples", "n_iter_no_change", "chooses_on_all")
    fit |= {name: numbers.pop(name) for name in of_fit if name in numbers}
    return Solver(**numbers).settings(n_train=10**6, n_parameters=1, **fit)


def begin(problem: Problem, settings: Settings, theta: Any = 0.5, seed: int = 0) -> TrainingState:
    """The state before the first epoch."""
    shape = (len(problem.targets) * problem.n_bases, problem.distribution.n_parameters)
    theta = np.broadcast_to(np.asarray(theta, dtype=float), shape)
    return start(problem, settings, theta, np.random.default_rng(seed))


def learning(state: TrainingState) -> TrainingState:
    """The state as if it had been revived once: shares are learned from the first epoch on."""
    return dataclasses.replace(state, revivals=((0,),) * len(state.revivals))


def assert_same(a: Any, b: Any, where: str = "state") -> None:
    """Equal to the last bit, through dataclasses, tuples, mappings and sparse arrays."""
    assert type(a) is type(b), where
    if dataclasses.is_dataclass(a):
        for field in dataclasses.fields(a):
            name = field.name
            assert_same(getattr(a, name), getattr(b, name), f"{where}.{name}")
    elif issparse(a):
        assert a.shape == b.shape, where
        for name in ("data", "indices", "indptr"):
            assert_same(getattr(a, name), getattr(b, name), f"{where}.{name}")
    elif isinstance(a, np.ndarray):
        assert a.dtype == b.dtype, where
        np.testing.assert_array_equal(a, b, err_msg=where, strict=True)
    elif isinstance(a, tuple | list):
        assert len(a) == len(b), where
        for i, (x, y) in enumerate(zip(a, b, strict=True)):
            assert_same(x, y, f"{where}[{i}]")
    elif isinstance(a, Mapping):
        assert a.keys() == b.keys(), where
        for key in a:
            assert_same(a[key], b[key], f"{where}[{key!r}]")
    else:
        assert a == b, where


class Part(Run):
    """A fit, or a part of one, of no particular model."""

    can_predict = False

    def __init__(self, share: float = 1.0, before: float = 0.0, **facts: Any) -> None:
        self.estimator, self.share, self.share_before = None, share, before
        for name, fact in facts.items():
            setattr(self, name, fact)

    def fitted_estimator(self, state: TrainingState) -> Any:
        raise NotImplementedError

    def save(self, path: Any, state: TrainingState) -> None:
        raise NotImplementedError
