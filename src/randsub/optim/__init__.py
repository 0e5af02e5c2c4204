"""How theta moves: optimisers as pure ``init`` and ``update``."""

from randsub.optim.adam import AdamState, ProjectedAdam
from randsub.optim.base import Optimizer
from randsub.optim.descent import DescentState, ProjectedGradientDescent
from randsub.optim.logit import LogitAdam

__all__ = [
    "AdamState",
    "DescentState",
    "LogitAdam",
    "Optimizer",
    "ProjectedAdam",
    "ProjectedGradientDescent",
]
