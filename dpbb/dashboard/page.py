"""The documents: the page with everything, and each plot alone (for JupyterLab)."""

from __future__ import annotations

import functools
import logging
from typing import TYPE_CHECKING, Any, Protocol

from dpbb.dashboard.charts import Depths, Incumbent, Rates
from dpbb.dashboard.gantt import Gantt
from dpbb.dashboard.look import DARK, LIGHT
from dpbb.dashboard.panels import Checkpoints, Counts, Events, Status
from dpbb.dashboard.picker import Buttons, Picker
from dpbb.dashboard.seats import Donated, Seats
from dpbb.dashboard.space import Eaten, Strip

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from dpbb.dashboard.feed import Controls, Feed, RunView
    from dpbb.dashboard.look import Look

logger = logging.getLogger(__name__)

UPDATE_MS = 1000
COOKIE = "dpbb-theme"


class Part(Protocol):
    """A plot or a panel."""

    root: Any

    def update(self, view: RunView) -> None:
        """Show a run."""


PARTS: dict[str, Callable[[Look], Part]] = {
    "status": Status,
    "incumbent": Incumbent,
    "rate": Rates,
    "space": Strip,
    "eaten": Eaten,
    "gantt": Gantt,
    "depth": Depths,
    "seats": Seats,
    "donated": Donated,
    "counts": Counts,
    "events": Events,
    "checkpoint": Checkpoints,
}
"""All parts of the page by name; each is a document of its own too."""

ALONE: dict[str, Callable[[Look], Part]] = {
    "space": functools.partial(Strip, alone=True)
}
"""Parts that are another thing where the page is not around them."""

TITLES = {
    "status": "Status",
    "incumbent": "Incumbent and lower bound",
    "rate": "Nodes per second",
    "space": "Search space",
    "eaten": "Search space over time",
    "gantt": "Gantt chart",
    "depth": "Depths",
    "seats": "Seats",
    "donated": "Donations of seats",
    "counts": "Units and seats",
    "events": "Events",
    "checkpoint": "Checkpoints",
}


def show(
    doc: Any,  # noqa: ANN401
    feed: Feed,
    controls: Controls,
    *,
    template: Any,  # noqa: ANN401
    theme: Any,  # noqa: ANN401
    variables: Mapping[str, Any],
    only: str | None = None,
) -> None:
    """Fill a Bokeh document.

    Parameters
    ----------
    doc
        The document of one viewer.
    feed, controls
        What is shown, and what may be done.
    template
        Jinja template: of the page, or of a plot alone.
    theme
        Dask's Bokeh theme.
    variables
        For the template: what Dask's own pages get.
    only
        Name of one part; None: the page.
    """
    look = DARK if _wants_dark(doc) else LIGHT
    names = PARTS if only is None else [only]
    makers = PARTS if only is None else PARTS | ALONE
    parts = [makers[name](look) for name in names]
    for name, part in zip(names, parts, strict=True):
        part.root.name = name
        doc.add_root(part.root)
    picker = Picker(feed, _argument(doc, "run"))
    updates: list[Callable[[RunView], None]] = [part.update for part in parts]
    if only is None:
        buttons = Buttons(controls, picker)
        updates.append(buttons.update)
        for name, root in (
            ("picker", picker.root),
            ("save", buttons.save),
            ("stop", buttons.stop),
            ("message", buttons.message),
        ):
            root.name = name
            doc.add_root(root)

    def refresh() -> None:
        picker.refresh()
        view = feed.view(picker.run_id)
        if view is None:
            return
        for update in updates:
            try:
                update(view)
            except Exception:
                logger.exception("a part of the page failed")

    def switched(_name: str, _old: str, _new: str) -> None:
        refresh()

    refresh()
    picker.root.on_change("value", switched)
    doc.add_periodic_callback(refresh, UPDATE_MS)
    doc.title = "dpbb" if only is None else f"dpbb: {TITLES[only]}"
    doc.template = template
    doc.theme = theme
    doc.template_variables.update(
        {
            **variables,
            "look": look,
            "key": controls.key if only is None else "",
            "titles": TITLES,
            "part": only,
        }
    )


def _argument(doc: Any, name: str) -> str | None:  # noqa: ANN401
    context = doc.session_context
    values = [] if context is None else context.request.arguments.get(name, [])
    return values[0].decode(errors="replace") if values else None


def _wants_dark(doc: Any) -> bool:  # noqa: ANN401
    asked = _argument(doc, "theme")
    if asked is None and doc.session_context is not None:
        asked = doc.session_context.request.cookies.get(COOKIE)
    return asked == DARK.name
