"""Plain implementation of the paper with scikit-learn and numpy.

Base models are cloned and fitted, and predict, one after the other. The gradient is the paper's
formula for each sample, each model and each feature, in arrays of shape (T, n, M).
"""

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone


def plain_models(
    estimator: Any,
    X: Any,
    y: Any,
    masks: Any,
    X_query: Any,
    voting: str = "hard",
    weight: Any = None,
) -> Any:
    """Predictions (T, n_query, C) of a scikit-learn loop; C is 1 in regression."""
    predictions = []
    params = {} if weight is None else {"sample_weight": weight}
    for mask in masks:
        model = clone(estimator).fit(X[:, mask], y, **params)
        part = X_query[:, mask]
        if not hasattr(model, "classes_"):
            predictions.append(model.predict(part)[:, None])
        elif voting == "soft":
            predictions.append(model.predict_proba(part))
        else:
            predictions.append((model.predict(part)[:, None] == model.classes_).astype(float))
    return np.stack(predictions)


def plain_weights(masks: Any, theta: Any, log_q: Any) -> Any:
    """Importance weights that add up to 1."""
    z = masks.astype(float)
    log_p = (z * np.log(theta) + (1 - z) * np.log(1 - theta)).sum(axis=1)
    w = np.exp(log_p - log_q)
    return w / w.sum()


def plain_gradient(
    masks: Any, theta: Any, log_q: Any, predictions: Any, slope: Callable[[Any], Any]
) -> Any:
    """The paper's per-sample formula, with its tensors.

    ``predictions`` (T, n) are those of one output; ``slope`` turns the ensemble's output (n,) into
    the derivative of the loss in it.
    """
    z, F = masks.astype(float), predictions
    w = plain_weights(masks, theta, log_q)
    score = z / theta - (1 - z) / (1 - theta)
    squared = w[:, None] * score**2
    baseline = (squared[:, None, :] * F[:, :, None]).sum(axis=0) / squared.sum(axis=0)
    of_sample = (w[:, None] * score)[:, None, :] * (F[:, :, None] - baseline[None])
    return (slope(w @ F)[:, None] * of_sample.sum(axis=0)).sum(axis=0)


class Spent(NamedTuple):
    """What a run took: seconds in base models and how many, seconds in steps and how many."""

    model_seconds: float
    n_models: int
    step_seconds: float
    n_steps: int


def plain_prs(
    estimator: Any,
    X: Any,
    y: Any,
    X_val: Any,
    n_epochs: int,
    *,
    n_masks: int = 100,
    n_batches: int = 10,
    rate: float = 1e-3,
    threshold: float = 0.9,
    seed: int = 0,
) -> Spent:
    """The paper's algorithm for some epochs: regression, or classification in two classes."""
    rng = np.random.default_rng(seed)
    classify = y.dtype.kind != "f"
    targets = (y == y.max()).astype(float) if classify else (y - y.mean()) / y.std()
    theta = np.full(X.shape[1], 0.05)
    m, v, n_steps, n_models = np.zeros_like(theta), np.zeros_like(theta), 0, 0
    model_seconds = step_seconds = 0.0
    rounds: list[tuple[Any, ...]] = []
    for _ in range(n_epochs):
        begin = time.perf_counter()
        if not rounds:
            inside = np.clip(theta, 1e-6, 1 - 1e-6)
            for held_out in np.array_split(rng.permutation(len(X)), n_batches):
                masks = rng.random((n_masks, len(theta))) < theta
                masks[~masks.any(axis=1), 0] = True
                training = np.setdiff1d(np.arange(len(X)), held_out)
                answers = plain_models(
                    estimator, X[training], y[training], masks, np.vstack([X[held_out], X_val])
                )[:, : len(held_out), -1]
                if not classify:
                    answers = (answers - y.mean()) / y.std()
                z = masks.astype(float)
                log_q = (z * np.log(inside) + (1 - z) * np.log(1 - inside)).sum(axis=1)
                rounds.append((masks, log_q, answers, targets[held_out]))
                n_models += n_masks
        model_seconds += time.perf_counter() - begin
        begin = time.perf_counter()
        for masks, log_q, answers, target in rounds:

            def slope(f: Any, target: Any = target) -> Any:
                if not classify:
                    return 2.0 * (f - target) / len(f)
                f = np.clip(f, 1 / (2 * n_masks), 1 - 1 / (2 * n_masks))
                return (f - target) / (f * (1 - f)) / len(f)

            inside = np.clip(theta, 1e-6, 1 - 1e-6)
            g = plain_gradient(masks, inside, log_q, answers, slope)
            n_steps += 1
            m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g**2
            step = (m / (1 - 0.9**n_steps)) / (np.sqrt(v / (1 - 0.999**n_steps)) + 1e-8)
            theta = np.clip(theta - rate * step, 0.0, 1.0)
        inside = np.clip(theta, 1e-6, 1 - 1e-6)
        weights = [plain_weights(masks, inside, log_q) for masks, log_q, _, _ in rounds]
        if min(1.0 / (w**2).sum() for w in weights) < threshold * n_masks:
            rounds = []
        step_seconds += time.perf_counter() - begin
    return Spent(model_seconds, n_models, step_seconds, n_steps)
