"""Gradient boosting of decision trees, compiled.

Trees are split as in :mod:`randsub.engines.tree`: like scikit-learn's best splitter on
single-precision columns, with one of several equally good columns drawn at random. The residuals
of a first stage have few values in classification, so that ties are common there, and an ensemble
is scikit-learn's in law rather than number by number. Where there are none, predictions agree but
for rounding.
"""

import sys
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy.special import expit, softmax

from randsub._sklearn import predict_stages
from randsub._typing import FloatArray, IntArray, Table
from randsub.engines.base import aligned
from randsub.engines.boosting.kernels import GROUP, Plan, boost_and_predict
from randsub.engines.boosting.losses import MORE_CLASSES, SQUARED_ERROR, TWO_CLASSES
from randsub.engines.compiled import CompiledEngine, MaskBatch, Parameters, lines
from randsub.engines.tree.engine import (
    SINGLE_PRECISION,
    finite_single,
    fits_single,
    has_strange_weights,
    mean_of,
    rows_in_order,
    scaled_weights,
    size_limits,
)

FIXED: Mapping[str, Any] = {
    # The proxies by which splits are compared differ by a factor that is the same in all of a node.
    "criterion": ["deprecated", "friedman_mse", "squared_error"],
    "subsample": [1.0],
    "max_features": [None],
    "max_leaf_nodes": [None],
    "min_weight_fraction_leaf": [0.0],
    # The improvement by which "friedman_mse" judges a split is another.
    "min_impurity_decrease": [0.0],
    "ccp_alpha": [0.0],
    "init": [None],
    "n_iter_no_change": [None],
    "warm_start": [False],
}
FREE = {"n_estimators", "learning_rate", "max_depth", "min_samples_split", "min_samples_leaf"} | {
    "random_state",
    "verbose",
    # Only for early stopping.
    "validation_fraction",
    "tol",
}
# Squares of numbers up to this are finite.
SQUARE_ROOT_OF_MOST = 1e154
PARAMETERS = {
    # alpha is for other losses.
    "GradientBoostingRegressor": Parameters({**FIXED, "loss": ["squared_error"]}, FREE | {"alpha"}),
    "GradientBoostingClassifier": Parameters({**FIXED, "loss": ["log_loss"]}, FREE),
}


class _Reproduced(Mapping[type, Parameters]):
    """The estimators of ``sklearn.ensemble``, which takes time to import.

    As long as nobody has imported it, there is no estimator to ask about.
    """

    def _found(self) -> dict[type, Parameters]:
        ensemble = sys.modules.get("sklearn.ensemble")
        names = [name for name in PARAMETERS if hasattr(ensemble, name)]
        return {getattr(ensemble, name): PARAMETERS[name] for name in names}

    def __getitem__(self, kind: type) -> Parameters:
        return self._found()[kind]

    def __iter__(self) -> Iterator[type]:
        return iter(self._found())

    def __len__(self) -> int:
        return len(self._found())


