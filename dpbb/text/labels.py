"""What people call the jobs and machines of an instance."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from numbers import Integral
from typing import Any

from dpbb.errors import InstanceError, OptionError, shown
from dpbb.text.clock import Clock

_NUMBER = re.compile(r"-?\d{1,18}")
"""Of a job; more digits are no number of any."""


@dataclass(frozen=True, slots=True)
class Names:
    """What people call jobs, machines and times; no cost and no digest depends on it.

    ``jobs``, ``machines``: by their numbers; () where they have no names. ``clock``:
    the dates of times; None where they have none.
    """

    jobs: tuple[str, ...] = ()
    machines: tuple[str, ...] = ()
    clock: Clock | None = None

    def __bool__(self) -> bool:
        return bool(self.jobs or self.machines or self.clock)

    @property
    def turned(self) -> "Names":
        """The same with machines for jobs."""
        return Names(self.machines, self.jobs, self.clock)

    def job(self, number: int) -> str:
        """Name of a job, or its number as text."""
        return self.jobs[number] if self.jobs else str(number)

    def machine(self, number: int) -> str:
        """Name of a machine, or its number as text."""
        return self.machines[number] if self.machines else str(number)

    def numbers(self, jobs: Iterable[Any], what: str) -> tuple[Any, ...]:
        """Return jobs with numbers in place of names.

        ``jobs``: names and numbers; also a number as a text where no job is called so.

        OptionError: no list, or no job is called so.
        """
        try:
            given = None if isinstance(jobs, str) else list(jobs)
        except TypeError:  # also of an array without dimensions
            given = None
        if given is None:
            raise OptionError(f"{what}: expected a list of jobs, got {shown(jobs)}")
        number_of = {name: number for number, name in enumerate(self.jobs)}
        texts = [job for job in given if isinstance(job, str)]
        named = next((job for job in texts if job in number_of), None)
        found: list[Any] = []
        for position, job in enumerate(given):
            if not isinstance(job, str):
                whole = isinstance(job, Integral) and not isinstance(job, bool)
                found.append(int(job) if whole else job)  # of NumPy, too
            elif job in number_of:
                found.append(number_of[job])
            elif not _NUMBER.fullmatch(job.strip()):
                some = ", ".join(self.jobs[:5]) + (", ..." if self.jobs[5:] else "")
                expected = f"one of the jobs {some}" if some else "the number of a job"
                where = f"{what}, position {position}"
                raise OptionError(f"{where}: expected {expected}, got {shown(job)}")
            elif named is not None:
                raise OptionError(
                    f"{what}: expected names of jobs alone, such as {shown(named)}, "
                    f"got {shown(job)}, which is none"
                )
            else:
                found.append(int(job))
        return tuple(found)


NO_NAMES = Names()


def checked_names(names: Names, n_jobs: int, n_machines: int, where: str) -> Names:
    """Return names that fit a table; InstanceError if they do not."""
    for what, found, count in (
        ("job names", names.jobs, n_jobs),
        ("machine names", names.machines, n_machines),
    ):
        if found and len(found) != count:
            raise InstanceError(f"{where}: expected {count} {what}, got {len(found)}")
        seen: set[str] = set()
        for name in found:
            # what does not print would steer a terminal
            if not isinstance(name, str) or not name.strip() or not name.isprintable():
                raise InstanceError(
                    f"{where}: expected texts that can be printed as {what}, got "
                    f"{shown(name)}"
                )
            if name in seen:
                raise InstanceError(
                    f"{where}: expected different {what}, got {shown(name)} twice"
                )
            seen.add(name)
    return names


def unless_counted(names: Iterable[object]) -> tuple[str, ...]:
    """Return names as texts; () if they only count from 0 or from 1."""
    texts = tuple(" ".join(str(name).split()) for name in names)
    counted = any(
        texts == tuple(map(str, range(first, first + len(texts)))) for first in (0, 1)
    )
    return () if counted else texts


def names_of(problem: object) -> Names:
    """Return the names of a problem's jobs and machines, where it has any."""
    return getattr(problem, "names", NO_NAMES)
