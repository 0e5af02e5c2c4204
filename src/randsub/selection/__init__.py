"""Which features to keep, how sure one can be of them, and how many are kept in error.

* :func:`stability` trains a model again and again on subsamples, and tells how much its importances
  and its choice of features depend on the samples and on the seed.
* :class:`ShadowSelector` lets permuted copies of the columns compete with the real ones, and keeps
  features with a bound on the share of false ones among them.
"""

from randsub.selection.selector import ShadowSelector
from randsub.selection.stable import Stability, stability

__all__ = ["ShadowSelector", "Stability", "stability"]
