"""The generators against their formulas."""

import doctest

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from sklearn.linear_model import LinearRegression
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.utils._param_validation import InvalidParameterError

from problem_truth import (
    PROBLEMS,
    checkerboard_formula,
    fit_clusters,
    friedman_formula,
    is_separable,
)
from randsub import datasets
from randsub.datasets import (
    make_checkerboard,
    make_friedman,
    make_hypercube,
    make_linear,
)

CORRELATED = [make_checkerboard, make_friedman]

every_problem = pytest.mark.parametrize("problem", PROBLEMS.values(), ids=PROBLEMS.keys())
every_correlated = pytest.mark.parametrize("make", CORRELATED, ids=["checkerboard", "friedman"])


FORMULAS = {make_checkerboard: checkerboard_formula, make_friedman: friedman_formula}


def standardized(X, make):
    return (X - 0.5) * 6 if make is make_friedman else X


def far_columns(relevant, n_features, distance):
    gaps = np.abs(np.arange(n_features)[:, None] - relevant[None, :]).min(axis=1)
    return np.flatnonzero(gaps >= distance)


def held_out_score(model, X, y):
    half = len(y) // 2
    return model.fit(X[:half], y[:half]).score(X[half:], y[half:])


# What every generator promises


@every_problem
@settings(max_examples=40, deadline=None)
@given(
    n_samples=st.integers(2, 40),
    n_irrelevant=st.integers(0, 400),
    seed=st.integers(0, 2**32 - 1),
)
def test_arrays_have_the_promised_form(problem, n_samples, n_irrelevant, seed):
    X, y, relevant = problem.make(n_samples, n_irrelevant, random_state=seed)
    n_features = problem.n_relevant + n_irrelevant

    assert X.shape == (n_samples, n_features)
    assert X.dtype == np.float64
    assert np.isfinite(X).all()
    assert y.shape == (n_samples,)
    assert np.isfinite(y).all()
    assert relevant.shape == (problem.n_relevant,)
    assert np.issubdtype(relevant.dtype, np.integer)
    assert (np.diff(relevant) > 0).all()
    assert relevant[0] >= 0
    assert relevant[-1] < n_features
    if problem.is_classification:
        assert np.issubdtype(y.dtype, np.integer)
        assert set(y) <= {0, 1}
    else:
        assert y.dtype == np.float64


@pytest.mark.parametrize(
    ("make", "n_irrelevant", "expected"),
    [
        (make_checkerboard, 300, [50, 100, 150, 200]),
        (make_checkerboard, 50, [10, 20, 30, 40]),
        (make_checkerboard, 7, [2, 4, 6, 8]),
        (make_checkerboard, 1, [1, 2, 3, 4]),
        (make_checkerboard, 0, [0, 1, 2, 3]),
        (make_friedman, 300, [50, 100, 150, 200, 250]),
        (make_friedman, 1000, [50, 100, 150, 200, 250]),
        (make_friedman, 50, [9, 18, 27, 36, 45]),
        (make_friedman, 7, [2, 4, 6, 8, 10]),
        (make_friedman, 1, [1, 2, 3, 4, 5]),
        (make_friedman, 0, [0, 1, 2, 3, 4]),
        (make_hypercube, 300, [50, 100, 150, 200, 250]),
        (make_hypercube, 50, [9, 18, 27, 36, 45]),
        (make_hypercube, 7, [2, 4, 6, 8, 10]),
        (make_hypercube, 1, [1, 2, 3, 4, 5]),
        (make_hypercube, 0, [0, 1, 2, 3, 4]),
        (make_linear, 300, list(range(10))),
        (make_linear, 50, list(range(10))),
        (make_linear, 7, list(range(10))),
        (make_linear, 1, list(range(10))),
        (make_linear, 0, list(range(10))),
    ],
)
def test_places_of_the_relevant_columns(make, n_irrelevant, expected):
    assert make(2, n_irrelevant, random_state=0)[2].tolist() == expected


@every_problem
def test_default_is_the_size_of_the_paper(problem):
    X, _, _ = problem.make(random_state=0)
    assert X.shape == (500, problem.n_relevant + 300)


