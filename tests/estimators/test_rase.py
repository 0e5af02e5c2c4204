"""RaSE against a plain loop, and what its estimators promise."""

import numpy as np
import pytest
from sklearn.linear_model import Ridge
from sklearn.metrics import accuracy_score, r2_score
from sklearn.model_selection import PredefinedSplit, cross_val_predict
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

from randsub import RaSEClassifier, RaSERegressor
from randsub.datasets import make_friedman, make_hypercube, make_linear
from randsub.estimators import candidate_search
from randsub.estimators.candidate_search import _best_of_each
from randsub.estimators.subsets import draw_subsets, sampling_weights
from randsub.exceptions import InterruptedFitWarning
from randsub.solver.rounds import deal_batches

QUICK = {"n_estimators": 6, "n_candidates": 5, "max_iter": 3, "cv": 4, "random_state": 0}
INT32 = np.iinfo(np.int32).max


def generator(seed):
    """The stream that random_state=seed gives to a fit."""
    return np.random.default_rng(np.random.RandomState(seed).randint(INT32, size=4))


def plain_rase(base, X, y, X_val, y_val, T, B, n_iter, D, C0, cv, seed, classes):
    """The paper's appendix, word by word; the order of the draws is that of the estimator."""
    rng = generator(seed)
    n, M = X.shape
    alpha, history = np.full(M, 0.05), []
    for _ in range(n_iter):
        weights = sampling_weights(alpha, C0)
        codes = None if classes is None else np.searchsorted(classes, y)
        fold_of = np.empty(n, dtype=int)
        for k, fold in enumerate(deal_batches(np.arange(n), cv, codes, None, rng)):
            fold_of[fold.query_rows] = k
        sizes = rng.integers(1, D + 1, size=(T, B))
        drawn = draw_subsets(weights, sizes.ravel(), rng)
        sets = [drawn.features[drawn.begin[s] : drawn.begin[s + 1]].tolist() for s in range(T * B)]
        rng.integers(INT32, size=(len(set(map(tuple, sets))), cv))
        best, errors = [], []
        for t in range(T):
            champion = None
            for subset in sets[t * B : (t + 1) * B]:
                predicted = cross_val_predict(base, X[:, subset], y, cv=PredefinedSplit(fold_of))
                wrong = predicted != y if classes is not None else (predicted - y) ** 2
                rank = (round(float(wrong.mean()), 10), len(subset))
                if champion is None or rank < champion[0]:
                    champion = (rank, subset)
            best.append(champion[1])
            errors.append(champion[0][0])
        alpha = np.array([sum(j in subset for subset in best) / T for j in range(M)])
        answers = [base.fit(X[:, s], y).predict(X_val[:, s]) for s in best]
        rng.integers(INT32, size=T)
        if classes is None:
            score = r2_score(y_val, np.mean(answers, axis=0))
        else:
            votes = sum((a[:, np.newaxis] == classes).astype(int) for a in answers)
            score = accuracy_score(y_val, classes[votes.argmax(axis=1)])
        history.append((np.mean(errors), score, alpha, best))
    return history


BASES = [
    KNeighborsClassifier(3),
    KNeighborsClassifier(3, metric="manhattan"),  # no compiled engine has it
    KNeighborsRegressor(3),
    Ridge(),
]


@pytest.mark.filterwarnings("ignore::randsub.exceptions.SlowEngineWarning")
@pytest.mark.parametrize("base", BASES, ids=str)
def test_against_a_plain_loop(base):
    is_classifier = isinstance(base, KNeighborsClassifier)
    make = make_hypercube if is_classifier else make_friedman
    X, y, _ = make(n_samples=90, n_irrelevant=4, random_state=1)
    train, val = slice(0, 60), slice(60, 90)
    cls = RaSEClassifier if is_classifier else RaSERegressor
    model = cls(base, **QUICK, standardize=False)
    model.fit(X[train], y[train], X_val=X[val], y_val=y[val])
    classes = np.unique(y) if is_classifier else None
    D = min(X.shape[1], 7)  # floor(sqrt(60)) = 7
    plain = plain_rase(
        base, X[train], y[train], X[val], y[val], 6, 5, 3, D, 0.1, 4, seed=0, classes=classes
    )
    np.testing.assert_allclose(model.history_["cv_error"], [h[0] for h in plain], rtol=1e-6)
    np.testing.assert_allclose(model.history_["validation_score"], [h[1] for h in plain])
    best = int(np.argmax([round(h[1], 10) for h in plain]))
    assert model.best_iter_ == best + 1
    np.testing.assert_allclose(model.alpha_, plain[best][2])
    assert [f.tolist() for f in model.estimators_features_] == plain[best][3]
    assert model.expected_size_ == pytest.approx(np.mean([len(s) for s in plain[best][3]]))
    np.testing.assert_array_equal(model.feature_importances_, model.alpha_)


