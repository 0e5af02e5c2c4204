"""Many masked models at once by PyTorch, on a GPU or on the CPU.

* :mod:`~randsub.engines.torch.engine`: the engine, and the families of models that it knows;
* :mod:`~randsub.engines.torch.family`: the protocol of a family, and masks as padded lists;
* :mod:`~randsub.engines.torch.device`: choice of the device, its memory, and its failures;
* :mod:`~randsub.engines.torch.held`: predictions that stay on a GPU during the optimisation;
* :mod:`~randsub.engines.torch.cost`: whether a GPU is faster than the compiled engines;
* :mod:`~randsub.engines.torch.knn`: nearest neighbours;
* :mod:`~randsub.engines.torch.linear`: ridge regression and least squares;
* :mod:`~randsub.engines.torch.bayes`: Gaussian naive Bayes and linear discriminants;
* :mod:`~randsub.engines.torch.mlp`: scikit-learn's multilayer perceptrons;
* :mod:`~randsub.engines.torch.perceptrons`: how many of these are trained at once;
* :mod:`~randsub.engines.torch.perceptron_layers`: their layers, losses and scores;
* :mod:`~randsub.engines.torch.modules`: networks of the user, as estimators;
* :mod:`~randsub.engines.torch.networks`: how many of these are trained at once;
* :mod:`~randsub.engines.torch.layers`: their dropout layers;
* :mod:`~randsub.engines.torch.trials`: what is tried with them before;
* :mod:`~randsub.engines.torch.own_network`: their family;
* :mod:`~randsub.engines.torch.shuffles`: the order of their samples.

PyTorch is imported when the engine is used, never before.
"""

from randsub.engines.torch.engine import TorchEngine

__all__ = ["TorchEngine"]
