"""Files are there as a whole, or as they were before."""

import os
from pathlib import Path

import pytest

from randsub.cli.fitted_model import check_model_folder
from randsub.cli.output_files import check_file, whole_file


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
    check_file(tmp_path / "new.csv")
    check_model_folder(tmp_path / "new", replace=False, format="joblib")
    with pytest.raises(IsADirectoryError, match="is a folder"):
        check_file(folder)
    with pytest.raises(FileNotFoundError, match="does not exist; create it"):
        check_file(tmp_path / "nowhere" / "f.csv")
    with pytest.raises(FileNotFoundError, match="does not exist; create it"):
        check_file(file / "f.csv")
    with pytest.raises(FileNotFoundError, match="does not exist; create it"):
        check_model_folder(tmp_path / "nowhere" / "m", replace=False, format="joblib")
    with pytest.raises(FileExistsError, match="is a file"):
        check_model_folder(file, replace=True, format="joblib")
    for replace in (False, True):
        with pytest.raises(FileExistsError, match="is not a model folder"):
            check_model_folder(folder, replace=replace, format="joblib")
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["file", "folder"]


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="no /proc here")
def test_a_place_where_nobody_may_write():
    with pytest.raises(OSError, match="Nothing can be written to /proc"):
        check_file(Path("/proc/f.csv"))
