"""Compiled support vector machines: solved, to tolerance those of scikit-learn, or not attempted.

The truth for the solver is the mathematics: box, equality and optimality conditions, checked in
plain numpy. The truth for predictions is scikit-learn, up to a few times the solver's tolerance.
"""

import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR, NuSVR

from engine_choice import choose_engine, reason_to_step_aside
from randsub.datasets import make_friedman, make_hypercube
from randsub.engines import GenericEngine, Learner, SVMEngine
from randsub.engines.svm import engine as svm_module
from randsub.engines.svm.engine import MOST_ROWS, MOST_STEPS, PARAMETERS
from randsub.engines.svm.kernels import exponentials
from randsub.engines.svm.smo import padded, solve_dual
from randsub.exceptions import BaseModelError

X, Y = np.random.default_rng(0).normal(size=(40, 3)), np.arange(40) % 2
# How far apart two solutions may predict, in tolerances, on standardised data with C = 1.
FEW = 5.0


class Own(SVR):
    """A subclass may do anything."""


USABLE = [
    SVR(),
    SVR(kernel="linear", C=np.float32(3), epsilon=0, tol=1e-6, shrinking=False, cache_size=1),
    SVR(gamma="auto", degree=7, coef0=-1.0, verbose=2),
    SVR(gamma=0.3),
    SVR(gamma=0),
    SVC(),
    SVC(probability=False),
    SVC(kernel="linear", decision_function_shape="ovo", random_state=3),
    SVC(class_weight="balanced"),
    SVC(class_weight={0: 2.0}),
]
# For each parameter, what the engine cannot do, and what nobody can.
REFUSED = {
    "kernel": ["poly", "sigmoid", "precomputed", lambda a, b: a @ b.T, "gauss", None],
    "C": [0.0, -1.0, np.inf, np.nan, "1", None],
    "epsilon": [-0.1, np.inf, None],
    "gamma": [-1.0, np.inf, "wide", None],
    "tol": [0.0, -1e-3, np.inf, None],
    "max_iter": [0, 100, -2, -1.0, None],
    "class_weight": ["even", {0: 0.0}, {0: -1.0}, {0: np.inf}, [1.0, 1.0]],
    "probability": [True, "yes", 0, None],
    "break_ties": [True, None],
    "degree": [-1, 2.5, None],
    "coef0": [np.inf, np.nan, None],
    "shrinking": ["yes", 1, None],
    "cache_size": [0, -1.0, None],
    "verbose": [-1, "loud", None],
    "decision_function_shape": ["one", None],
    "random_state": ["seed", 1.5],
}


@pytest.mark.parametrize("estimator", USABLE)
def test_auto_takes_it(estimator):
    weight = np.linspace(0.0, 1.0, 40)
    assert choose_engine("auto", estimator, X, Y, None) is SVMEngine
    assert choose_engine("auto", estimator, pd.DataFrame(X), Y, weight) is SVMEngine
    assert choose_engine("svm", estimator, X.astype(np.float32), Y, None) is SVMEngine


@pytest.mark.parametrize("kind", [SVC, SVR])
def test_every_parameter_has_been_thought_about(kind):
    names = set(kind().get_params())
    assert names <= set(PARAMETERS.fixed) | PARAMETERS.free
    assert names <= set(REFUSED)


@pytest.mark.parametrize(
    "estimator",
    [
        kind().set_params(**{name: value})
        for kind in (SVC, SVR)
        for name in sorted(kind().get_params())
        for value in REFUSED[name]
    ],
    # Without the address of a function, which differs between processes.
    ids=lambda estimator: "-".join(str(estimator).split(" at 0x")[0].split()),
)
def test_auto_falls_back_for_every_other_value_of_every_parameter(estimator):
    reason_to_step_aside(estimator, X, Y)
    with pytest.raises(ValueError, match="engine='svm' cannot train"):
        choose_engine("svm", estimator, X, Y, None)


