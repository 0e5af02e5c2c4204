"""How theta moves: optimisers as pure ``init`` and ``update``."""

from randsub.optim.adam import AdamState, ProjectedAdam
from randsub.optim.base import Optimizer
from randsub.optim.descent import DescentState, ProjectedGradientDescent
from randsub.optim.logit import LogitAdam
from randsub.optim.proximal import ProximalAdam, ProximalGradientDescent

__all__ = [
    "AdamState",
    "DescentState",
    "LogitAdam",
    "Optimizer",
    "ProjectedAdam",
    "ProjectedGradientDescent",
    "ProximalAdam",
    "ProximalGradientDescent",
]
