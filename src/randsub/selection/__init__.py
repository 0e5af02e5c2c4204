"""Feature selection: a minimal set, all relevant features, and how stable importances are.

* :class:`MinimalSelector` selects a small set of features from which a model predicts as well as
  from all of them.
* :class:`ShadowSelector` selects all relevant features: it compares the columns with permuted
  copies of them, with a bound on the false discovery rate.
* :func:`stability` fits a model on many subsamples and measures how much its importances and its
  selection of features vary with the samples and the seed.
"""

from randsub.selection.minimal_selector import MinimalSelector
from randsub.selection.shadow_selector import ShadowSelector
from randsub.selection.stability_selection import Stability, stability

__all__ = ["MinimalSelector", "ShadowSelector", "Stability", "stability"]