@pytest.mark.parametrize("estimator", [Own(), NuSVR()])
def test_auto_falls_back_for_other_machines(estimator):
    assert reason_to_step_aside(estimator, X, Y) == ""


def test_auto_falls_back_for_a_parameter_that_is_new(monkeypatch):
    fewer = PARAMETERS._replace(free=PARAMETERS.free - {"shrinking"})
    monkeypatch.setattr(SVMEngine, "reproduced", {SVR: fewer})
    assert "does not know the parameter shrinking" in reason_to_step_aside(SVR(), X, Y)


@pytest.mark.parametrize(
    "table",
    [
        csr_array(X),
        pd.DataFrame(X).assign(text="a"),
        X > 0,
        np.where(X > 2.0, np.nan, X),
        np.where(X > 2.0, np.inf, X),
        X * 1e60,
        np.zeros((MOST_ROWS + 1, 1)),
    ],
    ids=["sparse", "text", "truth values", "missing", "infinite", "huge", "many rows"],
)
def test_auto_falls_back_for_other_tables(table):
    reason_to_step_aside(SVR(), table, Y)


@settings(max_examples=200, deadline=None, derandomize=True)
@given(st.lists(st.floats(-760.0, 0.0), min_size=1, max_size=70))
@example([0.0, -0.0, -5e-324, -1e-300, -700.0, -699.999, -708.4, -745.2, -1e6, -1e300])
def test_exponentials(powers):
    powers = np.array(powers)
    values = powers.copy()
    exponentials(values, np.zeros(len(powers)), 0.0)
    far = powers <= -700.0
    np.testing.assert_array_equal(values[far], 0.0)
    np.testing.assert_allclose(values[~far], np.exp(powers[~far]), rtol=1.2e-14)
    np.testing.assert_array_equal(values[powers == 0.0], 1.0)


def test_exponentials_take_halves_off_and_stop_at_one():
    values = np.array([1.0, 2.0, 3.0])
    exponentials(values, np.array([2.0, 2.0, 2.0]), 0.5)
    np.testing.assert_allclose(values, [np.exp(-1.5), np.exp(-0.5), 1.0], rtol=1e-14)


def solve(K, target, lower, upper, epsilon, tol):
    """The solver, without its padding: coefficients and constant."""
    n = len(target)
    width = padded(n)
    matrix = np.zeros((n, width))
    matrix[:, :n] = K
    lines = np.zeros((8, width))
    lines[0, :n], lines[1, :n], lines[2, :n] = target, lower, upper
    offset = solve_dual(matrix, lines, epsilon, tol, MOST_STEPS, n)
    return lines[3, :n].copy(), offset


def objective(K, target, epsilon, beta):
    return 0.5 * beta @ K @ beta - target @ beta + epsilon * np.abs(beta).sum()


def violation(K, target, lower, upper, epsilon, beta):
    """By how much the fastest pair descends: largest slope down over smallest slope up."""
    slope = K @ beta - target
    right = slope + np.where(beta >= 0.0, epsilon, -epsilon)
    left = slope + np.where(beta > 0.0, epsilon, -epsilon)
    return np.max(left[beta > lower]) - np.min(right[beta < upper])


