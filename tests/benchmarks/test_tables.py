"""Tables go between their marks, and nothing else of the page changes."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = """# A

<!-- begin one: a command -->
<!-- end one -->

<!-- begin one-more: other -->
old
<!-- end one-more -->
"""


@pytest.fixture(scope="module")
def tables(script):
    return script("tables")


def test_a_table_replaces_the_one_before(tables, tmp_path):
    page = tmp_path / "page.md"
    page.write_text(PAGE)
    lines = tables.table(["a", "b"], [["1", r"\2"]])
    for _ in range(2):
        tables.place(page, "one", lines)
        assert page.read_text() == PAGE.replace(
            "command -->\n", "command -->\n\n| a | b |\n| --- | --- |\n| 1 | \\2 |\n\n"
        )
    tables.place(page, "one-more", ["new"])
    assert "old" not in page.read_text()


def test_a_page_without_the_place(tables, tmp_path):
    page = tmp_path / "page.md"
    page.write_text(PAGE + PAGE)
    with pytest.raises(SystemExit, match="0 places for the table 'two'"):
        tables.place(page, "two", [])
    with pytest.raises(SystemExit, match="2 places for the table 'one'"):
        tables.place(page, "one", [])


def test_marks_in_the_documentation_name_scripts_that_fill_them(script):
    marks = re.compile(r"^<!-- begin ([\w-]+): python (benchmarks/\w+\.py)", re.MULTILINE)
    found = {
        (path.name, name, command)
        for path in (ROOT / "docs").rglob("*.md")
        for name, command in marks.findall(path.read_text(encoding="utf-8"))
    }
    pages = {"width.md", "cost.md", "wide_data.md", "mixes.md", "peers.md"}
    assert {page for page, _, _ in found} == pages
    for page, name, command in found:
        source = (ROOT / command).read_text()
        # One table for each measure of the width.
        assert f'"{name}"' in source or name.replace("-", "_") in script("width").MEASURES
        assert f'"{page}"' in source
