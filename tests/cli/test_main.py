"""The command itself: errors in a sentence, exit codes."""

import subprocess
import sys

import pytest

import randsub
from randsub.cli import main, reproduce
from randsub.cli.main import Exit


def failing(error):
    def run(args):
        raise error

    return run


@pytest.fixture
def page(monkeypatch):
    """A verb that raises what it is given, under the name of one that exists."""

    def call(error, *before):
        monkeypatch.setattr(reproduce, "_write_page", failing(error))
        return main([*before, "reproduce", "page", "--results", "x"])

    return call


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (ValueError("no such\n  thing; try another"), "error: no such thing; try another"),
        (FileNotFoundError("is not there"), "error: is not there"),
        (KeyError("x"), "error: KeyError: 'x' (--debug shows where it comes from)"),
        (RuntimeError(), "error: RuntimeError: no message (--debug shows where it comes from)"),
    ],
    ids=["value", "file", "unexpected", "wordless"],
)
def test_errors_are_one_sentence(page, capsys, error, told):
    assert page(error) == Exit.ERROR == 1
    assert capsys.readouterr().err == f"randsub: {told}\n"


def test_debug_shows_where_an_error_comes_from(page, capsys):
    assert page(ValueError("no such thing"), "--debug") == Exit.ERROR
    told = capsys.readouterr().err
    assert told.startswith("Traceback")
    assert "no such thing" in told


def test_interrupt_has_its_own_code(page, capsys):
    assert page(KeyboardInterrupt()) == Exit.INTERRUPTED == 130
    assert "interrupted" in capsys.readouterr().err


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["nothing"],
        ["reproduce"],
        ["reproduce", "nothing"],
        ["reproduce", "simulated", "--problems", "nothing"],
        ["reproduce", "simulated", "--replicates", "0"],
        ["reproduce", "simulated", "--irrelevant", "many"],
        ["reproduce", "simulated", "--ablations", "baseline"],
        ["reproduce", "ablation", "--methods", "prs"],
        ["reproduce", "page"],
    ],
    ids=lambda words: " ".join(words) or "empty",
)
def test_wrong_usage(words, capsys):
    with pytest.raises(SystemExit) as stop:
        main(words)
    assert stop.value.code == Exit.USAGE == 2
    assert capsys.readouterr().err


def test_as_a_module():
    answer = subprocess.run(
        [sys.executable, "-m", "randsub", "--version"], capture_output=True, text=True, check=True
    )
    assert answer.stdout == f"randsub {randsub.__version__}\n"


def test_nothing_heavy_is_loaded_for_help():
    code = (
        "import sys\nfrom randsub.cli.main import parser\nparser().format_help()\n"
        "print([name for name in ('sklearn', 'numba', 'matplotlib') if name in sys.modules])"
    )
    answer = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert answer.stdout == "[]\n"
