"""Total variation over graphs and images."""

import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.feature_extraction.image import grid_to_graph

from randsub import PRSRegressor
from randsub.penalties import FusedLasso, total_variation
from randsub.solver import Solver


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
        ([[0, 1, 2]], r"shape \(n_edges, 2\) and integer type, .* got shape \(1, 3\)"),
        ("grid", r"or a sparse adjacency matrix, got shape \(\)"),
        (np.zeros((4, 4), int), r"or a sparse adjacency matrix, got shape \(4, 4\)"),
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


@pytest.mark.parametrize(
    "kind",
    [
        sparse.csr_array,
        sparse.csr_matrix,
        sparse.coo_array,
        sparse.csc_matrix,
        sparse.bsr_array,
        sparse.lil_array,
        sparse.dok_array,
        sparse.dia_matrix,
    ],
)
def test_an_adjacency_matrix_is_the_same_as_its_edges(kind):
    edges, weights = np.array([[0, 1], [2, 1], [3, 0]]), np.array([0.5, 2.0, 1.0])
    dense = np.zeros((4, 4))
    dense[edges[:, 0], edges[:, 1]] = weights
    dense += dense.T
    np.fill_diagonal(dense, 7.0)  # nobody is a neighbour of oneself
    by_matrix, by_edges = FusedLasso(0.3, kind(dense)), FusedLasso(0.3, edges, weights)
    theta = np.random.default_rng(0).uniform(size=(2, 4))
    by_matrix.check(4)
    by_edges.check(4)
    assert by_matrix.value(theta) == pytest.approx(by_edges.value(theta))
    np.testing.assert_allclose(by_matrix.gradient(theta), by_edges.gradient(theta))
    arguments = theta, np.ones_like(theta), np.zeros(theta.shape, bool), lambda t: t
    np.testing.assert_allclose(by_matrix.prox(*arguments), by_edges.prox(*arguments))
    np.testing.assert_allclose(clone(by_matrix).gradient(theta), by_edges.gradient(theta))


def test_the_grid_of_scikit_learn_is_ours():
    theta = np.random.default_rng(0).uniform(size=(1, 12))
    theirs, ours = FusedLasso(0.3, grid_to_graph(3, 4)), FusedLasso.grid(0.3, 3, 4)
    theirs.check(12)
    assert theirs.value(theta) == pytest.approx(ours.value(theta))
    np.testing.assert_allclose(theirs.gradient(theta), ours.gradient(theta))


def test_channels_are_images_of_their_own():
    image = np.random.default_rng(0).uniform(size=(3, 4, 2))
    both = FusedLasso.grid(1.0, 3, 4, channels=2)
    one = FusedLasso.grid(1.0, 3, 4)
    both.check(24)
    expected = sum(one.value(image[:, :, c].reshape(1, -1)) for c in range(2))
    assert both.value(image.reshape(1, -1)) == pytest.approx(expected)


@pytest.mark.parametrize(
    "edges, weights, message",
    [
        (sparse.csr_array((3, 4)), None, r"adjacency matrix of shape \(3, 4\), but there are 4"),
        (sparse.csr_array(np.eye(4, k=1)), None, "needs a symmetric adjacency matrix"),
        (sparse.csr_array(-np.ones((4, 4))), None, r"not negative, got \[-1.0"),
        (sparse.lil_array(-np.ones((4, 4))), None, r"not negative, got \[-1.0"),
        (sparse.dok_array(np.eye(4, k=1)), None, "needs a symmetric adjacency matrix"),
        ([], [1.0], "each of its 0 edges"),
        (sparse.csr_array(np.ones((4, 4))), [1.0], "put them into the matrix"),
        ([[0, 1]], [1.0, 2.0], r"each of its 1 edges, got an array of shape \(2,\)"),
        ([[0, 1]], ["heavy"], "each of its 1 edges"),
        ([[0, 1]], [np.nan], r"not negative, got \[nan\]"),
        ([[0, 1]], [-1.0], r"not negative, got \[-1.0\]"),
    ],
)
def test_unusable_weights_are_refused(edges, weights, message):
    with pytest.raises(ValueError, match=message):
        FusedLasso(0.1, edges, weights).check(4)


def test_no_channels_are_refused():
    with pytest.raises(ValueError, match="channels, got 0"):
        FusedLasso.grid(0.1, 2, 2, channels=0)


class CountedEdges:
    """Edges that remember how often an array was made of them."""

    def __init__(self, edges) -> None:
        self.edges = np.asarray(edges)
        self.n_read = 0

    def __array__(self, dtype=None, copy=None):
        self.n_read += 1
        return self.edges.astype(dtype or int)


@pytest.mark.parametrize("optimizer", ["adam", "prox_adam"])
def test_a_fit_builds_the_graph_once(optimizer, monkeypatch):
    """What is built does not depend on the number of steps."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 9))
    sorted_arcs = total_variation._arcs_by_node
    n_read, n_sorted = [], []

    def counted(*arguments):
        n_sorted[-1] += 1
        return sorted_arcs(*arguments)

    monkeypatch.setattr(total_variation, "_arcs_by_node", counted)
    for max_iter in (1, 5):
        edges = CountedEdges(FusedLasso.grid(1.0, 3, 3).edges)
        n_sorted.append(0)
        model = PRSRegressor(
            n_estimators=10,
            max_iter=max_iter,
            penalty=FusedLasso(1e-3, edges),
            solver=Solver(optimizer=optimizer),
            random_state=0,
        )
        model.fit(X, X[:, 0])
        n_read.append(edges.n_read)
    assert n_read[1] == n_read[0]
    assert n_sorted[1] == n_sorted[0]


def test_a_graph_that_was_built_is_no_part_of_the_penalty():
    penalty, theta = FusedLasso(0.5, [[0, 1]]), np.array([[0.1, 0.4, 0.9]])
    bound = penalty.for_fit(np.ones(3, int))
    assert bound.value(theta) == penalty.value(theta) == pytest.approx(0.15)
    np.testing.assert_array_equal(bound.gradient(theta), penalty.gradient(theta))
    assert pickle.loads(pickle.dumps(bound)).value(theta) == bound.value(theta)
    assert vars(penalty) == {"lam": 0.5, "edges": [[0, 1]], "weights": None}
    assert bound.get_params() == penalty.get_params()
    # A penalty that is changed later is a new one.
    assert penalty.set_params(edges=[[1, 2]]).value(theta) == pytest.approx(0.25)
    assert clone(bound).set_params(lam=1.0).value(theta) == pytest.approx(0.3)
