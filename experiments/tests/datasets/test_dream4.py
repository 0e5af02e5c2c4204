"""DREAM4: both sizes, both layouts, and what a gold standard must be."""

import numpy as np
import pandas as pd
import pytest
from sklearn.utils._param_validation import InvalidParameterError

import loader_files
from randsub.exceptions import DatasetFormatError, DatasetNotFoundError
from randsub_experiments.datasets import load_dream4


def write_challenge(home, size, number, arrays, skip_zeros=False):
    """The challenge's own files: expression with a header, and a row for each pair of genes."""
    names = arrays["gene_names"]
    stem = home / f"insilico_size{size}_{number}"
    X = pd.DataFrame(arrays["X"], columns=names)
    X.to_csv(f"{stem}_multifactorial.tsv", sep="\t", index=False)
    rows = [
        (a, b, arrays["gold"][i, j])
        for i, a in enumerate(names)
        for j, b in enumerate(names)
        if i != j and (arrays["gold"][i, j] or not skip_zeros)
    ]
    frame = pd.DataFrame(rows)
    frame.to_csv(f"{stem}_goldstandard.tsv", sep="\t", index=False, header=False)


@pytest.fixture
def challenge(tmp_path):
    arrays = loader_files.dream4(10)
    arrays["X"] = arrays["multifactorial"].astype(float)
    return tmp_path, arrays


def test_a_network_of_a_hundred_genes_has_the_papers_split(tmp_path):
    arrays = loader_files.dream4(100)
    loader_files.save(tmp_path / "dream4_multifactorial_size100_net5.npz", arrays)
    network = load_dream4(5, tmp_path)
    np.testing.assert_array_equal(network.X_train, arrays["X_LS"])
    np.testing.assert_array_equal(network.X_val, arrays["X_VS"])
    np.testing.assert_array_equal(network.gold, arrays["gold"] == 1)
    assert network.gold.dtype == np.bool_
    assert network.gene_names == tuple(arrays["gene_names"].tolist())
    assert network.experiments == {}


def test_a_network_of_ten_genes_has_further_experiments(tmp_path):
    arrays = loader_files.dream4(10)
    loader_files.save(tmp_path / "dream4_size10_net1.npz", arrays)
    network = load_dream4(1, tmp_path, size=10)
    np.testing.assert_array_equal(network.X_train, arrays["multifactorial"])
    assert network.X_val.shape == (0, 10)
    expected = {"knockouts", "knockdowns", "wildtype", "timeseries", "ts_time"}
    assert network.experiments.keys() == expected
    for name in expected:
        np.testing.assert_array_equal(network.experiments[name], arrays[name])


@pytest.mark.parametrize("skip_zeros", [False, True])
def test_the_challenges_own_files_are_read(challenge, skip_zeros):
    home, arrays = challenge
    write_challenge(home, 10, 2, arrays, skip_zeros)
    network = load_dream4(2, home, size=10)
    np.testing.assert_allclose(network.X_train, arrays["X"])
    assert network.X_val.shape == (0, 10)
    np.testing.assert_array_equal(network.gold, arrays["gold"] == 1)
    assert network.gene_names == tuple(arrays["gene_names"].tolist())


def test_expression_without_its_gold_standard_is_an_error(challenge):
    home, arrays = challenge
    write_challenge(home, 10, 2, arrays)
    (home / "insilico_size10_2_goldstandard.tsv").unlink()
    with pytest.raises(DatasetNotFoundError, match="insilico_size10_2_goldstandard"):
        load_dream4(2, home, size=10)


@pytest.mark.parametrize("content", ["G1\tG2\n", "G1\tG99\t1\n", "G1\tG2\t7\n", "G1\tG1\t1\n", ""])
def test_a_foreign_gold_standard_is_refused(challenge, content):
    home, arrays = challenge
    write_challenge(home, 10, 2, arrays)
    (home / "insilico_size10_2_goldstandard.tsv").write_text(content)
    with pytest.raises(DatasetFormatError, match="goldstandard"):
        load_dream4(2, home, size=10)


@pytest.mark.parametrize("content", ["", "G1\tG2\n1\t2\n", "\t".join(map(str, range(10)))])
def test_foreign_expression_is_refused(challenge, content):
    home, arrays = challenge
    write_challenge(home, 10, 2, arrays)
    (home / "insilico_size10_2_multifactorial.tsv").write_text(content)
    with pytest.raises(DatasetFormatError, match="multifactorial"):
        load_dream4(2, home, size=10)


@pytest.mark.parametrize("entry", [2, -1])
def test_gold_must_be_zeros_and_ones(tmp_path, entry):
    arrays = loader_files.dream4(10)
    arrays["gold"][0, 1] = entry
    loader_files.save(tmp_path / "dream4_size10_net1.npz", arrays)
    with pytest.raises(DatasetFormatError, match="gold should be a matrix of 0 and 1"):
        load_dream4(1, tmp_path, size=10)


def test_a_gene_does_not_regulate_itself(tmp_path):
    arrays = loader_files.dream4(10)
    arrays["gold"][3, 3] = 1
    loader_files.save(tmp_path / "dream4_size10_net1.npz", arrays)
    with pytest.raises(DatasetFormatError, match="zeros on the diagonal"):
        load_dream4(1, tmp_path, size=10)


@pytest.mark.parametrize(("name", "value"), [("network", 0), ("network", 6), ("size", 50)])
def test_bad_parameters_are_named(name, value, tmp_path):
    arguments = {"network": 1, "size": 10, name: value}
    with pytest.raises(InvalidParameterError, match=f"'{name}' parameter of load_dream4"):
        load_dream4(**arguments, data_home=tmp_path)


@pytest.mark.parametrize(
    ("network", "size", "n_edges"), [(1, 100, 176), (2, 100, 249), (1, 10, 15), (2, 10, 16)]
)
def test_the_real_networks_have_their_links(shared_data, network, size, n_edges):
    try:
        found = load_dream4(network, shared_data, size)
    except DatasetNotFoundError as error:
        pytest.skip(str(error))
    assert found.gold.sum() == n_edges
    if size == 100:
        assert (len(found.X_train), len(found.X_val)) == (90, 10)
