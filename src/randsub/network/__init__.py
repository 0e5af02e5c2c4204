"""Gene networks: which genes regulate which, from expression data.

* :mod:`~randsub.network.prs`: the estimator, `PRSNetwork`;
* :mod:`~randsub.network.fitted_network`: its fitted attributes;
* :mod:`~randsub.network.infer`: `infer_network`, which returns a list of links, and its settings;
* :mod:`~randsub.network.assembly`: from parameters and data to the problem to solve;
* :mod:`~randsub.network.portfolio`: the base models of "auto";
* :mod:`~randsub.network.repeats`: several validation splits, and base models trained apart;
* :mod:`~randsub.network.path`: the path of coefficients, and the choice among them;
* :mod:`~randsub.network.solving`: targets apart, together, and along a path of penalties;
* :mod:`~randsub.network.fit_data`: checks, validation samples, scaling;
* :mod:`~randsub.network.expression_data`: tables of expression data, sorted by gene name;
* :mod:`~randsub.network.gene_names`: checks of names, and the genes that a user means;
* :mod:`~randsub.network.candidate_links`: which regulators and targets may be linked;
* :mod:`~randsub.network.ranking`, :mod:`~randsub.network.link_rules`: what links are ranked by;
* :mod:`~randsub.network.member_evidence`: what base models say of the regulators themselves;
* :mod:`~randsub.network.links`: lists of links, files and graphs;
* :mod:`~randsub.network.network_scores`: scores against a known network;
* :mod:`~randsub.network.genie3`, :mod:`~randsub.network.grnboost`,
  :mod:`~randsub.network.rase_network`: other methods.
"""

from randsub.network.genie3 import genie3
from randsub.network.grnboost import grnboost
from randsub.network.infer import infer_network, recommended_network
from randsub.network.links import InferredNetwork
from randsub.network.network_scores import NetworkScores, score_network
from randsub.network.prs import PRSNetwork
from randsub.network.ranking import Ranking
from randsub.network.rase_network import rase_network

__all__ = [
    "InferredNetwork",
    "NetworkScores",
    "PRSNetwork",
    "Ranking",
    "genie3",
    "grnboost",
    "infer_network",
    "rase_network",
    "recommended_network",
    "score_network",
]
