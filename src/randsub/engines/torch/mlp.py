"""scikit-learn's multilayer perceptrons: parameters, first weights, predictions, fitted models."""

import warnings
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import pairwise
from operator import index
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from scipy.special import expit, softmax
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import train_test_split

from randsub._sklearn import first_weights, started_network
from randsub._tables import frame_kind, take_columns, to_array
from randsub._typing import FloatArray, IntArray, Table
from randsub.engines.base import Learner, aligned, seeds_of_parts, set_seeds
from randsub.engines.compiled import Parameters
from randsub.engines.torch.device import Tensor, in_portions, joined, mask_portions, on_device
from randsub.engines.torch.family import Bucket, DeviceBatch, TorchFamily, buckets
from randsub.engines.torch.perceptron_layers import Layers, forward
from randsub.engines.torch.perceptrons import STEPS_PER_CHUNK, Data, Record, Start, Training

FREE = frozenset(
    [
        "hidden_layer_sizes",
        "activation",
        "alpha",
        "batch_size",
        "learning_rate",
        "learning_rate_init",
        "power_t",
        "max_iter",
        "shuffle",
        "random_state",
        "tol",
        "momentum",
        "nesterovs_momentum",
        "early_stopping",
        "validation_fraction",
        "beta_1",
        "beta_2",
        "epsilon",
        "n_iter_no_change",
        "max_fun",
    ]
)
FIXED: Mapping[str, Collection[Any]] = {
    "solver": ["adam", "sgd"],
    "warm_start": [False],
    "verbose": [False],
}
# Those of scikit-learn, by its names.
ACTIVATIONS: Mapping[str, Callable[[FloatArray], FloatArray]] = {
    "identity": np.asarray,
    "relu": lambda values: np.maximum(values, 0.0),
    "logistic": expit,
    "tanh": np.tanh,
    "softmax": lambda values: softmax(values, axis=1),
}


class Trained(NamedTuple):
    """Networks after training: parameters (B, P) on the device, and how it went."""

    layers: Layers
    final: Tensor
    records: Sequence[Record]

    def numbers(self) -> Iterator[tuple[list[FloatArray], list[FloatArray]]]:
        """Coefficients and intercepts of each network."""
        coefficients, intercepts = (
            [one.cpu().numpy() for one in views] for views in self.layers.cut(self.final)
        )
        for place in range(len(self.final)):
            yield (
                [one[place].copy() for one in coefficients],
                [one[place][0].copy() for one in intercepts],
            )


