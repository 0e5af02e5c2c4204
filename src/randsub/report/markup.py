"""HTML in which every string is text until it has been made markup here.

:func:`tag` escapes its strings, whatever they hold: a column that is called ``<script>`` is shown,
and never run. Only :class:`Markup`, which :func:`tag` gives back, goes through as it is.
"""

import json
import unicodedata
from collections.abc import Iterable
from html import escape
from typing import Any

# They have no content, and so no end tag.
_VOID = frozenset({"br", "hr", "input", "link", "meta"})
# Characters that HTML does not allow at all, or that reverse the direction of what follows.
_REPLACEMENT = "\N{REPLACEMENT CHARACTER}"


class Markup(str):
    """A piece of a page that is markup already."""

    __slots__ = ()


Content = str | Markup | None


def tag(name: str, /, *content: Content, **attributes: Any) -> Markup:
    """An element.

    Parameters
    ----------
    name : str
        Of the element.
    *content : str, Markup or None
        What is in it: strings are escaped, None is nothing.
    **attributes : Any
        Its attributes; ``class_`` is ``class``, other underscores are hyphens. True gives an
        attribute without a value; None and False leave it out.

    Returns
    -------
    element : Markup

    Examples
    --------
    >>> tag("td", "a < b", class_="name", colspan=2, hidden=True, title=None)
    '<td class="name" colspan="2" hidden>a &lt; b</td>'
    """
    written = "".join(_attribute(key, value) for key, value in attributes.items())
    if name in _VOID:
        return Markup(f"<{name}{written}>")
    return Markup(f"<{name}{written}>{join(content)}</{name}>")


def join(content: Iterable[Content], separator: str = "") -> Markup:
    """Pieces one after the other: strings are escaped, None is nothing."""
    return Markup(escape(separator).join(text(piece) for piece in content if piece is not None))


def text(piece: str) -> Markup:
    """A string as text of the page; markup as it is."""
    return piece if isinstance(piece, Markup) else Markup(escape(visible(piece)))


def visible(name: str) -> str:
    r"""A string without characters that a page cannot hold or that disturb their neighbours.

    Control characters, lone surrogates and marks that change the direction of writing become the
    replacement character; line breaks and tabs become spaces.

    Examples
    --------
    >>> visible("a\tb\x00") == "a b\N{REPLACEMENT CHARACTER}"
    True
    """
    return "".join(_visible(character) for character in name)


def _visible(character: str) -> str:
    if character in "\t\n\r\u2028\u2029":
        return " "
    category = unicodedata.category(character)
    is_mark = category == "Cf" and unicodedata.bidirectional(character) in _DIRECTIONS
    return _REPLACEMENT if category in ("Cc", "Cs") or is_mark else character


_DIRECTIONS = frozenset({"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"})


def _attribute(key: str, value: Any) -> str:
    if value is None or value is False:
        return ""
    name = key.rstrip("_").replace("_", "-")
    return f" {name}" if value is True else f' {name}="{text(str(value))}"'


def data_block(identifier: str, data: Any) -> Markup:
    """Data for the page's script, as JSON that cannot end the element it stands in."""
    written = json.dumps(data, ensure_ascii=True, separators=(",", ":"), allow_nan=False)
    for character in "<>&":
        written = written.replace(character, f"\\u{ord(character):04x}")
    return Markup(f'<script type="application/json" id="{escape(identifier)}">{written}</script>')