def problem(seed, n, kind, linear=False, C=1.0):
    """Kernel matrix, target, bounds and epsilon of a random machine; the data, and C of rows."""
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(n, 4))
    Z[n // 2] = Z[0]  # a row twice
    squares = (Z**2).sum(axis=1)
    K = Z @ Z.T
    if not linear:
        K = np.exp(-0.25 * np.maximum(squares[:, None] + squares - 2.0 * K, 0.0))
    bound = C * rng.uniform(0.2, 2.0, n)
    height = Z[:, 0] + np.sin(2 * Z[:, 1]) + 0.3 * rng.normal(size=n)
    if kind == "regression":
        return K, height, -bound, bound, 0.1, Z, bound
    sign = np.where(height > np.median(height), 1.0, -1.0)
    sign[:2] = [1.0, -1.0]
    return K, sign, np.where(sign > 0, 0.0, -bound), np.where(sign > 0, bound, 0.0), 0.0, Z, bound


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    seed=st.integers(0, 10**6),
    n=st.integers(2, 90),
    kind=st.sampled_from(["regression", "classification"]),
    linear=st.booleans(),
    C=st.sampled_from([0.01, 1.0, 30.0]),
    tol=st.sampled_from([1e-1, 1e-3, 1e-7]),
)
def test_the_solution_meets_the_optimality_conditions(seed, n, kind, linear, C, tol):
    K, target, lower, upper, epsilon, _, _ = problem(seed, n, kind, linear, C)
    beta, offset = solve(K, target, lower, upper, epsilon, tol)
    assert (beta >= lower).all()
    assert (beta <= upper).all()
    assert abs(beta.sum()) <= 1e-12 * upper.max() * n
    # Slopes are summed up over the steps; the allowance is for their rounding.
    assert violation(K, target, lower, upper, epsilon, beta) <= tol + 1e-9
    # Free rows are on the edge of the tube, or of the margin.
    free = (beta > lower) & (beta < upper) & (beta != 0.0)
    edge = target - np.sign(beta) * epsilon
    assert (np.abs(K @ beta + offset - edge)[free] <= tol + 1e-9).all()


@pytest.mark.parametrize("kind", ["regression", "classification"])
@pytest.mark.parametrize("linear", [False, True])
@pytest.mark.parametrize("tol", [1e-3, 1e-8])
def test_the_objective_is_that_of_scikit_learn(kind, linear, tol):
    K, target, lower, upper, epsilon, Z, bound = problem(7, 120, kind, linear)
    beta, offset = solve(K, target, lower, upper, epsilon, tol)
    params = {"kernel": "linear" if linear else "rbf", "gamma": 0.25, "tol": 1e-8}
    machine = SVR(epsilon=0.1, **params) if kind == "regression" else SVC(**params)
    machine.fit(Z, target, sample_weight=bound)
    best = np.zeros(len(target))
    best[machine.support_] = machine.dual_coef_[0]
    # Convexity: no more than the fastest descent, over the way that is left. LIBSVM's kernel
    # matrix is in single precision.
    way = 0.5 * np.abs(beta - best).sum()
    gap = objective(K, target, epsilon, beta) - objective(K, target, epsilon, best)
    assert -1e-5 <= gap <= tol * way + 1e-5
    assert offset == pytest.approx(machine.intercept_[0], abs=max(FEW * tol, 1e-4))


