"""HTML in which every string is text unless it was made markup here.

:func:`tag` and :func:`fill` escape strings: a column named ``<script>`` is shown and never run.
Only :class:`Markup`, which both return, passes through unchanged.
"""

import json
import unicodedata
from collections.abc import Iterable
from functools import cache
from html import escape
from importlib import resources
from string import Template
from typing import Any

_REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
# Characters that change the direction of the text that follows.
_DIRECTIONS = frozenset({"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"})


class Markup(str):
    """A piece of a page that is markup already."""

    __slots__ = ()


Content = str | Markup | None


def tag(name: str, /, *content: Content, **attributes: Any) -> Markup:
    """An element.

    Parameters
    ----------
    name : str
        Name of the element, one that has an end tag.
    *content : str, Markup or None
        Content of the element: strings are escaped, None is left out.
    **attributes : Any
        Attributes; ``class_`` is ``class``, other underscores are hyphens. True gives an attribute
        without a value; None and False leave it out.

    Returns
    -------
    element : Markup

    Examples
    --------
    >>> tag("td", "a < b", class_="name", colspan=2, hidden=True, title=None)
    '<td class="name" colspan="2" hidden>a &lt; b</td>'
    """
    written = "".join(_attribute(key, value) for key, value in attributes.items())
    return Markup(f"<{name}{written}>{join(content)}</{name}>")


def fill(template: str, **parts: Content) -> Markup:
    """A template of this package with its placeholders filled: strings are escaped."""
    texts = {key: join([part]) for key, part in parts.items()}
    return Markup(Template(asset(template)).substitute(texts))


@cache
def asset(name: str) -> str:
    """The text of a file of this package."""
    return resources.files("randsub.report").joinpath(name).read_text(encoding="utf-8")


def join(content: Iterable[Content], separator: str = "") -> Markup:
    """Pieces one after the other: strings are escaped, None is left out."""
    return Markup(escape(separator).join(text(piece) for piece in content if piece is not None))


def text(piece: str) -> Markup:
    """A string as text of the page; markup is returned unchanged."""
    return piece if isinstance(piece, Markup) else Markup(escape(visible(piece)))


def visible(name: str) -> str:
    r"""A string without characters that are invalid in a page or disturb their neighbours.

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


def _attribute(key: str, value: Any) -> str:
    if value is None or value is False:
        return ""
    name = key.rstrip("_").replace("_", "-")
    return f" {name}" if value is True else f' {name}="{text(str(value))}"'


def json_text(data: Any) -> Markup:
    """Data for the script of the page, as JSON that cannot end the element around it."""
    written = json.dumps(data, ensure_ascii=True, separators=(",", ":"), allow_nan=False)
    for character in "<>&":
        written = written.replace(character, f"\\u{ord(character):04x}")
    return Markup(written)
