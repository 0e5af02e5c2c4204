"""Print the lowest versions of the dependencies that pyproject.toml allows, as pip constraints.

    python tools/lowest.py > constraints.txt

They are those of the library and of the packages that its tests import beside it. Dependencies of
dependencies are left to pip, which takes the newest that fit.
"""

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

PROJECT = Path(__file__).resolve().parent.parent / "pyproject.toml"
LOWER_BOUND = re.compile(r"([A-Za-z0-9._-]+)(?:\[.*\])?>=([0-9.]+)")


def lowest(project: Mapping[str, Any]) -> dict[str, str]:
    """Lowest version of each dependency, by its name; the highest of several bounds."""
    found: dict[str, str] = {}
    requirements = project["project"]["dependencies"] + project["dependency-groups"]["test"]
    for requirement in requirements:
        match = LOWER_BOUND.fullmatch(requirement)
        if match is None:
            raise ValueError(f"{requirement!r} has no lower bound of the form name>=version.")
        name, version = match.groups()
        found[name] = max(version, found.get(name, version), key=_number)
    return found


def _number(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))


def main() -> None:
    """Print them."""
    for name, version in lowest(tomllib.loads(PROJECT.read_text())).items():
        print(f"{name}=={version}")


if __name__ == "__main__":
    main()
