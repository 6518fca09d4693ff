"""What people see of a permutation: its schedule, or else its order."""

from __future__ import annotations

import csv
import html
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpbb.errors import DpbbError
from dpbb.problem import Scheduled

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import numpy as np
    from numpy.typing import NDArray

    from dpbb.problem import Problem

COLUMNS = ("position", "job", "machine", "start", "end")


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
    """

    permutation: tuple[int, ...]
    start: NDArray[np.int64]
    end: NDArray[np.int64]

    @property
    def makespan(self) -> int:
        """End of the last operation."""
        return int(self.end.max())

    def rows(self) -> Iterator[tuple[int, int, int, int, int]]:
        """Operations as (position, job, machine, start, end), by position."""
        for position, job in enumerate(self.permutation):
            for machine in range(self.start.shape[1]):
                start, end = self.start[job, machine], self.end[job, machine]
                yield position, job, machine, int(start), int(end)

    def to_dataframe(self) -> Any:  # noqa: ANN401 (pandas is optional)
        """Operations as a pandas DataFrame, one a row."""
        try:
            import pandas as pd
        except ImportError as error:
            raise DpbbError(
                "to_dataframe: expected pandas to be installed; "
                'pip install "dpbb[pandas]", or use the arrays start and end'
            ) from error
        return pd.DataFrame(list(self.rows()), columns=list(COLUMNS))

    def write_csv(self, path: str | Path) -> None:
        """Write the operations to a CSV file, one a line, under a header line."""
        _write_csv(path, COLUMNS, self.rows())

    def __str__(self) -> str:
        """Table for people: a line a job, start-end on every machine."""
        n_machines = self.start.shape[1]
        width = 2 * len(str(self.makespan)) + 1
        head = "".join(
            f"  {f'machine {k}':>{max(width, 9)}}" for k in range(n_machines)
        )
        lines = [f"  job{head}"]
        for job in self.permutation:
            cells = (
                f"{start}-{end}"
                for start, end in zip(self.start[job], self.end[job], strict=True)
            )
            lines.append(
                f"{job:>5}" + "".join(f"  {cell:>{max(width, 9)}}" for cell in cells)
            )
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(str(self))}</pre>"


@dataclass(frozen=True, slots=True)
class Order:
    """A permutation as a table, for problems that have no schedules.

    Parameters
    ----------
    permutation
        Jobs by position.
    """

    permutation: tuple[int, ...]

    def write_csv(self, path: str | Path) -> None:
        """Write (position, job) to a CSV file, one a line, under a header line."""
        _write_csv(path, COLUMNS[:2], enumerate(self.permutation))

    def __str__(self) -> str:
        """Table for people: a line a job."""
        rows = enumerate(self.permutation)
        return "\n".join(
            ["position    job", *(f"{place:>8}{job:>7}" for place, job in rows)]
        )


def table_of(problem: Problem[Any], permutation: tuple[int, ...]) -> Schedule | Order:
    """Return the schedule of a permutation, or its order if there are no schedules."""
    if isinstance(problem, Scheduled):
        return problem.schedule(permutation)
    return Order(permutation)


def _write_csv(path: str | Path, columns: Iterable[str], rows: Iterable[Any]) -> None:
    with Path(path).open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(rows)
