"""Files are there as a whole, or as they were before."""

import json
import os
from pathlib import Path

import pytest

from cli_words import TINY
from randsub.cli import main
from randsub.cli.fitted_model import check_model_folder
from randsub.cli.main import Exit
from randsub.cli.output_files import check_file, whole_file
from randsub.estimators.prs import BasePRS
from randsub.io import ModelFolder


def test_a_file_takes_its_place_at_the_end(tmp_path):
    path = tmp_path / "f.txt"
    with whole_file(path) as draft:
        draft.write_text("new")
        assert not path.exists()
    assert path.read_text() == "new"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_what_fails_leaves_the_former_file(tmp_path, error):
    path = tmp_path / "f.txt"
    path.write_text("old")

    def fail():
        with whole_file(path) as draft:
            draft.write_text("half")
            raise error

    with pytest.raises(error):
        fail()
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_links_and_rights_stay(tmp_path):
    path, link = tmp_path / "f.txt", tmp_path / "link.txt"
    path.write_text("old")
    path.chmod(0o640)
    link.symlink_to(path)
    with whole_file(link) as draft:
        draft.write_text("new")
    assert link.is_symlink()
    assert path.read_text() == "new"
    assert path.stat().st_mode & 0o777 == 0o640


def test_a_device_is_written_to_and_not_replaced(tmp_path):
    with whole_file(tmp_path / "f") as draft:
        draft.write_text("")
    null = tmp_path / "null.csv"
    null.symlink_to("/dev/null")
    with whole_file(null) as draft:
        draft.write_text("gone")
    assert null.is_symlink()
    assert not os.path.isfile("/dev/null")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full here")
def test_a_full_disk_is_told_by_the_name_that_was_asked_for(tmp_path):
    path = tmp_path / "full.csv"
    path.symlink_to("/dev/full")
    with (
        pytest.raises(OSError, match=r"full\.csv could not be written \(No space left on device\)"),
        whole_file(path) as draft,
    ):
        draft.write_text("x" * 100)


def test_places_are_checked(tmp_path):
    file, folder = tmp_path / "file", tmp_path / "folder"
    file.write_text("")
    (folder / "full").mkdir(parents=True)
    check_file(tmp_path / "new.csv", replace=True)
    check_model_folder(tmp_path / "new", replace=False, format="joblib")
    with pytest.raises(IsADirectoryError, match="is a folder"):
        check_file(folder, replace=True)
    with pytest.raises(FileNotFoundError, match="does not exist; create it"):
        check_file(tmp_path / "nowhere" / "f.csv", replace=True)
    with pytest.raises(FileNotFoundError, match="does not exist; create it"):
        check_file(file / "f.csv", replace=True)
    with pytest.raises(FileNotFoundError, match="does not exist; create it"):
        check_model_folder(tmp_path / "nowhere" / "m", replace=False, format="joblib")
    with pytest.raises(FileExistsError, match="is a file"):
        check_model_folder(file, replace=True, format="joblib")
    for replace in (False, True):
        with pytest.raises(FileExistsError, match="is not a model folder"):
            check_model_folder(folder, replace=replace, format="joblib")
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["file", "folder"]


TOLD = "exists already; use --force to replace it, or choose another name."
WRITERS = {
    "predict": (["model", "d.csv", "-o"], "p.csv"),
    "rank": (["model", "-o"], "r.csv"),
    "select": (["model", "d.csv", "--top", "2", "-o"], "s.csv"),
    "report": (["model", "--no-compare", "-o"], "r.html"),
    "network": (["d.csv", "--lam", "0", "--epochs", "1", "--base", "ridge", "-o"], "l.csv"),
    "simulate": (["linear", "-o"], "s.csv"),
    "fit": (["d.csv", "--target", "y", *TINY, "-o"], "model"),
}


@pytest.mark.parametrize("command", WRITERS)
def test_nothing_is_replaced_without_force(here, monkeypatch, capsys, command):
    words, name = WRITERS[command]
    if name != "model":
        (here / name).write_text("precious")
    monkeypatch.setattr(BasePRS, "fit", lambda *_, **__: pytest.fail("training began"))
    monkeypatch.setattr(ModelFolder, "read", lambda *_, **__: pytest.fail("work began"))
    before = {path: path.stat().st_mtime_ns for path in here.rglob("*")}
    assert main([command, *words, name, "--json"]) == Exit.ERROR
    out, err = capsys.readouterr()
    assert err == f"randsub: error: {name} {TOLD}\n"
    assert json.loads(out) == {"error": f"{name} {TOLD}", "exit_code": 1}
    assert {path: path.stat().st_mtime_ns for path in here.rglob("*")} == before
    monkeypatch.undo()
    monkeypatch.chdir(here)
    assert main([command, *words, name, "--force", "-q"]) == Exit.DONE
    if name != "model":
        assert "precious" not in (here / name).read_text()


def test_the_truth_of_simulated_data_and_checkpoints_are_not_replaced_either(here, capsys):
    (here / "t.csv").write_text("precious")
    assert main(["simulate", "linear", "-o", "new.csv", "--truth", "t.csv"]) == Exit.ERROR
    assert capsys.readouterr().err == f"randsub: error: t.csv {TOLD}\n"
    assert not (here / "new.csv").exists()
    words = ["fit", "d.csv", "--target", "y", *TINY, "-q", "--checkpoint", "run.ckpt"]
    assert main([*words, "-o", "one"]) == Exit.DONE
    assert main([*words, "-o", "two"]) == Exit.ERROR
    told = "use --force to replace it, or continue from it with --resume run.ckpt."
    assert capsys.readouterr().err == f"randsub: error: run.ckpt exists already; {told}\n"
    assert main([*words, "-o", "two", "--resume", "run.ckpt"]) == Exit.DONE


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="no /proc here")
def test_a_place_where_nobody_may_write():
    with pytest.raises(OSError, match="Nothing can be written to /proc"):
        check_file(Path("/proc/f.csv"), replace=True)
