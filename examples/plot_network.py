"""
Which genes regulate which
==========================

Expression of 40 genes in 120 samples, of which 8 may regulate others. For each gene, an ensemble
predicts it from the regulators; the alphas of all ensembles together are a network. The penalty
couples them: a regulator that serves one target already is cheaper for the next.
"""

import matplotlib.pyplot as plt
import numpy as np

from randsub.datasets import make_network
from randsub.network import PRSNetwork, genie3, score_network

truth = make_network(120, n_regulators=8, n_targets=32, n_modules=3, random_state=0)
network = PRSNetwork(lam=0.003, max_iter=150, learning_rate=3e-3, random_state=0)
network.fit(truth.expression, truth.regulators, gene_names=truth.gene_names)
print(network.links(5).round(2).to_string(index=False))

# %%
# How well the links agree with those that made the data, beside a random forest for each gene
# (GENIE3). The area under the precision-recall curve of guessing is the share of true links.

forest = genie3(truth.expression, truth.regulators, gene_names=truth.gene_names, random_state=0)
for name, inferred in {"PRS": network, "GENIE3": forest}.items():
    scores = score_network(inferred, truth.gold, gene_names=truth.gene_names)
    guess = scores.n_edges / scores.n_pairs
    print(f"{name}: AUPR {scores.aupr:.2f} (guessing: {guess:.2f})")

# %%
# The weights of all pairs, with a ring around each true link. A gene does not regulate itself:
# those cells are empty.

weights = network.link_weights_.copy()
for j, regulator in enumerate(network.regulator_names_):
    weights[j, network.target_names_ == regulator] = np.nan
fig, ax = plt.subplots(figsize=(8, 2.9), layout="constrained")
image = ax.imshow(weights, cmap="viridis", vmin=0, aspect="auto")
place = {gene: g for g, gene in enumerate(network.target_names_)}
rows = {gene: j for j, gene in enumerate(network.regulator_names_)}
for source, target in truth.edges:
    ax.plot(
        place[truth.gene_names[target]],
        rows[truth.gene_names[source]],
        "o",
        markerfacecolor="none",
        markeredgecolor="C3",
    )
ax.set(xlabel="target", ylabel="regulator")
ax.set_xticks(range(0, len(place), 4), list(place)[::4])
ax.set_yticks(range(len(rows)), list(rows))
fig.colorbar(image, ax=ax, label="weight of the link")
plt.show()
