"""What is compiled is kept, and each variant under a name of its own."""

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np

from randsub._compile import compiled, when_compiling

SOURCE = """
    import numpy as np
    from randsub._compile import compiled, when_compiling

    @compiled()
    def double(x, places):
        return x * 2 + len(places)
"""


def run(folder: Path, script: str) -> str:
    """What a script prints that runs in a process and a folder of its own, beside ``own.py``."""
    folder.mkdir(exist_ok=True)
    if not (folder / "own.py").exists():
        (folder / "own.py").write_text(textwrap.dedent(SOURCE))
        # The file's age is part of what a variant is known by.
        os.utime(folder / "own.py", (1e9, 1e9))
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)],
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()


def test_a_variant_has_its_own_file_whatever_came_before(tmp_path) -> None:
    """Two orders of compilation, as in two processes that know nothing of each other."""
    script = """
        import glob, own
        for k in ({}):
            before = set(glob.glob("__pycache__/*.nbc"))
            assert own.double(3, (0,) * k) == 6 + k
            (new,) = set(glob.glob("__pycache__/*.nbc")) - before
            print(k, new)
    """
    one = run(tmp_path / "one", script.format("1, 2")).splitlines()
    other = run(tmp_path / "other", script.format("2, 1")).splitlines()
    assert sorted(one) == sorted(other)
    assert len({line.split()[1] for line in one}) == 2


def test_what_is_on_disk_is_not_compiled_again(tmp_path) -> None:
    script = """
        import own
        told = []
        with own.when_compiling(lambda: told.append(1)):
            assert own.double(3, (0,)) == 7
            assert own.double(4, (0,)) == 9
        assert own.double(4, (0, 0)) == 10  # nobody listens any more
        print(len(told))
    """
    assert [run(tmp_path, script), run(tmp_path, script)] == ["1", "0"]


def test_a_change_in_the_package_around_it_counts(tmp_path) -> None:
    """As in engines/simd.py, for the kernels in engines/tree."""
    inner = tmp_path / "top" / "engines" / "tree"
    inner.mkdir(parents=True)
    for folder in (inner, inner.parent, inner.parent.parent):
        (folder / "__init__.py").touch()
        os.utime(folder / "__init__.py", (1e9, 1e9))
    shared = inner.parent / "shared.py"
    (inner / "kernels.py").write_text(
        "from randsub._compile import compiled\n"
        "from top.engines.shared import factor\n"
        "@compiled()\n"
        "def times(x):\n"
        "    return x * factor()\n"
    )
    call = "from top.engines.tree.kernels import times; print(times(1))"
    for age, factor in ((1e9, 5), (1.1e9, 7)):
        shared.write_text(
            "from randsub._compile import compiled\n"
            "@compiled()\n"
            "def factor():\n"
            f"    return {factor}\n"
        )
        os.utime(shared, (age, age))
        assert run(tmp_path, call) == str(factor)


def test_a_change_in_the_folder_of_an_imported_function_counts(tmp_path) -> None:
    """As in engines/tree, for the kernels in engines/boosting."""
    folders = [tmp_path / "top" / "engines" / name for name in ("tree", "boosting")]
    for folder in folders:
        folder.mkdir(parents=True)
    for folder in (*folders, folders[0].parent, folders[0].parent.parent):
        (folder / "__init__.py").touch()
        os.utime(folder / "__init__.py", (1e9, 1e9))
    (folders[1] / "kernels.py").write_text(
        "from randsub._compile import compiled\n"
        "from top.engines.tree.kernels import factor\n"
        "@compiled()\n"
        "def times(x):\n"
        "    return x * factor()\n"
    )
    call = "from top.engines.boosting.kernels import times; print(times(1))"
    for age, factor in ((1e9, 5), (1.1e9, 7)):
        called = folders[0] / "kernels.py"
        called.write_text(
            "from randsub._compile import compiled\n"
            "@compiled()\n"
            "def factor():\n"
            f"    return {factor}\n"
        )
        os.utime(called, (age, age))
        assert run(tmp_path, call) == str(factor)


def test_compiled_functions_divide_like_numpy() -> None:
    @compiled()
    def divide(a, b):
        return a / b

    with np.errstate(all="ignore"):
        assert divide(1.0, 0.0) == np.inf
    told: list[int] = []
    with when_compiling(lambda: told.append(1)):
        divide(1.0, 2.0)
    assert told == []


def test_without_a_folder_to_write_to_it_is_compiled_all_the_same(tmp_path, monkeypatch) -> None:
    def refuse(self: object, function: object) -> None:
        raise RuntimeError("cannot cache function: no locator available")

    monkeypatch.setattr("numba.core.caching.FunctionCache.__init__", refuse)

    @compiled()
    def triple(x):
        return 3 * x

    assert triple(2) == 6


def test_what_was_compiled_from_earlier_sources_is_removed(tmp_path) -> None:
    call = "import own; print(own.double(3, (0,)))"
    assert run(tmp_path, call) == "7"
    first = {path.name for path in (tmp_path / "__pycache__").glob("*.nb?")}
    assert len(first) == 2
    for name in first:
        os.utime(tmp_path / "__pycache__" / name, (1.05e9, 1.05e9))
    # Another line, another age, another result.
    source = (tmp_path / "own.py").read_text()
    (tmp_path / "own.py").write_text("# moved\n" + source.replace("x * 2", "x * 4"))
    os.utime(tmp_path / "own.py", (1.1e9, 1.1e9))
    # One of another function, and one that another process has just begun to write.
    others = {"own.double_too-7.py311.1.nbc", "own.double-5.py311.ab.nbc.tmp.cd"}
    for name in others:
        (tmp_path / "__pycache__" / name).touch()
    os.utime(tmp_path / "__pycache__" / "own.double_too-7.py311.1.nbc", (1.05e9, 1.05e9))
    assert run(tmp_path, call) == "13"
    second = {path.name for path in (tmp_path / "__pycache__").glob("*.nb*")}
    assert others < second
    assert len(second - others) == 2
    assert not first & second


def test_variants_of_types_that_are_gone_are_compiled_again(tmp_path) -> None:
    """An index that an earlier release has written may name classes that this one lacks."""
    source = """
from typing import NamedTuple
from randsub._compile import compiled

class {name}(NamedTuple):
    x: float

@compiled()
def twice(pair):
    return 2.0 * pair.x

print(twice({name}(3.0)))
"""
    module = tmp_path / "kernel.py"
    stamp = (1_000_000_000, 1_000_000_000)
    for name in ("Former", "Latter"):
        module.write_text(source.format(name=name))
        # As old as before: nothing but the name of the class has changed.
        os.utime(module, stamp)
        # Imported, as classes of a script are pickled as a whole.
        done = subprocess.run(
            [sys.executable, "-B", "-c", "import kernel"],
            capture_output=True,
            text=True,
            cwd=tmp_path,
        )
        assert done.stdout.strip() == "6.0", done.stderr
