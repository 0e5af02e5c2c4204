"""randsub: random-subspace ensembles that learn which features each member should see."""

from randsub.ensemble import PRSClassifier, PRSRegressor

__all__ = ["PRSClassifier", "PRSRegressor", "__version__"]

__version__ = "0.1.0"
