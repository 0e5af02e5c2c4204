"""What a fitted model has learned, in pictures.

Every picture is a Display class as in scikit-learn: ``from_estimator`` draws a fitted model,
``plot`` draws again, somewhere else or in another style, and what was drawn is there as attributes
(``figure_``, ``ax_``, and the artists) to be changed. They need matplotlib:
``pip install 'randsub[plot]'``.
"""

from randsub.inspection.alpha_map import AlphaMapDisplay
from randsub.inspection.alpha_path import AlphaPath
from randsub.inspection.convergence import ConvergenceDisplay
from randsub.inspection.importances import ImportanceDisplay
from randsub.inspection.network import NetworkDisplay
from randsub.inspection.path import PathDisplay
from randsub.inspection.subspaces import SubspaceDisplay

__all__ = [
    "AlphaMapDisplay",
    "AlphaPath",
    "ConvergenceDisplay",
    "ImportanceDisplay",
    "NetworkDisplay",
    "PathDisplay",
    "SubspaceDisplay",
]
