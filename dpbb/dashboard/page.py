"""The documents: the page with everything, and each plot alone (for JupyterLab)."""

import contextlib
import functools
import itertools
import logging
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from html import escape
from typing import Any, Protocol

from bokeh.document.events import ColumnDataChangedEvent, ModelChangedEvent
from bokeh.events import ConnectionLost, DocumentReady
from bokeh.models import ColumnDataSource, CustomJS

from dpbb.coordination.snapshot import Snapshot
from dpbb.dashboard.charts import Depths, Donated, Eaten, Incumbent, Rates, Seats, Strip
from dpbb.dashboard.events import Events, EventTools
from dpbb.dashboard.feed import Controls, Feed, RunView
from dpbb.dashboard.gantt import Gantt
from dpbb.dashboard.look import DARK, LIGHT, Look
from dpbb.dashboard.panels import Banner, Checkpoints, Counts, Panel, Status, banner
from dpbb.dashboard.picker import Buttons, Picker
from dpbb.dashboard.tables import Devices, Incumbents, Parameters, Runs, devices_html
from dpbb.progress.words import left_text, state_word

logger = logging.getLogger(__name__)

UPDATE_MS = 1000
WHOLE_EVERY = 2
"""So many updates have all parts once: each message costs the scheduler some time."""
COOKIE = "dpbb-theme"


class Part(Protocol):
    """A plot or a panel."""

    root: Any

    def update(self, view: RunView) -> None:
        """Show a run."""


_PARTS: dict[str, tuple[str, Callable[[Look], Part]]] = {
    "banner": ("Trouble", Banner),
    "status": ("Status", Status),
    "incumbent": ("Incumbent and lower bound", Incumbent),
    "rate": ("Nodes per second", Rates),
    "space": ("Search space", Strip),
    "eaten": ("Search space over time", Eaten),
    "gantt": ("Gantt chart", Gantt),
    "depth": ("Depths", Depths),
    "seats": ("Seats", Seats),
    "donated": ("Donations of seats", Donated),
    "counts": ("Units and seats", Counts),
    "events": ("Events", Events),
    "checkpoint": ("Checkpoints", Checkpoints),
    "incumbents": ("Incumbents", Incumbents),
    "devices": ("Devices", Devices),
    "runs": ("Runs", Runs),
    "parameters": ("Parameters", Parameters),
}
TITLES = {name: title for name, (title, _) in _PARTS.items()}
PARTS = {name: make for name, (_, make) in _PARTS.items()}
"""All parts of the page by name; each is a document of its own too."""

LIVE = ("banner", "status", "events")
"""The parts of every update."""

ALONE: dict[str, Callable[[Look], Part]] = {
    "space": functools.partial(Strip, alone=True)
}
"""Parts that are another thing where the page is not around them."""


def show(
    doc: Any,
    feed: Feed,
    controls: Controls,
    *,
    template: Any,
    theme: Any,
    variables: Mapping[str, Any],
    only: str | None = None,
) -> None:
    """Fill a Bokeh document.

    Parameters
    ----------
    template
        Jinja template: of the page, or of a plot alone.
    variables
        For the template: what Dask's own pages get.
    only
        Name of one part; None: the page.
    """
    look = DARK if _wants_dark(doc) else LIGHT
    names = PARTS if only is None else [only]
    makers = PARTS if only is None else PARTS | ALONE
    parts = {name: makers[name](look) for name in names}
    picker = Picker(feed, _argument(doc, "run"))
    viewer, pulse = Viewer(), Pulse(doc)
    roots = {name: part.root for name, part in parts.items()}
    updates: list[Callable[[RunView], None]] = [part.update for part in parts.values()]
    live = [parts[name].update for name in LIVE if name in parts]
    ticks = itertools.count(1)

    def tick() -> None:
        if pulse.heard:
            refresh(whole=next(ticks) % WHOLE_EVERY == 0)

    def refresh(*, whole: bool = True) -> None:
        with pulse.one_message(picker, beat=whole):
            update(whole=whole)

    def update(*, whole: bool) -> None:
        runs = picker.refresh()
        view = feed.view(picker.run_id)
        if only is None:
            first.show("" if runs else devices_html(feed.devices()))
            missing.show(_missing(picker))
        if view is None:
            doc.title = "dpbb" if only is None else f"{TITLES[only]} · dpbb"
            return
        view = replace(
            view, devices=feed.devices(), all_runs=tuple(runs), offset_s=viewer.offset_s
        )
        doc.title = _title(view.snapshot, only)
        for show_part in updates if whole else live:
            try:
                show_part(view)
            except Exception:
                logger.exception("a part of the page failed")

    if only is None:
        buttons = Buttons(controls)
        events: Any = parts["events"]
        tools = EventTools(events, refresh)
        first, missing = Panel(look), Banner(look)
        updates.append(buttons.update)
        roots |= {
            "picker": picker.root,
            "save": buttons.save,
            "stop": buttons.stop,
            "message": buttons.message,
            "first": first.root,
            "missing": missing.root,
            "find": tools.find,
            "kinds": tools.kinds,
            "download": tools.download,
        }
    else:
        whose = Whose(look)
        updates.append(whose.update)
        roots["whose"] = whose.root
    # what no root refers to is not of the document, and never heard of again
    next(iter(roots.values())).tags = [pulse.source, viewer.source]
    with doc.models.freeze():  # else each root has all models looked through again
        for name, root in roots.items():
            root.name = name
            if name in TITLES:
                root.html_attributes = {"role": "region", "aria-label": TITLES[name]}
            doc.add_root(root)
        pulse.follow(viewer)

    def switched(_name: str, _old: str, _new: str) -> None:
        refresh()

    refresh()
    picker.root.on_change("value", switched)
    viewer.source.on_change("data", switched)
    doc.add_periodic_callback(tick, UPDATE_MS)
    doc.template = template
    doc.theme = theme
    doc.template_variables.update(
        {
            **variables,
            "look": look,
            "key": controls.key if only is None else "",
            "titles": TITLES,
            "part": only,
            "empty": not picker.run_id,
        }
    )


