"""Scores against scikit-learn where nothing is tied, and against all orders where something is."""

from itertools import permutations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.metrics import average_precision_score, roc_auc_score

from randsub.network import InferredNetwork, score_network
from randsub.network.network_scores import score_pairs


def average_precision(order):
    """Of truth values in ranked order, by its definition."""
    hits = np.flatnonzero(order)
    return np.mean((1 + np.arange(len(hits))) / (1 + hits))


pairs = st.lists(st.tuples(st.integers(0, 3), st.booleans()), min_size=2, max_size=6).filter(
    lambda listed: 0 < sum(link for _, link in listed) < len(listed)
)


@settings(max_examples=100, deadline=None, derandomize=True)
@given(pairs)
def test_ties_are_the_mean_over_all_orders(listed):
    weights = np.array([weight / 4 for weight, _ in listed])
    is_link = np.array([link for _, link in listed])
    precisions, early = [], []
    for order in permutations(range(len(listed))):
        ranked = is_link[list(order)]
        if np.all(np.diff(weights[list(order)]) <= 0):
            precisions.append(average_precision(ranked))
            early.append(ranked[: is_link.sum()].mean())
    scores = score_pairs(weights, is_link)
    assert scores.aupr == pytest.approx(np.mean(precisions))
    assert scores.early_precision == pytest.approx(np.mean(early))
    assert scores.auroc == pytest.approx(roc_auc_score(is_link, weights))
    assert (scores.n_edges, scores.n_pairs) == (is_link.sum(), len(listed))


@settings(max_examples=30, deadline=None, derandomize=True)
@given(st.integers(0, 2**32 - 1))
def test_without_ties_it_is_the_average_precision(seed):
    rng = np.random.default_rng(seed)
    weights, is_link = rng.random(40), rng.random(40) < 0.3
    is_link[:2] = [True, False]
    expected = average_precision_score(is_link, weights)
    assert score_pairs(weights, is_link).aupr == pytest.approx(expected)


def test_equal_weights_score_as_a_random_ranking_does():
    rng = np.random.default_rng(0)
    is_link = np.arange(200) < 20
    expected = np.mean([average_precision(rng.permutation(is_link)) for _ in range(4000)])
    scores = score_pairs(np.zeros(200), is_link)
    assert scores.aupr == pytest.approx(expected, abs=0.002)
    assert (scores.auroc, scores.early_precision) == (0.5, 0.1)


NAMES = ["a", "b", "c", "d"]
GOLD = np.array([[0, 1, 1, 0], [0, 0, 0, 1], [0, 0, 0, 0], [0, 0, 0, 0]])
WEIGHTS = np.array([[9.0, 0.9, 0.1, 0.3], [0.2, 9.0, 0.8, 0.7], [0, 0, 9.0, 0], [0, 0, 0.05, 9.0]])
OFF = ~np.eye(4, dtype=bool)


def frame_of(matrix, names=NAMES, rows=OFF):
    i, j = np.nonzero(rows)
    array = np.array(names)
    return pd.DataFrame({"from": array[i], "to": array[j], "value": matrix[i, j]})


def to_polars(frame):
    return pl.DataFrame({name: frame[name].tolist() for name in frame.columns})


@pytest.mark.parametrize("shape", ["matrix", "sparse", "frame", "polars", "some links", "network"])
@pytest.mark.parametrize("gold", ["matrix", "sparse", "pairs", "polars pairs"])
def test_links_and_truth_in_any_shape(shape, gold):
    predicted = {
        "matrix": WEIGHTS,
        "sparse": sparse.csr_array(WEIGHTS),
        "frame": frame_of(WEIGHTS),
        "polars": to_polars(frame_of(WEIGHTS).sample(frac=1, random_state=0)),
        "some links": frame_of(WEIGHTS, rows=OFF & (WEIGHTS > 0)),
        "network": InferredNetwork(WEIGHTS, tuple(NAMES), tuple(NAMES), None, 0),
    }[shape]
    truth = {
        "matrix": GOLD,
        "sparse": sparse.csc_matrix(GOLD),
        "pairs": frame_of(GOLD),
        "polars pairs": to_polars(frame_of(GOLD)),
    }[gold]
    expected = score_pairs(WEIGHTS[OFF], GOLD[OFF] == 1)
    assert score_network(predicted, truth, gene_names=NAMES) == expected
    assert expected.n_pairs == 12


def test_genes_without_names_are_numbered():
    names = ["G1", "G2", "G3", "G4"]
    expected = score_pairs(WEIGHTS[OFF], GOLD[OFF] == 1)
    assert score_network(WEIGHTS, GOLD) == expected
    assert score_network(frame_of(WEIGHTS, names), GOLD) == expected


@pytest.mark.parametrize("regulators", [["a", "b"], [0, 1], np.array([0, 1]), np.arange(4) < 2])
def test_only_candidate_regulators_count(regulators):
    expected = score_pairs(WEIGHTS[:2][OFF[:2]], GOLD[:2][OFF[:2]] == 1)
    scores = score_network(WEIGHTS, GOLD, gene_names=NAMES, regulators=regulators)
    assert scores == expected
    assert scores.n_pairs == 6


def test_a_network_knows_its_candidates_and_targets():
    network = InferredNetwork(WEIGHTS[:2, 1:], ("a", "b"), ("b", "c", "d"), None, 0)
    allowed = OFF[:2, 1:]
    expected = score_pairs(WEIGHTS[:2, 1:][allowed], GOLD[:2, 1:][allowed] == 1)
    assert score_network(network, GOLD, gene_names=NAMES) == expected


