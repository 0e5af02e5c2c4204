"""Effective sample size and models trained, along the epochs."""

import matplotlib.pyplot as plt
import numpy as np
from small_fit import small_fit

history = small_fit()[0].history_
epochs = history.index.to_numpy()
fig, axes = plt.subplots(2, 1, figsize=(6.8, 3.8), sharex=True)
axes[0].plot(epochs, history["min_ess"], linewidth=1)
axes[0].axhline(50, color="C3", linestyle="--", linewidth=1)
axes[0].annotate(
    "below this, models are trained anew",
    (epochs[-1], 50),
    color="C3",
    xytext=(0, -13),
    textcoords="offset points",
    ha="right",
)
axes[0].set(ylabel="effective\nsample size", ylim=(0, 105))
axes[1].plot(epochs, history["n_models_trained"] / 1000, color="0.4")
revived = epochs[history["revived"].to_numpy(dtype=bool)]
for epoch in revived:
    axes[1].axvline(epoch, color="C2", linestyle=":")
    axes[1].annotate("revival", (epoch, 0), color="C2", xytext=(4, 4), textcoords="offset points")
axes[1].set(xlabel="epoch", ylabel="thousand\nmodels", ylim=(0, None))
assert np.isfinite(history["min_ess"]).all()
