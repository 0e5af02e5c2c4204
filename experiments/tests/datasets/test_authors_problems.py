"""The files of the paper's authors and our generators: one law, theirs and ours."""

from pathlib import Path

import numpy as np
import pytest

from problem_truth import (
    PROBLEMS,
    checkerboard_formula,
    fit_clusters,
    friedman_formula,
    is_separable,
    lag_correlation,
)
from randsub.exceptions import DatasetNotFoundError
from randsub_experiments.datasets import load_simulated


def chain_statistics(X, y, relevant, formula):
    noise = y - formula(X[:, relevant])
    return {
        "mean of X": X.mean(),
        "sd of X": X.std(),
        "sd of the column means": X.mean(axis=0).std(),
        "fraction in [0, 1]": np.mean((X >= 0) & (X <= 1)),
        "correlation at lag 1": lag_correlation(X, 1),
        "correlation at lag 2": lag_correlation(X, 2),
        "correlation at lag 50": lag_correlation(X, 50),
        "mean of y": y.mean(),
        "sd of y": y.std(),
        "mean of the noise": noise.mean(),
        "sd of the noise": noise.std(),
    }


def checkerboard_statistics(X, y, relevant):
    return chain_statistics(X, y, relevant, checkerboard_formula)


def friedman_statistics(X, y, relevant):
    return chain_statistics(X, y, relevant, friedman_formula)


def independent_statistics(X, relevant):
    irrelevant = np.delete(X, relevant, axis=1)
    return {
        "mean of the irrelevant": irrelevant.mean(),
        "sd of the irrelevant": irrelevant.std(),
        "sd of the irrelevant means": irrelevant.mean(axis=0).std(),
        "correlation at lag 1": lag_correlation(irrelevant, 1),
        "correlation at lag 50": lag_correlation(irrelevant, 50),
    }


def hypercube_statistics(X, y, relevant):
    sizes, centres, covariances = fit_clusters(X[:, relevant], y, n_init=2)
    spreads = np.linalg.eigvalsh(covariances)
    return independent_statistics(X, relevant) | {
        "fraction of class 1": y.mean(),
        "size of a cluster in its class": sizes.max(),
        "distance of a centre from 0": np.median(np.abs(centres)),
        "trace within a cluster": spreads.sum(axis=1).mean(),
        "log of the widest direction": np.log(spreads[:, -1]).mean(),
        "log of the flattest direction": np.log(spreads[:, 0]).mean(),
    }


def linear_statistics(X, y, relevant):
    x = X[:, relevant]
    direction = x[y == 1].mean(axis=0) - x[y == 0].mean(axis=0)
    return independent_statistics(X, relevant) | {
        "mean of the relevant": x.mean(),
        "sd of the relevant": x.std(),
        "length of the direction": np.linalg.norm(direction),
        "smallest weight over the largest": direction.min() / direction.max(),
        "mean weight over the largest": direction.mean() / direction.max(),
    }


STATISTICS = {
    "checkerboard": checkerboard_statistics,
    "friedman": friedman_statistics,
    "hypercube": hypercube_statistics,
    "linear": linear_statistics,
}


def read_authors(shared_data: Path, problem: str, number: int):
    try:
        file = load_simulated(problem, number, shared_data)
    except DatasetNotFoundError as error:
        pytest.skip(f"the authors' files are not at hand: {error}")
    X = np.concatenate([file.X_train, file.X_val, file.X_test]).astype(float)
    return X, np.concatenate([file.y_train, file.y_val, file.y_test]), file.relevant


@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.parametrize("number", [1, 2])
def test_authors_files_have_our_form(shared_data, name, number):
    X, y, relevant = read_authors(shared_data, name, number)
    ours_X, ours_y, ours_relevant = PROBLEMS[name].make(random_state=0)
    assert X.shape == ours_X.shape
    assert y.shape == ours_y.shape
    assert relevant.tolist() == ours_relevant.tolist()


@pytest.mark.parametrize("name", PROBLEMS)
def test_authors_files_look_like_draws_of_ours(shared_data, name):
    files = [read_authors(shared_data, name, number) for number in (1, 2)]
    statistics = STATISTICS[name]
    ours = [statistics(*PROBLEMS[name].make(random_state=seed)) for seed in range(15)]
    for theirs in (statistics(*file) for file in files):
        for what, value in theirs.items():
            drawn = [one[what] for one in ours]
            # The spread is itself estimated, from 15 draws: 4 of Student's are about 3.2 of Gauss.
            spread = np.std(drawn, ddof=1) * np.sqrt(1 + 1 / len(drawn))
            assert value == pytest.approx(np.mean(drawn), abs=4 * spread), what


@pytest.mark.parametrize("number", [1, 2])
def test_authors_hypercube_has_vertices_and_not_the_identity(shared_data, number):
    X, y, relevant = read_authors(shared_data, "hypercube", number)
    _, centres, covariances = fit_clusters(X[:, relevant], y)
    np.testing.assert_allclose(np.abs(centres), 1, atol=0.4)
    assert len({tuple(np.sign(centre)) for centre in centres}) == 4
    # 125 samples of N(0, I) in five dimensions have no direction with a variance below a half.
    assert np.linalg.eigvalsh(covariances)[:, 0].max() < 0.5


@pytest.mark.parametrize("number", [1, 2])
def test_authors_linear_is_balanced_and_separable(shared_data, number):
    X, y, relevant = read_authors(shared_data, "linear", number)
    assert y.sum() == len(y) // 2
    assert is_separable(X[:, relevant], y)
    assert not is_separable(X[:, 10:20], y)
