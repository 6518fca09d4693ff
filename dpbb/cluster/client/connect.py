"""A client of a cluster that is there, by its scheduler's address or file."""

from __future__ import annotations

import asyncio
import json
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from dpbb.errors import ClusterError, SchedulerLostError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from distributed import Client

CONNECT_S = 10.0
"""A scheduler has so long to answer."""


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
        That is no address of a scheduler, or no scheduler file.
    SchedulerLostError
        Nobody answers there.
    """
    from distributed import Client

    try:
        where = _address_in(address) if address.endswith(".json") else address
        timeout = CONNECT_S if most_s is None else min(CONNECT_S, most_s)
        _shake_hands(where, timeout)
        client = Client(where, timeout=timeout, set_as_default=False)
    except (OSError, ValueError) as error:
        kind = SchedulerLostError if isinstance(error, OSError) else ClusterError
        raise kind(
            f"expected a Dask scheduler at {address}, got {error}; start one with "
            f"`dask scheduler`, or leave the option out for a cluster on this machine"
        ) from error
    with client:
        yield client


def _shake_hands(address: str, most_s: float) -> None:
    """Raise OSError where nobody speaks Dask: a client would wait there for ever."""
    from distributed import Security
    from distributed.comm.core import connect as connect_to

    async def meet() -> None:
        arguments = Security().get_connection_args("client")
        comm = await connect_to(address, timeout=most_s, **arguments)
        await comm.close()

    async def meet_in_time() -> None:
        try:  # Dask's limit ends with the connection, not with what is said on it
            await asyncio.wait_for(meet(), most_s + 1)
        except TimeoutError:
            raise OSError(f"no answer within {most_s + 1:g} s") from None

    if address.startswith("inproc:"):
        return
    with ThreadPoolExecutor(1, "dpbb-connect") as pool:  # the caller may have a loop
        pool.submit(lambda: asyncio.run(meet_in_time())).result()


def _address_in(path: str) -> str:
    """Read the address in a scheduler file; Dask would wait for the file for ever."""
    try:
        document = json.loads(Path(path).read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"no scheduler file: {error}") from error
    if not isinstance(document, dict) or not isinstance(document.get("address"), str):
        raise ValueError("a file without an address")
    return str(document["address"])
