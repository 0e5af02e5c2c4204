"""Rules by which links are ranked, against plain loops, and in a fit."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.linear_model import Ridge
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVR
from sklearn.tree import DecisionTreeRegressor

from flat_parameters import flat_network
from randsub.datasets import make_network
from randsub.network import PRSNetwork, Ranking, score_network
from randsub.network.link_rules import (
    by_regulator,
    mean_rank,
    mean_score,
    per_target,
    weaker_direction,
)
from randsub.network.member_evidence import importances

REGULATORS, TARGETS = ["c", "a", "b"], ["a", "b", "d", "c", "e"]
ALLOWED = np.array([[target != regulator for regulator in REGULATORS] for target in TARGETS])


def drawn(seed, n=None):
    rng = np.random.default_rng(seed)
    return np.where(ALLOWED, rng.integers(0, n, (5, 3)) if n else rng.uniform(size=(5, 3)), 0.0)


@pytest.fixture(params=[0, 1, 2])
def scores(request):
    return drawn(request.param)


def test_mean_rank_is_that_of_pairs():
    """The rank of a link is the number of links that it beats, and half of those that equal it."""
    matrices = [drawn(0, 4), drawn(1, 3), drawn(2)]
    found = mean_rank(matrices, ALLOWED)
    pairs = np.argwhere(ALLOWED)
    for g, j in pairs:
        ranks = []
        for one in matrices:
            below = sum(one[h, k] < one[g, j] for h, k in pairs)
            equal = sum(one[h, k] == one[g, j] for h, k in pairs)
            ranks.append(below + (equal + 1) / 2)
        assert found[g, j] == pytest.approx(np.mean(ranks) / len(pairs))
    assert (found[~ALLOWED] == 0.0).all()
    # Nothing but the order matters.
    np.testing.assert_allclose(mean_rank([m**3 * 7.0 for m in matrices], ALLOWED), found)


def test_mean_score(scores):
    assert mean_score([scores]) is scores
    np.testing.assert_allclose(mean_score([scores, 3.0 * scores]), 2.0 * scores)


@pytest.mark.parametrize("how", ["max", "sum", "rank"])
def test_per_target(scores, how):
    scores[2] = 0.0
    found = per_target(scores, ALLOWED, how)
    for row, expected, allowed in zip(found, scores, ALLOWED, strict=True):
        assert (row[~allowed] == 0.0).all()
        if how == "rank":
            order = np.argsort(expected[allowed])
            if expected.any():
                np.testing.assert_allclose(
                    row[allowed][order], np.arange(1, allowed.sum() + 1) / allowed.sum()
                )
            else:
                assert np.ptp(row[allowed]) == 0.0
        else:
            total = getattr(expected, how)()
            np.testing.assert_allclose(row, expected / total if total else expected)


def test_the_weaker_direction(scores):
    places = [REGULATORS.index(t) if t in REGULATORS else -1 for t in TARGETS]
    others = [TARGETS.index(r) if r in TARGETS else -1 for r in REGULATORS]
    found = weaker_direction(scores, np.array(places), np.array(others))
    n_weaker = 0
    for g, target in enumerate(TARGETS):
        for j, regulator in enumerate(REGULATORS):
            expected = scores[g, j]
            if target in REGULATORS and regulator in TARGETS:
                reverse = scores[TARGETS.index(regulator), REGULATORS.index(target)]
                if expected < reverse:
                    expected *= expected / reverse
                    n_weaker += 1
            assert found[g, j] == pytest.approx(expected)
    assert n_weaker == 3


@pytest.mark.parametrize("how", ["sum", "variance", "both"])
def test_by_regulator(scores, how):
    found = by_regulator(scores, ALLOWED, how)
    for j in range(3):
        own = scores[ALLOWED[:, j], j]
        factor = {"sum": own.mean(), "variance": own.var(), "both": own.mean() * own.std()}[how]
        np.testing.assert_allclose(found[:, j], scores[:, j] * factor)


@pytest.mark.parametrize("how", ["variance", "both"])
def test_a_regulator_of_one_candidate_keeps_its_links(how):
    scores = np.array([[0.1, 0.5], [0.7, 0.2], [0.4, 0.3]])
    one = np.array([[True, False], [True, True], [True, False]])
    found = by_regulator(scores, one, how)
    factor = found[0, 0] / scores[0, 0]
    np.testing.assert_allclose(found, scores * factor)
    alone = by_regulator(scores[1:2], one[1:2], how)
    np.testing.assert_array_equal(alone, scores[1:2])


def test_rules_in_their_order():
    evidence = {"mean": np.stack([[drawn(0).T, drawn(1).T], [drawn(2).T, drawn(3).T]])}
    ranking = Ranking(
        combine="rank", path="mean", targets="sum", direction="weaker", regulators="sum"
    )
    found = ranking.weights(evidence, 1, REGULATORS, TARGETS)
    scores = mean_rank([drawn(seed) for seed in range(4)], ALLOWED)
    scores = per_target(scores, ALLOWED, "sum")
    places = np.array([REGULATORS.index(t) if t in REGULATORS else -1 for t in TARGETS])
    others = np.array([TARGETS.index(r) for r in REGULATORS])
    scores = by_regulator(weaker_direction(scores, places, others), ALLOWED, "sum")
    np.testing.assert_allclose(found, scores.T)
    chosen = clone(ranking).set_params(path="chosen").weights(evidence, 1, REGULATORS, TARGETS)
    assert not np.allclose(chosen, found)
    plain = Ranking().weights({"mean": evidence["mean"][:, :1]}, 1, REGULATORS, TARGETS)
    np.testing.assert_array_equal(plain, drawn(2).T)


# -- in a fit ------------------------------------------------------------------------------------

TRUTH = make_network(60, n_regulators=7, n_targets=8, n_modules=2, random_state=0)
NAMES = np.array(TRUTH.gene_names)
QUICK = {"n_estimators": 20, "max_iter": 20, "n_batches": 3, "random_state": 0, "lam": 0.004}
ALL = Ranking(evidence=("mean", "alpha", "members"), combine="rank")


def fitted(estimator=None, order=slice(None), **parameters):
    settings = flat_network(**{**QUICK, **parameters})
    model = PRSNetwork(estimator or DecisionTreeRegressor(min_samples_leaf=5), **settings)
    regulators = [name for name in NAMES[order] if name.startswith("R")]
    return model.fit(TRUTH.expression[:, order], regulators, gene_names=NAMES[order])


@pytest.fixture(scope="module")
def whole():
    return fitted(ranking=ALL, n_repeats=2, lam="path", lams=(0.0, 0.01))


def test_one_fit_has_the_links_of_all_its_rules(whole):
    assert {kind: one.shape for kind, one in whole.evidence_.items()} == {
        "mean": (2, 2, 7, 15),
        "alpha": (2, 2, 7, 15),
        "members": (1, 2, 7, 15),
    }
    np.testing.assert_array_equal(whole.ranked(ALL).alpha, whole.link_weights_)
    for rules in (
        {},
        {"evidence": "alpha"},
        {"path": "mean", "regulators": "variance"},
        {"evidence": ("mean", "alpha"), "combine": "rank", "direction": "weaker"},
    ):
        ranking = Ranking(**rules)
        own = fitted(ranking=ranking, n_repeats=2, lam="path", lams=(0.0, 0.01))
        pd.testing.assert_frame_equal(own.links(), whole.ranked(ranking).links(), check_exact=True)
    assert (whole.ranked(Ranking(evidence="alpha")).alpha == whole.alpha_).all()


def test_all_rules_find_true_links(whole):
    least = 2 * 25 / whole.links().shape[0]
    for rules in ({"evidence": "members"}, {"path": "mean"}, {"regulators": "sum"}):
        scores = score_network(whole.ranked(Ranking(**rules)), TRUTH.gold, gene_names=NAMES)
        assert scores.aupr > max(least, 2 * scores.n_edges / scores.n_pairs)


def test_the_order_of_the_genes_does_not_matter():
    ranking = Ranking(combine="rank", targets="sum", direction="weaker", regulators="variance")
    ranking.set_params(evidence=["mean", "members"])
    order = np.random.default_rng(0).permutation(15)
    one, other = (fitted(ranking=ranking, n_repeats=2, order=o) for o in (slice(None), order))
    pd.testing.assert_frame_equal(one.links(), other.links(), check_exact=True)


def test_members_say_what_trees_and_linear_models_say():
    X, y = TRUTH.expression[:, :3], TRUTH.expression[:, 3]
    tree, ridge = DecisionTreeRegressor(max_depth=2).fit(X, y), Ridge().fit(X, y)
    np.testing.assert_allclose(importances(tree), tree.feature_importances_ * _explained(tree, X))
    np.testing.assert_allclose(importances(ridge), np.abs(ridge.coef_))
    piped = make_pipeline(StandardScaler(), Ridge()).fit(X, y)
    np.testing.assert_allclose(importances(piped), np.abs(piped[-1].coef_))
    np.testing.assert_allclose(
        importances(SVR(kernel="linear").fit(X, y)), np.abs(SVR(kernel="linear").fit(X, y).coef_[0])
    )
    assert importances(SVR().fit(X, y)) is None
    assert importances(KNeighborsRegressor().fit(X, y)) is None


def _explained(tree, X):
    leaves = tree.tree_.impurity[tree.apply(X)]
    return tree.tree_.impurity[0] - leaves.mean()


def test_members_with_all_regulators_are_one_model():
    """With alpha near 1, every member is the linear model of all other regulators."""
    first = {"alpha_init": 1.0 - 1e-12, "max_iter": 1, "n_revivals": 0, "learning_rate": 1e-9}
    model = fitted(Ridge(), **first, lam=0.0, validation_fraction=None, ranking=ALL)
    found, samples = model.evidence_["members"][0, 0], TRUTH.expression
    X = (samples - samples.mean(axis=0)) / samples.std(axis=0)
    for target in (2, 9):
        others = [j for j in range(7) if j != target]
        expected = np.abs(Ridge().fit(X[:, others], X[:, target]).coef_)
        np.testing.assert_allclose(found[others, target], expected)
    assert (np.diagonal(found) == 0.0).all()


def test_base_models_without_importances_are_left_out():
    bases = [("knn", KNeighborsRegressor()), ("tree", DecisionTreeRegressor())]
    apart = fitted(bases, mixing="apart", ranking=ALL)
    assert apart.evidence_["members"].shape == (1, 1, 7, 15)
    assert apart.evidence_["mean"].shape == (1, 2, 7, 15)
    mixed = fitted(bases, ranking=ALL)
    assert mixed.evidence_["members"].shape == mixed.evidence_["mean"].shape == (1, 1, 7, 15)
    with pytest.raises(ValueError, match="none of the base models here has them"):
        fitted(KNeighborsRegressor(), ranking=Ranking(evidence="members"))


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        ({"evidence": "votes"}, "'evidence' parameter"),
        ({"evidence": ()}, "must be one of"),
        ({"evidence": ("mean", "mean"), "combine": "rank"}, "must be one of"),
        ({"evidence": ("mean", "alpha")}, "use combine='rank'"),
        ({"combine": "median"}, "'combine' parameter"),
        ({"path": "all"}, "'path' parameter"),
        ({"targets": "mean"}, "'targets' parameter"),
        ({"direction": "stronger"}, "'direction' parameter"),
        ({"regulators": "max"}, "'regulators' parameter"),
    ],
)
def test_bad_rules_are_refused_before_any_work(rules, message):
    with pytest.raises(ValueError, match=message):
        fitted(ranking=Ranking(**rules))


def test_evidence_that_a_fit_does_not_have():
    model = fitted()
    with pytest.raises(ValueError, match="has the evidence mean, not 'members'"):
        model.ranked(Ranking(evidence="members"))
    with pytest.raises(TypeError, match="must be a Ranking, got 'alpha'"):
        model.ranked("alpha")