@every_problem
def test_a_seed_fixes_the_data(problem):
    first = problem.make(20, 5, random_state=3)
    again = problem.make(20, 5, random_state=3)
    other = problem.make(20, 5, random_state=4)
    for one, same in zip(first, again, strict=True):
        np.testing.assert_array_equal(one, same)
    # Every column is new, so that no part of the draw forgets the seed.
    assert (first[0] != other[0]).all()
    assert (first[1] != other[1]).any()


@every_problem
def test_a_random_state_instance_is_drawn_from(problem):
    rng = np.random.RandomState(3)
    X, y, _ = problem.make(20, 5, random_state=rng)
    X_int, y_int, _ = problem.make(20, 5, random_state=3)
    np.testing.assert_array_equal(X, X_int)
    np.testing.assert_array_equal(y, y_int)
    assert (problem.make(20, 5, random_state=rng)[0] != X).all()


@every_problem
def test_a_seed_leaves_the_global_generator_alone(problem):
    before = np.random.get_state()[1:3]  # noqa: NPY002 - the global generator is the subject
    problem.make(20, 5, random_state=3)
    after = np.random.get_state()[1:3]  # noqa: NPY002
    np.testing.assert_array_equal(before[0], after[0])
    assert before[1] == after[1]


@every_problem
def test_a_hundred_thousand_features(problem):
    # A covariance matrix of this size would take 80 GB.
    X, _, _ = problem.make(10, 100_000, random_state=0)
    assert X.shape == (10, 100_000 + problem.n_relevant)
    # The chain neither dies out nor grows on its way.
    end = standardized(X, problem.make)[:, -5000:]
    assert np.mean(end**2) == pytest.approx(1, abs=0.1)


COMMON_MISTAKES = [
    ("n_samples", 1),
    ("n_samples", 10.0),
    ("n_samples", "10"),
    ("n_irrelevant", -1),
    ("n_irrelevant", 2.5),
    ("random_state", "seed"),
    ("random_state", -1),
]
CORRELATED_MISTAKES = [
    ("noise", -0.1),
    ("noise", np.nan),
    ("noise", np.inf),
    ("noise", None),
    ("correlation", -0.1),
    ("correlation", 1.0),
    ("correlation", np.nan),
]
HYPERCUBE_MISTAKES = [("flip_y", -0.1), ("flip_y", 1.1), ("flip_y", np.nan)]


@pytest.mark.parametrize(
    ("make", "name", "value"),
    [(problem.make, *mistake) for problem in PROBLEMS.values() for mistake in COMMON_MISTAKES]
    + [(make, *mistake) for make in CORRELATED for mistake in CORRELATED_MISTAKES]
    + [(make_hypercube, *mistake) for mistake in HYPERCUBE_MISTAKES],
)
def test_bad_arguments_are_refused_before_any_draw(make, name, value):
    rng = np.random.RandomState(0)
    arguments = {"random_state": rng, name: value}
    with pytest.raises(InvalidParameterError, match=f"'{name}' parameter of {make.__name__} must"):
        make(**arguments)
    assert rng.get_state()[2] == np.random.RandomState(0).get_state()[2]


@pytest.mark.parametrize("name", [n for n in datasets.__all__ if n.startswith("make_")])
def test_examples_of_the_docstrings_run(name):
    (example,) = doctest.DocTestFinder().find(getattr(datasets, name), name, globs={})
    assert len(example.examples) >= 4
    assert doctest.DocTestRunner().run(example).failed == 0


# Checkerboard and Friedman: a chain of correlated features


@every_correlated
@pytest.mark.parametrize("correlation", [0.0, 0.5, 0.9])
def test_covariance_is_a_power_of_the_distance(make, correlation):
    n_samples = 4000
    X, _, _ = make(n_samples, 50, correlation=correlation, random_state=0)
    Z = standardized(X, make)
    place = np.arange(X.shape[1])
    expected = correlation ** np.abs(place[:, None] - place).astype(float)
    # Standard error of each entry of the covariance of n Gaussian vectors with known mean; the
    # largest of 1,485 errors stays below five of them.
    error = np.sqrt((1 + expected**2) / n_samples)
    assert np.abs((Z.T @ Z / n_samples - expected) / error).max() < 5
    assert np.abs(Z.mean(axis=0)).max() < 5 / np.sqrt(n_samples)


