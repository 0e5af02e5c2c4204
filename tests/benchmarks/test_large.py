"""benchmarks/large.py on a small problem: what it writes, what it says, when it complains."""

import argparse
import tracemalloc

import numpy as np
import pytest


@pytest.fixture(scope="module")
def large(script):
    return script("large")


@pytest.mark.parametrize("portion", [2**22, 7 * 6], ids=["at once", "in portions"])
def test_rows_and_targets_belong_together(large, tmp_path, monkeypatch, portion):
    monkeypatch.setattr(large, "PORTION", portion)
    large.write_problem(tmp_path, 100, 6, "float64", seed=0)
    X, y = np.load(tmp_path / "X.npy"), np.load(tmp_path / "y.npy")
    assert X.shape == (100, 6)
    assert np.ptp(X, axis=0).min() > 0.5
    # All that is not noise of deviation 1 comes from the first five columns.
    waves = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2
    noise = y - waves - 10 * X[:, 3] - 5 * X[:, 4]
    assert 0.5 < noise.std() < 1.5


@pytest.mark.parametrize("trace", [False, True])
def test_figures_and_limit(large, tmp_path, capsys, trace):
    large.write_problem(tmp_path, 500, 8, "float32", seed=0)
    args = argparse.Namespace(
        folder=str(tmp_path),
        max_samples=50,
        repeats=1,
        epochs=5,
        jobs=1,
        seed=0,
        limit=1e9,
        trace=trace,
    )
    large.fit(args)
    told = capsys.readouterr().out
    assert "500 samples, 8 features of float32 (0 MB), max_samples=50, n_repeats=1" in told
    assert "5 epochs" in told
    assert ("allocated at most" in told) == trace
    # Whoever measures next in this process begins at nothing.
    assert not tracemalloc.is_tracing()
    args.limit = 1.0
    with pytest.raises(SystemExit, match="above the limit of 1 MB"):
        large.fit(args)
