"""The page ``/dpbb`` in the dashboard of a scheduler that is running.

Dask builds its Bokeh application when the scheduler starts; ours is a second one on
the same server, with Dask's theme, templates and navigation bar.
"""

import functools
import ipaddress
import logging
import secrets
import socket
import sys
import threading
import weakref
from asyncio import AbstractEventLoop
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import dask.config

from dpbb.cluster.internals import filter_requests, http_hosts
from dpbb.cluster.scheduler.monitor import Monitor
from dpbb.errors import ClusterError

logger = logging.getLogger(__name__)

PAGE = "dpbb"
CONTROLS = "dpbb.dashboard.controls"
"""Dask setting: whether viewers may stop and save; default: on loopback only."""

HOSTS = "dpbb.dashboard.hosts"
"""Dask setting: further names, of this host or a proxy, that the page answers under."""

_expected: weakref.WeakSet[Any] = weakref.WeakSet()
"""Schedulers that get their dashboard when it is asked for."""


class Page:
    """The page ``/dpbb`` of a scheduler's dashboard, and what its viewers may do.

    The dashboard knows no users: whoever reaches its port could stop a run of days.
    So it must be bound to this host alone, or somebody must have said that it is fine.
    """

    def __init__(self, scheduler: Any, plugin: Any) -> None:
        self._scheduler = scheduler
        self._plugin = plugin
        self._application: Any = None  # our part of Dask's dashboard, if it has one
        # A command must come with it: web pages of other sites can open a connection
        # to this server, but not read its pages.
        self.key = secrets.token_urlsafe(24)

    @property
    def comes(self) -> bool:
        """Whether the page is there, or will be when it is asked for."""
        return self._application is not None or self._scheduler in _expected

    def attach(self) -> None:
        """Add the page to the dashboard, if there is one, and Bokeh; once.

        Never raises: a run must not fail for want of a picture.
        """
        main = _main_application(self._scheduler)
        if main is None or self._application is not None:
            return
        try:
            monitor = self._plugin.monitor
            self._application = _add_page(self._scheduler, main, monitor, self)
        except Exception:
            logger.exception("no page /%s in the dashboard", PAGE)

    @property
    def loop(self) -> AbstractEventLoop:
        """The scheduler's event loop, on which ``stop`` and ``save`` have to run."""
        loop: AbstractEventLoop = self._scheduler.loop.asyncio_loop
        return loop

    def knows(self, host: str) -> bool:
        """Whether a ``Host`` header is a name of this host, or one that is allowed.

        The page answers under no other: a site of somebody else's can have its own name
        resolve to this host, and its scripts could then read the page as if it were
        theirs, with the key that stops runs.
        """
        return is_own_name(host, self._scheduler.address)

    @property
    def refused(self) -> str | None:
        """Why nothing may be done; None if it may."""
        setting = dask.config.get(CONTROLS, None)
        if setting is None and not is_loopback(self._scheduler):
            return (
                f"this page has no login and is open to other hosts; whoever may "
                f"control runs sets {CONTROLS} to true in the scheduler's Dask config"
            )
        if setting is not None and setting is not True:
            return (
                f"{CONTROLS} is {str(setting).lower()} in the scheduler's Dask config"
            )
        return None

    async def stop(self, run_id: Any) -> str:
        """Stop a run early."""
        self._check()
        logger.info("run %s: stop asked for on the dashboard", run_id)
        await self._plugin.stop(run_id)
        return "Stopped."

    async def save(self, run_id: Any) -> str:
        """Write a checkpoint now."""
        self._check()
        logger.info("run %s: checkpoint asked for on the dashboard", run_id)
        await self._plugin.save_now(run_id)
        return "Saved."

    def _check(self) -> None:
        if self.refused is not None:
            raise ClusterError(self.refused)


def is_loopback(scheduler: Any) -> bool:
    """Whether the dashboard can be reached from the scheduler's own host alone."""
    hosts = http_hosts(scheduler)
    return bool(hosts) and all(_loops(host) for host in hosts)


def is_own_name(host: str, address: str) -> bool:
    """Whether a ``Host`` header names this host: by number, or as it calls itself."""
    name = host.rpartition(":")[0] if host.rpartition(":")[2].isdigit() else host
    name = name.strip("[]").lower().rstrip(".")
    contact = address.rpartition("//")[2].rpartition(":")[0].strip("[]")
    if name in {"localhost", contact.lower(), *_names_here(), *_allowed()}:
        return True
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def is_same_origin(origin: str | None, host: str) -> bool:
    """Whether a page that asks is one of this server's, or of an allowed name's.

    Parameters
    ----------
    origin
        The header of a browser; None: there is none, as no page of a site asks.
    host
        What it asks for: the header ``Host``.
    """
    if origin is None:
        return True
    found = urlsplit(origin)
    own = bool(found.netloc) and found.netloc.lower() == host.lower()
    return own or (found.hostname or "") in _allowed()


def _allowed() -> set[str]:
    """Further names of the setting."""
    known = dask.config.get(HOSTS, None) or ()
    known = [known] if isinstance(known, str) else known
    return {str(one).lower() for one in known}


@functools.cache
def _names_here() -> set[str]:
    """Names that this host has; grows when a name service has answered, if it does.

    It is asked once, in a thread: it may take seconds, and this is the event loop.
    """
    names = {socket.gethostname().lower()}

    def ask() -> None:
        names.add(socket.getfqdn().lower())

    threading.Thread(target=ask, name="dpbb-name", daemon=True).start()
    return names


def _loops(host: str) -> bool:
    try:
        return ipaddress.ip_address(host.partition("%")[0]).is_loopback
    except ValueError:  # such as a socket in the file system
        return False


