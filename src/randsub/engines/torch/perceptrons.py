"""Many multilayer perceptrons trained at once, as scikit-learn trains one.

The networks have the same layers and see the same rows, each in its own order and by its own
columns. A step is a batched matrix product per layer. Networks that have converged are taken out
when they are half of those that are left. On a GPU a step is recorded as a graph: launching its
kernels one by one would take longer than they run. A kernel of so little work takes as long as any
other, so that the number of them is what counts: losses are computed for many steps at once.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

import numpy as np

from randsub._typing import FloatArray, IntArray
from randsub.engines.torch.device import Tensor, on_device, wide_dtype
from randsub.engines.torch.perceptron_layers import Layers, forward, losses_of, r2_of, slope
from randsub.engines.torch.shuffles import Shuffles

# From so many steps on, recording them pays.
STEPS_WORTH_RECORDING = 30
# Steps whose losses are computed at once.
STEPS_PER_CHUNK = 32
# As in scikit-learn's optimiser.
LEAST_LEARNING_RATE = 1e-6


@dataclass
class Record:
    """How the training of one network went, by the names of scikit-learn's attributes."""

    loss_curve: list[float] = field(default_factory=list)
    validation_scores: list[float] = field(default_factory=list)
    no_improvement: int = 0
    best_loss: float = np.inf
    best_score: float = -np.inf
    converged: bool = False


class Start(NamedTuple):
    """What a network begins with.

    Parameters
    ----------
    parameters : ndarray of shape (P,)
        Initial coefficients and intercepts.
    train, validation : int ndarrays
        Its rows, and those that decide when it stops; the latter may be empty.
    generator : numpy.random.RandomState
        For the order of its rows.
    """

    parameters: FloatArray
    train: IntArray
    validation: IntArray
    generator: Any


class Data(NamedTuple):
    """Rows (n, M), targets (n, O) as the networks see them, and weights (n,) or None."""

    rows: Tensor
    targets: Tensor
    weights: Tensor | None


