"""
Importances of PRS and of a random forest
=========================================

Five of the 105 features of this Friedman problem are relevant, and each of them has correlated
neighbours that are not. PRS with nearest neighbours learns the probability with which a member of
the ensemble should see each feature; a random forest sums up the impurity reduction of each feature
in its trees. The plots show both importances.
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

prs = PRSRegressor(KNeighborsRegressor(), random_state=0)
prs.fit(X[train], y[train])
forest = RandomForestRegressor(100, max_features=1 / 3, random_state=0)
forest.fit(X[train], y[train])
plain = KNeighborsRegressor().fit(X[train], y[train])

# %%
# The score on new samples, and the quality of the ranking: the area under the precision-recall
# curve, which is 1 if the five relevant features rank first.

is_relevant = np.isin(np.arange(X.shape[1]), relevant)
print(f"nearest neighbours alone: R2 {plain.score(X[test], y[test]):.2f}")
for name, model in {"PRS with them": prs, "random forest": forest}.items():
    ranking = average_precision_score(is_relevant, model.feature_importances_)
    print(f"{name}: R2 {model.score(X[test], y[test]):.2f}, ranking {ranking:.2f}")

# %%
# Alpha is a probability, not an effect size: it shows which features the members need. Several
# features can have an alpha near 1, and most have an alpha near 0.

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
