"""
Which features to keep
======================

Alpha ranks features. How far down the list to go is decided here by shadows: permuted copies of the
columns that compete with them in the same ensemble. A feature that is not better than they are is
not kept.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.neighbors import KNeighborsClassifier

from randsub import PRSClassifier
from randsub.datasets import make_hypercube
from randsub.selection import ShadowSelector

X, y, relevant = make_hypercube(n_samples=300, n_irrelevant=25, random_state=0)
model = PRSClassifier(KNeighborsClassifier(), max_iter=150, learning_rate=5e-3, n_batches=3)
selector = ShadowSelector(model, fdr=0.1, n_runs=2, random_state=0).fit(X, y)
print("relevant:", relevant.tolist())
print("kept:    ", selector.get_support(indices=True).tolist())

# %%
# Each dot is a column: real ones on the left, in red where they are relevant, shadows on the right.
# The line is the least importance that was kept.

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
