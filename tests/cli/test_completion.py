"""Shell completion."""

import contextlib
import io
import shutil
import subprocess
import sys

import pytest

from randsub.cli import main
from randsub.cli.base_models import BASE_MODELS
from randsub.cli.main import Exit
from randsub.cli.parser import COMMANDS


@pytest.fixture(scope="module")
def scripts(tmp_path_factory):
    """The script of each shell in a file."""
    folder = tmp_path_factory.mktemp("scripts")
    paths = {}
    for shell in ("bash", "zsh", "fish"):
        text = io.StringIO()
        with contextlib.redirect_stdout(text):
            assert main(["completion", shell]) == Exit.DONE
        paths[shell] = folder / f"randsub.{shell}"
        paths[shell].write_text(text.getvalue())
    return paths


def needs(shell):
    found = shutil.which(shell)
    if found is None:
        pytest.skip(f"no {shell} here")
    return found


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_scripts_can_be_read(scripts, shell):
    program = needs(shell)
    flag = "--no-execute" if shell == "fish" else "-n"
    subprocess.run([program, flag, scripts[shell]], check=True)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_scripts_know_every_command(scripts, shell):
    text = scripts[shell].read_text()
    for word in (*COMMANDS, "--target" if shell != "fish" else "-l target"):
        assert word in text


def completed(scripts, folder, *words):
    """What bash offers for the last of some words."""
    line = " ".join(f"'{word}'" for word in words)
    script = (
        f"source {scripts['bash']}\nCOMP_WORDS=({line})\nCOMP_CWORD={len(words) - 1}\n"
        '_shtab_randsub\nprintf "%s\\n" "${COMPREPLY[@]}"\n'
    )
    answer = subprocess.run(
        [needs("bash"), "--norc", "-c", script],
        capture_output=True,
        text=True,
        check=True,
        cwd=folder,
    )
    return set(answer.stdout.split())


def test_bash_completes_as_a_person_expects(scripts, tmp_path):
    (tmp_path / "data.csv").write_text("")

    def ask(*words):
        return completed(scripts, tmp_path, *words)

    assert ask("randsub", "") == set(COMMANDS)
    assert ask("randsub", "re") == {"report"}
    assert ask("randsub", "--v") == {"--version"}
    assert ask("randsub", "fit", "--tar") == {"--target"}
    assert ask("randsub", "--debug", "fit", "--valid") == {"--validation", "--validation-fraction"}
    assert ask("randsub", "fit", "da") == {"data.csv"}
    assert ask("randsub", "fit", "data.csv", "--task", "") == {"regression", "classification"}
    assert ask("randsub", "fit", "data.csv", "-o", "d") == {"data.csv"}
    assert ask("randsub", "simulate", "h") == {"hypercube"}
    assert ask("randsub", "select", "model", "d") == {"data.csv"}
    assert ask("randsub", "fit", "data.csv", "--drop", "a", "b", "--cat") == {"--categorical"}
    assert ask("randsub", "rank", "m", "--format", "c") == {"csv"}
    assert ask("randsub", "completion", "f") == {"fish"}


def test_base_models_are_in_the_help(capsys):
    with pytest.raises(SystemExit):
        main(["fit", "--help"])
    told = capsys.readouterr().out
    assert ", ".join(BASE_MODELS) in " ".join(told.split())


def test_shtab_is_named_with_its_extra(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "shtab", None)
    assert main(["completion", "bash"]) == Exit.ERROR
    assert "pip install randsub[completion]" in capsys.readouterr().err
