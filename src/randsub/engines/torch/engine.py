"""The engine, and the families of models that it knows."""

from collections.abc import Mapping
from contextlib import suppress
from typing import Any, ClassVar
from weakref import WeakKeyDictionary

import numpy as np
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.neural_network import MLPClassifier, MLPRegressor

from randsub._tables import Selection, as_table, frame_kind, is_mapped, to_array
from randsub._typing import BoolArray, FloatArray, HeldPredictions, IntArray, Table
from randsub.engines.base import is_one_class
from randsub.engines.compiled import CompiledEngine, MaskBatch, Parameters
from randsub.engines.torch import device as devices
from randsub.engines.torch.bayes import TorchDiscriminantFamily, TorchNaiveBayesFamily
from randsub.engines.torch.device import Tensor, on_device
from randsub.engines.torch.family import DeviceBatch, TorchFamily
from randsub.engines.torch.held import held
from randsub.engines.torch.knn import NeighborsFamily
from randsub.engines.torch.linear import TorchLeastSquaresFamily, TorchRidgeFamily
from randsub.engines.torch.mlp import PerceptronClassifierFamily, PerceptronRegressorFamily
from randsub.engines.torch.modules import TorchClassifier, TorchRegressor
from randsub.engines.torch.own_network import OwnNetworkFamily

FAMILIES: Mapping[type, TorchFamily] = {
    KNeighborsClassifier: NeighborsFamily(),
    KNeighborsRegressor: NeighborsFamily(),
    Ridge: TorchRidgeFamily(),
    LinearRegression: TorchLeastSquaresFamily(),
    GaussianNB: TorchNaiveBayesFamily(),
    LinearDiscriminantAnalysis: TorchDiscriminantFamily(),
    MLPClassifier: PerceptronClassifierFamily(),
    MLPRegressor: PerceptronRegressorFamily(),
    TorchClassifier: OwnNetworkFamily(classifies=True),
    TorchRegressor: OwnNetworkFamily(classifies=False),
}
# Tables that an engine has on its device, by their identity; the table itself is held along with
# the copy, so that no other one can have its identity.
_TABLES: "WeakKeyDictionary[TorchEngine, dict[int, tuple[Table, Tensor]]]" = WeakKeyDictionary()