@every_correlated
def test_steps_of_the_chain_are_independent_standard_normals(make):
    X, _, _ = make(200, 300, random_state=1)
    Z = standardized(X, make)
    steps = (Z[:, 1:] - 0.9 * Z[:, :-1]) / np.sqrt(1 - 0.9**2)
    assert stats.kstest(steps.ravel(), "norm").pvalue > 1e-3
    assert stats.kstest(Z[:, 0], "norm").pvalue > 1e-3
    assert abs(np.corrcoef(steps[:, :-1].ravel(), steps[:, 1:].ravel())[0, 1]) < 0.02


@every_correlated
@pytest.mark.parametrize(
    ("n_irrelevant", "spacing"), [(0, 1), (1, 1), (7, 2), (120, None), (300, 50)]
)
def test_few_irrelevant_features_correlate_the_relevant_ones(make, n_irrelevant, spacing):
    X, _, relevant = make(4000, n_irrelevant, random_state=2)
    if spacing is None:
        spacing = X.shape[1] // (len(relevant) + 1)
    seen = np.corrcoef(X[:, relevant].T)
    np.testing.assert_allclose(np.diag(seen, 1), 0.9**spacing, atol=5 / np.sqrt(4000))
    np.testing.assert_allclose(np.diag(seen, 2), 0.9 ** (2 * spacing), atol=5 / np.sqrt(4000))


@every_correlated
@settings(max_examples=25, deadline=None)
@given(
    n_irrelevant=st.integers(0, 100),
    correlation=st.floats(0, 0.999),
    seed=st.integers(0, 2**32 - 1),
)
def test_without_noise_the_formula_is_exact(make, n_irrelevant, correlation, seed):
    X, y, relevant = make(30, n_irrelevant, noise=0, correlation=correlation, random_state=seed)
    np.testing.assert_allclose(y, FORMULAS[make](X[:, relevant]), rtol=1e-12, atol=1e-12)


@every_correlated
@pytest.mark.parametrize("noise", [None, 0.5, 3.0])
def test_noise_is_normal_of_the_asked_size_and_unrelated_to_the_features(make, noise):
    default = {make_checkerboard: 1.0, make_friedman: 0.1}[make]
    given_noise = {} if noise is None else {"noise": noise}
    X, y, relevant = make(4000, 50, random_state=5, **given_noise)
    z = (y - FORMULAS[make](X[:, relevant])) / (default if noise is None else noise)
    assert stats.kstest(z, "norm").pvalue > 1e-3
    # Irrelevant means this: beyond the relevant columns, no column tells anything about y.
    assert np.abs(standardized(X, make).T @ z / len(z)).max() < 5 / np.sqrt(len(z))


def test_friedman_features_are_almost_all_between_0_and_1():
    X, _, _ = make_friedman(2000, random_state=0)
    inside = np.mean((X >= 0) & (X <= 1))
    # Three standard deviations on either side of the mean.
    assert inside == pytest.approx(stats.norm.cdf(3) - stats.norm.cdf(-3), abs=1e-3)


def test_checkerboard_shows_in_products_and_not_in_single_features():
    X, y, relevant = make_checkerboard(5000, random_state=0)
    x = X[:, relevant]
    products = np.column_stack([x[:, 0] * x[:, 1], x[:, 2] * x[:, 3], x[:, 0] * x[:, 2]])
    seen = np.corrcoef(np.column_stack([y, x, products]).T)[0, 1:]
    # Var(y) = 4 + 4 + 1, of which each product of its own makes 4.
    np.testing.assert_allclose(seen, [0, 0, 0, 0, 2 / 3, 2 / 3, 0], atol=0.07)


