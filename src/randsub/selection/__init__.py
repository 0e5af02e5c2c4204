"""Feature selection: how stable the importances are, and which features to keep.

* :func:`stability` fits a model on many subsamples and measures how much its importances and its
  selection of features vary with the samples and the seed.
* :class:`ShadowSelector` compares the columns with permuted copies of them and selects features
  with a bound on the false discovery rate.
"""

from randsub.selection.shadow_selector import ShadowSelector
from randsub.selection.stability_selection import Stability, stability

__all__ = ["ShadowSelector", "Stability", "stability"]
