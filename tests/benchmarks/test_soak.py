"""Twenty fits in one process leave nothing behind; benchmarks/soak.py runs two hundred."""

import threading
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/task").is_dir(), reason="counts files and threads by way of /proc"
)


@pytest.fixture(scope="module")
def soak(script):
    return script("soak")


def test_nothing_is_left_behind(soak):
    # Other tests of this process may have children of their own.
    soak.send_workers_home()
    others = soak.resources().processes
    held = list(soak.soak(2 * soak.WARM))
    warm, later = held[soak.WARM - 1], held[soak.WARM :]
    assert [soak.grown(warm, now) for now in later] == [[]] * soak.WARM
    soak.send_workers_home()
    assert soak.resources().processes <= others + soak.WATCHMEN


def test_what_is_left_behind_is_seen(soak, tmp_path):
    before = soak.resources()
    assert before.files > 0
    assert before.threads > 0
    stop = threading.Event()
    thread = threading.Thread(target=stop.wait)
    with (tmp_path / "left_open").open("w"):
        thread.start()
        told = " ".join(soak.grown(before, soak.resources()))
        stop.set()
        thread.join()
    assert "files" in told
    assert "threads" in told
    assert soak.grown(before, soak.resources()) == []


def test_both_ways_to_count_agree(soak):
    pytest.importorskip("psutil", reason="psutil is not installed; /proc is used alone")
    ours, theirs = soak._from_proc(), soak.resources()
    assert (ours.threads, ours.processes) == theirs[2:]
    # On Linux psutil also counts the descriptor that it looks through.
    assert theirs.files - ours.files in (0, 1)
    assert ours.megabytes == pytest.approx(theirs.megabytes, rel=0.1)


def test_figures_are_those_of_this_process(soak):
    assert soak._from_proc().threads >= threading.active_count()
    assert soak._from_proc().megabytes > 50
