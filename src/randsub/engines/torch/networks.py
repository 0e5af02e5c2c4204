"""Many masked copies of a network of the user, trained at once.

A network sees all columns: those that its mask does not hold are 0, the mean of a scaled column. So
its layers may depend on places, as those of a convolutional network do. The parameters of all
networks are stacked, and :mod:`torch.func` computes losses and gradients of all of them.
"""

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from randsub._typing import BoolArray, FloatArray
from randsub.engines.torch.device import TURN, Tensor, on_device
from randsub.engines.torch.layers import advance, first_use, with_own_noise
from randsub.engines.torch.shuffles import Shuffles
from randsub.engines.torch.trials import check_alike, check_parts, outputs_of


class Task(NamedTuple):
    """What all networks of a call share.

    Parameters
    ----------
    estimator : TorchClassifier or TorchRegressor
    rows : tensor of shape (n, width)
        In single precision, all columns.
    targets : tensor of shape (n,)
    weights : tensor of shape (n,)
    n_outputs : int
    """

    estimator: Any
    rows: Tensor
    targets: Tensor
    weights: Tensor
    n_outputs: int

    @classmethod
    def of(cls, estimator: Any, rows: Tensor, targets: Any, weights: FloatArray | None) -> "Task":
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
        return built(self.estimator.module, self.rows.shape[1], self.n_outputs, seed)

    def check(self, module: Any, seed: int) -> None:
        """Raise unless networks like this one, on the CPU, can be trained; another one is tried."""
        trial = self.build(seed + 1)
        check_alike(module, trial)
        rows, targets = self.rows[:2].cpu(), self.targets[:2].cpu()
        for training in (False, True):
            values = outputs_of(trial, rows, self.n_outputs, training=training)
        each = self.losses(values, targets)
        shape = getattr(each, "shape", None)
        if shape != targets.shape:
            got = f"a {type(each).__name__}" if shape is None else f"shape {tuple(shape)}"
            raise ValueError(
                f"loss must return a tensor with a number for each of n={len(rows)} samples, got "
                f"{got}."
            )

    def losses(self, values: Tensor, targets: Tensor) -> Any:
        """Loss of each sample, from outputs (b, O)."""
        import torch

        values = values if self.estimator._classifies else values[:, 0]
        if self.estimator.loss is not None:
            return self.estimator.loss(values, targets)
        if self.estimator._classifies:
            return torch.nn.functional.cross_entropy(values, targets, reduction="none")
        return (values - targets).square()

    def loss(self, values: Tensor, targets: Tensor, weights: Tensor) -> Tensor:
        """Mean loss of outputs (b, O)."""
        import torch

        each = self.losses(values, targets)
        # A step may have samples of weight 0 alone.
        return (each * weights).sum() / weights.sum().clamp(min=torch.finfo(weights.dtype).tiny)


def built(factory: Callable[[int, int], Any], n_columns: int, n_outputs: int, seed: int) -> Any:
    """A new network of the user on the CPU, checked, with initial parameters from a seed."""
    import torch

    if isinstance(factory, torch.nn.Module):
        raise TypeError(
            "module must be a function that builds a network from the numbers of columns and "
            f"outputs, got a network, {type(factory).__name__}."
        )
    with TURN, torch.random.fork_rng(devices=[]):
        # torch.manual_seed would seed all GPUs, too.
        torch.default_generator.manual_seed(seed)
        module = factory(n_columns, n_outputs)
    if not isinstance(module, torch.nn.Module):
        raise TypeError(f"module must return a torch.nn.Module, got {module!r}.")
    check_parts(module)
    return with_own_noise(module, seed)


def tensors_of(module: Any) -> dict[str, Tensor]:
    """Parameters and buffers of a network by name; tied ones once."""
    return {**dict(module.named_parameters()), **dict(module.named_buffers())}


