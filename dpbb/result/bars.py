"""A schedule as its picture needs it: a bar for every operation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, eq=False)
class Bars:
    """Operations in any order, by their jobs and machines.

    Parameters
    ----------
    name
        Of the instance.
    order
        Jobs in the order of their colors.
    machine_names
        From the top.
    job, machine, start, end : ndarray of int64, shape (n_operations,)
        Times in the instance's unit.
    critical
        Places in these arrays of a chain of operations without slack; () for none.
    job_names
        By number; () where jobs have none.
    """

    name: str
    order: tuple[int, ...]
    machine_names: tuple[str, ...]
    job: NDArray[np.int64]
    machine: NDArray[np.int64]
    start: NDArray[np.int64]
    end: NDArray[np.int64]
    critical: tuple[int, ...] = ()
    job_names: tuple[str, ...] = ()

    @property
    def makespan(self) -> int:
        """End of the last operation."""
        return int(self.end.max())

    def job_name(self, job: int) -> str:
        """Return what a job is called."""
        return self.job_names[job] if self.job_names else str(job)


@runtime_checkable
class HasBars(Protocol):
    """A schedule of another kind than ``Schedule`` that can be drawn."""

    def bars(self) -> Bars:
        """Return its operations."""
