"""Models made of moments that all masks of a batch share, compiled.

* :mod:`~randsub.engines.linear_and_bayes.engine`: the engine, and the families of models it knows;
* :mod:`~randsub.engines.linear_and_bayes.family`: the protocol of a family;
* :mod:`~randsub.engines.linear_and_bayes.linear`: ridge regression and least squares;
* :mod:`~randsub.engines.linear_and_bayes.bayes`: Gaussian naive Bayes and linear discriminants;
* :mod:`~randsub.engines.linear_and_bayes.moments`: kernels for lines and moments of the data;
* :mod:`~randsub.engines.linear_and_bayes.kernels`: kernels that solve for the models.
"""

from randsub.engines.linear_and_bayes.engine import LinearAndBayesEngine

__all__ = ["LinearAndBayesEngine"]
