"""Strings of the user are text, whatever they hold."""

import json
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from randsub.report.markup import Markup, fill, join, json_text, tag, text, visible

NASTY = st.one_of(
    st.text(st.characters(codec=None), max_size=30),
    st.sampled_from(
        ["</script><script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "&lt;", "]]>", "'"]
    ),
)


class Tags(HTMLParser):
    def __init__(self, page):
        super().__init__()
        self.tags, self.attributes, self.data = [], [], ""
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes.append(attrs)

    def handle_data(self, data):
        self.data += data


@given(NASTY)
def test_a_string_is_shown_and_adds_no_element(name):
    page = Tags(tag("td", name, title=name))
    assert page.tags == ["td"]
    assert page.attributes == [[("title", visible(name))]]
    assert page.data == visible(name)


@given(NASTY)
def test_every_string_can_be_written_in_utf8(name):
    tag("td", name, title=name).encode("utf-8")


@given(st.lists(NASTY, max_size=5))
def test_data_arrives_as_it_was_and_cannot_end_its_element(names):
    inside = json_text({"names": names})
    assert not set("<>&") & set(inside)
    assert json.loads(inside) == {"names": names}


def test_markup_is_not_escaped_again():
    inner = tag("b", "a & b")
    assert tag("p", inner, "<", None) == "<p><b>a &amp; b</b>&lt;</p>"
    assert text(inner) is inner
    assert isinstance(join([inner, "x"], "&"), Markup)
    assert join(["a", "b"], "&") == "a&amp;b"


@given(NASTY)
def test_templates_are_filled_with_text(name):
    page = Tags(fill("chart.html", key="k", title=name, drawing=tag("b", "drawn")))
    assert page.tags == ["figure", "figcaption", "strong", "div", "b", "div", "div"]
    assert visible(name) in page.data


def test_attributes():
    made = tag("a", class_="x", aria_label='"', hidden=True, disabled=False, title=None)
    assert made == '<a class="x" aria-label="&quot;" hidden></a>'


@pytest.mark.parametrize("mark", ["\u202e", "\u2066", "\x00", "\x1b", "\ud800"])
def test_marks_that_disturb_are_replaced(mark):
    assert visible(f"a{mark}b") == "a\N{REPLACEMENT CHARACTER}b"


def test_letters_of_any_script_stay():
    assert visible("größe 温度 حرارة \N{FAMILY}") == "größe 温度 حرارة \N{FAMILY}"