class PerceptronFamily(TorchFamily):
    """What MLPClassifier and MLPRegressor have in common."""

    takes_outputs: ClassVar[bool] = True
    deterministic: ClassVar[bool] = False

    def obstacle(self, estimator: Any) -> str | None:
        """Layers that scikit-learn refuses."""
        try:
            sizes = _hidden(estimator)
        except (TypeError, ValueError):
            sizes = [0]
        if all(size > 0 for size in sizes):
            return None
        return f"does not support hidden_layer_sizes={estimator.hidden_layer_sizes!r}"

    def predict(self, learner: Learner, batch: DeviceBatch) -> FloatArray:
        """Train, then answer all queries."""
        output = _output(learner, batch.targets)
        activation, n_outputs = learner.estimator.activation, output.encoded.shape[1]
        whole = _all_masks(batch)

        def answer(masks: slice) -> FloatArray:
            part = whole.part(masks)
            trained = self._train(learner, batch, part, output)
            if trained is None:
                return batch.answers(learner)[masks]
            values = np.empty((len(part.which), len(batch.query), n_outputs))

            def work(those: slice, asked: slice) -> Tensor:
                inputs = part.cells(batch.query[asked], those)
                flat = trained.final[those]
                return forward(trained.layers, flat, inputs, activation, output.activation)[-1]

            n_bytes = 3 * batch.rows.element_size() * sum(trained.layers.units)
            device, n_queries = batch.device, len(batch.query)
            in_portions(work, len(values), n_queries, n_bytes, device, values, nested=True)
            return output.answers(learner, values)

        n_bytes = _bytes_per_network(learner, batch, whole.width, n_outputs)
        parts = mask_portions(answer, len(batch.masks), n_bytes, batch.device)
        return joined(parts)

    def fit(self, learner: Learner, batch: DeviceBatch, X: Table, y: Any) -> list[Any] | None:
        """Train, then write the parameters into estimators."""
        output = _output(learner, batch.targets)
        whole = _all_masks(batch)

        def models(masks: slice) -> list[Any]:
            part = whole.part(masks)
            trained = self._train(learner, batch, part, output)
            if trained is None:
                return [None] * len(part.which)
            return [
                self._model(learner, batch, which, numbers, record, X, y)
                for which, numbers, record in zip(
                    part.which, trained.numbers(), trained.records, strict=True
                )
            ]

        n_bytes = _bytes_per_network(learner, batch, whole.width, output.encoded.shape[1])
        parts = mask_portions(models, len(batch.masks), n_bytes, batch.device)
        found = [model for part in parts for model in part]
        return [found[place] for place in np.argsort(whole.which)]

    def _model(
        self,
        learner: Learner,
        batch: DeviceBatch,
        which: int,
        numbers: "tuple[list[FloatArray], list[FloatArray]]",
        record: Record,
        X: Table,
        y: Any,
    ) -> Any:
        """One fitted estimator; None if its weights are not finite, which scikit-learn reports."""
        coefficients, intercepts = numbers
        columns = np.flatnonzero(batch.masks[which])
        coefficients = [coefficients[0][: len(columns)], *coefficients[1:]]
        if not all(np.isfinite(one).all() for one in (*coefficients, *intercepts)):
            return None
        model = _seeded(learner, batch.seeds[which])
        started_network(model, take_columns(X, columns), y, _hidden(model))
        return _finished(model, coefficients, intercepts, record, len(y))

    def predict_fitted(self, learner: Learner, model: Any, X: Table) -> FloatArray | None:
        """The layers one after the other, without scikit-learn's checks."""
        if not {model.activation, model.out_activation_} <= ACTIVATIONS.keys():
            return None
        values = to_array(X, np.arange(X.shape[1])) if frame_kind(X) else X
        values = np.asarray(values, dtype=model.coefs_[0].dtype)
        for number, (coefs, intercept) in enumerate(
            zip(model.coefs_, model.intercepts_, strict=True), start=1
        ):
            values = values @ coefs + intercept
            last = number == len(model.coefs_)
            values = ACTIVATIONS[model.out_activation_ if last else model.activation](values)
        if learner.classes is None:
            return values.astype(np.float64)
        if learner.n_targets is not None:
            return _label_answers(values, hard=learner.voting == "hard")
        if values.shape[1] == 1:
            values = np.column_stack([1.0 - values, values])
        return aligned(learner, model, values)

    def _train(
        self, learner: Learner, batch: DeviceBatch, part: Bucket, output: "_Output"
    ) -> Trained | None:
        estimator, device, dtype = learner.estimator, batch.device, batch.rows.dtype
        units = (part.width, *_hidden(estimator), output.encoded.shape[1])
        layers = Layers(units)
        sizes = np.count_nonzero(batch.masks[part.which], axis=1).tolist()
        kind = np.float32 if batch.rows.element_size() == 4 else np.float64
        model, starts = clone(estimator), []
        for size, seed in zip(sizes, batch.seeds[part.which], strict=True):
            try:
                starts.append(_start(model, (size, *units[1:]), part.width, seed, output, kind))
            except ValueError:
                # A split of the rows for early stopping that scikit-learn refuses, in its words.
                return None
        weights = None if batch.weights is None else on_device(batch.weights, device, dtype)
        data = Data(batch.rows, on_device(output.encoded, device, dtype), weights)
        n_rows = len(starts[0].train)
        if estimator.batch_size != "auto" and estimator.batch_size > n_rows:
            warnings.warn(
                f"batch_size={estimator.batch_size} of {type(estimator).__name__} is larger than "
                f"the training set, and clipped to {n_rows}.",
                stacklevel=2,
            )
        training = Training(
            estimator, layers, output.activation, data, part.columns, part.held, starts
        )
        training.run()
        if not all(record.converged for record in training.records):
            warnings.warn(
                f"Stochastic Optimizer: Maximum iterations ({estimator.max_iter}) reached and the "
                "optimization hasn't converged yet.",
                ConvergenceWarning,
                stacklevel=2,
            )
        return Trained(layers, training.results(), training.records)


class PerceptronClassifierFamily(PerceptronFamily):
    """MLPClassifier with a stochastic solver."""

    classifies: ClassVar[bool | None] = True
    parameters: ClassVar[Parameters] = Parameters(fixed=FIXED, free=FREE)


class PerceptronRegressorFamily(PerceptronFamily):
    """MLPRegressor with a stochastic solver and squared error."""

    classifies: ClassVar[bool | None] = False
    parameters: ClassVar[Parameters] = Parameters(
        fixed={**FIXED, "loss": ["squared_error"]}, free=FREE
    )


# -- targets ---------------------------------------------------------------------------------------


class _Output(NamedTuple):
    """The last layer: targets (n, O) as the networks see them, and what their values mean.

    ``present`` are the classes that occur; None in regression and with several labels.
    """

    encoded: FloatArray
    activation: Literal["identity", "logistic", "softmax"]
    present: IntArray | None

    def answers(self, learner: Learner, values: FloatArray) -> FloatArray:
        """Predictions (B, n, C) from values of the last layer (B, n, O)."""
        if learner.classes is None:
            return values
        hard = learner.voting == "hard"
        if self.present is None:
            return _label_answers(values, hard=hard)
        is_known = np.isfinite(values).all(axis=-1)
        if self.activation == "logistic":
            values = np.concatenate([1.0 - values, values], axis=-1)
        if hard:
            values = np.eye(values.shape[-1])[values.argmax(axis=-1)]
        out = np.zeros((*values.shape[:2], len(learner.classes)))
        out[:, :, self.present] = values
        out[~is_known] = np.nan
        return out


