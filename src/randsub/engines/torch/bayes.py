"""Gaussian naive Bayes and linear discriminants: means and (co)variances of the classes."""

from typing import Any, ClassVar

import numpy as np

from randsub._typing import FloatArray, Table
from randsub.engines.base import Learner
from randsub.engines.compiled import Parameters
from randsub.engines.linear_and_bayes.bayes import (
    IS_UNBIASED,
    DiscriminantFamily,
    NaiveBayesFamily,
    classes_present,
    priors_of,
)
from randsub.engines.torch.device import Tensor, in_portions, on_device, wide_dtype
from randsub.engines.torch.family import Bucket, DeviceBatch, TorchFamily, buckets, concluded
from randsub.engines.torch.linear import bytes_per_query, factored


class TorchBayesFamily(TorchFamily):
    """What both have in common."""

    classifies: ClassVar[bool | None] = True

    def predict_fitted(self, learner: Learner, model: Any, X: Table) -> FloatArray | None:
        """As the compiled engine does."""
        from randsub.engines.linear_and_bayes import LinearAndBayesEngine

        return LinearAndBayesEngine(learner)._predict_fitted(model, X)


class TorchNaiveBayesFamily(TorchBayesFamily):
    """GaussianNB."""

    parameters: ClassVar[Parameters] = NaiveBayesFamily.parameters

    def predict(self, learner: Learner, batch: DeviceBatch) -> FloatArray:
        """Means and variances once, then each mask's log-likelihoods add up."""
        import torch

        device, out, wide = batch.device, batch.answers(learner), wide_dtype(batch.device)
        votes, counts, codes = classes_present(learner, batch.targets)
        n_rows, n_classes = len(codes), len(counts)
        weights = np.ones(n_rows) if batch.weights is None else np.asarray(batch.weights, float)
        totals = np.bincount(codes, weights=weights).astype(np.float64)
        with np.errstate(invalid="ignore", divide="ignore"):
            priors = priors_of(learner.estimator, totals / totals.sum())
            log_priors = None if priors is None else on_device(np.log(priors), device, wide)
        if log_priors is None:
            return out
        # What scikit-learn takes for nothing.
        totals[np.isclose(totals, 0.0)] = 0.0
        moments = _class_moments(batch, codes, weights, totals)
        query, means, variances, spreads = moments
        smoothing = float(learner.estimator.var_smoothing)
        for bucket in buckets(batch.masks, device):

            def work(part: slice, asked: slice, bucket: Bucket = bucket) -> Tensor:
                columns, held = bucket.columns[part], bucket.held[part]
                added = smoothing * (spreads[columns] * held).amax(dim=1)
                spread = variances[columns] + added[:, None, None]
                # Of places that are left over: no part in the sums.
                spread = torch.where(held[:, :, None], spread, 1.0 / (2.0 * torch.pi))
                center = means[columns]
                cells = bucket.cells(query[asked], part)
                levels = log_priors - 0.5 * (2.0 * torch.pi * spread).log().sum(dim=1)
                gaps = (cells[:, :, :, None] - center[:, None]) * held[:, None, :, None]
                scores = levels[:, None] - 0.5 * (gaps.square() / spread[:, None]).sum(dim=2)
                return concluded(scores, hard=votes.hard)

            n_bytes = bytes_per_query(bucket, 1, len(query)) + 24 * bucket.width * n_classes
            answers = np.empty((len(bucket.which), len(query), n_classes))
            in_portions(work, len(answers), len(query), n_bytes, device, answers)
            out[bucket.which] = 0.0
            out[np.ix_(bucket.which, np.arange(len(query)), votes.present)] = answers
        return out


