"""PRS for classification."""

from typing import Any, ClassVar, Literal

from randsub.distributions import SubsetDistribution
from randsub.engines import Engine
from randsub.ensemble.base import BasePRS
from randsub.ensemble.constraints import VOTING
from randsub.ensemble.kinds import ClassificationEnsemble
from randsub.losses import Loss
from randsub.optim import Optimizer
from randsub.penalties import Penalty


class PRSClassifier(ClassificationEnsemble, BasePRS):
    """Random-subspace ensemble for classification that learns which features each member sees.

    Each member is a copy of the base model, trained on a random subset of the features; feature j
    is in the subset with probability ``alpha_[j]``. Alpha minimises the loss of the whole ensemble
    on held-out samples, by gradient descent, whatever the base model.

    Parameters
    ----------
    estimator : estimator, default=None
        The base model, any scikit-learn classifier; a decision tree by default.
    n_estimators : int, default=100
        Number of models: in the final ensemble, and in each batch during training.
    alpha_init : "auto", float or array-like, default="auto"
        Selection probabilities at the start; "auto" is ``min(0.5, 5 / n_estimators)``, so that
        each feature is seen by about five models, but with more than 4,000 features no more than
        what lets a model see about 200 of them.
    loss : {"auto", "cross_entropy", "squared_error"} or Loss, default="auto"
        What is minimised; "auto" is the cross-entropy. The squared error of
        the shares of votes or of the probabilities is the Brier score.
    objective : {"ensemble", "members"}, default="ensemble"
        Whether the loss is that of the averaged prediction or the average of the members' losses.
    penalty : Penalty, default=None
        Added to the loss: for example ``ExpectedSize(0.01)`` for sparsity. See
        :mod:`randsub.penalties`.
    feature_groups : array-like, list of lists, dict or "prefix", default=None
        Columns that are drawn together with one probability: a label for each column; lists of
        columns (by position or name) that belong together; or ``{group: [columns]}``. In these
        lists ``"colour_*"`` stands for all columns whose names begin so. "prefix" takes what comes
        before the last underscore of a column's name for its group.
    categorical_features : {"auto", "from_dtype"}, array-like or None, default="auto"
        Columns that hold categories. Each becomes an indicator for each of its values (a missing
        one counts as a value, one that is met only later has none), and these are drawn together:
        alpha and everything else that is learned is about the columns of X. "auto" encodes columns
        of a frame that have a type of categories or hold text that spells no numbers, where the
        base model is one of scikit-learn's that takes nothing but numbers; pipelines, models that
        treat categories themselves and those of other libraries get such columns as they are.
        "from_dtype" encodes every column of text, objects or categories, whatever the base model;
        a list of names or positions, these; None, nothing.
    max_iter : int, default=2400
        Number of epochs; in each, every batch gives one gradient step.
    learning_rate : float, default=5e-4
        Step size of the optimiser.
    n_batches : int, default=5
        The training samples are dealt into so many batches; each is held out in turn. With fewer
        samples than batches, each batch is one sample.
    max_samples : int or float, default=None
        Largest number of samples (or share of the training samples) that a base model is trained
        on, that it predicts in a batch, and that it predicts in validation. They are drawn anew
        with the batches, which only ``refresh="fresh"`` and revivals deal anew.
    ess_threshold : float, default=0.5
        Models are renewed once the effective sample size of some batch falls below this share of
        ``n_estimators``.
    refresh : {"fresh", "window", "coupled"}, default="fresh"
        How they are renewed: all of them with new batches; the oldest of ``n_generations``
        generations; or only those whose subset a maximal coupling changes.
    n_generations : int, default=10
        Number of generations with ``refresh="window"``.
    n_revivals : int, default=2
        How often, at equal intervals, training starts again from the best alpha with dropped
        features raised to ``revival_level`` (not those that ``alpha_init`` puts at 0). With
        ``n_iter_no_change``, a plateau brings the next revival forward.
    revival_level : "auto" or float, default="auto"
        Probability to which dropped features are raised. "auto" stands for 0.02, or with more than
        10,000 features for what lets a model see about 200 of them.
    baseline : {"optimal", "weighted", "paper", "none"} or None, default="weighted"
        Variance reduction of the gradient: the baseline that is optimal for the weighted sum, the
        same with weights in place of their squares, without any, or none.
    self_normalize : bool, default=True
        Whether importance weights are divided by their sum, or by ``n_estimators``.
    voting : {"auto", "soft", "hard"}, default="hard"
        Whether members give one vote or probabilities; "auto" is "soft" where the base model has
        ``predict_proba``, else "hard".
    validation_fraction : float, default=0.2
        Share of the samples that is set aside to choose the best alpha; the final ensemble is
        trained on all of them. Ignored when ``fit`` is given validation data. None chooses the
        best alpha by the objective on the held-out batches.
    n_iter_no_change : int, default=None
        Stop after so many epochs in which the validation objective did not improve by ``tol``.
    tol : float, default=1e-4
        The least improvement that counts.
    standardize : bool, default=True
        Scale dense numeric columns to mean 0 and deviation 1, by the training samples. Sparse
        data is scaled without centring; non-numeric columns of a frame are left alone.
    distribution : "auto" or SubsetDistribution, default="auto"
        How subsets are drawn; "auto" flips one coin for each column or group.
    optimizer : {"adam", "logit_adam", "gradient_descent", "prox_adam", "prox_gradient"} or \
            Optimizer, default="adam"
        How alpha moves. An object brings its own learning rate. The proximal ones solve for the
        penalty exactly, and so make neighbours equal under ``FusedLasso``.
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
        Fix it to get the same result, bit for bit, at every call.
    verbose : int, default=0
        1 shows a progress bar.

    Attributes
    ----------
    alpha_ : ndarray of shape (n_features,)
        Probability with which a member of the ensemble sees each feature.
    feature_importances_ : ndarray of shape (n_features,)
        The same.
    expected_size_ : float
        Number of columns that a member sees on average.
    group_alpha_ : ndarray of shape (n_groups,)
        One alpha for each group; only with ``feature_groups``.
    feature_groups_ : int ndarray of shape (n_features,)
        Group of each column; only with ``feature_groups``.
    estimator_ : estimator
        The base model, unfitted.
    estimators_ : list of estimators
        The fitted members. One that sees no column is a constant model. With ``standardize``,
        they expect columns as ``standardizer_.transform`` gives them.
    standardizer_ : Standardizer or None
        Scales X as the members expect it; None without ``standardize``.
    category_encoder_ : CategoryEncoder or None
        Turns scaled X into the array that members see, where it has categories; its ``origin_``
        is the column of X behind each column of that array.
    estimators_features_ : list of int ndarrays
        Columns that each member sees.
    history_ : pandas.DataFrame
        One row an epoch: objective on the held-out batches and on validation, smallest effective
        sample size, expected size, whether models were renewed or features revived before the
        epoch, and base models trained so far.
    n_iter_ : int
        Epochs run.
    best_iter_ : int
        Epoch of the lowest validation objective, whose alpha is kept.
    validation_loss_ : float
        Loss on validation at that epoch, without the penalty.
    stop_reason_ : str
        Why training ended.
    n_models_trained_ : int
        Base models trained in all, the final ensemble included.
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features; only where X has names that are all strings.

    See Also
    --------
    PRSRegressor : The same for regression.

    References
    ----------
    V. A. Huynh-Thu and P. Geurts, "Optimizing model-agnostic random subspace ensembles", Machine
    Learning, 2024.

    Examples
    --------
    >>> from randsub import PRSClassifier
    >>> from randsub.datasets import make_hypercube
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> X, y, relevant = make_hypercube(n_samples=300, n_irrelevant=15, random_state=1)
    >>> model = PRSClassifier(KNeighborsClassifier(), random_state=0).fit(X[:200], y[:200])
    >>> bool(model.alpha_[relevant].mean() > 2 * model.alpha_.mean())
    True
    >>> bool(model.score(X[200:], y[200:]) > 0.8)
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **BasePRS._parameter_constraints,
        **VOTING,
    }

    def __init__(
        self,
        estimator: Any = None,
        *,
        n_estimators: int = 100,
        alpha_init: Any = "auto",
        loss: str | Loss = "auto",
        objective: Literal["ensemble", "members"] = "ensemble",
        penalty: Penalty | None = None,
        feature_groups: Any = None,
        categorical_features: Any = "auto",
        max_iter: int = 2400,
        learning_rate: float = 5e-4,
        n_batches: int = 5,
        max_samples: float | None = None,
        ess_threshold: float = 0.5,
        refresh: Literal["fresh", "window", "coupled"] = "fresh",
        n_generations: int = 10,
        n_revivals: int = 2,
        revival_level: Any = "auto",
        baseline: Literal["optimal", "weighted", "paper", "none"] | None = "weighted",
        self_normalize: bool = True,
        voting: Literal["auto", "soft", "hard"] = "hard",
        validation_fraction: float | None = 0.2,
        n_iter_no_change: int | None = None,
        tol: float = 1e-4,
        standardize: bool = True,
        distribution: Literal["auto"] | SubsetDistribution = "auto",
        optimizer: str | Optimizer = "adam",
        engine: str | type[Engine] = "auto",
        n_jobs: int | None = None,
        task_timeout: float | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        super().__init__(
            estimator,
            n_estimators=n_estimators,
            alpha_init=alpha_init,
            loss=loss,
            objective=objective,
            penalty=penalty,
            feature_groups=feature_groups,
            categorical_features=categorical_features,
            max_iter=max_iter,
            learning_rate=learning_rate,
            n_batches=n_batches,
            max_samples=max_samples,
            ess_threshold=ess_threshold,
            refresh=refresh,
            n_generations=n_generations,
            n_revivals=n_revivals,
            revival_level=revival_level,
            baseline=baseline,
            self_normalize=self_normalize,
            validation_fraction=validation_fraction,
            n_iter_no_change=n_iter_no_change,
            tol=tol,
            standardize=standardize,
            distribution=distribution,
            optimizer=optimizer,
            engine=engine,
            n_jobs=n_jobs,
            task_timeout=task_timeout,
            random_state=random_state,
            verbose=verbose,
        )
        self.voting = voting
