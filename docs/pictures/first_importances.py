"""The picture of the first page, of the fit on that page."""

from sklearn.neighbors import KNeighborsRegressor

from randsub import PRSRegressor
from randsub.datasets import make_friedman
from randsub.inspection import ImportanceDisplay

X, y, _ = make_friedman(n_samples=400, n_irrelevant=20, correlation=0.0, random_state=0)
model = PRSRegressor(KNeighborsRegressor(), random_state=0).fit(X[:300], y[:300])
ImportanceDisplay.from_estimator(model, n_features=10)
