"""Models made of moments that all masks of a batch share, compiled.

* :mod:`~randsub.engines.moments.engine`: the engine, and which families of models it knows;
* :mod:`~randsub.engines.moments.family`: what a family is, and what it is given;
* :mod:`~randsub.engines.moments.linear`: ridge regression and least squares;
* :mod:`~randsub.engines.moments.classes`: Gaussian naive Bayes and linear discriminants;
* :mod:`~randsub.engines.moments.kernels`: the compiled part;
* :mod:`~randsub.engines.moments.products`: sums over rows in an order of our own.
"""

from randsub.engines.moments.engine import MomentsEngine

__all__ = ["MomentsEngine"]
