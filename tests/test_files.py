"""A file is there as a whole, or as it was."""

import os

import pytest

from randsub._files import check_writable, draft_of, remove_leftovers, write_atomically


def test_a_write_that_fails_leaves_what_was_there(tmp_path, monkeypatch):
    path = tmp_path / "file"
    write_atomically(path, b"before")

    def full(descriptor):
        raise OSError("disk full")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="disk full"):
        write_atomically(path, b"after")
    assert path.read_bytes() == b"before"
    assert list(tmp_path.iterdir()) == [path]


def test_a_link_is_followed_and_permissions_are_kept(tmp_path):
    (tmp_path / "real").mkdir()
    real, link = tmp_path / "real" / "file", tmp_path / "link"
    real.write_bytes(b"before")
    real.chmod(0o640)
    link.symlink_to(real)
    write_atomically(link, b"af", memoryview(b"ter"))
    assert link.is_symlink()
    assert real.read_bytes() == b"after"
    assert real.stat().st_mode & 0o777 == 0o640
    assert list((tmp_path / "real").iterdir()) == [real]


def test_missing_folders_are_made(tmp_path):
    write_atomically(tmp_path / "a" / "b" / "file", b"content")
    assert (tmp_path / "a" / "b" / "file").read_bytes() == b"content"


@pytest.mark.parametrize("exists", [False, True])
@pytest.mark.parametrize("fails", [False, True])
def test_a_folder_is_replaced_as_a_whole(tmp_path, exists, fails):
    place = tmp_path / "folder"
    if exists:
        place.mkdir()
        (place / "old").touch()

    def write():
        with draft_of(place) as draft:
            draft.mkdir()
            (draft / "new").touch()
            if fails:
                raise OSError("disk full")

    if fails:
        with pytest.raises(OSError, match="disk full"):
            write()
    else:
        write()
    present = [path.relative_to(tmp_path).as_posix() for path in sorted(tmp_path.rglob("*"))]
    if fails:
        assert present == (["folder", "folder/old"] if exists else [])
    else:
        assert present == ["folder", "folder/new"]


def test_a_draft_that_was_never_written_is_an_error(tmp_path):
    with pytest.raises(FileNotFoundError), draft_of(tmp_path / "file"):
        pass
    assert list(tmp_path.iterdir()) == []


def test_leftovers_are_removed_once_they_are_old(tmp_path):
    path = tmp_path / "run[1].ckpt"
    path.touch()
    old, young, foreign = (
        tmp_path / name
        for name in (".run[1].ckpt.a.part", ".run[1].ckpt.b.part", ".run1.ckpt.a.part")
    )
    for file in (old, young, foreign):
        file.touch()
    for file in (old, foreign):
        os.utime(file, (0, 0))
    remove_leftovers(path)
    assert sorted(tmp_path.iterdir()) == sorted([path, young, foreign])


def test_where_a_file_can_be_written_is_known_before(tmp_path):
    check_writable(tmp_path / "file")
    with pytest.raises(IsADirectoryError, match="is a folder"):
        check_writable(tmp_path)
    with pytest.raises(FileNotFoundError, match="does not exist; create it first"):
        check_writable(tmp_path / "nowhere" / "file")
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_is_found_before(tmp_path, monkeypatch):
    def full(self, *args, **kwargs):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(type(tmp_path), "touch", full)
    with pytest.raises(OSError, match=r"Nothing can be written to .* \(No space left on device\)"):
        check_writable(tmp_path / "file")
