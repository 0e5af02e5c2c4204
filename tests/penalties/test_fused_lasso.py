"""Total variation over graphs and images."""

import numpy as np
import pytest
from sklearn.base import clone

from randsub.penalties import FusedLasso


def neighbours(height: int, width: int) -> set[tuple[int, int]]:
    """Pairs of adjacent pixels, by loops."""
    pairs = set()
    for row in range(height):
        for column in range(width):
            pixel = row * width + column
            if row + 1 < height:
                pairs.add((pixel, pixel + width))
            if column + 1 < width:
                pairs.add((pixel, pixel + 1))
    return pairs


@pytest.mark.parametrize(
    "height, width, n_edges", [(1, 1, 0), (1, 4, 3), (5, 1, 4), (2, 2, 4), (3, 4, 17), (2, 5, 13)]
)
def test_grid_joins_each_pixel_to_its_neighbours(height, width, n_edges):
    edges = FusedLasso.grid(1.0, height, width).edges
    assert len(edges) == n_edges
    assert {tuple(sorted(edge)) for edge in edges.tolist()} == neighbours(height, width)


def test_value_and_gradient_on_a_small_image_written_out():
    height, width, lam = 3, 4, 0.3
    rng = np.random.default_rng(0)
    image = rng.integers(0, 4, (2, height, width)) / 4.0  # many neighbours are equal
    value, gradient = 0.0, np.zeros_like(image)
    for task in range(2):
        for r, c in np.ndindex(height, width):
            for dr, dc in ((-1, 0), (1, 0), (0, -1), (0, 1)):
                if 0 <= r + dr < height and 0 <= c + dc < width:
                    gap = image[task, r, c] - image[task, r + dr, c + dc]
                    value += lam * abs(gap) / 2.0  # each edge is met from both ends
                    gradient[task, r, c] += lam * np.sign(gap)
    penalty, theta = FusedLasso.grid(lam, height, width), image.reshape(2, -1)
    assert penalty.value(theta) == pytest.approx(value)
    np.testing.assert_allclose(penalty.gradient(theta), gradient.reshape(2, -1), atol=1e-15)


def test_a_hand_made_graph():
    penalty = FusedLasso(2.0, [[0, 1], [2, 1]])
    theta = np.array([[0.1, 0.4, 0.2]])
    assert penalty.value(theta) == pytest.approx(2.0 * (0.3 + 0.2))
    np.testing.assert_allclose(penalty.gradient(theta), [[-2.0, 4.0, -2.0]])


def test_a_constant_costs_nothing_and_is_left_alone():
    penalty, theta = FusedLasso.grid(1.0, 3, 3), np.full((2, 9), 0.4)
    assert penalty.value(theta) == 0.0
    np.testing.assert_array_equal(penalty.gradient(theta), np.zeros((2, 9)))


def test_the_direction_of_an_edge_does_not_matter_and_repetition_counts_twice():
    theta = np.random.default_rng(1).uniform(size=(2, 4))
    there, back = FusedLasso(0.5, [[0, 3]]), FusedLasso(0.5, [[3, 0]])
    twice = FusedLasso(0.5, [[0, 3], [3, 0]])
    assert there.value(theta) == back.value(theta) == pytest.approx(twice.value(theta) / 2.0)
    np.testing.assert_array_equal(there.gradient(theta), back.gradient(theta))
    np.testing.assert_allclose(twice.gradient(theta), 2.0 * there.gradient(theta))


@pytest.mark.parametrize("edges", [[], np.empty((0, 2), dtype=int)])
def test_no_edges_are_no_penalty(edges):
    penalty, theta = FusedLasso(1.0, edges), np.array([[0.1, 0.9]])
    assert penalty.check(2) is None
    assert penalty.value(theta) == 0.0
    np.testing.assert_array_equal(penalty.gradient(theta), [[0.0, 0.0]])


@pytest.mark.parametrize(
    "edges, message",
    [
        ([[0, 1, 2]], r"shape \(n_edges, 2\) and integer type, got shape \(1, 3\)"),
        ([0, 1], r"got shape \(2,\)"),
        ([[0.0, 1.0]], "and type float64"),
        ([[0, 4]], "between features 0 and 4, but features are numbered 0 to 3"),
        ([[-1, 2], [0, 1]], "between features -1 and 2, but features are numbered 0 to 3"),
    ],
)
def test_edges_that_join_no_features_are_refused(edges, message):
    with pytest.raises(ValueError, match=message):
        FusedLasso(0.1, edges).check(4)


@pytest.mark.parametrize("height, width", [(0, 3), (3, 0), (-1, 2)])
def test_an_empty_image_is_refused(height, width):
    with pytest.raises(ValueError, match=f"must be at least 1, got {height} and {width}"):
        FusedLasso.grid(0.1, height, width)


def test_clones_keep_their_edges_but_do_not_share_them():
    penalty = FusedLasso.grid(0.1, 2, 2)
    copy = clone(penalty)
    np.testing.assert_array_equal(copy.edges, penalty.edges)
    copy.edges[0, 0] = 3
    assert penalty.edges[0, 0] == 0