def test_checkerboard_information_is_in_the_relevant_columns_and_their_neighbours():
    X, y, relevant = make_checkerboard(3000, random_state=0)
    model = KNeighborsRegressor(10)
    assert held_out_score(model, X[:, relevant], y) > 0.6
    assert held_out_score(model, X[:, relevant + 1], y) > 0.3
    assert held_out_score(model, X[:, relevant + 25], y) < 0.02


def test_friedman_information_is_in_the_relevant_columns_and_their_neighbours():
    X, y, relevant = make_friedman(3000, random_state=0)
    model = KNeighborsRegressor(10)
    assert held_out_score(model, X[:, relevant], y) > 0.8
    assert held_out_score(model, X[:, relevant + 1], y) > 0.5
    far = far_columns(relevant, X.shape[1], distance=25)
    assert held_out_score(model, X[:, far], y) < 0.02
    # Without its products and parabola, a straight line explains most of y and not all of it.
    assert 0.7 < held_out_score(LinearRegression(), X[:, relevant], y) < 0.98


# Hypercube


@pytest.mark.parametrize("seed", range(3))
def test_hypercube_classes_are_two_clusters_on_vertices(seed):
    X, y, relevant = make_hypercube(4000, 10, flip_y=0, random_state=seed)
    sizes, centres, _ = fit_clusters(X[:, relevant], y)
    np.testing.assert_allclose(sizes, 0.5, atol=0.03)
    np.testing.assert_allclose(np.abs(centres), 1, atol=0.25)
    assert len({tuple(np.sign(centre)) for centre in centres}) == 4


def test_hypercube_clusters_are_mixed_by_a_uniform_matrix():
    traces = []
    for seed in range(10):
        X, y, _ = make_hypercube(1000, 0, flip_y=0, random_state=seed)
        traces.extend(np.trace(fit_clusters(X, y)[2], axis1=1, axis2=2))
    # tr(A^T A) is the sum of 25 squared uniforms on [-1, 1]: mean 25/3, variance 25 * 4/45.
    error = np.sqrt(25 * 4 / 45 / len(traces))
    assert np.mean(traces) == pytest.approx(25 / 3, abs=4 * error)


def test_hypercube_irrelevant_columns_are_standard_normal_and_unrelated():
    X, y, relevant = make_hypercube(2000, random_state=0)
    irrelevant = np.delete(X, relevant, axis=1)
    assert stats.kstest(irrelevant[:, ::10].ravel(), "norm").pvalue > 1e-3
    difference = irrelevant[y == 1].mean(axis=0) - irrelevant[y == 0].mean(axis=0)
    z = difference / np.sqrt(1 / np.sum(y == 1) + 1 / np.sum(y == 0))
    assert stats.kstest(z, "norm").pvalue > 1e-3
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    across = (Z.T @ Z / len(Z))[np.triu_indices(X.shape[1], 1)]
    between_relevant = np.isin(np.arange(X.shape[1]), relevant)
    pairs = np.outer(between_relevant, between_relevant)[np.triu_indices(X.shape[1], 1)]
    assert np.abs(across[~pairs]).max() < 5.5 / np.sqrt(len(Z))


def test_hypercube_information_is_in_the_relevant_columns():
    scores = []
    for seed in range(5):
        X, y, relevant = make_hypercube(1000, random_state=seed)
        model = KNeighborsClassifier(10)
        scores.append(
            [
                held_out_score(model, X[:, relevant], y),
                held_out_score(model, X[:, relevant + 1], y),
            ]
        )
    on_relevant, on_neighbours = np.mean(scores, axis=0)
    assert on_relevant > 0.85
    assert on_neighbours == pytest.approx(0.5, abs=4 * 0.5 / np.sqrt(2500))


@settings(max_examples=30, deadline=None)
@given(n_samples=st.integers(2, 60), seed=st.integers(0, 2**32 - 1))
def test_hypercube_classes_are_balanced_before_flips(n_samples, seed):
    _, y, _ = make_hypercube(n_samples, 0, flip_y=0, random_state=seed)
    assert abs(2 * y.sum() - n_samples) == n_samples % 2