class BoostingEngine(CompiledEngine):
    """GradientBoostingRegressor and GradientBoostingClassifier on all rows and columns.

    Squared error and log loss, limits of depth and sizes, sample weights; no NaN, no early
    stopping.
    """

    reproduced: ClassVar[Mapping[type, Parameters]] = _Reproduced()
    # Equal masks may break ties differently, and their average is the better for it.
    deterministic: ClassVar[bool] = False
    can_bootstrap: ClassVar[bool] = True
    # All columns are scanned for a split.
    power_of_size: ClassVar[float] = 0.75

    @classmethod
    def _obstacle(cls, estimator: Any, X: Table, sample_weight: FloatArray | None) -> str | None:
        return None if fits_single(X) else SINGLE_PRECISION

    def _steps_aside(self, y_train: Any, sample_weight: FloatArray | None) -> bool:
        return has_strange_weights(sample_weight)

    def _predict_fitted(self, model: Any, X: Table) -> FloatArray | None:
        learner = self.learner
        with np.errstate(over="ignore"):
            single = np.ascontiguousarray(lines(X).T, dtype=np.float32)
        if not (self.reproduced[type(model)].hold(model) and np.isfinite(single).all()):
            return None
        raw = np.tile(_start(model), (len(single), 1))
        predict_stages(model.estimators_, single, model.learning_rate, raw)
        if learner.classes is None:
            return raw
        return aligned(learner, model, _shares(raw, learner.voting))

    def _predict(self, batch: MaskBatch) -> FloatArray:
        learner, model = self.learner, self.learner.estimator
        weights = scaled_weights(batch.weights)
        is_regression = learner.classes is None
        target = _centered(batch.targets, weights) if is_regression else _coded(batch.targets)
        single, (query, strange) = batch.columns.astype(np.float32), finite_single(batch.query)
        raw = np.full((len(batch.masks), query.shape[1], target.n_trees), np.nan)
        # Squares that overflow make all splits alike; the generic engine does what can be done.
        if np.abs(target.values).max() < SQUARE_ROOT_OF_MOST / len(target.values):
            boost_and_predict(
                (single.ravel(), rows_in_order(single).ravel(), target.values),
                weights,
                batch.subsets,
                batch.seeds.astype(np.uint64),
                learner.bootstrap,
                np.pad(query.astype(np.float64), ((0, 0), (0, -query.shape[1] % GROUP))),
                Plan(target.loss, int(model.n_estimators), float(model.learning_rate)),
                size_limits(model, len(target.values)),
                raw,
            )
        # Where missing values go is for scikit-learn to say; so is what it thinks of huge ones.
        raw[batch.masks[:, strange].any(axis=1)] = np.nan
        if learner.classes is None:
            return raw + target.center
        out = batch.answers(learner, 0.0)
        out[:, :, target.seen] = _shares(raw, learner.voting)
        return out


class _Target(NamedTuple):
    """What a loss is told of the training rows.

    In regression ``values`` are about ``center``; in classification they are numbers of those
    classes that are ``seen``.
    """

    values: FloatArray
    loss: int
    n_trees: int
    center: float = 0.0
    seen: IntArray | None = None


def _centered(targets: Any, weights: FloatArray | None) -> _Target:
    values = np.asarray(targets, dtype=np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        center = mean_of(values, weights)
        values = values - center
    return _Target(values, SQUARED_ERROR, 1, center)


def _coded(targets: Any) -> _Target:
    """A class that no row has gets no tree and no probability."""
    seen, codes = np.unique(targets, return_inverse=True)
    two = len(seen) == 2
    loss, n_trees = (TWO_CLASSES, 1) if two else (MORE_CLASSES, len(seen))
    return _Target(codes.astype(np.float64), loss, n_trees, seen=seen)


def _start(model: Any) -> FloatArray:
    """Raw predictions (K,) of a fitted model before its first stage."""
    if not hasattr(model, "classes_"):
        return np.ravel(model.init_.constant_).astype(np.float64)
    # As scikit-learn has it; only a weighted sample could have such shares.
    tiny = np.finfo(np.float64).eps
    prior = np.log(np.clip(model.init_.class_prior_, tiny, 1.0 - tiny))
    return prior[1:] - prior[:1] if len(prior) == 2 else prior - prior.mean()


def _shares(raw: FloatArray, voting: str) -> FloatArray:
    """Probabilities, or votes, of raw predictions (..., K); NaN where these are NaN."""
    if raw.shape[-1] == 1:
        above: Any = np.where(np.isnan(raw), raw, raw >= 0.0) if voting == "hard" else expit(raw)
        return np.concatenate([1.0 - above, above], axis=-1)
    if voting == "soft":
        return np.asarray(softmax(raw, axis=-1))
    votes = np.eye(raw.shape[-1])[raw.argmax(axis=-1)]
    votes[np.isnan(raw).any(axis=-1)] = np.nan
    return votes
