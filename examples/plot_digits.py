"""
Smooth importances on images
============================

Which pixels distinguish a five from a six? Each pixel is a column. Without a penalty, alpha selects
single pixels. The fused lasso penalises differences between neighbours, so that whole regions are
selected, and the expected size penalises the number of pixels that members see. With the proximal
optimiser, neighbours can have exactly the same alpha.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier

from randsub import PRSClassifier
from randsub.inspection import AlphaMapDisplay
from randsub.penalties import ExpectedSize, FusedLasso
from randsub.solver import Solver

X, y = load_digits(return_X_y=True)
chosen = np.isin(y, [5, 6])
noise = np.random.default_rng(0).normal(scale=4, size=(chosen.sum(), X.shape[1]))
X, y = X[chosen] + noise, y[chosen]
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)

penalties = {
    "no penalty": None,
    "fused lasso": FusedLasso.grid(3e-3, 8, 8),
    "fused lasso + size": FusedLasso.grid(3e-3, 8, 8) + ExpectedSize(3e-3),
}
models = []
for name, penalty in penalties.items():
    model = PRSClassifier(
        KNeighborsClassifier(),
        penalty=penalty,
        solver=Solver(
            optimizer="adam" if penalty is None else "prox_adam", learning_rate=2e-3, n_batches=2
        ),
        max_iter=300,
        random_state=0,
    )
    models.append(model.fit(X_train, y_train))
    accuracy = model.score(X_test, y_test)
    print(f"{name}: accuracy {accuracy:.3f}, {model.expected_size_:.1f} pixels per member")

# %%
# All maps have the same colour scale.

AlphaMapDisplay.from_estimator(models, (8, 8), names=list(penalties))
plt.show()

# %%
# Some of the images, with noise.

fig, axes = plt.subplots(1, 6, figsize=(7.5, 1.7), layout="constrained")
for ax, image, label in zip(axes, X_test, y_test, strict=False):
    ax.imshow(image.reshape(8, 8), cmap="gray_r")
    ax.set(xticks=[], yticks=[], title=f"{label}")
plt.show()