def test_equal_rows_and_flat_kernels_end():
    """No curvature at all: every step goes to a bound."""
    n = 40
    target = np.random.default_rng(0).normal(size=n)
    beta, offset = solve(np.ones((n, n)), target, np.full(n, -1.0), np.full(n, 1.0), 0.0, 1e-3)
    assert set(np.unique(beta)) <= {-1.0, 0.0, 1.0}
    middle = np.sort(target)[n // 2 - 1 : n // 2 + 1]
    assert middle[0] <= offset <= middle[1]


def test_a_solver_without_steps_or_numbers_says_so():
    K, target, lower, upper, epsilon, _, _ = problem(1, 30, "regression")
    lines = np.zeros((8, padded(30)))
    lines[0, :30], lines[1, :30], lines[2, :30] = target, lower, upper
    matrix = np.zeros((30, padded(30)))
    matrix[:, :30] = K
    few = solve_dual(matrix, lines, epsilon, 1e-3, 4, 30)
    assert np.isnan(few)
    assert np.isnan(solve(np.eye(30) * 1e-12, target * 1e305, lower, upper, 0.0, 1e-3)[1])


def answers(estimator, X, y, masks, X_query, weight=None):
    classes = np.unique(y) if isinstance(estimator, SVC) else None
    learner = Learner(estimator, classes, "hard", weight is not None)
    seeds = np.arange(len(masks))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return [
            engine(learner).predict_many(X, y, masks, X_query, seeds, weight)
            for engine in (SVMEngine, GenericEngine)
        ]


def random_masks(n, m, share=0.2, seed=0):
    masks = np.random.default_rng(seed).random((n, m)) < share
    masks[~masks.any(axis=1), 0] = True
    return masks


def friedman():
    X, y, _ = make_friedman(300, n_irrelevant=25, random_state=0)
    return StandardScaler().fit_transform(X), (y - y.mean()) / y.std()


@pytest.mark.parametrize(
    "estimator",
    [
        SVR(),
        SVR(epsilon=0.0),
        SVR(C=0.1, gamma="auto"),
        SVR(gamma=0.3, epsilon=0.5),
        SVR(gamma=0.0),
        SVR(tol=1e-6),
        SVR(tol=0.1),
    ],
    ids=lambda estimator: str(estimator),
)
@pytest.mark.parametrize("weighted", [False, True])
def test_regression_is_scikit_learns_to_a_few_tolerances(estimator, weighted):
    X, y = friedman()
    masks = random_masks(60, X.shape[1])
    weight = np.random.default_rng(1).uniform(0.0, 2.0, 200) if weighted else None
    ours, theirs = answers(estimator, X[:200], y[:200], masks, X[200:], weight)
    assert np.abs(ours - theirs).max() <= FEW * estimator.tol
    assert theirs.std() > 0.01 or estimator.gamma == 0.0


@pytest.mark.parametrize("size", [1, 5, 30])
@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_regression_for_subsets_of_all_sizes(size, kernel):
    X, y = friedman()
    masks = np.zeros((8, X.shape[1]), dtype=bool)
    for t in range(8):
        masks[t, np.random.default_rng(t).permutation(30)[:size]] = True
    estimator = SVR(kernel=kernel, tol=1e-5)
    ours, theirs = answers(estimator, X[:150], y[:150], masks, X[150:])
    assert np.abs(ours - theirs).max() <= 30 * FEW * estimator.tol


@pytest.mark.parametrize(
    "estimator",
    [
        SVC(),
        SVC(C=20.0),
        SVC(kernel="linear", C=0.3),
        SVC(class_weight="balanced", gamma="auto"),
        SVC(class_weight={1: 4.0}, gamma=0.1),
    ],
    ids=lambda estimator: str(estimator),
)
@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("weighted", [False, True])
def test_votes_are_scikit_learns_where_they_are_clear(estimator, n_classes, weighted):
    X, y = friedman()
    y = np.digitize(y, [0.0] if n_classes == 2 else [-0.9, 0.0, 0.6])
    masks = random_masks(40, X.shape[1])
    weight = np.random.default_rng(1).uniform(0.0, 2.0, 200) if weighted else None
    ours, theirs = answers(estimator, X[:200], y[:200], masks, X[200:], weight)
    np.testing.assert_array_equal(ours.sum(axis=2), 1.0)
    differ = np.argwhere((ours != theirs).any(axis=2))
    for t, i in differ:
        machine = clone(estimator).set_params(decision_function_shape="ovo")
        machine.fit(X[:200][:, masks[t]], y[:200], sample_weight=weight)
        decision = machine.decision_function(X[200 + i : 201 + i][:, masks[t]])
        assert np.abs(decision).min() <= FEW * estimator.tol * max(1.0, estimator.C)
    assert len(differ) <= 0.005 * ours.shape[0] * ours.shape[1]
    assert len(np.unique(theirs.argmax(axis=2))) == n_classes


def test_pairs_that_tie_go_to_the_first_class():
    """Three classes without order: in places each of them wins one pair."""
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(60, 2)), 10 * rng.integers(1, 4, 60)
    grid = np.stack(np.meshgrid(*[np.linspace(-2, 2, 41)] * 2), axis=2).reshape(-1, 2)
    estimator = SVC()
    machine = clone(estimator).set_params(decision_function_shape="ovo").fit(X, y)
    decision = machine.decision_function(grid)
    wins = np.zeros((len(grid), 3))
    for column, (a, b) in zip(decision.T, [(0, 1), (0, 2), (1, 2)], strict=True):
        wins[np.arange(len(grid)), np.where(column > 0, a, b)] += 1
    tied = (wins == 1).all(axis=1)
    ours, theirs = answers(estimator, X, y, np.ones((1, 2), dtype=bool), grid)
    clear = np.abs(decision).min(axis=1) > FEW * 1e-3
    np.testing.assert_array_equal(ours[0, clear], theirs[0, clear])
    assert (ours[0, tied & clear, 0] == 1.0).all()
    assert (tied & clear).any()


