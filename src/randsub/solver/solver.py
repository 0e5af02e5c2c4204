"""Parameters of the optimisation, with their defaults."""

from numbers import Integral, Real
from typing import Any, ClassVar, Literal, Self

from randsub._sklearn import DocumentedEstimator, Interval, StrOptions
from randsub.distributions import EDGE
from randsub.gradients import Baseline
from randsub.optim import OPTIMIZERS, Optimizer
from randsub.solver.problem import ObjectiveName, Refresh, Settings

# A revival raises features to this probability. With more features it is lower, in proportion to
# the square: of thousands, those that a revival would add to each subset are noise.
REVIVAL_LEVEL = 0.02
REVIVED_FEATURES = 300


class Window(DocumentedEstimator):
    """Refresh that replaces the oldest of several generations of base models.

    The T masks of a batch form G generations of T / G masks. Generation g was drawn from
    ``alpha_g``, the alpha at that time. The weights of all masks refer to the mixture of the
    current generations, ``q(z) = mean_g p(z | alpha_g)`` (multiple importance sampling with the
    balance heuristic).

    Parameters
    ----------
    n_generations : int, default=10
        G. With 1 all models are replaced at each refresh, but the batches stay the same.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_generations": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(self, n_generations: int = 10) -> None:
        self.n_generations = n_generations

    def check(self) -> None:
        """Raise an InvalidParameterError if a parameter is invalid."""
        self._validate_params()


class Solver(DocumentedEstimator):
    r"""Projected stochastic gradient descent on alpha, with importance sampling.

    A base model trained on the feature subset z predicts :math:`f_z`. With independent
    :math:`z_j \sim \mathrm{Bernoulli}(\alpha_j)`, the solver minimises

    .. math:: F(\alpha) = L\Bigl(y, \mathbb{E}_{z \sim p(\cdot|\alpha)}[f_z]\Bigr) + R(\alpha),
        \qquad \alpha \in [0, 1]^M,

    where L is the loss on held-out samples and R the penalty. For each batch it keeps T masks
    :math:`z_1, \ldots, z_T` (``n_estimators``), drawn from a proposal q, and the predictions of
    their models. For the current alpha, with weights :math:`w_t = p(z_t|\alpha) / q(z_t)`,

    .. math:: \hat f = \frac{1}{W} \sum_t w_t f_{z_t}, \qquad
        \hat g_j = \frac{1}{W} \sum_t w_t\, s_{tj}\, (c_t - b_j), \qquad
        c_t = \Bigl\langle \frac{\partial L}{\partial f}(\hat f), f_{z_t} \Bigr\rangle,

    where :math:`s_{tj} = \partial \log p(z_t|\alpha) / \partial \alpha_j` is the score and b the
    baseline. A step is :math:`\alpha \leftarrow \Pi_{[0, 1]}(\alpha - \eta\, d)`, where d is the
    direction that the optimiser computes from :math:`\hat g + \nabla R`.

    Parameters
    ----------
    learning_rate : float, default=1.2e-3
        Step size :math:`\eta`.
    max_iter : int, default=900
        Number of epochs. An epoch is one step per batch. The ``max_iter`` of an estimator takes
        precedence.
    n_batches : int, default=5
        Number of folds of the training samples. Each fold is held out in turn: base models are
        trained on the others, and L is the loss on it. At most one fold per sample.
    ess_threshold : float, default=0.35
        Base models are retrained once the effective sample size of some batch,
        :math:`(\sum_t w_t)^2 / \sum_t w_t^2`, falls below ``ess_threshold * T``.
    refresh : {"fresh", "window", "coupled"} or Window, default="fresh"
        How base models are retrained. "fresh": all of them, with new folds and new masks; where
        several base models are mixed, there are new folds at revivals alone.
        "window": only the oldest of ten generations; :class:`Window` sets their number. "coupled":
        only those whose mask changes under a maximal coupling of the old and the new distribution.
    n_revivals : int, default=2
        Number of restarts, at equal intervals, from the best alpha so far, with every
        :math:`\alpha_j` below ``revival_level`` raised to that level (except those that
        ``alpha_init`` sets to 0). With ``n_iter_no_change``, a plateau brings the next revival
        forward.
    revival_level : "auto" or float, default="auto"
        Probability to which dropped features are raised. "auto" is 0.02, and with M > 300 features
        0.02 (300 / M) ** 2: in wide data revivals add next to nothing to the subsets.
    baseline : {"optimal", "weighted", "paper", "none"}, default="weighted"
        Variance reduction of the gradient: :math:`b_j = \sum_t v_t s_{tj}^2 c_t / \sum_t v_t
        s_{tj}^2` with :math:`v_t = w_t^2` ("optimal": least variance of the weighted sum),
        :math:`w_t` ("weighted") or 1 ("paper"); or :math:`b_j = 0` ("none").
    self_normalize : bool, default=True
        Whether W is the sum of the weights or T. The sum reproduces constants exactly; T, as in
        the paper, is unbiased but not equivariant to shifts of y.
    optimizer : str or Optimizer, default="auto"
        Update rule for alpha: "fisher_adam" (:class:`randsub.optim.FisherAdam`, whose steps respect
        the importance weights), "adam", "logit_adam" (Adam on the log-odds of alpha),
        "gradient_descent", "prox_adam", "prox_gradient", or an object, which has its own learning
        rate. The last two take proximal steps for the penalty, which make neighbours under
        ``FusedLasso`` exactly equal. "auto" is "fisher_adam", or "adam" for a custom distribution
        whose parameters are not drawn independently.
    n_iter_no_change : int or None, default=150
        Number of epochs without improvement after which training has reached a plateau: the next
        revival comes, or the end. The ``n_iter_no_change`` of an estimator takes precedence.
    tol : float, default=1e-4
        Smallest improvement that counts for ``n_iter_no_change``, of the sum of objective and
        validation objective.

    See Also
    --------
    Window : Number of generations of ``refresh="window"``.

    Notes
    -----
    The defaults come from a study on the four simulated problems of the paper; see the page on
    defaults in the documentation.

    Examples
    --------
    >>> from randsub import PRSRegressor
    >>> from randsub.solver import Solver
    >>> model = PRSRegressor(solver=Solver(learning_rate=5e-4, max_iter=1800))
    >>> model.set_params(solver__n_batches=10).solver
    Solver(learning_rate=0.0005, max_iter=1800, n_batches=10)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "learning_rate": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "n_batches": [Interval(Integral, 2, None, closed="left")],
        "ess_threshold": [Interval(Real, 0, 1, closed="both")],
        "refresh": [StrOptions({"fresh", "window", "coupled"}), Window],
        "n_revivals": [Interval(Integral, 0, None, closed="left")],
        "revival_level": [StrOptions({"auto"}), Interval(Real, 0, 1, closed="neither")],
        "baseline": [StrOptions({"optimal", "weighted", "paper", "none"})],
        "self_normalize": ["boolean"],
        "optimizer": [StrOptions({"auto", *OPTIMIZERS}), Optimizer],
        "n_iter_no_change": [Interval(Integral, 1, None, closed="left"), None],
        "tol": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self,
        *,
        learning_rate: float = 1.2e-3,
        max_iter: int = 900,
        n_batches: int = 5,
        ess_threshold: float = 0.35,
        refresh: Literal["fresh", "window", "coupled"] | Window = "fresh",
        n_revivals: int = 2,
        revival_level: float | Literal["auto"] = "auto",
        baseline: Baseline = "weighted",
        self_normalize: bool = True,
        optimizer: str | Optimizer = "auto",
        n_iter_no_change: int | None = 150,
        tol: float = 1e-4,
    ) -> None:
        self.learning_rate = learning_rate
        self.max_iter = max_iter
        self.n_batches = n_batches
        self.ess_threshold = ess_threshold
        self.refresh = refresh
        self.n_revivals = n_revivals
        self.revival_level = revival_level
        self.baseline = baseline
        self.self_normalize = self_normalize
        self.optimizer = optimizer
        self.n_iter_no_change = n_iter_no_change
        self.tol = tol

    @classmethod
    def quick(cls) -> Self:
        """Solver for a first look: 200 epochs with large steps.

        Returns
        -------
        solver : Solver
        """
        return cls(learning_rate=5e-3, max_iter=200)

    @classmethod
    def for_networks(cls) -> Self:
        """Default solver of :class:`randsub.network.PRSNetwork`: 600 epochs, steps of 1e-3.

        Returns
        -------
        solver : Solver
        """
        return cls(
            learning_rate=1e-3,
            max_iter=600,
            ess_threshold=0.5,
            n_revivals=2,
            revival_level=REVIVAL_LEVEL,
            optimizer="adam",
            n_iter_no_change=None,
        )

    @classmethod
    def paper(cls) -> Self:
        """Settings of the paper: 3,000 epochs, ten folds, ESS threshold 0.9, no revivals, W = T.

        Returns
        -------
        solver : Solver
        """
        return cls(
            learning_rate=1e-3,
            max_iter=3000,
            n_batches=10,
            ess_threshold=0.9,
            n_revivals=0,
            self_normalize=False,
            optimizer="adam",
            n_iter_no_change=None,
        )

    def check(self) -> None:
        """Raise an InvalidParameterError if a parameter is invalid."""
        self._validate_params()
        if isinstance(self.refresh, Window):
            self.refresh.check()
        if isinstance(self.optimizer, Optimizer):
            self.optimizer.check()

    def level_of_revival(self, n_parameters: int) -> float:
        """Revival level for a problem with ``n_parameters`` features or groups."""
        if self.revival_level == "auto":
            # Weights do not tell probabilities below EDGE apart.
            return max(EDGE, REVIVAL_LEVEL * min(1.0, REVIVED_FEATURES / n_parameters) ** 2)
        return float(self.revival_level)

    def settings(
        self,
        *,
        n_masks: int,
        n_train: int,
        n_parameters: int,
        objective: ObjectiveName,
        max_samples: int | None = None,
        max_iter: int | None = None,
        n_iter_no_change: int | None = None,
        chooses_on_all: bool = False,
    ) -> Settings:
        """Settings for one fit, with values that depend on the data resolved.

        Parameters
        ----------
        n_masks : int
            T, the number of base models per batch.
        n_train : int
            Number of training samples.
        n_parameters : int
            Number of features, or of feature groups.
        objective : {"ensemble", "members"}
        max_samples : int, default=None
            Largest number of samples that a base model is trained on.
        max_iter : int, default=None
            Number of epochs; by default that of the solver.
        n_iter_no_change : int, default=None
            Number of epochs without improvement after which training has reached a plateau.
        chooses_on_all : bool, default=False
            Whether the best epoch is chosen on held-out and validation rows together.

        Returns
        -------
        settings : Settings
        """
        window = Window() if self.refresh == "window" else self.refresh
        refresh: Refresh = "window"
        n_generations = 1
        if isinstance(window, Window):
            n_generations = min(window.n_generations, n_masks)
        else:
            refresh = window
        return Settings(
            n_masks=n_masks,
            n_batches=min(self.n_batches, n_train),
            max_samples=max_samples,
            objective=objective,
            baseline=self.baseline,
            self_normalize=self.self_normalize,
            ess_threshold=self.ess_threshold,
            refresh=refresh,
            n_generations=n_generations,
            n_revivals=self.n_revivals,
            revival_level=self.level_of_revival(n_parameters),
            max_iter=self.max_iter if max_iter is None else max_iter,
            n_iter_no_change=n_iter_no_change or self.n_iter_no_change,
            tol=self.tol,
            chooses_on_all=chooses_on_all,
        )
