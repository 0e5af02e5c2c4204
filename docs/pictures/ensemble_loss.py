"""The loss of the ensemble and the mean loss of its members, against alpha."""

import matplotlib.pyplot as plt
import numpy as np
from all_subsets import N_FEATURES, RELEVANT, predictions, probabilities

answers, y = predictions()
levels = np.linspace(0, 1, 101)
ensemble, members = [], []
for level in levels:
    alpha = np.zeros(N_FEATURES)
    alpha[RELEVANT] = level
    p = probabilities(alpha)
    ensemble.append(np.mean((p @ answers - y) ** 2))
    members.append(p @ np.mean((answers - y) ** 2, axis=1))

fig, ax = plt.subplots(figsize=(6.4, 3.2))
for name, curve, colour, shift in (
    ("mean loss of the members", members, "0.45", 9),
    ("loss of the ensemble", ensemble, "C0", -16),
):
    best = int(np.argmin(curve))
    ax.plot(levels, curve, color=colour, label=name)
    ax.plot(levels[best], curve[best], "o", color=colour)
    ax.annotate(
        f"best at {levels[best]:.2f}",
        (levels[best], curve[best]),
        xytext=(0, shift),
        textcoords="offset points",
        ha="center",
        color=colour,
    )
ax.set(xlabel="alpha of the three relevant features", ylabel="mean squared error", ylim=(0, None))
ax.legend(frameon=False)
