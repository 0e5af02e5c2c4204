"""
A custom base model
===================

Any estimator with ``fit`` and ``predict`` can be the base model; it does not need to be
differentiable. Here it predicts the median of the nearest neighbours. Such a model provides no
importances, and irrelevant features reduce its accuracy.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.metrics import median_absolute_error
from sklearn.neighbors import NearestNeighbors
from sklearn.utils.validation import check_is_fitted, validate_data

from randsub import PRSRegressor
from randsub.datasets import make_friedman
from randsub.solver import Solver


class MedianOfNeighbors(RegressorMixin, BaseEstimator):
    """Predicts the median of the targets of the nearest training samples."""

    def __init__(self, n_neighbors=7):
        self.n_neighbors = n_neighbors

    def fit(self, X, y):
        """Store the samples."""
        X, self.y_ = validate_data(self, X, y, y_numeric=True)
        self.index_ = NearestNeighbors(n_neighbors=self.n_neighbors).fit(X)
        return self

    def predict(self, X):
        """Predict the medians."""
        check_is_fitted(self)
        X = validate_data(self, X, reset=False)
        return np.median(self.y_[self.index_.kneighbors(X, return_distance=False)], axis=1)


# %%
# No compiled engine supports this model, so it is cloned and fitted for each subset. Fewer members
# and batches, and ``refresh="window"``, reduce the number of fits.

X, y, relevant = make_friedman(n_samples=400, n_irrelevant=20, correlation=0.0, random_state=0)
train, test = slice(0, 250), slice(250, 400)

alone = MedianOfNeighbors().fit(X[train], y[train])
model = PRSRegressor(
    MedianOfNeighbors(),
    n_estimators=50,
    max_iter=300,
    solver=Solver(learning_rate=4e-3, n_batches=3, refresh="window"),
    random_state=0,
)
model.fit(X[train], y[train])
for name, fitted in {"alone": alone, "in the ensemble": model}.items():
    error = median_absolute_error(y[test], fitted.predict(X[test]))
    print(f"{name}: median error {error:.2f}")
print(f"{model.n_models_trained_} models trained")

# %%
# The ensemble provides importances.

colour = np.where(np.isin(np.arange(X.shape[1]), relevant), "C3", "0.7")
fig, ax = plt.subplots(figsize=(7.5, 2.6), layout="constrained")
ax.bar(np.arange(X.shape[1]), model.alpha_, color=colour)
ax.set(xlabel="feature (relevant ones in red)", ylabel="alpha")
ax.spines[["top", "right"]].set_visible(False)
plt.show()