def _class_moments(
    batch: DeviceBatch, codes: Any, weights: FloatArray, totals: FloatArray
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Queries about the means of the rows; means and variances (M, C) of classes, and of all (M,).

    A class without weight has mean and variance 0 in the columns as they were, as in scikit-learn.
    """
    import torch

    device, wide = batch.device, wide_dtype(batch.device)
    rows, query = batch.rows.to(wide), batch.query.to(wide)
    center = rows.mean(dim=0)
    rows, query = rows - center, query - center
    belongs = np.zeros((len(codes), len(totals)))
    belongs[np.arange(len(codes)), codes] = weights
    portion, sums = on_device(belongs, device, wide), on_device(totals, device, wide)
    means = torch.where(sums > 0.0, rows.T @ portion / sums, -center[:, None])
    gaps = rows - means.T[on_device(codes, device)]
    variances = torch.where(sums > 0.0, gaps.square().T @ portion / sums, 0.0)
    return query, means, variances, rows.var(dim=0, correction=0)


class TorchDiscriminantFamily(TorchBayesFamily):
    """LinearDiscriminantAnalysis by singular values, without shrinkage."""

    parameters: ClassVar[Parameters] = DiscriminantFamily.parameters

    def predict(self, learner: Learner, batch: DeviceBatch) -> FloatArray:
        """One system of the scatter within classes per mask."""
        import torch

        device, out, wide = batch.device, batch.answers(learner), wide_dtype(batch.device)
        votes, counts, codes = classes_present(learner, batch.targets)
        n_rows, n_classes = len(codes), len(counts)
        priors = priors_of(learner.estimator, counts / n_rows)
        if priors is None or not (priors > 0.0).all() or n_rows <= n_classes:
            return out
        factor = float(np.sqrt(1.0 / (n_rows - n_classes if IS_UNBIASED else n_rows)))
        rows, query = batch.rows.to(wide), batch.query.to(wide)
        # A column that is constant must become 0, not a rounding error that looks like a scatter.
        rows, query = rows - rows[0], query - rows[0]
        center = rows.mean(dim=0)
        rows, query = rows - center, query - center
        belongs = np.eye(n_classes)[codes] / counts
        means = rows.T @ on_device(belongs, device, wide)
        lines = (rows - means.T[on_device(codes, device)]) * factor
        shares = on_device(priors, device, wide)
        # Directions that scikit-learn would drop have singular values up to tol: within classes,
        # of columns with unit variance, and between their centres, relative to the largest.
        tol = float(learner.estimator.tol)
        spread = 0.25 / tol**2 if tol > 0.0 else np.inf
        sizes = on_device(np.count_nonzero(batch.masks, axis=1), device)
        for bucket in buckets(batch.masks, device):
            if bucket.width // 2 >= n_rows:
                continue
            n_columns = sizes[on_device(bucket.which, device)]

            def work(
                part: slice, asked: slice, bucket: Bucket = bucket, n_columns: Tensor = n_columns
            ) -> Tensor:
                held = bucket.held[part]
                system = factored(bucket.cells(lines, part), held, 0.0, spread, np.inf)
                middle = means[bucket.columns[part]] * held[:, :, None]
                centers = (middle * shares).sum(dim=-1, keepdim=True)
                gaps = middle - centers
                whitened, solution = system.half(gaps), system.solution(gaps)
                levels = shares.log() - 0.5 * whitened.square().sum(dim=1)
                levels = levels - (solution * centers).sum(dim=1)
                scores = bucket.cells(query[asked], part) @ solution + levels[:, None]
                is_known = system.is_solved
                if n_classes > 2:
                    is_known = is_known & _keeps_all(whitened, shares, n_columns[part], spread)
                found = concluded(scores, hard=votes.hard)
                return torch.where(is_known[:, None, None], found, torch.nan)

            n_bytes = bytes_per_query(bucket, n_rows, len(query), n_classes)
            answers = np.empty((len(bucket.which), len(query), n_classes))
            in_portions(work, len(answers), len(query), n_bytes, device, answers)
            out[bucket.which] = 0.0
            out[np.ix_(bucket.which, np.arange(len(query)), votes.present)] = answers
        return out


def _keeps_all(whitened: Tensor, shares: Tensor, n_columns: Tensor, most: float) -> Tensor:
    """Whether no direction between the class centres is small enough to be dropped, (t,)."""
    import torch

    weighted = whitened * shares.sqrt()
    matrix = weighted.transpose(1, 2) @ weighted
    values = torch.linalg.eigvalsh(matrix.nan_to_num())
    n_directions = n_columns.clamp(max=len(shares) - 1)
    least = values.gather(1, (len(shares) - n_directions)[:, None])[:, 0]
    return least * most >= values[:, -1]
