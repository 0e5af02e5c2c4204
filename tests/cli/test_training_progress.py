"""What is shown while a model is trained."""

import io
from types import SimpleNamespace

import numpy as np
import pytest

from randsub.cli.training_progress import TrainingProgress
from randsub.solver.forecast import LongFit
from randsub.solver.state import EpochRecord
from tiny_world import Part, make_settings


class Terminal(io.StringIO):
    def isatty(self):
        return True


def screen(text, width):
    """The lines that a terminal shows after all that was written to it."""
    lines, row = [""], 0
    i = 0
    while i < len(text):
        if text.startswith("\x1b[", i):
            end = next(k for k in range(i + 2, len(text)) if text[k].isalpha())
            if text[end] == "A":
                row -= int(text[i + 2 : end])
            elif text[end] == "J":
                lines = [*lines[:row], ""]
            i = end + 1
        elif text[i] == "\n":
            row += 1
            lines += [""] * (row + 1 - len(lines))
            i += 1
        elif text[i] == "\r":
            i += 1
        else:
            lines[row] += text[i]
            assert len(lines[row]) < width, "a line wraps"
            i += 1
    return lines


SETTINGS = make_settings(max_iter=100, n_masks=50, n_revivals=0, n_iter_no_change=None)


def state(epoch, stopped=None, refreshed=True):
    record = EpochRecord(0.5, 0.25, 40.0, 12.34, refreshed, False, 1000 * epoch)
    return SimpleNamespace(
        epoch=epoch,
        history=(record,) * epoch,
        best_objective=0.125,
        name_of_best="best",
        stopped=stopped,
        n_models_trained=1000 * epoch,
        n_revived=np.zeros(1, dtype=int),
        mark_epochs=np.zeros(1, dtype=int),
    )


def watched(stream, n_epochs, seconds=1.0, width=120, run=None):
    """Progress of so many epochs, each with the models of a refresh, in two tasks."""
    now = [0.0]
    progress = TrainingProgress(stream, clock=lambda: now[0], width=lambda: width)
    progress = progress.for_run(run or Part(n_parameters=300))
    progress.on_prepare(SETTINGS)
    progress.on_compile()
    progress.on_compile()
    progress.on_models_trained(1000, 1000)
    progress.on_start(SETTINGS, state(0))
    for epoch in range(1, n_epochs + 1):
        for n_done in (500, 1000):
            now[0] += seconds / 2
            progress.on_models_trained(n_done, 1000)
        progress.on_epoch_end(state(epoch))
    return progress


@pytest.mark.parametrize("width", [20, 40, 80, 120])
def test_a_terminal_shows_two_lines(width, monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    stream = Terminal()
    watched(stream, 40, width=width).on_end(state(40, "time is over"))
    lines = screen(stream.getvalue(), width)
    assert len([line for line in lines if line]) == 2
    assert lines[0].startswith("epoch 40/100")
    if width == 120:
        assert lines[0] == "epoch 40/100 [##########..............]  40%  00:40 elapsed"
        assert lines[1] == (
            "validation 0.2500 (best 0.1250)  size 12.3  models 40,000  objective 0.5000  "
            "refreshes 40  ESS 80%"
        )


def test_models_and_the_time_left_are_shown(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    stream = Terminal()
    left = watched(stream, 40, seconds=2.0).forecast.time_left()
    assert 0.0 < left < float("inf")
    assert "epoch 39/100" in stream.getvalue()
    assert "models 500/1000  01:19 elapsed, about" in stream.getvalue()
    limited = Part(n_parameters=300, time_limit=81.0)
    assert watched(Terminal(), 40, seconds=2.0, run=limited).forecast.time_left() == 1.0


def test_epochs_of_all_parts_are_counted(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    stream = Terminal()
    watched(stream, 40, run=Part(0.5, 0.25, n_parameters=300)).on_end(state(40, "plateau"))
    assert "epoch 140/400 [########................]  35%" in stream.getvalue()


@pytest.mark.parametrize("terminal", [True, False])
def test_a_long_fit_is_said_in_a_line_that_stays(terminal, monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    stream = Terminal() if terminal else io.StringIO()
    progress = watched(stream, 2)
    assert progress.on_long_fit(LongFit(7200.0, 0.25, 1000, 300.0, n_repeats=20))
    progress.on_end(state(2, "plateau"))
    lines = screen(stream.getvalue(), 1000)
    note = next(line for line in lines if line.startswith("note: "))
    assert "about 2 h 0 min, at 0.25 s per base model" in note
    assert "With --repeats 1 about 6 min 0 s, and with --max-samples 1000 about 5 min 0 s;" in note
    assert "--time-limit" in note
    assert any(line.startswith("epoch 2/100") for line in lines[lines.index(note) + 1 :])


def test_a_single_repeat_takes_longer_than_its_share_if_repeats_run_side_by_side():
    # The first one is trained alone, the others four at a time: 6 units of time.
    assert LongFit(600.0, 0.25, None, 600.0, n_repeats=21, n_at_once=4).seconds_of_one == 100.0
    assert LongFit(600.0, 0.25, None, 600.0, n_repeats=20).seconds_of_one == 30.0


def test_elsewhere_there_is_a_line_now_and_then():
    stream = io.StringIO()
    watched(stream, 50).on_end(state(50, "interrupted"))
    lines = stream.getvalue().splitlines()
    assert lines[0] == "compiling, once on this machine"
    assert [line.split()[1] for line in lines[1:]] == [
        *("0/100", "1/100", "20/100", "40/100", "50/100")
    ]
    assert "\x1b" not in stream.getvalue()


def test_a_dumb_terminal_gets_lines(monkeypatch):
    monkeypatch.setenv("TERM", "dumb")
    stream = Terminal()
    watched(stream, 3)
    assert "\x1b" not in stream.getvalue()


def test_resumed_training_says_where_it_goes_on():
    stream = io.StringIO()
    progress = TrainingProgress(stream).for_run(Part())
    progress.on_start(SETTINGS, state(7))
    assert stream.getvalue() == "continuing after epoch 7 of 100\n"


def test_a_training_that_never_began_leaves_no_line(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    stream = Terminal()
    progress = TrainingProgress(stream, width=lambda: 80).for_run(Part())
    progress.on_prepare(SETTINGS)
    progress.on_end(state(0))
    assert screen(stream.getvalue(), 80) == [""]


def test_parts_of_a_fit_have_no_lines_of_their_own():
    """Where lines stay, there is one every 20 seconds, however many parts there are."""
    now, stream, run = [0.0], io.StringIO(), Part(0.25, 0.0, n_parameters=300)
    progress = TrainingProgress(stream, clock=lambda: now[0]).for_run(run)
    for part in range(4):
        run.share_before, run.share = part / 4, (part + 1) / 4
        progress.on_prepare(SETTINGS)
        now[0] += 1.0
        progress.on_models_trained(1000, 1000)
        progress.on_start(SETTINGS, state(0))
        for epoch in (1, 100):
            progress.on_epoch_end(state(epoch))
        progress.on_end(state(100, "all epochs done"))
    lines = stream.getvalue().splitlines()
    assert [line.split()[1] for line in lines] == ["0/400", "1/400", "400/400"]
