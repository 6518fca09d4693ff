"""What happened to a run: by the clock, by kind, and by words that a viewer looks for.

The list can be taken away as it is shown: the browser makes a file of it.
"""

from html import escape
from typing import Any

from bokeh.models import Button, CustomJS, InlineStyleSheet, Select, TextInput

from dpbb.coordination.snapshot import EventRecord
from dpbb.dashboard.feed import RunView
from dpbb.dashboard.look import FIELD, Look, duration
from dpbb.dashboard.panels import Panel
from dpbb.progress.base import TROUBLE
from dpbb.progress.words import clock_text

KINDS = {
    "all kinds": (),
    "trouble": TROUBLE,
    "incumbents": ("incumbent", "heuristics", "step", "bound"),
    "seats": ("seat", "seat-left", "seat-lost", "no-seat", "shared"),
    "checkpoints": ("checkpoint", "checkpoint-failed", "resumed"),
    "work": ("donation", "lost", "estimate"),
}  # fmt: skip
"""What a viewer may choose, and the kinds of events in it; none: all."""

_DAY_S = 20 * 3600

_DOWNLOAD = """
const page = new DOMParser().parseFromString(shown.text, "text/html");
const quoted = (text) => '"' + text.trim().replaceAll('"', '""') + '"';
const rows = [...page.querySelectorAll("tr")].map(
  (row) => [...row.cells].map((one) => quoted(one.dataset.value ?? one.textContent)));
const head = ["seconds", "kind", "text"].map(quoted);
const text = [head, ...rows].map((row) => row.join(",") + "\\n").join("");
const link = document.createElement("a");
link.href = URL.createObjectURL(new Blob([text], {type: "text/csv"}));
link.download = "events.csv";
link.click();
URL.revokeObjectURL(link.href);
"""


class Events(Panel):
    """What happened, the latest first.

    Attributes
    ----------
    kinds
        One of ``KINDS``.
    words
        What a row must contain, whatever the case.
    """

    def __init__(self, look: Look) -> None:
        super().__init__(look)
        self.kinds = "all kinds"
        self.words = ""

    def text(self, view: RunView) -> str:
        """HTML of a run."""
        every = view.snapshot.events
        rows = [_row(event, view) for event in reversed(every) if self._wants(event)]
        if not rows:
            why = "none of these" if every else "nothing yet"
            return f'<span class="muted">{why}</span>'
        return f"<table>{''.join(rows)}</table>"

    def _wants(self, event: EventRecord) -> bool:
        kinds, words = KINDS.get(self.kinds, ()), self.words.strip().lower()
        if kinds and event.kind not in kinds:
            return False
        return words in f"{event.kind} {event.text}".lower()


def _row(event: EventRecord, view: RunView) -> str:
    bad = event.kind in KINDS["trouble"]
    css = "bad" if bad else "good" if event.kind == "incumbent" else ""
    age = duration(event.seconds)
    return (
        f'<tr><td class="when" title="{age} after the start" '
        f'data-value="{event.seconds:.1f}">{at(event.seconds, view)}</td>'
        f'<td class="kind {css}">{escape(event.kind)}</td>'
        f'<td class="text">{escape(event.text)}{_times(event, view)}</td></tr>'
    )


def at(seconds: float, view: RunView) -> str:
    """Write a moment of a run by the viewer's clock, or else its age then."""
    opened = view.snapshot.opened_at
    if opened is None:
        return duration(seconds)
    day = view.snapshot.seconds > _DAY_S
    return clock_text(opened + seconds, view.offset_s, day=day, exact=True)


def _times(event: EventRecord, view: RunView) -> str:
    if not event.told_often:
        return ""
    since = at(event.since_s, view)
    return f' <span class="muted">({event.count:,} times since {since})</span>'


class EventTools:
    """Search, choice of kinds and download of a list of events."""

    def __init__(self, events: Events, refresh: Any) -> None:
        style = {"stylesheets": [InlineStyleSheet(css=FIELD)], "height": 26}
        self.find = TextInput(
            placeholder="search", width=110, html_attributes=_named("Search"), **style
        )
        self.kinds = Select(
            options=[*KINDS], value=events.kinds, width=112,
            html_attributes=_named("Kinds of events"), **style,
        )  # fmt: skip
        self.download = Button(label="CSV", width=52, **style)
        self.download.js_on_click(CustomJS(args={"shown": events.root}, code=_DOWNLOAD))

        def changed(_name: str, _old: str, _new: str) -> None:
            events.words, events.kinds = self.find.value_input, self.kinds.value
            refresh()

        self.find.on_change("value_input", changed)
        self.kinds.on_change("value", changed)


def _named(name: str) -> dict[str, str]:
    return {"aria-label": name, "role": "group"}
