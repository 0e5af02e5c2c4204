"""The family of networks of the user: :class:`TorchClassifier` and :class:`TorchRegressor`."""

from typing import Any, ClassVar

import numpy as np
from sklearn.base import clone

from randsub._tables import frame_kind, to_array
from randsub._typing import FloatArray, Table
from randsub.engines.base import Learner, aligned, set_seeds
from randsub.engines.compiled import Parameters
from randsub.engines.torch.device import (
    Tensor,
    in_portions,
    joined,
    mask_portions,
    wide_dtype,
)
from randsub.engines.torch.family import DeviceBatch, TorchFamily, concluded
from randsub.engines.torch.networks import Task, train
from randsub.engines.torch.trials import outputs_of

PARAMETERS = Parameters(
    fixed={},
    free={
        "module",
        "loss",
        "lr",
        "max_epochs",
        "batch_size",
        "weight_decay",
        "device",
        "random_state",
    },
)


class OwnNetworkFamily(TorchFamily):
    """Networks that users define."""

    parameters: ClassVar[Parameters] = PARAMETERS
    deterministic: ClassVar[bool] = False

    def __init__(self, *, classifies: bool) -> None:
        self._kind = classifies

    def steps_aside(self, learner: Learner, y_train: Any) -> bool:
        """A classifier asked for numbers, or a regressor for classes."""
        return self._kind != (learner.classes is not None)

    def predict(self, learner: Learner, batch: DeviceBatch) -> FloatArray:
        """Train, then answer all queries."""
        task, present, estimator = _task(learner, batch)
        whole, query = batch.whole_masks(), batch.whole(batch.query)
        hard = learner.voting == "hard"
        n_bytes, n_values = _sizes(task)

        def answer(masks: slice) -> FloatArray:
            import torch

            stack = train(task, whole[masks], _seeds(learner, batch, masks))
            held = torch.from_numpy(whole[masks]).to(batch.device)

            def work(those: slice, asked: slice) -> Tensor:
                inputs = query[asked][None] * held[those][:, None, :]
                values = stack.values(inputs.to(torch.float32), those)
                if learner.classes is None:
                    return estimator.center_ + estimator.scale_ * values.to(
                        wide_dtype(batch.device)
                    )
                return concluded(values, hard=hard)

            found = np.empty((len(held), len(query), task.n_outputs))
            per_pair = 8 * (query.shape[1] + n_values)
            in_portions(work, len(held), len(query), per_pair, batch.device, found, nested=True)
            return found

        parts = mask_portions(answer, len(whole), n_bytes, batch.device)
        if present is None:
            return joined(parts)
        out = np.zeros((len(whole), len(query), learner.n_outputs))
        out[:, :, present] = joined(parts)
        return out

    def fit(self, learner: Learner, batch: DeviceBatch, X: Table, y: Any) -> list[Any] | None:
        """Train, then hand the networks to estimators."""
        task, _, _ = _task(learner, batch)
        whole = batch.whole_masks()

        def models(masks: slice) -> list[Any]:
            seeds = _seeds(learner, batch, masks)
            states = train(task, whole[masks], seeds).states()
            found = []
            for state, own, mask, seed in zip(
                states, seeds, whole[masks], batch.seeds[masks], strict=True
            ):
                model = _seeded(learner, seed)
                model.set_params(device=learner.device)
                model._encode(y, batch.weights)
                found.append(model._finish(task, state, own, np.flatnonzero(mask), whole.shape[1]))
            return found

        parts = mask_portions(models, len(whole), _sizes(task)[0], batch.device)
        return [model for part in parts for model in part]

    def predict_fitted(self, learner: Learner, model: Any, X: Table) -> FloatArray | None:
        """As the model does, from any table."""
        values = to_array(X, np.arange(X.shape[1])) if frame_kind(X) else X
        if learner.classes is None:
            return model.predict(values)[:, np.newaxis]
        return aligned(learner, model, model.predict_proba(values))


def _task(learner: Learner, batch: DeviceBatch) -> tuple[Task, Any, Any]:
    """What the networks share, the classes that occur (None in regression), and the estimator."""
    estimator = clone(learner.estimator)
    targets = estimator._encode(batch.targets, batch.weights)
    present = None if learner.classes is None else estimator.classes_
    return Task.of(estimator, batch.whole(batch.rows), targets, batch.weights), present, estimator


def _seeded(learner: Learner, seed: int) -> Any:
    model = clone(learner.estimator)
    set_seeds(model, seed)
    return model


def _seeds(learner: Learner, batch: DeviceBatch, masks: slice) -> list[int]:
    """Seeds of the networks, as their own ``fit`` would draw them."""
    found = []
    for seed in batch.seeds[masks]:
        state = np.random.RandomState(_seeded(learner, seed).random_state)
        found.append(int(state.randint(np.iinfo(np.int32).max)))
    return found


def _sizes(task: Task) -> tuple[int, int]:
    """Bytes of a network in training, about, and numbers in the outputs of layers for one sample.

    Where the former is too low, portions are halved.
    """
    sizes: list[int] = []

    def count(layer: Any, inputs: Any, output: Any) -> None:
        if hasattr(output, "numel"):
            sizes.append(output.numel())

    network = task.build(0)
    for layer in network.modules():
        layer.register_forward_hook(count)
    outputs_of(network, task.rows[:1].cpu(), task.n_outputs, training=False)
    n_parameters, n_values = sum(one.numel() for one in network.parameters()), sum(sizes)
    n_rows = len(task.rows)
    size = min(int(task.estimator.batch_size), n_rows)
    # Parameters with their gradients and moments; outputs of layers with theirs.
    n_bytes = 32 * n_parameters + 12 * size * (task.rows.shape[1] + n_values) + 24 * n_rows
    return n_bytes, n_values
