"""Tables in pages of the documentation, between two marks.

In a page, ``<!-- begin NAME: COMMAND -->`` and ``<!-- end NAME -->`` are lines of their own, which
readers do not see; the command replaces what is between them.
"""

import re
from collections.abc import Sequence
from pathlib import Path

DOCS = Path(__file__).parents[1] / "docs"


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Lines of a markdown table."""
    lines = [header, ["---"] * len(header), *rows]
    return [f"| {' | '.join(line)} |" for line in lines]


def place(page: Path, name: str, lines: Sequence[str]) -> None:
    """Replace what the page has between the marks of this name."""
    text = page.read_text(encoding="utf-8")
    marks = re.compile(
        rf"(^<!-- begin {re.escape(name)}:[^\n]*\n).*?(^<!-- end {re.escape(name)} -->$)",
        re.DOTALL | re.MULTILINE,
    )
    body = "\n".join(["", *lines, "", ""])
    changed, n = marks.subn(lambda found: found[1] + body + found[2], text)
    if n != 1:
        raise SystemExit(f"{page} has {n} places for the table {name!r}; it must have one.")
    page.write_text(changed, encoding="utf-8")
    print(f"Written to {page}: {name}.")