@pytest.mark.parametrize("flip_y", [0.01, 0.4, 1.0])
def test_hypercube_flips_half_of_the_labels_it_draws_anew(flip_y):
    def labels_in_a_fixed_order(flip_y):
        X, y, relevant = make_hypercube(4000, 0, flip_y=flip_y, random_state=0)
        # The flips change the order of the rows and not the rows.
        order = np.argsort(X[:, relevant[0]])
        return X[order], y[order]

    X, y = labels_in_a_fixed_order(0)
    X_flipped, y_flipped = labels_in_a_fixed_order(flip_y)
    np.testing.assert_array_equal(X, X_flipped)
    half = flip_y / 2
    error = np.sqrt(half * (1 - half) / len(y))
    assert np.mean(y != y_flipped) == pytest.approx(half, abs=4 * error)


def test_hypercube_rows_are_shuffled():
    X, y, relevant = make_hypercube(2000, random_state=0)
    changes = np.mean(y[1:] != y[:-1])
    assert changes == pytest.approx(0.5, abs=4 * 0.5 / np.sqrt(2000))
    # Nor do the two clusters of a class come one after the other.
    one_class = X[np.ix_(y == 1, relevant)]
    first, second = np.array_split(one_class, 2)
    z = (first.mean(axis=0) - second.mean(axis=0)) / (
        one_class.std(axis=0) * np.sqrt(1 / len(first) + 1 / len(second))
    )
    assert np.abs(z).max() < 4


# Linear


@settings(max_examples=40, deadline=None)
@given(
    n_samples=st.integers(2, 60),
    n_irrelevant=st.integers(0, 30),
    seed=st.integers(0, 2**32 - 1),
)
def test_linear_classes_are_balanced(n_samples, n_irrelevant, seed):
    _, y, _ = make_linear(n_samples, n_irrelevant, random_state=seed)
    assert y.sum() == n_samples // 2


@pytest.mark.parametrize("seed", range(3))
def test_linear_classes_are_separated_by_the_relevant_columns_only(seed):
    X, y, relevant = make_linear(1000, random_state=seed)
    assert is_separable(X[:, relevant], y)
    # 1,000 points with labels that ten columns know nothing about are never separable there.
    assert not is_separable(X[:, 10:20], y)
    # Nor do nine relevant columns replace the weightiest; the lightest may weigh next to nothing.
    weights = X[y == 1].mean(axis=0)[relevant] - X[y == 0].mean(axis=0)[relevant]
    assert not is_separable(X[:, np.delete(relevant, np.argmax(weights))], y)


def test_linear_weights_are_uniform():
    fractions = []
    for seed in range(30):
        X, y, _ = make_linear(20_000, 0, random_state=seed)
        # For standard normal x, E[x | class 1] - E[x | class 0] is proportional to the weights.
        direction = X[y == 1].mean(axis=0) - X[y == 0].mean(axis=0)
        assert (direction > -4 * 2 / np.sqrt(len(y))).all()
        fractions.append(direction / direction.max())
    # Given the largest of independent uniforms on [0, 100], the others are uniform below it.
    below = np.sort(fractions, axis=1)[:, :-1]
    assert stats.kstest(below.ravel(), "uniform").pvalue > 1e-3
    # Ten such have an average of (1 + 9 / 2) / 10, each of the columns like the others.
    np.testing.assert_allclose(np.mean(fractions, axis=0), 0.55, atol=4 * 0.3 / np.sqrt(30))


def test_linear_columns_are_independent_standard_normals():
    X, y, _ = make_linear(2000, random_state=0)
    assert stats.kstest(X[:, ::10].ravel(), "norm").pvalue > 1e-3
    across = (X.T @ X / len(X))[np.triu_indices(X.shape[1], 1)]
    assert np.abs(across).max() < 5.5 / np.sqrt(len(X))
    signed = np.where(y == 1, 1, -1)
    assert stats.kstest(X[:, 10:].T @ signed / np.sqrt(len(X)), "norm").pvalue > 1e-3
