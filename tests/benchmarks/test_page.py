"""docs/benchmarks.md lists the scripts that exist, and no others."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "benchmarks.md").read_text()


def named_in(text: str) -> set[str]:
    return set(re.findall(r"benchmarks/[\w/]+\.py", text))


def test_the_page_names_every_file_of_the_benchmarks_and_no_other():
    files = {path.relative_to(ROOT).as_posix() for path in (ROOT / "benchmarks").rglob("*.py")}
    assert named_in(PAGE) == files


def test_the_page_tells_what_make_bench_runs():
    target = (ROOT / "Makefile").read_text().partition("\nbench:")[2].partition("\n\n")[0]
    table = PAGE.partition("## Run by `make bench`")[2].partition("\n## ")[0]
    assert named_in(target)
    assert named_in(table) == named_in(target)
