"""Estimates of one derivative from 100 masks, with and without the baseline."""

import matplotlib.pyplot as plt
import numpy as np
from all_subsets import N_FEATURES, every_mask, predictions, probabilities

from randsub.distributions import Bernoulli
from randsub.gradients import model_costs, score_gradient

answers, y = predictions()
alpha = np.full(N_FEATURES, 0.5)
coins = Bernoulli(N_FEATURES)
slope = 2 * (probabilities(alpha) @ answers - y) / len(y)
costs = model_costs(slope[:, None], answers[:, :, None])
exact = np.array(
    [
        costs @ (probabilities(np.where(np.arange(N_FEATURES) == j, 1.0, alpha)))
        - costs @ (probabilities(np.where(np.arange(N_FEATURES) == j, 0.0, alpha)))
        for j in range(N_FEATURES)
    ]
)
rng = np.random.default_rng(0)
weights = np.full(100, 1 / 100)
drawn = [coins.sample(alpha, 100, rng) for _ in range(2000)]
place = 1 << np.arange(N_FEATURES)

fig, axes = plt.subplots(1, 2, figsize=(7, 2.8), sharex=True, sharey=True)
for ax, baseline, name in zip(
    axes, ("none", "weighted"), ("without a baseline", "with the baseline"), strict=True
):
    estimates = [
        score_gradient(coins, masks, alpha, weights, costs[(masks @ place).astype(int)], baseline)[
            0
        ]
        for masks in drawn
    ]
    ax.hist(estimates, bins=40, range=(-1.6, 0.2), color="C0", alpha=0.7)
    ax.axvline(exact[0], color="C3")
    ax.set(title=f"{name}\ndeviation {np.std(estimates):.2f}", yticks=[])
    ax.set_xlabel("derivative in alpha of a relevant feature")
    ax.spines["left"].set_visible(False)
axes[1].annotate(
    "exact",
    (exact[0], axes[1].get_ylim()[1] * 0.93),
    color="C3",
    xytext=(6, 0),
    textcoords="offset points",
)
assert len(every_mask()) == len(costs)
