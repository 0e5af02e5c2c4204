"""Gaussian naive Bayes and linear discriminants: means and (co)variances of the classes."""

from typing import Any, ClassVar

import numpy as np
import sklearn
from scipy.special import softmax

from randsub._typing import FloatArray, IntArray
from randsub.engines.base import Learner
from randsub.engines.compiled import MaskBatch, Parameters
from randsub.engines.linear_and_bayes.family import Family, blank_lines, limits_of, weights_of
from randsub.engines.linear_and_bayes.kernels import (
    Votes,
    discriminant,
    naive_bayes,
)
from randsub.engines.linear_and_bayes.moments import class_moments, within_class_lines

# Up to 1.8 the scatter within classes is divided by rows minus classes, since 1.9 by rows.
IS_UNBIASED = tuple(int(part) for part in sklearn.__version__.split(".")[:2]) < (1, 9)


def classes_present(learner: Learner, codes: Any) -> tuple[Votes, IntArray, IntArray]:
    """Classes that occur, their counts, and the rows' classes numbered among these."""
    counts = np.bincount(codes, minlength=learner.n_outputs)
    present = np.flatnonzero(counts).astype(np.int64)
    numbers = np.cumsum(counts > 0) - 1
    votes = Votes(present, learner.voting == "hard")
    return votes, counts[present], numbers[codes].astype(np.int64)


def priors_of(estimator: Any, found: FloatArray) -> FloatArray | None:
    """Priors found in the data, or given; None where scikit-learn would refuse or rescale them."""
    if estimator.priors is None:
        return found
    try:
        values = np.array(estimator.priors, dtype=np.float64)
    except (TypeError, ValueError):
        return None
    fits = values.shape == found.shape and bool((values >= 0.0).all())
    return values if fits and abs(values.sum() - 1.0) <= 1e-5 else None


class NaiveBayesFamily(Family):
    """GaussianNB."""

    classifies: ClassVar[bool] = True
    parameters: ClassVar[Parameters] = Parameters(fixed={}, free={"priors", "var_smoothing"})

    def predict(self, learner: Learner, batch: MaskBatch) -> FloatArray:
        """Means and variances once, then each mask's log-likelihoods add up."""
        columns, query, weights = batch.columns, batch.query, weights_of(batch)
        out = batch.answers(learner, np.nan)
        votes, counts, codes = classes_present(learner, batch.targets)
        totals = np.bincount(codes, weights=weights)
        with np.errstate(invalid="ignore"):
            priors = priors_of(learner.estimator, totals / totals.sum())
        if priors is None:
            return out
        # What scikit-learn takes for nothing.
        totals[np.isclose(totals, 0.0)] = 0.0
        means, variances = np.empty((2, len(columns), len(counts)))
        spreads = np.empty(len(columns))
        moments = (means, variances, spreads)
        class_moments(columns, query, codes, weights, totals, moments)
        with np.errstate(divide="ignore"):
            log_priors = np.log(priors)
        smoothing = float(learner.estimator.var_smoothing)
        naive_bayes(moments, log_priors, smoothing, batch.subsets, query, votes, out)
        return out

    def predict_fitted(self, model: Any, X: FloatArray) -> FloatArray:
        """Log-likelihoods under the normal distributions of each class."""
        with np.errstate(divide="ignore"):
            levels = np.log(model.class_prior_)
        levels = levels - 0.5 * np.log(2.0 * np.pi * model.var_).sum(axis=1)
        gaps = X[:, np.newaxis, :] - model.theta_
        return softmax(levels - 0.5 * (gaps**2 / model.var_).sum(axis=2), axis=1)


class DiscriminantFamily(Family):
    """LinearDiscriminantAnalysis by singular values, without shrinkage."""

    classifies: ClassVar[bool] = True
    parameters: ClassVar[Parameters] = Parameters(
        fixed={
            # The lsqr solver does not centre, and loses digits that are kept here.
            "solver": ["svd"],
            "shrinkage": [None],
            "covariance_estimator": [None],
            # It does not change predictions, but not every subset allows it.
            "n_components": [None],
        },
        free={"priors", "store_covariance", "tol"},
    )

    def predict(self, learner: Learner, batch: MaskBatch) -> FloatArray:
        """Scatter within classes once, then one small system per mask."""
        columns, query = batch.columns, batch.query
        out = batch.answers(learner, np.nan)
        votes, counts, codes = classes_present(learner, batch.targets)
        n_rows, n_classes = len(codes), len(counts)
        priors = priors_of(learner.estimator, counts / n_rows)
        if priors is None or not (priors > 0.0).all() or n_rows <= n_classes:
            return out
        factor = float(np.sqrt(1.0 / (n_rows - n_classes if IS_UNBIASED else n_rows)))
        lines, means = blank_lines(batch, len(columns)), np.empty((len(columns), n_classes))
        within_class_lines(columns, query, codes, counts, factor, lines, means)
        # Directions that scikit-learn would drop have singular values up to tol: within classes,
        # of columns with unit variance, and between their centres, relative to the largest.
        tol = float(learner.estimator.tol)
        spread = 0.25 / tol**2 if tol > 0.0 else np.inf
        limits = limits_of(batch, spread, np.inf)
        discriminant(lines, means, priors, batch.subsets, query, votes, limits, spread, out)
        return out

    def predict_fitted(self, model: Any, X: FloatArray) -> FloatArray:
        """Linear scores; for two classes scikit-learn keeps their difference."""
        scores = X @ model.coef_.T + model.intercept_
        if scores.shape[1] == 1:
            scores = np.column_stack([np.zeros(len(scores)), scores])
        return softmax(scores, axis=1)
