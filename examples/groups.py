"""Categorical columns: three categorical and five numeric columns, four of which are relevant.

PRS encodes the categorical columns, draws the indicators of a column together, and ranks the
columns of the frame. If the frame is one-hot encoded first, there is one probability per indicator
instead.

    python examples/groups.py
"""

import numpy as np
import pandas as pd
from sklearn.neighbors import KNeighborsRegressor

from randsub import PRSRegressor

RELEVANT = ("colour", "shape", "x0", "x1")


def make_frame(n_samples: int = 400, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    """A frame whose target depends on colour, shape, x0 and x1; city and x2 to x4 are noise."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "colour": pd.Categorical(rng.choice(["red", "green", "blue", "grey"], n_samples)),
            "shape": rng.choice(["disc", "ring", "star"], n_samples),
            "city": rng.choice(["Bergen", "Gent", "Liège", "Namur", "Turku", "Ulm"], n_samples),
            **{f"x{j}": rng.normal(size=n_samples) for j in range(5)},
        }
    )
    of_colour = frame["colour"].astype(str).map({"red": 2.0, "green": -2.0, "blue": 0.0, "grey": 0})
    of_shape = frame["shape"].map({"disc": 1.5, "ring": 0.0, "star": -1.5})
    y = of_colour + of_shape + 1.5 * frame["x0"] + frame["x1"] ** 2
    return frame, y.to_numpy() + 0.2 * rng.normal(size=n_samples)


def main() -> None:
    X, y = make_frame()
    train, test = slice(0, 300), slice(300, None)

    grouped = PRSRegressor(KNeighborsRegressor(), random_state=0)
    grouped.fit(X[train], y[train])
    print(f"categories kept together: test R2 {grouped.score(X[test], y[test]):.2f}")
    importances = pd.Series(grouped.feature_importances_, index=X.columns)
    print(importances.sort_values(ascending=False).round(2).to_string())

    one_hot = pd.get_dummies(X, dtype=float)
    plain = PRSRegressor(KNeighborsRegressor(), random_state=0)
    plain.fit(one_hot[train], y[train])
    print(f"\none-hot first: test R2 {plain.score(one_hot[test], y[test]):.2f}")
    importances = pd.Series(plain.feature_importances_, index=one_hot.columns)
    print(importances.sort_values(ascending=False).round(2).to_string())


if __name__ == "__main__":
    main()
