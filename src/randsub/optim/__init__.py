"""How theta moves: optimisers as pure ``init`` and ``update``."""

from collections.abc import Callable, Mapping

from randsub.optim.adam import AdamState, ProjectedAdam
from randsub.optim.base import Optimizer
from randsub.optim.descent import DescentState, ProjectedGradientDescent
from randsub.optim.fisher import FisherAdam
from randsub.optim.logit import LogitAdam
from randsub.optim.proximal import ProximalAdam, ProximalGradientDescent

# By the names that users write; each takes the learning rate.
OPTIMIZERS: Mapping[str, Callable[[float], Optimizer]] = {
    "fisher_adam": FisherAdam,
    "adam": ProjectedAdam,
    "logit_adam": LogitAdam,
    "gradient_descent": ProjectedGradientDescent,
    "prox_adam": ProximalAdam,
    "prox_gradient": ProximalGradientDescent,
}

__all__ = [
    "OPTIMIZERS",
    "AdamState",
    "DescentState",
    "FisherAdam",
    "LogitAdam",
    "Optimizer",
    "ProjectedAdam",
    "ProjectedGradientDescent",
    "ProximalAdam",
    "ProximalGradientDescent",
]