def _main_application(scheduler: Any) -> Any:
    """Dask's own Bokeh application; None if there is none."""
    tornado = sys.modules.get("bokeh.server.tornado")
    kind = getattr(tornado, "BokehTornado", None)
    if kind is None:  # nothing needs Bokeh, or a thread is importing it
        return None
    applications = scheduler.http_application.applications
    found = (a for a in applications if isinstance(a, kind))
    return next(found, None)


def _add_page(scheduler: Any, main: Any, monitor: Monitor, controls: Page) -> Any:
    """Add the page beside Dask's own Bokeh application; return ours."""
    from distributed.dashboard.components import scheduler as components
    from distributed.dashboard.core import BokehApplication
    from distributed.dashboard.scheduler import template_variables
    from jinja2 import ChoiceLoader, Environment, FileSystemLoader
    from tornado.ioloop import IOLoop

    import dpbb.dashboard
    from dpbb.dashboard.page import show

    ours = Path(dpbb.dashboard.__file__).parent / "templates"
    loaders: list[Any] = [FileSystemLoader(ours), components.env.loader]
    templates = Environment(loader=ChoiceLoader(loaders))  # noqa: S701 (as Dask's)

    def document(_scheduler: Any, variables: dict[str, Any], doc: Any) -> None:
        show(
            doc,
            monitor,
            controls,
            template=templates.get_template("dpbb.html"),
            theme=components.BOKEH_THEME,
            variables={**variables, "scheduler_address": scheduler.address},
        )

    variables = template_variables(scheduler)
    application = BokehApplication(
        {f"/{PAGE}": document},
        scheduler,
        prefix=main.prefix,
        template_variables=variables,
    )
    _names_here()  # asked for now, they are there when a page is
    _refuse_strangers(application, controls)
    _refuse_frames(application)
    scheduler.http_application.add_application(application)
    application.initialize(IOLoop.current())
    application.start()
    # Dask hands the same list to all its pages
    if PAGE not in variables["pages"]:
        variables["pages"].insert(1, PAGE)
    return application


def _refuse_frames(application: Any) -> None:
    """Have the page, with its buttons, in no other site's frame."""
    from tornado.web import OutputTransform

    class OwnFrames(OutputTransform):
        """Adds the headers; older browsers know the second one alone."""

        def __init__(self, request: Any) -> None:
            pass

        def transform_first_chunk(
            self, status_code: int, headers: Any, chunk: bytes, finishing: bool
        ) -> tuple[int, Any, bytes]:
            headers["Content-Security-Policy"] = "frame-ancestors 'self'"
            headers["X-Frame-Options"] = "SAMEORIGIN"
            return status_code, headers, chunk

    application.add_transform(OwnFrames)


def _refuse_strangers(application: Any, controls: Page) -> None:
    """Have pages and their connections answer under known names alone."""
    from tornado.web import RequestHandler

    knows = controls.knows

    class Refusal(RequestHandler):
        """Says why, and what to do."""

        def prepare(self) -> None:
            origin, host = self.request.headers.get("Origin"), self.request.host
            what = f"a page of {origin!a}" if knows(host) else f"as {host!a}"
            self.set_status(403)
            self.set_header("Content-Type", "text/plain; charset=utf-8")
            self.finish(
                f"dpbb's page does not answer {what}: expected "
                "a name of its own host, as another site could have its name lead "
                f"here. If it is one, or a proxy's, add it to {HOSTS} in the "
                "scheduler's Dask config, or to its environment: "
                f"""DASK_DPBB__DASHBOARD__HOSTS='["name"]'.\n"""
            )

    def is_known(request: Any) -> bool:
        host = request.host
        return knows(host) and is_same_origin(request.headers.get("Origin"), host)

    filter_requests(application, Refusal, is_known)


def attach_when_asked(scheduler: Any) -> None:
    """Have a scheduler of this process get its dashboard when somebody looks at it.

    To import Bokeh takes as long as a short solve, and most runs nobody looks at. Who
    is first gets a page that loads itself again. Call it in any thread.
    """
    from tornado.web import Application, RequestHandler

    loop: AbstractEventLoop = scheduler.loop.asyncio_loop
    importing = False

    class Loading(RequestHandler):
        """Says that the page comes, and has a browser ask again."""

        def prepare(self) -> None:
            nonlocal importing
            if not importing:
                importing = True
                # a thread of its own: the loop goes on, and no exit waits for it
                threading.Thread(target=load, name="dpbb-page", daemon=True).start()
            self.set_status(503)
            self.set_header("Content-Type", "text/plain; charset=utf-8")
            self.set_header("Retry-After", "1")
            self.set_header("Refresh", "1")
            self.finish("The dashboard is being loaded: ask again in a second.\n")

    def load() -> None:
        try:
            import distributed.dashboard.scheduler  # noqa: F401

            import dpbb.dashboard.page  # noqa: F401
        except Exception as error:  # noqa: BLE001 (a Bokeh for another NumPy raises any)
            logger.warning("no dashboard: %r", error)
            _expected.discard(scheduler)
        if not loop.is_closed():
            loop.call_soon_threadsafe(attach)

    def attach() -> None:
        pages.applications.remove(before)
        if scheduler not in _expected or scheduler.status.name.startswith("clos"):
            return
        from distributed.dashboard.scheduler import connect

        connect(pages, scheduler.http_server, scheduler, "/")
        plugin = scheduler.extensions.get("dpbb")
        if plugin is not None:
            plugin.page.attach()

    pages = scheduler.http_application
    before = Application([(".*", Loading)])
    _expected.add(scheduler)
    loop.call_soon_threadsafe(pages.add_application, before)
