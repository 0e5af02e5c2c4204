"""
Importances beside a random forest's
====================================

Five of 105 features matter in this Friedman problem, and each of them has correlated neighbours
that do not. PRS with nearest neighbours learns with which probability a member of the ensemble
should see each feature; a random forest adds up how much each feature has reduced the impurity of
its trees. Both give a number for each feature, which is drawn here.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.ensemble import RandomForestRegressor
from sklearn.metrics import average_precision_score
from sklearn.neighbors import KNeighborsRegressor

from randsub import PRSRegressor
from randsub.datasets import make_friedman

X, y, relevant = make_friedman(n_samples=500, n_irrelevant=100, random_state=0)
train, test = slice(0, 300), slice(300, 500)

prs = PRSRegressor(KNeighborsRegressor(), max_iter=600, learning_rate=2e-3, random_state=0)
prs.fit(X[train], y[train])
forest = RandomForestRegressor(100, max_features=1 / 3, random_state=0)
forest.fit(X[train], y[train])
plain = KNeighborsRegressor().fit(X[train], y[train])

# %%
# The score on new samples, and how well the five relevant features come first: the area under the
# precision-recall curve of the ranking, which is 1 where they are the first five.

is_relevant = np.isin(np.arange(X.shape[1]), relevant)
print(f"nearest neighbours alone: R2 {plain.score(X[test], y[test]):.2f}")
for name, model in {"PRS with them": prs, "random forest": forest}.items():
    ranking = average_precision_score(is_relevant, model.feature_importances_)
    print(f"{name}: R2 {model.score(X[test], y[test]):.2f}, ranking {ranking:.2f}")

# %%
# Alpha is a probability: it says nothing about which feature has the largest effect, only which
# ones the members need. So several features can have an alpha near 1, and most have one near 0.

fig, axes = plt.subplots(2, 1, figsize=(7.5, 4.6), sharex=True, layout="constrained")
for ax, model, label in zip(
    axes, (prs, forest), ("alpha of PRS", "importance in the forest"), strict=True
):
    importances = model.feature_importances_
    ax.vlines(np.flatnonzero(~is_relevant), 0, importances[~is_relevant], color="0.6")
    ax.vlines(relevant, 0, importances[relevant], color="C3", linewidth=2.5)
    ax.plot(relevant, importances[relevant], "o", color="C3", label="relevant")
    ax.set(ylabel=label, ylim=(0, 1.08 * importances.max()))
    ax.spines[["top", "right"]].set_visible(False)
axes[0].legend(loc="lower right", bbox_to_anchor=(1, 1), frameon=False)
axes[1].set_xlabel("feature")
plt.show()
