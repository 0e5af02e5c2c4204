"""What is shown while a model is trained."""

import io
from types import SimpleNamespace

import pytest

from randsub.cli.training_progress import TrainingProgress
from randsub.solver.state import EpochRecord


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


SETTINGS = SimpleNamespace(max_iter=100, n_masks=50)


def state(epoch, stopped=None, refreshed=True):
    record = EpochRecord(0.5, 0.25, 40.0, 12.34, refreshed, False, 1000 * epoch)
    return SimpleNamespace(
        epoch=epoch, history=(record,) * epoch, best_objective=0.125, stopped=stopped
    )


def watched(stream, n_epochs, seconds=1.0, width=120, **options):
    now = [0.0]
    progress = TrainingProgress(stream, clock=lambda: now[0], width=lambda: width, **options)
    progress.on_prepare(SETTINGS)
    progress.on_compile()
    progress.on_compile()
    progress.on_start(SETTINGS, state(0))
    for epoch in range(1, n_epochs + 1):
        now[0] += seconds
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


def test_time_left(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    stream = Terminal()
    progress = watched(stream, 40, seconds=2.0)
    assert progress.seconds_left() == pytest.approx(120.0)
    assert "01:20 elapsed, about 02:00 left" in stream.getvalue()
    assert watched(Terminal(), 40, seconds=2.0, time_limit=100.0).seconds_left() == 20.0


def test_elsewhere_there_is_a_line_now_and_then():
    stream = io.StringIO()
    watched(stream, 50).on_end(state(50, "interrupted"))
    lines = stream.getvalue().splitlines()
    assert lines[0] == "compiling, once on this machine"
    assert [line.split()[1] for line in lines[1:]] == ["1/100", "21/100", "41/100", "50/100"]
    assert "\x1b" not in stream.getvalue()


def test_a_dumb_terminal_gets_lines(monkeypatch):
    monkeypatch.setenv("TERM", "dumb")
    stream = Terminal()
    watched(stream, 3)
    assert "\x1b" not in stream.getvalue()


def test_resumed_training_says_where_it_goes_on():
    stream = io.StringIO()
    progress = TrainingProgress(stream)
    progress.on_start(SETTINGS, state(7))
    assert stream.getvalue() == "continuing after epoch 7 of 100\n"


def test_a_training_that_never_began_leaves_no_line(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    stream = Terminal()
    progress = TrainingProgress(stream, width=lambda: 80)
    progress.on_prepare(SETTINGS)
    progress.on_end(state(0))
    assert screen(stream.getvalue(), 80) == [""]


def test_time_left_follows_the_last_epochs():
    now = [0.0]
    progress = TrainingProgress(io.StringIO(), clock=lambda: now[0])
    progress.on_start(SimpleNamespace(max_iter=800, n_masks=50), state(0))
    assert progress.seconds_left() is None
    for epoch in range(1, 701):
        now[0] += 1.0 if epoch <= 200 else 3.0
        progress.on_epoch_end(state(epoch))
    assert progress.seconds_left() == pytest.approx(300.0)


def test_the_first_epoch_which_compiles_does_not_count():
    now = [0.0]
    progress = TrainingProgress(io.StringIO(), clock=lambda: now[0])
    progress.on_start(SETTINGS, state(0))
    for epoch, seconds in enumerate((60.0, 1.0, 1.0), start=1):
        now[0] += seconds
        progress.on_epoch_end(state(epoch))
        assert progress.seconds_left() == (None if epoch == 1 else pytest.approx(100.0 - epoch))


def test_a_second_loop_starts_with_a_new_measure_of_time():
    now = iter(range(100))
    progress = TrainingProgress(io.StringIO(), clock=lambda: float(next(now)))
    settings = SimpleNamespace(max_iter=10, n_masks=5)
    record = EpochRecord(1.0, 1.0, 5.0, 2.0, False, False, 10)
    state = SimpleNamespace(epoch=0, history=(), best_objective=1.0, stopped=None)
    for _ in range(2):
        progress.on_start(settings, state)
        assert progress.seconds_left() is None
        for epoch in (1, 2, 3):
            progress.on_epoch_end(
                SimpleNamespace(epoch=epoch, history=(record,), best_objective=1.0, stopped=None)
            )
        assert progress.seconds_left() > 0.0