@pytest.mark.parametrize("rows", [1, 2, 3])
def test_tiny_batches(rows):
    masks = np.array([[1, 0, 0], [0, 1, 1], [1, 1, 1]], dtype=bool)
    for estimator in (SVR(tol=1e-6), SVR(kernel="linear", tol=1e-6)):
        ours, theirs = answers(estimator, X[:rows], X[:rows, 0] * 3.0, masks, X[10:])
        np.testing.assert_allclose(ours, theirs, atol=1e-4)
    if rows > 1:
        for estimator in (SVC(), SVC(kernel="linear")):
            ours, theirs = answers(estimator, X[:rows], np.arange(rows), masks, X[10:])
            np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("value", [0.0, 7.0, 0.1, 1e-160])
def test_constant_columns(value):
    """No variance, or a trace of it that rounding left."""
    table = X.copy()
    table[:, 0] = value
    query = X[:9] + 0.5
    masks = np.array([[1, 0, 0], [1, 1, 0]], dtype=bool)
    ours, theirs = answers(SVR(tol=1e-6), table, X[:, 1], masks, query)
    np.testing.assert_allclose(ours, theirs, atol=FEW * 1e-6)
    ours, theirs = answers(SVC(), table, np.arange(40) % 3 == 0, masks, query)
    np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("unit", [1e-12, 1e-150, 1e-162])
def test_columns_with_hardly_any_variance(unit):
    masks = np.eye(3, dtype=bool)
    learner = Learner(SVR(tol=1e-6))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tiny, plain = (
            SVMEngine(learner).predict_many(X * u, X[:, 0] * X[:, 1], masks, X * u, np.arange(3))
            for u in (unit, 1.0)
        )
    if unit > 1e-160:
        np.testing.assert_allclose(tiny, plain, atol=FEW * 1e-6)
    else:
        # The squares are less than the smallest number.
        assert np.isfinite(tiny).all()


def test_repeated_values_and_rows_that_contradict_each_other():
    rng = np.random.default_rng(3)
    table = rng.integers(0, 3, size=(80, 3)).astype(float)
    masks = np.array([[1, 0, 0], [1, 1, 0], [1, 1, 1]], dtype=bool)
    grid = rng.integers(0, 3, size=(20, 3)).astype(float)
    ours, theirs = answers(SVR(tol=1e-6), table, rng.normal(size=80), masks, grid)
    np.testing.assert_allclose(ours, theirs, atol=1e-4)
    ours, theirs = answers(SVC(tol=1e-6), table, rng.integers(0, 2, 80), masks, grid)
    np.testing.assert_array_equal(ours, theirs)