def _output(learner: Learner, targets: Any) -> _Output:
    values = np.asarray(targets).reshape(len(targets), -1)
    if learner.classes is None:
        return _Output(values.astype(np.float64), "identity", None)
    if learner.n_targets is not None:
        return _Output(values.astype(np.float64), "logistic", None)
    present, codes = np.unique(values[:, 0], return_inverse=True)
    encoded = np.eye(len(present))[codes.reshape(-1)]
    if len(present) == 2:
        return _Output(encoded[:, 1:], "logistic", present)
    return _Output(encoded, "softmax", present)


def _label_answers(values: FloatArray, *, hard: bool) -> FloatArray:
    """Absence and presence of each label, (..., 2 O), from probabilities (..., O)."""
    if hard:
        values = np.where(np.isfinite(values), values > 0.5, np.nan)
    pairs = np.stack([1.0 - values, values], axis=-1)
    return pairs.reshape(*values.shape[:-1], -1).astype(np.float64)


# -- networks --------------------------------------------------------------------------------------


def _hidden(estimator: Any) -> list[int]:
    """Sizes of the hidden layers."""
    sizes = estimator.hidden_layer_sizes
    return [index(size) for size in (sizes if hasattr(sizes, "__iter__") else [sizes])]


def _seeded(learner: Learner, seed: int) -> Any:
    model = clone(learner.estimator)
    set_seeds(model, seed)
    return model


def _start(
    model: Any,
    units: tuple[int, ...],
    width: int,
    seed: int,
    output: _Output,
    dtype: Any,
) -> Start:
    """First weights and rows of a network, drawn as scikit-learn draws them.

    ``model`` is one for all networks, since cloning takes longer than all of this, and so does
    :func:`set_seeds`.
    """
    generator = np.random.RandomState(*seeds_of_parts(seed, 1))
    coefficients, intercepts = first_weights(model, generator, units, dtype)
    padded = np.zeros((width, units[1]), dtype=dtype)
    padded[: units[0]] = coefficients[0]
    parts = [padded, *coefficients[1:], *intercepts]
    train, validation = np.arange(len(output.encoded)), np.empty(0, dtype=int)
    if model.early_stopping:
        one_column = output.activation == "logistic" and output.encoded.shape[1] == 1
        train, validation = train_test_split(
            train,
            random_state=generator,
            test_size=model.validation_fraction,
            stratify=output.encoded.astype(bool) if one_column else None,
        )
        if len(validation) < 2:
            raise ValueError("too few rows for early stopping")
    return Start(np.concatenate([one.ravel() for one in parts]), train, validation, generator)


def _all_masks(batch: DeviceBatch) -> Bucket:
    (whole,) = buckets(batch.masks, batch.device, together=True)
    return whole


def _bytes_per_network(learner: Learner, batch: DeviceBatch, width: int, n_outputs: int) -> int:
    """Memory of a network in training.

    Its parameters, with moments and gradients, the order of its rows (the next one, this one, that
    of a chunk of batches), the values of all layers for a batch, and those of the last one for a
    chunk, or for the validation rows.
    """
    units = [width, *_hidden(learner.estimator), n_outputs]
    n_parameters = sum((a + 1) * b for a, b in pairwise(units))
    n_rows = len(batch.rows)
    size = 200 if learner.estimator.batch_size == "auto" else int(learner.estimator.batch_size)
    n_chunk = n_rows if learner.estimator.early_stopping else min(STEPS_PER_CHUNK * size, n_rows)
    n_numbers = 12 * n_parameters + 4 * min(size, n_rows) * sum(units) + 8 * n_chunk * n_outputs
    return batch.rows.element_size() * n_numbers + 40 * n_rows


def _finished(
    model: Any,
    coefficients: list[FloatArray],
    intercepts: list[FloatArray],
    record: Record,
    n_rows: int,
) -> Any:
    """A network that scikit-learn has started, with the results of its training."""
    n_epochs = len(record.loss_curve)
    model.coefs_, model.intercepts_ = coefficients, intercepts
    model.n_iter_, model.loss_curve_ = n_epochs, record.loss_curve
    model.loss_ = record.loss_curve[-1]
    model.best_loss_ = record.best_loss
    if model.early_stopping:
        n_rows -= int(np.ceil(model.validation_fraction * n_rows))
        model.validation_scores_ = record.validation_scores
        model.best_validation_score_ = record.best_score
        model.best_loss_ = None
    model.t_ = n_epochs * n_rows
    return model