class Stack(NamedTuple):
    """Networks with stacked parameters and buffers, (B, ...) each.

    ``together`` is whether they can be called at once: PyTorch cannot do that with recurrent
    layers, nor where the way through a network depends on the data.
    """

    skeleton: Any
    parameters: dict[str, Tensor]
    buffers: dict[str, Tensor]
    together: bool

    def values(self, inputs: Tensor, part: slice = slice(None)) -> Tensor:
        """Outputs (B, n, O) of inputs (B, n, width), with dropout and the like switched off."""
        self.skeleton.eval()
        state = [{name: one[part] for name, one in group.items()} for group in self[1:3]]
        return of_each(self._call, together=self.together, randomness="error")(*state, inputs)

    def states(self) -> list[dict[str, Tensor]]:
        """The state of each network, on the CPU."""
        stacked = {name: one.cpu() for group in self[1:3] for name, one in group.items()}
        n_networks = len(next(iter(stacked.values())))
        return [{name: one[n].clone() for name, one in stacked.items()} for n in range(n_networks)]

    def gradient(self, task: Task) -> Callable[..., dict[str, Tensor]]:
        """Of the losses of all networks in their stacked parameters; switches dropout on."""
        import torch

        def loss(parameters: Any, buffers: Any, inputs: Tensor, *known: Tensor) -> Tensor:
            return task.loss(self._call(parameters, buffers, inputs), *known)

        self.skeleton.train()
        return of_each(torch.func.grad(loss), together=self.together, randomness="different")

    def _call(self, parameters: Any, buffers: Any, inputs: Tensor) -> Tensor:
        import torch

        first_use(self.skeleton)
        state = parameters, buffers
        # Outputs may be of another precision by torch.autocast.
        return torch.func.functional_call(self.skeleton, state, (inputs,)).to(torch.float32)


def of_each(function: Callable[..., Any], *, together: bool, randomness: str) -> Callable[..., Any]:
    """What a function says of each network, from stacked arguments."""
    import torch

    if together:
        return torch.func.vmap(function, randomness=randomness)

    def one_by_one(*groups: Any) -> Any:
        # Recurrent layers of cuDNN need their parameters in one piece of memory.
        with torch.backends.cudnn.flags(enabled=False):
            found = [function(*(_taken(one, n) for one in groups)) for n in range(len(groups[-1]))]
        if isinstance(found[0], dict):
            return {name: torch.stack([one[name] for one in found]) for name in found[0]}
        return torch.stack(found)

    return one_by_one


def _taken(group: Any, n: int) -> Any:
    return {name: one[n] for name, one in group.items()} if isinstance(group, dict) else group[n]


def _fits_together(task: Task, module: Any, learned: Sequence[str]) -> bool:
    """Whether PyTorch can call many such networks, on the CPU, at once: one of them is tried."""
    import torch

    state = {name: one.detach()[None] for name, one in tensors_of(module).items()}
    parameters = {name: state.pop(name) for name in learned}
    stack = Stack(module, parameters, state, together=True)
    batch = slice(int(task.estimator.batch_size))
    inputs, targets, weights = (
        one[batch].cpu().clone()[None] for one in (task.rows, task.targets, task.weights)
    )
    try:
        with torch.random.fork_rng(devices=[]):
            stack.gradient(task)(parameters, state, inputs.clone(), targets, weights)
            stack.values(inputs)
    except RuntimeError:
        return False
    finally:
        module.train()
    return True


def train(task: Task, masks: BoolArray, seeds: Sequence[int]) -> Stack:
    """Train a network per mask (B, width), each from its own seed, all at once."""
    import torch

    estimator, device = task.estimator, task.rows.device
    modules = [task.build(seed) for seed in seeds]
    task.check(modules[0], seeds[0])
    learned = [name for name, one in modules[0].named_parameters() if one.requires_grad]
    # Not by torch.func.stack_module_state: a class defined in the function is another in each call.
    states = [tensors_of(module) for module in modules]
    stacked = {
        name: torch.stack([state[name].detach() for state in states]).to(device)
        for name in states[0]
    }
    parameters = {name: stacked.pop(name) for name in learned}
    # What the user has frozen stays as it is, like a buffer.
    buffers = stacked
    together = _fits_together(task, modules[0], learned)
    stack = Stack(modules[0].to(device), parameters, buffers, together)
    held = on_device(masks, device, torch.float32)[:, None, :]
    n_rows = len(task.rows)
    shuffles = Shuffles([np.random.RandomState(seed) for seed in seeds], n_rows, shuffles=True)
    adam = _Adam(parameters, float(estimator.lr), float(estimator.weight_decay))
    bounds = [*range(0, n_rows, int(estimator.batch_size)), n_rows]
    n_gpus = torch.cuda.device_count() if device.type == "cuda" else 0
    try:
        with torch.random.fork_rng(devices=range(n_gpus)):
            # For other random layers than those of dropout; the user's GPUs are left alone.
            seeded = torch.default_generator if device.type == "cpu" else torch
            seeded.manual_seed(int(seeds[0]))
            for _ in range(int(estimator.max_epochs)):
                order = on_device(shuffles.epoch(), device)
                gradient = stack.gradient(task)
                for begin, end in pairwise(bounds):
                    rows = order[:, begin:end]
                    inputs = task.rows[rows] * held
                    known = task.targets[rows], task.weights[rows]
                    adam.step(gradient(parameters, buffers, inputs, *known))
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