def _title(now: Snapshot, only: str | None) -> str:
    """Title of the window: the run, where it is, and what is left."""
    left = left_text(now, brief=True)
    words = [now.instance or str(now.run_id), left or state_word(now), "dpbb"]
    return " · ".join([*([TITLES[only]] if only else []), *words])


def _missing(picker: Picker) -> str:
    """Say so when nobody knows the run that the viewer wants."""
    if not picker.missing:
        return ""
    text = (
        f"This scheduler does not know the run {picker.missing} (any more; it keeps "
        "the last ones, and none over a restart). Pick another one above, or open "
        "this page without ?run= to follow the newest."
    )
    return banner("bad", [text])


class Whose(Panel):
    """Which run a plot alone is of."""

    def text(self, view: RunView) -> str:
        """HTML of a run."""
        now = view.snapshot
        words = (now.instance, state_word(now), str(now.run_id))
        return f'<span class="muted">{escape(" · ".join(filter(None, words)))}</span>'


class Viewer:
    """What the browser says of itself: its clock's offset."""

    def __init__(self) -> None:
        self.source = ColumnDataSource({"offset_min": []})

    @property
    def offset_s(self) -> float | None:
        """Seconds that the viewer's clock is ahead of UTC; None if it is not known."""
        try:
            minutes = float(self.source.data["offset_min"][0])
        except (KeyError, IndexError, TypeError, ValueError):
            return None
        return -60.0 * minutes if abs(minutes) <= _DAY_MIN else None


_DAY_MIN = 24 * 60

_BEAT = "window.dpbbBeat && window.dpbbBeat(pulse.data.run[0], pulse.data.empty[0]);"

_READY = f"""
viewer.data = {{offset_min: [new Date().getTimezoneOffset()]}};
{_BEAT}
"""

# as Bokeh itself applies a change that the server sends
_CHANGES = f"""
for (const [id, attr, value] of pulse.data.changes[0])
  pulse.document.get_model_by_id(id)?.setv(
    {{[attr]: value}}, {{sync: false, check_eq: attr !== "data"}});
{_BEAT}
"""

_CLOSED = "window.dpbbClosed && window.dpbbClosed();"


class Pulse:
    """One message for all that an update changes; it is a sign of life, too.

    Bokeh sends a message for each property, of three frames and more, and looks through
    all models of the document for it: most of what an open page cost.
    """

    def __init__(self, doc: Any) -> None:
        self._doc = doc
        self._changed: dict[tuple[Any, str], None] | None = None
        self.source = ColumnDataSource({"run": [""], "empty": [True], "changes": [[]]})

    @property
    def _session(self) -> Any:
        """What sends changes to browsers; None while the document is being made."""
        context = self._doc.session_context
        return None if context is None else context.session

    @property
    def heard(self) -> bool:
        """Whether a browser has the page open."""
        session = self._session
        return session is not None and session.connection_count > 0

    @contextlib.contextmanager
    def one_message(self, picker: Picker, *, beat: bool) -> Iterator[None]:
        """Send what changes inside, and which run the address is to name, at once.

        ``beat``: whether to send that, too, if nothing changes.
        """
        if self._changed is not None:  # inside of another one
            yield
            return
        session = self._session
        self._changed = {}
        if session is not None:
            self._doc.remove_on_change(session)
            self._doc.on_change(self._note)
        try:
            yield
        finally:
            if session is not None:
                self._doc.remove_on_change(self._note)
                self._doc.callbacks.on_change_dispatch_to(session)
            changed, self._changed = self._changed, None
            if changed or beat:
                self.source.data = {
                    "run": [picker.run_id if picker.held else ""],
                    "empty": [not picker.run_id],
                    "changes": [
                        [(one.id, name, getattr(one, name)) for one, name in changed]
                    ],
                }

    def _note(self, event: Any) -> None:
        if isinstance(event, ModelChangedEvent | ColumnDataChangedEvent):
            if self._changed is not None:
                self._changed[event.model, event.attr] = None
        else:  # such as the title
            event.dispatch(self._session)

    def follow(self, viewer: Viewer) -> None:
        """Have the document's page hear it."""
        args = {"pulse": self.source, "viewer": viewer.source}
        self.source.js_on_change("data", CustomJS(args=args, code=_CHANGES))
        self._doc.js_on_event(DocumentReady, CustomJS(args=args, code=_READY))
        self._doc.js_on_event(ConnectionLost, CustomJS(code=_CLOSED))


def _argument(doc: Any, name: str) -> str | None:
    context = doc.session_context
    values = [] if context is None else context.request.arguments.get(name, [])
    return values[0].decode(errors="replace") if values else None


def _wants_dark(doc: Any) -> bool:
    asked = _argument(doc, "theme")
    if asked is None and doc.session_context is not None:
        asked = doc.session_context.request.cookies.get(COOKIE)
    return asked == DARK.name
