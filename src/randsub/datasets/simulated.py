"""The four simulated problems of Huynh-Thu and Geurts, of any size.

A few relevant features make the output and the others are irrelevant. Two problems are regressions
over strongly correlated features, two are binary classifications over independent ones:

============ ============== ======== ==========================================================
problem      task           relevant the output
============ ============== ======== ==========================================================
checkerboard regression            4 two products of two features
friedman     regression            5 a sine of a product, a parabola and two straight lines
hypercube    classification        5 two Gaussian clusters per class, on vertices of a hypercube
linear       classification       10 the sign of a weighted sum
============ ============== ======== ==========================================================

Where the paper and the authors' files differ, the generators follow the files; see the notes of
each function.
"""

from numbers import Integral, Real

import numpy as np
from scipy.signal import lfilter
from sklearn.datasets import make_classification, make_regression
from sklearn.utils import check_random_state

from randsub._sklearn import Interval
from randsub._typing import FloatArray, IntArray
from randsub.datasets.parameters import Seed, validated

# Distance between relevant columns if there is room. At this distance, features whose neighbours
# have correlation 0.9 are almost independent (0.9 ** 50 = 0.005).
_WIDEST_SPACING = 50

_SIZES = {
    "n_samples": [Interval(Integral, 2, None, closed="left")],
    "n_irrelevant": [Interval(Integral, 0, None, closed="left")],
    "random_state": ["random_state"],
}
_CORRELATED = {
    **_SIZES,
    "noise": [Interval(Real, 0, None, closed="left")],
    "correlation": [Interval(Real, 0, 1, closed="left")],
}


