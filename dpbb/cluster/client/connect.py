"""The cluster of a call: which one it is, and a client of it.

What the call names, a client or a scheduler; within a Dask task none, as a cluster must
not be started in a cluster; Dask's current client; ``$DPBB_SCHEDULER``;
Dask's setting ``scheduler-address``, which is ``$DASK_SCHEDULER_ADDRESS`` or in Dask's
files; none. Dask is loaded only where a file has that setting, as it takes 0.1 s.
"""

from __future__ import annotations

import json
import logging
import math
import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from dpbb.errors import ClusterError, OptionError, SchedulerLostError, shown
from dpbb.options import SolveOptions, kinds

if TYPE_CHECKING:
    from distributed import Client

VARIABLES = ("DPBB_SCHEDULER", "DASK_SCHEDULER_ADDRESS")

CONNECT_S = 10.0
"""A scheduler has so long to answer."""


class Which(NamedTuple):
    """The cluster of a call that names none.

    Attributes
    ----------
    client, scheduler
        Of it: a client, or else an address; both None: there is none.
    why
        Who named it, or why none is used. Empty: nobody did.
    in_task
        Whether this is a task on a Dask worker.
    """

    client: Any = None
    scheduler: str | None = None
    why: str = ""
    in_task: bool = False

    @property
    def address(self) -> str | None:
        """Address of the scheduler; None without a cluster."""
        there = getattr(self.client, "scheduler", None)
        return self.scheduler if there is None else str(there.address)

    def __str__(self) -> str:
        return f"{self.address or 'none'}: {self.why}"


def which_cluster() -> Which:
    """Decide which cluster a call uses that names none; see the module.

    OptionError: a variable or a setting holds no address of a scheduler.
    """
    if _in_task():
        why = "this process, as a Dask task; client=... of distributed.worker_client "
        return Which(why=f"{why}uses the task's cluster", in_task=True)
    current = _current_client()
    if current is not None and not current.asynchronous:
        return Which(current, why="Dask's current client")
    for name in VARIABLES:
        if address := os.environ.get(name):
            checked = kinds.address().check(address, f"${name}")
            return Which(scheduler=checked, why=f"${name}")
    if address := _setting_of_dask():
        why = "Dask's setting scheduler-address"
        return Which(scheduler=kinds.address().check(address, why), why=why)
    if current is not None:
        return Which(why="Dask's current client is asynchronous, so it is to be given")
    return Which()


def leave_worker() -> None:
    """Have a Dask task leave its worker's threads, which it would keep from its run.

    Elsewhere nothing happens. Call it before waiting for what runs on the cluster.
    """
    if _in_task():
        from distributed import secede

        with suppress(AttributeError, KeyError):  # no thread of the worker's any more
            secede()


def placed(client: Any, options: SolveOptions) -> tuple[Any, SolveOptions, str]:
    """Return client and options of a search where it is placed, and a line for people.

    The line is empty where the call says where, or there is no choice.

    OptionError: within a Dask task an option needs a cluster; or the client is none, or
    an option excludes it. One that is closed is a ClusterError.
    """
    if client is not None:
        check_open(client)
        for name in ("scheduler", "workers"):
            if getattr(options, name) is not None:
                raise OptionError(f"{name}: expected without a client, got both")
    if client is not None or options.scheduler is not None:
        return client, options, ""
    which = which_cluster()
    if not which.why:
        return None, options, ""
    if options.workers is not None:
        own = "none" if options.workers == 0 else "one of its own"
        return None, options, f"cluster {own}, as workers is given; else {which}"
    if which.in_task:
        try:
            options = options.replace(workers=0)
        except OptionError as error:
            raise OptionError(f"within a Dask task: {error}; {which.why}") from error
    elif which.scheduler is not None:
        options = options.replace(scheduler=which.scheduler)
    return which.client, options, f"cluster {which}"


def _in_task() -> bool:
    """Whether this is a task on a Dask worker."""
    if "distributed.worker" not in sys.modules:
        return False
    from distributed.worker import get_worker  # waits where another thread imports it

    try:
        return get_worker() is not None
    except ValueError:
        return False


def _setting_of_dask() -> Any:
    """Return Dask's setting ``scheduler-address``; None without one.

    Dask is imported only if one of its files has the setting: that takes a tenth of a
    second at the prompt.
    """
    if "dask" not in sys.modules and not any(map(_names_scheduler, _files_of_dask())):
        return None
    import dask

    return dask.config.get("scheduler-address", None)


def _files_of_dask() -> Iterator[Path]:
    """Files in which Dask looks for settings."""
    places = ["/etc/dask", f"{sys.prefix}/etc/dask", "~/.config/dask"]
    for name in ("DASK_ROOT_CONFIG", "DASK_CONFIG"):
        places.append(os.environ.get(name) or places[0])
    for place in places:
        path = Path(place).expanduser()
        yield from path.glob("*") if path.is_dir() else [path]


def _names_scheduler(file: Path) -> bool:
    """Whether a file sets a scheduler's address; Dask's own file is all comments."""
    try:
        lines = file.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return False
    setting = re.compile(r"[^#]*scheduler[-_]address")
    return any(setting.match(line) for line in lines)


