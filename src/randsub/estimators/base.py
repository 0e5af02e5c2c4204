"""Base classes of all ensembles over feature subsets, from top to bottom.

* :class:`BaseModelHolder`: an estimator with a base model (gene networks, too);
* :class:`SubspaceEnsemble`: ``fit`` as the list of its steps, and the average of the members.

Targets and predictions are in :mod:`randsub.estimators.tasks`.

Subclasses implement :meth:`SubspaceEnsemble._learn`, which finds the subsets. It gets data that has
been checked, split and scaled, and a dispatcher that trains models on subsets of its columns.
"""

from abc import ABCMeta, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import KW_ONLY, dataclass
from os import PathLike
from typing import Any, ClassVar, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone
from sklearn.utils import get_tags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping
from sklearn.utils.validation import check_is_fitted

from randsub._sklearn import fit_context
from randsub._tables import n_rows, portions, take_part, union
from randsub._typing import FloatArray, IntArray, Table
from randsub.checkpoint import Logbook
from randsub.engines import Engine, Learner
from randsub.estimators.constraints import COMMON
from randsub.estimators.fit_data import FitData, Given, Samples, prepare, seed_words
from randsub.estimators.reportable import Reportable
from randsub.estimators.validation import check_input, check_new_table, takes_missing
from randsub.exceptions import BaseModelError
from randsub.parallel import average_prediction


class BaseModelHolder(MetaEstimatorMixin, BaseEstimator, metaclass=ABCMeta):
    """An estimator that trains many copies of another one.

    The constructor of a subclass has the parameter ``estimator``.
    """

    _base_kind: ClassVar[str] = "regressor"

    estimator: Any
    # Parameter of estimators that optimise alpha.
    solver: Any = None

    @abstractmethod
    def _default_estimator(self) -> Any:
        """The default base model."""

    def _base(self) -> Any:
        """The base model of the user, or the default."""
        return self._default_estimator() if self.estimator is None else self.estimator

    def _bases(self) -> dict[str, Any]:
        """The base models by name; the name of a single one is empty."""
        return {"": self._base()}

    def _default_solver(self) -> Any:
        """The default solver; None for estimators without a solver."""
        return None

    def _solver(self) -> Any:
        """The solver of the user, or the default."""
        return self._default_solver() if self.solver is None else self.solver

    def set_params(self, **params: Any) -> Self:
        """Set the parameters of this estimator and of nested objects.

        Parameters
        ----------
        **params : dict
            As in scikit-learn. ``solver__learning_rate`` and other parameters of the solver can
            also be set if ``solver`` is None; they then change the default solver.

        Returns
        -------
        self : object
        """
        default = self._default_solver()
        nested = any(name.startswith("solver__") for name in params)
        if nested and default is not None and params.get("solver", self.solver) is None:
            params["solver"] = default
        return super().set_params(**params)

    def _checked_bases(self) -> dict[str, Any]:
        """Copies of the base models, with their types and parameters checked."""
        return {name: self._checked_base(base) for name, base in self._bases().items()}

    def _checked_base(self, base: Any) -> Any:
        """A copy of a base model, with its type and parameters checked."""
        base = clone(base)
        kind = get_tags(base).estimator_type
        # Estimators without a type are accepted.
        if kind not in (None, self._base_kind):
            raise ValueError(
                f"{type(self).__name__} needs a {self._base_kind} as base model, got the {kind} "
                f"{base!r}."
            )
        if hasattr(base, "_parameter_constraints"):
            base._validate_params()
        return base

    @contextmanager
    def _all_or_nothing(self) -> Iterator[None]:
        """Remove the results of an earlier fit; restore them if this fit fails."""
        former = vars(self).copy()
        try:
            for name in [name for name in vars(self) if name.endswith("_")]:
                delattr(self, name)
            yield
        except BaseException:
            self.__dict__.clear()
            self.__dict__.update(former)
            raise


