"""Panels of text: status line, trouble, workers, events, runs, devices, details.

Their HTML is ``templates/panels.html``, a macro for each panel.
"""

from collections.abc import Iterator
from functools import cache
from typing import Any

from bokeh.models import Div, InlineStyleSheet
from jinja2 import Environment, PackageLoader

from dpbb.coordination.snapshot import CheckpointSnapshot, Snapshot
from dpbb.dashboard.feed import RunView
from dpbb.dashboard.look import Look, asset
from dpbb.progress import words
from dpbb.progress.base import TROUBLE
from dpbb.progress.words import clock_text, format_count, format_seconds, goes_on
from dpbb.text.names import middle, percent, plural

DASH = "–"  # noqa: RUF001

EVENTS = {
    "donation": "shared work",
    "no-seat": "no worker",
    "seat": "worker",
    "seat-left": "worker left",
    "seat-lost": "worker lost",
}
"""Kinds of events as people are told of them, where that is not their name."""

DAY_S = 20 * 3600
"""Of longer runs a moment is written with its day."""


class Panel:
    """Text that is sent only when it has changed.

    Parameters
    ----------
    name
        Of the macro that makes it of a run.
    hides
        Whether it takes no place when it says nothing.
    """

    def __init__(self, look: Look, name: str = "", *, hides: bool = False) -> None:
        self._name, self._hides = name, hides
        self.root = Div(
            text="",
            sizing_mode="stretch_width",
            visible=not hides,
            stylesheets=[InlineStyleSheet(css=asset("panels.css"))],
        )

    def show(self, text: str) -> None:
        """Set the text."""
        self.root.text = text
        self.root.visible = bool(text) or not self._hides

    def update(self, view: RunView) -> None:
        """Show a run."""
        self.show(html(self._name, view))


def html(macro: str, *values: Any) -> str:
    """Return what a macro of ``panels.html`` makes of values."""
    return str(getattr(_macros(), macro)(*values)).strip()


@cache
def _macros() -> Any:  # a module of Jinja's
    here = Environment(
        loader=PackageLoader("dpbb.dashboard"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    here.filters |= {
        "count": format_count,
        "middle": middle,
        "number": number,
        "seconds": format_seconds,
    }
    here.globals |= {
        **{name: vars(words)[name] for name in WORDS},
        "DASH": DASH,
        "EVENTS": EVENTS,
        "TROUBLE": TROUBLE,
        "at": at,
        "checkpoint_rows": checkpoint_rows,
        "distance": distance,
        "gap": gap,
        "mean_or_now": mean_or_now,
        "memory": memory,
        "percent": percent,
        "plural": plural,
    }
    return here.get_template("panels.html").module


WORDS = (
    *("UPPER_BOUND", "about_text", "compiling_text", "ends_text", "left_text"),
    *("range_text", "shares_text", "state_kind", "state_word", "troubles"),
)
"""What the macros use of ``dpbb.progress.words``."""


def number(value: int | None) -> str:
    """Write a number in full; a dash where there is none."""
    return DASH if value is None else f"{value:,}"


def memory(used: float, whole: float) -> str:
    """Write bytes of a device with an SI prefix: ``1.23 GB of 80.0 GB``."""
    return size(used) + (f" of {size(whole)}" if whole else "")


def size(n_bytes: float) -> str:
    """Write bytes with an SI prefix: ``1.23 MB``."""
    text = format_count(int(n_bytes))
    return f"{text}B" if " " in text else f"{text} B"


def gap(share: float | None) -> str:
    """Write a gap in percent."""
    if share is None:
        return DASH
    return "0" if share == 0 else f"{100 * share:.2f} %"


def distance(known: int | None, value: int | None) -> str:
    """How far the incumbent is from the best value that anybody has published."""
    if known is None:
        return ""
    if value is None or value == known:
        return f"best known {known:,}"
    return f"best known {known:,}, {value - known:+,} ({value / known - 1:+.2%})"


def mean_or_now(now: Snapshot) -> float:
    """Rate of the last seconds; of the whole run once it is over."""
    if goes_on(now) or not now.seconds:
        return float(now.nodes_per_second)
    return now.nodes / now.seconds


def at(seconds: float, view: RunView) -> str:
    """Write a moment of a run by the viewer's clock, or else its age then."""
    opened = view.snapshot.opened_at
    if opened is None:
        return format_seconds(seconds)
    day = view.snapshot.seconds > DAY_S
    return clock_text(opened + seconds, view.offset_s, day=day, exact=True)


def checkpoint_rows(
    saved: CheckpointSnapshot, now: Snapshot
) -> Iterator[tuple[str, str]]:
    """Yield where a run is saved, how old that is, and what is at risk."""
    yield "checkpoints", f"{saved.url} on {saved.host}"
    last = "none yet"
    if saved.last_s is not None:
        ago = f"{format_seconds(now.seconds - saved.last_s)} ago"
        last = ago if goes_on(now) else f"at {format_seconds(saved.last_s)}"
        last += "" if saved.last_bytes is None else f", {size(saved.last_bytes)}"
    yield "last", f"{last} ({saved.written:,} written)"
    if not goes_on(now):
        return
    due = "being written now" if saved.saving else DASH
    if not saved.saving and saved.next_s is not None:
        due = f"in {format_seconds(saved.next_s - now.seconds)}"
    yield "next", f"{due} (every {format_seconds(saved.interval_s)})"
    most = f"{format_seconds(saved.promised_s)} at most"
    risk = format_seconds(saved.at_risk_s)
    yield "at risk", f"work of {risk} ({most}, if all goes well)"
