"""The base models of ``PRSNetwork("auto")``.

Different base models see different links. With few samples all of them are quick; training SVMs
takes time in proportion to the square of the samples or more.
"""

from typing import Any

from sklearn.neighbors import KNeighborsRegressor
from sklearn.svm import SVR
from sklearn.tree import DecisionTreeRegressor

from randsub.estimators.portfolio import MOST_ROWS


def network_portfolio(n_samples: int) -> dict[str, Any]:
    """Base models that suit so many training samples per model, unfitted, by name."""
    bases = {
        "knn": KNeighborsRegressor(),
        "svm": SVR(),
        "tree": DecisionTreeRegressor(min_samples_leaf=5),
    }
    most = {name: MOST_ROWS.get(name) for name in bases}
    return {
        name: base
        for name, base in bases.items()
        if (limit := most[name]) is None or n_samples <= limit
    }