def _spread_columns(n_relevant: int, n_features: int) -> IntArray:
    """Positions of the relevant columns, evenly spaced and away from both edges where possible."""
    spacing = min(_WIDEST_SPACING, n_features // (n_relevant + 1))
    if spacing == 0:
        return np.arange(n_relevant)
    return spacing * np.arange(1, n_relevant + 1)


def _draw_chain(
    n_samples: int, n_features: int, correlation: float, rng: np.random.RandomState
) -> FloatArray:
    """Rows of N(0, Sigma) with Sigma[i, j] = correlation ** |i - j|, without ever forming Sigma.

    The recursion over columns, x_j = correlation x_{j-1} + sqrt(1 - correlation^2) e_j, has exactly
    this law when x_0 ~ N(0, 1), in time and memory proportional to the size of X.
    """
    steps = rng.standard_normal((n_samples, n_features))
    steps[:, 1:] *= np.sqrt(1.0 - correlation**2)
    return lfilter([1.0], [1.0, -correlation], steps, axis=1)


@validated(_CORRELATED)
def make_checkerboard(
    n_samples: int = 500,
    n_irrelevant: int = 300,
    *,
    noise: float = 1.0,
    correlation: float = 0.9,
    random_state: Seed = None,
) -> tuple[FloatArray, FloatArray, IntArray]:
    """Regression on two products of features, amid strongly correlated features.

    All M = 4 + `n_irrelevant` features are standard normal, and the features i and j have
    correlation ``correlation ** |i - j|``. With x1, ..., x4 the relevant ones::

        y = 2 x1 x2 + 2 x3 x4 + noise * N(0, 1)

    If the relevant features are independent, the mean of y does not depend on any single one of
    them, which makes this hard for univariate methods.

    Parameters
    ----------
    n_samples : int, default=500
        Number of samples, at least 2. The paper has 300 for training, 100 for validation and 100
        for testing.
    n_irrelevant : int, default=300
        Number of irrelevant features, at least 0.
    noise : float, default=1.0
        Standard deviation of the Gaussian noise added to y.
    correlation : float, default=0.9
        Correlation of neighbouring features, in [0, 1).
    random_state : int, RandomState instance or None, default=None
        Seed of the draws. The same integer gives the same data.

    Returns
    -------
    X : ndarray of shape (n_samples, 4 + n_irrelevant), float64
        Features.
    y : ndarray of shape (n_samples,), float64
        Output.
    relevant : ndarray of shape (4,), int
        Columns of X that make y, in increasing order.

    See Also
    --------
    make_friedman : Regression over features correlated in the same way.

    Notes
    -----
    The relevant features stand at the columns s, 2s, 3s, 4s with the spacing s = min(50, M // 5):
    50, 100, 150 and 200 by default. They are thus almost independent of each other
    (0.9 ** 50 = 0.005) while each has irrelevant neighbours that are nearly copies of it. Fewer
    than 246 irrelevant features narrow the spacing, and two consecutive relevant features then have
    correlation ``correlation ** s``: 0.35 with 50 irrelevant features, 0.9 with one to five. With
    none there is no room (M // 5 = 0) and they are the columns 0 to 3, again neighbours.

    References
    ----------
    V. A. Huynh-Thu and P. Geurts, "Optimizing model-agnostic random subspace ensembles".

    R. Zhu, D. Zeng and M. R. Kosorok, "Reinforcement learning trees", Journal of the American
    Statistical Association, 2015.

    Examples
    --------
    >>> from randsub.datasets import make_checkerboard
    >>> X, y, relevant = make_checkerboard(random_state=0)
    >>> X.shape, y.shape
    ((500, 304), (500,))
    >>> relevant.tolist()
    [50, 100, 150, 200]
    """
    rng = check_random_state(random_state)
    relevant = _spread_columns(4, 4 + n_irrelevant)
    X = _draw_chain(n_samples, 4 + n_irrelevant, correlation, rng)
    x1, x2, x3, x4 = X[:, relevant].T
    y = 2 * x1 * x2 + 2 * x3 * x4 + noise * rng.standard_normal(n_samples)
    return X, y, relevant


@validated(_CORRELATED)
def make_friedman(
    n_samples: int = 500,
    n_irrelevant: int = 300,
    *,
    noise: float = 0.1,
    correlation: float = 0.9,
    random_state: Seed = None,
) -> tuple[FloatArray, FloatArray, IntArray]:
    """Friedman's regression, amid strongly correlated features.

    All M = 5 + `n_irrelevant` features are normal with mean 0.5 and standard deviation 0.5 / 3, so
    that 99.7% of the values lie in [0, 1], and the features i and j have correlation
    ``correlation ** |i - j|``. With x1, ..., x5 the relevant ones::

        y = 10 sin(pi x1 x2) + 20 (x3 - 0.5)^2 + 10 x4 + 5 x5 + noise * N(0, 1)

    Parameters
    ----------
    n_samples : int, default=500
        Number of samples, at least 2. The paper has 300 for training, 100 for validation and 100
        for testing.
    n_irrelevant : int, default=300
        Number of irrelevant features, at least 0.
    noise : float, default=0.1
        Standard deviation of the Gaussian noise added to y.
    correlation : float, default=0.9
        Correlation of neighbouring features, in [0, 1).
    random_state : int, RandomState instance or None, default=None
        Seed of the draws. The same integer gives the same data.

    Returns
    -------
    X : ndarray of shape (n_samples, 5 + n_irrelevant), float64
        Features.
    y : ndarray of shape (n_samples,), float64
        Output.
    relevant : ndarray of shape (5,), int
        Columns of X that make y, in increasing order.

    See Also
    --------
    sklearn.datasets.make_friedman1 : The same output over independent uniform features.
    make_checkerboard : Regression over features correlated in the same way.

    Notes
    -----
    The relevant features stand at the columns s, 2s, ..., 5s with the spacing s = min(50, M // 6):
    50, 100, 150, 200 and 250 by default. They are thus almost independent of each other
    (0.9 ** 50 = 0.005) while each has irrelevant neighbours that are nearly copies of it. Fewer
    than 295 irrelevant features narrow the spacing, and two consecutive relevant features then have
    correlation ``correlation ** s``: 0.39 with 50 irrelevant features, 0.9 with one to six. With
    none there is no room (M // 6 = 0) and they are the columns 0 to 4, again neighbours.

    The paper states a mean of 0 for the features; the range [0, 1] requires the mean of 0.5 that
    the authors' files have. We follow the files.

    References
    ----------
    V. A. Huynh-Thu and P. Geurts, "Optimizing model-agnostic random subspace ensembles".

    J. H. Friedman, "Multivariate adaptive regression splines", The Annals of Statistics, 1991.

    Examples
    --------
    >>> from randsub.datasets import make_friedman
    >>> X, y, relevant = make_friedman(random_state=0)
    >>> X.shape, y.shape
    ((500, 305), (500,))
    >>> relevant.tolist()
    [50, 100, 150, 200, 250]
    """
    rng = check_random_state(random_state)
    relevant = _spread_columns(5, 5 + n_irrelevant)
    X = _draw_chain(n_samples, 5 + n_irrelevant, correlation, rng)
    X *= 0.5 / 3
    X += 0.5
    x1, x2, x3, x4, x5 = X[:, relevant].T
    y = 10 * np.sin(np.pi * x1 * x2) + 20 * (x3 - 0.5) ** 2 + 10 * x4 + 5 * x5
    return X, y + noise * rng.standard_normal(n_samples), relevant


@validated({**_SIZES, "flip_y": [Interval(Real, 0, 1, closed="both")]})
def make_hypercube(
    n_samples: int = 500,
    n_irrelevant: int = 300,
    *,
    flip_y: float = 0.01,
    random_state: Seed = None,
) -> tuple[FloatArray, IntArray, IntArray]:
    """Binary classification of Gaussian clusters on the vertices of a hypercube.

    Each class consists of two clusters of equal size in the space of the 5 relevant features. The
    four clusters are centred on different vertices of the hypercube with coordinates -1 and +1. The
    irrelevant features are independent standard normals.

    Parameters
    ----------
    n_samples : int, default=500
        Number of samples, at least 2. The paper has 300 for training, 100 for validation and 100
        for testing.
    n_irrelevant : int, default=300
        Number of irrelevant features, at least 0.
    flip_y : float, default=0.01
        Fraction of the samples whose class is drawn at random, in [0, 1]. Half of these keep their
        class by chance.
    random_state : int, RandomState instance or None, default=None
        Seed of the draws. The same integer gives the same data.

    Returns
    -------
    X : ndarray of shape (n_samples, 5 + n_irrelevant), float64
        Features.
    y : ndarray of shape (n_samples,), int64
        Classes, 0 or 1; the sizes of the two differ by at most one before flips.
    relevant : ndarray of shape (5,), int
        Columns of X on which the classes depend, in increasing order.

    See Also
    --------
    sklearn.datasets.make_classification : Draws the relevant features and the classes.

    Notes
    -----
    The relevant features stand at the columns s, 2s, ..., 5s with the spacing
    s = min(50, (5 + n_irrelevant) // 6), or at 0 to 4 where that is 0. The irrelevant features are
    independent of everything else, so their number only changes these positions.

    According to the paper, the samples of a cluster are normal around the vertex with the identity
    as covariance. In the authors' files, as in scikit-learn's ``make_classification``, each cluster
    has a different covariance A^T A, where the entries of the 5 x 5 matrix A are uniform on
    [-1, 1]. Within a cluster, the variance of a relevant feature is 5/3 on average, the features
    are correlated, and the variance in some direction is nearly 0. We follow the files.

    References
    ----------
    V. A. Huynh-Thu and P. Geurts, "Optimizing model-agnostic random subspace ensembles".

    Examples
    --------
    >>> from randsub.datasets import make_hypercube
    >>> X, y, relevant = make_hypercube(flip_y=0, random_state=0)
    >>> X.shape, y.shape
    ((500, 305), (500,))
    >>> relevant.tolist()
    [50, 100, 150, 200, 250]
    >>> int(y.sum())
    250
    """
    rng = check_random_state(random_state)
    relevant = _spread_columns(5, 5 + n_irrelevant)
    clusters, classes = make_classification(
        n_samples,
        n_features=5,
        n_informative=5,
        n_redundant=0,
        n_repeated=0,
        n_classes=2,
        n_clusters_per_class=2,
        flip_y=flip_y,
        class_sep=1.0,
        hypercube=True,
        # Shuffling would permute the columns too; the rows are permuted below.
        shuffle=False,
        random_state=rng,
    )
    order = rng.permutation(n_samples)
    X = rng.standard_normal((n_samples, 5 + n_irrelevant))
    X[:, relevant] = clusters[order]
    return X, classes[order].astype(np.int64), relevant


@validated(_SIZES)
def make_linear(
    n_samples: int = 500,
    n_irrelevant: int = 300,
    *,
    random_state: Seed = None,
) -> tuple[FloatArray, IntArray, IntArray]:
    """Binary classification by the sign of a weighted sum of ten features.

    All 10 + `n_irrelevant` features are independent standard normals. The samples are ranked by the
    sum of w_k x_k over the 10 relevant features, with weights w_k uniform on [0, 100], and the
    class is 1 above the median of these sums, 0 elsewhere. There is no noise: a hyperplane
    separates the classes.

    Parameters
    ----------
    n_samples : int, default=500
        Number of samples, at least 2. The paper has 300 for training, 100 for validation and 100
        for testing.
    n_irrelevant : int, default=300
        Number of irrelevant features, at least 0.
    random_state : int, RandomState instance or None, default=None
        Seed of the draws. The same integer gives the same data.

    Returns
    -------
    X : ndarray of shape (n_samples, 10 + n_irrelevant), float64
        Features.
    y : ndarray of shape (n_samples,), int64
        Classes, 0 or 1, of equal size; with an odd number of samples class 0 has one more.
    relevant : ndarray of shape (10,), int
        Columns of X on which the classes depend: the first ten.

    See Also
    --------
    sklearn.datasets.make_regression : Draws the features, the weights and the sum.

    Notes
    -----
    A weight may be close to 0, so a relevant feature may matter very little, as in the authors'
    files.

    References
    ----------
    V. A. Huynh-Thu and P. Geurts, "Optimizing model-agnostic random subspace ensembles".

    Examples
    --------
    >>> from randsub.datasets import make_linear
    >>> X, y, relevant = make_linear(random_state=0)
    >>> X.shape, y.shape
    ((500, 310), (500,))
    >>> relevant.tolist()
    [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]
    >>> int(y.sum())
    250
    """
    X, total = make_regression(
        n_samples,
        n_features=10 + n_irrelevant,
        n_informative=10,
        # Rows are exchangeable anyway, and the relevant columns stay first.
        shuffle=False,
        random_state=check_random_state(random_state),
    )
    return X, (total > np.median(total)).astype(np.int64), np.arange(10)
