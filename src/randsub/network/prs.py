"""PRS for gene networks."""

import os
from collections.abc import Sequence
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, Self

import numpy as np
from sklearn.base import _fit_context, clone
from sklearn.neighbors import KNeighborsRegressor
from sklearn.utils._param_validation import Interval, StrOptions

from randsub._typing import IntArray, Table
from randsub.callbacks.support import CallbackSupport
from randsub.distributions import Bernoulli
from randsub.engines import Data, Dispatcher, Engine, Learner
from randsub.ensemble import parts
from randsub.ensemble.constraints import CONSTRAINTS
from randsub.ensemble.holder import BaseModelHolder
from randsub.ensemble.inputs import check_parameters, seed_words
from randsub.ensemble.resuming import Logbook
from randsub.ensemble.settings import training_settings
from randsub.losses import Reference, SquaredError
from randsub.network.expression import kept
from randsub.network.fitted import PathOutputs
from randsub.network.panel import draws_of
from randsub.network.preparing import Prepared, describe_expression, prepare
from randsub.network.run import NetworkRun
from randsub.network.solving import (
    Case,
    Solution,
    ascending,
    follow_path,
    solve_apart,
    solve_together,
)
from randsub.optim import Optimizer
from randsub.training import Problem, Target
from randsub.training.batches import thin

LAMS = (0.0, 0.001, 0.002, 0.003, 0.004, 0.005, 0.006, 0.007, 0.008, 0.009, 0.01)
# Parameters of tabular learning that make no sense for a network, or mean something else.
_OTHER = {
    "alpha_init",
    "distribution",
    "feature_groups",
    "loss",
    "n_iter_no_change",
    "penalty",
    "standardize",
    "tol",
}


