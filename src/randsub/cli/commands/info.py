"""``randsub info``: what is in a model folder, or what is installed."""

import argparse
import os
import platform
import sys
from pathlib import Path
from typing import Any

from randsub._version import __version__, version_of
from randsub.cli.console import as_json, printable, write_line
from randsub.cli.fitted_model import command_line
from randsub.engines import ENGINES
from randsub.io import ModelFolder

_PACKAGES = (
    *("numpy", "scipy", "scikit-learn", "joblib", "numba", "pandas", "matplotlib"),
    *("threadpoolctl", "tqdm", "skops"),
)
_OPTIONAL = {
    "pyarrow": "parquet and feather files",
    "networkx": "graphs",
    "anndata": "expression data",
    "shtab": "shell completion",
    "torch": "GPUs and neural networks",
}

OPTIMISTIC = (
    "the validation score is slightly optimistic, since the epoch was chosen on the same rows"
)


def run(args: argparse.Namespace) -> None:
    """Print the description."""
    document = _installation() if args.model is None else _description(args.model)
    if not args.json and any(name.startswith("validation_") for name in document.get("scores", ())):
        document["scores"]["note"] = OPTIMISTIC
    write_line(as_json(document) if args.json else "\n".join(_lines(document)), sys.stdout)


def _installation() -> dict[str, Any]:
    return {
        "randsub": __version__,
        "python": platform.python_version(),
        "platform": platform.platform(),
        "cores": os.cpu_count(),
        "packages": {package: version_of(package) for package in _PACKAGES},
        "optional": {
            package: version_of(package) or f"not installed ({purpose})"
            for package, purpose in _OPTIONAL.items()
        },
        "engines": {
            name: " ".join((engine.__doc__ or "").split("\n\n")[0].split())
            for name, engine in ENGINES.items()
        },
    }


def _description(path: Path) -> dict[str, Any]:
    """What a folder tells about its model, which is not loaded."""
    folder = ModelFolder.read(path)
    facts = folder.facts
    document = {"folder": str(path), "made": facts.get("made"), "command": command_line(folder)}
    document |= {name: facts[name] for name in ("model", "data", "extra", "scores")}
    history, ranking = folder.history, folder.importances
    if history is not None and len(history):
        document["last epoch"] = {"epoch": len(history), **history.iloc[-1].to_dict()}
    if ranking is not None:
        top = ranking.head(10)
        document["importances"] = dict(zip(top["feature"], top["importance"], strict=True))
    return document | {"versions": facts["versions"], "files": sorted(facts["files"])}


def _lines(document: dict[str, Any], indent: str = "") -> list[str]:
    lines = []
    width = max((len(str(key)) for key in document), default=0)
    for key, value in document.items():
        if isinstance(value, dict):
            lines += [f"{indent}{printable(key)}:", *_lines(value, indent + "  ")]
        else:
            lines.append(f"{indent}{printable(key).ljust(width)}  {_shown(value)}")
    return lines


def _shown(value: Any) -> str:
    if isinstance(value, list):
        more = f", ... ({len(value) - 10} more)" if len(value) > 10 else ""
        return ", ".join(map(printable, value[:10])) + more
    if isinstance(value, float):
        return f"{value:.6g}"
    return "-" if value is None else printable(value)
