"""What a flow shop may have besides times and dates: set-ups, lags, buffers, ovens.

A *stage* is what one job at a time passes: a machine, or a place of a buffer, which is
a machine of time 0. Machines of unlimited capacity are none: between two stages their
time is a lag, before the first one a release date, behind the last one a delivery time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from os import PathLike, fsdecode
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpbb.errors import refuse, shown
from dpbb.flowshop.formats import read_instance, read_setups
from dpbb.flowshop.instance import FlowShopInstance
from dpbb.flowshop.times import whole_number, whole_numbers
from dpbb.options.permutations import jobs_in
from dpbb.text.labels import unless_counted

Times = NDArray[np.int64]

MOST_STAGES = 100
"""Machines and places of buffers together."""


class Feature(NamedTuple):
    """A feature: what it is, and what it does not go with."""

    words: str
    alone: tuple[str, ...] = ()


FEATURES = {
    "blocking": Feature("no buffers", ("buffers", "setups", "lags", "unlimited")),
    "buffers": Feature("limited buffers", ("setups", "lags", "unlimited")),
    "setups": Feature("set-ups between jobs", ("lags", "unlimited")),
    "lags": Feature("least times between machines"),
    "unlimited": Feature("machines that take any number of jobs"),
}
"""By the name that people say; each pair that does not go is told once."""


class Stages(NamedTuple):
    """What a search sees of a shop.

    Parameters
    ----------
    times, lags : ndarray of int64, shape (n_jobs, n_stages)
        Times of the stages, and least times between the end on one and the start on
        the next; behind the last one 0.
    before, behind : ndarray of int64, shape (n_jobs,)
        Time before the first stage and behind the last one.
    """

    times: Times
    lags: Times
    before: Times
    behind: Times


@dataclass(frozen=True, eq=False)
class Features:
    """The features of an instance, checked: made of whatever ``FlowShop`` takes.

    Parameters
    ----------
    instance
        The shop.
    blocking
        Whether a job may have to stay on its machine.
    buffers
        Places behind each machine but the last; None: as many as are needed.
    setups : ndarray of int64, shape (n_jobs + 1, n_jobs, n_machines), or None
        From a job, or from none, to the next one. From a job to itself 0.
    anticipatory
        Whether a machine is set up before the job is there.
    lags : ndarray of int64, shape (n_jobs, n_machines - 1), or None
        Least times between the end on a machine and the start on the next.
    unlimited
        Machines that take any number of jobs at a time, ascending.

    Raises
    ------
    InstanceError
        One is none, or two do not go with each other; it names what is nearest.
    """

    instance: FlowShopInstance
    blocking: bool
    buffers: Any
    setups: Any
    anticipatory: bool
    lags: Any
    unlimited: Any

    def __post_init__(self) -> None:
        shop, buffers = self.instance, self.buffers
        asked = {"blocking"} if self.blocking else set()  # "0,0" makes it so, too
        if self.setups is None and not self.anticipatory:
            refuse(f"{shop.name}, not anticipatory", "a table of setups", "none")
        if buffers is not None:
            buffers = _buffers(buffers, shop)
        elif self.blocking:
            buffers = (0,) * (shop.n_machines - 1)
        for name, value in {
            "buffers": buffers,
            "blocking": buffers is not None,
            "setups": None if self.setups is None else _setups(self.setups, shop),
            "lags": None if self.lags is None else _lags(self.lags, shop),
            "unlimited": _machines(self.unlimited, shop),
        }.items():
            object.__setattr__(self, name, value)
        given = asked | self.said().keys()
        for one in FEATURES:
            for other in FEATURES[one].alone:
                if one in given and other in given:
                    expected = f"{one} without {other} (either alone is there)"
                    refuse(shop.name, expected, "both")

    def said(self) -> dict[str, Any]:
        """Return what makes them again, as JSON; nothing of what there is none of."""
        found: dict[str, Any] = {}
        if self.buffers is not None:
            found = {"buffers": [*self.buffers]} if any(self.buffers) else {}
            found = found or {"blocking": True}
        if self.setups is not None:
            found["setups"] = self.setups.tolist()
            found |= {} if self.anticipatory else {"anticipatory": False}
        if self.lags is not None:
            found["lags"] = self.lags.tolist()
        return found | ({"unlimited": [*self.unlimited]} if self.unlimited else {})

    @property
    def words(self) -> str:
        """What there is, for people; empty if nothing is."""
        found = {name: FEATURES[name].words for name in FEATURES if name in self.said()}
        if "buffers" in found:
            found["buffers"] += f" {','.join(map(str, self.buffers or ()))}"
        if not self.anticipatory:
            found["setups"] += ", not anticipatory"
        if self.unlimited:
            machines = map(self.instance.names.machine, self.unlimited)
            found["unlimited"] += f": {', '.join(machines)}"
        return "; ".join(found.values())

    @property
    def of_jobs(self) -> list[Times]:
        """Tables with a row for each job besides the times."""
        return [] if self.lags is None else [self.lags]

    def same_set_ups(self, kinds: NDArray[np.intp]) -> NDArray[np.intp]:
        """Return kinds of jobs of which any two may also be exchanged in set-ups.

        ``kinds``: shape (n_jobs,), equal where everything else is.
        """
        if self.setups is None:
            return kinds
        found = np.empty_like(kinds)
        known: list[int] = []
        for job in range(len(kinds)):
            for kind, other in enumerate(known):
                order = np.arange(len(kinds) + 1)
                order[[job, other]] = other, job
                if kinds[job] == kinds[other] and np.array_equal(
                    self.setups[order][:, order[:-1]], self.setups
                ):
                    found[job] = kind
                    break
            else:
                found[job] = len(known)
                known.append(job)
        return found

    def stages(self) -> Stages:
        """Return what a search sees."""
        times = self.instance.times
        n_jobs, n_machines = times.shape
        none = np.zeros((n_jobs, 1), np.int64)
        if self.buffers is not None:
            columns = []
            for k, places in enumerate((*self.buffers, 0)):
                columns += [times[:, k : k + 1]] + [none] * places
            wide = np.concatenate(columns, axis=1)
            return Stages(wide, np.zeros_like(wide), none[:, 0], none[:, 0])
        between = none[:, :0] if self.lags is None else self.lags
        between = np.pad(between, ((0, 0), (0, n_machines - between.shape[1])))
        kept: list[Times] = []
        lags: list[Times] = []
        before = behind = none[:, 0]
        for k in range(n_machines):
            if k in self.unlimited:
                behind = behind + times[:, k] + between[:, k]
            else:
                if kept:
                    lags.append(behind)
                else:
                    before = behind
                kept.append(times[:, k])
                behind = between[:, k]
        lags.append(none[:, 0])
        columns = [np.stack(some, axis=1) for some in (kept, lags)]
        return Stages(columns[0], columns[1], before, behind)

    def passed(self, release: Times, permutations: NDArray[np.intp]) -> Times:
        """Return when jobs start, end and leave machines, each as early as may be.

        Parameters
        ----------
        release : ndarray of int64, shape (n_jobs,)
        permutations : ndarray of intp, shape (r, n_jobs)

        Returns
        -------
        ndarray of int64, shape (3, r, n_jobs, n_machines)
            By the numbers of jobs.
        """
        n_jobs, n_machines = self.instance.times.shape
        count = len(permutations)
        found = np.zeros((3, count, n_jobs, n_machines), np.int64)
        free = np.zeros((n_machines, count), np.int64)
        held = [np.zeros((b, count), np.int64) for b in self.buffers or ()]
        rows, last = np.arange(count), np.full(count, n_jobs)
        for jobs in permutations.T:
            at = release[jobs]
            if self.blocking:
                at = np.maximum(at, free[0])
            for k in range(n_machines):
                if self.setups is not None:
                    gap = self.setups[last, jobs, k]
                    if self.anticipatory:
                        at = np.maximum(at, free[k] + gap)
                    else:
                        at = np.maximum(at, free[k]) + gap
                elif not self.blocking and k not in self.unlimited:
                    at = np.maximum(at, free[k])
                start = at
                end = at = start + self.instance.times[jobs, k]
                ahead = [*held[k], free[k + 1]] if k < len(held) else []
                if ahead:
                    at = np.maximum(at, ahead[0])
                free[k] = at
                found[:, rows, jobs, k] = start, end, at
                for place, following in pairwise(ahead):
                    place[:] = at = np.maximum(at, following)
                if self.lags is not None and k + 1 < n_machines:
                    at = at + self.lags[jobs, k]
            last = jobs
        return found


def _buffers(given: Any, shop: FlowShopInstance) -> tuple[int, ...]:
    """Return the places behind each machine but the last, as many as may be used."""
    n_jobs, n_machines = shop.times.shape
    where = f"{shop.name}, buffers"
    if isinstance(given, str):
        words = map(str, jobs_in(given))
        given = [int(one) if one.isdecimal() else one for one in words]
        given = [n_jobs - 1 if one == "-" else one for one in given]
    expected = f"{n_machines - 1} numbers of places, one between each two machines"
    if not isinstance(given, Sequence | np.ndarray):
        refuse(where, expected, shown(given))
    if len(given) != n_machines - 1:
        refuse(where, expected, f"{len(given)}")
    places = [
        whole_number(one, f"{where}, behind machine {shop.names.machine(k)}")
        for k, one in enumerate(given)
    ]
    places = [min(one, n_jobs - 1) for one in places]  # more are never used
    if (most := n_machines + sum(places)) > MOST_STAGES:
        expected = f"machines and places of buffers together up to {MOST_STAGES}"
        refuse(where, expected, f"{most}; leave out blocking where they are enough")
    return tuple(places)


def setups_of(tables: Sequence[FlowShopInstance], shop: FlowShopInstance) -> Times:
    """Return the set-ups of one table, or of one for each machine.

    Tables that are named after machines may come in any order.

    InstanceError: they are of other jobs, or of another number of machines.
    """
    n_machines, where = shop.n_machines, f"{shop.name}, setups"
    if len(tables) not in (1, n_machines):
        expected = f"a table for all machines or {n_machines} tables, one for each"
        refuse(where, expected, f"{len(tables)}")
    if len({table.times.shape for table in tables}) > 1:
        sizes = " and ".join(sorted({str(one.times.shape) for one in tables}))
        refuse(where, "tables of one size", sizes)
    several = []
    for at in _machine_order([one.name.rstrip("'") for one in tables], shop):
        one = tables[at]
        rows = _by_jobs(one.times, one.names.jobs, shop, one.name)
        several.append(_by_jobs(rows.T, one.names.machines, shop, one.name).T)
    return several[0] if len(several) == 1 else np.stack(several, axis=2)


def lags_of(table: FlowShopInstance, shop: FlowShopInstance) -> Times:
    """Return the lags of a table; InstanceError: they are of other jobs.

    Columns that are named after machines may come in any order.
    """
    rows, titles = table.times, table.names.machines
    if titles:
        rows = rows[:, _machine_order(titles, shop)]
    return _by_jobs(rows, table.names.jobs, shop, table.name)


def _lags(given: Any, shop: FlowShopInstance) -> Times:
    if isinstance(given, str | PathLike):
        given = lags_of(read_instance(given), shop)
    shape = shop.n_jobs, shop.n_machines - 1
    return whole_numbers(
        given, f"{shop.name}, lags", f"a table of shape {shape}", shape
    )


def _setups(given: Any, shop: FlowShopInstance) -> Times:
    """Return set-ups of every machine, those of the first job in the last row."""
    n_jobs, n_machines = shop.times.shape
    if isinstance(given, str | PathLike):
        given = setups_of(read_setups(fsdecode(given)), shop)
    rows = n_jobs, n_jobs + 1
    shapes = [(one, n_jobs, *more) for more in ((), (n_machines,)) for one in rows]
    expected = f"a table of shape {' or '.join(map(str, shapes))}"
    found = whole_numbers(given, f"{shop.name}, setups", expected, *shapes)
    setups = np.zeros((n_jobs + 1, n_jobs, n_machines), np.int64)
    setups[: len(found)] = found if found.ndim == 3 else found[..., None]
    setups[np.arange(n_jobs), np.arange(n_jobs)] = 0
    return setups


def _by_jobs(
    rows: Times, names: tuple[str, ...], shop: FlowShopInstance, where: str
) -> Times:
    """Return the rows as the jobs follow in the shop, then those of no job.

    Without names they follow so. InstanceError: a job is missing.
    """
    jobs = shop.names.jobs
    if names and not jobs:  # a shop drops names that only count
        ways = (tuple(map(str, range(at, at + shop.n_jobs))) for at in (0, 1))
        jobs = next((one for one in ways if {*one} <= {*names}), ())
    if not names or not jobs:
        if jobs and not unless_counted(sorted(jobs, key=lambda it: f"{it:>20}")):
            got = "no names, or 1, 2, 3, ...; sort the lines of the shop"
            refuse(where, f"jobs as they follow in {shop.name}: {jobs[0]}, ...", got)
        return rows
    if missing := [job for job in jobs if job not in names]:
        refuse(where, f"the jobs of {shop.name}", f"none called {missing[0]}")
    others = [at for at, name in enumerate(names) if name not in jobs]
    return rows[[*map(names.index, jobs), *others]]


def _machine_order(titles: Sequence[str], shop: FlowShopInstance) -> list[int]:
    """Return the titles' numbers as the machines that they end with follow in the shop.

    As they are, unless each is named after a machine of its own.
    """
    names = shop.names.machines
    ends = [[name for name in names if title.endswith(name)] for title in titles]
    found = [names.index(max(some, key=len)) for some in ends if some]
    if len({*found}) < len(titles):
        return [*range(len(titles))]
    return sorted(range(len(titles)), key=found.__getitem__)


def _machines(given: Any, shop: FlowShopInstance) -> tuple[int, ...]:
    """Return the numbers of machines that are named, ascending."""
    number_of = {str(k): k for k in range(shop.n_machines)}
    number_of |= {name: k for k, name in enumerate(shop.names.machines)}
    where, found = f"{shop.name}, unlimited", set()
    given = jobs_in(given) if isinstance(given, str) else given
    if not isinstance(given, Sequence | np.ndarray):
        refuse(where, "a list of machines", shown(given))
    for one in given:
        if str(one) not in number_of:
            known = ", ".join(shop.names.machines) or f"0 to {shop.n_machines - 1}"
            refuse(where, f"machines of {known}", shown(one))
        found.add(number_of[str(one)])
    if len(found) == shop.n_machines:
        refuse(where, "a machine of one job at a time (no order matters else)", "all")
    return tuple(sorted(found))
