"""PRS for regression."""

from dataclasses import dataclass

from randsub.estimators.base import RegressionEnsemble
from randsub.estimators.prs import BasePRS


@dataclass(eq=False, repr=False, kw_only=True)
class PRSRegressor(RegressionEnsemble, BasePRS):
    r"""Random-subspace ensemble for regression that learns which features each member should see.

    Each member is a copy of the base model, trained on a random subset of the features; feature j
    is in the subset with probability ``alpha_[j]``. Alpha minimises the loss of the whole ensemble
    on held-out samples, whatever the base model:

    .. math:: \min_{\alpha \in [0, 1]^M} \; \frac{1}{N} \sum_{i=1}^{N}
        \ell\Bigl(y_i, \mathbb{E}_{z \sim \mathrm{Bernoulli}(\alpha)}[f_z(x_i)]\Bigr) + R(\alpha),

    where f_z is a base model trained without sample i on the features that z holds, and R is the
    penalty. :class:`randsub.solver.Solver` says how this is solved.

    Parameters
    ----------
    estimator : estimator, list of (str, estimator) or "auto", default=None
        The base model, any scikit-learn regressor; a decision tree by default. A list of names
        and base models, ``[("knn", KNeighborsRegressor()), ("svm", SVR())]``, mixes several in
        one ensemble: each has its own alpha, and their shares are learned, too. They are parameters
        by name: ``set_params(knn__n_neighbors=7, svm="drop")``. "auto" is such a list, chosen by
        the size of the data: neighbours, trees, support vector machines and gradient boosting.
        Missing numbers are then replaced by the mean, with an indicator beside them. With more than
        2,000 samples, alpha is learned from models of 2,000; members see all.
    n_estimators : int, default=100
        Number of members of the final ensemble, and of models per batch during training; with
        several base models, of models of each per batch. Members are allotted by share; where
        there are fewer of them than base models, the largest shares are represented.
    alpha_init : "auto", "marginal", float or array-like, default="auto"
        Selection probabilities at the start. "auto" is ``min(0.5, 5 / n_estimators)``, so that
        each feature is seen by about five models per batch; with more than 600 features, the
        level at which a model sees about 30 of them. "marginal" has about the same mean, and is
        higher for features that explain more of the target alone, by the square root of their
        rank: for tens of thousands of features. Features at 0 are left out for good.
    loss : {"auto", "squared_error", "huber", "poisson"} or Loss, default="auto"
        The loss; "auto" is the squared error. Targets are centred and scaled by their mean and
        standard deviation first (divided by their mean for "poisson"), so that penalties and
        tolerances do not depend on units. Of several outputs, each by its own, and the loss is the
        mean over them.
    objective : {"ensemble", "members"}, default="ensemble"
        Whether the loss is that of the averaged prediction or the average of the members' losses.
    penalty : Penalty, default=None
        R, for example ``ExpectedSize(0.01)`` for sparsity. See :mod:`randsub.penalties`.
    feature_groups : array-like, list of lists, dict or "prefix", default=None
        Columns that are drawn together with one probability: one label per column; lists of
        columns (by position or name) that belong together; or ``{group: [columns]}``. In these
        lists ``"colour_*"`` stands for all columns whose names begin with ``colour_``. "prefix"
        groups columns by what comes before the last underscore of their names.
    categorical_features : {"auto", "from_dtype"}, array-like or None, default="auto"
        Columns that hold categories. They are one-hot encoded: a missing value is a category,
        unseen categories encode to zeros, and the indicators of a column are drawn together, so
        that alpha is about the columns of X. "auto" encodes columns of a frame with a categorical
        type, or with text that does not spell numbers, for scikit-learn's base models that take
        numbers only, and for pipelines that begin with such a step; models that handle categories
        and those of other libraries get such columns unchanged. "from_dtype" encodes all columns of
        text, objects or categories, whatever the base model; a list of names or positions, these;
        None, nothing.
    distribution : "auto" or SubsetDistribution, default="auto"
        Law of the subsets. "auto" is one independent coin per column or group.
    max_samples : int or float, default=None
        Largest number of samples (or share of the training samples) that a base model is trained
        on, predicts per batch, and predicts in validation. They are drawn anew with the batches,
        that is at revivals and refreshes with ``refresh="fresh"``.
    bootstrap : bool or "auto", default="auto"
        Whether each base model is trained on a bootstrap sample: as many rows as there are, drawn
        with replacement, in training and in the final ensemble. "auto" does so for decision trees
        (not inside pipelines), whose average is much better for it, if there are fewer than ten
        times as many features as samples: with more, the ranking of the features is worse for it.
        Other base models see all rows. If True, those are trained by scikit-learn, without a
        compiled engine.
    max_iter : int, default=None
        Number of epochs; by default the solver's, 900. Each batch gives one step per epoch.
    n_iter_no_change : int, default=None
        Stop after this number of epochs without an improvement, by the solver's ``tol``, of the
        objective on the held-out batches and on validation together; by default the solver's, 150.
        Each repeat stops by itself. ``Solver(n_iter_no_change=None)`` takes all epochs.
    n_repeats : int or "auto", default="auto"
        Number of times that alpha is optimised, each time with its own validation samples.
        ``alpha_`` is the mean. With few validation samples, alpha depends on which samples they
        are: repeats make the ranking of the features steadier, and ``alpha_std_`` shows how much it
        varies. As long as ``n_repeats * validation_fraction`` is at most 1, each sample is used at
        most once for validation, if there are enough: 5 repeats at 0.2 are 5 folds. With
        validation data, or ``validation_fraction=None``, repeats differ only in their batches and
        random draws. Training takes ``n_repeats`` times as many base models; the final ensemble has
        ``n_estimators`` members in any case, an equal share of them for each repeat (if there are
        fewer, one for each of the first repeats). "auto" is 5 if there are at least as many
        features (or groups) as samples, and 20 if there are at least ten times as many, for at most
        1,000 samples and without validation data; otherwise 1.
    validation_fraction : float, default=0.2
        Share of the samples set aside to choose the best alpha; the final ensemble is trained on
        all samples. Ignored if ``fit`` is given validation data. None chooses the best alpha by
        the objective on the held-out batches.
    standardize : bool, default=True
        Scale dense numeric columns to mean 0 and standard deviation 1.
        Sparse data is scaled without centring; non-numeric columns of a frame are unchanged.
    solver : Solver, default=None
        Learning rate, batches, refreshes, revivals and the other numbers of the optimisation; by
        default ``Solver()``. ``Solver.quick()`` is for a first look.
    engine : str or type, default="auto"
        Backend that trains the base models: "knn", "tree", "svm", "linear_and_bayes", "boosting",
        "torch" or "generic". "auto" is the fastest one that reproduces the base model; "torch", on
        a GPU, where that is much faster. A subclass of :class:`randsub.engines.Engine` is a custom
        backend.
    device : str or None, default=None
        Device of the engine "torch": "cuda", "cuda:1", "mps" or "cpu"; None is a GPU if there is
        one. With ``engine="auto"``, "cpu" keeps off the GPU, and a GPU that is named is used for
        all base models that the engine "torch" supports.
    n_jobs : int, default=None
        Number of workers, for base models or for whole repeats. The result is the same for any
        number and any joblib backend.
    task_timeout : float or None, default=None
        Seconds that training one base model may take before the fit ends with an error that names
        its features. The clock runs from the moment a worker should begin. With a limit, base
        models go to workers one by one; those of compiled engines by the task.
    random_state : int, RandomState instance or None, default=None
        Pass an int for the same result, bit for bit, at every call.
    verbose : int, default=0
        1 shows a progress bar.

    Attributes
    ----------
    alpha_ : ndarray of shape (n_features,)
        Probability with which a member of the ensemble sees each feature: the mean over repeats,
        and over several base models by share.
    alpha_std_ : ndarray of shape (n_features,)
        Standard deviation of alpha over repeats (with ``ddof=0``); 0 with a single one, which
        shows no variation.
    alphas_ : ndarray of shape (n_repeats, n_features), or dict of str to such arrays
        Alpha of each repeat; of several base models, that of each by name.
    repeat_alphas_ : ndarray of shape (n_repeats, n_features)
        Alpha of each repeat, the mean over several base models by share.
    shares_ : dict of str to float
        Share of each base model in the ensemble, the mean over repeats; 0 for those that were
        dropped in training. Only with several base models.
    n_repeats_ : int
        Number of repeats; fewer than asked for if training was interrupted.
    feature_importances_ : ndarray of shape (n_features,)
        The same as ``alpha_``.
    expected_size_ : float
        Average number of columns of a member.
    group_alpha_ : ndarray of shape (n_groups,)
        Alpha per group, the mean over repeats; only with ``feature_groups``.
    feature_groups_ : int ndarray of shape (n_features,)
        Group of each column; only with ``feature_groups``.
    estimator_ : estimator or list of (str, estimator)
        The base model, or the base models, unfitted.
    engine_ : str or dict of str to str
        Engine that trained the base model, or the base models by name: one of those of the
        parameter ``engine``.
    solver_ : Solver
        The solver that was used.
    estimators_ : list of estimators
        The fitted members. A member without columns is a constant model. With ``standardize``,
        members expect columns as ``standardizer_.transform`` gives them.
    estimators_features_ : list of int ndarrays
        Columns of each member.
    estimators_bases_ : list of str
        Name of the base model of each member; only with several base models.
    estimators_weights_ : ndarray of shape (n_estimators,)
        Weight of each member in predictions; those of a base model add up to its share. Only with
        several base models.
    standardizer_ : Standardizer or None
        Scales X as the members expect it; None without ``standardize``.
    column_encoder_ : ColumnEncoder or None
        Encodes scaled X as the members expect it, if X has categories, or if missing numbers are
        replaced. Its ``origin_`` is the column of X behind each encoded column.
    history_ : pandas.DataFrame
        One row per epoch. Means over repeats: objective on the held-out batches and on validation,
        expected size, and share of the repeats whose models were refreshed before the epoch. Of all
        repeats: smallest effective sample size, whether features were revived before the epoch, and
        number of base models trained so far.
        Of several base models also their shares, ``share_knn`` and so on. Repeats that have ended
        count with their last epoch.
    alpha_path_ : float32 ndarray of shape (n_snapshots, n_features)
        Alpha after each of some epochs, the mean over repeats, for
        :class:`randsub.inspection.PathDisplay`. At most 100 epochs, evenly spaced but for the last
        one, and at most 4 MB (above 10,000 features, fewer epochs; above 250,000, four of them).
    alpha_path_epochs_ : int ndarray of shape (n_snapshots,)
        These epochs, ascending; 0 is the start.
    n_iter_ : int
        Number of epochs; of the longest repeat, if there are several.
    best_iter_ : int
        Epoch with the lowest validation objective, whose alpha is kept. Of several repeats, each
        has its own, and this is the latest; where they have their own validation samples, it is the
        one with the lowest sum of their objectives on the held-out batches and on validation.
    validation_loss_ : float
        Loss on validation at that epoch, without the penalty; the mean over repeats.
    validation_score_ : float
        R2 on the validation samples at that epoch: the mean over the ensembles of the batches,
        which were not trained on these samples, and over repeats. It is slightly optimistic, since
        the epoch was chosen on the same samples. With ``validation_fraction=None`` it is that of
        the held-out batches, and more optimistic: alpha was optimised on them. NaN where R2 is not
        defined, as for a single sample.
    validation_scores_ : ndarray of shape (n_repeats,)
        The same for each repeat.
    stop_reason_ : str
        Why training ended; of several repeats, "all epochs done" if one of them did all. Where a
        time limit or Ctrl-C has left some of them, it ends with "3 of 20 repeats".
    n_models_trained_ : int
        Number of base models trained, the final ensemble included.
    n_outputs_ : int
        Number of columns of y; 1 if it has one dimension.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features; only where X has names that are all strings.

    See Also
    --------
    PRSClassifier : The same for classification.

    References
    ----------
    V. A. Huynh-Thu and P. Geurts, "Optimizing model-agnostic random subspace ensembles", Machine
    Learning, 2024.

    Examples
    --------
    >>> from randsub import PRSRegressor
    >>> from randsub.datasets import make_friedman
    >>> from sklearn.neighbors import KNeighborsRegressor
    >>> X, y, relevant = make_friedman(400, 20, correlation=0.0, random_state=0)
    >>> model = PRSRegressor(KNeighborsRegressor(), random_state=0).fit(X[:300], y[:300])
    >>> sorted(model.alpha_.argsort()[-5:].tolist()) == sorted(relevant.tolist())
    True
    >>> bool(model.score(X[300:], y[300:]) > 0.7)
    True
    """
