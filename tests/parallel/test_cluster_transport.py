"""What is sent to a worker of a cluster, what it keeps, and for how long."""

import pickle
import sys
import threading
import time
from functools import partial

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from joblib import effective_n_jobs, parallel_config
from scipy import sparse
from sklearn.linear_model import Ridge

from randsub.engines import GenericEngine, Learner
from randsub.parallel import Data, cluster_transport
from randsub.parallel.cluster_transport import (
    Cargo,
    Hold,
    Piece,
    Rows,
    bundled,
    deliver,
    split,
    unbundled,
)

ENGINE = GenericEngine(Learner(Ridge()))
ONE = Piece(0, np.arange(2), np.ones((1, 2), dtype=bool), np.arange(1))


def cargo_of(X) -> Cargo:
    return Cargo(ENGINE, Data(X, X[:0], None, {}))


@pytest.mark.parametrize(
    "table",
    [
        lambda X: X,
        sparse.csr_array,
        lambda X: pd.DataFrame(X),
        lambda X: pl.DataFrame(X),
    ],
    ids=["array", "sparse", "pandas", "polars"],
)
def test_the_size_that_backends_see_is_that_of_the_data(table) -> None:
    X = np.random.default_rng(0).normal(size=(500, 40))
    # Column numbers of a sparse matrix take half as much as its values.
    assert X.nbytes <= sys.getsizeof(cargo_of(table(X))) <= 2.1 * X.nbytes


@st.composite
def work(draw) -> list[Piece]:
    """Pieces of several assignments, in their order."""
    n_columns, seed = draw(st.integers(0, 40)), draw(st.integers(0, 2**32 - 1))
    numbers = sorted(draw(st.lists(st.integers(0, 6), min_size=1, max_size=20)))
    rng = np.random.default_rng(seed)
    return [
        Piece(
            number,
            np.sort(rng.choice(10**6, n_columns, replace=False)),
            rng.random((n_masks, n_columns)) < 0.5,
            rng.integers(99, size=n_masks),
        )
        for number, n_masks in zip(numbers, rng.integers(1, 9, size=len(numbers)), strict=True)
    ]


@given(work())
def test_pieces_survive_the_way(pieces) -> None:
    cargo = cargo_of(np.zeros((2, 3)))
    rows = [Rows(np.zeros(2), np.arange(n), np.arange(3), np.arange(0)) for n in range(7)]
    work = partial(unbundled, lambda *args: args)
    seen = deliver(work, cargo.name, cargo, bundled(rows, pieces))
    for (engine, data, these, columns, masks, seeds), piece in zip(seen, pieces, strict=True):
        assert repr(engine.learner) == repr(ENGINE.learner)
        np.testing.assert_array_equal(data.X, np.zeros((2, 3)), strict=True)
        assert these is rows[piece.number]
        np.testing.assert_array_equal(columns, piece.columns)
        np.testing.assert_array_equal(masks, piece.masks, strict=True)
        np.testing.assert_array_equal(seeds, piece.seeds)


@given(work(), st.integers(1, 30))
def test_bundles_are_few_and_of_about_the_same_size(pieces, n_bundles) -> None:
    bundles = split(pieces, n_bundles)
    assert [piece.masks.tobytes() for bundle in bundles for piece in bundle] == [
        piece.masks.tobytes() for piece in pieces
    ]
    assert all(bundles)
    assert len(bundles) <= n_bundles
    share = sum(len(piece.masks) for piece in pieces) / n_bundles
    largest = max(len(piece.masks) for piece in pieces)
    assert max(sum(len(piece.masks) for piece in bundle) for bundle in bundles) <= share + largest


def test_a_bundle_is_small_whatever_the_data() -> None:
    columns = np.arange(0, 80_000, 100)
    masks, seeds = np.ones((100, 800), dtype=bool), np.arange(100)
    rows = [Rows(np.zeros(50), np.arange(50), np.arange(10), np.arange(0))] * 4
    message = bundled(rows, [Piece(3, columns, masks, seeds)])
    # The columns, a bit for each in a mask, the seeds, and rows of one assignment; masks in memory
    # are 80 kB.
    size = columns.nbytes / 2 + masks.nbytes / 8 + seeds.nbytes + 110 * 8
    assert len(pickle.dumps(message)) < size + 1000
    # Small for backends, so that it goes with the task and is not kept: see ``bundled``.
    assert sys.getsizeof(message) < 100


def test_who_has_got_the_cargo_needs_its_name_only(monkeypatch) -> None:
    monkeypatch.setattr(cluster_transport, "_HOLD", Hold())
    cargo = cargo_of(np.zeros((3, 2)))

    def work(engine, data, more):
        return data, more

    assert deliver(work, cargo.name, None, "more") is None
    data, more = deliver(work, cargo.name, cargo, "more")
    np.testing.assert_array_equal(data.X, np.zeros((3, 2)))
    assert more == "more"
    assert deliver(work, cargo.name, None, "more")[0] is data
    # Sent again, it is not unpacked again.
    assert deliver(work, cargo.name, cargo, "more")[0] is data
    assert deliver(work, "another", None, "more") is None


def test_a_model_that_cannot_be_sent_is_an_error_here() -> None:
    engine = GenericEngine(Learner(Ridge()))
    engine.lock = threading.Lock()
    with pytest.raises(TypeError, match="cannot pickle"):
        Cargo(engine, Data(np.zeros((2, 2)), np.zeros((2, 2)), None, {}))


def test_large_arrays_are_not_copied_to_be_sent() -> None:
    X = np.zeros((200, 50))
    [buffer, _] = cargo_of(X)._buffers
    assert np.shares_memory(buffer, X)


def test_models_share_out_no_work_on_a_worker() -> None:
    cargo = cargo_of(np.zeros((3, 2)))
    with parallel_config(backend="threading", n_jobs=2):
        assert deliver(lambda *args: effective_n_jobs(None), cargo.name, cargo, 0) == 1


def test_the_cargo_that_was_used_last_is_kept() -> None:
    hold = Hold()
    cargos = [cargo_of(np.zeros((2, 2))) for _ in range(cluster_transport.KEPT + 1)]
    for cargo in cargos[:-1]:
        hold.look_up(cargo.name, cargo)
    hold.look_up(cargos[0].name, None)
    hold.look_up(cargos[-1].name, cargos[-1])
    kept = [cargo for cargo in cargos if hold.look_up(cargo.name, None) is not None]
    assert kept == [cargos[0], *cargos[2:]]


def test_what_is_not_used_is_forgotten(monkeypatch) -> None:
    monkeypatch.setattr(cluster_transport, "SECONDS_KEPT", 0.1)
    hold = Hold()
    for _ in range(2):
        # The second time, too: the sweeper comes again.
        cargo = cargo_of(np.zeros((2, 2)))
        hold.look_up(cargo.name, cargo)
        assert len(hold) == 1
        deadline = time.monotonic() + 30.0
        while len(hold) and time.monotonic() < deadline:
            time.sleep(0.02)
        assert len(hold) == 0
        assert hold.look_up(cargo.name, None) is None
