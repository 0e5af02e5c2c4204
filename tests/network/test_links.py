"""Lists of links, files and graphs."""

import json
import subprocess
import sys
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest

from randsub.exceptions import DoubtfulNetworkWarning
from randsub.network import InferredNetwork, infer_network
from randsub.network.links import GRAPHML

ALPHA = np.array([[0.0, 0.5, 0.2, 0.0], [0.5, 0.0, 0.7, 0.2]])


@pytest.fixture
def network():
    return InferredNetwork(ALPHA, ("b", "a"), ("b", "a", "c", "d & <e>"), None, 0)


def test_links_are_sorted_and_ties_broken_by_name(network):
    expected = [
        ("a", "c", 0.7),
        ("a", "b", 0.5),
        ("b", "a", 0.5),
        ("a", "d & <e>", 0.2),
        ("b", "c", 0.2),
        ("b", "d & <e>", 0.0),
    ]
    links = network.links()
    assert links.columns.tolist() == ["regulator", "target", "weight"]
    assert list(links.itertuples(index=False, name=None)) == expected
    assert network.links(2).equals(links[:2])
    assert len(network.links(0)) == 0


@pytest.mark.parametrize("n", [-1, 2.5, True])
@pytest.mark.parametrize("way", ["links", "to_csv", "to_graphml", "to_networkx"])
def test_a_number_of_links_that_is_none(network, tmp_path, way, n):
    if way == "to_networkx":
        pytest.importorskip("networkx")
    path = [tmp_path / "file"] if way in ("to_csv", "to_graphml") else []
    with pytest.raises(ValueError, match=f"whole number from 0, or None for all, got {n}"):
        getattr(network, way)(*path, n)
    assert not (tmp_path / "file").exists()


def test_csv_comes_back(network, tmp_path):
    network.to_csv(tmp_path / "links.csv")
    pd.testing.assert_frame_equal(
        pd.read_csv(tmp_path / "links.csv"), network.links(), check_dtype=False
    )
    network.to_csv(tmp_path / "links.tsv", 3, sep="\t", header=False)
    assert (tmp_path / "links.tsv").read_text().splitlines()[0] == "a\tc\t0.7"
    assert len((tmp_path / "links.tsv").read_text().splitlines()) == 3


def test_lists_for_arboreto_and_pyscenic(network, tmp_path):
    for kind in ("arboreto", "pyscenic"):
        network.to_csv(tmp_path / "adj.tsv", format=kind)
        back = pd.read_csv(tmp_path / "adj.tsv", sep="\t")
        assert back.columns.tolist() == ["TF", "target", "importance"]
        links = network.links(5)
        assert back["TF"].tolist() == links["regulator"].tolist()
        assert back["importance"].tolist() == links["weight"].tolist()
        assert (back["importance"] > 0.0).all()
    network.to_csv(tmp_path / "adj.csv", 2, format="arboreto")
    assert (tmp_path / "adj.csv").read_text().splitlines()[:2] == [
        "TF,target,importance",
        "a,c,0.7",
    ]
    with pytest.raises(ValueError, match="format must be 'links' or one of"):
        network.to_csv(tmp_path / "adj.xml", format="graphml")


def test_cytoscape_reads_what_is_written(network, tmp_path):
    network.to_cytoscape(tmp_path / "network.cyjs", 5)
    tree = json.loads((tmp_path / "network.cyjs").read_text())
    edges = {(e["data"]["source"], e["data"]["target"]) for e in tree["elements"]["edges"]}
    assert edges == {("a", "c"), ("a", "b"), ("b", "a"), ("a", "d & <e>"), ("b", "c")}
    networkx = pytest.importorskip("networkx")
    graph = networkx.readwrite.json_graph.cytoscape_graph(tree)
    assert sorted(graph.nodes) == ["a", "b", "c", "d & <e>"]
    assert graph.edges["a", "c"]["weight"] == 0.7
    assert graph.is_directed()


def read_graphml(path):
    tree = ElementTree.parse(path)
    nodes = [node.get("id") for node in tree.iter(f"{{{GRAPHML}}}node")]
    edges = {
        (edge.get("source"), edge.get("target")): float(edge.find(f"{{{GRAPHML}}}data").text)
        for edge in tree.iter(f"{{{GRAPHML}}}edge")
    }
    return nodes, edges


