"""A network of the user as a scikit-learn estimator, and many masked copies of it at once.

A network sees all columns: those that its mask does not hold are 0, the mean of a scaled column. So
its layers may depend on places, as those of a convolutional network do. The parameters of all
networks are stacked, and :mod:`torch.func` computes losses and gradients of all of them.
"""

from collections.abc import Callable, Sequence
from itertools import pairwise
from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from randsub._sklearn import DocumentedEstimator, Interval, check_sample_weight
from randsub._typing import BoolArray, FloatArray, IntArray
from randsub.engines.torch.device import Tensor, at_work, chosen, obstacle_of, on_device
from randsub.engines.torch.layers import advance, check_parts, with_own_noise
from randsub.engines.torch.shuffles import Shuffles

# Rows of which a fitted network predicts the values at a time.
ROWS_AT_ONCE = 4096


class TorchEstimator(DocumentedEstimator):
    """What :class:`TorchClassifier` and :class:`TorchRegressor` have in common."""

    _home: ClassVar[str | None] = "randsub.torch"
    _classifies: ClassVar[bool]
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "module": [callable],
        "lr": [Interval(Real, 0, None, closed="neither")],
        "max_epochs": [Interval(Integral, 1, None, closed="left")],
        "batch_size": [Interval(Integral, 1, None, closed="left")],
        "weight_decay": [Interval(Real, 0, None, closed="left")],
        "device": [str, None],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        module: Callable[[int, int], Any],
        *,
        lr: float = 1e-3,
        max_epochs: int = 20,
        batch_size: int = 128,
        weight_decay: float = 0.0,
        device: str | None = None,
        random_state: Any = None,
    ) -> None:
        self.module = module
        self.lr = lr
        self.max_epochs = max_epochs
        self.batch_size = batch_size
        self.weight_decay = weight_decay
        self.device = device
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train one network on all columns.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the samples in the loss.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        self._validate_params()
        reason = obstacle_of(self.device)
        if reason is not None:
            raise ValueError(f"{type(self).__name__} {reason}.")
        X, y = validate_data(self, X, y, dtype=np.float32, y_numeric=not self._classifies)
        weights = None
        if sample_weight is not None:
            weights = check_sample_weight(sample_weight, X)
        seed = int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))
        device = chosen(self.device)
        with at_work(device):
            task = Task.of(self, on_device(X, device), self._encode(y), weights)
            (state,) = train(task, np.ones((1, X.shape[1]), dtype=bool), [seed]).states()
        return self._finish(task, state, seed, np.arange(X.shape[1]), X.shape[1])

    def _encode(self, y: Any) -> Any:
        """Targets, or class numbers; sets the fitted attributes of the targets."""
        raise NotImplementedError

    def _finish(
        self, task: "Task", state: dict[str, Tensor], seed: int, columns: IntArray, width: int
    ) -> Self:
        """Keep a trained network, for some of the columns of a table."""
        self.module_ = task.build(seed).requires_grad_(False)
        # Tied parameters have one name, and some buffers are in no state_dict.
        for name, own in _tensors(self.module_).items():
            own.copy_(state[name])
        self.module_.eval()
        self.columns_, self.n_inputs_ = columns, width
        self.n_features_in_ = len(columns)
        return self

    def _values(self, X: Any) -> FloatArray:
        """Outputs of the network (n, O)."""
        import torch

        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float32, reset=False)
        # A model may come from a machine with another device.
        device = chosen("cpu" if obstacle_of(self.device) else self.device)
        with at_work(device):
            # Not moved for good: fitted models are kept, sent and written on the CPU.
            state = {name: one.to(device) for name, one in _tensors(self.module_).items()}
            answers = []
            for begin in range(0, len(X), ROWS_AT_ONCE):
                part = on_device(X[begin : begin + ROWS_AT_ONCE], device)
                inputs = part.new_zeros((len(part), self.n_inputs_))
                inputs[:, on_device(self.columns_, device)] = part
                answers.append(torch.func.functional_call(self.module_, state, (inputs,)).cpu())
            return torch.cat(answers).numpy().astype(np.float64)


