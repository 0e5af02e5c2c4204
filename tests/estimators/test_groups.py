"""What a user may say about groups of columns."""

import numpy as np
import pytest

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