@pytest.mark.parametrize(("n", "n_edges"), [(None, 5), (2, 2), (6, 5)])
def test_graphml_has_all_genes_and_the_links_of_positive_weight(network, tmp_path, n, n_edges):
    network.to_graphml(tmp_path / "network.graphml", n)
    nodes, edges = read_graphml(tmp_path / "network.graphml")
    assert nodes == ["a", "b", "c", "d & <e>"]
    expected = {(r, t): w for r, t, w in network.links(n_edges).itertuples(index=False)}
    assert edges == expected


@pytest.mark.parametrize("character", ["\x00", "\x1b", "\ud800", "\uffff"], ids=ascii)
def test_graphml_cannot_hold_every_character(tmp_path, character):
    name = f"gene{character}1"
    network = InferredNetwork(np.array([[0.5]]), ("a",), (name,), None, 0)
    with pytest.raises(ValueError, match="which GraphML cannot hold") as caught:
        network.to_graphml(tmp_path / "network.graphml")
    assert repr(name) in str(caught.value)
    assert not (tmp_path / "network.graphml").exists()


def test_networkx_reads_what_is_written_and_gets_the_same_graph(network, tmp_path):
    networkx = pytest.importorskip("networkx")
    graph = network.to_networkx()
    assert sorted(graph.nodes) == ["a", "b", "c", "d & <e>"]
    assert graph.edges["a", "c"]["weight"] == 0.7
    assert graph.number_of_edges() == 5
    network.to_graphml(tmp_path / "network.graphml")
    back = networkx.read_graphml(tmp_path / "network.graphml")
    assert dict(back.edges) == dict(graph.edges)


def test_without_networkx_the_error_names_the_extra():
    code = (
        "import sys; sys.modules['networkx'] = None\n"
        "import numpy as np\n"
        "from randsub.network import InferredNetwork\n"
        "InferredNetwork(np.eye(2), ('a', 'b'), ('a', 'b'), None, 0).to_networkx()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "ImportError: to_networkx needs networkx: pip install randsub[graph]" in done.stderr


@pytest.mark.parametrize("n", [-1, 2.5, "all", True])
def test_a_number_of_links_is_refused_before_any_work(n, monkeypatch):
    def fit(*args, **kwargs):
        raise AssertionError("the fit has begun")

    monkeypatch.setattr("randsub.network.infer.PRSNetwork.fit", fit)
    with pytest.raises(ValueError, match=r"whole number from 0, or None for all, got"):
        infer_network(np.eye(3), n_links=n)


def test_lists_with_a_rate_go_to_files_and_graphs(tmp_path):
    rng = np.random.default_rng(0)
    weights, shadows = rng.uniform(0.5, 1.0, size=(4, 9)), rng.uniform(0.0, 0.6, size=(4, 9))
    genes = tuple("abcd"), tuple("efghijklm")
    network = InferredNetwork(weights, *genes, None, 0, shadows)
    links = network.links(fdr=0.1)
    assert 0 < len(links) < 36
    network.to_graphml(tmp_path / "network.graphml", fdr=0.1)
    tree = ElementTree.parse(tmp_path / "network.graphml")
    edges = [
        [float(one.text) for one in edge.iter(f"{{{GRAPHML}}}data")]
        for edge in tree.iter(f"{{{GRAPHML}}}edge")
    ]
    assert edges == links[["weight", "q_value"]].to_numpy().tolist()
    network.to_cytoscape(tmp_path / "network.cyjs", fdr=0.1)
    tree = json.loads((tmp_path / "network.cyjs").read_text())
    assert [edge["data"]["q_value"] for edge in tree["elements"]["edges"]] == list(links["q_value"])
    pytest.importorskip("networkx")
    graph = network.to_networkx(fdr=0.1)
    assert graph.number_of_edges() == len(links)
    assert {"weight", "q_value"} == {*next(iter(graph.edges.values()))}


@pytest.mark.parametrize(("n_above", "warns"), [(4, False), (5, True), (9, True), (10, False)])
def test_a_list_that_would_be_too_short_says_so(n_above, warns):
    weights, shadows = np.full((2, 20), 0.1), np.full((2, 20), 0.5)
    weights.flat[:n_above] = 0.9
    genes = tuple("ab"), tuple(f"t{n}" for n in range(20))
    network = InferredNetwork(weights, *genes, None, 0, shadows)
    if not warns:
        assert len(network.links(fdr=0.1)) == (n_above if n_above == 10 else 0)
        return
    with pytest.warns(DoubtfulNetworkWarning, match="needs at least about 10 of them"):
        assert len(network.links(fdr=0.1)) == 0