class TorchEngine(CompiledEngine):
    """Neighbours, linear models, naive Bayes, discriminants and perceptrons, on a GPU or the CPU.

    All masks of a call are trained at once. Data go to the device once per fit, as float32 if they
    are float32 and as float64 otherwise.
    """

    reproduced: ClassVar[Mapping[type, Parameters]] = {
        kind: family.parameters for kind, family in FAMILIES.items()
    }
    takes_outputs: ClassVar[bool] = True
    on_device: ClassVar[bool] = True
    # The others have a faster way on most machines.
    automatic: ClassVar[tuple[type, ...] | None] = (TorchClassifier, TorchRegressor)

    @classmethod
    def obstacle(
        cls, estimator: Any, X: Table, y: Any, sample_weight: FloatArray | None
    ) -> str | None:
        """As of compiled engines, and if PyTorch is missing."""
        reason = super().obstacle(estimator, X, y, sample_weight)
        if reason is None and np.ndim(y) > 1 and not FAMILIES[type(estimator)].takes_outputs:
            reason = f"supports a single target with {type(estimator).__name__}"
        if reason is None and not devices.is_installed():
            reason = devices.MISSING
        return reason

    @classmethod
    def _obstacle(cls, estimator: Any, X: Table, sample_weight: FloatArray | None) -> str | None:
        return FAMILIES[type(estimator)].obstacle(estimator)

    @property
    def _family(self) -> TorchFamily:
        return FAMILIES[type(self.learner.estimator)]

    def _steps_aside(self, y_train: Any, sample_weight: FloatArray | None) -> bool:
        return self._family.steps_aside(self.learner, y_train)

    def _distinct(self, masks: BoolArray, among: IntArray) -> tuple[IntArray, IntArray]:
        if not self._family.deterministic:
            return among, np.arange(len(among))
        return super()._distinct(masks, among)

    def _predict(self, batch: MaskBatch) -> FloatArray:
        used = np.arange(len(batch.columns))
        rows, query = batch.columns.T, batch.query.T
        return self._answers(
            rows, batch.targets, batch.masks, used, query, batch.seeds, batch.weights
        )

    def _answers(
        self,
        X_train: Table,
        targets: Any,
        masks: BoolArray,
        used: IntArray,
        X_query: Table,
        seeds: IntArray,
        weights: FloatArray | None,
    ) -> FloatArray:
        device = devices.chosen(self.learner.device)
        with devices.at_work(device):
            rows, query = (self._table(X, used, device) for X in (X_train, X_query))
            places = _places(X_train, used)
            batch = DeviceBatch(rows, query, targets, masks, seeds, weights, *places)
            return self._family.predict(self.learner, batch)

    def fit_many(
        self,
        X: Table,
        y: Any,
        masks: BoolArray,
        seeds: IntArray,
        sample_weight: FloatArray | None = None,
        fit_params: Mapping[str, Any] | None = None,
    ) -> list[Any]:
        """Real scikit-learn estimators, trained on the device where that is worth it."""
        learner, classes = self.learner, self.learner.classes
        passed = sample_weight if learner.passes_weight else None
        table = as_table(X)
        models: list[Any] = [None] * len(masks)
        holds = np.flatnonzero(np.any(masks, axis=1))
        one_class = classes is not None and is_one_class(y)
        if len(holds) and not (one_class or fit_params or self._steps_aside(y, passed)):
            targets = y if classes is None else np.searchsorted(classes, y)
            device, used = devices.chosen(learner.device), np.arange(table.shape[1])
            with devices.at_work(device):
                rows = self._table(X, used, device)
                which = (masks[holds], seeds[holds], passed, *_places(X, used))
                batch = DeviceBatch(rows, rows[:0], targets, *which)
                for place, model in zip(
                    holds, self._family.fit(learner, batch, table, y) or [], strict=False
                ):
                    models[place] = model
        left = np.array([place for place, model in enumerate(models) if model is None], dtype=int)
        fitted = super().fit_many(table, y, masks[left], seeds[left], sample_weight, fit_params)
        for place, model in zip(left, fitted, strict=True):
            models[place] = model
        return models

    def _predict_fitted(self, model: Any, X: Table) -> FloatArray | None:
        # A model may come from a machine with another device, or with PyTorch, to one without.
        if devices.obstacle_of(self.learner.device) is not None:
            return None
        return self._family.predict_fitted(self.learner, model, X)

    def held(self, predictions: FloatArray) -> FloatArray | HeldPredictions:
        """On the GPU, if there are many."""
        # The models may have been trained on a worker of a cluster, and there be no GPU here.
        if devices.obstacle_of(self.learner.device) is not None:
            return predictions
        return held(predictions, devices.chosen(self.learner.device))

    # -- data on the device ------------------------------------------------------------------------

    def release(self) -> None:
        """Forget data on the device."""
        if _TABLES.pop(self, None) is not None:
            # A device that is lost fails here once more, over the sentence about it.
            with suppress(RuntimeError):
                devices.release(devices.chosen(self.learner.device))

    def _table(self, X: Table, columns: IntArray, device: Any) -> Tensor:
        """Some columns of a table, or of what is selected of tables, on the device, (n, M)."""
        import torch

        if not isinstance(X, Selection):
            return on_device(_numbers(X, columns), device, _dtype(X, device))
        kept = [one for table, _ in X.parts if (one := self._kept(table, device)) is not None]
        if len(kept) < len(X.parts):
            return self._table(X.table(), columns, device)
        places = on_device(X.columns[columns], device)
        picked = [
            whole.index_select(0, on_device(rows, device)).index_select(1, places)
            for whole, (_, rows) in zip(kept, X.parts, strict=True)
        ]
        return picked[0] if len(picked) == 1 else torch.cat(picked)

    def _kept(self, X: Table, device: Any) -> Tensor | None:
        """The copy of a table that stays on the device; None if it is too large to stay there."""
        tables = _TABLES.setdefault(self, {})
        if id(X) not in tables:
            is_array = isinstance(X, np.ndarray) and not is_mapped(X)
            dtype = _dtype(X, device)
            n_bytes = X.shape[0] * X.shape[1] * dtype.itemsize
            if not (is_array or frame_kind(X)) or n_bytes > 2 * devices.free_bytes(device):
                return None
            whole = _numbers(X, np.arange(X.shape[1]))
            tables[id(X)] = X, on_device(whole, device, dtype)
        return tables[id(X)][1]


def _places(X: Table, used: IntArray) -> tuple[IntArray, int]:
    """Places of the columns that are used in the whole table, and its width."""
    if isinstance(X, Selection):
        return X.columns[used], int(X.parts[0][0].shape[1])
    return used, int(X.shape[1])


def _numbers(X: Table, columns: IntArray) -> Any:
    """Columns of a table as an array of floats."""
    values = to_array(X, columns) if frame_kind(X) else X[:, columns]
    return values if values.dtype in (np.float32, np.float64) else values.astype(np.float64)


def _dtype(X: Table, device: Any) -> Any:
    """Single precision for data in single precision, as in scikit-learn's networks."""
    import torch

    dtypes = [X.dtype] if frame_kind(X) is None else list(X.dtypes)
    is_single = all(str(dtype).lower() == "float32" for dtype in dtypes)
    return torch.float32 if is_single else devices.wide_dtype(device)