@dataclass(eq=False, repr=False)
class SubspaceEnsemble(Reportable, BaseModelHolder):
    """Ensemble whose members each see a subset of the columns.

    Parameters are dataclass fields, so that each of them and its default is written once:
    ``@dataclass`` generates the ``__init__`` that scikit-learn reads, in which every parameter but
    ``estimator`` is keyword-only. A subclass adds its parameters to those of its bases.
    """

    estimator: Any = None
    _: KW_ONLY
    n_estimators: int = 100
    validation_fraction: float | None = 0.2
    standardize: bool = True
    engine: str | type[Engine] = "auto"
    n_jobs: int | None = None
    task_timeout: float | None = None
    random_state: Any = None
    verbose: int = 0

    _task: ClassVar[Literal["regression", "classification"]]
    # Whether y may have several columns.
    _takes_outputs: ClassVar[bool] = False
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = COMMON

    @abstractmethod
    def _check_targets(self, y: Any, rows: IntArray) -> None:
        """Raise an error if the targets of these rows are invalid."""

    @abstractmethod
    def _encode(self, y: Any, rows: IntArray) -> tuple[FloatArray, IntArray | None]:
        """Targets for the loss, (n, C), and in classification the class of each sample, (n,)."""

    @abstractmethod
    def _learner(self, base: Any, passes_weight: bool, n_samples: int, n_bases: int) -> Learner:
        """The base model with what an engine needs to know about it."""

    @abstractmethod
    def _learn(self, data: FitData, logbook: Logbook) -> None:
        """Find the subsets, and train ``estimators_`` on ``estimators_features_``."""

    def _begin(self) -> None:
        """Check parameters of nested objects; set up callbacks."""

    def _suited(self, bases: dict[str, Any], samples: Samples) -> dict[str, Any]:
        """Those of the base models that suit the data."""
        return bases

    def _fills_missing(self) -> bool:
        """Whether missing numbers are replaced, so that every base model can be used."""
        return False

    def _unfitted(self, given: Given) -> Any:
        """``estimator_``: the base model, or the base models by name."""
        return given.learners[0].estimator

    def _bases_take_outputs(self) -> bool:
        """Whether y may have several columns, as far as that is known before ``fit``."""
        return False

    def _splits_validation(self) -> bool:
        """Whether a part of X is set aside if there is no validation data."""
        return self.validation_fraction is not None

    def _count_repeats(self, given: Given) -> int:
        """Number of times that the subsets are searched, each with its own split."""
        return 1

    def _draws_rows(self, base: Any, n_samples: int) -> bool:
        """Whether models of a base model are trained on bootstrap samples."""
        return False

    def _most_rows(self, n: int) -> int:
        """Largest number of training samples of a member, out of n."""
        return n

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
        **fit_params: Any,
    ) -> Self:
        """Find the feature subsets, then fit the final ensemble.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Training data. Sparse matrices and missing values are accepted if the base model
            supports them; for a pandas or polars frame, base models receive frames, unless its
            columns must be encoded.
        y : array-like of shape (n_samples,)
            Targets. For several outputs or labels, use :class:`PRSRegressor` or
            :class:`PRSClassifier`.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the samples in losses and scores, and in the base models if they accept
            weights. Samples of weight 0 are left out.
        X_val, y_val, sample_weight_val : same as above, default=None
            Validation data, on which the subsets are chosen. By default the fraction
            ``validation_fraction`` of X is set aside.
        **fit_params : dict
            Metadata for the base model's ``fit``; needs ``enable_metadata_routing=True``, see the
            scikit-learn guide on metadata routing.

        Returns
        -------
        self : object
            The fitted ensemble.
        """
        return self._fit(X, y, sample_weight, X_val, y_val, sample_weight_val, fit_params)

    def _fit(self, *data: Any, resume_from: "PathLike[str] | str | None" = None) -> Self:
        """The steps of every fit; ``data`` are the arguments of :func:`check_input`."""
        self._begin()
        with self._all_or_nothing():
            given = check_input(self, *data)
            self.estimator_, self.category_encoder_ = self._unfitted(given), given.encoder
            self._layout = given.layout
            logbook = Logbook(self, given.described, seed_words(self.random_state))
            if resume_from is not None:
                # Whether max_iter may differ depends on the epoch of the checkpoint.
                logbook.resume(resume_from, flexible=("max_iter",))
            prepared = prepare(self, given, logbook.seed)
            self.standardizer_, self._engines = prepared.standardizer, prepared.dispatcher.engines
            with prepared.dispatcher:
                self._learn(prepared, logbook)
            self._leave_file()
            self._ask_members(prepared)
        return self

    def _leave_file(self) -> None:
        """Keep the scales of the members' columns alone, if X is a file that is read by columns."""
        if self.standardizer_ is not None and self.standardizer_.file is not None:
            self.standardizer_ = self.standardizer_.kept(union(self.estimators_features_))

    # -- using -----------------------------------------------------------------------------------

    def _average(self, X: Table) -> FloatArray:
        """Average of the members' predictions, shape (n, C)."""
        check_is_fitted(self, "estimators_")
        seen = union(self.estimators_features_)
        X = check_new_table(self, X, self._layout, self.category_encoder_, seen)
        return self._average_of(X, np.arange(n_rows(X)))

    def _ask_members(self, data: FitData) -> None:
        """Raise an error if members of a base model cannot predict, which training did not need."""
        kinds, _ = self._kinds(slice(None))
        asked: dict[Any, int] = {}
        for place, seen in enumerate(self.estimators_features_):
            # A member without columns is a constant, not a base model.
            if len(seen):
                asked.setdefault(0 if kinds is None else kinds[place], place)
        for place in asked.values() or [0]:
            self._average_of(data.samples.X, data.samples.rows[:1], slice(place, place + 1))

    def _average_of(self, X: Table, rows: IntArray, members: slice = slice(None)) -> FloatArray:
        """The same for rows of a checked table, a portion at a time, and for some members."""
        models, features = self.estimators_[members], self.estimators_features_[members]
        kinds, weights = self._kinds(members)
        scaler, encoder = self.standardizer_, self.category_encoder_
        origin = columns = np.arange(X.shape[1])
        if encoder is not None:
            origin, features = encoder.origin_, [encoder.expand(one) for one in features]
        elif self._layout[0] is None:
            # Of an array, only what the members see is scaled.
            origin = columns = union(features)
            features = [np.searchsorted(columns, one) for one in features]
        answers = []
        try:
            for places in portions(len(rows), len(columns)):
                part = take_part(X, rows[places], columns)
                scaled = part if scaler is None else scaler.transform(part, columns)
                seen = scaled if encoder is None else encoder.transform(part, scaled)
                answers.append(
                    average_prediction(
                        self._engines, models, features, seen, self.n_jobs, kinds, weights
                    )
                )
        except BaseModelError as error:
            names = getattr(self, "feature_names_in_", ())
            raise error.among(origin.tolist()).once().located(names, None) from error.__cause__
        return np.concatenate(answers)

    def _kinds(self, members: slice) -> tuple[IntArray | None, FloatArray | None]:
        """Base model and weight of some members; None if they are all alike."""
        return None, None

    def get_metadata_routing(self) -> MetadataRouter:
        """Metadata routing: ``fit`` uses sample weights and passes them to the base model.

        Returns
        -------
        routing : MetadataRouter
        """
        mapping = MethodMapping().add(caller="fit", callee="fit")
        router = MetadataRouter(owner=self).add_self_request(self)
        for name, base in self._bases().items():
            router.add(**{name or "estimator": base}, method_mapping=mapping)
        return router

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        try:
            bases = self._bases().values()
        except ValueError:
            # Bad base models are an error of fit.
            return tags
        tags.input_tags.sparse = all(get_tags(base).input_tags.sparse for base in bases)
        tags.input_tags.allow_nan = self._fills_missing() or all(map(takes_missing, bases))
        return tags
