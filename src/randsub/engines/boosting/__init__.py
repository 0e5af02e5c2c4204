"""Gradient boosting of decision trees, compiled.

* :mod:`~randsub.engines.boosting.engine`: the engine;
* :mod:`~randsub.engines.boosting.kernels`: kernels that grow the trees of all stages;
* :mod:`~randsub.engines.boosting.splits`: kernels that look for the best split of a node;
* :mod:`~randsub.engines.boosting.losses`: kernels for residuals and values of leaves.
"""

from randsub.engines.boosting.engine import BoostingEngine

__all__ = ["BoostingEngine"]
