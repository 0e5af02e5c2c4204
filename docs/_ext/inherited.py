"""What the estimators inherit from scikit-learn, in our reference.

Methods that only exist for metadata routing are left out. The others keep their text, without links
to scikit-learn's own pages, which the build does not read.
"""

import re
from typing import Any

from sphinx.application import Sphinx

ROUTING = re.compile(r"^(get_metadata_routing|set_\w+_request)$")
LABEL = re.compile(r":(?:ref|term):`([^`<]+?)(?:\s*<[^`>]+>)?`")


def leave_out(app: Sphinx, what: str, name: str, obj: Any, skip: bool, options: Any) -> bool | None:
    """Say True for methods of metadata routing, and leave the rest to autodoc."""
    return True if ROUTING.match(name) else None


def drop_links(app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Keep the words of a link into scikit-learn's documentation, and nothing else."""
    if str(getattr(obj, "__module__", "")).startswith("sklearn."):
        lines[:] = [LABEL.sub(r"\1", line) for line in lines]


def setup(app: Sphinx) -> dict[str, Any]:
    """Listen to autodoc; before numpydoc, which splits the text into sections."""
    app.connect("autodoc-skip-member", leave_out)
    app.connect("autodoc-process-docstring", drop_links, priority=100)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
