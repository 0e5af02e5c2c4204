"""The command itself: errors in a sentence, exit codes."""

import json
import signal
import subprocess
import sys
import warnings

import pytest

import randsub
from randsub.cli import main, reproduce
from randsub.cli.main import VERBS, Exit, Terminated, parser


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
    assert capsys.readouterr().err == "randsub: interrupted; nothing was written.\n"
    assert page(Terminated()) == Exit.TERMINATED == 143
    assert capsys.readouterr().err == "randsub: terminated; nothing was written.\n"


def test_interrupt_inside_compiled_code(page, capsys):
    error = SystemError("returned a result with an exception set")
    error.__cause__ = KeyboardInterrupt()
    assert page(error) == Exit.INTERRUPTED
    assert "interrupted" in capsys.readouterr().err


def test_errors_are_documents_for_those_who_read_json(capsys):
    assert main(["info", "nowhere", "--json"]) == Exit.ERROR
    out, err = capsys.readouterr()
    assert json.loads(out) == {"error": "There is no model folder nowhere.", "exit_code": 1}
    assert err == "randsub: error: There is no model folder nowhere.\n"


def test_warnings_are_sentences(page, monkeypatch, capsys):
    def run(args):
        warnings.warn("something\n  odd", UserWarning, stacklevel=2)
        return 0

    monkeypatch.setattr(reproduce, "_write_page", run)
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        assert main(["reproduce", "page", "--results", "x"]) == Exit.DONE
    assert capsys.readouterr().err == "randsub: warning: something odd\n"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signals_are_given_back(number):
    before = signal.getsignal(number)
    assert main(["info", "nowhere"]) == Exit.ERROR
    assert signal.getsignal(number) is before


@pytest.mark.parametrize("verb", VERBS)
def test_help_of_every_verb(verb, capsys):
    for words in ([verb, "--help"], ["--help"]):
        with pytest.raises(SystemExit) as stop:
            main(words)
        assert stop.value.code == 0
    told = capsys.readouterr().out
    assert VERBS[verb] in " ".join(told.split())


def test_help_is_the_same_with_all_verbs_loaded():
    # What each verb says of itself is what the list says of it.
    assert parser().format_help() == parser("").format_help()


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
        ["fit"],
        ["fit", "d.csv", "-o", "m"],
        ["fit", "d.csv", "-o", "m", "--target", "y", "--epochs", "0"],
        ["fit", "d.csv", "-o", "m", "--target", "y", "--penalty", "size"],
        ["fit", "d.csv", "-o", "m", "--target", "y", "--penalty", "fused=1@3"],
        ["fit", "d.csv", "-o", "m", "--target", "y", "--base-param", "3"],
        ["fit", "d.csv", "-o", "m", "--target", "y", "--time-limit", "soon"],
        ["fit", "d.csv", "-o", "m", "--target", "y", "--validation-fraction", "1"],
        ["select", "m", "d.csv", "-o", "s.csv"],
        ["select", "m", "d.csv", "-o", "s.csv", "--top", "1", "--fdr", "0.1"],
        ["select", "m", "d.csv", "-o", "s.csv", "--fdr", "0"],
        ["network", "e.csv", "-o", "l.csv", "--lam", "-1"],
        ["simulate", "nothing", "-o", "d.csv"],
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
