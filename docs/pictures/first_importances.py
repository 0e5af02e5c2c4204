"""The picture of the first page: importances of a small fit."""

from small_fit import small_fit

from randsub.inspection import ImportanceDisplay

ImportanceDisplay.from_estimator(small_fit()[0], n_features=10)
