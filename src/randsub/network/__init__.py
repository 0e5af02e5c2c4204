"""Gene networks: which genes regulate which, from expression data.

* :mod:`~randsub.network.prs`: the estimator, `PRSNetwork`;
* :mod:`~randsub.network.fitted`: what it answers once it is fitted;
* :mod:`~randsub.network.infer`: `infer_network`, for those who want a list of links;
* :mod:`~randsub.network.solving`: targets apart, together, and along a path of penalties;
* :mod:`~randsub.network.expression`: tables of expression data, in one order of the genes;
* :mod:`~randsub.network.panel`: who may regulate whom, and by whose name is drawn;
* :mod:`~randsub.network.preparing`: checks, validation samples, scaling;
* :mod:`~randsub.network.links`: lists of links, files and graphs;
* :mod:`~randsub.network.scoring`: agreement with a network that is known;
* :mod:`~randsub.network.forest`, :mod:`~randsub.network.rase`: other methods, for comparison.
"""

from randsub.network.forest import genie3
from randsub.network.infer import infer_network
from randsub.network.links import InferredNetwork
from randsub.network.prs import PRSNetwork
from randsub.network.rase import rase_network
from randsub.network.scoring import NetworkScores, score_network

__all__ = [
    "InferredNetwork",
    "NetworkScores",
    "PRSNetwork",
    "genie3",
    "infer_network",
    "rase_network",
    "score_network",
]