def test_a_list_is_asked_about_pairs_that_were_no_candidates():
    network = InferredNetwork(WEIGHTS[:1], ("a",), tuple(NAMES), None, 0)
    listed = np.where(np.arange(4)[:, np.newaxis] == 0, WEIGHTS, 0.0)
    expected = score_pairs(listed[OFF], GOLD[OFF] == 1)
    assert score_network(network.links(), GOLD, gene_names=NAMES) == expected
    restricted = score_network(network.links(), GOLD, gene_names=NAMES, regulators=["a"])
    assert score_network(network, GOLD, gene_names=NAMES) == restricted != expected


def test_what_a_list_with_negative_weights_does_not_mention_is_last():
    rows = OFF & (WEIGHTS > 0.1)
    links = frame_of(WEIGHTS - 0.5, rows=rows)
    expected = score_pairs(np.where(rows, WEIGHTS, 0.2)[OFF], GOLD[OFF] == 1)
    assert score_network(links, GOLD, gene_names=NAMES) == expected


def test_a_list_of_true_links_makes_all_other_pairs_false():
    true = frame_of(GOLD, rows=GOLD == 1)[["from", "to"]]
    # a, b and d regulate somebody in one of the lists.
    rows = OFF & np.array([True, True, False, True])[:, np.newaxis]
    links = frame_of(WEIGHTS, rows=OFF & (WEIGHTS > 0))
    assert score_network(links, true) == score_pairs(WEIGHTS[rows], GOLD[rows] == 1)
    few = OFF & np.array([True, True, False, False])[:, np.newaxis]
    expected = score_pairs(WEIGHTS[few], GOLD[few] == 1)
    assert score_network(links, true, regulators=["a", "b"]) == expected
    for names in (NAMES, np.array(NAMES), pd.Index(NAMES)):
        assert score_network(links, true, gene_names=names, regulators=[0, 1]) == expected


def test_listed_pairs_are_all_that_counts():
    listed = frame_of(GOLD)[:7]
    expected = score_pairs(WEIGHTS[OFF][:7], GOLD[OFF][:7] == 1)
    assert score_network(WEIGHTS, listed, gene_names=NAMES) == expected


NETWORK = InferredNetwork(WEIGHTS * OFF, tuple(NAMES), tuple(NAMES), None, 0)


@pytest.mark.parametrize(
    ("predicted", "gold", "options", "message"),
    [
        (WEIGHTS, np.zeros((4, 4)), {}, "0 links among 12 candidate pairs"),
        (WEIGHTS, GOLD, {"regulators": [2, 3]}, "0 links among 6"),
        (WEIGHTS[:2], GOLD, {}, r"got shape \(2, 4\)"),
        (WEIGHTS, GOLD[0], {}, r"gold must be a matrix .* got shape \(4,\)"),
        (WEIGHTS, GOLD + 1, {}, "gold must hold only 0 and 1"),
        (WEIGHTS * np.nan, GOLD, {}, "not finite"),
        (frame_of(WEIGHTS).replace({"value": {0.9: np.nan}}), GOLD, {}, "not finite"),
        (pd.concat([frame_of(WEIGHTS)] * 2), GOLD, {}, "12 pair.s. more than once: .'a', 'b'."),
        (frame_of(WEIGHTS)[["from", "to"]], GOLD, {}, "columns regulator, target, weight"),
        (WEIGHTS, frame_of(GOLD * 2), {}, "must be 0 or 1"),
        (
            frame_of(WEIGHTS, [*"abc", None]),
            GOLD,
            {},
            r"predicted has 6 pair\(s\) without",
        ),
        (WEIGHTS, frame_of(GOLD, [*"abc", None]), {}, r"gold has 6 pair\(s\) without"),
        (WEIGHTS, GOLD, {"gene_names": ["a", "b"]}, "must name the 4 genes"),
        (WEIGHTS, GOLD, {"gene_names": ["a", "a", "b", "c"]}, "3 of them different"),
        (WEIGHTS, GOLD, {"regulators": ["x"]}, "are not in the data: 'x'"),
        (WEIGHTS, GOLD, {"regulators": [7]}, "positions outside 0 to 3: 7"),
        (WEIGHTS, GOLD, {"regulators": [True, False]}, "each of the 4 genes.*got 2 entries"),
        (WEIGHTS, GOLD[:3, :3], {}, r"shape \(4, 4\), but gold \(3, 3\)"),
        (frame_of(WEIGHTS), GOLD, {}, "no gene in common: 'a', 'b', 'c', 'd' against 'G1'"),
        (frame_of(WEIGHTS), frame_of(GOLD, [*"wxyz"]), {}, "no gene in common"),
        (frame_of(WEIGHTS), frame_of(GOLD, [*"wxyz"])[["from", "to"]], {}, "no gene in common"),
        (NETWORK, GOLD, {}, "no gene in common"),
        (NETWORK.to_frame(), GOLD, {"gene_names": NAMES}, "pass the network or its links"),
    ],
)
def test_what_cannot_be_scored_is_said(predicted, gold, options, message):
    with pytest.raises(ValueError, match=message):
        score_network(predicted, gold, **options)


@pytest.mark.parametrize(
    ("regulators", "gold", "message"),
    [
        ("a", GOLD, "got the single string 'a'"),
        ([0.5, 1.0], GOLD, "names, positions or a mask, got 0.5, 1.0"),
        # Without gene_names, pairs have no positions.
        ([0, 1], frame_of(GOLD), r"pass gene_names; got \[0, 1\]"),
        ([True, False], frame_of(GOLD), "pass gene_names; got .True"),
        ("a", frame_of(GOLD), "a list of names, .* got 'a'"),
    ],
)
def test_regulators_that_are_no_list_of_genes(regulators, gold, message):
    names = NAMES if gold is GOLD else None
    with pytest.raises(TypeError, match=message):
        score_network(frame_of(WEIGHTS), gold, gene_names=names, regulators=regulators)
