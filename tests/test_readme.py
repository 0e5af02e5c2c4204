"""What the README shows runs as it stands."""

import re
from pathlib import Path

import numpy as np
import pytest
from sklearn.neighbors import KNeighborsRegressor

README = Path(__file__).parents[1] / "README.md"
BLOCKS = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), flags=re.DOTALL)


@pytest.mark.parametrize("block", BLOCKS)
def test_code_of_the_readme_runs(block):
    namespace = {}
    exec(compile(block, "README.md", "exec"), namespace)
    if "relevant" in namespace:
        model, relevant = namespace["model"], namespace["relevant"]
        X, y = namespace["X"], namespace["y"]
        assert set(np.argsort(model.alpha_)[::-1][:5]) == set(relevant)
        assert model.score(X[400:], y[400:]) == pytest.approx(0.9, abs=0.03)
        plain = KNeighborsRegressor().fit(X[:400], y[:400])
        assert plain.score(X[400:], y[400:]) == pytest.approx(0.3, abs=0.05)


def test_nothing_is_left_to_fill_in():
    assert len(BLOCKS) >= 1
    assert not re.search(r"@[A-Z]+@|TODO", README.read_text(encoding="utf-8"))
