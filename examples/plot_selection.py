"""
Feature selection with shadow features
======================================

Alpha ranks the features. To decide which of them to select, shadow features are added: permuted
copies of the columns, which compete with them in the same ensemble. Features that are no more
important than shadows are not selected.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.neighbors import KNeighborsClassifier

from randsub import PRSClassifier
from randsub.datasets import make_hypercube
from randsub.selection import ShadowSelector
from randsub.solver import Solver

X, y, relevant = make_hypercube(n_samples=300, n_irrelevant=25, random_state=0)
model = PRSClassifier(
    KNeighborsClassifier(), max_iter=150, solver=Solver(learning_rate=5e-3, n_batches=3)
)
selector = ShadowSelector(model, fdr=0.1, n_runs=2, random_state=0).fit(X, y)
print("relevant:", relevant.tolist())
print("selected:", selector.get_support(indices=True).tolist())

# %%
# Each dot is a column: features on the left (relevant ones in red), shadows on the right. The line
# is the lowest importance of a selected feature.

rng = np.random.default_rng(0)
fig, ax = plt.subplots(figsize=(6, 3.6), layout="constrained")
is_relevant = np.isin(np.arange(X.shape[1]), relevant)
shadows = selector.shadow_importances_.ravel()
for place, values, colour, name in (
    (0, selector.importances_[~is_relevant], "0.5", "irrelevant"),
    (0, selector.importances_[is_relevant], "C3", "relevant"),
    (1, shadows, "C0", "shadow"),
):
    spread = place + 0.12 * rng.uniform(-1, 1, len(values))
    ax.plot(spread, values, "o", color=colour, alpha=0.7, label=name)
if np.isfinite(selector.threshold_):
    ax.axhline(selector.threshold_, color="0.3", linestyle="--", linewidth=1)
ax.set(xticks=[0, 1], xticklabels=["features", "shadows"], ylabel="mean alpha", xlim=(-0.5, 1.8))
ax.legend(frameon=False, loc="upper right")
ax.spines[["top", "right"]].set_visible(False)
plt.show()
