"""Dask's dashboard for the embedded cluster, attached a moment after the start.

Importing Bokeh takes as long as everything else of a short solve, and nobody looks at a
page within the first seconds: until then its port answers, but has no plots.
"""

import asyncio
import logging
import threading
from importlib.util import find_spec
from typing import Any

from dpbb.cluster.scheduler.page import EXPECTED

logger = logging.getLogger(__name__)

DELAY_S = 2.0


def attach_later(scheduler: Any) -> None:
    """Attach the dashboard to a scheduler of this process that was started without.

    Call it in any thread; does nothing if the scheduler closes before.
    """
    asyncio_loop: asyncio.AbstractEventLoop = scheduler.loop.asyncio_loop
    if find_spec("bokeh") is not None:
        EXPECTED.add(scheduler)

    def begin() -> None:
        asyncio_loop.call_later(DELAY_S, start_import)

    def start_import() -> None:
        # a thread of its own: the loop goes on, and no exit waits for it
        if not scheduler.status.name.startswith("clos"):
            threading.Thread(target=load, name="dpbb-dashboard", daemon=True).start()

    def load() -> None:
        try:
            import distributed.dashboard.scheduler  # noqa: F401

            import dpbb.dashboard.page  # noqa: F401
        except ImportError as error:
            logger.warning("no dashboard: %s", error)
            return
        if not asyncio_loop.is_closed():
            asyncio_loop.call_soon_threadsafe(attach)

    def attach() -> None:
        from distributed.dashboard.scheduler import connect

        if scheduler.status.name.startswith("clos"):
            return
        connect(scheduler.http_application, scheduler.http_server, scheduler, "/")
        plugin = scheduler.extensions.get("dpbb")
        if plugin is not None:
            plugin.page.attach()

    asyncio_loop.call_soon_threadsafe(begin)
