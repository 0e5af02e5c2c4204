"""Gene network inference by PRS."""

import os
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, Self

from sklearn.base import clone
from sklearn.neighbors import KNeighborsRegressor

from randsub._sklearn import HasMethods, Interval, StrOptions, fit_context
from randsub._typing import Table
from randsub.callbacks.support import CallbackSupport
from randsub.checkpoint import Logbook
from randsub.engines import Engine
from randsub.estimators.base import BaseModelHolder
from randsub.estimators.constraints import CONSTRAINTS
from randsub.estimators.fit_data import engine_names, sample_limit, seed_words
from randsub.estimators.named_bases import AUTO, NamedBases, is_mix
from randsub.network.expression_data import kept
from randsub.network.fit_data import describe_expression, read_samples
from randsub.network.fitted_network import FittedNetwork
from randsub.network.portfolio import network_portfolio
from randsub.network.ranking import Ranking
from randsub.network.repeats import Repeats
from randsub.network.solving import ascending
from randsub.solver import ProgressBar, Solver

LAMS = (0.0, 0.001, 0.002, 0.003, 0.004, 0.005, 0.006, 0.007, 0.008, 0.009, 0.01)
# Parameters of PRSRegressor that do not apply to a network, or have another meaning.
_OTHER = {
    "alpha_init",
    "bootstrap",
    "distribution",
    "feature_groups",
    "loss",
    "n_iter_no_change",
    "penalty",
    "standardize",
}


