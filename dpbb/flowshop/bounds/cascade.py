"""Cascades: LB1 for every child, two-machine bounds for some of those that it leaves.

``cascade:FIRST-LAST:u-v,u-v,...`` is the bound whose children at depths FIRST to LAST
are tightened by the two-machine bounds of these pairs of machines, in this order. The
tree depends on the depths and on the set of pairs; their order only decides how soon a
child is pruned.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import combinations

from dpbb.errors import OptionError, shown

NAME = "cascade"

FORM = "cascade:FIRST-LAST:u-v,u-v,... (depths; pairs of machines u < v)"

_NUMBER = r"(?:0|[1-9][0-9]{0,8})"
_TEXT = re.compile(
    rf"{NAME}:({_NUMBER})-({_NUMBER}):({_NUMBER}-{_NUMBER}(?:,{_NUMBER}-{_NUMBER})*)"
)


@dataclass(frozen=True, slots=True)
class Cascade:
    """Where two-machine bounds tighten LB1, and which.

    Parameters
    ----------
    first, last
        Least and greatest depth of the children that are tightened: 1 <= first <=
        last. A node's depth is the number of its scheduled jobs.
    pairs
        Machines (u, v), u < v, numbered from 0; each once, at least one.

    Raises
    ------
    OptionError
        The numbers are none of a cascade.
    """

    first: int
    last: int
    pairs: tuple[tuple[int, int], ...]

    def __post_init__(self) -> None:
        if not 1 <= self.first <= self.last:
            raise OptionError(
                f"bound: expected depths of a cascade 1 <= FIRST <= LAST, got "
                f"{self.first}-{self.last}"
            )
        for u, v in self.pairs:
            if not 0 <= u < v:
                raise OptionError(
                    f"bound: expected pairs of machines u < v in a cascade, got {u}-{v}"
                )
        if not self.pairs or len(set(self.pairs)) < len(self.pairs):
            raise OptionError(
                "bound: expected each pair of machines of a cascade once, and at least "
                "one"
            )

    @classmethod
    def parse(cls, text: str) -> Cascade:
        """Return the cascade of a text; OptionError if it is not written as one."""
        match = _TEXT.fullmatch(text)
        if match is None:
            raise OptionError(f"bound: expected {FORM}, got {shown(text)}")
        numbers = [pair.split("-") for pair in match[3].split(",")]
        return cls(
            int(match[1]), int(match[2]), tuple((int(u), int(v)) for u, v in numbers)
        )

    def __str__(self) -> str:
        pairs = ",".join(f"{u}-{v}" for u, v in self.pairs)
        return f"{NAME}:{self.first}-{self.last}:{pairs}"

    @classmethod
    def everywhere(cls, n_jobs: int, n_machines: int) -> Cascade | None:
        """LB2: all pairs at all depths; None for one job or machine, without pairs."""
        if n_jobs < 2 or n_machines < 2:
            return None
        return cls(1, n_jobs - 1, tuple(combinations(range(n_machines), 2)))

    @classmethod
    def usual(cls, n_jobs: int, n_machines: int) -> Cascade | None:
        """Return a cascade that suits many shops; None where there is no pair.

        The pairs with the first or the last machine, the last machines first, at all
        depths.
        """
        whole = cls.everywhere(n_jobs, n_machines)
        if whole is None:
            return None
        ends = [(u, v) for u, v in whole.pairs if u == 0 or v == n_machines - 1]
        return cls(whole.first, whole.last, tuple(ends))

    def check(self, n_jobs: int, n_machines: int) -> None:
        """Raise OptionError if it does not fit the size of an instance."""
        if self.last >= n_jobs:
            raise OptionError(
                f"bound: expected depths 1 to {n_jobs - 1} of {n_jobs} jobs, got "
                f"{self.first}-{self.last}"
            )
        for u, v in self.pairs:
            if v >= n_machines:
                raise OptionError(
                    f"bound: expected machines 0 to {n_machines - 1}, got {u}-{v}"
                )


def cascade_of(bound: str, n_jobs: int, n_machines: int) -> Cascade | None:
    """Return what tightens LB1 in a bound of an instance of this size.

    ``bound``: ``"lb2"`` or the text of a cascade; of others nothing does.
    """
    if bound == "lb2":
        return Cascade.everywhere(n_jobs, n_machines)
    return Cascade.parse(bound) if bound.startswith(NAME) else None


def resolved(bound: str, n_jobs: int, n_machines: int) -> str:
    """Return the name that a bound has in a tree of an instance of this size.

    ``"cascade"`` alone becomes the usual one, or LB1 where it has no pair.

    OptionError: a cascade that is none, or does not fit the instance.
    """
    if bound == NAME:
        usual = Cascade.usual(n_jobs, n_machines)
        return "lb1" if usual is None else str(usual)
    if bound.startswith(NAME):
        Cascade.parse(bound).check(n_jobs, n_machines)
    return bound
