"""
Columns that belong together
============================

Twelve sensors, each with the values of the last four hours: 48 columns. Three sensors are relevant.
With ``feature_groups`` the four columns of a sensor are drawn together, with one alpha per sensor,
so that alpha ranks sensors rather than columns.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.neighbors import KNeighborsRegressor

from randsub import PRSRegressor

rng = np.random.default_rng(0)
n_sensors, n_lags, n_samples = 12, 4, 400
readings = rng.normal(size=(n_samples, n_sensors, n_lags)).cumsum(axis=2) / 2
names = [f"sensor{s:02d}_lag{lag}" for s in range(n_sensors) for lag in range(n_lags)]
X = pd.DataFrame(readings.reshape(n_samples, -1), columns=names)
y = (
    2 * readings[:, 2].mean(axis=1)
    + readings[:, 5].max(axis=1)
    - readings[:, 9, 0] * readings[:, 9, 3]
    + 0.2 * rng.normal(size=n_samples)
)
train, test = slice(0, 300), slice(300, None)

# %%
# ``"prefix"`` groups the columns by the part of the name before the last underscore. Labels, lists
# of columns and a dictionary work as well.

grouped = PRSRegressor(KNeighborsRegressor(), feature_groups="prefix", random_state=0)
grouped.fit(X[train], y[train])
apart = PRSRegressor(KNeighborsRegressor(), random_state=0).fit(X[train], y[train])
print(f"sensors drawn as a whole: R2 {grouped.score(X[test], y[test]):.2f}")
print(f"each column on its own:   R2 {apart.score(X[test], y[test]):.2f}")

# %%
# Alpha per sensor, and alpha per column without groups. Sensors 2, 5 and 9 are relevant.

fig, axes = plt.subplots(1, 2, figsize=(7.5, 3.4), layout="constrained", sharey=True)
matters = np.isin(np.arange(n_sensors), [2, 5, 9])
axes[0].barh(np.arange(n_sensors), grouped.group_alpha_, color=np.where(matters, "C3", "0.7"))
axes[0].set(title="drawn together", xlabel="alpha of the sensor", ylabel="sensor", xlim=(0, 1.05))
image = axes[1].imshow(apart.alpha_.reshape(n_sensors, n_lags), aspect="auto", vmin=0, vmax=1)
axes[1].set(title="each column on its own", xlabel="lag", xticks=range(n_lags))
axes[1].set(yticks=range(n_sensors))
axes[1].invert_yaxis()
fig.colorbar(image, ax=axes[1], label="alpha of the column")
for side in ("top", "right"):
    axes[0].spines[side].set_visible(False)
plt.show()
