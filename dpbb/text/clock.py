"""Dates for times that are counted in a unit from an origin."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Literal

from dpbb.errors import refuse

Unit = Literal["s", "min", "h", "d"]

UNITS: dict[Unit, int] = {"s": 1, "min": 60, "h": 3600, "d": 86400}
"""Seconds of each unit."""

EXAMPLE = "2026-05-04T06:00"
"""A date as messages show it."""

TOLERANCE_S = 0.01
"""Dates of workbooks are fractions of days: as near to a unit they are on it."""

_DATE = re.compile(r"\d{4}-\d\d-\d\d([T ].*)?")


def is_date(text: str) -> bool:
    """Whether a text looks like a date."""
    return _DATE.fullmatch(text) is not None


def read_date(text: str, where: str) -> datetime:
    """Return the date that an ISO text says; InstanceError: it says none."""
    try:
        found = datetime.fromisoformat(text) if is_date(text) else None
    except ValueError:
        found = None
    if found is None or found.tzinfo is not None:
        refuse(where, f"a date such as {EXAMPLE}, without a zone", repr(text[:40]))
    return found


@dataclass(frozen=True, slots=True)
class Clock:
    """What times mean as dates.

    Parameters
    ----------
    origin
        The date of time 0, without a time zone.
    unit
        What 1 is.
    """

    origin: datetime
    unit: Unit

    def __post_init__(self) -> None:
        if self.unit not in UNITS:
            refuse("unit", f"one of {', '.join(UNITS)}", repr(self.unit)[:40])
        if self.origin.tzinfo is not None:
            refuse("origin", "a date without a time zone", str(self.origin))

    def at(self, time: int) -> datetime:
        """Return the date of a time; InstanceError: calendars do not have it."""
        try:
            return self.origin + timedelta(seconds=int(time) * UNITS[self.unit])
        except OverflowError:
            got = f"{time:,} {self.unit} after {self.text(0)}"
            refuse("dates", "a year up to 9999 (is the unit right?)", got)

    def text(self, time: int) -> str:
        """Return the date of a time as people write it."""
        precise = self.unit == "s" or self.origin.second
        return self.at(time).isoformat(" ", "seconds" if precise else "minutes")

    def milliseconds(self, times: Any) -> Any:
        """Return times, numbers or an array, as milliseconds from the year 1970 on."""
        origin = (self.origin - datetime(1970, 1, 1)).total_seconds()
        return 1000 * (origin + times * UNITS[self.unit])

    def span(self, start: int, end: int) -> str:
        """Return from when to when, with the day once if it is the same."""
        first, last = self.text(start), self.text(end)
        day, clock = last.split()
        return f"{first} - {clock if first.startswith(day) else last}"

    def cost(self, objective: str, value: int, end: int) -> str:
        """Return a cost with its unit, if it has one, and the date of the end."""
        unit = "" if objective.startswith(("late", "weighted")) else f" {self.unit}"
        return f"{value}{unit} (until {self.text(end)})"

    def time(self, date: datetime, where: str) -> int:
        """Return the time of a date.

        InstanceError: it is before the origin, or between two times.
        """
        seconds = (date - self.origin).total_seconds()
        found = round(seconds / UNITS[self.unit])
        if abs(seconds - found * UNITS[self.unit]) > TOLERANCE_S:
            expected = f"whole {self.unit} from the origin {self.text(0)} (--unit)"
            refuse(where, expected, str(date))
        if found < 0:
            refuse(
                where, f"a date from the origin {self.text(0)} on (--origin)", str(date)
            )
        return found
