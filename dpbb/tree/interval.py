"""Half-open intervals of leaf indices."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, order=True)
class Interval:
    """Leaves ``begin`` to ``end - 1``; Python ints, as 21! passes 64 bits."""

    begin: int
    end: int

    def __post_init__(self) -> None:
        if not 0 <= self.begin <= self.end:
            raise ValueError(
                f"expected 0 <= begin <= end, got [{self.begin}, {self.end})"
            )

    @property
    def size(self) -> int:  # not __len__: len() stops at 2**63 - 1
        """Number of leaves."""
        return self.end - self.begin

    def intersect(self, other: Interval) -> Interval:
        """Leaves in both; an empty interval when there are none."""
        begin = max(self.begin, other.begin)
        return Interval(begin, max(begin, min(self.end, other.end)))

    def subtract(self, other: Interval) -> tuple[Interval, ...]:
        """Leaves of this interval outside ``other``: none, one or two intervals."""
        common = self.intersect(other)
        if not common.size:
            return (self,) if self.size else ()
        parts = (Interval(self.begin, common.begin), Interval(common.end, self.end))
        return tuple(part for part in parts if part.size)
