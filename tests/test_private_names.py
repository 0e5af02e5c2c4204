"""Private names of other libraries: gathered in one file per library, and there in this release.

Where a test fails after an upgrade, its message says which release lacks which name, and which file
needs it.
"""

import ast
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

import numba
import pytest

import randsub

SOURCE = Path(randsub.__file__).parent
# What each library is called where it is installed, and which file of ours may use its private
# names.
LIBRARIES = {
    "sklearn": ("scikit-learn", "_sklearn.py"),
    "joblib": ("joblib", "_joblib.py"),
    "numba": ("numba", "_numba.py"),
    "skops": ("skops", "_skops.py"),
}
# Packages without an underscore that their libraries do not document for users.
INTERNAL = ("joblib.externals", "numba.core", "numba.np")


class Name(NamedTuple):
    """A name that a file imports from another library."""

    file: str
    module: str
    name: str

    @property
    def library(self) -> str:
        return self.module.partition(".")[0]

    @property
    def is_private(self) -> bool:
        path = f"{self.module}.{self.name}"
        parts = [part for part in path.split(".") if not part.endswith("__")]
        return any(part[0] == "_" for part in parts) or path.startswith(INTERNAL)


def imported(path: Path) -> Iterator[Name]:
    """Names that a file imports, at its top or in a function, from the libraries."""
    file = path.relative_to(SOURCE).as_posix()
    tree = ast.parse(path.read_text(encoding="utf-8"))
    # What is imported where the first choice is missing need not be there.
    handlers = [node for node in ast.walk(tree) if isinstance(node, ast.ExceptHandler)]
    fallbacks = {id(node) for handler in handlers for node in ast.walk(handler)}
    for node in ast.walk(tree):
        if id(node) in fallbacks and file == LIBRARIES["joblib"][1]:
            continue
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names = [Name(file, node.module, alias.name) for alias in node.names]
        elif isinstance(node, ast.Import):
            pairs = [alias.name.rpartition(".") for alias in node.names]
            names = [Name(file, module or name, name) for module, _, name in pairs]
        else:
            continue
        yield from (name for name in names if name.library in LIBRARIES)


GATHERED = [
    name
    for _, file in LIBRARIES.values()
    if (SOURCE / file).exists()
    for name in imported(SOURCE / file)
    if name.is_private
]
ATTRIBUTES = [
    *("_index_name", "_cache_path", "_source_stamp", "_version"),
    *("_save_data", "_load_index", "_save_index"),
]


def lacks(library: str, name: str, file: str) -> str:
    distribution = LIBRARIES[library][0]
    return f"{distribution} {version(distribution)} lacks {name}, which randsub/{file} needs."


@pytest.mark.parametrize("name", GATHERED, ids=lambda name: f"{name.module}.{name.name}")
def test_the_installed_release_has(name):
    said = lacks(name.library, f"{name.module}.{name.name}", name.file)
    try:
        module = import_module(name.module)
    except ImportError:
        pytest.fail(said)
    assert hasattr(module, name.name), said


@numba.njit(cache=True)
def cached(x):
    return x


@pytest.mark.parametrize("name", ATTRIBUTES)
def test_the_cache_of_numba_has(name):
    cache = getattr(getattr(cached, "_cache", None), "_cache_file", None)
    assert cache is not None, lacks("numba", "Dispatcher._cache._cache_file", "_numba.py")
    assert hasattr(cache, name), lacks("numba", f"IndexDataCacheFile.{name}", "_numba.py")


def test_private_names_are_imported_in_one_file_per_library():
    strays = [
        f"{name.file}: {name.module}.{name.name}"
        for path in sorted(SOURCE.rglob("*.py"))
        for name in imported(path)
        if name.is_private and name.file != LIBRARIES[name.library][1]
    ]
    assert not strays, f"Import these from {[file for _, file in LIBRARIES.values()]}: {strays}"


def test_the_search_finds_private_names(tmp_path, monkeypatch):
    monkeypatch.setattr(f"{__name__}.SOURCE", tmp_path)
    path = tmp_path / "some.py"
    path.write_text(
        "import sklearn\nimport sklearn.utils._bunch\nfrom joblib.externals import loky\n"
        "def f():\n    from sklearn.base import BaseEstimator, _fit_context\n"
        "from sklearn import __version__\nfrom numba.core import event\nfrom os import _exit\n"
    )
    found = [f"{name.module}.{name.name}" for name in imported(path) if name.is_private]
    assert sorted(found) == [
        "joblib.externals.loky",
        "numba.core.event",
        "sklearn.base._fit_context",
        "sklearn.utils._bunch",
    ]


@pytest.mark.parametrize("name", ["sklearn.ensemble", "sklearn.feature_selection"])
def test_what_the_gathered_names_need_is_loaded_when_it_is_used(name):
    """Importing the estimators must not load parts of scikit-learn that they do not use."""
    code = f"import sys; from randsub import PRSClassifier; print({name!r} in sys.modules)"
    answer = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert answer.stdout.strip() == "False"