class Training:
    """Networks in training.

    Parameters
    ----------
    estimator : MLPClassifier or MLPRegressor
        Their parameters.
    layers : Layers
        The first one as wide as the longest list of columns.
    output : {"identity", "logistic", "softmax"}
    data : Data
    columns, held : tensors of shape (B, width)
        See :class:`~randsub.engines.torch.family.Bucket`.
    starts : sequence of Start
    """

    def __init__(
        self,
        estimator: Any,
        layers: Layers,
        output: Literal["identity", "logistic", "softmax"],
        data: Data,
        columns: Tensor,
        held: Tensor,
        starts: Sequence[Start],
    ) -> None:
        import torch

        self._estimator, self._layers, self._output, self._data = estimator, layers, output, data
        device, dtype = data.rows.device, data.rows.dtype
        n_networks, self._n_rows = len(starts), len(starts[0].train)
        self.records = [Record() for _ in starts]
        self._numbers = np.arange(n_networks)
        self._columns, self._held = columns, held.to(dtype)
        parameters = on_device(np.stack([start.parameters for start in starts]), device, dtype)
        self._parameters = parameters
        self._first, self._second = torch.zeros_like(parameters), torch.zeros_like(parameters)
        self._best, self.final = parameters.clone(), parameters.clone()
        self._rates = np.full(n_networks, float(estimator.learning_rate_init))
        wide = wide_dtype(device)
        self._rate = torch.empty((n_networks, 1), dtype=dtype, device=device)
        batch_size = estimator.batch_size
        self._size = min(200 if batch_size == "auto" else int(batch_size), self._n_rows)
        # Steps of an epoch, how many of them are done, and the learning rate of each.
        self._n_steps = -(-self._n_rows // self._size)
        self._step_count = torch.zeros(1, dtype=torch.int64, device=device)
        self._adam_rates = torch.empty(self._n_steps, dtype=dtype, device=device)
        # Rows of a chunk of steps in their order, what the networks said of them, and how far the
        # steps have come.
        n_chunk = min(self._n_rows, STEPS_PER_CHUNK * self._size)
        self._rows = torch.empty((n_networks, n_chunk), dtype=torch.int64, device=device)
        n_outputs = layers.units[-1]
        self._values = torch.empty((n_networks, n_chunk, n_outputs), dtype=dtype, device=device)
        self._first_places = torch.arange(self._size, device=device)
        self._at = torch.zeros(1, dtype=torch.int64, device=device)
        self._losses = torch.zeros(n_networks, dtype=wide, device=device)
        # Without early stopping all networks see the same rows.
        self._train = self._validation = None
        if estimator.early_stopping:
            self._train = on_device(np.stack([start.train for start in starts]), device)
            self._validation = on_device(np.stack([start.validation for start in starts]), device)
        self._shuffles = Shuffles(
            [start.generator for start in starts], self._n_rows, shuffles=bool(estimator.shuffle)
        )
        self._graphs: dict[int, Any] = {}

    # -- training ----------------------------------------------------------------------------------

    def run(self) -> None:
        """Train until all networks have converged; ``final`` has their parameters."""
        try:
            for epoch in range(1, self._estimator.max_iter + 1):
                rates = self._rates[:, np.newaxis]
                self._rate.copy_(on_device(rates, self._rate.device, self._rate.dtype))
                rates = self._rates_of_adam(epoch)
                self._adam_rates.copy_(on_device(rates, self._rate.device, self._rate.dtype))
                self._step_count.zero_()
                self._losses.zero_()
                order = on_device(self._shuffles.epoch(), self._rows.device)
                for rows in order.split(self._rows.shape[1], dim=1):
                    self._take_steps(rows)
                if not self._finish_epoch(epoch):
                    return
        finally:
            self._shuffles.close()
        unfinished = [not self.records[number].converged for number in self._numbers]
        self._store(np.flatnonzero(unfinished))

    def results(self) -> Tensor:
        """Parameters of all networks; NaN where training met a number that is not finite.

        With early stopping the best parameters may be those from before, which scikit-learn returns
        in some cases and not in others.
        """
        failed = [not np.isfinite(record.loss_curve).all() for record in self.records]
        self.final[on_device(np.array(failed), self.final.device)] = np.nan
        return self.final

    def _take_steps(self, rows: Tensor) -> None:
        """The steps of a chunk of rows (B, n), and their losses."""
        n = rows.shape[1]
        self._rows[:, :n].copy_(rows if self._train is None else self._train.gather(1, rows))
        self._at.zero_()
        full = n // self._size * self._size
        for _ in range(n // self._size):
            self._step(self._size)
        if n > full:
            self._step(n - full)
        for part, size in ((slice(full), self._size), (slice(full, n), n - full)):
            if size:
                self._add_losses(self._rows[:, part], self._values[:, part], size)

    def _add_losses(self, rows: Tensor, values: Tensor, size: int) -> None:
        """Losses of steps of the same size, without their penalties."""
        data = self._data
        losses = losses_of(data.targets[rows], values, self._output)
        if data.weights is None:
            self._losses += losses.sum(dim=1)
            return
        weights = data.weights[rows].unflatten(1, (-1, size))
        losses = (losses.unflatten(1, (-1, size)) * weights).sum(dim=2) / weights.sum(dim=2)
        self._losses += size * losses.sum(dim=1)

    def _step(self, size: int) -> None:
        """One step of all networks; recorded the first time, on a GPU."""
        n_steps = self._n_steps * self._estimator.max_iter
        if self._parameters.device.type != "cuda" or n_steps < STEPS_WORTH_RECORDING:
            self._take_step(size)
            return
        if size not in self._graphs:
            self._graphs[size] = self._recorded(size)
        self._graphs[size].replay()

    def _recorded(self, size: int) -> Any:
        """The graph of a step; what trying it out changes is put back."""
        import torch

        numbers = (self._parameters, self._first, self._second)
        state = (*numbers, self._step_count, self._at, self._losses)
        before = [one.clone() for one in state]
        stream = torch.cuda.Stream(self._parameters.device)
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            self._take_step(size)
        torch.cuda.current_stream().wait_stream(stream)
        for one, former in zip(state, before, strict=True):
            one.copy_(former)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            self._take_step(size)
        return graph

    def _take_step(self, size: int) -> None:
        """Gradient of the next samples, and the update; in place, without a look from the host."""
        import torch

        estimator, layers, data = self._estimator, self._layers, self._data
        places = self._at + self._first_places[:size]
        rows = self._rows.index_select(1, places)
        values = forward(
            layers, self._parameters, self._cells(rows), estimator.activation, self._output
        )
        self._values.index_copy_(1, places, values[-1])
        # What a sample counts in the mean of its batch, and what the penalty counts beside it.
        share: Any = 1.0 / size
        deltas = values[-1] - data.targets[rows]
        coefficients, _ = layers.cut(self._parameters)
        lengths = torch.linalg.vector_norm(
            self._parameters[:, : layers.n_coefficients], dim=1, dtype=self._losses.dtype
        )
        half = 0.5 * estimator.alpha * size
        if data.weights is None:
            deltas = deltas * share
            self._losses.addcmul_(lengths, lengths, value=half * share)
        else:
            weights = data.weights[rows]
            share = 1.0 / weights.sum(dim=1)
            deltas = deltas * (weights * share[:, None]).unsqueeze(-1)
            self._losses += half * share * lengths.square()
        of_coefficients, of_intercepts = [], []
        for layer in range(len(coefficients) - 1, -1, -1):
            gradient = self._penalised(coefficients[layer], values[layer], deltas, share)
            of_coefficients.append(gradient.flatten(1))
            of_intercepts.append(deltas.sum(dim=1))
            if layer:
                deltas = deltas @ coefficients[layer].transpose(1, 2)
                deltas = slope(values[layer], deltas, estimator.activation)
        self._update(torch.cat([*of_coefficients[::-1], *of_intercepts[::-1]], dim=1))
        self._at += size

    def _penalised(
        self, coefficients: Tensor, values: Tensor, deltas: Tensor, share: Any
    ) -> Tensor:
        """Gradient in the coefficients of a layer, (B, inputs, outputs)."""
        import torch

        alpha, inputs = self._estimator.alpha, values.transpose(1, 2)
        if isinstance(share, float):
            return torch.baddbmm(coefficients, inputs, deltas, beta=alpha * share)
        return inputs @ deltas + (alpha * share)[:, None, None] * coefficients

    def _rates_of_adam(self, epoch: int) -> FloatArray:
        """The learning rates of an epoch, with scikit-learn's correction of the moments."""
        estimator, first = self._estimator, (epoch - 1) * self._n_steps + 1
        if estimator.solver != "adam":
            return np.zeros(self._n_steps)
        steps = np.arange(first, first + self._n_steps, dtype=float)
        correction = np.sqrt(1.0 - estimator.beta_2**steps) / (1.0 - estimator.beta_1**steps)
        return float(estimator.learning_rate_init) * correction

    def _update(self, gradient: Tensor) -> None:
        estimator = self._estimator
        if estimator.solver == "sgd":
            velocity, momentum = self._first, estimator.momentum
            velocity.mul_(momentum).sub_(self._rate * gradient)
            step = velocity
            if estimator.nesterovs_momentum:
                step = momentum * velocity - self._rate * gradient
            self._parameters += step
            return
        rate = self._adam_rates.index_select(0, self._step_count)
        self._step_count += 1
        self._first.lerp_(gradient, 1.0 - estimator.beta_1)
        self._second.mul_(estimator.beta_2)
        self._second.addcmul_(gradient, gradient, value=1.0 - estimator.beta_2)
        step = self._first / self._second.sqrt().add_(estimator.epsilon)
        self._parameters.addcmul_(step, rate, value=-1.0)

    def _cells(self, rows: Tensor) -> Tensor:
        """Inputs (B, b, width) of rows (B, b)."""
        cells = self._data.rows[rows[:, :, None], self._columns[:, None, :]]
        return cells * self._held[:, None, :]

    # -- the end of an epoch -----------------------------------------------------------------------

    def _finish_epoch(self, epoch: int) -> bool:
        """Note losses and scores, and stop those that do not improve; whether some are left."""
        estimator = self._estimator
        losses = (self._losses / self._n_rows).cpu().numpy()
        scores = self._scores() if estimator.early_stopping else None
        ended = np.array([self.records[number].converged for number in self._numbers])
        stopped, improved = np.zeros((2, len(ended)), dtype=bool)
        for place in np.flatnonzero(~ended).tolist():
            record = self.records[self._numbers[place]]
            score = None if scores is None else float(scores[place])
            improved[place] = _note(record, float(losses[place]), score, estimator.tol)
            if estimator.solver == "sgd" and estimator.learning_rate == "invscaling":
                rate = float(estimator.learning_rate_init)
                self._rates[place] = rate / (epoch * self._n_rows + 1) ** estimator.power_t
            if record.no_improvement > estimator.n_iter_no_change:
                stopped[place] = self._stops(place)
                record.converged = bool(stopped[place])
                record.no_improvement *= record.converged
        if scores is not None and improved.any():
            which = on_device(improved, self._best.device)
            self._best.copy_(self._best.where(~which[:, None], self._parameters))
        self._store(np.flatnonzero(stopped))
        left = np.flatnonzero(~(stopped | ended))
        if 2 * len(left) <= len(ended):
            self._keep(left)
        return len(left) > 0

    def _store(self, places: IntArray) -> None:
        """Keep the parameters of networks in these places: the last, or the best ones."""
        if len(places):
            source = self._best if self._estimator.early_stopping else self._parameters
            at = on_device(places, source.device)
            self.final[on_device(self._numbers[places], source.device)] = source[at]

    def _stops(self, place: int) -> bool:
        """Whether a network that does not improve stops; else its learning rate falls."""
        estimator = self._estimator
        if estimator.solver != "sgd" or estimator.learning_rate != "adaptive":
            return True
        if self._rates[place] <= LEAST_LEARNING_RATE:
            return True
        self._rates[place] /= 5.0
        return False

    def _keep(self, places: IntArray) -> None:
        """Go on with the networks in these places alone."""
        self._numbers, self._rates = self._numbers[places], self._rates[places]
        self._shuffles.keep(places)
        self._graphs.clear()
        at = on_device(places, self._parameters.device)
        names = ("parameters", "first", "second", "best", "rate", "columns", "held")
        for name in (*names, "losses", "rows", "values"):
            setattr(self, f"_{name}", getattr(self, f"_{name}")[at])
        if self._train is not None and self._validation is not None:
            self._train, self._validation = self._train[at], self._validation[at]

    def _scores(self) -> FloatArray:
        """Accuracy or R2 on the validation rows, (B,)."""
        import torch

        assert self._validation is not None
        rows, data = self._validation, self._data
        how = (self._estimator.activation, self._output)
        # As many rows at a time as in training, which memory suffices for.
        values = torch.cat(
            [
                forward(self._layers, self._parameters, self._cells(part), *how)[-1]
                for part in rows.split(self._size, dim=1)
            ],
            dim=1,
        )
        targets = data.targets[rows]
        weights = torch.ones_like(rows) if data.weights is None else data.weights[rows]
        # Sums of weights, not of their shares: equal counts are equal scores, to the last bit.
        weights = weights.to(self._losses.dtype)
        if self._output == "identity":
            return r2_of(targets, values, weights).cpu().numpy()
        if self._output == "softmax":
            is_right = values.argmax(dim=-1) == targets.argmax(dim=-1)
        else:
            is_right = ((values > 0.5) == (targets > 0.5)).all(dim=-1)
        return ((is_right * weights).sum(dim=1) / weights.sum(dim=1)).cpu().numpy()


def _note(record: Record, loss: float, score: float | None, tol: float) -> bool:
    """Whether a network is better than before; counts epochs in which it is not by ``tol``."""
    record.loss_curve.append(loss)
    if score is None:
        worse, better = loss > record.best_loss - tol, loss < record.best_loss
        record.best_loss = loss if better else record.best_loss
    else:
        record.validation_scores.append(score)
        worse, better = score < record.best_score + tol, score > record.best_score
        record.best_score = score if better else record.best_score
    record.no_improvement = record.no_improvement + 1 if worse else 0
    return better