class PRSNetwork(CallbackSupport, PathOutputs, BaseModelHolder):
    """Gene network by PRS: which genes regulate which.

    For each target gene g, an ensemble predicts its expression from that of the candidate
    regulators; each member sees regulator j with probability ``alpha_[j, g]``. Alpha minimises

    ::

        1 / (G N) sum_g sum_i (y_ig - f_ig) ** 2 + lam sum_j sqrt(sum_g alpha_jg ** 2)

    where f is the mean prediction of the ensemble on held-out samples. The second term makes a
    regulator that serves one target already cheaper for the next: few genes regulate many.

    Parameters
    ----------
    estimator : estimator, default=None
        The base model, any scikit-learn regressor; nearest neighbours
        (``KNeighborsRegressor()``) by default.
    lam : "path" or float, default="path"
        Coefficient of the penalty that couples the targets. With 0 targets are independent of each
        other; "path" tries ``lams`` and chooses on the validation samples.
    lams : array-like of float, default=(0, 0.001, ..., 0.01)
        Values that ``lam="path"`` tries, in ascending order: a link that a strong penalty has
        removed would not come back under a weaker one. Each value begins where the one before it
        ended, and trains for the epochs of one interval between revivals.
    lam_choice : {"one_se", "lowest"}, default="one_se"
        Which value of a path is chosen: the largest one, with the sparsest network, whose
        prediction error on the validation samples is within one standard error of the lowest; or
        the one with the lowest error.
    link_weight : {"mean", "alpha"}, default="mean"
        What links are ranked by: alpha averaged over the epochs, which also tells links that were
        dropped late from those that were dropped at once; or alpha itself, which is 0 for most.
    n_estimators : int, default=100
        Number of models for each target and batch.
    alpha_init : "auto" or float, default="auto"
        Alpha at the start; "auto" is ``min(0.5, 5 / n_estimators)``, so that each regulator is seen
        by about five models, but with more than 4,000 regulators no more than what lets a model see
        about 200 of them.
    objective : {"ensemble", "members"}, default="ensemble"
        Whether the loss is that of the averaged prediction or the average of the members' losses.
    max_iter : int, default=600
        Number of epochs; in each, every batch gives one gradient step.
    learning_rate : float, default=1e-3
        Step size of the optimiser.
    n_batches : int, default=5
        The training samples are dealt into so many batches, for each target anew; each is held out
        in turn.
    max_samples : int or float, default=None
        Largest number of samples (or share of the training samples) that a base model is trained
        on, that it predicts in a batch, and that it predicts in validation.
    ess_threshold : float, default=0.5
        The models of a target are renewed once the effective sample size of some batch of it falls
        below this share of ``n_estimators``.
    refresh : {"fresh", "window", "coupled"}, default="fresh"
        How they are renewed; see :class:`randsub.PRSRegressor`.
    n_generations : int, default=10
        Number of generations with ``refresh="window"``.
    n_revivals : int, default=2
        How often, at equal intervals, training starts again from the best alpha with dropped links
        raised to ``revival_level``.
    revival_level : "auto" or float, default="auto"
        Probability to which dropped links are raised; see :class:`randsub.PRSRegressor`.
    baseline : {"optimal", "weighted", "paper", "none"} or None, default="weighted"
        Variance reduction of the gradient; see :class:`randsub.PRSRegressor`.
    self_normalize : bool, default=True
        Whether importance weights are divided by their sum, or by ``n_estimators``.
    validation_fraction : float, default=0.1
        Share of the samples that is set aside to choose alpha and lam, where ``fit`` is given no
        validation samples. None chooses them on the held-out batches.
    block_size : int, default=100
        Targets that are trained at a time with ``lam=0``; it bounds the memory and changes nothing
        else.
    optimizer : {"adam", "logit_adam", "gradient_descent", "prox_adam", "prox_gradient"} or \
            Optimizer, default="adam"
        How alpha moves. An object brings its own learning rate. The proximal ones solve for the
        penalty exactly under the metric of each step.
    engine : {"auto", "neighbors", "tree", "moments", "kernel", "generic"} or subclass of \
            Engine, default="auto"
        How many models are trained at once; "auto" takes the fastest engine that reproduces the
        base model exactly.
    n_jobs : int, default=None
        Number of workers. The result is the same for any number and any joblib backend.
    task_timeout : float or None, default=None
        Seconds that training one base model may take before the fit ends with an error that names
        its features. The clock runs from the moment a worker should begin. With a limit, base
        models go to workers one by one; those of compiled engines by the task.
    random_state : int, RandomState instance or None, default=None
        Fix it to get the same result, bit for bit, at every call. What is drawn for a target
        depends on this and on its name, so the order of the genes does not matter.
    verbose : int, default=0
        1 shows a progress bar: over targets with ``lam=0``, over epochs else.

    Attributes
    ----------
    alpha_ : ndarray of shape (n_regulators, n_targets)
        ``alpha_[j, g]`` is the probability with which a model of target g sees regulator j; 0 where
        both are one gene. Rows and columns are in the order in which the user has named or given
        the genes.
    link_weights_ : ndarray of shape (n_regulators, n_targets)
        What links are ranked by; see ``link_weight``.
    regulator_names_ : ndarray of shape (n_regulators,)
        Names of the rows.
    target_names_ : ndarray of shape (n_targets,)
        Names of the columns.
    expected_sizes_ : ndarray of shape (n_targets,)
        Regulators that a model of each target sees on average: the sums of the columns of alpha.
    lam_ : float
        The coefficient that was chosen.
    path_ : pandas.DataFrame
        One row for each coefficient: ``lam``, ``validation_error`` (mean squared error of the
        targets, whose variance is about 1, by fresh models of the best alpha) with its
        ``standard_error`` over samples, ``mean_size`` (expected regulators per target),
        ``seconds`` and ``n_models``.
    path_link_weights_ : ndarray of shape (n_lams, n_regulators, n_targets)
        What links are ranked by under each coefficient of ``path_``; :meth:`network_at` makes a
        network of one of them.
    path_expected_sizes_ : ndarray of shape (n_lams, n_targets)
        Expected regulators of each target under each coefficient.
    history_ : pandas.DataFrame
        One row for each epoch of each block of targets of each coefficient, as in
        :class:`randsub.PRSRegressor`.
    stop_reason_ : str
        Why training ended.
    n_models_trained_ : int
        Base models trained in all.
    estimator_ : estimator
        The base model, unfitted.

    See Also
    --------
    infer_network : The same as a function that returns the links.
    genie3 : Random forests instead.

    Notes
    -----
    Memory, for each target in training: the models' predictions, ``8 n_estimators (n_samples +
    n_batches n_val)`` bytes, where n_val validation samples are judged after each batch; and, while
    models are drawn, their subsets, about ``(2 + 16 alpha_init) n_estimators n_batches
    n_regulators`` bytes. With ``lam=0`` no more than ``block_size`` targets are in training at a
    time, with a penalty all of them are: with the defaults, subsets of 1,000 genes that may all
    regulate each other then take about 1.4 GB. Beside that the dense data, and a few arrays of the
    shape of alpha; a path keeps one of them for each coefficient. Time grows in proportion to the
    number of targets.

    References
    ----------
    V. A. Huynh-Thu and P. Geurts, "Optimizing model-agnostic random subspace ensembles", Machine
    Learning, 2024.

    Examples
    --------
    >>> from randsub.datasets import make_network
    >>> from randsub.network import PRSNetwork, score_network
    >>> truth = make_network(80, n_regulators=6, n_targets=10, n_modules=2, random_state=0)
    >>> network = PRSNetwork(lam=0.003, max_iter=100, random_state=0)
    >>> network = network.fit(truth.expression, truth.regulators, gene_names=truth.gene_names)
    >>> network.alpha_.shape
    (6, 16)
    >>> scores = score_network(network, truth.gold, gene_names=truth.gene_names)
    >>> bool(scores.aupr > 3 * scores.n_edges / scores.n_pairs)
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **{name: rule for name, rule in CONSTRAINTS.items() if name not in _OTHER},
        "lam": [StrOptions({"path"}), Interval(Real, 0, None, closed="left")],
        "lams": ["array-like"],
        "alpha_init": [StrOptions({"auto"}), Interval(Real, 0, 1, closed="neither")],
        "lam_choice": [StrOptions({"lowest", "one_se"})],
        "link_weight": [StrOptions({"mean", "alpha"})],
        "block_size": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self,
        estimator: Any = None,
        *,
        lam: float | Literal["path"] = "path",
        lams: Sequence[float] = LAMS,
        lam_choice: Literal["lowest", "one_se"] = "one_se",
        link_weight: Literal["mean", "alpha"] = "mean",
        n_estimators: int = 100,
        alpha_init: float | Literal["auto"] = "auto",
        objective: Literal["ensemble", "members"] = "ensemble",
        max_iter: int = 600,
        learning_rate: float = 1e-3,
        n_batches: int = 5,
        max_samples: float | None = None,
        ess_threshold: float = 0.5,
        refresh: Literal["fresh", "window", "coupled"] = "fresh",
        n_generations: int = 10,
        n_revivals: int = 2,
        revival_level: Any = "auto",
        baseline: Literal["optimal", "weighted", "paper", "none"] | None = "weighted",
        self_normalize: bool = True,
        validation_fraction: float | None = 0.1,
        block_size: int = 100,
        optimizer: str | Optimizer = "adam",
        engine: str | type[Engine] = "auto",
        n_jobs: int | None = None,
        task_timeout: float | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.estimator = estimator
        self.lam = lam
        self.lams = lams
        self.lam_choice = lam_choice
        self.link_weight = link_weight
        self.n_estimators = n_estimators
        self.alpha_init = alpha_init
        self.objective = objective
        self.max_iter = max_iter
        self.learning_rate = learning_rate
        self.n_batches = n_batches
        self.max_samples = max_samples
        self.ess_threshold = ess_threshold
        self.refresh = refresh
        self.n_generations = n_generations
        self.n_revivals = n_revivals
        self.revival_level = revival_level
        self.baseline = baseline
        self.self_normalize = self_normalize
        self.validation_fraction = validation_fraction
        self.block_size = block_size
        self.optimizer = optimizer
        self.engine = engine
        self.n_jobs = n_jobs
        self.task_timeout = task_timeout
        self.random_state = random_state
        self.verbose = verbose

    def _default_estimator(self) -> Any:
        return KNeighborsRegressor()

    @_fit_context(prefer_skip_nested_validation=False)
    def fit(
        self,
        expression: Table,
        regulators: Any = None,
        expression_val: Table | None = None,
        *,
        gene_names: Any = None,
        targets: Any = None,
        layer: str | None = None,
        resume_from: "os.PathLike[str] | str | None" = None,
    ) -> Self:
        """Learn which genes regulate which.

        Parameters
        ----------
        expression : array-like, sparse matrix, pandas or polars frame, or AnnData, of shape \
                (n_samples, n_genes)
            Samples (cells, conditions) as rows and genes as columns. Sparse data is made dense.
            Genes are scaled to mean 0 and deviation 1 by the training samples.
        regulators : sequence of str or int, or bool array, default=None
            Candidate regulators: names, positions, or a mask over the genes; all by default.
        expression_val : same as expression, default=None
            Validation samples of the same genes, on which alpha and lam are chosen. By default a
            part of ``expression``, given by ``validation_fraction``, is set aside for that.
        gene_names : sequence of str, default=None
            Names of the columns of an array or a sparse matrix. Without any, genes are called
            ``"G1"``, ``"G2"``, ... by position.
        targets : sequence of str or int, or bool array, default=None
            Genes whose regulators are sought; all by default.
        layer : str, default=None
            Layer of an AnnData that holds the expression; its ``X`` by default.
        resume_from : path-like, default=None
            A file that :class:`randsub.callbacks.Checkpoint` has written during an earlier fit of
            the same model to the same data. This one goes on from there, and ends bit for bit as
            the earlier one would have. A file of another fit is refused, with what is different;
            ``n_jobs``, ``verbose`` and the callbacks may be others.

        Returns
        -------
        self : object
            The fitted network.
        """
        self._init_callback_context(max_subtasks=None)
        data = {
            "regulators": kept(regulators),
            "expression_val": expression_val,
            "gene_names": kept(gene_names),
            "targets": kept(targets),
            "layer": layer,
        }
        with self._all_or_nothing():
            self._fit(expression, data, resume_from)
        return self

    def _fit(
        self,
        expression: Table,
        data: dict[str, Any],
        resume_from: "os.PathLike[str] | str | None",
    ) -> None:
        base = clone(self._base())
        self._check_kind(base, "regressor")
        check_parameters(base)
        lams = ascending(self.lams if isinstance(self.lam, str) else [self.lam])
        logbook = Logbook(
            self,
            lambda: describe_expression(expression, **data),
            seed_words(self.random_state),
            resume_from,
        )
        rng = np.random.default_rng(logbook.seed)
        prepared = prepare(
            expression, **data, validation_fraction=self.validation_fraction, rng=rng
        )
        case, trained = self._case(base, prepared, logbook, rng)
        case = replace(case, callbacks=self._callbacks_for(case.run, X=expression))
        with case.problem.dispatcher, self._fit_task(X=expression):
            solutions = self._solutions(case, lams)
            self.estimator_ = base
            self._record(prepared, trained, solutions)

    def _solutions(self, case: Case, lams: Sequence[float]) -> list[Solution]:
        if len(lams) > 1:
            return follow_path(case, lams)
        if lams[0] == 0.0:
            return [solve_apart(case, self.block_size)]
        return [solve_together(case, lams[0])]

    def _case(
        self, base: Any, prepared: Prepared, logbook: Logbook, rng: np.random.Generator
    ) -> tuple[Case, IntArray]:
        """Where the concrete parts meet; and the targets that have a candidate regulator."""
        panel = prepared.panel
        settings = training_settings(self, len(prepared.train_rows), len(panel.regulators))
        allowed = panel.allowed
        # A gene whose only candidate is itself has nothing to learn.
        trained: IntArray = np.flatnonzero(allowed.any(axis=1))
        n_regulators = len(panel.regulators)
        level = parts.initial_theta(self.alpha_init, self.n_estimators, n_regulators, None)
        X, Y, train_rows = prepared.X, prepared.Y, prepared.train_rows
        engine = parts.choose_engine(self.engine, base, X, Y[:, 0], None)
        val_rows = np.sort(thin(prepared.val_rows, settings.max_samples, None, rng))
        problem = Problem(
            distribution=Bernoulli(n_regulators),
            loss=SquaredError(),
            penalty=None,
            optimizer=parts.choose_optimizer(self.optimizer, self.learning_rate),
            dispatcher=Dispatcher(
                engine(Learner(base)),
                Data(X, prepared.X_val, None, {}),
                self.n_jobs,
                time_limit=self.task_timeout,
            ),
            targets=[
                Target(
                    y=np.ascontiguousarray(Y[:, g]),
                    encoded=Y[:, [g]],
                    validation=prepared.Y_val[np.ix_(val_rows, [g])],
                    strata=None,
                    # Genes come scaled.
                    reference=Reference(),
                )
                for g in trained
            ],
            train_rows=train_rows,
            val_rows=val_rows,
            sample_weight=np.ones(len(X)),
            val_weight=np.ones(len(val_rows)),
            feature_names=panel.regulators,
        )
        names, seed = [panel.targets[g] for g in trained], logbook.seed.tolist()
        case = Case(
            problem=problem,
            settings=settings,
            theta=np.where(allowed[trained], level, 0.0),
            generators=lambda: [draws_of(name, seed) for name in names],
            run=NetworkRun(self, logbook),
            verbose=bool(self.verbose),
        )
        return case, trained
