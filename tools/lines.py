"""Count lines of code by package; docstrings, comments and blank lines are not counted.

    python tools/lines.py                     of the working tree
    python tools/lines.py --against HEAD~5    before and after, side by side

Counted are the library, ``src/randsub``, and the experiments beside it, ``experiments/src``, where
they exist. A file directly in the root of a package is listed under ``.``.
"""

import argparse
import ast
import io
import subprocess
import tarfile
import tempfile
import tokenize
from collections import Counter
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
ROOTS = ("src/randsub", "experiments/src")
# Tokens that are not code.
LAYOUT = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
}


def code_lines(source: str) -> int:
    """Number of lines of a module that hold code."""
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in LAYOUT:
            lines.update(range(token.start[0], token.end[0] + 1))
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, documented) and ast.get_docstring(node, clean=False) is not None:
            text = node.body[0]
            lines.difference_update(range(text.lineno, (text.end_lineno or text.lineno) + 1))
    return len(lines)


def count(tree: Path) -> dict[str, Counter[str]]:
    """Lines of code of each package below each root.

    Parameters
    ----------
    tree : Path
        A checkout of the repository.

    Returns
    -------
    counts : dict of Counter
        One for each of ``ROOTS`` that exists, by package.
    """
    counts: dict[str, Counter[str]] = {}
    for root in ROOTS:
        for path in sorted((tree / root).rglob("*.py")):
            folders = path.relative_to(tree / root).parts[:-1]
            package = folders[0] if folders else "."
            counts.setdefault(root, Counter())[package] += code_lines(path.read_text())
    return counts


def count_revision(revision: str) -> dict[str, Counter[str]]:
    """The same for a commit of the repository."""
    archive = subprocess.run(
        ["git", "archive", "--format=tar", revision],
        cwd=REPOSITORY,
        check=True,
        capture_output=True,
    ).stdout
    with (
        tempfile.TemporaryDirectory() as folder,
        tarfile.open(fileobj=io.BytesIO(archive)) as files,
    ):
        files.extractall(folder, filter="data")
        return count(Path(folder))


def table(after: dict[str, Counter[str]], before: dict[str, Counter[str]] | None) -> str:
    """One line per package, with a total for each root and for both."""
    known = before or {}
    columns = (after,) if before is None else (known, after)
    lines = [] if before is None else [f"{'':32}{'before':>8}{'after':>8}"]

    def row(name: str, numbers: list[int]) -> str:
        return f"{name:32}" + "".join(f"{number:8,}" for number in numbers)

    for root in dict.fromkeys([*known, *after]):
        of_root = [column.get(root, Counter()) for column in columns]
        packages = sorted({name for counter in of_root for name in counter})
        lines += [
            row(f"{root}/{name}", [counter[name] for counter in of_root]) for name in packages
        ]
        lines += [row(root, [counter.total() for counter in of_root]), ""]
    totals = [sum(counter.total() for counter in column.values()) for column in columns]
    return "\n".join([*lines, row("total", totals)])


def main() -> None:
    """Read the command line and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--against", metavar="REV", help="commit to compare the tree with")
    options = parser.parse_args()
    before = None if options.against is None else count_revision(options.against)
    print(table(count(REPOSITORY), before))


if __name__ == "__main__":
    main()
