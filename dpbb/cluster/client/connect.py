"""A client of a cluster that is there: made, checked, and needed for a call."""

from __future__ import annotations

import asyncio
import json
import logging
import math
import ssl
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpbb.cluster.client.which import VARIABLES
from dpbb.errors import ClusterError, OptionError, SchedulerLostError, shown

if TYPE_CHECKING:
    from distributed import Client

CONNECT_S = 10.0
"""A scheduler has so long to answer."""


def check_open(client: Any) -> None:
    """Raise OptionError for what is no client, ClusterError for one that is closed."""
    if getattr(client, "status", None) in ("closing", "closed"):
        raise ClusterError("client: expected an open one, got one that is closed")
    if not hasattr(client, "scheduler_info"):
        raise OptionError(f"client: expected a distributed.Client, got {shown(client)}")


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
    from distributed.comm.core import FatalCommClosedError

    from dpbb.cluster.internals import client_in_time

    try:
        where = _address_in(address) if address.endswith(".json") else address
        timeout = CONNECT_S if most_s is None else min(CONNECT_S, most_s)
        _shake_hands(where, timeout)
        # three calls, each with that limit
        client = client_in_time(where, 3 * timeout + 1, timeout=timeout)
    except (OSError, ValueError) as error:
        # another certificate is none that comes back
        wrong = isinstance(error, (ValueError, ssl.SSLError, FatalCommClosedError))
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
    error = record.exc_info[1] if record.exc_info else None
    return not isinstance(error, asyncio.CancelledError)


def _shake_hands(address: str, most_s: float) -> None:
    """Raise OSError where nobody speaks Dask: a client would wait there for ever."""
    from distributed.comm.core import connect as connect_to

    async def meet() -> None:
        comm = await connect_to(address, timeout=most_s, **arguments)
        await comm.close()

    async def meet_in_time() -> None:
        try:  # Dask's limit ends with the connection, not with what is said on it
            await asyncio.wait_for(meet(), most_s + 1)
        except TimeoutError:
            raise OSError(f"no answer within {most_s + 1:g} s") from None

    if address.startswith("inproc:"):
        return
    arguments = _connection_args(address)
    with ThreadPoolExecutor(1, "dpbb-connect") as pool:  # the caller may have a loop
        pool.submit(lambda: asyncio.run(meet_in_time())).result()


def _connection_args(address: str) -> dict[str, Any]:
    """Return what Dask connects with; ClusterError if certificates are missing."""
    from distributed import Security
    from distributed.comm.addressing import normalize_address

    security: Any = Security()
    files = [security.tls_ca_file, security.tls_client_cert, security.tls_client_key]
    # Dask takes the text of a certificate, too
    paths = [file for file in files if file is not None and "\n" not in file]
    missing = [path for path in paths if not Path(path).is_file()]
    settings = "Dask's settings distributed.comm.tls.{ca-file, client.cert, client.key}"
    if missing:
        raise ClusterError(f"expected files in {settings}, got no {missing[0]}")
    try:
        arguments: dict[str, Any] = security.get_connection_args("client")
    except OSError as error:
        raise ClusterError(
            f"expected certificates in {settings}, got {error}"
        ) from error
    encrypted = normalize_address(address).startswith(("tls:", "wss:"))
    if encrypted and arguments.get("ssl_context") is None:
        raise ClusterError(
            f"expected certificates for {address} in {settings}, got not all three"
        )
    if security.require_encryption and not encrypted:
        raise ClusterError(
            f"expected an address tls://..., as Dask's setting "
            f"distributed.comm.require-encryption is true, got {address}"
        )
    return arguments


def _address_in(path: str) -> str:
    """Read the address in a scheduler file; Dask would wait for the file for ever."""
    try:
        document = json.loads(Path(path).read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"no scheduler file: {error}") from error
    if not isinstance(document, dict) or not isinstance(document.get("address"), str):
        raise ValueError("a file without an address")
    return str(document["address"])