def test_a_large_c():
    X, y = friedman()
    masks = random_masks(6, X.shape[1])
    estimator = SVR(C=1e3, tol=1e-5)
    ours, theirs = answers(estimator, X[:150], y[:150], masks, X[150:])
    # The kernel in single precision, times coefficients up to C.
    assert np.abs(ours - theirs).max() <= 1e-2
    table, label, _ = make_hypercube(150, n_irrelevant=5, random_state=0)
    masks = random_masks(6, table.shape[1], 0.5)
    ours, theirs = answers(SVC(C=1e3), table[:100], label[:100], masks, table[100:])
    assert (ours != theirs).any(axis=2).mean() <= 0.01


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_the_origin_does_not_matter(kernel):
    """Far from it, products lose digits; the engine works about the mean."""
    X, y = friedman()
    masks = random_masks(5, X.shape[1])
    learner = Learner(SVR(kernel=kernel, tol=1e-6))
    near, far = (
        SVMEngine(learner).predict_many(
            X[:150] + shift, y[:150], masks, X[150:] + shift, np.arange(5)
        )
        for shift in (0.0, 1e5)
    )
    np.testing.assert_allclose(near, far, atol=1e-4)


def test_rows_without_weight_are_as_good_as_gone():
    X, y = friedman()
    masks = random_masks(5, X.shape[1])
    weight = np.ones(150)
    weight[::3] = 0.0
    # A number for gamma: scale takes the variance of all rows, as scikit-learn does.
    for estimator in (SVR(gamma=0.1), SVC(gamma=0.1)):
        target = y if isinstance(estimator, SVR) else np.digitize(y, [-0.5, 0.5])
        learner = Learner(estimator, *((None,) if target is y else (np.arange(3),)), "hard", True)
        engine = SVMEngine(learner)
        with_zeros = engine.predict_many(
            X[:150], target[:150], masks, X[150:], np.arange(5), weight
        )
        kept = np.flatnonzero(weight)
        without = engine.predict_many(
            X[kept], target[kept], masks, X[150:], np.arange(5), weight[kept]
        )
        np.testing.assert_allclose(with_zeros, without, atol=1e-6)
    ours, theirs = answers(SVR(), X[:150], y[:150], masks, X[150:], weight)
    assert np.abs(ours - theirs).max() <= FEW * 1e-3


def test_what_cannot_be_solved_is_refused_in_the_words_of_scikit_learn():
    masks = np.ones((1, 3), dtype=bool)

    def ask(learner, y, weight=None):
        return SVMEngine(learner).predict_many(X, y, masks, X, np.arange(1), weight)

    zero = np.zeros(40)
    with pytest.raises(BaseModelError, match="zero or negative weights"):
        ask(Learner(SVR(), passes_weight=True), X[:, 0], zero)
    with pytest.raises(BaseModelError, match="same class"):
        ask(Learner(SVC(), np.arange(2), "hard", True), Y, Y.astype(float))
    with pytest.raises(BaseModelError, match="not in class_weight"):
        ask(Learner(SVC(class_weight={5: 2.0}), np.arange(2), "hard"), Y)
    with pytest.raises(BaseModelError, match="NaN"):
        ask(Learner(SVR()), np.where(Y > 0, np.nan, 1.0))
    with pytest.raises(BaseModelError, match="predict_proba"):
        ask(Learner(SVC(), np.arange(2), "soft"), Y)
    # Not asked to pass them on: the weights are nobody's business.
    assert np.isfinite(ask(Learner(SVR()), X[:, 0], zero + 1.0)).all()


def test_a_class_without_weight_is_left_to_scikit_learn():
    y = np.arange(40) % 3
    weight = np.where(y == 2, 0.0, 1.0)
    ours, theirs = answers(SVC(), X, y, np.eye(3, dtype=bool), X, weight)
    np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("estimator", [SVR(C=0.1), SVC(C=0.1)])
