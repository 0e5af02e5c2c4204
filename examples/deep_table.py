"""Importances of a deep network on a table of thirty columns, most of them noise.

Five columns are relevant (Friedman's function), the others are noise. A network that sees all of
them learns the noise by heart; the networks of the ensemble see the columns that alpha draws. They
are trained at once, on a GPU if there is one (pip install "randsub[torch]").

    python examples/deep_table.py --output deep_table.png
"""

import argparse
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from randsub import PRSRegressor
from randsub.datasets import make_friedman
from randsub.solver import Solver
from randsub.torch import TorchRegressor


def tabular(n_columns: int, n_outputs: int) -> Any:
    """Two hidden layers with normalisation."""
    from torch import nn

    return nn.Sequential(
        nn.Linear(n_columns, 64),
        nn.LayerNorm(64),
        nn.ReLU(),
        nn.Linear(64, 32),
        nn.ReLU(),
        nn.Linear(32, n_outputs),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--output", type=Path, default=Path("deep_table.png"))
    args = parser.parse_args()
    X, y, relevant = make_friedman(n_samples=600, n_irrelevant=25, random_state=0)
    X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
    base = TorchRegressor(tabular, lr=0.01, max_epochs=30, batch_size=64, random_state=0)

    alone = make_pipeline(StandardScaler(), base).fit(X_train, y_train)
    model = PRSRegressor(
        base,
        n_estimators=30,
        alpha_init=0.3,
        max_iter=120,
        solver=Solver(n_batches=2, n_revivals=0, learning_rate=5e-3),
        random_state=0,
    ).fit(X_train, y_train)
    of_one, of_all = alone.score(X_test, y_test), model.score(X_test, y_test)
    print(f"one network R2 {of_one:.3f}, ensemble R2 {of_all:.3f}, engine {model.engine_}")

    order = np.argsort(-model.alpha_)
    colours = np.where(np.isin(order, relevant), "tab:blue", "lightgrey")
    fig, ax = plt.subplots(figsize=(7.5, 3), layout="constrained")
    ax.bar(np.arange(len(order)), model.alpha_[order], color=colours)
    ax.set(xlabel="columns, by alpha (blue: relevant)", ylabel="alpha", xticks=[])
    ax.set_title(f"Deep networks: test R2 {of_all:.2f}, one network on all columns {of_one:.2f}")
    fig.savefig(args.output, dpi=120)


if __name__ == "__main__":
    main()
