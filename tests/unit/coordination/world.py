"""A cluster in miniature: seats that explore by the reference engine, and their mail.

Nothing happens by itself: tests say which seat explores how many nodes, which report
is delivered, lost, or delivered again. All messages go through their wire form.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field

import numpy as np

from dpbb.coordination.coordinator import Coordinator
from dpbb.coordination.format import MAGIC, SCHEMA
from dpbb.coordination.journal import Journal
from dpbb.coordination.ledger import check_report
from dpbb.coordination.messages import (
    FullReport,
    Lease,
    Order,
    OrderKind,
    Report,
    RunId,
    RunSpec,
    Seat,
    SeatId,
)
from dpbb.coordination.span_map import cells_of
from dpbb.coordination.wire import decode, decode_report, encode
from dpbb.engines.base import Device
from dpbb.engines.reference import ReferenceEngine
from dpbb.errors import InvariantError, StaleLeaseError
from dpbb.options import TreeOptions
from dpbb.proof import checker
from dpbb.tree.counters import Counters
from dpbb.tree.work_unit import WorkUnit
from tests.intervals import intervals_of, less_exported
from tests.oracle import TinyFlowShop, best_orders
from tests.specs import run_spec

ENGINE = ReferenceEngine()
TIMES = ((3, 9, 4), (7, 2, 8), (5, 5, 1), (1, 8, 6), (9, 3, 3), (4, 6, 7))


@dataclass(frozen=True)
class WeakFlowShop(TinyFlowShop):
    """A flow shop whose bounds are too low by ``slack``, so that its tree is large."""

    slack: int = 0

    def child_bound(self, state, job, *, back):
        return max(0, super().child_bound(state, job, back=back) - self.slack)


def tiny(n_jobs=6, slack=4):
    """Return a flow shop of up to 6 jobs."""
    return WeakFlowShop(TIMES[:n_jobs], slack)


def spec_of(problem, tree=None, **changes):
    """Return a run's specification with short intervals."""
    return run_spec(
        RunId("run"), problem, tree or TreeOptions(), instance="tiny", **changes
    )


def seat_of(name):
    """Return a seat, of a kind that goes by its name."""
    kind = "cuda" if name.endswith("3") else "cpu"  # some are much faster
    return Seat(SeatId(name), f"worker-{name}", Device(kind, name), "reference")


def deliver(coordinator, message, now):
    """Do what the shell does with a report's message; return the order."""
    report = decode_report(message)
    basis = coordinator.basis(report.lease, report.seq)
    checked = None
    if basis is not None and report.has_roots:
        try:
            checked = check_report(basis, report)
        except InvariantError as error:
            coordinator.fail(error, now)
            raise
    broken = coordinator.broken
    order = decode(Order, encode(coordinator.on_report(report, checked, now)))
    if coordinator.broken and not broken:
        raise InvariantError(coordinator.error)
    return order


