"""What the line says."""

import io

from randsub_experiments.cells import Cell
from randsub_experiments.run_progress import Costs, Progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


def cell(method, replicate=0, problem="friedman", base=""):
    return Cell("simulated", problem, replicate, method, base)


def test_costs_of_the_most_alike():
    costs = Costs()
    assert costs.expected(cell("rf")) is None
    costs.add(cell("rf", 0), 2.0)
    costs.add(cell("rf", 1), 4.0)
    costs.add(cell("rf", 0, "linear"), 9.0)
    costs.add(cell("rs", 0, base="knn"), 1.0)
    assert costs.expected(cell("rf", 2)) == 3.0
    assert costs.expected(cell("rf", 2, "linear")) == 9.0
    assert costs.expected(cell("rf", 2, "hypercube")) == 5.0
    assert costs.expected(cell("rs", 2, "linear", "svm")) == 1.0
    assert costs.expected(cell("gbdt")) == 4.0


def test_plain_lines_when_not_a_terminal():
    times = iter([0.0, 10.0, 12.0, 15.0])
    cells = [cell("rf"), cell("rf", 1), cell("gbdt", problem="linear")]
    stream = io.StringIO()
    progress = Progress(cells, 5, n_jobs=2, stream=stream, clock=lambda: next(times))
    progress.started(cells[0])
    progress.finished(cells[0], 10.0)
    progress.started(cells[1])
    progress.finished(cells[1], 20.0)
    progress.finished(cells[2], None, error="ValueError: no")
    progress.close()
    assert stream.getvalue().splitlines() == [
        "6/8, 00:10 elapsed, about 00:10 left: done friedman #0, RF",
        "7/8, 00:12 elapsed, about 00:15 left: done friedman #1, RF",
        "failed: linear #0, GBDT: ValueError: no",
        "8/8, 00:15 elapsed, about 00:00 left: done linear #0, GBDT",
    ]


def test_the_line_fits_the_terminal_and_names_as_many_cells_as_run(monkeypatch):
    monkeypatch.setenv("COLUMNS", "50")
    cells = [cell("rf", replicate) for replicate in range(4)]
    stream = Terminal()
    progress = Progress(cells, n_jobs=2, stream=stream, clock=lambda: 0.0)
    for one in cells:
        # The pool hands out the next before the last was fetched.
        progress.started(one)
    assert progress.line().endswith(": now friedman #2, RF; friedman #3, RF")
    assert max(map(len, stream.getvalue().split("\r"))) == 49


def test_a_listener_who_leaves_is_no_reason_to_stop():
    class Broken(io.StringIO):
        def write(self, text):
            raise BrokenPipeError

    progress = Progress([cell("rf")], stream=Broken(), clock=lambda: 0.0)
    progress.finished(cell("rf"), 1.0)
    progress.close()
    assert progress.seconds_left() == 0.0


def test_one_line_on_a_terminal(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    cells = [cell("rf"), cell("gbdt")]
    stream = Terminal()
    progress = Progress(cells, stream=stream, clock=lambda: 0.0)
    progress.started(cells[0])
    progress.finished(cells[0], 60.0)
    progress.started(cells[1])
    progress.finished(cells[1], None, error="no")
    progress.close()
    text = stream.getvalue()
    shown = [line.rstrip() for line in text.split("\r")]
    assert shown[1] == "0/2, 00:00 elapsed, time left unknown: now friedman #0, RF"
    assert "1/2, 00:00 elapsed, about 01:00 left: now friedman #0, GBDT" in shown
    # A failure stays on a line of its own; the end leaves the cursor on a new one.
    assert "failed: friedman #0, GBDT: no\n" in text
    assert text.endswith("\n")
    assert text.count("\n") == 2