class TorchClassifier(ClassifierMixin, TorchEstimator):
    """A PyTorch network as a classifier, by cross-entropy and Adam.

    As a base model of an ensemble, all networks of a batch are trained at once by the engine
    "torch", on a GPU if there is one; each sees the columns of its mask, and 0 in the others.

    Parameters
    ----------
    module : callable
        Takes the number of columns and the number of classes, and returns a
        :class:`torch.nn.Module` that maps inputs (n, n_columns) to logits (n, n_classes).
    lr : float, default=1e-3
        Learning rate of Adam.
    max_epochs : int, default=20
    batch_size : int, default=128
    weight_decay : float, default=0.0
        Decay of the parameters per step, times the learning rate.
    device : str or None, default=None
        Where a single network is trained and asked: "cuda", "mps" or "cpu"; None is a GPU if there
        is one. In an ensemble, its own ``device`` counts.
    random_state : int, RandomState instance or None, default=None
        Seed of the initial parameters and of the order of the samples.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    module_ : torch.nn.Module
        The trained network.
    columns_ : ndarray of shape (n_features,)
        Places of the features among the inputs of the network.
    n_inputs_ : int
        Number of inputs of the network.
    n_features_in_ : int

    Examples
    --------
    >>> from randsub.torch import TorchClassifier
    >>> def net(n_columns, n_classes):
    ...     from torch import nn
    ...     return nn.Sequential(nn.Linear(n_columns, 32), nn.ReLU(), nn.Linear(32, n_classes))
    >>> base = TorchClassifier(net, max_epochs=5)
    """

    _classifies: ClassVar[bool] = True

    def _encode(self, y: Any) -> Any:
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        return codes

    def predict_proba(self, X: Any) -> FloatArray:
        """Class probabilities.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        p : ndarray of shape (n_samples, n_classes)
        """
        from scipy.special import softmax

        return softmax(self._values(X), axis=1)

    def predict(self, X: Any) -> Any:
        """The most probable class.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        y : ndarray of shape (n_samples,)
        """
        best = self._values(X).argmax(axis=1)
        return self.classes_[best]


class TorchRegressor(RegressorMixin, TorchEstimator):
    """A PyTorch network as a regressor, by squared error and Adam.

    Parameters are those of :class:`TorchClassifier`; ``module`` is given 1 as the number of
    outputs. Networks are trained on standardised targets.

    Parameters
    ----------
    module : callable
    lr : float, default=1e-3
    max_epochs : int, default=20
    batch_size : int, default=128
    weight_decay : float, default=0.0
    device : str or None, default=None
    random_state : int, RandomState instance or None, default=None

    Attributes
    ----------
    module_ : torch.nn.Module
    columns_ : ndarray of shape (n_features,)
    n_inputs_ : int
    n_features_in_ : int
    center_, scale_ : float
        Mean and standard deviation of the targets.
    """

    _classifies: ClassVar[bool] = False

    def _encode(self, y: Any) -> Any:
        # Targets of any units: the network learns them about their mean, in their deviations.
        self.center_ = float(np.mean(y))
        self.scale_ = float(np.std(y)) or 1.0
        return (np.asarray(y, dtype=np.float64) - self.center_) / self.scale_

    def predict(self, X: Any) -> FloatArray:
        """Predicted targets.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        y : ndarray of shape (n_samples,)
        """
        values = self._values(X)[:, 0]
        return self.center_ + self.scale_ * values


# -- many at once ----------------------------------------------------------------------------------


class Task(NamedTuple):
    """What all networks of a call share.

    Parameters
    ----------
    estimator : TorchEstimator
    rows : tensor of shape (n, width)
        In single precision, all columns.
    targets : tensor of shape (n,)
    weights : tensor of shape (n,)
    n_outputs : int
    """

    estimator: TorchEstimator
    rows: Tensor
    targets: Tensor
    weights: Tensor
    n_outputs: int

    @classmethod
    def of(
        cls, estimator: TorchEstimator, rows: Tensor, targets: Any, weights: FloatArray | None
    ) -> "Task":
        """From rows on the device, and targets or class numbers from 0 on."""
        import torch

        classifies, device = estimator._classifies, rows.device
        dtype = torch.int64 if classifies else torch.float32
        weights = np.ones(len(rows)) if weights is None else weights
        n_outputs = int(np.max(targets)) + 1 if classifies else 1
        return cls(
            estimator,
            rows.to(torch.float32),
            on_device(targets, device, dtype),
            on_device(weights, device, torch.float32),
            n_outputs,
        )

    def build(self, seed: int) -> Any:
        """A new network on the CPU, with initial parameters from a seed."""
        import torch

        factory = self.estimator.module
        if isinstance(factory, torch.nn.Module):
            raise TypeError(
                "module must be a function that builds a network from the numbers of columns and "
                f"outputs, got a network, {type(factory).__name__}."
            )
        with torch.random.fork_rng(devices=[]):
            # torch.manual_seed would seed all GPUs, too.
            torch.default_generator.manual_seed(seed)
            module = factory(self.rows.shape[1], self.n_outputs)
        if not isinstance(module, torch.nn.Module):
            raise TypeError(f"module must return a torch.nn.Module, got {module!r}.")
        check_parts(module)
        return with_own_noise(module, seed)

    def check_outputs(self, module: Any) -> None:
        """Raise unless a network, on the CPU, has the outputs that it is asked for."""
        values = module.eval()(self.rows[:1].cpu())
        module.train()
        if tuple(values.shape) != (1, self.n_outputs):
            raise ValueError(
                f"module must map inputs of shape (n, {self.rows.shape[1]}) to outputs of shape "
                f"(n, {self.n_outputs}), got {tuple(values.shape)} for n=1."
            )

    def loss(self, values: Tensor, targets: Tensor, weights: Tensor) -> Tensor:
        """Mean loss of outputs (b, O)."""
        import torch

        if self.estimator._classifies:
            each = torch.nn.functional.cross_entropy(values, targets, reduction="none")
        else:
            each = (values[:, 0] - targets).square()
        # A step may have samples of weight 0 alone.
        return (each * weights).sum() / weights.sum().clamp(min=torch.finfo(weights.dtype).tiny)


