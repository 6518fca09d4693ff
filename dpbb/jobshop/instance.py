"""The job-shop instance: routes and times, checked once, then trusted everywhere."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpbb.errors import refuse, shown
from dpbb.flowshop.times import MAX_TOTAL_TIME, whole_numbers
from dpbb.flowshop.times import whole_number as plain_number

MAX_JOBS = MAX_MACHINES = 32_767
"""Solutions name jobs by 16-bit numbers."""

MAX_OPERATIONS = 1_000_000

MAX_TOTAL_WEIGHT = 2**31 - 1
"""Largest sum of weights: weighted tardiness then fits 64 bits."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class JobShopInstance:
    """A job shop: every job visits machines along a route of its own.

    Operations are numbered along the routes, job after job: job j has the operations
    ``first[j]`` to ``first[j + 1] - 1``. A route may leave machines out and come back
    to one, and jobs may have unequal numbers of operations.

    Parameters
    ----------
    name
        For people and file names; nothing depends on it.
    first : ndarray of int64, shape (n_jobs + 1,)
        First operation of every job, and the number of all operations.
    machines, times : ndarray of int64, shape (n_operations,)
        Machine and processing time of every operation, any time unit.
    n_machines
        Number of machines; more than the routes use are allowed.
    release, due, weight : ndarray of int64, shape (n_jobs,)
        Earliest start, due date and weight of every job; by default 0, none, 1.
        ``due`` is None in a shop without due dates.
    job_names, machine_names
        For people; by default the numbers from 0.

    Attributes
    ----------
    digest
        Hexadecimal SHA-256 of everything but the names; the identity of an instance.

    Raises
    ------
    InstanceError
        Says which operation, what was expected and what came.
    """

    name: str
    first: NDArray[np.int64]
    machines: NDArray[np.int64]
    times: NDArray[np.int64]
    n_machines: int
    release: NDArray[np.int64] = None  # type: ignore[assignment]
    due: NDArray[np.int64] | None = None
    weight: NDArray[np.int64] = None  # type: ignore[assignment]
    job_names: tuple[str, ...] = ()
    machine_names: tuple[str, ...] = ()
    digest: str = field(init=False)

    def __post_init__(self) -> None:
        first = whole_numbers(self.first, f"{self.name}: first", "whole numbers")
        if first.size < 2 or first[0] != 0 or (np.diff(first) < 1).any():
            refuse(
                f"{self.name}: first",
                "at least one job, and at least one operation of every job",
                shown(first.tolist()),
            )
        n_jobs, n_operations = first.size - 1, int(first[-1])
        values: dict[str, Any] = {"first": first}
        for name, length, default in (
            *(("machines", n_operations, None), ("times", n_operations, None)),
            *(("release", n_jobs, 0), ("due", n_jobs, None), ("weight", n_jobs, 1)),
        ):
            given = getattr(self, name)
            if given is None and default is not None:
                given = np.full(n_jobs, default)
            if given is not None or name != "due":
                where = f"{self.name}: {name}"
                values[name] = whole_numbers(
                    given, where, f"{length} numbers", (length,)
                )
        _check_sizes(self.name, n_jobs, self.n_machines, values)
        for name, count in (("job_names", n_jobs), ("machine_names", self.n_machines)):
            given = getattr(self, name)
            given = () if given is None else given
            names = tuple(map(str, _rows(given, f"{self.name}: {name}", "names")))
            names = names or tuple(map(str, range(count)))
            if len(names) != count or len(set(names)) != count:
                expected = f"{count} different names"
                refuse(f"{self.name}: {name}", expected, shown(list(names)))
            values[name] = names
        content = hashlib.sha256(b"dpbb job shop 1\n")
        content.update(np.array([n_jobs, self.n_machines], "<i8").tobytes())
        for name in ("first", "machines", "times", "release", "weight", "due"):
            part = values.get(name)
            content.update(b"-" if part is None else part.astype("<i8").tobytes())
        values |= {"n_machines": int(self.n_machines), "digest": content.hexdigest()}
        for name, value in values.items():
            if isinstance(value, np.ndarray):
                value.setflags(write=False)
            object.__setattr__(self, name, value)

    @classmethod
    def from_routes(
        cls,
        routes: Sequence[Sequence[tuple[int, int]]],
        *,
        name: str = "instance",
        n_machines: int | None = None,
        **more: Any,  # release, due, weight, job_names, machine_names
    ) -> JobShopInstance:
        """Make an instance from the route of every job.

        Parameters
        ----------
        routes
            For every job the (machine, time) pairs of its operations, in order;
            machines count from 0.
        n_machines
            Default: as many as the routes use.
        **more
            Dates, weights and names, as of the class.
        """
        machines, times, lengths = [], [], []
        for job, route in enumerate(_rows(routes, name, "a route for every job")):
            steps = list(_rows(route, f"{name}, job {job}", "(machine, time) pairs"))
            if not steps:
                refuse(f"{name}, job {job}", "at least one operation", "none")
            for step, pair in enumerate(steps):
                where = f"{name}, job {job}, operation {step}"
                both = list(_rows(pair, where, "a pair (machine, time)"))
                if len(both) != 2:
                    refuse(where, "a pair (machine, time)", shown(pair))
                machines.append(whole_number(both[0], f"{where}: machine"))
                times.append(whole_number(both[1], f"{where}: time"))
            lengths.append(len(steps))
        if not lengths:
            refuse(name, "at least one job", "none")
        return cls(
            name,
            np.concatenate([[0], np.cumsum(lengths)]),
            np.array(machines, dtype=object),
            np.array(times, dtype=object),
            1 + max(machines) if n_machines is None else n_machines,
            **more,
        )

    @property
    def n_jobs(self) -> int:
        """Number of jobs, at least 1."""
        return self.first.size - 1

    @property
    def n_operations(self) -> int:
        """Number of operations of all jobs."""
        return int(self.first[-1])

    @property
    def lengths(self) -> NDArray[np.int64]:
        """Number of operations of every job, shape (n_jobs,)."""
        return np.diff(self.first)

    @property
    def jobs(self) -> NDArray[np.int64]:
        """Job of every operation, shape (n_operations,)."""
        return np.repeat(np.arange(self.n_jobs), self.lengths)

    @property
    def machine_lengths(self) -> NDArray[np.int64]:
        """Number of operations on every machine, shape (n_machines,)."""
        return np.bincount(self.machines, minlength=self.n_machines)

    @property
    def visits(self) -> NDArray[np.int64]:
        """How often every job visits every machine, shape (n_machines, n_jobs)."""
        result = np.zeros((self.n_machines, self.n_jobs), np.int64)
        np.add.at(result, (self.machines, self.jobs), 1)
        return result

    @property
    def longest_end(self) -> int:
        """Time by which every semi-active schedule has ended."""
        return int(self.times.sum() + self.release.max())

    @property
    def lower_bound(self) -> int:
        """Longest job or machine, release dates included: no makespan is less.

        A machine starts when the head of one of its operations has passed, and
        something follows its last one: the least head and the least tail count.
        """
        first, jobs = self.first[:-1], self.jobs
        ends = np.cumsum(self.times)
        ends -= (ends - self.times)[first][jobs]  # of the operations of a job alone
        lengths = ends[self.first[1:] - 1]
        heads, tails = self.release[jobs] + ends - self.times, lengths[jobs] - ends
        best = int((self.release + lengths).max())
        for machine in np.flatnonzero(self.machine_lengths):
            here = self.machines == machine
            busy = heads[here].min() + self.times[here].sum() + tails[here].min()
            best = max(best, int(busy))
        return best

    def operation(self, number: int) -> str:
        """Name an operation, for messages: its job, its place there, its machine."""
        job = int(np.searchsorted(self.first, number, "right")) - 1
        machine = self.machine_names[self.machines[number]]
        return (
            f"operation {number - int(self.first[job])} of job {self.job_names[job]} "
            f"(machine {machine})"
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, JobShopInstance):
            return NotImplemented
        return self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)

    def __repr__(self) -> str:
        return (
            f"JobShopInstance({self.name!r}, {self.n_jobs} jobs x {self.n_machines} "
            f"machines, {self.n_operations} operations, digest {self.digest[:12]})"
        )

    def __reduce__(self) -> tuple[Callable[..., JobShopInstance], tuple[Any, ...]]:
        # Default pickling would lose the read-only flags of the arrays.
        return JobShopInstance, (
            *(self.name, self.first, self.machines, self.times, self.n_machines),
            *(self.release, self.due, self.weight),
            *(self.job_names, self.machine_names),
        )