def test_bounds_that_would_vanish_are_left_to_scikit_learn(estimator, monkeypatch):
    """With no row left in a problem, the kernels would read beyond their arrays."""
    classes = None if isinstance(estimator, SVR) else np.unique(Y)
    engine = SVMEngine(Learner(estimator, classes, passes_weight=True))
    # LIBSVM itself does not end on all of these.
    monkeypatch.setattr(GenericEngine, "predict_many", lambda *args: "left")
    masks, seeds = np.ones((1, 3), dtype=bool), np.zeros(1, dtype=int)
    for weight in (np.full(40, 5e-324), np.where(Y == 0, 5e-324, 1.0)):
        assert engine.predict_many(X, Y, masks, X, seeds, weight) == "left"
    assert len(engine.predict_many(X, Y, masks, X, seeds, np.full(40, 1e-300))) == 1


@pytest.mark.parametrize("estimator", [SVR(), SVC()])
def test_what_takes_too_many_steps_is_left_to_scikit_learn(estimator, monkeypatch):
    y = X[:, 0] if isinstance(estimator, SVR) else Y
    masks = np.array([[1, 0, 0], [0, 0, 0], [1, 1, 1]], dtype=bool)
    monkeypatch.setattr(svm_module, "MOST_STEPS", 3)
    ours, theirs = answers(estimator, X, y, masks, X)
    np.testing.assert_array_equal(ours, theirs)


def test_what_loses_precision_is_left_to_scikit_learn():
    """A narrow kernel on far-flung values; other masks of the call are not affected."""
    table = X.copy()
    table[:, 0] *= 1e6
    masks = np.array([[1, 0, 0], [0, 1, 0]], dtype=bool)
    estimator = SVR(gamma=1.0)
    ours, theirs = answers(estimator, table, X[:, 1], masks, table)
    np.testing.assert_array_equal(ours[0], theirs[0])
    assert (ours[1] != theirs[1]).any()
    assert np.abs(ours[1] - theirs[1]).max() <= FEW * 1e-3


def test_no_queries():
    for learner, y in ((Learner(SVR()), X[:, 0]), (Learner(SVC(), np.arange(2), "hard"), Y)):
        found = SVMEngine(learner).predict_many(X, y, np.eye(3, dtype=bool), X[:0], np.arange(3))
        assert found.shape == (3, 0, learner.n_outputs)


def test_each_kernel_is_compiled_for_one_signature():
    """Several would share an index file of the cache, and two processes could mix them up."""
    y = np.arange(40) % 3
    tables = (X, np.asfortranarray(X), X.astype(np.float32), pd.DataFrame(X))
    for estimator in (
        SVR(),
        SVR(kernel="linear", C=2, epsilon=0),
        SVC(tol=1),
        SVC(kernel="linear"),
    ):
        classes = None if isinstance(estimator, SVR) else np.arange(3)
        engine = SVMEngine(Learner(estimator, classes, "hard", True))
        for table in tables:
            for weight in (None, np.ones(40), np.ones(40, dtype=np.float32)):
                engine.predict_many(table, y, np.eye(3, dtype=bool), table, np.arange(3), weight)
    from randsub.engines.svm import kernels, smo

    for module in (smo, kernels):
        for function in vars(module).values():
            assert len(getattr(function, "signatures", [0])) <= 1, function


def test_a_tie_between_two_classes_goes_where_scikit_learn_sends_it() -> None:
    X, y, middle = np.array([[-1.0], [1.0]]), np.array([0, 1]), np.zeros((1, 1))
    machine = SVC(kernel="linear")
    engine = SVMEngine(Learner(machine, np.array([0, 1]), "hard"))
    (model,) = engine.fit_many(X, y, np.ones((1, 1), dtype=bool), np.zeros(1, dtype=int))
    assert model.decision_function(middle) == 0.0
    expected = np.eye(2)[model.predict(middle)]
    np.testing.assert_array_equal(engine.predict_fitted(model, middle), expected)
    found = engine.predict_many(X, y, np.ones((1, 1), dtype=bool), middle, np.zeros(1, dtype=int))
    np.testing.assert_array_equal(found[0], expected)