@dataclass
class Task:
    """One attempt at a unit on a seat: an honest worker."""

    spec: RunSpec
    assignment: object
    lease: object = None
    session: object = None
    counters: object = None
    ub: int = 0
    slice: object = None
    seq: int = 0
    unanswered: object = None  # message of the report in flight
    order: object = None
    best: object = None
    optima: list = field(default_factory=list)
    over: bool = False

    def start(self, lease):
        self.lease, self.ub = lease, lease.ub
        self.open(lease.roots)
        self.explore(1)

    def open(self, roots):
        spec = self.spec
        self.session = ENGINE.open(
            spec.problem, spec.tree, None, ub=self.ub,
            all_optima=spec.options.all_optima,
        )  # fmt: skip
        self.session.load(roots)
        self.counters = Counters.zero(spec.problem.n_jobs)

    def explore(self, n_nodes):
        """Advance by so many slices of one node each."""
        for _ in range(n_nodes):
            if self.slice is not None and self.slice.exhausted:
                return
            part = self.slice = self.session.advance(self.ub, 0.0)
            self.counters = self.counters.plus(
                part.decomposed, part.leaves, part.closed
            )
            if part.best is not None:
                self.best = part.best
                self.ub = min(self.ub, part.best.value + self.spec.options.all_optima)
            self.optima += part.optima

    def message(self, *, full=False, donate=False, last=False):
        """Return the message of the next report; what is ordered overrides."""
        kind = None if self.order is None else self.order.kind
        donate = donate or kind is OrderKind.DONATE
        exhausted = self.slice.exhausted
        last = last or exhausted or kind in (OrderKind.STOP, OrderKind.DRAIN)
        part = given = None
        if full or last or kind is OrderKind.SAVE:
            optima, self.optima = tuple(self.optima), []
            part = FullReport(
                self.counters.closed.copy(), self.session.remaining(), last, optima
            )
        elif donate:
            given = self.donate()
        self.seq += 1
        report = Report(
            self.lease.id, self.seq, self.counters.decomposed, self.counters.leaves,
            self.slice.open_roots, self.slice.least_lb, self.best, 0.25 * self.seq,
            part, given,
        )  # fmt: skip
        self.best = None
        self.unanswered = encode(report)
        return self.unanswered

    def donate(self):
        """Give roots away as the engine does, or every second one from the first on.

        The engine keeps the first root, of which the ancestors are its own (the z
        rule of law 4); others may give that one.
        """
        if self.seq % 2:
            return self.session.donate(4096)
        kept, given = self.session.remaining().donate(4096)
        if len(given):
            kept, given = given, kept
            counters = self.counters
            self.open(kept)
            # loading counts them, but they were counted when first loaded
            self.counters = less_exported(counters, kept)
        return given

    def answered(self, order):
        self.unanswered, self.order = None, order
        self.ub = min(self.ub, order.ub)
        self.over = order.kind is OrderKind.DROP


class World:
    """A coordinator and the tasks of its seats."""

    def __init__(self, spec, seats=(), *, now=100.0, saved=None):
        self.spec = spec
        self.now = now
        self.coordinator = Coordinator(spec, now=self.now, saved=saved)
        self.tasks = {}
        self.mail = []  # every message ever sent
        for name in seats:
            self.coordinator.add_seat(seat_of(name), self.now)

    def assign(self):
        """Give units to all idle seats for which there are any."""
        for seat in self.coordinator.idle_seats():
            assignment = self.coordinator.assign(seat, self.now)
            if assignment is not None:
                self.tasks[seat] = Task(self.spec, assignment)

    def start(self, seat):
        """Let the task on a seat lease its unit; it ends if it may not."""
        task = self.tasks[seat]
        try:
            lease = self.coordinator.lease(task.assignment, self.now)
        except StaleLeaseError:
            del self.tasks[seat]
            return
        task.start(decode(Lease, encode(lease)))

    def report(self, seat, **how):
        """Send the next report of a seat and deliver it; return the order."""
        task = self.tasks[seat]
        message = task.unanswered or task.message(**how)
        self.mail.append(message)
        task.answered(self.deliver(message))
        if task.over:
            self.ended(seat, self.tasks.pop(seat))
        return task.order

    def deliver(self, message):
        """Deliver a report; return the order."""
        return deliver(self.coordinator, message, self.now)

    def ended(self, seat, task):
        """Note that a task is over."""
        at = task.assignment
        self.coordinator.unassign(at, self.now)
        return at

    def round(self, n_nodes=1, seconds=0.01):
        """Let every seat do something."""
        self.now += seconds
        self.assign()
        for seat in list(self.tasks):
            if self.tasks[seat].lease is None:
                self.start(seat)
        for seat in list(self.tasks):
            self.tasks[seat].explore(n_nodes)
            self.report(seat)
        self.coordinator.nudges()
        self.coordinator.tick(self.now)

    def run(self, n_nodes=1, rounds=20_000):
        """Go round until the run is over; return its outcome."""
        for _ in range(rounds):
            if self.coordinator.finished:
                return self.coordinator.outcome()
            self.round(n_nodes)
        raise AssertionError(f"not over after {rounds} rounds")


