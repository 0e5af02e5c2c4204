"""The reference pages, one for each public module, listed by its ``__all__``.

A public name that is added to a module of :data:`ROOMS` is on its page at the next build. A new
public module needs a line there; tests/test_docs.py finds the ones that lack it.
"""

import importlib
import inspect
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # a test reads this file where there is no Sphinx
    from sphinx.application import Sphinx
    from sphinx.config import Config

# Module, title and a sentence, in the order in which a reader meets them.
ROOMS = {
    "randsub": ("Estimators", "PRS, and the methods that it is compared with."),
    "randsub.solver": (
        "Solver",
        "Parameters of the optimisation, and the training loop for custom combinations of parts.",
    ),
    "randsub.penalties": ("Penalties", "Penalties on alpha."),
    "randsub.losses": ("Losses", "Losses of the ensemble."),
    "randsub.penalty_search": (
        "Choosing a penalty",
        "Choice among several penalties on validation data.",
    ),
    "randsub.selection": (
        "Selection",
        "Feature selection: stability over subsamples, and control of the false discovery rate.",
    ),
    "randsub.inspection": ("Displays", "Plots of fitted models."),
    "randsub.report": ("Report", "A fitted model as an HTML page."),
    "randsub.callbacks": ("Callbacks", "Monitor, stop and save a fit."),
    "randsub.io": ("Saving and loading", "Models in files and folders."),
    "randsub.images": ("Images", "Images as rows of a table, and back."),
    "randsub.network": ("Networks", "Gene networks: many targets at once."),
    "randsub.datasets": (
        "Data",
        "Simulated problems with known relevant features or links, and large tables.",
    ),
    "randsub.exceptions": (
        "Errors and warnings",
        "Errors that can be caught, and warnings that can be silenced.",
    ),
    "randsub.distributions": (
        "Distributions",
        "Distributions of subsets: the protocol and two families.",
    ),
    "randsub.optim": ("Optimisers", "Updates of alpha: the protocol and its implementations."),
    "randsub.engines": (
        "Engines",
        "Backends that train the base models: the protocol and its implementations.",
    ),
    "randsub.torch": ("Networks of PyTorch", "Neural networks of your own as base models."),
    "randsub.parallel": (
        "Parallel",
        "Distribution of the work over threads, processes and clusters.",
    ),
    "randsub.gradients": (
        "Gradients",
        "Gradient estimates from the predictions of sampled models.",
    ),
}
KINDS = {"Classes": inspect.isclass, "Functions": inspect.isroutine}


def public_names(module: str) -> list[str]:
    """Names that a module offers: its ``__all__``, else the classes and functions made in it."""
    contents = importlib.import_module(module)
    names = getattr(contents, "__all__", None)
    if names is None:
        names = [n for n, one in vars(contents).items() if getattr(one, "__module__", "") == module]
    return [name for name in names if not name.startswith("_")]


def homes() -> dict[str, list[str]]:
    """The names on the page of each module: an object that several offer is on the first."""
    seen: set[int] = set()
    pages: dict[str, list[str]] = {}
    for module in ROOMS:
        contents = importlib.import_module(module)
        names = public_names(module)
        pages[module] = [name for name in names if id(getattr(contents, name)) not in seen]
        seen |= {id(getattr(contents, name)) for name in names}
    return pages


def page(module: str, title: str, sentence: str, names: list[str]) -> str:
    """The source of a reference page."""
    contents = importlib.import_module(module)
    lines = [title, "=" * len(title), "", f".. module:: {module}", "", sentence, ""]
    left = set(names)
    for heading, belongs in KINDS.items():
        kind = sorted((n for n in left if belongs(getattr(contents, n))), key=str.lower)
        left -= set(kind)
        if kind:
            lines += [f".. rubric:: {heading}", ""]
            lines += [".. autosummary::", "   :toctree: generated", ""]
            lines += [f"   {name}" for name in kind] + [""]
    for name in sorted(left):
        lines += [f".. autodata:: {name}", "   :no-value:", ""]
    elsewhere = sorted(set(public_names(module)) - set(names))
    if elsewhere:
        listed = ", ".join(f"``{name}``" for name in elsewhere)
        lines += [f"Also importable from here, and described elsewhere: {listed}.", ""]
    return "\n".join(lines)


def index() -> str:
    """The source of the page that leads to the others."""
    lines = ["Reference", "=========", ""]
    lines += ["Every public name, by the module that it is imported from. What is not here may"]
    lines += ["change without notice.", "", ".. toctree::", "   :maxdepth: 1", ""]
    lines += [f"   {title} <{module}>" for module, (title, _) in ROOMS.items()]
    return "\n".join([*lines, ""])


def write_pages(app: "Sphinx", config: "Config") -> None:
    """Write the pages that have changed, before autosummary looks for them."""
    names = homes()
    pages = {module: page(module, *words, names[module]) for module, words in ROOMS.items()}
    pages["index"] = index()
    folder = Path(app.srcdir) / "api"
    folder.mkdir(exist_ok=True)
    # What autosummary wrote for names that are no longer there would be built again.
    kept = {f"{module}.{name}.rst" for module in names for name in names[module]}
    for path in (folder / "generated").glob("*.rst"):
        if path.name not in kept:
            path.unlink()
    for name, text in pages.items():
        path = folder / f"{name}.rst"
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def setup(app: "Sphinx") -> dict[str, Any]:
    """Ask to be called before Sphinx lists its files."""
    app.connect("config-inited", write_pages)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
