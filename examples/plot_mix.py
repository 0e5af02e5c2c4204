"""
Several base models, whose shares are learned
=============================================

``estimator="auto"`` mixes nearest neighbours, trees, support vector machines and gradient boosting.
Each base model learns which features it needs, in the light of what the others explain, and the
shares of the base models in the ensemble are learned along with that.
"""

import matplotlib.pyplot as plt

from randsub import PRSRegressor
from randsub.datasets import make_friedman
from randsub.inspection import ConvergenceDisplay, ImportanceDisplay

X, y, relevant = make_friedman(n_samples=500, n_irrelevant=45, random_state=0)
train, test = slice(0, 300), slice(300, 500)

model = PRSRegressor("auto", n_estimators=50, random_state=0).fit(X[train], y[train])

# %%
# All base models have the same share at first. Once their features are known, those that reduce the
# loss of the ensemble gain what the others lose; a base model that is left with less than 0.02 is
# dropped, and nothing is trained for it any more.

print(f"R2 on new samples: {model.score(X[test], y[test]):.2f}")
for name, share in model.shares_.items():
    print(f"{name:9} share {share:.2f}, {model.estimators_bases_.count(name)} of 50 members")

ConvergenceDisplay.from_estimator(model)

# %%
# The five relevant features, and which base model uses which of them.

ImportanceDisplay.from_estimator(model, by_base=True, n_features=8)
print("relevant:", sorted(relevant.tolist()))
plt.show()
