from __future__ import annotations

from xml.etree import ElementTree as ET

import pytest

from dpbb.text import markup

NASTY = "<script>alert('x')</script>&\""


def parsed(text):
    """Well-formed, or an error."""
    return ET.fromstring(f"<div>{text}</div>")  # noqa: S314


def test_everything_is_escaped():
    page = markup.card(NASTY, NASTY, [markup.table([(NASTY, NASTY), ("n", 3)])])
    root = parsed(page)
    assert not list(root.iter("script"))
    assert [cell.text for cell in root.iter("td")] == [NASTY, "3"]
    assert root.find(".//b").text == NASTY


@pytest.mark.parametrize("address", ["javascript:alert(1)", "data:text/html,x", NASTY])
def test_only_pages_are_linked(address):
    assert not list(parsed(markup.link(address).text).iter("a"))


def test_a_page_is_linked():
    (anchor,) = parsed(markup.link("https://a/b?c='d'&e").text).iter("a")
    assert anchor.get("href") == anchor.text == "https://a/b?c='d'&e"


def test_the_strip_is_finished_but_for_open_spans():
    strip = markup.strip([(0.25, 0.5, "leased"), (0.5, 1.0, "waiting")])
    whole, leased, waiting = parsed(strip.text).iter("rect")
    assert whole.get("fill") == markup.STATES["finished"]
    assert (leased.get("x"), leased.get("width")) == ("250.0", "250.0")
    assert (waiting.get("x"), waiting.get("width")) == ("500.0", "500.0")
