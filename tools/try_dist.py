"""Install a wheel and an sdist into empty environments, and use them as a stranger would.

    python tools/try_dist.py dist

In each environment: the first example of the README, ``randsub --help``, the time of ``import
randsub``, and mypy on a file of a user, which must know the types of the library. The exit code is
1 if one of them fails.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

README = Path(__file__).resolve().parent.parent / "README.md"
# Wrong in the third line alone: mypy must say so, and of nothing else.
USER = """\
from randsub import PRSRegressor
model: PRSRegressor = PRSRegressor(n_estimators=10)
wrong: int = model.predict([[1.0]])
"""
MOST_SECONDS = 1.0


def example() -> str:
    """The first block of Python of the README, which prints what it ends with."""
    code = re.search(r"```python\n(.*?)```", README.read_text(), re.DOTALL)
    assert code is not None
    return code[1] + "print('R2', round(model.score(X[400:], y[400:]), 2))\n"


def run(*words: str | Path, folder: Path, check: bool = True) -> str:
    """What a command prints; the environment of this process is not the command's."""
    ended = subprocess.run(
        list(map(str, words)),
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        env={name: os.environ[name] for name in ("HOME", "PATH") if name in os.environ},
    )
    if check and ended.returncode:
        sys.exit(f"{' '.join(map(str, words))} failed:\n{ended.stdout}\n{ended.stderr}")
    return ended.stdout


def try_one(file: Path, folder: Path) -> None:
    """Install a file into an environment in this folder, and use it."""
    venv.create(folder / "env", with_pip=True)
    python = folder / "env" / "bin" / "python"
    run(python, "-m", "pip", "install", "--quiet", file.resolve(), folder=folder)
    print(f"{file.name}: {file.stat().st_size / 1e3:,.0f} kB", flush=True)
    print("  README:", run(python, "-c", example(), folder=folder).strip(), flush=True)
    told = run(folder / "env" / "bin" / "randsub", "--help", folder=folder)
    print("  randsub --help:", told.splitlines()[0])
    clock = "import time; t = time.perf_counter(); import randsub; print(time.perf_counter() - t)"
    # The first import compiles.
    seconds = min(float(run(python, "-c", clock, folder=folder)) for _ in range(3))
    print(f"  import randsub: {seconds:.2f} s")
    if seconds > MOST_SECONDS:
        sys.exit(f"The import takes more than {MOST_SECONDS} s.")
    run(python, "-m", "pip", "install", "--quiet", "mypy", folder=folder)
    (folder / "user.py").write_text(USER)
    told = run(python, "-m", "mypy", "user.py", folder=folder, check=False)
    errors = re.findall(r"^user\.py:(\d+): error", told, re.MULTILINE)
    print("  mypy in a user's project finds the error in line", *errors)
    if errors != ["3"]:
        sys.exit(f"mypy should have found one error, in line 3:\n{told}")


def main() -> None:
    """Try both files of a folder."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="folder with a wheel and an sdist")
    args = parser.parse_args()
    files = [*sorted(args.folder.glob("*.whl")), *sorted(args.folder.glob("*.tar.gz"))]
    if len(files) != 2:
        sys.exit(f"{args.folder} should hold a wheel and an sdist, not {len(files)} of them.")
    for file in files:
        with tempfile.TemporaryDirectory() as folder:
            try_one(file, Path(folder))


if __name__ == "__main__":
    main()
