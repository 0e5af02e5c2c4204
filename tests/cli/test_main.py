"""The command itself: errors in a sentence, exit codes."""

import inspect
import json
import signal
import subprocess
import sys
import warnings

import pytest

import randsub
from randsub.cli import main
from randsub.cli.commands import info
from randsub.cli.main import Exit, Terminated
from randsub.cli.parser import COMMANDS, make_parser, summary
from randsub.network.infer import MANY, MANY_TARGETS, N_REPEATS, SHORT
from randsub.solver import Solver


def failing(error):
    def run(args):
        raise error

    return run


@pytest.fixture
def fail(monkeypatch):
    """A command that raises the error it is given, under the name of one that exists."""

    def call(error, *before):
        monkeypatch.setattr(info, "run", failing(error))
        return main([*before, "info"])

    return call


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (ValueError("no such\n  thing; try another"), "error: no such thing; try another"),
        (FileNotFoundError("is not there"), "error: is not there"),
        (KeyError("x"), "error: KeyError: 'x' (use --debug to see the traceback)"),
        (RuntimeError(), "error: RuntimeError: no message (use --debug to see the traceback)"),
    ],
    ids=["value", "file", "unexpected", "wordless"],
)
def test_errors_are_one_sentence(fail, capsys, error, told):
    assert fail(error) == Exit.ERROR == 1
    assert capsys.readouterr().err == f"randsub: {told}\n"


def test_debug_shows_where_an_error_comes_from(fail, capsys):
    assert fail(ValueError("no such thing"), "--debug") == Exit.ERROR
    told = capsys.readouterr().err
    assert told.startswith("Traceback")
    assert "no such thing" in told


def test_interrupt_has_its_own_code(fail, capsys):
    assert fail(KeyboardInterrupt()) == Exit.INTERRUPTED == 130
    assert capsys.readouterr().err == "randsub: interrupted; nothing was written.\n"
    assert fail(Terminated()) == Exit.TERMINATED == 143
    assert capsys.readouterr().err == "randsub: terminated; nothing was written.\n"


def test_interrupt_inside_compiled_code(fail, capsys):
    error = SystemError("returned a result with an exception set")
    error.__cause__ = KeyboardInterrupt()
    assert fail(error) == Exit.INTERRUPTED
    assert "interrupted" in capsys.readouterr().err


def test_errors_are_documents_for_those_who_read_json(capsys):
    assert main(["info", "nowhere", "--json"]) == Exit.ERROR
    out, err = capsys.readouterr()
    assert json.loads(out) == {"error": "There is no model folder nowhere.", "exit_code": 1}
    assert err == "randsub: error: There is no model folder nowhere.\n"


def test_warnings_are_sentences(monkeypatch, capsys):
    def run(args):
        warnings.warn("something\n  odd", UserWarning, stacklevel=2)

    monkeypatch.setattr(info, "run", run)
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        assert main(["info"]) == Exit.DONE
    assert capsys.readouterr().err == "randsub: warning: something odd\n"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signals_are_given_back(number):
    before = signal.getsignal(number)
    assert main(["info", "nowhere"]) == Exit.ERROR
    assert signal.getsignal(number) is before


@pytest.mark.parametrize("command", COMMANDS)
def test_help_of_every_command(command, capsys):
    for words in ([command, "--help"], ["--help"]):
        with pytest.raises(SystemExit) as stop:
            main(words)
        assert stop.value.code == 0
        told = " ".join(capsys.readouterr().out.lower().split())
        assert summary(COMMANDS[command]).lower() in told


@pytest.mark.parametrize(
    ("command", "epochs"),
    [
        ("fit", Solver().max_iter),
        (
            "network",
            f"{SHORT['max_iter']}; {MANY['max_iter']} for more than {MANY_TARGETS} targets",
        ),
    ],
)
def test_help_tells_the_number_of_epochs(command, epochs, capsys):
    # Written out there, because the library is too heavy to import for help.
    with pytest.raises(SystemExit):
        main([command, "--help"])
    told = " ".join(capsys.readouterr().out.split())
    assert f"number of training epochs (default: {epochs})" in told
    if command == "network":
        few, many = N_REPEATS, MANY["n_repeats"]
        text = f"means over them (default: {few}; {many} for more than {MANY_TARGETS} targets)"
        assert text in told


def test_help_fits_a_terminal_of_80_columns(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    assert max(map(len, make_parser().format_help().splitlines())) <= 80
    for command in COMMANDS.values():
        assert max(map(len, inspect.getdoc(command).splitlines())) <= 80


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["nothing"],
        ["fit"],
        ["fit", "d.csv", "-o", "m"],
        ["fit", "d.csv", "-o", "m", "--target", "y", "--epochs", "0"],
        ["fit", "d.csv", "-o", "m", "--target", "y", "--penalty", "size"],
        ["fit", "d.csv", "-o", "m", "--target", "y", "--penalty", "fused=1@3"],
        ["fit", "d.csv", "-o", "m", "--target", "y", "--penalty", "fused=1@0x3"],
        ["fit", "d.csv", "-o", "m", "--target", "y", "--penalty", "size=1@3x3"],
        ["fit", "d.csv", "-o", "m", "--target", "y", "--penalty", "size=-1"],
        ["fit", "d.csv", "-o", "m", "--target", "y", "--penalty", "size=inf"],
        ["fit", "d.csv", "-o", "m", "--target", "y", "--base-param", "3"],
        ["fit", "d.csv", "-o", "m", "--target", "y", "--time-limit", "soon"],
        ["fit", "d.csv", "-o", "m", "--target", "y", "--validation-fraction", "1"],
        ["select", "m", "d.csv", "-o", "s.csv"],
        ["select", "m", "d.csv", "-o", "s.csv", "--top", "1", "--fdr", "0.1"],
        ["select", "m", "d.csv", "-o", "s.csv", "--fdr", "0"],
        ["select", "m", "d.csv", "-o", "s.csv", "--fdr", "0.1", "--null", "other"],
        ["network", "e.csv", "-o", "l.csv", "--lam", "-1"],
        ["simulate", "nothing", "-o", "d.csv"],
        ["simulate", "friedman", "-o", "d.csv", "--irrelevant", "many"],
        ["completion", "tcsh"],
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
        "import sys\nfrom randsub.cli.main import main\n"
        "try:\n    main(['fit', '--help'])\nexcept SystemExit:\n    pass\n"
        "heavy = ('sklearn', 'numba', 'matplotlib', 'pandas', 'numpy')\n"
        "print([name for name in heavy if name in sys.modules])"
    )
    answer = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert answer.stdout.endswith("\n[]\n")