def check_books(coordinator):
    """Raise AssertionError unless all that is kept twice agrees (law 5)."""
    book, balance = coordinator.book, coordinator.book.balance
    n_jobs = coordinator.spec.problem.n_jobs
    units = list(book.units.values())
    open_roots = WorkUnit.concatenate(
        [WorkUnit.empty(n_jobs), *(unit.roots for unit in units)]
    )
    open_roots.check()
    total = sum(i.size for i in intervals_of(WorkUnit.whole(n_jobs)))
    open_leaves = sum(interval.size for interval in intervals_of(open_roots))
    assert book.counters.closed_leaves + open_leaves == total
    assert (book.closed_leaves, book.open_leaves) == (
        book.counters.closed_leaves,
        open_leaves,
    )
    assert book.counters.decomposed >= 0
    for unit in units:
        assert unit.leaves == unit.roots.leaves > 0
        here = (
            unit.id in book.waiting,
            unit.id in book.assigned,
            unit.lease is not None and book.leases[unit.lease.id] is unit.lease,
        )
        assert sum(here) == 1
        assert (unit.seat is None) == here[0]
        assert unit.seat is None or unit.seat.unit is unit
        if unit.lease is not None:
            basis = unit.lease.basis
            assert basis.roots.subtract(basis.gifts) == unit.roots
        # a gift stays on the map until the next full report: it is for the eye
        assert not np.any(cells_of(unit.roots) & ~unit.cells)
    assert len(book.waiting) + len(book.assigned) + len(book.leases) == len(units)
    leases = list(book.leases.values())
    if coordinator.termination is None:  # at a stop some report no list of what remains
        ahead = sum(lease.decomposed_since_full for lease in leases)
        assert book.ahead_decomposed == ahead
        assert book.ahead_leaves == sum(lease.leaves_since_full for lease in leases)
    if not coordinator.finished:
        assert balance.idle == {k: seat for k, seat in book.seats.items() if seat.idle}
    known = set(book.leases)
    assert set(balance._asked) | balance._nearly_dry <= known
    assert set(balance._donors._entries) <= known


def check_journal(saved):
    """Raise AssertionError unless a checkpoint's journal tells all of its ledger.

    What units own is closed by their leases, or open; units and ledger have the same
    counts.
    """
    journal, n_jobs = saved.journal, saved.spec.problem.n_jobs
    zero = Counters.zero(n_jobs)
    assert sum((unit.counts for unit in journal.units), zero) == saved.counters
    paths = json.loads(
        json.dumps([(unit.roots, 0, 0, [], (0, 0)) for unit in journal.units])
    )
    owned = checker.parts_of(paths, n_jobs)
    left = [
        part.open - unit.counts.closed_leaves
        for part, unit in zip(owned, journal.units, strict=True)
    ]
    for unit in saved.units:
        left[journal.listed[unit.id]] -= unit.open_roots.leaves
    assert not any(left)
    again = Journal.from_json(n_jobs, json.loads(json.dumps(journal.to_json())))
    assert again.to_json() == journal.to_json()


def check_certified(coordinator):
    """Raise AssertionError unless the journal of a run that is over proves it."""
    outcome = coordinator.outcome()
    assert outcome.exhausted
    check_journal(coordinator.checkpoint(0.0))
    pairs = enumerate(outcome.counters.closed.tolist())
    books = {
        "tree": {
            "n_jobs": coordinator.spec.problem.n_jobs,
            "trivial_ub": coordinator.spec.problem.trivial_ub,
        },
        "result": {
            "ub": outcome.lower_bound,
            "all_optima": coordinator.spec.options.all_optima,
        },
        "totals": {
            "decomposed": outcome.counters.decomposed,
            "leaves": outcome.counters.leaves,
            "closed": [[depth, count] for depth, count in pairs if count],
        },
        **json.loads(json.dumps(outcome.journal.books())),
    }
    checker.check_books(books)


def optimum(problem):
    """Return the least cost."""
    return best_orders(problem.times)[0]


def parts_of(content):
    """Split a checkpoint into its header and its sections."""
    line, _, rest = content.partition(b"\n")
    length = int(line.split()[3])
    return json.loads(rest[:length]), rest[length:]


def as_file(header, sections=b""):
    """Return a file whose checksum is that of its header."""
    body = header if isinstance(header, bytes) else json.dumps(header).encode()
    digest = hashlib.sha256(body).hexdigest()
    return (
        b"%s %d %s %d\n" % (MAGIC, SCHEMA, digest.encode(), len(body)) + body + sections
    )
