"""Subsets at the start and at the end of training, with alpha above them."""

import matplotlib.pyplot as plt
import numpy as np
from small_fit import small_fit

from randsub.distributions import Bernoulli

model, relevant = small_fit()
n_features = len(model.alpha_)
start = np.full(n_features, 0.05)
rng = np.random.default_rng(0)
colours = np.where(np.isin(np.arange(n_features), relevant), "C3", "0.55")

fig, axes = plt.subplots(
    2, 2, figsize=(7.5, 4.2), sharex=True, sharey="row", height_ratios=[1, 1.8]
)
for column, (alpha, title) in enumerate(((start, "at the start"), (model.alpha_, "at the end"))):
    above, below = axes[0, column], axes[1, column]
    above.bar(np.arange(n_features), alpha, color=colours)
    above.set(title=title, ylim=(0, 1.05))
    masks = Bernoulli(n_features).sample(alpha, 20, rng)
    members, features = np.nonzero(masks)
    below.scatter(features, members, s=22, marker="s", c=colours[features])
    below.set(xlabel="feature", ylim=(-0.8, 19.8), yticks=[])
    below.set_facecolor("0.96")
axes[0, 0].set_ylabel("alpha")
axes[1, 0].set_ylabel("20 members")
