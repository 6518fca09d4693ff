"""Published bounds on the optima of benchmark instances."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class BestKnown:
    """Best published bounds on an instance's optimal makespan.

    Parameters
    ----------
    lower_bound, upper_bound
        Equal when the optimum is known.
    """

    lower_bound: int
    upper_bound: int

    @property
    def optimal(self) -> bool:
        """Whether the upper bound is proved to be the optimum."""
        return self.lower_bound == self.upper_bound

    def __str__(self) -> str:
        if self.optimal:
            return f"{self.upper_bound} (optimal)"
        return f"{self.lower_bound} to {self.upper_bound}"
