"""What a ``Run`` shows of itself: until its end, and as a value in a notebook."""

from __future__ import annotations

import asyncio
import logging
import threading
from contextlib import closing
from typing import TYPE_CHECKING, Any

from dpbb.errors import ClusterError
from dpbb.options import SolveOptions
from dpbb.progress import Progress, make_progress, show
from dpbb.progress.page import snapshot_html
from dpbb.text import markup

if TYPE_CHECKING:
    from dpbb.cluster.client.run import Run

logger = logging.getLogger(__name__)

STREAM_S = 0.5
"""Seconds between snapshots when nothing changes."""

REPR_TIMEOUT_S = 3.0
"""A notebook's cell does not wait longer for a scheduler that does not answer."""


def watch(run: Run, progress: Progress | str, *, block: bool) -> Any:
    """See ``Run.watch``."""
    shown = progress
    if not isinstance(shown, Progress):
        shown = make_progress(SolveOptions().replace(progress=shown).progress)
    if run.dashboard is not None:
        shown.note(f"dashboard {run.dashboard}")
    if run._client.asynchronous:
        following = _watch_async(run, shown)
        return following if block else asyncio.ensure_future(following)
    if block:
        return _watch(run, shown)
    thread = threading.Thread(
        target=_watch_quietly, args=(run, shown), name="dpbb-watch", daemon=True
    )
    thread.start()
    return thread


def _watch(run: Run, shown: Progress) -> None:
    with closing(shown):
        show(run.stream(STREAM_S), shown)
        shown.done(run.result())


def _watch_quietly(run: Run, shown: Progress) -> None:
    """Watch in a thread, where nobody would catch what is raised."""
    try:
        _watch(run, shown)
    except ClusterError as error:  # such as that the handle was closed meanwhile
        logger.debug("run %s is watched no more: %s", run.run_id, error)


async def _watch_async(run: Run, shown: Progress) -> None:
    with closing(shown):
        snapshot = None
        async for snapshot in run.stream(STREAM_S):
            shown.update(snapshot)
        if snapshot is not None:
            shown.finish(snapshot)
        shown.done(await run.result())


def run_html(run: Run) -> str:
    """Return the state of a run now, or the last that was seen of it."""
    client = run._client
    why, dashboard = "nothing is known of it yet", run.dashboard
    if client.status != "running":
        why, dashboard = "its client is closed", None
    elif not client.asynchronous:  # a representation cannot be awaited
        try:
            client.sync(run._snapshot, callback_timeout=REPR_TIMEOUT_S)
        except (ClusterError, TimeoutError) as error:
            why = str(error) or "the scheduler does not answer"
    if run._last is not None:
        return snapshot_html(run._last, dashboard=dashboard)
    return markup.card(run.run_id, why, [])
