"""Where there is no matplotlib."""

import ast
import sys
from pathlib import Path

import numpy as np
import pytest

import randsub.inspection
from randsub.inspection import ImportanceDisplay

ROOM = Path(randsub.inspection.__file__).parent


def test_the_error_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r"pip install 'randsub\[plot\]'"):
        ImportanceDisplay(np.ones(3)).plot()


@pytest.mark.parametrize("module", sorted(path.name for path in ROOM.glob("*.py")))
def test_nothing_is_imported_before_something_is_drawn(module):
    imports = []
    for node in ast.parse((ROOM / module).read_text("utf-8")).body:
        if isinstance(node, ast.Import):
            imports += [name.name for name in node.names]
        elif isinstance(node, ast.ImportFrom):
            imports.append(node.module)
    assert not any(name.startswith("matplotlib") for name in imports)
    assert imports
