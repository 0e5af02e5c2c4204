"""Graphs and maps of networks."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from randsub.inspection import NetworkDisplay
from randsub.inspection.graph_layout import legible, place_nodes
from randsub.inspection.network_display import coarse
from randsub.network import InferredNetwork

ALPHA = np.array([[0.0, 0.5, 0.2, 0.0], [0.5, 0.0, 0.7, 0.1]])


@pytest.fixture
def network():
    return InferredNetwork(ALPHA, ("b", "a"), ("b", "a", "c", "$d"), None, 0)


def test_the_weights_as_a_frame(network):
    frame = network.to_frame()
    np.testing.assert_array_equal(frame, ALPHA)
    assert frame.index.tolist() == ["b", "a"]
    assert frame.columns.tolist() == ["b", "a", "c", "$d"]
    links = network.links()
    for link in links.itertuples():
        assert frame.loc[link.regulator, link.target] == link.weight


def test_the_strongest_links_are_drawn(network):
    display = NetworkDisplay.from_estimator(network, n_links=3)
    pairs = list(zip(display.links_["regulator"], display.links_["target"], strict=True))
    assert pairs == [("a", "c"), ("a", "b"), ("b", "a")]
    assert sorted(display.positions_) == ["a", "b", "c"]
    for arrow, (source, target) in zip(display.arrows_, pairs, strict=True):
        assert arrow._posA_posB == [display.positions_[source], display.positions_[target]]
    # The stronger, the broader.
    widths = [arrow.get_linewidth() for arrow in display.arrows_]
    assert widths[0] > widths[1] == widths[2]
    places = {text.get_text(): text.xy for text in display.texts_}
    assert places == display.positions_
    display.figure_.canvas.draw()


def test_links_without_weight_are_no_links(network):
    display = NetworkDisplay.from_estimator(network, n_links=None)
    assert len(display.arrows_) == 5
    empty = NetworkDisplay.from_estimator(
        InferredNetwork(np.zeros((1, 2)), ("a",), ("a", "b"), None, 0)
    )
    assert empty.arrows_ == []
    assert empty.ax_.texts[0].get_text() == "no link has a positive weight"


def test_the_neighbourhood_of_a_gene():
    links = pd.DataFrame(
        [
            *(("a", "b", 0.9), ("a", "c", 0.8), ("x", "y", 0.7), ("b", "c", 0.6)),
            *(("d", "a", 0.5), ("c", "d", 0.4), ("a", "e", 0.3)),
        ],
        columns=["regulator", "target", "weight"],
    )
    display = NetworkDisplay.from_links(links, gene="a", n_links=3)
    pairs = list(zip(display.links_["regulator"], display.links_["target"], strict=True))
    # Three links of its own, and one among its neighbours that is as strong as the weakest.
    assert pairs == [("a", "b"), ("a", "c"), ("b", "c"), ("d", "a")]
    colors = dict(zip(sorted(display.positions_), display.nodes_.get_facecolors(), strict=True))
    assert not np.array_equal(colors["a"], colors["b"])
    assert np.array_equal(colors["d"], colors["b"])
    with pytest.raises(ValueError, match="starts or ends at the gene 'z'"):
        NetworkDisplay.from_links(links, gene="z")


def test_the_neighbourhood_in_a_network(network):
    display = NetworkDisplay.from_estimator(network, gene="b", n_links=1)
    assert sorted(display.positions_) == ["a", "b"]


def test_links_of_a_frame_need_not_be_sorted(network):
    shuffled = network.links().sample(frac=1.0, random_state=0)
    display = NetworkDisplay.from_links(shuffled, n_links=2, n_names=1)
    assert sorted(display.links_["weight"], reverse=True) == [0.7, 0.5]
    assert [text.get_text() for text in display.texts_] == ["a"]


@pytest.mark.parametrize("from_links", [False, True])
def test_the_map_holds_all_weights(network, from_links):
    if from_links:
        display = NetworkDisplay.from_links(network.links(), kind="map")
    else:
        display = NetworkDisplay.from_estimator(network, kind="map")
    # Those with the most weight first: a, b; and c, then a or b, whose sums are equal, then d.
    image = np.asarray(display.image_.get_array())
    assert image[0, 0] == 0.7
    assert np.sort(image, axis=None).tolist() == np.sort(ALPHA, axis=None).tolist()
    rows = [text.get_text() for text in display.ax_.get_yticklabels()]
    columns = [text.get_text() for text in display.ax_.get_xticklabels()]
    frame = network.to_frame()
    np.testing.assert_array_equal(image, frame.loc[rows, columns])
    assert display.colorbar_ is not None
    display.figure_.canvas.draw()


@settings(deadline=None, derandomize=True)
@given(shape=st.tuples(st.integers(1, 40), st.integers(1, 40)), seed=st.integers(0, 99))
def test_no_strong_link_is_lost_in_a_coarse_map(shape, seed):
    values = np.random.default_rng(seed).uniform(size=shape)
    small = coarse(values, 7, 11)
    assert small.shape == (min(shape[0], 7), min(shape[1], 11))
    assert small.max() == values.max()
    assert np.isin(small, values).all()


def test_large_maps_have_few_names():
    alpha = np.random.default_rng(0).uniform(size=(500, 1000))
    genes = tuple(f"g{j}" for j in range(1500))
    large = InferredNetwork(alpha, genes[:500], genes[500:], None, 0)
    display = NetworkDisplay.from_estimator(large, kind="map", colorbar=False)
    assert display.image_.get_array().shape == (400, 600)
    assert len(display.ax_.get_yticks()) <= 40
    assert len(display.ax_.get_xticks()) <= 40
    strongest = alpha.sum(axis=1).argmax()
    assert display.ax_.get_yticklabels()[0].get_text() == f"g{strongest}"
    assert display.colorbar_ is None


links = st.lists(st.tuples(st.integers(0, 12), st.integers(0, 12)), min_size=1, max_size=20)


@settings(deadline=None, derandomize=True, max_examples=30)
@given(links=links)
def test_no_two_nodes_are_in_one_place(links):
    ends = np.array(links).T
    places = place_nodes(ends, 13, 1.3)
    assert np.isfinite(places).all()
    apart = np.linalg.norm(places[:, np.newaxis] - places, axis=2) + np.eye(13)
    assert apart.min() > 0.05
    np.testing.assert_array_equal(places, place_nodes(ends, 13, 1.3))


@settings(deadline=None, derandomize=True)
@given(n=st.integers(1, 30), seed=st.integers(0, 99))
def test_names_do_not_overlap_and_none_is_left_out_in_vain(n, seed):
    rng = np.random.default_rng(seed)
    places, lengths = rng.uniform(size=(n, 2)), rng.integers(1, 10, size=n)
    width, height = 0.02, 0.05

    def overlap(i, j):
        reach = (lengths[i] + lengths[j]) * width / 2.0
        across, up = np.abs(places[i] - places[j])
        return across < reach and up < height

    kept = legible(places, lengths.tolist(), (width, height))
    assert kept[0] == 0
    assert not any(overlap(i, j) for i in kept for j in kept if i < j)
    for k in set(range(n)) - set(kept):
        assert any(overlap(i, k) for i in kept if i < k)


def test_a_chain_is_laid_out_straight():
    places = place_nodes(np.array([np.arange(4), np.arange(1, 5)]), 5, 1.0)
    steps = np.linalg.norm(np.diff(places, axis=0), axis=1)
    np.testing.assert_allclose(steps, 1.0, atol=0.05)
    assert np.linalg.norm(places[4] - places[0]) == pytest.approx(4.0, abs=0.2)


def test_it_is_drawn_where_and_how_the_user_wants_it(network):
    figure, axes = plt.subplots(1, 2)
    display = NetworkDisplay.from_estimator(
        network,
        ax=axes[1],
        node_kw={"fc": "red"},
        arrow_kw={"lw": 5},
        text_kw={"size": 4},
    )
    assert display.figure_ is figure
    assert display.ax_ is axes[1]
    assert {arrow.get_linewidth() for arrow in display.arrows_} == {5}
    assert {text.get_fontsize() for text in display.texts_} == {4}
    image = NetworkDisplay.from_estimator(network, kind="map", ax=axes[0], image_kw={"vmax": 2.0})
    assert image.image_.get_clim() == (0.0, 2.0)


def test_what_is_no_network(network):
    with pytest.raises(ValueError, match="DataFrame is not a network"):
        NetworkDisplay.from_estimator(network.links())
    with pytest.raises(ValueError, match="target, weight missing"):
        NetworkDisplay.from_links(pd.DataFrame({"regulator": ["a"]}))
    with pytest.raises(ValueError, match="kind must be 'graph' or 'map', got 'tree'"):
        NetworkDisplay.from_links(network.links(), kind="tree")
    with pytest.raises(ValueError, match="not finite"):
        NetworkDisplay.from_links(network.links().assign(weight=np.nan))
    with pytest.raises(ValueError, match="n_links must be"):
        NetworkDisplay.from_links(network.links(), n_links=0)
    with pytest.raises(ValueError, match=r"got shape \(0, 0\)"):
        NetworkDisplay.from_links(network.links(0), kind="map")
