"""Names and texts of others, as every output may show them."""

from __future__ import annotations


def clean(text: str) -> str:
    """Replace what would steer a terminal: names and texts come from anywhere."""
    return "".join(char if char.isprintable() else "?" for char in text)


def middle(text: str, width: int) -> str:
    """Shorten a text in its middle: names tell by their begin and their end."""
    if len(text) <= width:
        return text
    end = (width - 1) // 2
    return f"{text[: width - 1 - end]}…{text[len(text) - end :]}"
