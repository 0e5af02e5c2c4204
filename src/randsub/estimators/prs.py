"""Parametric Random Subspace: what classifier and regressor share.

``fit`` is :meth:`SubspaceEnsemble._fit`. This module implements its learning step: the parts of the
method are collected in a :class:`Problem`, the solver optimises alpha, and the subsets of the
members are drawn from it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Any, ClassVar, Literal, Self

import numpy as np
import pandas as pd
from scipy.sparse import issparse
from sklearn.base import clone
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils.validation import check_is_fitted

from randsub._sklearn import fit_context
from randsub._typing import FloatArray, Table
from randsub.callbacks.support import CallbackSupport
from randsub.checkpoint import Logbook
from randsub.distributions import SubsetDistribution
from randsub.engines.base import takes_outputs
from randsub.estimators.assembly import assemble
from randsub.estimators.base import SubspaceEnsemble
from randsub.estimators.constraints import CONSTRAINTS
from randsub.estimators.fit_data import (
    AUTO_REPEATS_WIDE,
    WIDE,
    FitData,
    Given,
    Samples,
    count_repeats,
    sample_limit,
)
from randsub.estimators.groups import choose_distribution
from randsub.estimators.named_bases import AUTO, NamedBases, bases_of, is_mix
from randsub.estimators.portfolio import AUTO_ROWS, Facts, everything, portfolio
from randsub.estimators.run import EnsembleRun, Members
from randsub.estimators.validation import LEAST_WEIGHT
from randsub.losses import (
    Loss,
)
from randsub.penalties import Penalty
from randsub.solver import ProgressBar, Result, Solver
from randsub.solver.shares import mixed_penalty
from randsub.solver.state import EpochRecord


@dataclass(eq=False, repr=False, kw_only=True)
class BasePRS(CallbackSupport, NamedBases, SubspaceEnsemble):
    """Common part of :class:`PRSClassifier` and :class:`PRSRegressor`."""

    alpha_init: Any = "auto"
    loss: str | Loss = "auto"
    objective: Literal["ensemble", "members"] = "ensemble"
    penalty: Penalty | None = None
    feature_groups: Any = None
    categorical_features: Any = "auto"
    distribution: Literal["auto"] | SubsetDistribution = "auto"
    max_samples: float | None = None
    bootstrap: bool | Literal["auto"] = "auto"
    max_iter: int | None = None
    n_iter_no_change: int | None = None
    n_repeats: int | Literal["auto"] = "auto"
    solver: Solver | None = None

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = CONSTRAINTS
    _takes_outputs: ClassVar[bool] = True

    @property
    def feature_importances_(self) -> FloatArray:
        """Importance of each feature: the probability with which a member sees it, ``alpha_``."""
        check_is_fitted(self, "alpha_")
        return self.alpha_

    def _bases(self) -> dict[str, Any]:
        if self._chooses_bases:
            # After a fit, those that it has chosen.
            chosen: Any = getattr(self, "estimator_", None)
            if is_mix(chosen):
                return dict(chosen)
            needs_probabilities = getattr(self, "voting", None) == "soft"
            return {
                name: base
                for name, base in everything(self._task)
                if not needs_probabilities or hasattr(base, "predict_proba")
            }
        return self.named_bases() if is_mix(self.estimator) else super()._bases()

    def _bases_take_outputs(self) -> bool:
        try:
            bases = self._bases().values()
        except ValueError:
            # Bad base models are an error of fit.
            return False
        classifies = self._task == "classification"
        known = [takes_outputs(base, classifies=classifies) is True for base in bases]
        return any(known) if self._chooses_bases else all(known)

    def _suited(self, bases: dict[str, Any], samples: Samples) -> dict[str, Any]:
        if not self._chooses_bases:
            return bases
        n_samples = n_train = len(samples.rows)
        if self.validation_fraction is not None:
            n_train = int(n_train * (1.0 - self.validation_fraction))
        n_train -= -(-n_train // self._solver().n_batches)
        classifies, several = self._task == "classification", samples.y.ndim == 2
        n_classes = len(self.classes_) if classifies else None
        facts = Facts(
            n_samples=self._most_rows(n_samples),
            n_train=min(n_train, self._search_rows(n_train) or n_train),
            n_classes=2 if classifies and several else n_classes,
            is_sparse=issparse(samples.X),
        )
        return {
            name: self._checked_base(base)
            for name, base in portfolio(self._task, facts)
            if name in bases
            and (not several or takes_outputs(base, classifies=classifies) is not False)
        }

    def _fills_missing(self) -> bool:
        return self._chooses_bases

    def _unfitted(self, given: Given) -> Any:
        estimators = [learner.estimator for learner in given.learners]
        if self._mixes:
            return [*zip(given.names, estimators, strict=True)]
        return estimators[0]

    @property
    def _chooses_bases(self) -> bool:
        """Whether the user leaves the choice of the base models to the library."""
        return isinstance(self.estimator, str) and self.estimator == AUTO

    @property
    def _mixes(self) -> bool:
        """Whether base models have names."""
        return is_mix(self.estimator) or self._chooses_bases

    def _kinds(self, members: slice) -> list[tuple[int, float]]:
        if not hasattr(self, "shares_"):
            return super()._kinds(members)
        places = {name: place for place, name in enumerate(self.shares_)}
        bases = [places[name] for name in self.estimators_bases_[members]]
        return [*zip(bases, self.estimators_weights_[members].tolist(), strict=True)]

    # -- fitting ---------------------------------------------------------------------------------

    @fit_context(prefer_skip_nested_validation=False)
    def fit(
        self,
        X: Table,
        y: Any,
        sample_weight: Any = None,
        *,
        X_val: Table | None = None,
        y_val: Any = None,
        sample_weight_val: Any = None,
        resume_from: "PathLike[str] | str | None" = None,
        **fit_params: Any,
    ) -> Self:
        """Optimise alpha, then fit the final ensemble.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Training data. Sparse matrices and missing values are accepted if the base model
            supports them; for a pandas or polars frame, base models receive frames, unless its
            columns must be encoded.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Targets. Several columns are outputs of a regression, or labels of a classification,
            1 where a sample has the label and 0 where it has not; the base model must take them.
            One alpha is learned for all columns, from the mean of their losses.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the samples in losses and scores, and in the base models if they accept
            weights. Samples of weight 0 are left out.
        X_val, y_val, sample_weight_val : same as above, default=None
            Validation data, on which the best alpha is chosen. By default the fraction
            ``validation_fraction`` of X is set aside.
        resume_from : path-like, default=None
            File that :class:`randsub.callbacks.Checkpoint` has written during an earlier fit of
            the same model to the same data. The fit is resumed from there, with bit for bit the
            result of an uninterrupted fit. A file of another fit is refused, and the error lists
            the differences. If ``random_state`` is not an int, the seed of the earlier fit is used.
            ``device``, ``n_jobs``, ``task_timeout``, ``verbose`` and the callbacks may differ, and
            so may ``max_iter`` if training up to the checkpoint would have been the same, which is
            the case if the solver has ``n_revivals=0``, there is one base model, and no repeats are
            finished.
        **fit_params : dict
            Metadata for the base model's ``fit``; needs ``enable_metadata_routing=True``, see the
            scikit-learn guide on metadata routing.

        Returns
        -------
        self : object
            The fitted ensemble.
        """
        data = (X, y, sample_weight, X_val, y_val, sample_weight_val, fit_params)
        return self._fit(*data, resume_from=resume_from)

    def _default_solver(self) -> Solver:
        return Solver()

    def _begin(self) -> None:
        solver = self._solver()
        solver.check()
        # Epochs or, if not all repeats fit into memory, blocks of them.
        n_repeats = AUTO_REPEATS_WIDE if self.n_repeats == "auto" else self.n_repeats
        n_epochs = self.max_iter or solver.max_iter
        self._init_callback_context(max_subtasks=max(n_epochs, n_repeats))

    def _draws_rows(self, base: Any, n_samples: int) -> bool:
        if self.bootstrap == "auto":
            is_tree = isinstance(base, DecisionTreeClassifier | DecisionTreeRegressor)
            return is_tree and self.n_features_in_ < WIDE * n_samples
        return self.bootstrap

    def _base_weight(self, samples: Samples) -> FloatArray | None:
        weight = samples.sample_weight
        if weight is None or not self._chooses_bases:
            return weight
        # C of a support vector machine is per unit of weight, and its default is for weights
        # around 1; nobody has chosen it for others.
        mean_one = weight / weight[samples.rows].mean()
        return np.where(weight > 0.0, np.maximum(mean_one, LEAST_WEIGHT), 0.0)

    def _most_rows(self, n: int) -> int:
        limit = sample_limit(self.max_samples, n)
        return n if limit is None else min(n, limit)

    def _search_rows(self, n: int) -> int | None:
        """Largest number of training samples of a model while alpha is learned, out of n."""
        if self.max_samples is None and self._chooses_bases:
            return AUTO_ROWS if n > AUTO_ROWS else None
        return sample_limit(self.max_samples, n)

    def _count_repeats(self, given: Given) -> int:
        names = list(getattr(self, "feature_names_in_", ()))
        distribution = choose_distribution(
            self.distribution, self.feature_groups, self.n_features_in_, names
        )
        return count_repeats(
            self.n_repeats,
            n_samples=len(given.samples.rows),
            n_parameters=distribution.n_parameters,
            splits=given.validation is None and self._splits_validation(),
        )

    def _learn(self, data: FitData, logbook: Logbook) -> None:
        self.n_outputs_ = data.dispatcher.engines[0].learner.n_targets or 1
        problem, settings, theta = assemble(self, data)
        self._distribution, self.solver_ = problem.distribution, clone(self._solver())
        run = EnsembleRun(self, data, problem, settings, logbook)
        weight = data.samples.sample_weight
        facts = {
            "X": data.samples.X,
            "y": data.samples.y,
            "metadata": None if weight is None else {"sample_weight": weight},
        }
        with self._watched(run, **facts) as callbacks:
            if self.verbose:
                callbacks.append(ProgressBar().for_run(run))
            result, members = run.trained(theta, callbacks)
            self._record(result, problem.penalty)
            self._keep(members)
        self._finish(data, result)

    def _finish(self, data: FitData, result: Result) -> None:
        """What is left to do with a trained ensemble."""

    def _n_calibrated(self, data: FitData) -> int:
        """Number of models per repeat that :meth:`_finish` trains."""
        return 0

    def _keep(self, members: Members) -> None:
        self.estimators_, self.estimators_features_ = list(members.models), list(members.columns)
        if self._mixes:
            names = [*self.shares_]
            self.estimators_bases_ = [names[kind] for kind in members.kinds]
            self.estimators_weights_ = members.weights

    def _record(self, result: Result, penalty: Penalty | None) -> None:
        thetas, columns = result.best_alpha, self._distribution.column_parameters()
        self.n_repeats_ = len(thetas)
        self.repeat_alphas_ = thetas[:, columns]
        self.alphas_: Any = self.repeat_alphas_
        if self._mixes:
            names = [*bases_of(self.estimator_)]
            of_bases = result.best_theta.reshape(len(thetas), len(names), -1)[:, :, columns]
            self.alphas_ = {name: of_bases[:, base] for base, name in enumerate(names)}
            shares = result.best_shares.mean(axis=0).tolist()
            self.shares_ = dict(zip(names, shares, strict=True))
        self.alpha_ = self.repeat_alphas_.mean(axis=0)
        self.alpha_path_epochs_ = np.array(result.path.epochs)
        self.alpha_path_ = np.stack([one.mean(axis=0)[columns] for one in result.path.alphas])
        self.alpha_std_ = self.repeat_alphas_.std(axis=0)
        if (
            self._distribution.n_parameters != self.n_features_in_
            or self.feature_groups is not None
        ):
            self.group_alpha_ = thetas.mean(axis=0)
            self.feature_groups_ = columns
        sizes = [self._distribution.expected_size(theta) for theta in thetas]
        self.expected_size_ = sum(sizes) / len(sizes)
        n_epochs = len(result.history)
        self.history_ = history_frame(result.history, [*getattr(self, "shares_", ())])
        paid = 0.0
        if penalty is not None:
            n_bases, rows = result.best_shares.shape[1], result.best_theta
            paid = sum(
                mixed_penalty(penalty, rows[n * n_bases : (n + 1) * n_bases], shares[np.newaxis])
                for n, shares in enumerate(result.best_shares)
            ) / len(thetas)
        self.validation_loss_ = result.best_objective - paid
        self.validation_scores_ = result.best_scores
        is_defined = np.isfinite(result.best_scores)
        self.validation_score_ = float(
            result.best_scores[is_defined].mean() if is_defined.any() else np.nan
        )
        self.n_iter_ = n_epochs
        self.best_iter_ = result.best_epoch
        self.stop_reason_ = result.stopped
        self.n_models_trained_ = result.n_models_trained + self.n_estimators


def history_frame(history: Sequence[EpochRecord], names: Sequence[str] = ()) -> pd.DataFrame:
    """One row per epoch; with the names of several base models, a column for each share."""
    frame = pd.DataFrame(
        history,
        columns=list(EpochRecord._fields),
        index=pd.RangeIndex(1, len(history) + 1, name="epoch"),
    )
    shares = frame.pop("shares")
    for base, name in enumerate(names):
        frame[f"share_{name}"] = [of_epoch[base] for of_epoch in shares]
    return frame
