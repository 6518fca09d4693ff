"""Published bounds on the optimal makespans of benchmark job shops, by name."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from importlib import resources


@dataclass(frozen=True, slots=True)
class BestKnown:
    """Best published bounds on an instance's optimal makespan.

    Parameters
    ----------
    name
        Name in the benchmark, such as ``"ft06"``.
    lower_bound, upper_bound
        Equal when the optimum is known.
    """

    name: str
    lower_bound: int
    upper_bound: int

    def __str__(self) -> str:
        if self.lower_bound == self.upper_bound:
            return f"{self.upper_bound} (optimal)"
        return f"{self.lower_bound} to {self.upper_bound}"


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
