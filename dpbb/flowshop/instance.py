"""The flow-shop instance: processing times, checked once, then trusted everywhere."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpbb.errors import refuse, shown
from dpbb.flowshop.best_known import best_known_of_canonical, best_known_of_digest
from dpbb.flowshop.headings import DATES
from dpbb.flowshop.tables import table_of
from dpbb.flowshop.times import Orientation, as_times, check_orientation, whole_numbers
from dpbb.problem import BestKnown
from dpbb.text import markup
from dpbb.text.labels import NO_NAMES, Names, checked_names
from dpbb.text.names import clean


def check_columns(
    instance: FlowShopInstance,
    objective: str,
    needed: Collection[str] = (),
    also: Collection[str] = (),
) -> None:
    """Check that an instance has the dates and weights of an objective, and no other.

    InstanceError: one is missing, or not used.
    """
    for name in needed:
        if name not in instance.dates:
            given = "weights" if name == "weight" else name
            got = f"none; in Python FlowShop(..., {given}=...) takes it, too"
            refuse(instance.name, f"a column {name} for {objective}", got)
    for name in instance.dates:
        if name not in (*needed, *also):
            expected = f"no column {name}, which {objective} does not use"
            hint = "; say another --objective, in Python FlowShop(..., objective=...)"
            hint += " or read_problem(..., objective=...), or leave the column out by "
            hint += "its heading: --skip-columns"
            refuse(instance.name, expected, f"{name}{hint}")


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class FlowShopInstance:
    """A permutation flow shop: every job visits the machines 0, 1, ... in order.

    Parameters
    ----------
    name
        For people and file names; nothing depends on it.
    times : ndarray of int64, shape (n_jobs, n_machines)
        Processing times, any time unit; read-only and in C order. Whatever
        ``as_times`` takes is converted.
    names
        What people call jobs and machines, as the file or data frame said.
    dates
        Release dates, due dates and weights of the jobs: those of ``DATES`` that there
        are, each n_jobs whole numbers >= 0; read-only arrays of int64.
    skipped
        What the file has besides, for people.
    taken
        Columns and sheets that are no times of machines, and as what, for people.

    Attributes
    ----------
    digest
        Hexadecimal SHA-256 of the shape, the times and the dates; the identity of an
        instance.

    Raises
    ------
    InstanceError
        The times are no table of non-negative integers, or too large; or there is
        another number of names, or one twice, or a date is missing or none.

    Notes
    -----
    Two instances are equal when their digests are, whatever they are called.
    """

    name: str
    times: NDArray[np.int64]
    names: Names = NO_NAMES
    dates: Mapping[str, NDArray[np.int64]] = field(default_factory=dict)
    skipped: tuple[str, ...] = ()
    taken: tuple[str, ...] = ()
    digest: str = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", clean(self.name))  # texts come from anywhere
        times = as_times(self.times, self.name)
        object.__setattr__(self, "times", times)
        checked_names(self.names, self.n_jobs, self.n_machines, self.name)
        dates = {
            name: self._dates(name)
            for name in DATES
            if self.dates.get(name) is not None
        }
        if strange := sorted(self.dates.keys() - set(DATES)):
            refuse("dates", f"some of {', '.join(DATES)}", shown(strange[0]))
        object.__setattr__(self, "dates", dates)
        if self.names.clock is not None:  # the last date is one
            days = [dates[one].max() for one in ("release", "due") if one in dates]
            self.names.clock.at(int(times.sum() + sum(days)))
        object.__setattr__(self, "digest", _digest_of(times, dates))

    def _dates(self, name: str) -> NDArray[np.int64]:
        found = whole_numbers(
            self.dates[name],
            f"{self.name}, {name}",
            f"a number for each of {self.n_jobs} jobs",
            (self.n_jobs,),
            place=lambda job: f" of job {self.names.job(job)}",
        )
        found.setflags(write=False)
        return found

    @classmethod
    def from_array(
        cls,
        data: Any,  # arrays, nested lists, data frames
        *,
        name: str = "instance",
        orientation: Orientation | None = None,
    ) -> FlowShopInstance:
        """Make an instance from a table of processing times.

        Parameters
        ----------
        data
            Two-dimensional array, nested list or DataFrame of non-negative
            integers; floats are taken where they are whole numbers. A data frame's
            column ``job`` (or its index) and its other columns name jobs and machines.
        orientation
            ``"jobs_rows"`` (the default, unless a heading says machines):
            ``data[job][machine]``; ``"machines_rows"``: ``data[machine][job]``, as
            Taillard's files have it.

        Raises
        ------
        InstanceError
            Says what was expected, what came and at which row and column.
        """
        check_orientation(orientation)
        table = table_of(data, orientation)
        return cls(name, *table.arranged(name, orientation))

    @property
    def n_jobs(self) -> int:
        """Number of jobs, at least 1."""
        return int(self.times.shape[0])

    @property
    def n_machines(self) -> int:
        """Number of machines, at least 1."""
        return int(self.times.shape[1])

    def facts(self) -> dict[str, list[Any]]:
        """Return what was read: names, totals of machines, dates, what was skipped."""
        clock = self.names.clock
        found: dict[str, list[Any]] = {
            "jobs": [*self.names.jobs],
            "machines": [*self.names.machines],
            "machine_totals": self.times.sum(axis=0).tolist(),
            "origin": [] if clock is None else [clock.text(0)],
            "unit": [] if clock is None else [clock.unit],
            "taken": [*self.taken],
            "skipped": [*self.skipped],
        }
        return {name: values for name, values in found.items() if values}

    @property
    def canonical(self) -> str:
        """Digest that the order of the jobs, and reversed machines, do not change.

        The optimum does not depend on them: it is the same shop.
        """
        tables = self.times, self.times[:, ::-1]
        return min(_digest_of(one[np.lexsort(one.T[::-1])], {}) for one in tables)

    @property
    def best_known(self) -> BestKnown | None:
        """Published bounds on the optimum of a benchmark instance, found by digest.

        Also where its jobs have other numbers, or its machines are in reverse.
        """
        if self.dates:
            return None
        known = best_known_of_digest(self.digest)
        return best_known_of_canonical(self.canonical) if known is None else known

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, FlowShopInstance):
            return NotImplemented
        return self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)

    def __repr__(self) -> str:
        return (
            f"FlowShopInstance({self.name!r}, {self.n_jobs} jobs x "
            f"{self.n_machines} machines, digest {self.digest[:12]})"
        )

    def _repr_html_(self) -> str:
        facts = {
            "jobs": f"{self.n_jobs:,}",
            "machines": f"{self.n_machines:,}",
            "processing times": f"{self.times.min():,} to {self.times.max():,}",
            "best known makespan": self.best_known or "unknown",
            "digest": self.digest[:12],
        }
        return markup.card(self.name, "flow shop", [markup.table(facts.items())])

    def __reduce__(self) -> tuple[Callable[..., FlowShopInstance], tuple[Any, ...]]:
        # Times travel in the narrowest type that holds them: an eighth of the bytes.
        # (Default pickling would also lose the read-only flag of the array.)
        narrow = self.times.astype(np.min_scalar_type(int(self.times.max())))
        return FlowShopInstance, (self.name, narrow, self.names, dict(self.dates))


def _digest_of(times: NDArray[np.int64], dates: Mapping[str, NDArray[np.int64]]) -> str:
    """SHA-256 of the shape, the times and the dates."""
    content = hashlib.sha256(b"dpbb flow shop 1\n")
    content.update(np.array(times.shape, dtype="<i8").tobytes())
    content.update(times.astype("<i8").tobytes())
    for name, values in dates.items():
        content.update(name.encode() + values.astype("<i8").tobytes())
    return content.hexdigest()
