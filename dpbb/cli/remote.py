"""What the commands for runs on a cluster share."""

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from dpbb.cluster.client.which import VARIABLES, which_cluster
from dpbb.errors import OptionError
from dpbb.options import kinds

NAMES = ", then ".join([*(f"${name}" for name in VARIABLES), "Dask's setting of it"])


def add_scheduler(parser: argparse.ArgumentParser) -> None:
    """Add ``--scheduler``."""
    parser.add_argument(
        "--scheduler",
        metavar="ADDRESS",
        help="the Dask cluster, such as tcp://host:8786, or the path of a scheduler "
        f"file; default: {NAMES}",
    )


def add_run(parser: argparse.ArgumentParser) -> None:
    """Add the run and its scheduler."""
    parser.add_argument(
        "run_id", metavar="RUN", help="name of the run, or what it begins with"
    )
    add_scheduler(parser)


def address_of(given: str | None) -> str:
    """Return the scheduler's address: as given, or see ``which_cluster``."""
    named = kinds.optional(kinds.address()).check(given, "--scheduler")
    address = named or which_cluster().address
    if address is None:
        raise OptionError(
            f"--scheduler: expected the address of a Dask scheduler, got none, nor one "
            f"in {NAMES}"
        )
    return address


@contextmanager
def connected(args: argparse.Namespace) -> Iterator[Any]:
    """Connect to the scheduler; yields a client."""
    from dpbb.cluster.client.connect import connect

    with connect(address_of(args.scheduler)) as client:
        yield client


@contextmanager
def attached(args: argparse.Namespace, **how: Any) -> Iterator[Any]:
    """Connect to the scheduler; yields a handle of the run, attached so."""
    from dpbb.api import attach

    with connected(args) as client, attach(args.run_id, client, **how) as run:
        yield run
