"""Which parts of an image does a convolutional network need? Digits, explained by patches.

The base models are small convolutional networks. A mask keeps some of sixteen patches of 2 x 2
pixels, and the other pixels are 0; alpha is learned per patch. All networks of a batch are trained
at once, on a GPU if there is one (pip install "randsub[torch]").

    python examples/deep_digits.py --output deep_digits.png
"""

import argparse
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from randsub import PRSClassifier
from randsub.penalties import ExpectedSize
from randsub.solver import Solver
from randsub.torch import TorchClassifier

SIDE, PATCH = 8, 2


def convolutional(n_columns: int, n_classes: int) -> Any:
    """Two convolutions and a linear layer, for images of 8 x 8 pixels."""
    from torch import nn

    return nn.Sequential(
        nn.Unflatten(1, (1, SIDE, SIDE)),
        nn.Conv2d(1, 8, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(8, 16, 3, padding=1),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(16 * 4 * 4, n_classes),
    )


def patches() -> np.ndarray:
    """The patch of each pixel, (64,)."""
    rows, columns = np.divmod(np.arange(SIDE * SIDE), SIDE)
    return rows // PATCH * (SIDE // PATCH) + columns // PATCH


def fitted(X: Any, y: Any, penalty: float) -> PRSClassifier:
    base = TorchClassifier(convolutional, lr=0.01, max_epochs=8, batch_size=64)
    return PRSClassifier(
        base,
        feature_groups=patches(),
        n_estimators=20,
        alpha_init=0.5,
        penalty=ExpectedSize(penalty),
        voting="soft",
        max_iter=60,
        solver=Solver(n_batches=2, n_revivals=0, learning_rate=5e-3),
        random_state=0,
    ).fit(X, y)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--output", type=Path, default=Path("deep_digits.png"))
    parser.add_argument("--penalty", type=float, default=0.02)
    args = parser.parse_args()
    images, labels = load_digits(return_X_y=True)
    chosen = np.isin(labels, [3, 8])
    X, y = images[chosen], labels[chosen]
    X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0, test_size=0.4)
    model = fitted(X_train, y_train, args.penalty)
    accuracy = model.score(X_test, y_test)
    size = model.expected_size_ / PATCH**2
    print(f"accuracy {accuracy:.3f}, {size:.1f} of 16 patches per network, engine {model.engine_}")

    fig, axes = plt.subplots(1, 3, figsize=(7.5, 2.9), layout="constrained")
    for ax, label in zip(axes, (3, 8), strict=False):
        ax.imshow(X[y == label].mean(axis=0).reshape(SIDE, SIDE), cmap="gray_r")
        ax.set_title(f"mean {label}")
    shown = axes[2].imshow(model.alpha_.reshape(SIDE, SIDE), vmin=0.0, vmax=1.0)
    axes[2].set_title("alpha of the patches")
    fig.colorbar(shown, ax=axes[2], shrink=0.8)
    for ax in axes:
        ax.set(xticks=[], yticks=[])
    fig.suptitle(f"A three or an eight: test accuracy {accuracy:.2f}")
    fig.savefig(args.output, dpi=120)


if __name__ == "__main__":
    main()
