"""Shares, and names that others chose, for all kinds of output."""

from collections import Counter
from collections.abc import Mapping
from typing import TypeVar

Key = TypeVar("Key", bound=str)


def clean(text: str, instead: str = "?") -> str:
    """Replace what would steer a terminal: names and texts come from anywhere."""
    return "".join(char if char.isprintable() else instead for char in text)


def middle(text: str, width: int) -> str:
    """Shorten a text in its middle: names differ at their beginning and end."""
    if len(text) <= width:
        return text
    end = (width - 1) // 2
    return f"{text[: width - 1 - end]}…{text[len(text) - end :]}"


def plural(count: int, name: str, ending: str = "s") -> str:
    """Write ``1 job``, ``2,000 jobs``."""
    return f"{count:,} {name}{ending * (count != 1)}"


def percent(share: float) -> str:
    """Write a share; as many digits as tell it from 0 and 1."""
    if share in (0.0, 1.0):
        return f"{100 * share:.0f} %"
    if share < 1e-12:  # of 500 jobs it is below what a float can hold
        return "< 1e-10 %"
    if share < 1e-4:
        return f"{100 * share:.1e} %"
    digits = 2 if 0.001 <= share <= 0.999 else 4
    return f"{min(100 * share, 99.9999):.{digits}f} %"


def told_apart(instances: Mapping[Key, str]) -> dict[Key, str]:
    """Return names of runs by their ids: the instance, of several runs with the id."""
    counts = Counter(instances.values())
    return {
        run: f"{name} {run[:4]}".strip() if counts[name] > 1 else name or run
        for run, name in instances.items()
    }
