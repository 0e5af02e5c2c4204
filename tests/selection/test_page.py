"""What the page on selection shows runs as it stands, and says what comes out."""

import re
from pathlib import Path

import numpy as np

PAGE = Path(__file__).parents[2] / "docs" / "selection.md"


def test_code_of_the_page_runs():
    text = PAGE.read_text(encoding="utf-8")
    assert "@" not in text
    namespace = {}
    for block in re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL):
        exec(compile(block, PAGE.name, "exec"), namespace)
    relevant = namespace["relevant"]
    np.testing.assert_array_equal(namespace["selector"].get_support(indices=True), relevant)
    assert namespace["X_selected"].shape == (300, 5)
    assert 0.5 < namespace["result"].agreement.value <= 1.0
