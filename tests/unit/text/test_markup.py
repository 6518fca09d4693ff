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
    assert not list(parsed(markup.link(address)).iter("a"))
