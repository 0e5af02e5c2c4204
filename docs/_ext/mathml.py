"""Formulas as MathML, which browsers draw themselves: no script, nothing from the network."""

from typing import Any

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx


def _draw(tex: str, *, as_block: bool) -> str:
    return tex2mathml(tex, as_block=as_block)


def visit_math(self: Any, node: nodes.math) -> None:
    """An inline formula."""
    self.body.append(_draw(node.astext(), as_block=False))
    raise nodes.SkipNode


def visit_displaymath(self: Any, node: nodes.math_block) -> None:
    """A formula of its own."""
    self.body.append(f'<div class="formula">{_draw(node.astext(), as_block=True)}</div>\n')
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the renderer and choose it."""
    app.add_html_math_renderer("mathml", (visit_math, None), (visit_displaymath, None))
    app.config.html_math_renderer = "mathml"
    return {"parallel_read_safe": True, "parallel_write_safe": True}
