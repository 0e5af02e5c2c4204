"""``randsub info``: what is in a model folder, or what this installation is."""

import argparse
from pathlib import Path
from typing import Any

from randsub.cli.options import add_verb

_DESCRIPTION = """\
Tell what is in a model folder: what was fitted on what, with which parameters and versions, and how
it went. Without a folder, tell what this installation is: versions, engines, and which of the
optional packages are there.
"""
_PACKAGES = ("numpy", "scipy", "scikit-learn", "joblib", "numba", "pandas", "threadpoolctl", "tqdm")
_OPTIONAL = {
    "matplotlib": "pictures",
    "pyarrow": "parquet and feather files",
    "skops": "safe model files",
    "networkx": "graphs",
    "anndata": "expression data",
}


def add(verbs: Any) -> None:
    """Add the verb and what may follow it."""
    verb = add_verb(
        verbs,
        "info",
        "tell what is in a model folder, or what this installation is",
        _DESCRIPTION,
    )
    verb.add_argument(
        "model", type=Path, nargs="?", metavar="MODEL", help="folder that `randsub fit` wrote"
    )
    verb.set_defaults(run=_run)


def _run(args: argparse.Namespace) -> int:
    import sys

    from randsub.cli.console import as_json
    from randsub.cli.main import Exit, tell

    document = _installation() if args.model is None else _of_model(args.model)
    tell(as_json(document) if args.json else "\n".join(_lines(document)), sys.stdout)
    return Exit.DONE


def _installation() -> dict[str, Any]:
    import os
    import platform
    from importlib.metadata import PackageNotFoundError, version

    import randsub
    from randsub.ensemble.parts import ENGINES

    def known(package: str) -> str | None:
        try:
            return version(package)
        except PackageNotFoundError:
            return None

    optional = {
        package: known(package) or f"not installed ({purpose})"
        for package, purpose in _OPTIONAL.items()
    }
    return {
        "randsub": randsub.__version__,
        "python": platform.python_version(),
        "platform": platform.platform(),
        "cores": os.cpu_count(),
        "packages": {package: known(package) for package in _PACKAGES},
        "optional": optional,
        "engines": {
            name: " ".join((engine.__doc__ or "").split("\n\n")[0].split())
            for name, engine in ENGINES.items()
        },
    }


def _of_model(path: Path) -> dict[str, Any]:
    from randsub.cli.models import describe

    return describe(path)


def _lines(document: dict[str, Any], indent: str = "") -> list[str]:
    lines = []
    width = max((len(str(key)) for key in document), default=0)
    for key, value in document.items():
        if isinstance(value, dict):
            lines += [f"{indent}{key}:", *_lines(value, indent + "  ")]
        else:
            lines.append(f"{indent}{str(key).ljust(width)}  {_shown(value)}")
    return lines


def _shown(value: Any) -> str:
    if isinstance(value, list):
        more = f", ... ({len(value) - 10} more)" if len(value) > 10 else ""
        return ", ".join(map(str, value[:10])) + more
    if isinstance(value, float):
        return f"{value:.6g}"
    return "-" if value is None else str(value)
