"""Print the walk of a fit: files and functions of randsub in the order of first entry.

    python tools/walk.py                    all three walks, as text
    python tools/walk.py PRSNetwork.fit     one of them
    python tools/walk.py --markdown         for CONTRIBUTING.md

A walk is recorded with :func:`sys.setprofile` on a tiny built-in problem with one job, after the
same call has been made once, so that imports and compilation are not part of it. It is the path of
a reader who looks up each function when it is first called:

* A function counts once, at its first call. Comprehensions and lambdas belong to their function;
  of the functions compiled by Numba, those that Python calls are seen.
* A file is *open* as long as one of its functions is on the call stack. A call from file A into
  file B that returns to A leaves B, not A.
* A *stay* in a file ends when another file is entered for something new while the file is not open.
* A file is *visited again* if it has a further stay. Calling a known function once more costs a
  reader nothing, and is no visit.
* Visits are told apart: those while the training loop runs, where each epoch goes through its parts
  in turn; those to the loop's files (its room ``solver/``, and what it uses), before or after it;
  and all others.
* Modules of the foundation (``randsub/_*.py`` and ``exceptions.py``: checks, types, tables) are
  called from everywhere. They are counted as files, listed apart, and never as visited again.
"""

import argparse
import os
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

import numpy as np

import randsub
from randsub import PRSClassifier
from randsub.network import PRSNetwork

ROOT = Path(randsub.__file__).parent
# While one of its functions is on the stack, the loop runs.
LOOP = "loop.py"
ROOM = "solver/"
INNER = {"<listcomp>", "<genexpr>", "<dictcomp>", "<setcomp>", "<lambda>"}


class Stay(NamedTuple):
    """Functions read in one stay in a file."""

    file: str
    functions: list[str]
    depth: int
    # Whether the file had been left before, and whether the training loop was running.
    again: bool
    in_loop: bool


class Walk:
    """Stays in files, in the order in which a call enters them.

    Attributes
    ----------
    stays : list of Stay
    foundation : list of Stay
        The same for the modules that every room imports.
    loop_files : set of str
        Files that were entered while the loop was running.
    """

    def __init__(self) -> None:
        self.stays: list[Stay] = []
        self.foundation: list[Stay] = []
        self.loop_files: set[str] = set()
        self._seen: set[tuple[str, str]] = set()
        self._stack: list[str] = []
        # Frames of each open file on the stack, and the stay that it is in.
        self._open: dict[str, tuple[int, Stay | None]] = {}

    def record(self, call: Callable[[], Any]) -> "Walk":
        """Follow one call."""
        sys.setprofile(self._profile)
        try:
            call()
        finally:
            sys.setprofile(None)
        return self

    def _profile(self, frame: FrameType, event: str, arg: Any) -> None:
        if event not in ("call", "return"):
            return
        code = frame.f_code
        if not code.co_filename.startswith(str(ROOT) + os.sep):
            return
        file = Path(code.co_filename).relative_to(ROOT).as_posix()
        if event == "call":
            self._enter(file, code.co_qualname)
        elif self._stack:
            self._leave(file)

    def _enter(self, file: str, function: str) -> None:
        in_loop = any(Path(name).name == LOOP for name in self._stack)
        count, stay = self._open.get(file, (0, None))
        if function.rsplit(".", 1)[-1] not in INNER and (file, function) not in self._seen:
            self._seen.add((file, function))
            if stay is None and not is_foundation(file):
                stay = next((last for last in self.stays[-1:] if last.file == file), None)
            if stay is None:
                stay = Stay(file, [], len(self._stack), file in self.files, in_loop)
                (self.foundation if is_foundation(file) else self.stays).append(stay)
            stay.functions.append(function)
        if in_loop:
            self.loop_files.add(file)
        self._open[file] = (count + 1, stay)
        self._stack.append(file)

    def _leave(self, file: str) -> None:
        # A generator that is closed late returns after frames above it; the last one is meant.
        for place in reversed(range(len(self._stack))):
            if self._stack[place] == file:
                del self._stack[place]
                count, stay = self._open[file]
                self._open[file] = (count - 1, stay if count > 1 else None)
                return

    @property
    def files(self) -> list[str]:
        """Files in the order of first entry, without the foundation."""
        return list(dict.fromkeys(stay.file for stay in self.stays))

    @property
    def n_functions(self) -> int:
        """Number of functions entered."""
        return len(self._seen)

    def visited_again(self) -> dict[str, list[str]]:
        """Files with a second stay, by what explains it."""
        found: dict[str, list[str]] = {
            "visited again while the loop runs": [],
            "the loop's files, outside it": [],
            "visited again": [],
        }
        inside, beside, others = found.values()
        for stay in self.stays:
            if stay.again:
                kind = inside if stay.in_loop else others
                ours = stay.file in self.loop_files or stay.file.startswith(ROOM)
                kind = beside if kind is others and ours else kind
                if stay.file not in kind:
                    kind.append(stay.file)
        return found


