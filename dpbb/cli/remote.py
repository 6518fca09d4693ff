"""What the commands for runs on a cluster share."""

import argparse
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from dpbb.errors import OptionError
from dpbb.options import kinds

VARIABLE = "DPBB_SCHEDULER"


def add_scheduler(parser: argparse.ArgumentParser) -> None:
    """Add ``--scheduler``."""
    parser.add_argument(
        "--scheduler",
        metavar="ADDRESS",
        help="the Dask cluster, such as tcp://host:8786, or the path of a scheduler "
        f"file; default: ${VARIABLE}, then Dask's own setting",
    )


def add_run(parser: argparse.ArgumentParser) -> None:
    """Add the run and its scheduler."""
    parser.add_argument(
        "run_id", metavar="RUN", help="name of the run, or what it begins with"
    )
    add_scheduler(parser)


def address_of(given: str | None) -> str:
    """Return the scheduler's address: as given, or from the environment."""
    address = given or os.environ.get(VARIABLE)
    if not address:
        import dask

        address = dask.config.get("scheduler-address", None)
    if not address:
        raise OptionError(
            f"--scheduler: expected the address of a Dask scheduler, got none, nor one "
            f"in ${VARIABLE} or in Dask's setting scheduler-address"
        )
    return str(kinds.address().check(address, "--scheduler"))


@contextmanager
def connected(args: argparse.Namespace) -> Iterator[Any]:
    """Connect to the scheduler; yields a client."""
    from dpbb.cluster.client.connect import connect

    with connect(address_of(args.scheduler)) as client:
        yield client


@contextmanager
def attached(args: argparse.Namespace, **how: Any) -> Iterator[Any]:
    """Connect to the scheduler; yields a handle of the run, attached so."""
    from dpbb.solving.attach import attach

    with connected(args) as client, attach(args.run_id, client, **how) as run:
        yield run
