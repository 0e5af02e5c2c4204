"""Networks of PyTorch as base models.

:class:`TorchClassifier` and :class:`TorchRegressor` make scikit-learn estimators of a function that
builds a :class:`torch.nn.Module`. In an ensemble the networks of all masks are trained at once.
They need the extra ``randsub[torch]``.
"""

from randsub.engines.torch.modules import TorchClassifier, TorchRegressor

__all__ = ["TorchClassifier", "TorchRegressor"]
