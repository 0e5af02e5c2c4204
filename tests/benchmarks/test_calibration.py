"""benchmarks/calibration.py: its table, and one small cell."""

from types import SimpleNamespace

import numpy as np
import pytest

from randsub.datasets import make_hypercube


@pytest.fixture(scope="module")
def calibration(script):
    return script("calibration")


def test_table_of_means(calibration, tmp_path):
    results = calibration.stored(tmp_path / "calibration.csv")
    for seed, after in ((200, 0.4), (201, 0.8)):
        row = dict.fromkeys(calibration.MEASURES, 0.1) | {
            "log_loss_before": 0.6,
            "log_loss_after": after,
        }
        results.add({"base": "auto", "table": "t", "seed": seed}, row, 0.0)
    lines = calibration.summary(calibration.stored(results.path))
    assert lines[2:] == [
        '| "auto" | 2 | 0.600 | 0.600 | 0.100 | 0.100 | 1 of 2 |',
        '| "auto", t | 2 | 0.600 | 0.600 | 0.100 | 0.100 | 1 of 2 |',
    ]


def test_a_cell_is_measured(calibration, monkeypatch):
    X, y, _ = make_hypercube(300, 3, random_state=0)
    part = {"train": slice(0, 100), "val": slice(100, 200), "test": slice(200, 300)}
    drawn = SimpleNamespace(
        **{f"X_{name}": X[rows] for name, rows in part.items()},
        **{f"y_{name}": y[rows] for name, rows in part.items()},
    )
    monkeypatch.setattr(
        calibration,
        "datasets",
        SimpleNamespace(load_tabular=lambda *_, **__: None, sample_tabular=lambda *_, **__: drawn),
    )
    real = calibration.PRSClassifier
    monkeypatch.setattr(
        calibration,
        "PRSClassifier",
        lambda base, **more: real(base, **more, max_iter=2, n_estimators=10),
    )
    row = calibration.measure({"base": "tree", "table": "t", "seed": 200}, None)
    assert set(row) == set(calibration.MEASURES)
    # The temperature is fitted on validation samples of the same law: it changes the loss.
    assert row["temperature"] != 1.0
    assert row["log_loss_before"] != row["log_loss_after"]
    assert np.isfinite([*row.values()]).all()
