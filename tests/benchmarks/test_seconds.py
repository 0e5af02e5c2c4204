"""benchmarks/seconds.py: its table, and one small cell."""

import numpy as np
import pytest

from randsub.datasets import make_friedman

# With a hundred models a round, the portfolio takes half a minute.
SMALL = {"max_iter": 2, "n_estimators": 6}


@pytest.fixture(scope="module")
def seconds(script):
    return script("seconds")


def test_table_of_what_is_known(seconds, tmp_path):
    results = seconds.stored(tmp_path / "seconds.csv")
    results.add({"base": "knn", "rows": 100, "columns": 30}, {"seconds": 1.26}, 300)
    results.add({"base": "knn", "rows": 100, "columns": 300}, {"seconds": 12.6}, 300)
    results.add({"base": "svm", "rows": 10_000, "columns": 30}, None, 300)
    lines = seconds.seconds_table(seconds.stored(results.path))
    # Sizes of which nothing is known have no line.
    assert lines[2:] == [
        "| kNN | 100 | 1.3 s | 13 s |  |  |",
        "| SVM | 10,000 | > 300 s |  |  |  |",
    ]


@pytest.mark.parametrize("base", ["knn", "auto"])
def test_a_cell_is_measured(seconds, tmp_path, monkeypatch, base):
    X, y, _ = make_friedman(60, 25, random_state=0)
    np.save(tmp_path / "X.npy", X)
    np.save(tmp_path / "y.npy", y)
    real = seconds.PRSRegressor
    monkeypatch.setattr(
        seconds, "PRSRegressor", lambda base, **more: real(base, **{**more, **SMALL})
    )
    row = seconds.measure({"base": base, "rows": 60, "columns": 30}, tmp_path)
    assert set(row) == set(seconds.MEASURES)
    assert (row["epochs"], row["models"] > 0) == (2, True)
