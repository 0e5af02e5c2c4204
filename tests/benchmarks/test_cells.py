"""What a study keeps, what it does not run again, and that its counts are true."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.neighbors import KNeighborsRegressor

from randsub import PRSRegressor
from randsub.datasets import make_friedman
from randsub.parallel.dispatch import Dispatcher
from randsub.solver import Solver

# A script of cells: it squares a number, and takes for ever over negative ones.
SCRIPT = """
import json, sys, time
cell = json.loads(sys.argv[2])
if cell["size"] < 0:
    time.sleep(1000)
print("something else")
print(json.dumps({"square": cell["size"] ** 2}))
"""


@pytest.fixture(scope="module")
def cells(script):
    return script("cells")


@pytest.fixture
def results(cells, tmp_path):
    def read():
        keys = {"kind": str, "size": int, "seed": int}
        return cells.Results(tmp_path / "deep" / "results.csv", keys, ["square"], ["size"])

    return read


def test_rows_are_kept_and_cells_are_not_run_again(cells, results, tmp_path, capsys):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    wanted = [{"kind": "a", "size": size, "seed": 0} for size in (2, 3)]
    cells.run_missing(str(script), results(), wanted, 60)
    assert [(row["size"], row["square"], row["limit"]) for row in results().rows] == [
        (2, "4", ""),
        (3, "9", ""),
    ]
    assert "a, 3, 0, {'square': 9}" in capsys.readouterr().out
    # The script is not called any more.
    script.unlink()
    cells.run_missing(str(script), results(), wanted, 60)
    assert len(results().rows) == 2


def test_a_cell_that_does_not_end_says_so(cells, results, tmp_path):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    slow = {"kind": "a", "size": -1, "seed": 0}
    cells.run_missing(str(script), results(), [slow], 0.5)
    (row,) = results().rows
    assert (row["square"], row["limit"]) == ("", "0.5")
    assert results().has(slow, 0.5)
    assert not results().has(slow, 2.0)
    # Only a finished row replaces it, or one of a later limit.
    one = results()
    one.add(slow, {"square": 1}, 2.0)
    assert [row["square"] for row in results().rows] == ["1"]


@pytest.mark.parametrize(
    "change, limit, hopeless",
    [
        ({}, 10, True),
        ({"size": 9}, 10, True),
        ({"seed": 1}, 10, True),
        ({"size": 4}, 10, False),
        ({"kind": "b"}, 10, False),
        ({}, 11, False),
    ],
)
def test_larger_cells_are_not_begun(results, change, limit, hopeless):
    one = results()
    one.add({"kind": "a", "size": 5, "seed": 0}, None, 10)
    one.add({"kind": "a", "size": 1, "seed": 0}, {"square": 1}, 10)
    assert one.is_hopeless({"kind": "a", "size": 5, "seed": 0} | change, limit) is hopeless


def test_a_cell_that_fails_stops_the_study(cells, results, tmp_path):
    script = tmp_path / "script.py"
    script.write_text("raise SystemExit(3)")
    with pytest.raises(Exception, match="exit status 3"):
        cells.run_missing(str(script), results(), [{"kind": "a", "size": 1, "seed": 0}], 60)
    assert results().rows == []


@pytest.mark.parametrize("refresh", ["fresh", "window"])
@pytest.mark.parametrize("jobs", [1, 2])
def test_every_model_is_counted_with_its_features(cells, refresh, jobs):
    X, y, _ = make_friedman(60, 5, random_state=0)
    before = Dispatcher.predict
    solver = Solver(n_batches=2, refresh=refresh)
    model = PRSRegressor(
        KNeighborsRegressor(), n_estimators=10, max_iter=5, solver=solver, n_jobs=jobs
    )
    with cells.counting() as count:
        model.fit(X, y)
    assert Dispatcher.predict is before
    assert count.models == model.n_models_trained_
    assert 0 < count.feature_models < count.models * 10
    seen = count.models
    model.fit(X, y)
    assert count.models == seen


def test_features_are_those_of_the_masks(cells, monkeypatch):
    monkeypatch.setattr(Dispatcher, "predict", lambda self, assignments: None)
    masks = np.array([[True, False, True], [False, False, False]])
    with cells.counting() as count:
        Dispatcher.predict(None, [SimpleNamespace(masks=masks)] * 2)
    assert (count.models, count.feature_models) == (4, 4)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="peak memory needs /proc")
def test_meter_sees_what_is_held_and_given_back(cells):
    with cells.Meter() as meter:
        block = np.ones(30_000_000)
        del block
    assert 200 < meter.megabytes < 400
    with cells.Meter() as meter:
        pass
    assert meter.megabytes < 20
    assert meter.seconds >= 0.0
