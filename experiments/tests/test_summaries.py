"""The arithmetic of the tables, against values computed by hand."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from randsub_experiments.summaries import (
    beside_paper,
    in_standard_errors,
    normalise,
    paired,
    summarise,
    verdict,
)

METHOD_COLUMNS = ["method", "base", "setting"]


def frame(*rows):
    columns = ["problem", "replicate", *METHOD_COLUMNS, "score"]
    return pd.DataFrame(rows, columns=columns)


def test_summary_by_hand():
    results = frame(
        ("b", 0, "prs", "knn", "paper", 1.0),
        ("b", 1, "prs", "knn", "paper", 3.0),
        ("a", 0, "rf", "", "", 5.0),
    ).assign(aupr=[0.5, 0.5, np.nan])
    summary = summarise(results, ["problem", *METHOD_COLUMNS], ["score", "aupr"])
    assert list(summary["problem"]) == ["b", "b", "a"]
    assert list(summary["measure"]) == ["score", "aupr", "score"]
    assert list(summary["mean"]) == [2.0, 0.5, 5.0]
    assert list(summary["sd"].fillna(-1)) == [1.0, 0.0, -1]
    assert list(summary["n"]) == [2, 2, 1]


def test_whole_numbers_with_gaps():
    results = frame(
        ("a", 0, "prs", "knn", "", 0.5), ("a", 1, "rf", "", "", 0.5), ("a", 2, "rf", "", "", 0.5)
    ).assign(epochs=pd.array([3, None, None], dtype="Int64"))
    summary = summarise(results, ["problem", *METHOD_COLUMNS], ["epochs"])
    assert list(summary["mean"]) == [3.0]
    assert summary["sd"].dtype == float
    assert summary["sd"].isna().all()


def test_standard_errors_by_hand():
    # (0.9 - 0.8) / sqrt(0.04 ** 2 / 4 + 0.06 ** 2 / 9)
    assert in_standard_errors(0.9, 0.04, 5, 0.8, 0.06, 10) == pytest.approx(0.1 / np.sqrt(8e-4))
    assert np.isnan(in_standard_errors(0.9, 0.0, 1, 0.8, 0.06, 10))
    assert np.isnan(in_standard_errors(0.9, 0.1, 5, np.nan, np.nan, np.nan))
    assert in_standard_errors(1.0, 0.0, 5, 1.0, 0.0, 10) == 0.0
    assert in_standard_errors(0.9, 0.0, 5, 1.0, 0.0, 10) == -np.inf


@given(
    ours=st.lists(st.floats(-10, 10), min_size=2, max_size=8),
    theirs=st.lists(st.floats(-10, 10), min_size=2, max_size=8),
)
def test_standard_errors_are_those_of_sample_means(ours, theirs):
    error = np.sqrt(np.var(ours, ddof=1) / len(ours) + np.var(theirs, ddof=1) / len(theirs))
    difference = np.mean(ours) - np.mean(theirs)
    found = in_standard_errors(
        np.mean(ours), np.std(ours), len(ours), np.mean(theirs), np.std(theirs), len(theirs)
    )
    if error > 1e-6:
        assert found == pytest.approx(difference / error)


@pytest.mark.parametrize(
    ("measure", "difference", "errors", "word"),
    [
        ("score", -0.1, -2.0, "agrees"),
        ("score", -0.1, -2.1, "worse"),
        ("score", 0.1, 2.1, "better"),
        ("score", -0.005, -9.0, "agrees"),
        ("size", -3.0, -2.1, "differs"),
        ("size", 3.0, 2.1, "differs"),
        ("score", np.nan, np.nan, ""),
    ],
)
def test_verdict(measure, difference, errors, word):
    assert verdict(measure, difference, errors) == word


def test_numbers_of_the_paper_stand_beside_every_setting():
    results = frame(
        *(("friedman", i, "prs", "knn", "paper", 0.90 + 0.04 * (i % 2)) for i in range(6)),
        *(("friedman", i, "prs", "knn", "defaults", 0.80 + 0.02 * (i % 2)) for i in range(6)),
        ("friedman", 0, "single", "knn", "", 0.3),
        *(("linear", i, "prs", "knn", "defaults", 0.1 * i) for i in range(4)),
    )
    compared = beside_paper(
        summarise(results, ["problem", *METHOD_COLUMNS], ["score"]), "simulated"
    )
    assert list(compared["paper_mean"].fillna(-1)) == [0.88, 0.88, -1, 0.88]
    # 0.92 +- 0.02 of six against 0.88 +- 0.03 of ten, and 0.81 +- 0.01.
    expected = [0.04 / np.sqrt(4e-4 / 5 + 1e-4), -0.07 / np.sqrt(1e-4 / 5 + 1e-4)]
    np.testing.assert_allclose(compared["standard_errors"][:2], expected)
    # Four values are no ground for a verdict, however far they are.
    assert compared["standard_errors"][3] < -5
    assert list(compared["verdict"]) == ["better", "worse", "", ""]


def test_settings_of_the_ablation_have_their_own_numbers():
    results = frame(
        ("friedman", 0, "prs", "knn", "paper", 0.9),
        ("friedman", 0, "prs", "knn", "no baseline", 0.7),
        ("friedman", 0, "prs", "knn", "ESS 1", 0.7),
    )
    compared = beside_paper(summarise(results, ["problem", *METHOD_COLUMNS], ["score"]), "ablation")
    assert list(compared["paper_mean"].fillna(-1)) == [0.88, 0.72, -1]


def test_normalised_by_hand():
    results = frame(
        ("a", 0, "rf", "", "", 0.5),
        ("a", 0, "gbdt", "", "", 0.9),
        ("a", 0, "single", "knn", "", 0.6),
        ("b", 0, "rf", "", "", 0.7),
        ("b", 0, "gbdt", "", "", 0.7),
        ("b", 0, "single", "knn", "", 0.7),
        ("c", 0, "rf", "", "", 0.1),
        ("c", 0, "gbdt", "", "", 0.2),
    )
    scores = normalise(results, ["problem", "replicate"], METHOD_COLUMNS)
    np.testing.assert_allclose(scores["normalised score"], [0.0, 1.0, 0.25, 1.0, 1.0, 1.0])
    np.testing.assert_allclose(scores["rank"], [3, 1, 2, 2, 2, 2])


def test_paired_difference_by_hand():
    rows = [
        ("a", replicate, "prs", "knn", setting, score)
        for setting, scores in {"paper": [1.0, 2.0, 4.0], "defaults": [1.5, 2.0, 3.0, 9.0]}.items()
        for replicate, score in enumerate(scores)
    ]
    gaps = paired(frame(*rows), ["problem", "base"], "score", "defaults", "paper")
    # 0.5, 0 and -1; the fourth dataset has only one of the two.
    assert gaps["mean"][0] == pytest.approx(-0.5 / 3)
    assert gaps["error"][0] == pytest.approx(np.std([0.5, 0, -1], ddof=1) / np.sqrt(3))
    assert gaps["n"][0] == 3
    assert paired(frame(*rows[:3]), ["problem", "base"], "score", "defaults", "paper").empty