def test_ties_go_to_the_smaller_then_to_the_first():
    errors = np.array([[0.3, 0.1, 0.1, 0.1], [0.2, 0.2, 0.2, 0.2]])
    sizes = np.array([[1, 3, 2, 2], [2, 2, 2, 2]])
    assert _best_of_each(errors, sizes).tolist() == [2, 0]


def test_members_in_portions_follow_the_same_rules(monkeypatch):
    """Where the lists of features of all candidates would not fit, a few members go at a time."""
    X, y, _ = make_hypercube(n_samples=60, n_irrelevant=5, random_state=0)
    monkeypatch.setattr(candidate_search, "MOST_ENTRIES", 1)
    model = RaSEClassifier(KNeighborsClassifier(3), **QUICK).fit(X, y)
    assert len(model.estimators_) == 6
    np.testing.assert_allclose(
        model.alpha_, np.mean([np.isin(np.arange(10), f) for f in model.estimators_features_], 0)
    )
    assert (model.history_["n_distinct"] <= 30).all()


def test_it_finds_the_relevant_features():
    X, y, relevant = make_friedman(n_samples=400, n_irrelevant=25, correlation=0.0, random_state=0)
    model = RaSERegressor(
        KNeighborsRegressor(), n_estimators=20, n_candidates=40, max_iter=4, cv=5, random_state=0
    ).fit(X[:200], y[:200])
    irrelevant = np.setdiff1d(np.arange(30), relevant)
    assert model.alpha_[relevant].mean() > 5 * model.alpha_[irrelevant].mean()
    assert model.score(X[200:], y[200:]) > 0.6
    assert model.history_["cv_error"].iloc[-1] < model.history_["cv_error"].iloc[0]


def test_history_and_counts():
    X, y, _ = make_friedman(n_samples=60, n_irrelevant=3, random_state=0)
    model = RaSERegressor(Ridge(), **QUICK).fit(X, y)
    history = model.history_
    assert list(history.columns) == [
        "cv_error",
        "validation_score",
        "mean_size",
        "n_distinct",
        "n_models_trained",
    ]
    assert history.index.tolist() == [1, 2, 3]
    assert model.n_iter_ == 3
    assert model.best_iter_ == history["validation_score"].idxmax()
    expected = np.cumsum(4 * history["n_distinct"] + 6)
    assert history["n_models_trained"].tolist() == expected.tolist()
    assert model.n_models_trained_ == expected.iloc[-1] + 6
    assert model.expected_size_ == history["mean_size"][model.best_iter_]


def test_each_different_subset_is_judged_once():
    """Two features have three subsets, however many candidates there are."""
    X, y, _ = make_friedman(n_samples=60, n_irrelevant=0, random_state=0)
    model = RaSERegressor(KNeighborsRegressor(), **{**QUICK, "n_candidates": 50}).fit(X[:, :2], y)
    assert model.history_["n_distinct"].tolist() == [3, 3, 3]


def test_without_validation_the_cross_validation_error_decides():
    X, y, _ = make_friedman(n_samples=60, n_irrelevant=3, random_state=0)
    model = RaSERegressor(KNeighborsRegressor(), validation_fraction=None, **QUICK).fit(X, y)
    assert model.history_["validation_score"].isna().all()
    assert model.best_iter_ == model.history_["cv_error"].idxmin()
    assert {m.n_samples_fit_ for m in model.estimators_} == {60}


@pytest.mark.parametrize("max_size", ["auto", 1, 3])
def test_sizes_of_subsets(max_size):
    X, y, _ = make_friedman(n_samples=30, n_irrelevant=10, random_state=0)
    model = RaSERegressor(Ridge(), max_size=max_size, **QUICK).fit(X, y)
    largest = 4 if max_size == "auto" else max_size  # 24 training rows
    assert {len(f) for f in model.estimators_features_} <= set(range(1, largest + 1))


