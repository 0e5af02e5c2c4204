"""benchmarks/genotypes.py on a small problem: what it simulates, what it counts, what it says."""

import sys

import numpy as np
import pytest

from randsub import _tables

N, M = 200, 3000


@pytest.fixture(scope="module")
def genotypes(script):
    return script("genotypes")


@pytest.fixture(scope="module")
def written(genotypes, tmp_path_factory):
    folder = tmp_path_factory.mktemp("genotypes")
    genotypes.write_problem(folder, N, M, False, seed=0)
    return folder


def load(folder):
    X, X_new = (np.load(folder / f"{name}.npy", mmap_mode="r") for name in ("X", "X_new"))
    return X, X_new, np.load(folder / "problem.npz")


def test_the_files_are_column_major_and_reproducible(genotypes, written, tmp_path):
    X, X_new, problem = load(written)
    assert (X.shape, X.dtype, X_new.shape) == ((N, M), np.int8, (genotypes.N_NEW, M))
    assert X.flags.f_contiguous
    assert set(np.unique(X)) == {0, 1, 2}
    genotypes.write_problem(tmp_path, N, M, True, seed=0)
    again, _, labels = load(tmp_path)
    np.testing.assert_array_equal(again, X)
    np.testing.assert_array_equal(labels["causal"], problem["causal"])
    assert set(labels["y"]) == {0, 1}


def test_columns_of_a_block_are_correlated_and_others_are_not(written):
    X, X_new, problem = load(written)
    both = np.concatenate([X, X_new]).astype(float)
    blocks = problem["blocks"]
    widths = np.bincount(blocks)
    assert widths.min() >= 20
    assert widths[:-1].max() <= 100
    frequency = both.mean(axis=0) / 2
    assert 0.02 < frequency.min() < frequency.max() < 0.6
    squares = np.corrcoef(both[:, :500].T) ** 2
    same = blocks[:500, np.newaxis] == blocks[:500]
    neighbours = [squares[j, j + 1] for j in range(499) if same[j, j + 1]]
    assert np.mean(neighbours) > 0.2
    assert squares[~same].mean() < 0.01


def test_two_columns_act_only_together(written):
    X, X_new, problem = load(written)
    causal = problem["causal"]
    assert len(set(problem["blocks"][causal])) == 20
    genes = np.concatenate([X, X_new])[:, causal].astype(float)
    genes = (genes - genes.mean(axis=0)) / genes.std(axis=0)
    y = np.concatenate([problem["y"], problem["y_new"]])
    y = (y - y.mean()) / y.std()
    marginal = np.abs(y @ genes) / len(y)
    assert marginal[:2].max() < 0.1 < marginal[2:].mean()
    assert abs(y @ (genes[:, 0] * genes[:, 1])) / len(y) > 0.2


def test_too_few_blocks_are_refused(genotypes, tmp_path):
    with pytest.raises(SystemExit, match="100 features have"):
        genotypes.write_problem(tmp_path, 20, 100, False, seed=0)


def test_blocks_are_ranked_by_their_best_column(genotypes):
    blocks = np.repeat(np.arange(200), 30)
    causal = np.arange(20) * 30 + 5
    scores = np.zeros(6000)
    # A neighbour of each causal column but the first; before them, columns of other blocks.
    scores[causal[1:] + 1] = 1.0 - np.arange(19) / 100.0
    scores[6000 - np.arange(10) * 30 - 1] = 2.0
    found, pair = genotypes.ranking(scores, blocks, causal)
    assert found["at 20"] == 0.5
    assert found["at 100"] == 0.95
    # A block without a score is the last.
    assert pair == [11, 200]
    assert 0.0 < found["AUPR"] < 1.0
    scores[causal] = 3.0
    found, pair = genotypes.ranking(scores, blocks, causal)
    assert found == {"AUPR": 1.0, "at 20": 1.0, "at 100": 1.0}
    assert pair == [20, 20]


def test_the_univariate_test_is_the_squared_correlation(genotypes, written):
    X, _, problem = load(written)
    scores = genotypes.univariate_scores(X, problem["y"])
    expected = [np.corrcoef(X[:, j], problem["y"])[0, 1] ** 2 for j in range(0, M, 100)]
    np.testing.assert_allclose(scores[::100], expected, atol=1e-12)


def test_columns_that_are_read_are_counted(genotypes, written, monkeypatch):
    X, _, _ = load(written)
    monkeypatch.setattr(_tables.ScaledArray, "take", _tables.ScaledArray.take)
    assert genotypes.count_columns(X).all()
    monkeypatch.setattr(_tables, "WHOLE", 1000)
    is_read = genotypes.count_columns(X)
    table = genotypes.ScaledArray(X, _Unscaled(), np.dtype(float))
    table.take(np.arange(3), np.array([7, 3]))
    assert np.flatnonzero(is_read).tolist() == [3, 7]


class _Unscaled:
    def moments(self, columns):
        return np.zeros(len(columns)), np.ones(len(columns))


@pytest.mark.parametrize("base, trait", [("knn", []), ("ridge", ["--binary"])])
def test_it_reports(genotypes, monkeypatch, capsys, base, trait):
    arguments = ["--samples", "100", "--features", "1500", "1600", "--base", base, *trait]
    arguments += ["--epochs", "2", "--jobs", "1"]
    monkeypatch.setattr(sys, "argv", ["genotypes.py", *arguments])
    options = genotypes.parse()
    monkeypatch.setattr(genotypes.subprocess, "run", lambda command, check: fitted(command))

    def fitted(command):
        with monkeypatch.context() as patch:
            patch.setattr(_tables.ScaledArray, "take", _tables.ScaledArray.take)
            genotypes.fit(genotypes.parse(command[2:]))

    genotypes.report(options, options.features[0], 0)
    told = capsys.readouterr().out
    assert told.startswith(f"100 samples, 1500 features (0 MB), {base}, 1 job(s), seed 0: ")
    assert "1500 columns read (100.0%)" in told
    assert "2 epochs" in told
    assert "  PRS: AUPR" in told
    assert "  univariate test: AUPR" in told
    assert f"  {'accuracy' if trait else 'R2'} on 500 new samples: PRS " in told