def _current_client() -> Any:
    """Return the client that Dask's own functions would use; None without one."""
    if "distributed" not in sys.modules:
        return None
    from distributed import Client

    try:
        return Client.current()
    except ValueError:
        return None


def check_open(client: Any) -> None:
    """Raise OptionError for what is no client, ClusterError for one that is closed."""
    if getattr(client, "status", None) in ("closing", "closed"):
        raise ClusterError("client: expected an open one, got one that is closed")
    if not hasattr(client, "scheduler_info"):
        hint = "; scheduler=... takes an address" if isinstance(client, str) else ""
        got = f"{shown(client)}{hint}"
        raise OptionError(f"client: expected a distributed.Client, got {got}")


def check_timeout(timeout: Any) -> None:
    """Raise OptionError for what is no number of seconds; None is no limit."""
    if timeout is None:
        return
    real = isinstance(timeout, Real) and not isinstance(timeout, bool)
    try:
        told = real and not math.isnan(timeout)
    except OverflowError:
        told = False
    if not told:
        raise OptionError(f"timeout: expected a number, got {shown(timeout)}")


@contextmanager
def needing(client: Any, what: str = "") -> Iterator[None]:
    """In this block the scheduler has to answer; SchedulerLostError if it does not."""
    address = getattr(client.scheduler, "address", "an address that is forgotten")
    try:
        yield
    except OSError as error:
        raise SchedulerLostError(
            f"{what}lost the scheduler at {address}: {error}"
        ) from error


@contextmanager
def connect(address: str, most_s: float | None = None) -> Iterator[Client]:
    """Connect to the cluster of a scheduler, for the length of the block.

    Parameters
    ----------
    address
        Such as ``tcp://host:8786``, or the path of a scheduler file (``.json``).
    most_s
        Do not wait longer than this for an answer, or than usual.

    Raises
    ------
    ClusterError
        That is no address of a scheduler, or no scheduler file; or certificates are
        wanted that are not there, or are others than the scheduler's.
    SchedulerLostError
        Nobody answers there.
    """
    from ssl import SSLError

    from distributed.comm.core import FatalCommClosedError

    from dpbb.cluster.internals import client_in_time

    try:
        where = _address_in(address) if address.endswith(".json") else address
        timeout = CONNECT_S if most_s is None else min(CONNECT_S, most_s)
        _check_certificates(where)
        # three calls, each with that limit
        client = client_in_time(where, 3 * timeout + 1, timeout=timeout)
    except (OSError, ValueError) as error:
        # another certificate is none that comes back
        wrong = isinstance(error, (ValueError, SSLError, FatalCommClosedError))
        raise (ClusterError if wrong else SchedulerLostError)(
            f"expected a Dask scheduler at {address} (tls:// with TLS, else tcp://), "
            f"got {str(error) or type(error).__name__}; start one with `dask "
            f"scheduler`, or name none (in ${' and $'.join(VARIABLES)} neither) for a "
            "cluster on this machine"
        ) from error
    # a client that is closed while it looks for a scheduler that died, which whoever
    # asks is told in a sentence, would have Dask log a traceback
    logging.getLogger("distributed.client").addFilter(_is_news)
    with client:
        yield client


def _is_news(record: logging.LogRecord) -> bool:
    """Whether a record of Dask's is about more than something that was cancelled."""
    from asyncio import CancelledError  # not needed at every prompt

    error = record.exc_info[1] if record.exc_info else None
    return not isinstance(error, CancelledError)


def _check_certificates(address: str) -> None:
    """Raise ClusterError where Dask's settings miss what the address needs."""
    from distributed import Security
    from distributed.comm.addressing import normalize_address

    security: Any = Security()
    files = [security.tls_ca_file, security.tls_client_cert, security.tls_client_key]
    # Dask takes the text of a certificate, too
    paths = [file for file in files if file is not None and "\n" not in file]
    settings = "Dask's settings distributed.comm.tls.{ca-file, client.cert, client.key}"
    for path in paths:
        if not Path(path).is_file():
            raise ClusterError(f"expected files in {settings}, got no {path}")
    try:
        context = security.get_connection_args("client").get("ssl_context")
    except OSError as error:
        raise ClusterError(
            f"expected certificates in {settings}, got {error}"
        ) from error
    encrypted = normalize_address(address).startswith(("tls:", "wss:"))
    if encrypted and context is None:
        raise ClusterError(
            f"expected certificates for {address} in {settings}, got not all three"
        )
    if security.require_encryption and not encrypted:
        raise ClusterError(
            f"expected an address tls://..., as Dask's setting "
            f"distributed.comm.require-encryption is true, got {address}"
        )


def _address_in(path: str) -> str:
    """Read the address in a scheduler file; Dask would wait for the file for ever."""
    try:
        document = json.loads(Path(path).read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"no scheduler file: {error}") from error
    if not isinstance(document, dict) or not isinstance(document.get("address"), str):
        raise ValueError("a file without an address")
    return str(document["address"])
