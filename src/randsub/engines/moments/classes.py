"""Gaussian naive Bayes and linear discriminants: means and (co)variances of the classes."""

from typing import Any, ClassVar

import numpy as np
import sklearn
from scipy.special import softmax

from randsub._typing import FloatArray, IntArray
from randsub.engines.base import Learner
from randsub.engines.moments.family import MOST_ENTRIES, MOST_INFLATION, Batch, Family
from randsub.engines.moments.kernels import (
    class_moments,
    discriminant,
    naive_bayes,
    within_class_lines,
)

# Up to 1.8 the scatter within classes is divided by rows minus classes, since 1.9 by rows.
IS_UNBIASED = tuple(int(part) for part in sklearn.__version__.split(".")[:2]) < (1, 9)


def _classes_present(codes: Any, n_classes: int) -> tuple[IntArray, IntArray, IntArray]:
    """Classes that occur, their counts, and the rows' classes numbered among these."""
    counts = np.bincount(codes, minlength=n_classes)
    present = np.flatnonzero(counts).astype(np.int64)
    numbers = np.cumsum(counts > 0) - 1
    return present, counts[present], numbers[codes].astype(np.int64)


def _given_priors(priors: Any, n_classes: int) -> FloatArray | None:
    """The priors as the user gave them, or None where scikit-learn would refuse or rescale them."""
    try:
        values = np.array(priors, dtype=np.float64)
    except (TypeError, ValueError):
        return None
    fits = values.shape == (n_classes,) and bool((values >= 0.0).all())
    return values if fits and abs(values.sum() - 1.0) <= 1e-5 else None


class NaiveBayesFamily(Family):
    """GaussianNB."""

    classifies: ClassVar[bool] = True

    def reproduces(self, estimator: Any) -> bool:
        """All parameters."""
        return True

    def predict(self, learner: Learner, batch: Batch) -> FloatArray:
        """Means and variances once, then each mask's log-likelihoods add up."""
        estimator = learner.estimator
        out = batch.blank_answers(learner)
        present, _, codes = _classes_present(batch.targets, learner.n_outputs)
        totals = np.bincount(codes, weights=batch.weights)
        with np.errstate(invalid="ignore"):
            priors: FloatArray | None = totals / totals.sum()
        if estimator.priors is not None:
            priors = _given_priors(estimator.priors, len(present))
        if priors is None:
            return out
        # What scikit-learn takes for nothing.
        totals[np.isclose(totals, 0.0)] = 0.0
        n_columns = len(batch.columns)
        means, variances = np.empty((2, n_columns, len(present)))
        spreads = np.empty(n_columns)
        class_moments(
            batch.columns, batch.query, codes, batch.weights, totals, means, variances, spreads
        )
        with np.errstate(divide="ignore"):
            log_priors = np.log(priors)
        naive_bayes(
            means,
            variances,
            spreads,
            log_priors,
            float(estimator.var_smoothing),
            batch.begin,
            batch.held,
            batch.query,
            present,
            learner.voting == "hard",
            out,
        )
        return out

    def ask(self, model: Any, X: FloatArray) -> FloatArray:
        """Log-likelihoods under the normal distributions of each class."""
        with np.errstate(divide="ignore"):
            levels = np.log(model.class_prior_)
        levels = levels - 0.5 * np.log(2.0 * np.pi * model.var_).sum(axis=1)
        gaps = X[:, np.newaxis, :] - model.theta_
        return softmax(levels - 0.5 * (gaps**2 / model.var_).sum(axis=2), axis=1)


class DiscriminantFamily(Family):
    """LinearDiscriminantAnalysis by singular values."""

    classifies: ClassVar[bool] = True

    def reproduces(self, estimator: Any) -> bool:
        """The default solver, which has no shrinkage; no limit on the components."""
        return (
            # The lsqr solver does not centre, and loses digits that are kept here.
            estimator.solver == "svd"
            and estimator.shrinkage is None
            and estimator.covariance_estimator is None
            # It does not change predictions, but not every subset allows it.
            and estimator.n_components is None
        )

    def predict(self, learner: Learner, batch: Batch) -> FloatArray:
        """Scatter within classes once, then one small system a mask."""
        estimator = learner.estimator
        out = batch.blank_answers(learner)
        present, counts, codes = _classes_present(batch.targets, learner.n_outputs)
        n_rows = len(codes)
        priors: FloatArray | None = counts / n_rows
        if estimator.priors is not None:
            priors = _given_priors(estimator.priors, len(present))
        if priors is None or not (priors > 0.0).all() or n_rows <= len(present):
            return out
        freedom = n_rows - len(present) if IS_UNBIASED else n_rows
        n_columns = len(batch.columns)
        lines, means = batch.blank_lines(n_columns), np.empty((n_columns, len(present)))
        within_class_lines(
            batch.columns, batch.query, codes, counts, float(np.sqrt(1.0 / freedom)), lines, means
        )
        # Directions that scikit-learn would drop have singular values up to tol: within classes,
        # of columns with unit variance, and between their centres, relative to the largest.
        tol = float(estimator.tol)
        most_spread = 0.25 / tol**2 if tol > 0.0 else np.inf
        discriminant(
            lines,
            means,
            priors,
            batch.begin,
            batch.held,
            batch.query,
            present,
            learner.voting == "hard",
            batch.most_columns,
            MOST_ENTRIES,
            min(MOST_INFLATION, most_spread),
            most_spread,
            out,
        )
        return out

    def ask(self, model: Any, X: FloatArray) -> FloatArray:
        """Linear scores; for two classes scikit-learn keeps their difference."""
        scores = X @ model.coef_.T + model.intercept_
        if scores.shape[1] == 1:
            scores = np.column_stack([np.zeros(len(scores)), scores])
        return softmax(scores, axis=1)
