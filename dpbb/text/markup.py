"""HTML for notebooks: all text is escaped, and any theme can be behind it.

Styles are inline, as notebooks that are opened again keep no style sheets, and colors
are those of the page (``currentColor``) or half transparent, on light and on dark.
"""

import html
from collections.abc import Iterable
from dataclasses import dataclass

LEFT = "text-align:left;padding:1px 12px 1px 0"
FAINT = "opacity:0.65"
GOOD, GOING, BAD = "46,160,67", "56,139,253", "218,54,51"
"""Red, green and blue of a border or a bar: over, going on, failed."""

"""Colors of the search space."""


@dataclass(frozen=True, slots=True)
class Html:
    """Text that is HTML already."""

    text: str


def escape(content: object) -> str:
    """Return HTML of anything: of ``Html`` itself, of the rest its escaped text."""
    return content.text if isinstance(content, Html) else html.escape(str(content))


def link(address: str) -> Html:
    """Return a link to a page, in a tab of its own; no other kinds of addresses."""
    if not address.startswith(("http://", "https://", "/")):
        return Html(html.escape(address))
    href = html.escape(address)
    return Html(
        f"<a href='{href}' target='_blank' rel='noopener' "
        f"style='color:inherit'>{href}</a>"
    )


def table(facts: Iterable[tuple[str, object]]) -> Html:
    """Return names and what they stand for, one a row."""
    rows = "".join(
        f"<tr style='background:none'><th style='{LEFT};vertical-align:top;"
        f"font-weight:normal;white-space:nowrap;{FAINT}'>{escape(name)}</th>"
        f"<td style='{LEFT};max-width:60em;white-space:normal'>{escape(content)}</td>"
        "</tr>"
        for name, content in facts
    )
    return Html(f"<table style='border:none;margin:2px 0'>{rows}</table>")


def card(title: str, label: str, parts: Iterable[Html], *, color: str = GOING) -> str:
    """Return a box with a title, a word on its state, and what is below."""
    body = "".join(part.text for part in parts)
    return (
        f"<div style='border-left:4px solid rgb({color});padding:2px 0 2px 12px;"
        "margin:4px 0;color:currentColor'>"
        f"<div><b>{escape(title)}</b> "
        f"<span style='{FAINT}'>{escape(label)}</span></div>"
        f"{body}</div>"
    )