@dataclass(eq=False, repr=False)
class PRSNetwork(CallbackSupport, FittedNetwork, NamedBases, BaseModelHolder):
    """Gene network inference by PRS.

    For each target gene g, an ensemble predicts its expression from that of the candidate
    regulators; each member sees regulator j with probability ``alpha_[j, g]``. Alpha minimises

    ::

        1 / (G N) sum_g sum_i (y_ig - f_ig) ** 2 + lam sum_j sqrt(sum_g alpha_jg ** 2)

    where f is the mean prediction of the ensemble on held-out samples. With the second term, a
    regulator that one target already uses costs less for the next: few genes regulate many.

    With a list of base models, each of them has its own alpha, and in the ensemble of each target a
    share that is learned along with alpha. f and ``alpha_`` are then means over the base models by
    share; the second term is that of each base model, averaged by the mean share over targets.

    Parameters
    ----------
    estimator : estimator, list of (str, estimator) or "auto", default=None
        The base model, any scikit-learn regressor; nearest neighbours
        (``KNeighborsRegressor()``) by default. "auto" mixes neighbours ("knn"), trees ("tree") and,
        unless there are too many samples, support vector machines ("svm"). Several of them are
        given as a list of names and base models; they are parameters by their names, such as
        ``knn__n_neighbors``, and "drop" leaves one out, as in :class:`randsub.PRSRegressor`.
    lam : "path" or float, default="path"
        Coefficient of the penalty that couples the targets. With 0 targets are independent;
        "path" tries the values of ``lams`` and chooses one on the validation samples.
    lams : array-like of float, default=(0, 0.001, ..., 0.01)
        Values that ``lam="path"`` tries, in ascending order, since a link that a strong penalty
        has removed does not return under a weaker one. Each value starts from the best alpha (and
        the shares of the base models) of the previous one, and trains for the number of epochs
        between two revivals.
    lam_choice : {"one_se", "lowest"}, default="one_se"
        Which value of a path is chosen: the largest one (with the sparsest network) whose
        prediction error on the validation samples is within one standard error of the lowest, or
        the one with the lowest error.
    ranking : {"mean", "alpha"} or Ranking, default="mean"
        What links are ranked by: alpha averaged over the epochs, which also ranks links with an
        alpha of 0 by the time at which they were dropped; alpha itself, which is 0 for most; or
        other rules, see :class:`Ranking`.
    mixing : {"shares", "apart"}, default="shares"
        With several base models: whether the ensemble of each target mixes them, with shares that
        are learned along with alpha; or whether each of them is trained apart, bit for bit as if
        it were alone, and ``alpha_`` is the mean of theirs.
    n_repeats : int, default=1
        Number of validation splits on which the network is trained, each with its own random
        numbers; as long as ``n_repeats * validation_fraction`` is at most 1, no sample is in two
        of them. ``alpha_`` and the link weights are means over the repeats, and ``lam`` is chosen
        by the errors of all. The first repeats do not depend on the number of repeats.
    shadows : bool, default=False
        Whether shadows of all regulators compete with them, for ``links(fdr=0.1)``: copies whose
        samples are in another order, the same one for all, so that they have the correlations of
        the regulators and no link. It takes up to twice the time. The rate that they measure is
        most trustworthy with ``lam=0``: a penalty favours true regulators of other genes over
        shadows, which regulate nothing.
    n_estimators : int, default=100
        Number of models per target, base model and batch.
    alpha_init : "auto" or float, default="auto"
        Alpha at the start; see :class:`randsub.PRSRegressor`.
    objective : {"ensemble", "members"}, default="ensemble"
        Whether the loss is that of the averaged prediction or the average of the members' losses.
    max_iter : int, default=None
        Number of epochs; by default the solver's, 600. An epoch is one step per batch.
    max_samples : int or float, default=None
        Largest number of samples (or share of the training samples) that a base model is trained
        on, that it predicts in a batch, and that it predicts in validation.
    validation_fraction : float, default=0.1
        Fraction of the samples set aside to choose alpha and lam, if ``fit`` gets no validation
        samples. None chooses them on the held-out batches.
    block_size : int, default=100
        Number of targets trained at a time with ``lam=0``. It limits the memory and does not
        change the result.
    solver : Solver, default=None
        Parameters of the optimisation; by default ``Solver.for_networks()``. Folds and effective
        sample sizes refer to each target.
    engine : {"auto", "knn", "tree", "svm", "linear_and_bayes", "boosting", "torch", \
            "generic"} or subclass of Engine, default="auto"
        Backend that trains the base models. "auto" is the fastest one that reproduces the base
        model exactly.
    device : str or None, default=None
        Device of the engine "torch"; see :class:`randsub.PRSClassifier`.
    n_jobs : int, default=None
        Number of workers. The result is the same for any number and any joblib backend.
    task_timeout : float or None, default=None
        Seconds per base model; see :class:`randsub.PRSRegressor`.
    random_state : int, RandomState instance or None, default=None
        Pass an int for the same result, bit for bit, at every call. The random numbers of a target
        depend on this and on its name, so the order of the genes does not matter.
    verbose : int, default=0
        1 shows a progress bar: over targets with ``lam=0``, otherwise over epochs.

    Attributes
    ----------
    alpha_ : ndarray of shape (n_regulators, n_targets)
        ``alpha_[j, g]`` is the probability with which a model of target g sees regulator j; 0 if
        both are the same gene. Rows and columns have the order of ``regulators`` and ``targets``,
        or of the genes in the data.
    n_repeats_ : int
        Number of repeats; fewer than ``n_repeats`` if training was interrupted.
    repeat_alphas_ : ndarray of shape (n_repeats, n_regulators, n_targets)
        Alpha of each repeat; ``alpha_`` is their mean.
    alpha_std_ : ndarray of shape (n_regulators, n_targets)
        Their standard deviation; 0 for a single repeat.
    link_weights_ : ndarray of shape (n_regulators, n_targets)
        What links are ranked by; see ``ranking``.
    evidence_ : dict of str to ndarray of shape (n_lams, n_parts, n_regulators, n_targets)
        What the fit says of the links, by the kind of evidence of ``ranking``, for each coefficient
        of ``path_`` (the chosen one alone for "members"), each repeat and, in a repeat, each base
        model that is trained apart. See :meth:`ranked`.
    shadow_weights_ : ndarray of shape (n_regulators, n_targets)
        Only with ``shadows``: what the links of the shadows are ranked by. ``evidence_`` then has
        the shadows behind the regulators, and ``path_shadow_weights_`` is for ``network_at``.
    regulator_names_ : ndarray of shape (n_regulators,)
        Names of the rows.
    target_names_ : ndarray of shape (n_targets,)
        Names of the columns.
    expected_sizes_ : ndarray of shape (n_targets,)
        Expected number of regulators per model of each target: the column sums of alpha.
    lam_ : float
        The chosen coefficient.
    path_ : pandas.DataFrame
        One row per coefficient: ``lam``, ``validation_error`` (mean squared error of the targets,
        whose variance is about 1, of new models with the best alpha) with its ``standard_error``
        over samples, ``mean_size`` (expected number of regulators per target), ``seconds`` and
        ``n_models``.
    mean_error_ : float
        The same error if every target is predicted by its mean over the training samples. A
        :class:`randsub.exceptions.DoubtfulNetworkWarning` says if the network is not below it, or
        if ``lam_`` is at an end of ``lams``.
    path_link_weights_ : ndarray of shape (n_lams, n_regulators, n_targets)
        Link weights for each coefficient of ``path_``; see :meth:`network_at`.
    path_expected_sizes_ : ndarray of shape (n_lams, n_targets)
        Expected number of regulators of each target for each coefficient.
    history_ : pandas.DataFrame
        One row per epoch, for each block of targets and each coefficient, as in
        :class:`randsub.PRSRegressor`; and for each repeat, and each base model that is trained
        apart, if there are several.
    stop_reason_ : str
        Why training ended.
    n_models_trained_ : int
        Total number of base models trained.
    estimator_ : estimator or list of (str, estimator)
        The base model, unfitted; or the base models of a list with their names.
    engine_ : str or dict of str to str
        Engine that trained the base model, or the base models by name: one of those of the
        parameter ``engine``.
    shares_ : pandas.DataFrame of shape (n_targets, n_bases)
        Only with a list of base models: their shares in the ensemble of each target, which add up
        to 1; 0 for one that was dropped, NaN for a target that has no candidate regulator. They
        are equal for base models that are trained apart.
    alphas_ : dict of str to ndarray of shape (n_regulators, n_targets)
        Only with a list of base models: alpha of each of them, by its name. In each repeat, alpha
        is the mean of these by share; the attributes are means over the repeats.
    solver_ : Solver
        The solver that was used.

    See Also
    --------
    infer_network : Function that returns the links.
    genie3 : Network inference with random forests.

    Notes
    -----
    Memory per target and base model in training: the predictions, ``8 n_estimators (n_samples +
    n_batches n_val)`` bytes, with n_val validation samples; and, while masks are drawn, about
    ``(0.5 + 28 alpha_init) n_estimators n_batches n_regulators`` bytes. With ``lam=0``,
    ``block_size`` targets are trained at a time; with a penalty, all of them: with the defaults,
    the masks of 1,000 genes that may all regulate each other then take about 1 GB. In addition
    there are the dense data, and a few arrays of the shape of alpha; a path keeps one of them per
    coefficient, repeat, base model that is trained apart and kind of evidence. The time is
    proportional to the number of targets, to that of the base models that have a share, and to that
    of the repeats.

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

    estimator: Any = None
    _: KW_ONLY
    lam: float | Literal["path"] = "path"
    lams: Sequence[float] = LAMS
    lam_choice: Literal["lowest", "one_se"] = "one_se"
    ranking: Literal["mean", "alpha"] | Ranking = "mean"
    mixing: Literal["shares", "apart"] = "shares"
    n_repeats: int = 1
    shadows: bool = False
    n_estimators: int = 100
    alpha_init: float | Literal["auto"] = "auto"
    objective: Literal["ensemble", "members"] = "ensemble"
    max_iter: int | None = None
    max_samples: float | None = None
    validation_fraction: float | None = 0.1
    block_size: int = 100
    solver: Solver | None = None
    engine: str | type[Engine] = "auto"
    device: str | None = None
    n_jobs: int | None = None
    task_timeout: float | None = None
    random_state: Any = None
    verbose: int = 0

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **{name: rule for name, rule in CONSTRAINTS.items() if name not in _OTHER},
        "estimator": [HasMethods(["fit", "predict"]), list, StrOptions({AUTO}), None],
        "lam": [StrOptions({"path"}), Interval(Real, 0, None, closed="left")],
        "lams": ["array-like"],
        "alpha_init": [StrOptions({"auto"}), Interval(Real, 0, 1, closed="neither")],
        "lam_choice": [StrOptions({"lowest", "one_se"})],
        "ranking": [StrOptions({"mean", "alpha"}), Ranking],
        "mixing": [StrOptions({"shares", "apart"})],
        "shadows": ["boolean"],
        "n_repeats": [Interval(Integral, 1, None, closed="left")],
        "block_size": [Interval(Integral, 1, None, closed="left")],
    }

    def _default_estimator(self) -> Any:
        return KNeighborsRegressor()

    def _bases(self) -> dict[str, Any]:
        if self.estimator == AUTO:
            return network_portfolio(0)
        return self.named_bases() if is_mix(self.estimator) else super()._bases()

    def _suited(self, bases: dict[str, Any], n_samples: int) -> dict[str, Any]:
        """Of the portfolio those base models that suit the number of samples."""
        if self.estimator != AUTO:
            return bases
        n_samples = min(n_samples, sample_limit(self.max_samples, n_samples) or n_samples)
        return {name: bases[name] for name in network_portfolio(n_samples)}

    def _default_solver(self) -> Solver:
        return Solver.for_networks()

    @fit_context(prefer_skip_nested_validation=False)
    def fit(
        self,
        expression: Table,
        regulators: Any = None,
        expression_val: Table | None = None,
        *,
        gene_names: Any = None,
        targets: Any = None,
        layer: str | None = None,
        perturbed: Any = None,
        time: Any = None,
        series: Any = None,
        resume_from: "os.PathLike[str] | str | None" = None,
    ) -> Self:
        """Infer the network from expression data.

        Parameters
        ----------
        expression : array-like, sparse matrix, pandas or polars frame, or AnnData, of shape \
                (n_samples, n_genes)
            Samples (cells, conditions) as rows and genes as columns. Sparse data is made dense.
            Genes are scaled to mean 0 and standard deviation 1, by the training samples.
        regulators : sequence of str or int, or bool array, default=None
            Candidate regulators: names, positions, or a mask over the genes; all by default.
        expression_val : same as expression, default=None
            Validation samples of the same genes, on which alpha and lam are chosen. By default the
            fraction ``validation_fraction`` of ``expression`` is set aside.
        gene_names : sequence of str, default=None
            Names of the columns of an array or a sparse matrix; by default ``"G1"``, ``"G2"``,
            ...
        targets : sequence of str or int, or bool array, default=None
            Genes whose regulators are inferred; all by default.
        layer : str, default=None
            Layer of the AnnData object with the expression; ``X`` by default.
        perturbed : sequence of str, None or lists of str, of length n_samples, default=None
            Genes that were knocked out, knocked down or overexpressed in each sample. Their
            expression there is not the work of their regulators: the sample is left out where one
            of them is the target, from training and validation. As a regulator it counts as ever.
        time : sequence of float, of length n_samples, default=None
            Times of the samples, NaN for those of a steady state. What a target tends to is then
            predicted from the regulators at the same time: of samples that are equally far apart,
            its next value. The last sample of a series is only that. Between other samples, the
            change is scaled to the median time.
        series : sequence of labels, of length n_samples, default=None
            Which time series each sample is of; by default all are of one.
        resume_from : path-like, default=None
            File that :class:`randsub.callbacks.Checkpoint` has written during an earlier fit of
            the same model to the same data. The fit is resumed from there, with bit for bit the
            result of an uninterrupted fit. A file of another fit is refused, and the error lists
            the differences; ``n_jobs``, ``verbose`` and the callbacks may differ.

        Returns
        -------
        self : object
            The fitted network.
        """
        self._solver().check()
        self._ranking().check()
        self._init_callback_context(max_subtasks=None)
        data = {
            "regulators": kept(regulators),
            "expression_val": expression_val,
            "gene_names": kept(gene_names),
            "targets": kept(targets),
            "layer": layer,
            "perturbed": kept(perturbed),
            "time": kept(time),
            "series": kept(series),
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
        bases = self._checked_bases()
        lams = ascending(self.lams if isinstance(self.lam, str) else [self.lam])
        describe = partial(describe_expression, expression, **data)
        logbook = Logbook(self, describe, seed_words(self.random_state))
        if resume_from is not None:
            logbook.resume(resume_from)
        samples = read_samples(expression, **data, splits=self.validation_fraction is not None)
        bases = self._suited(bases, len(samples.values))
        repeats = Repeats(self, bases, samples, logbook)
        if "members" in self._ranking().kinds:
            repeats.check_members()
        with self._watched(repeats.run, X=expression) as callbacks:
            if self.verbose:
                callbacks.append(ProgressBar().for_run(repeats.run))
            finished = repeats.train(lams, callbacks)
            self.estimator_ = bases[""] if "" in bases else [*bases.items()]
            self.engine_ = engine_names(repeats.engines, [*bases])
            self.solver_ = clone(self._solver())
            names = [name for name in bases if name]
            self._record(samples.candidates, finished, names, repeats.members)
        self._warn_of_doubts(lams)
