"""The command that runs a world: ``python -m tests.worlds WORLD``."""

from __future__ import annotations

import argparse
import sys
from importlib import import_module
from typing import TYPE_CHECKING

from dpbb.errors import DpbbError, OptionError

if TYPE_CHECKING:
    from collections.abc import Sequence

WORLDS = {
    "scale": "the real coordinator with up to 4,096 simulated GPU seats",
    "faults": "kills, restarts, drains, joins, a bad network: exact all the same",
    "loss": "what a kill of everything costs: by timestamps, and by real kills",
}
"""What there is; a world is a folder with ``suite.py``, as those of ``dpbb.bench``."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a world; returns the exit code: 0 unless a count is wrong."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.worlds", description=__doc__, allow_abbrev=False
    )
    worlds = parser.add_subparsers(title="worlds", required=True, metavar="WORLD")
    for name, text in WORLDS.items():
        suite = import_module(f"tests.worlds.{name}.suite")
        world = worlds.add_parser(name, help=text, description=text, allow_abbrev=False)
        suite.add_arguments(world)
        world.set_defaults(run=suite.run)
    args = parser.parse_args(arguments)
    try:
        return int(args.run(args))
    except DpbbError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2 if isinstance(error, OptionError) else 1


if __name__ == "__main__":
    sys.exit(main())
