"""A network of the user as a scikit-learn estimator."""

from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from randsub._sklearn import DocumentedEstimator, Interval, check_sample_weight
from randsub._typing import FloatArray, IntArray
from randsub.engines.torch.device import Tensor, at_work, chosen, obstacle_of, on_device
from randsub.engines.torch.networks import Task, built, tensors_of, train

# Rows of which a fitted network predicts the values at a time.
ROWS_AT_ONCE = 4096


class TorchEstimator(DocumentedEstimator):
    """What :class:`TorchClassifier` and :class:`TorchRegressor` have in common."""

    _home: ClassVar[str | None] = "randsub.torch"
    _classifies: ClassVar[bool]
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "module": [callable],
        "loss": [callable, None],
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
        loss: Callable[[Any, Any], Any] | None = None,
        lr: float = 1e-3,
        max_epochs: int = 20,
        batch_size: int = 128,
        weight_decay: float = 0.0,
        device: str | None = None,
        random_state: Any = None,
    ) -> None:
        self.module = module
        self.loss = loss
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
        self.check_device()
        X, y = validate_data(self, X, y, dtype=np.float32, y_numeric=not self._classifies)
        weights = None
        if sample_weight is not None:
            weights = check_sample_weight(sample_weight, X)
        seed = int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))
        device = chosen(self.device)
        with at_work(device):
            task = Task.of(self, on_device(X, device), self._encode(y, weights), weights)
            (state,) = train(task, np.ones((1, X.shape[1]), dtype=bool), [seed]).states()
        return self._finish(task, state, seed, np.arange(X.shape[1]), X.shape[1])

    def check_device(self) -> None:
        """Raise a ValueError if no network can be trained on the device."""
        reason = obstacle_of(self.device)
        if reason is not None:
            raise ValueError(f"{type(self).__name__} {reason}.")

    def __getstate__(self) -> dict[str, Any]:
        # A file holds arrays, and the network is built again by its function when it is read.
        state: dict[str, Any] = dict(super().__getstate__())
        tensors = tensors_of(state["module_"]) if "module_" in state else {}
        # NumPy has no bfloat16, say; then the network is written as it is.
        if tensors and all(str(one.dtype)[6:] in np.sctypeDict for one in tensors.values()):
            del state["module_"]
            state["_arrays"] = {name: one.numpy() for name, one in tensors.items()}
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        state = dict(state)
        arrays = state.pop("_arrays", None)
        super().__setstate__(state)
        if arrays is not None:
            import torch

            n_outputs = len(self.classes_) if self._classifies else 1
            tensors = {name: torch.from_numpy(np.array(one)) for name, one in arrays.items()}
            self._assemble(built(self.module, self.n_inputs_, n_outputs, 0), tensors)

    def _encode(self, y: Any, weights: FloatArray | None) -> Any:
        """Targets, or class numbers; sets the fitted attributes of the targets."""
        raise NotImplementedError

    def _finish(
        self, task: Task, state: dict[str, Tensor], seed: int, columns: IntArray, width: int
    ) -> Self:
        """Keep a trained network, for some of the columns of a table."""
        self._assemble(task.build(seed), state)
        self.columns_, self.n_inputs_ = columns, width
        self.n_features_in_ = len(columns)
        return self

    def _assemble(self, module: Any, state: dict[str, Tensor]) -> None:
        """Keep a network with a state."""
        self.module_ = module.requires_grad_(False)
        # Tied parameters have one name, and some buffers are in no state_dict.
        for name, own in tensors_of(self.module_).items():
            own.copy_(state[name])
        self.module_.eval()

    def _values(self, X: Any) -> FloatArray:
        """Outputs of the network (n, O)."""
        import torch

        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float32, reset=False)
        # A model may come from a machine with another device.
        device = chosen("cpu" if obstacle_of(self.device) else self.device)
        with at_work(device):
            # Not moved for good: fitted models are kept, sent and written on the CPU.
            state = {name: one.to(device) for name, one in tensors_of(self.module_).items()}
            answers = []
            for begin in range(0, len(X), ROWS_AT_ONCE):
                part = on_device(X[begin : begin + ROWS_AT_ONCE], device)
                inputs = part.new_zeros((len(part), self.n_inputs_))
                inputs[:, on_device(self.columns_, device)] = part
                answers.append(torch.func.functional_call(self.module_, state, (inputs,)).cpu())
            return torch.cat(answers).to(torch.float64).numpy()


class TorchClassifier(ClassifierMixin, TorchEstimator):
    """A PyTorch network as a classifier, by Adam.

    As a base model of an ensemble, all networks of a batch are trained at once by the engine
    "torch", on a GPU if there is one; each sees the columns of its mask, and 0 in the others.

    Parameters
    ----------
    module : callable
        Takes the number of columns and the number of classes, and returns a
        :class:`torch.nn.Module` that maps inputs (n, n_columns) to logits (n, n_classes).
    loss : callable, default=None
        Takes outputs (n, n_classes) and class numbers (n,), and returns the loss of each sample
        (n,), as those of :mod:`torch.nn.functional` with ``reduction="none"`` do. None is
        cross-entropy.
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

    def _encode(self, y: Any, weights: FloatArray | None) -> Any:
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
    """A PyTorch network as a regressor, by Adam.

    Parameters are those of :class:`TorchClassifier`; ``module`` is given 1 as the number of
    outputs, and ``loss`` takes outputs (n,) and targets (n,). Networks are trained on standardised
    targets.

    Parameters
    ----------
    module : callable
    loss : callable, default=None
        None is the squared error.
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

    def _encode(self, y: Any, weights: FloatArray | None) -> Any:
        # Targets of any units: the network learns them about their mean, in their deviations.
        y = np.asarray(y, dtype=np.float64)
        weights = None if weights is None or not weights.any() else weights
        self.center_ = float(np.average(y, weights=weights))
        self.scale_ = float(np.average((y - self.center_) ** 2, weights=weights)) ** 0.5 or 1.0
        return (y - self.center_) / self.scale_

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