def _check_sizes(
    name: str, n_jobs: int, n_machines: int, values: dict[str, Any]
) -> None:
    """Refuse machines that are none, and what the evaluators could not hold."""
    machines, times = values["machines"], values["times"]
    if isinstance(n_machines, bool) or not isinstance(n_machines, int | np.integer):
        refuse(f"{name}: n_machines", "a whole number >= 1", shown(n_machines))
    for what, count, most in (
        ("jobs", n_jobs, MAX_JOBS),
        ("machines", n_machines, MAX_MACHINES),
        ("operations", machines.size, MAX_OPERATIONS),
    ):
        if not 1 <= count <= most:
            refuse(f"{name}: {what}", f"1 to {most:,}", f"{count:,}")
    wrong = np.flatnonzero(machines >= n_machines)
    if wrong.size:
        operation = int(wrong[0])
        job = int(np.searchsorted(values["first"], operation, "right")) - 1
        refuse(
            f"{name}, job {job}, operation {operation - values['first'][job]}: machine",
            f"0 to {n_machines - 1}",
            str(machines[operation]),
        )
    total = int(times.sum(dtype=object)) + int(values["release"].max())
    if total > MAX_TOTAL_TIME:
        refuse(
            name,
            f"times and release dates that sum to at most {MAX_TOTAL_TIME:,}",
            f"{total:,}; use a coarser time unit",
        )
    if int(values["weight"].sum(dtype=object)) > MAX_TOTAL_WEIGHT:
        refuse(f"{name}: weight", f"a sum of at most {MAX_TOTAL_WEIGHT:,}", "more")


def _rows(values: Any, where: str, expected: str) -> Iterable[Any]:
    """Return the parts of a sequence; refuse what is none."""
    try:
        found = None if isinstance(values, str | bytes) else iter(values)
    except TypeError:  # of an array without dimensions, too
        found = None
    if found is None:
        refuse(where, expected, shown(values))
    return found


def whole_number(value: Any, where: str) -> int:
    """Return a whole number >= 0, given as an integer or an equal float."""
    number = plain_number(value, where)
    if number > MAX_TOTAL_TIME:
        refuse(where, f"at most {MAX_TOTAL_TIME:,}", shown(number))
    return number
