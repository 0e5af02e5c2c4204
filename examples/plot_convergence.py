"""
Checking convergence
====================

Two plots to look at before you interpret alpha: the objectives over the epochs, and the path of
alpha.
"""

import matplotlib.pyplot as plt
from sklearn.neighbors import KNeighborsRegressor

from randsub import PRSRegressor
from randsub.datasets import make_friedman
from randsub.inspection import ConvergenceDisplay, PathDisplay
from randsub.solver import Solver

X, y, relevant = make_friedman(n_samples=300, n_irrelevant=45, random_state=0)
model = PRSRegressor(
    KNeighborsRegressor(),
    max_iter=600,
    solver=Solver(learning_rate=2e-3, n_revivals=2),
    random_state=0,
)
model.fit(X, y)
print(f"stopped: {model.stop_reason_}; best epoch: {model.best_iter_} of {model.n_iter_}")

# %%
# The objective on the held-out batches and on validation; the effective sample size, with the
# threshold below which models are retrained; and the expected number of features per member.
# ``n_revivals=2`` revives dropped features twice; by default they stay dropped.

ConvergenceDisplay.from_estimator(model)
plt.show()

# %%
# Alpha over the epochs. If some alphas still rise at the end, train for more epochs; if they cross
# each other repeatedly, use smaller steps or more members.

PathDisplay.from_estimator(model)
plt.show()
