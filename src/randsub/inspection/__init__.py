"""Visualisation of fitted models.

Every plot is a Display class as in scikit-learn: ``from_estimator`` draws a fitted model, ``plot``
draws again on other axes or in another style, and the attributes ``figure_``, ``ax_`` and the
artists allow to change what was drawn.
"""

from randsub.inspection.alpha_map_display import AlphaMapDisplay
from randsub.inspection.convergence_display import ConvergenceDisplay
from randsub.inspection.importance_display import ImportanceDisplay
from randsub.inspection.network_display import NetworkDisplay
from randsub.inspection.path_display import PathDisplay
from randsub.inspection.subspace_display import SubspaceDisplay

__all__ = [
    "AlphaMapDisplay",
    "ConvergenceDisplay",
    "ImportanceDisplay",
    "NetworkDisplay",
    "PathDisplay",
    "SubspaceDisplay",
]
