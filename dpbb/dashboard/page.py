"""The document of the page: all its parts, filled and updated for each viewer."""

import logging
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import Any

from bokeh.events import ConnectionLost, DocumentReady
from bokeh.models import ColumnDataSource, CustomJS

from dpbb.coordination.snapshot import Snapshot
from dpbb.dashboard.charts import Depths, Gantt, Incumbent, Rates, Seats, Space
from dpbb.dashboard.controls import Buttons, Picker
from dpbb.dashboard.look import DARK, LIGHT, Look
from dpbb.dashboard.panels import Panel, html
from dpbb.progress.words import left_text, state_word

logger = logging.getLogger(__name__)

UPDATE_MS = 1500
COOKIE = "dpbb-theme"


_PARTS: dict[str, tuple[str, Callable[[Look], Any]]] = {
    "banner": ("Trouble", partial(Panel, name="trouble", hides=True)),
    "status": ("Status", partial(Panel, name="status")),
    "space": ("Search space", Space),
    "incumbent": ("Incumbent and lower bound", Incumbent),
    "rate": ("Nodes per second", Rates),
    "depth": ("Depths", Depths),
    "gantt": ("Gantt chart", Gantt),
    "counts": ("Workers and parts", partial(Panel, name="counts")),
    "seats": ("Workers", Seats),
    "events": ("Events", partial(Panel, name="events")),
    "runs": ("Runs", partial(Panel, name="runs")),
    "devices": ("Devices", partial(Panel, name="devices")),
    "details": ("Details", partial(Panel, name="details")),
}
TITLES = {name: title for name, (title, _) in _PARTS.items()}
PARTS = {name: make for name, (_, make) in _PARTS.items()}
"""All parts of the page by name, each with ``root`` and ``update``."""

_BEAT = "window.dpbbBeat && window.dpbbBeat(pulse.data.run[0], pulse.data.empty[0]);"
_READY = f"viewer.data = {{offset_min: [new Date().getTimezoneOffset()]}}; {_BEAT}"
_CLOSED = "window.dpbbClosed && window.dpbbClosed();"

_DAY_MIN = 24 * 60


def show(
    doc: Any,
    feed: Any,
    controls: Any,
    *,
    template: Any,
    theme: Any,
    variables: Mapping[str, Any],
) -> None:
    """Fill a Bokeh document.

    Parameters
    ----------
    feed
        Runs of a cluster, the open and the kept finished ones, and its devices: the
        scheduler's ``Monitor``.
    controls
        What a viewer may do to a run: the scheduler's ``Page``.
    template
        Jinja template of the page.
    variables
        For the template: what Dask's own pages get.
    """
    look = DARK if _wants_dark(doc) else LIGHT
    parts = {name: make(look) for name, make in PARTS.items()}
    picker, buttons = Picker(feed, _argument(doc, "run")), Buttons(look, controls)
    first, missing = Panel(look), Panel(look, hides=True)
    updates = [*(part.update for part in parts.values()), buttons.update]
    # a sign of life for the browser, and what it says of its clock
    pulse = ColumnDataSource({"run": [""], "empty": [True], "at": [""]})
    viewer = ColumnDataSource({"offset_min": []})

    def refresh() -> None:
        runs = picker.refresh()
        view = feed.view(picker.run_id)
        first.show("" if runs else html("device_table", feed.devices()))
        missing.show(_missing(picker))
        doc.title = "dpbb" if view is None else _title(view.snapshot)
        if view is not None:
            view = replace(
                view,
                devices=feed.devices(),
                all_runs=tuple(runs),
                offset_s=_offset_s(viewer),
            )
            for update in updates:
                try:
                    update(view)
                except Exception:
                    logger.exception("a part of the page failed")
        pulse.data = {
            "run": [picker.run_id if picker.held else ""],
            "empty": [not picker.run_id],
            "at": [datetime.now(UTC).isoformat()],
        }

    roots = {name: part.root for name, part in parts.items()} | {
        "picker": picker.root,
        "save": buttons.save,
        "stop": buttons.stop,
        "message": buttons.message.root,
        "first": first.root,
        "missing": missing.root,
    }
    # what no root refers to is not of the document, and never heard of again
    picker.root.tags = [pulse, viewer]
    with doc.models.freeze():  # else each root has all models looked through again
        for name, root in roots.items():
            root.name = name
            if name in TITLES:
                root.html_attributes = {"role": "region", "aria-label": TITLES[name]}
            doc.add_root(root)
        args = {"pulse": pulse, "viewer": viewer}
        pulse.js_on_change("data", CustomJS(args=args, code=_BEAT))
        doc.js_on_event(DocumentReady, CustomJS(args=args, code=_READY))
        doc.js_on_event(ConnectionLost, CustomJS(code=_CLOSED))
    refresh()

    def changed(_attr: str, _old: object, _new: object) -> None:
        refresh()

    picker.root.on_change("value", changed)
    viewer.on_change("data", changed)
    doc.add_periodic_callback(refresh, UPDATE_MS)
    doc.template = template
    doc.theme = theme
    doc.template_variables.update(
        {
            **variables,
            "look": look,
            "key": controls.key,
            "titles": TITLES,
            "empty": not picker.run_id,
        }
    )


def _title(now: Snapshot) -> str:
    """Title of the window: the run, and what is left or where it is."""
    left = left_text(now, brief=True)
    where = f"{left} left" if left else state_word(now)
    return " · ".join([now.instance or str(now.run_id), where, "dpbb"])


def _missing(picker: Picker) -> str:
    """Say so when nobody knows the run that the viewer wants."""
    if not picker.missing:
        return ""
    text = (
        f"This scheduler does not know the run {picker.missing} (any more; it keeps "
        "the last ones, and none over a restart). Pick another one above, or open "
        "this page without ?run= to follow the newest."
    )
    return html("banner", [text])


def _offset_s(viewer: ColumnDataSource) -> float | None:
    """Seconds that the viewer's clock is ahead of UTC; None if it is not known."""
    try:
        minutes = float(viewer.data["offset_min"][0])
    except (KeyError, IndexError, TypeError, ValueError):
        return None
    return -60.0 * minutes if abs(minutes) <= _DAY_MIN else None


def _argument(doc: Any, name: str) -> str | None:
    context = doc.session_context
    values = [] if context is None else context.request.arguments.get(name, [])
    return values[0].decode(errors="replace") if values else None


def _wants_dark(doc: Any) -> bool:
    asked = _argument(doc, "theme")
    if asked is None and doc.session_context is not None:
        asked = doc.session_context.request.cookies.get(COOKIE)
    return asked == DARK.name
