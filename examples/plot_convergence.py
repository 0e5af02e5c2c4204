"""
How a fit went
==============

Two pictures to look at before alpha is believed: what the objectives did along the epochs, and how
alpha got to where it is.
"""

import matplotlib.pyplot as plt
from sklearn.neighbors import KNeighborsRegressor

from randsub import PRSRegressor
from randsub.datasets import make_friedman
from randsub.inspection import AlphaPath, ConvergenceDisplay, PathDisplay

X, y, relevant = make_friedman(n_samples=300, n_irrelevant=45, random_state=0)
path = AlphaPath()
model = PRSRegressor(KNeighborsRegressor(), max_iter=600, learning_rate=2e-3, random_state=0)
model.set_callbacks(path).fit(X, y)
print(f"stopped: {model.stop_reason_}; best epoch: {model.best_iter_} of {model.n_iter_}")

# %%
# The objective on the held-out batches and on validation, the effective sample size, below whose
# level models are trained anew, and the expected number of features of a member. Twice on the way
# dropped features are given another chance.

ConvergenceDisplay.from_estimator(model)
plt.show()

# %%
# Alpha along the epochs. An alpha that still climbs at the end asks for more epochs; ones that
# cross each other again and again, for smaller steps or more members.

PathDisplay.from_estimator(model, path)
plt.show()
