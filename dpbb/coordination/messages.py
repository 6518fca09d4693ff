"""What travels between a seat and the coordinator of a run.

Plain frozen values; ``dpbb.coordination.wire`` turns them into flat dicts of short
strings, ints below 2**63, byte strings and arrays, which is all that a message may
hold: a leaf index passes 64 bits at 21 jobs and never travels.
"""

from dataclasses import dataclass, field, fields
from enum import StrEnum
from typing import Any, NewType

import numpy as np
from numpy.typing import NDArray

from dpbb.coordination.from_below import Below
from dpbb.engines.base import Candidate, Device
from dpbb.options import RunOptions, TreeOptions, Tuning
from dpbb.problem import Problem
from dpbb.result import Improvement
from dpbb.result.result import Cost
from dpbb.tree.work_unit import WorkUnit

RunId = NewType("RunId", str)
SeatId = NewType("SeatId", str)
LeaseId = NewType("LeaseId", str)
UnitId = NewType("UnitId", int)


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What is known before a tree.

    Parameters
    ----------
    root_bound
        No permutation costs less: the best bound that is known before the tree.
    makespan, permutation
        The best schedule known; None without one.
    trajectory
        How it was found, in seconds since the start of the call.
    below
        With the strategy from below: the tree to explore next; None: the one tree.
    """

    root_bound: int = 0
    makespan: int | None = None
    permutation: tuple[int, ...] | None = None
    trajectory: tuple[Improvement, ...] = ()
    below: Below | None = None

    def known(self) -> dict[str, Any]:
        """Return these values by name."""
        return {one.name: getattr(self, one.name) for one in fields(Known)}


@dataclass(frozen=True, slots=True)
class Request:
    """What a run keeps of the call that opened it.

    Whoever makes a result of the run, or goes on from it, wants to know it again.

    Parameters
    ----------
    options
        The options of the call, as JSON has them.
    seconds
        From its start to the opening of the run.
    waited_s
        Of these those that the trees before it have explored since a schedule was found
        or the call went on from a checkpoint.
    """

    options: dict[str, Any] = field(default_factory=dict)
    seconds: float = 0.0
    known: Known = field(default_factory=Known)
    waited_s: float = 0.0


@dataclass(frozen=True, slots=True)
class RunSpec:
    """All that a run is, fixed at its start.

    Parameters
    ----------
    run_id
        Unique name of the run on its cluster.
    problem, tree
        The problem, and the options that its tree depends on.
    instance
        Name of the instance, for people.
    options
        What the scheduler and the seats obey; the table says what each is.
    tuning
        What the engine obeys.
    engine
        ``"auto"``, ``"cpu"``, ``"gpu"`` or ``"reference"``.
    upper_bound
        The cutoff: prune LB >= upper_bound, with all optima too (so give one more
        there, if a schedule of that value is known). None: ``problem.trivial_ub``.
    root_bound
        An incumbent of this cost is optimal and ends the run; None: the tree is wanted
        whole.
    permutation
        The incumbent at the start; its value is evaluated again, and is the UB where
        it is not above the cutoff (all optima: prune LB > value). None when there is
        none: a cutoff, or a schedule that somebody knows without giving it.
    time_limit_s
        Seconds from the opening of the run to its deadline; None: there is none.
    certificate
        Keep a journal for a certificate.
    proved_bound
        No permutation costs less, as a tree at this cutoff has proved before; None:
        there was none.
    request
        The call that it is of.
    lease_timeout_s
        A seat that has not reported for so long has lost its lease.
    """

    run_id: RunId
    problem: Problem[Any]
    tree: TreeOptions
    instance: str = ""
    options: RunOptions = field(default_factory=RunOptions)
    tuning: Tuning = field(default_factory=Tuning)
    engine: str = "auto"
    upper_bound: int | None = None
    root_bound: Cost | None = None
    permutation: tuple[int, ...] | None = None
    time_limit_s: float | None = None
    certificate: bool = False
    proved_bound: Cost | None = None
    request: Request = field(default_factory=Request)
    lease_timeout_s: float = 60.0

    def __post_init__(self) -> None:
        if self.options.all_optima and self.tree.skips_copies:
            raise ValueError("expected all optima in a tree of rule version 1, got 2")


@dataclass(frozen=True, slots=True)
class Seat:
    """A device that explores one unit at a time.

    Parameters
    ----------
    id
        Unique on the cluster: the worker's address, and the device.
    worker
        Address of the worker.
    device, engine
        What explores, and with what.
    name
        What people call it: the worker's name, as Dask shows it, and the device.
    """

    id: SeatId
    worker: str
    device: Device
    engine: str
    name: str = ""

    @property
    def label(self) -> str:
        """What people are shown."""
        return self.name or self.id


@dataclass(frozen=True, slots=True)
class Assignment:
    """A unit for a seat; becomes one pinned future, which leases the unit."""

    unit: UnitId
    attempt: int
    seat: SeatId


@dataclass(frozen=True, slots=True)
class Lease:
    """The right to explore a unit, granted to one attempt on one seat."""

    id: LeaseId
    roots: WorkUnit
    ub: int


class OrderKind(StrEnum):
    """What a seat is told in the answer to a report."""

    CONTINUE = "continue"
    DONATE = "donate"  # give roots away at once, and go on with the others
    SAVE = "save"  # send a full report at once, go on
    DRAIN = "drain"  # send a last full report and give the rest back
    STOP = "stop"  # as drain: the run is stopping
    DROP = "drop"  # the lease is gone: explore no more, report no more


@dataclass(frozen=True, slots=True)
class Order:
    """Answer to a report: what to do, and the UB to prune with.

    ``ub`` is the upper bound: prune LB >= ub (with all optima, the
    incumbent's value + 1). ``report_s`` and ``full_s`` are the report intervals from
    now on; None: those of the run's ``RunSpec``.
    """

    kind: OrderKind
    ub: int
    max_roots: int = 4096
    report_s: float | None = None
    full_s: float | None = None


@dataclass(frozen=True, slots=True)
class FullReport:
    """The part of a report that moves the ledger.

    Parameters
    ----------
    closed : ndarray of int64, shape (n_jobs + 1,)
        Closed subtrees a depth, cumulative since the grant.
    remaining
        Open roots of the session, without those that it gave away; empty when the unit
        is finished.
    last
        The lease ends with this report: what remains is given back.
    optima
        With all optima: optimal permutations found since the last full report.
    """

    closed: NDArray[np.int64]
    remaining: WorkUnit
    last: bool
    optima: tuple[Candidate, ...] = ()


@dataclass(frozen=True, slots=True)
class Report:
    """A seat's report on its lease; counters are cumulative since the grant.

    Parameters
    ----------
    lease, seq
        The lease and the number of the report in it: 1, 2, ...
    decomposed, leaves
        Sums of ``Slice.decomposed`` (raw: nothing exported is subtracted) and
        ``Slice.leaves`` since the grant.
    open_roots, least_lb
        As of the last slice; roots that this report gives away are covered too.
    best
        A permutation better than any UB that this seat was told; else None.
    explore_s
        Seconds spent in the engine since the grant.
    energy_j
        Joules that the device used since the grant; None if it does not say.
    full
        None in a light report.
    gift
        Roots given away, without a list of the rest, which would take long where there
        are millions: the next full report is to leave them out. Empty when there was
        nothing to give; None in every other report.
    n_bytes
        Of its arrays on the wire; set where it arrives.
    age_s
        Seconds from the end of the exploration that it reports on to now: the seat
        says how long it took to list what remains, the scheduler adds what it took to
        check it.
    """

    lease: LeaseId
    seq: int
    decomposed: int
    leaves: int
    open_roots: int
    least_lb: int | None
    best: Candidate | None
    explore_s: float = 0.0
    energy_j: float | None = field(default=None, kw_only=True)
    full: FullReport | None = None
    gift: WorkUnit | None = None
    n_bytes: int = 0
    age_s: float = 0.0

    @property
    def has_roots(self) -> bool:
        """Whether it holds arrays, and has to be checked before it counts."""
        return self.full is not None or self.gift is not None
