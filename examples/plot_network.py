"""
Gene network inference
======================

Expression data of 26 genes in 100 samples; 6 of the genes are candidate regulators. For each gene,
an ensemble predicts its expression from the regulators. The alphas of all ensembles form a network.
The penalty couples the ensembles: a regulator that one target already uses costs less for the next.
"""

import matplotlib.pyplot as plt
from sklearn.neighbors import KNeighborsRegressor

from randsub.datasets import make_network
from randsub.inspection import NetworkDisplay
from randsub.network import PRSNetwork, genie3, score_network

truth = make_network(100, n_regulators=6, n_targets=20, n_modules=2, random_state=0)
network = PRSNetwork(
    KNeighborsRegressor(), lam=0.003, n_estimators=50, max_iter=100, random_state=0
)
network.fit(truth.expression, truth.regulators, gene_names=truth.gene_names)
print(network.links(5).round(2).to_string(index=False))

# %%
# Agreement of the links with the true network, compared with GENIE3, which fits a random forest per
# gene. Random links have an area under the precision-recall curve equal to the share of true links.
# This is one small network, not a comparison of the methods.

forest = genie3(
    truth.expression,
    truth.regulators,
    gene_names=truth.gene_names,
    n_estimators=50,
    random_state=0,
)
for name, inferred in {"PRS": network, "GENIE3": forest}.items():
    scores = score_network(inferred, truth.gold, gene_names=truth.gene_names)
    guess = scores.n_edges / scores.n_pairs
    print(f"{name}: AUPR {scores.aupr:.2f} (guessing: {guess:.2f})")

# %%
# The strongest links as a graph, and the weights of all pairs as a heat map.

NetworkDisplay.from_estimator(network, n_links=25)
plt.show()

# %%
NetworkDisplay.from_estimator(network, kind="map")
plt.show()
