"""Published bounds on the optimal makespans of benchmark job shops, by name."""

import functools
from importlib import resources

from dpbb.problem import BestKnown


def best_known(name: str) -> BestKnown | None:
    """Bounds of the instance of this name; None when it is not in the table."""
    return _table().get(name)


@functools.cache
def _table() -> dict[str, BestKnown]:
    text = (resources.files(__package__) / "data" / "best_known.csv").read_text("ascii")
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    rows = [line.split(",") for line in lines[1:]]
    return {
        name: BestKnown(name, int(lower), int(upper)) for name, lower, upper in rows
    }
