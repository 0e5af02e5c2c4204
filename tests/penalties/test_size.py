"""The expected size of a subset."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone

from randsub import PRSRegressor
from randsub.distributions import Bernoulli, GroupedBernoulli
from randsub.penalties import ExpectedSize, RowGroups


def test_value_is_the_expected_number_of_features():
    theta = np.array([[0.2, 0.5, 0.0, 1.0], [0.1, 0.3, 0.7, 0.0]])
    sizes = [Bernoulli(4).expected_size(row) for row in theta]
    np.testing.assert_allclose(ExpectedSize(0.5).value(theta), 0.5 * sum(sizes))


def test_every_feature_is_pushed_alike():
    theta = np.array([[0.0, 0.5, 1.0]])
    np.testing.assert_array_equal(ExpectedSize(0.02).gradient(theta), [[0.02, 0.02, 0.02]])


def test_default_coefficient():
    assert ExpectedSize().get_params() == {"lam": 0.01, "per": "column"}


GROUPS = np.array([0, 0, 0, 0, 1, 2, 2])
SIZES = np.array([4, 1, 2])


def test_a_group_counts_its_columns():
    theta = np.array([[0.2, 0.5, 0.1], [0.0, 0.3, 1.0]])
    expected = 0.5 * sum(map(GroupedBernoulli(GROUPS).expected_size, theta))
    bound = ExpectedSize(0.5).for_fit(SIZES)
    assert bound.value(theta) == pytest.approx(expected)
    np.testing.assert_allclose(bound.gradient(theta), [[2.0, 0.5, 1.0]] * 2)
    step, free = np.full(theta.shape, 0.1), np.zeros(theta.shape, bool)
    np.testing.assert_allclose(
        bound.prox(theta, step, free, lambda t: np.clip(t, 0.0, 1.0)),
        np.clip(theta - 0.1 * 0.5 * SIZES, 0.0, 1.0),
    )


def test_a_group_counts_as_one_on_request():
    theta = np.random.default_rng(0).uniform(size=(2, 3))
    bound = ExpectedSize(0.5, per="group").for_fit(SIZES)
    assert bound.value(theta) == pytest.approx(0.5 * theta.sum())
    np.testing.assert_array_equal(bound.gradient(theta), np.full((2, 3), 0.5))


def test_terms_of_a_sum_are_bound_each():
    theta = np.random.default_rng(0).uniform(size=(2, 3))
    total = (RowGroups(0.3) + ExpectedSize(0.5)).for_fit(SIZES)
    expected = RowGroups(0.3).value(theta) + 0.5 * (theta @ SIZES).sum()
    assert total.value(theta) == pytest.approx(expected)
    assert total.is_linear is False
    assert total.has_prox


def test_binding_leaves_the_penalty_of_the_user_alone():
    class Doubled(ExpectedSize):
        pass

    penalty, theta = Doubled(0.5), np.array([[0.2, 0.5, 0.1]])
    bound = penalty.for_fit(SIZES)
    assert type(bound) is Doubled
    assert bound.get_params() == penalty.get_params()
    assert penalty.value(theta) == pytest.approx(0.4)
    assert clone(bound).value(theta) == pytest.approx(0.4)
    plain = ExpectedSize(0.5).for_fit(SIZES)
    assert pickle.loads(pickle.dumps(plain)).value(theta) == plain.value(theta)


def test_an_unknown_unit_is_refused():
    with pytest.raises(ValueError, match="per must be 'column' or 'group', got 'row'"):
        ExpectedSize(0.1, per="row").check(3)


@pytest.mark.parametrize("per", ["column", "group"])
def test_a_fit_pays_for_what_expected_size_counts(per):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, len(GROUPS)))
    y = X[:, 0] + X[:, 4] + 0.1 * rng.normal(size=60)
    model = PRSRegressor(
        n_estimators=20,
        max_iter=10,
        penalty=ExpectedSize(0.1, per=per),
        feature_groups=GROUPS,
        random_state=0,
    ).fit(X, y)
    paid = model.history_["validation_objective"].min() - model.validation_loss_
    size = model.expected_size_ if per == "column" else model.group_alpha_.sum()
    assert paid == pytest.approx(0.1 * size)
    assert model.expected_size_ > model.group_alpha_.sum()


def test_large_groups_go_first_where_columns_count():
    """Two groups that help alike: the larger one is worth less per column."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(80, 10))
    X[:, 1:9] = rng.normal(size=(80, 1))
    y = X[:, 1] + X[:, 9] + 0.1 * rng.normal(size=80)
    groups = np.array([0] + [1] * 8 + [2])
    shares = {}
    for per in ("column", "group"):
        model = PRSRegressor(
            n_estimators=30,
            max_iter=100,
            penalty=ExpectedSize(0.1, per=per),
            feature_groups=groups,
            random_state=0,
        ).fit(X, y)
        shares[per] = model.group_alpha_[1] / model.group_alpha_[2]
    assert shares["column"] < 0.9 * shares["group"]
