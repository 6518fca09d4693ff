"""HTML for notebooks: all text is escaped, and any theme can be behind it.

Styles are inline, as notebooks that are opened again keep no style sheets, and colors
are those of the page (``currentColor``) or half transparent, on light and on dark.
"""

from collections.abc import Iterable

from markupsafe import Markup

GOOD, GOING, BAD = "46,160,67", "56,139,253", "218,54,51"
"""Red, green and blue of a border or a bar: over, going on, failed."""

_LINK = Markup(
    "<a href='{0}' target='_blank' rel='noopener' style='color:inherit'>{0}</a>"
)
_ROW = Markup(
    "<tr style='background:none'><th style='text-align:left;padding:1px 12px 1px 0;"
    "vertical-align:top;font-weight:normal;white-space:nowrap;opacity:0.65'>{}</th>"
    "<td style='text-align:left;padding:1px 12px 1px 0;max-width:60em;"
    "white-space:normal'>{}</td></tr>"
)
_TABLE = Markup("<table style='border:none;margin:2px 0'>{}</table>")
_CARD = Markup(
    "<div style='border-left:4px solid rgb({});padding:2px 0 2px 12px;margin:4px 0;"
    "color:currentColor'><div><b>{}</b> <span style='opacity:0.65'>{}</span></div>"
    "{}</div>"
)


def link(address: str) -> Markup:
    """Return a link to a page, in a tab of its own; no other kinds of addresses."""
    is_page = address.startswith(("http://", "https://", "/"))
    return (_LINK if is_page else Markup("{}")).format(address)


def table(facts: Iterable[tuple[str, object]]) -> Markup:
    """Return names and what they stand for, one a row; ``Markup`` is HTML already."""
    return _TABLE.format(Markup("").join(_ROW.format(*fact) for fact in facts))


def card(title: str, label: str, parts: Iterable[Markup], *, color: str = GOING) -> str:
    """Return a box with a title, a word on its state, and what is below."""
    return str(_CARD.format(color, title, label, Markup("").join(parts)))
