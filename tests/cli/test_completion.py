"""What shells complete."""

import contextlib
import io
import shutil
import subprocess

import pytest

from randsub.cli import main
from randsub.cli.bases import BASES
from randsub.cli.main import VERBS, Exit
from randsub.reproduce.experiments import EXPERIMENTS


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
def test_scripts_know_every_verb_and_experiment(scripts, shell):
    text = scripts[shell].read_text()
    for word in (*VERBS, *EXPERIMENTS, "--target" if shell != "fish" else "-l target"):
        assert word in text


def completed(scripts, folder, *words):
    """What bash offers for the last of some words."""
    line = " ".join(f"'{word}'" for word in words)
    script = (
        f"source {scripts['bash']}\nCOMP_WORDS=({line})\nCOMP_CWORD={len(words) - 1}\n"
        '_randsub\nprintf "%s\\n" "${COMPREPLY[@]}"\n'
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

    assert ask("randsub", "") == set(VERBS)
    assert ask("randsub", "re") == {"report", "reproduce"}
    assert ask("randsub", "--v") == {"--version"}
    assert ask("randsub", "fit", "--tar") == {"--target"}
    assert ask("randsub", "--debug", "fit", "--valid") == {"--validation", "--validation-fraction"}
    assert ask("randsub", "fit", "da") == {"data.csv"}
    assert ask("randsub", "fit", "data.csv", "--task", "") == {"regression", "classification"}
    assert ask("randsub", "fit", "data.csv", "-o", "d") == {"data.csv"}
    assert ask("randsub", "simulate", "h") == {"hypercube"}
    assert ask("randsub", "reproduce", "") == {*EXPERIMENTS, "page"}
    assert "--replicates" in ask("randsub", "reproduce", "simulated", "--re")
    assert ask("randsub", "rank", "m", "--format", "c") == {"csv"}
    assert ask("randsub", "completion", "f") == {"fish"}


def test_base_models_are_in_the_help(capsys):
    with pytest.raises(SystemExit):
        main(["fit", "--help"])
    told = capsys.readouterr().out
    assert ", ".join(BASES) in " ".join(told.split())
