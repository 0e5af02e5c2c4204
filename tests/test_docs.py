"""What the pages show runs as it stands, and prints what they say it prints.

A page's blocks of Python run in order, in one namespace and a folder of their own; its blocks of
shell run the ``randsub`` commands in them. A ``text`` block after a block of either kind is what it
prints: words must agree, numbers nearly so. ``% not run: reason`` before a block leaves it out.
"""

import contextlib
import importlib
import importlib.util
import inspect
import io
import pkgutil
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import matplotlib
import numpy as np
import pytest
from sklearn.base import BaseEstimator

import randsub
from randsub.cli import main
from randsub.penalties import ExpectedSize

matplotlib.use("Agg")

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
# Written from results; the tests of the command that writes them look after these.
GENERATED = {"defaults.md", "reproduction.md", "reproduction.template.md"}
# Run by tests/selection/test_page.py, which looks at what comes out, too.
ELSEWHERE = {"docs/selection.md"}
PAGES = sorted(
    path.relative_to(ROOT).as_posix()
    for path in DOCS.rglob("*.md")
    if path.name not in GENERATED
    and path.relative_to(ROOT).as_posix() not in ELSEWHERE
    and not {"_build", "gallery", "api"} & set(path.relative_to(DOCS).parts)
)
FENCE = re.compile(
    r"(?:^% not run: (?P<reason>[^\n]+)\n)?"
    r"^(?P<ticks>```+)(?P<language>\w+)\n(?P<code>.*?)^(?P=ticks)$",
    flags=re.DOTALL | re.MULTILINE,
)
NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e-?\d+)?")


@dataclass(frozen=True)
class Block:
    """Code on a page, and what the page says that it prints."""

    language: str
    code: str
    line: int
    reason: str | None = None
    printed: str | None = None


def blocks_of(text: str) -> list[Block]:
    """The blocks of a page, each with the ``text`` block that follows it."""
    blocks: list[Block] = []
    for found in FENCE.finditer(text):
        line = text.count("\n", 0, found.start("code")) + 1
        block = Block(found["language"], found["code"], line, found["reason"])
        if block.language == "text":
            last = blocks.pop()
            blocks.append(Block(last.language, last.code, last.line, last.reason, block.code))
        else:
            blocks.append(block)
    return blocks


def commands_in(code: str) -> Iterator[list[str]]:
    """The words of each ``randsub`` command in a block of shell."""
    for line in code.replace("\\\n", " ").splitlines():
        for command in line.removeprefix("$ ").split("&&"):
            words = shlex.split(command, comments=True)
            if words and words[0] == "randsub":
                yield words[1:]


def say_the_same(shown: str, printed: str) -> bool:
    """Whether two texts have the same words, and numbers that differ by little."""
    if NUMBER.sub("#", shown).split() != NUMBER.sub("#", printed).split():
        return False
    numbers = [[float(n) for n in NUMBER.findall(text)] for text in (shown, printed)]
    return np.allclose(*numbers, rtol=0.03, atol=0.03)


@pytest.mark.parametrize("page", PAGES)
def test_blocks_of_a_page_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    namespace = {"__name__": "__page__"}
    for block in blocks_of((ROOT / page).read_text(encoding="utf-8")):
        if block.reason or block.language not in ("python", "shell"):
            continue
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            if block.language == "python":
                # Lines of a traceback are those of the page.
                code = "\n" * (block.line - 1) + block.code
                exec(compile(code, page, "exec"), namespace)
            else:
                for words in commands_in(block.code):
                    assert main(words) == 0, f"{page}:{block.line}: randsub {shlex.join(words)}"
        if block.printed is not None:
            assert say_the_same(block.printed, output.getvalue()), (
                f"{page}:{block.line} prints\n{output.getvalue()}\nbut shows\n{block.printed}"
            )


def test_pages_are_found_and_next_to_all_their_blocks_run():
    blocks = [b for page in PAGES for b in blocks_of((ROOT / page).read_text(encoding="utf-8"))]
    left_out = [b for b in blocks if b.reason]
    assert len([b for b in blocks if b.language == "python"]) > 20
    assert len(left_out) <= 8
    assert {b.language for b in blocks} <= {"python", "shell", "text"}


@pytest.mark.parametrize(
    "shown, printed, same",
    [
        ("R2 0.90", "R2 0.92\n", True),
        ("R2 0.90", "R2 0.60\n", False),
        ("15600 trees", "15400 trees", True),
        ("first: [4, 8]", "first: [4, 12]", False),
        ("True", "False", False),
        ("a 1", "a 1 2", False),
    ],
)
def test_comparison_of_what_is_printed(shown, printed, same):
    assert say_the_same(shown, printed) is same


def test_blocks_are_read_with_their_outputs_and_reasons():
    page = "# A\n\n```python\nprint(1)\n```\n\n```text\n1\n```\n\n"
    page += "% not run: no such thing\n```shell\nx\n```\n\n```python\ny\n```\n"
    first, second, third = blocks_of(page)
    assert (first.code, first.printed, first.line) == ("print(1)\n", "1\n", 4)
    assert (second.reason, second.language) == ("no such thing", "shell")
    assert (third.reason, third.code) == (None, "y\n")
    commands = commands_in("$ randsub a 'b c' && randsub d \\\n  e\ncd x  # no\n")
    assert list(commands) == [["a", "b c"], ["d", "e"]]


def module_of_reference():
    spec = importlib.util.spec_from_file_location("api_pages", DOCS / "_ext" / "api_pages.py")
    api_pages = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(api_pages)
    return api_pages


def test_reference_lists_every_public_module():
    api_pages = module_of_reference()
    public = {
        f"randsub.{module.name}"
        for module in pkgutil.iter_modules(randsub.__path__)
        if not module.name.startswith("_")
    }
    # Their public names are those of the top package, of randsub.callbacks, or commands.
    elsewhere = {"randsub.estimators", "randsub.checkpoint", "randsub.cli"}
    assert set(api_pages.ROOMS) == (public - elsewhere) | {"randsub"}
    described = [name for names in api_pages.homes().values() for name in names]
    for module in api_pages.ROOMS:
        assert api_pages.public_names(module)
        assert set(api_pages.public_names(module)) <= set(described)
        assert module in api_pages.index()
    assert len(described) == len(set(described))


def test_html_of_an_estimator_links_to_its_page():
    pages = {
        f"{home}.{name}": getattr(importlib.import_module(home), name)
        for home, names in module_of_reference().homes().items()
        for name in names
    }
    linked = {
        page: kind
        for page, kind in pages.items()
        if inspect.isclass(kind)
        and issubclass(kind, BaseEstimator)
        and not inspect.isabstract(kind)
    }
    assert len(linked) > 20
    for page, kind in linked.items():
        link = kind._get_doc_link(object.__new__(kind))
        assert link.endswith(f"/api/generated/{page}.html"), page
    model = randsub.PRSClassifier()
    assert model._get_doc_link() in model._repr_html_()


def test_a_part_of_the_user_has_no_page_here():
    class Mine(ExpectedSize):
        pass

    assert Mine(1.0)._get_doc_link() == ""
