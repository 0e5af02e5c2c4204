"""A problem so small that every subset of its features can be tried: no sampling, no noise."""

import numpy as np
from sklearn.tree import DecisionTreeRegressor

N_FEATURES = 6
RELEVANT = [0, 1, 2]


def every_mask():
    """All subsets of the features, (64, 6)."""
    return (np.arange(2**N_FEATURES)[:, None] >> np.arange(N_FEATURES)) & 1 == 1


def probabilities(alpha):
    """Probability of each subset, (64,)."""
    return np.prod(np.where(every_mask(), alpha, 1 - np.asarray(alpha)), axis=1)


def predictions(seed=0, n_train=80, n_query=400):
    """What a tree on each subset predicts for new samples, (64, n), and the truth, (n,)."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_train + n_query, N_FEATURES))
    y = X[:, 0] + X[:, 1] + X[:, 2] + 0.5 * rng.normal(size=len(X))
    answers = np.full((2**N_FEATURES, n_query), y[:n_train].mean())
    for row, mask in zip(answers, every_mask(), strict=True):
        if mask.any():
            tree = DecisionTreeRegressor(random_state=0).fit(X[:n_train, mask], y[:n_train])
            row[:] = tree.predict(X[n_train:, mask])
    return answers, y[n_train:]
