"""What the page on selection shows runs as it stands, and says what comes out."""

import re
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "selection.md"


def test_code_of_the_page_runs():
    text = PAGE.read_text(encoding="utf-8")
    assert "@" not in text
    namespace = {}
    for block in re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL):
        exec(compile(block, PAGE.name, "exec"), namespace)
    relevant = namespace["relevant"]
    minimal = namespace["minimal"]
    assert minimal.score_ > minimal.full_score_
    assert minimal.n_features_ <= len(relevant) + 1
    # As the page says: the relevant features, and perhaps a false one.
    selected = set(namespace["selector"].get_support(indices=True))
    assert selected >= set(relevant)
    assert len(selected) <= len(relevant) + 1
    assert namespace["X_selected"].shape == (300, len(selected))
    # In a chain: the relevant columns and few others, or many of their neighbours. How many few are
    # depends on the last digits of sines and matrix products, and so on the processor.
    makers = set(namespace["makers"])
    assert makers == {6, 12, 18, 24}
    with_few = set(namespace["conditional"].get_support(indices=True))
    with_many = set(namespace["marginal"].get_support(indices=True))
    assert makers <= with_few
    assert 3 * len(with_few - makers) < len(with_many - makers)
    assert makers <= with_many
    assert len(with_many) > 2 * len(makers)
    assert 0.5 < namespace["result"].agreement.value <= 1.0
