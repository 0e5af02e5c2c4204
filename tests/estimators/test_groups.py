"""What a user may say about groups of columns."""

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

from flat_parameters import flat
from randsub import PRSRegressor
from randsub.estimators.groups import resolve_groups

NAMES = ["price", "colour_red", "colour_light_blue", "lag_1", "lag_2", "_odd"]


@pytest.mark.parametrize(
    "feature_groups, expected",
    [
        ("prefix", [0, 1, 2, 3, 3, 4]),
        ({"colour": "colour_*", "lag": "lag_*"}, [0, 1, 1, 2, 2, 3]),
        ({"both": ["colour_*", "price"]}, [0, 0, 0, 1, 2, 3]),
        ([["colour_*"], ["lag_*", 5]], [0, 1, 1, 2, 2, 2]),
        ([["*"]], [0, 0, 0, 0, 0, 0]),
    ],
)
def test_prefixes(feature_groups, expected):
    np.testing.assert_array_equal(resolve_groups(feature_groups, 6, NAMES), expected)


def test_a_name_with_an_asterisk_is_itself_first():
    names = ["a*", "ab", "ac"]
    np.testing.assert_array_equal(resolve_groups([["a*", "ab"]], 3, names), [0, 0, 1])


@pytest.mark.parametrize(
    "feature_groups, names, message",
    [
        ("prefix", [], "feature_groups='prefix' needs column names"),
        ([["size_*"]], NAMES, r"feature_groups has the prefix 'size_\*', but X has \['price'"),
        ([["lag_*"]], [], "but X has no column names"),
        ([["lag_*", "lag_1"]], NAMES, "lists column 'lag_1' more than once"),
        ({"a": ["lag_*"], "b": "l*"}, NAMES, "lists column 'lag_1' more than once"),
        ({"a": "lag"}, NAMES, "maps a group to 'lag'"),
        ([[0, 1], 2, 3, 4, 5, 5], NAMES, "lists of columns and also 2"),
        ([["lag_*"], "price"], NAMES, "and also 'price'"),
    ],
)
def test_prefixes_that_name_nothing_or_too_much(feature_groups, names, message):
    with pytest.raises(ValueError, match=message):
        resolve_groups(feature_groups, 6, names)


def test_members_know_their_columns_in_ascending_order_whatever_the_groups():
    """Columns of two groups take turns; a member that is asked must get them as it was trained."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 6)) * 10.0 ** np.arange(6)
    y = (X / 10.0 ** np.arange(6)) @ np.arange(1.0, 7.0)
    quick = {"max_iter": 2, "n_estimators": 12, "standardize": False, "alpha_init": 0.7}
    model = PRSRegressor(
        LinearRegression(), **flat(feature_groups=[0, 1, 0, 1, 2, 0], random_state=0, **quick)
    ).fit(X, y)
    sizes = {len(columns) for columns in model.estimators_features_}
    assert len(sizes) > 2
    for member, columns in zip(model.estimators_, model.estimators_features_, strict=True):
        assert (np.diff(columns) > 0).all()
        if len(columns):
            expected = LinearRegression().fit(X[:, columns], y)
            np.testing.assert_allclose(member.coef_, expected.coef_, rtol=1e-6)
    whole = [set(columns.tolist()) for columns in model.estimators_features_]
    assert all(({0, 2, 5} <= one or not {0, 2, 5} & one) for one in whole)