def test_the_start_of_alpha_matters():
    """A feature that starts at 1 among thousands at 0 is in nearly every subset."""
    X = np.random.default_rng(0).normal(size=(40, 300))
    alpha = np.zeros(300)
    alpha[7] = 1.0
    model = RaSERegressor(Ridge(), alpha_init=alpha, **{**QUICK, "max_iter": 1}).fit(X, X[:, 7])
    assert model.alpha_[7] == 1.0


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"max_size": 9}, "max_size=9 is more than the 8 feature"),
        ({"max_size": 0}, "max_size"),
        ({"alpha_init": [0.5, 0.5]}, "one entry for each of the 8"),
        ({"alpha_init": [2.0] * 8}, "probabilities in"),
        ({"alpha_init": 0.0}, "alpha_init"),
        ({"threshold": 0.0}, "threshold"),
        ({"cv": 1}, "cv"),
        ({"n_candidates": 0}, "n_candidates"),
        ({"max_iter": 0}, "max_iter"),
    ],
)
def test_bad_parameters(params, message):
    X, y, _ = make_friedman(n_samples=30, n_irrelevant=3, random_state=0)
    with pytest.raises(ValueError, match=message):
        RaSERegressor(**params).fit(X, y)


# -- the cut-off -------------------------------------------------------------------------------


def test_the_cutoff_decides():
    X, y, _ = make_linear(n_samples=150, n_irrelevant=3, random_state=0)
    y = np.where(y == np.unique(y)[0], "no", "yes")
    model = RaSEClassifier(KNeighborsClassifier(3), tune_cutoff=True, **QUICK).fit(X[:90], y[:90])
    plain = RaSEClassifier(KNeighborsClassifier(3), **QUICK).fit(X[:90], y[:90])
    assert plain.cutoff_ is None
    np.testing.assert_array_equal(plain.alpha_, model.alpha_)
    # Four folds of six members, to vote on samples that they have not seen.
    assert model.n_models_trained_ == plain.n_models_trained_ + 24
    shares = model.predict_proba(X[90:])[:, 1]
    np.testing.assert_array_equal(model.predict(X[90:]) == "yes", shares > model.cutoff_)
    model.cutoff_ = -1.0
    assert (model.predict(X) == "yes").all()


def test_votes_for_the_cutoff_are_cross_validated():
    """One nearest neighbour is always right about its own sample; that must not count."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(80, 4)), np.repeat([0, 1], [60, 20])
    model = RaSEClassifier(KNeighborsClassifier(1), tune_cutoff=True, **QUICK).fit(X, y)
    # On noise the frequent class is the best guess; resubstitution would leave the cut-off at 0.5.
    assert model.cutoff_ > 0.5


def test_the_cutoff_is_for_two_classes():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 3)), np.arange(60) % 3
    with pytest.raises(ValueError, match=r"tune_cutoff=True needs two classes, but y has 3"):
        RaSEClassifier(tune_cutoff=True, **QUICK).fit(X, y)


# -- Ctrl-C ------------------------------------------------------------------------------------


def interrupted_in(monkeypatch, iteration):
    judge, calls = candidate_search.cross_validation_errors, []

    def watched(*args):
        calls.append(1)
        if len(calls) == iteration:
            raise KeyboardInterrupt
        return judge(*args)

    monkeypatch.setattr(candidate_search, "cross_validation_errors", watched)


def test_ctrl_c_keeps_the_best_iteration(monkeypatch):
    X, y, _ = make_friedman(n_samples=60, n_irrelevant=3, random_state=0)
    whole = RaSERegressor(Ridge(), **{**QUICK, "max_iter": 2}).fit(X, y)
    interrupted_in(monkeypatch, 3)
    model = RaSERegressor(Ridge(), **QUICK)
    with pytest.warns(InterruptedFitWarning, match="after iteration 2 of 3"):
        model.fit(X, y)
    np.testing.assert_array_equal(model.alpha_, whole.alpha_)
    np.testing.assert_array_equal(model.predict(X), whole.predict(X))
    assert model.n_iter_ == 2


def test_ctrl_c_in_the_first_iteration_leaves_the_earlier_fit(monkeypatch):
    X, y, _ = make_friedman(n_samples=60, n_irrelevant=3, random_state=0)
    model = RaSERegressor(Ridge(), **QUICK).fit(X, y)
    before = model.predict(X)
    interrupted_in(monkeypatch, 1)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X[:, :4], y)
    np.testing.assert_array_equal(model.predict(X), before)
