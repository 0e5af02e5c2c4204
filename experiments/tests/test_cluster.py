"""``--backend`` and ``--scheduler-address``: the same files from a cluster, or a sentence."""

import sys

import pytest

from clusters import cluster_warnings, dask_scheduler, needs_dask
from randsub_experiments.command_line import main
from randsub_experiments.program import Exit

TINY = ["simulated", "--methods", "single", "prs", "--problems", "friedman"]
TINY += ["--bases", "knn", "--irrelevant", "3", "--test-samples", "20", "--epochs", "3"]
TINY += ["--replicates", "2", "--output"]


def test_an_address_needs_a_backend(tmp_path, capsys) -> None:
    flags = [*TINY, str(tmp_path), "--scheduler-address", "tcp://there:8786"]
    assert main(flags) == Exit.ERROR
    assert "needs --backend" in capsys.readouterr().err


@pytest.mark.parametrize(("backend", "module"), [("dask", "distributed"), ("ray", "ray")])
def test_a_missing_library_is_named_with_its_extra(
    backend, module, tmp_path, capsys, monkeypatch
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    assert main([*TINY, str(tmp_path), "--backend", backend]) == Exit.ERROR
    assert f"pip install randsub[{backend}]" in capsys.readouterr().err


@needs_dask
class TestDask:
    """With two worker processes."""

    pytestmark = cluster_warnings

    def test_the_files_are_the_same(self, tmp_path, capsys) -> None:
        near, far = tmp_path / "near", tmp_path / "far"
        assert main([*TINY, str(near)]) == Exit.DONE
        with dask_scheduler() as (_, address):
            flags = [*TINY, str(far), "--backend", "dask", "--scheduler-address", address]
            assert main([*flags, "--jobs", "3"]) == Exit.ERROR
            assert "Leave --jobs out" in capsys.readouterr().err
            assert main(flags) == Exit.DONE
        assert (near / "results.csv").read_bytes() == (far / "results.csv").read_bytes()
