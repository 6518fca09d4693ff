"""What people see of a permutation: its schedule, or else its order; and bars of it."""

import html
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from dpbb.errors import DpbbError
from dpbb.result.written import write_csv, write_form
from dpbb.text.labels import NO_NAMES, Names

COLUMNS = ("position", "job", "machine", "start", "end")
MORE = ("leave", "setup", "release", "due", "lateness")
"""Further columns, of schedules that have them; the last three are of the whole job."""

SPANS = ("setup", "lateness")
"""Columns of how long, not of when: no dates, and beside dates they say the unit."""


def each(values: Any, change: Callable[[Any], Any]) -> Any:
    """Return nested lists with every value changed."""
    if isinstance(values, list):
        return [each(one, change) for one in values]
    return change(values)


@dataclass(frozen=True, slots=True, eq=False)
class Schedule:
    """Start and end of every operation, in the instance's time unit.

    Parameters
    ----------
    permutation
        Jobs in the order in which they are listed; of a flow shop, that of processing.
    start, end : ndarray of int64, shape (n_jobs, n_machines)
        Row j belongs to job j, whatever its position. Both are 0 where a job does not
        need a machine.
    names
        What jobs and machines are called in tables and pictures.
    leave : ndarray of int64, shape (n_jobs, n_machines), or None
        When the job leaves the machine, which it blocks from ``end`` on; None: it
        leaves at once.
    setup : ndarray of int64, shape (n_jobs, n_machines), or None
        For how long the machine is set up; that ends at ``start``.
    release, due : ndarray of int64, shape (n_jobs,), or None
        When each job may begin, and when it should be completed.
    """

    permutation: tuple[int, ...]
    start: NDArray[np.int64]
    end: NDArray[np.int64]
    names: Names = NO_NAMES
    leave: NDArray[np.int64] | None = None
    setup: NDArray[np.int64] | None = None
    release: NDArray[np.int64] | None = None
    due: NDArray[np.int64] | None = None

    @property
    def makespan(self) -> int:
        """End of the last operation."""
        return int(self.end.max())

    @property
    def tables(self) -> dict[str, NDArray[np.int64]]:
        """Start, end and those of ``MORE`` that there are, by operation or by job."""
        late = None if self.due is None else self.end.max(axis=1) - self.due
        more = self.leave, self.setup, self.release, self.due, late
        found = zip((*COLUMNS[3:], *MORE), (self.start, self.end, *more), strict=True)
        return {name: table for name, table in found if table is not None}

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of what is in a row."""
        clock = self.names.clock
        unit = "" if clock is None else f" ({clock.unit})"
        tables = (name + unit * (name in SPANS) for name in self.tables)
        return (*COLUMNS[:3], *tables)

    def rows(self) -> Iterator[tuple[int | str | datetime, ...]]:
        """Operations as (position, job, machine, start, end, ...), by position.

        Jobs, machines and dates by name, where they have names; for the rest see
        ``columns``.
        """
        clock = self.names.clock
        dated = [clock is not None and name not in SPANS for name in self.tables]
        tables = [
            table if table.ndim == 2 else table[:, None].repeat(self.end.shape[1], 1)
            for table in self.tables.values()
        ]
        jobs = self.names.jobs or range(self.start.shape[0])
        machines = self.names.machines or range(self.start.shape[1])
        for position, job in enumerate(self.permutation):
            for machine in range(self.start.shape[1]):
                here = (
                    clock.at(table[job, machine])
                    if clock is not None and dates
                    else int(table[job, machine])
                    for table, dates in zip(tables, dated, strict=True)
                )
                yield position, jobs[job], machines[machine], *here

    def to_json(self) -> dict[str, Any]:
        """Return ``tables`` as JSON has them: numbers, or dates as ISO texts."""
        clock = self.names.clock
        found = {name: table.tolist() for name, table in self.tables.items()}
        if clock is not None:
            for name in found.keys() - {*SPANS}:
                found[name] = each(found[name], lambda time: clock.at(time).isoformat())
        return found

    def to_dataframe(self) -> Any:  # pandas is optional
        """Operations as a pandas DataFrame, one a row."""
        try:
            import pandas as pd
        except ImportError as error:
            raise DpbbError(
                "to_dataframe: expected pandas to be installed; "
                'pip install "dpbb[pandas]", or use the arrays start and end'
            ) from error
        return pd.DataFrame(list(self.rows()), columns=list(self.columns))

    def write(self, path: str | Path, drawn: Any = None) -> None:
        """Write the operations, or a Gantt chart; see ``Result.write_schedule``.

        ``drawn``: what the chart is of, with its title; default: this schedule.
        """
        write_form(path, self.columns, self.rows(), self if drawn is None else drawn)

    def write_csv(self, path: str | Path) -> None:
        """Write the operations to a CSV file, one a line, under a header line."""
        write_csv(path, self.columns, self.rows())

    def __str__(self) -> str:
        return self.table()

    def table(self, most: int | None = None) -> str:
        """Table for people: a line a job, start-end on every machine, its dates.

        ``most``: of wider lines the last columns are left out.
        """
        heads = self.names.machines or tuple(
            f"machine {k}" for k in range(self.start.shape[1])
        )
        labels = [self.names.job(job) for job in self.permutation]
        clock = self.names.clock
        first = max([5, *map(len, labels)])
        end = 2 * len(str(self.makespan)) + 1
        if clock is not None:
            end = max(len(clock.span(0, time)) for time in (0, self.makespan))
        width = max([end, *map(len, heads)])
        dates = {name: one for name, one in self.tables.items() if one.ndim == 1}
        fit = None if most is None else max(0, most - first) // (width + 2)
        heads = (*heads, *dates)[:fit]
        lines = [f"{'job':>{first}}" + "".join(f"  {head:>{width}}" for head in heads)]
        for label, job in zip(labels, self.permutation, strict=True):
            spans = zip(self.start[job], self.end[job], strict=True)
            cells = [
                f"{start}-{end}" if clock is None else clock.span(start, end)
                for start, end in spans
            ]
            cells += [
                str(table[job])
                if clock is None or name in SPANS
                else clock.text(table[job])
                for name, table in dates.items()
            ]
            lines.append(
                f"{label:>{first}}"
                + "".join(f"  {cell:>{width}}" for cell in cells[:fit])
            )
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(str(self))}</pre>"


@dataclass(frozen=True, slots=True)
class Order:
    """A permutation as a table, for problems that have no schedules."""

    permutation: tuple[int, ...]
    names: Names = NO_NAMES

    def write(self, path: str | Path, drawn: Any = None) -> None:
        """Write (position, job) as ``Schedule.write`` does; there is no chart."""
        rows = enumerate(map(self.names.job, self.permutation))
        write_form(path, COLUMNS[:2], rows, None)

    def __str__(self) -> str:
        """Table for people: a line a job."""
        rows = enumerate(map(self.names.job, self.permutation))
        return "\n".join(
            ["position    job", *(f"{place:>8}{job:>7}" for place, job in rows)]
        )


NONE = -1
"""In place of an operation where there is none."""


def critical_path(
    start: NDArray[np.int64], end: NDArray[np.int64], before: NDArray[np.int64]
) -> tuple[int, ...]:
    """Return a chain of operations without slack, from a beginning to the makespan.

    Of the operations that end last it follows the one of the smallest number backwards,
    as long as one before it ends as it begins: the first such one of ``before``.

    Parameters
    ----------
    before : ndarray of int64, shape (k, n_operations)
        For which others each operation waits; ``NONE`` for none.
    """
    path = [int(end.argmax())]
    while tight := [
        one
        for one in before[:, path[-1]].tolist()
        if one != NONE and end[one] == start[path[-1]]
    ]:
        path.append(tight[0])
    return tuple(reversed(path))


@dataclass(frozen=True, slots=True, eq=False)
class Bars:
    """Operations in any order, by their jobs and machines.

    Parameters
    ----------
    name
        Of the instance.
    order
        Jobs in the order of their colors.
    names
        Of jobs, if they have some, and of machines, all of them, from the top; what
        times mean as dates, if they do.
    job, machine, start, end : ndarray of int64, shape (n_operations,)
        Times in the instance's unit.
    critical
        Places in these arrays of a chain of operations without slack; () for none.
    leave, setup : ndarray of int64, shape (n_operations,), or None
        When the jobs leave the machines, if they block them; set-ups before ``start``.
    release, due : ndarray of int64, shape (n_jobs,), or None
        Dates by the numbers of jobs.
    """

    name: str
    order: tuple[int, ...]
    names: Names
    job: NDArray[np.int64]
    machine: NDArray[np.int64]
    start: NDArray[np.int64]
    end: NDArray[np.int64]
    critical: tuple[int, ...] = ()
    leave: NDArray[np.int64] | None = None
    setup: NDArray[np.int64] | None = None
    release: NDArray[np.int64] | None = None
    due: NDArray[np.int64] | None = None

    @property
    def makespan(self) -> int:
        """End of the last operation."""
        return int(self.end.max())

    @property
    def late(self) -> NDArray[np.int64]:
        """By how much operations end after the due dates of their jobs."""
        due = self.end if self.due is None else self.due[self.job]
        return np.maximum(self.end - due, 0)

    def text(self, time: int) -> str:
        """Return a time, or its date."""
        clock = self.names.clock
        return str(time) if clock is None else clock.text(time)


@runtime_checkable
class HasBars(Protocol):
    """A schedule of another kind than ``Schedule`` that can be drawn."""

    def bars(self) -> Bars:
        """Return its operations."""