def is_foundation(file: str) -> bool:
    """Whether a module is one that every room imports."""
    return "/" not in file and (file.startswith("_") or file == "exceptions.py")


def problems() -> dict[str, Callable[[], Walk]]:
    """The calls that are followed, by name; each on tiny data, with one job."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 5))
    y = (X[:, 0] + X[:, 1] > 0).astype(int)
    few: dict[str, Any] = {"n_estimators": 10, "max_iter": 3, "n_jobs": 1, "random_state": 0}

    def fit() -> Walk:
        model = PRSClassifier(**few).fit(X, y)
        return Walk().record(lambda: model.fit(X, y))

    def predict() -> Walk:
        model = PRSClassifier(**few).fit(X, y)
        model.predict(X)
        return Walk().record(lambda: model.predict(X))

    def network() -> Walk:
        model = PRSNetwork(**few).fit(X)
        return Walk().record(lambda: model.fit(X))

    return {
        "PRSClassifier.fit": fit,
        "PRSClassifier.predict": predict,
        "PRSNetwork.fit": network,
    }


def as_text(name: str, walk: Walk) -> str:
    """The walk as an indented list: one line per stay, deeper calls further in."""
    lines = [name, "=" * len(name)]
    for stay in walk.stays:
        mark = " (again)" if stay.again else ""
        lines.append(f"{'  ' * min(stay.depth, 12)}{stay.file}{mark}: {', '.join(stay.functions)}")
    lines += ["", *summary(walk)]
    return "\n".join(lines)


def as_markdown(name: str, walk: Walk) -> str:
    """The files in the order of first entry, with their functions, for CONTRIBUTING.md."""
    lines = [f"### `{name}`", ""]
    for number, file in enumerate(walk.files, start=1):
        functions = [
            function for stay in walk.stays if stay.file == file for function in stay.functions
        ]
        named = [one for one in functions if not one.rsplit(".", 1)[-1].startswith("__")]
        shown = ", ".join(f"`{one}`" for one in (named or functions)[:4])
        lines.append(f"{number}. `{file}`: {shown}{' ...' if len(named or functions) > 4 else ''}")
    lines += ["", *(f"{line}  " for line in summary(walk))]
    return "\n".join(lines)


def summary(walk: Walk) -> list[str]:
    """The numbers of a walk, one sentence per line."""
    foundation = list(dict.fromkeys(stay.file for stay in walk.foundation))
    lines = [
        f"{len(walk.files) + len(foundation)} files, {walk.n_functions} functions.",
        f"Foundation ({len(foundation)} of these files): {', '.join(foundation) or 'none'}.",
    ]
    for kind, files in walk.visited_again().items():
        lines.append(f"{kind[0].upper()}{kind[1:]} ({len(files)}): {', '.join(files) or 'none'}.")
    return lines


def main() -> None:
    """Read the command line and print."""
    known = problems()
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("walks", nargs="*", help=f"any of {', '.join(known)}; all by default")
    parser.add_argument("--markdown", action="store_true", help="write a section per walk")
    options = parser.parse_args()
    unknown = [name for name in options.walks if name not in known]
    if unknown:
        parser.error(f"no walk is called {unknown[0]!r}; choose from {', '.join(known)}")
    write = as_markdown if options.markdown else as_text
    print("\n\n".join(write(name, known[name]()) for name in options.walks or known))


if __name__ == "__main__":
    main()