def _tensors(module: Any) -> dict[str, Tensor]:
    """Parameters and buffers of a network by name; tied ones once."""
    return {**dict(module.named_parameters()), **dict(module.named_buffers())}


class Stack(NamedTuple):
    """Networks with stacked parameters and buffers, (B, ...) each."""

    skeleton: Any
    parameters: dict[str, Tensor]
    buffers: dict[str, Tensor]

    def values(self, inputs: Tensor, part: slice = slice(None)) -> Tensor:
        """Outputs (B, n, O) of inputs (B, n, width), with dropout and the like switched off."""
        import torch

        self.skeleton.eval()
        state = [{name: one[part] for name, one in group.items()} for group in self[1:]]
        return torch.func.vmap(self._call)(*state, inputs)

    def states(self) -> list[dict[str, Tensor]]:
        """The state of each network, on the CPU."""
        stacked = {name: one.cpu() for group in self[1:] for name, one in group.items()}
        n_networks = len(next(iter(stacked.values())))
        return [{name: one[n].clone() for name, one in stacked.items()} for n in range(n_networks)]

    def _call(self, parameters: Any, buffers: Any, inputs: Tensor) -> Tensor:
        import torch

        return torch.func.functional_call(self.skeleton, (parameters, buffers), (inputs,))


def train(task: Task, masks: BoolArray, seeds: Sequence[int]) -> Stack:
    """Train a network per mask (B, width), each from its own seed, all at once."""
    import torch

    estimator, device = task.estimator, task.rows.device
    modules = [task.build(seed) for seed in seeds]
    task.check_outputs(modules[0])
    learned = [name for name, one in modules[0].named_parameters() if one.requires_grad]
    parameters, buffers = torch.func.stack_module_state(modules)
    # What the user has frozen stays as it is, like a buffer.
    buffers |= {name: one for name, one in parameters.items() if name not in learned}
    parameters = {name: parameters[name].detach().to(device) for name in learned}
    buffers = {name: one.detach().to(device) for name, one in buffers.items()}
    stack = Stack(modules[0].to(device), parameters, buffers)

    def loss(parameters: Any, buffers: Any, inputs: Tensor, targets: Any, weights: Any) -> Tensor:
        return task.loss(stack._call(parameters, buffers, inputs), targets, weights)

    gradient = torch.func.vmap(torch.func.grad(loss), randomness="different")
    held = on_device(masks, device, torch.float32)[:, None, :]
    n_rows = len(task.rows)
    shuffles = Shuffles([np.random.RandomState(seed) for seed in seeds], n_rows, shuffles=True)
    adam = _Adam(parameters, float(estimator.lr), float(estimator.weight_decay))
    bounds = [*range(0, n_rows, int(estimator.batch_size)), n_rows]
    n_gpus = torch.cuda.device_count() if device.type == "cuda" else 0
    try:
        with torch.random.fork_rng(devices=range(n_gpus)):
            # For other random layers than those of dropout.
            torch.manual_seed(int(seeds[0]))
            for _ in range(int(estimator.max_epochs)):
                order = on_device(shuffles.epoch(), device)
                # Dropout and the like are for training.
                stack.skeleton.train()
                for begin, end in pairwise(bounds):
                    rows = order[:, begin:end]
                    inputs = task.rows[rows] * held
                    adam.step(
                        gradient(
                            parameters, buffers, inputs, task.targets[rows], task.weights[rows]
                        )
                    )
                    advance(buffers)
    finally:
        shuffles.close()
    if not all(bool(one.isfinite().all()) for one in parameters.values()):
        raise ValueError(
            "A network has parameters that are NaN or infinite after training: lower lr, which is "
            f"{estimator.lr:g}, or scale the columns."
        )
    return stack


class _Adam:
    """Adam with decoupled weight decay, on stacked parameters in place."""

    def __init__(self, parameters: dict[str, Tensor], rate: float, decay: float) -> None:
        import torch

        self._parameters, self._rate, self._decay = parameters, rate, decay
        self._first = {name: torch.zeros_like(one) for name, one in parameters.items()}
        self._second = {name: torch.zeros_like(one) for name, one in parameters.items()}
        self._n_steps = 0

    def step(self, gradients: dict[str, Tensor]) -> None:
        """Update the parameters."""
        self._n_steps += 1
        rate = self._rate / (1.0 - 0.9**self._n_steps)
        correction = (1.0 - 0.999**self._n_steps) ** 0.5
        for name, gradient in gradients.items():
            first, second = self._first[name], self._second[name]
            first.mul_(0.9).add_(gradient, alpha=0.1)
            second.mul_(0.999).addcmul_(gradient, gradient, value=0.001)
            parameter = self._parameters[name]
            parameter.mul_(1.0 - self._rate * self._decay)
            parameter.addcdiv_(first, second.sqrt() / correction + 1e-8, value=-rate)
