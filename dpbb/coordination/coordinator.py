"""The coordinator of one run: who explores what, what is known, when it is over.

A pure state machine: no clock (``now`` is in seconds of any monotonic clock), Dask,
I/O or thread in it. The shell calls it from one thread and acts on what it returns:
after every event it calls ``nudges``, and ``assign`` for each of ``idle_seats``. Only
``check_report`` is meant to run elsewhere.

One report is handled so::

    checked = None
    if report.has_roots:
        basis = coordinator.basis(report.lease, report.seq)
        if basis is not None:
            checked = check_report(basis, report)  # in a thread
    order = coordinator.on_report(report, checked, now)  # in every case

``on_report`` wants the stale and the repeated reports too: a permutation that comes
late is still a permutation. Whoever gets an ``InvariantError`` from the decoding or the
check of a report calls ``fail``; what the coordinator finds itself has ended the run.
"""

import math
import sys
from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any

import numpy as np

from dpbb.coordination.book import Book
from dpbb.coordination.checkpoint import Checkpoint, SavedUnit
from dpbb.coordination.events import EventLog
from dpbb.coordination.incumbent import Incumbent, evaluate_candidate
from dpbb.coordination.journal import Journal
from dpbb.coordination.ledger import Checked, LeaseBasis
from dpbb.coordination.messages import (
    Assignment,
    Lease,
    LeaseId,
    Order,
    OrderKind,
    Report,
    RunSpec,
    Seat,
    SeatId,
)
from dpbb.coordination.outcome import Outcome
from dpbb.coordination.pace import MAX_REPORTS, Pace, RateMeter
from dpbb.coordination.saves import SaveRequest
from dpbb.coordination.snapshot import WAITING_S, RunState, SeatSnapshot, Snapshot
from dpbb.coordination.span_map import spans_of
from dpbb.coordination.units import LeaseRecord
from dpbb.engines.base import Candidate
from dpbb.errors import InvariantError
from dpbb.problem import cost_of, jobs_of, objective_of, part_of, root_bound, whole_of
from dpbb.result import TREE, Termination, Totals
from dpbb.text.names import plural
from dpbb.tree.counters import Counters
from dpbb.tree.factoradic import n_leaves
from dpbb.tree.work_unit import WorkUnit

MANY_SEATS = 256
"""With more seats, snapshots may show them as they were a moment ago."""

SEATS_AGE_S = 2.0

UNHEARD_S = 1.0
"""A seat explores less than this before its first report."""

STOP_GRACE_S = 10.0
"""A seat that is silent for so long after a stop has lost its lease."""

STOP_ROOT_S = 2e-5
"""For each of its open roots it is given more: it has to list them."""

STOP_NEW_S = 1.0
"""A seat that has never reported, as its kernel is still compiled, has so long."""


LISTED_AT_STOP = 250_000
"""A seat with more open roots does not list them at a stop, if nobody can use the list.

That is so without a checkpoint: the run is over for good. Listing the 4 to 20 million
roots of a GPU took tens of seconds.
"""


class Coordinator:
    """One run; see the module for how to drive it.

    ``saved``: where the run goes on from, checked; None: from the root of the tree.

    OptionError: ``spec.permutation`` is not one of all the problem's jobs.

    Attributes
    ----------
    opened
        When it would have been opened had it never been interrupted.
    deadline
        When its time limit ends it, which counts from its last start.
    broken
        Failed by an InvariantError: what cannot be is true of its books.
    """

    def __init__(
        self, spec: RunSpec, *, now: float, saved: Checkpoint | None = None
    ) -> None:
        self.spec = spec
        self.incumbent = incumbent = Incumbent(spec, saved)
        before = Totals() if saved is None else saved.totals
        limit = math.inf if spec.time_limit_s is None else spec.time_limit_s
        self.opened, self.deadline = now - before.seconds, now + limit
        # when something better came, or the first tree was begun
        self._improved = now - (spec.request.waited_s if saved is None else 0.0)
        self.events = EventLog(self.opened)
        self.book = book = Book(spec, self.events, lambda: incumbent.ub)
        self.meter = RateMeter(now, before.nodes, spec.options.report_interval_s)
        self.state = RunState.RUNNING
        self.termination: Termination | None = None
        self.ended: float | None = None
        self.error: str | None = None
        self.broken = False
        self._seats: tuple[SeatSnapshot, ...] = ()
        self._seats_from = -math.inf  # when they were taken
        self._pace = Pace(spec)
        self._saves: list[SaveRequest] = []  # that nobody has seen done yet
        self._stop_asked = now
        if spec.certificate:
            journal = Journal(spec.problem.n_jobs) if saved is None else saved.journal
            if journal is not None:
                journal.pruned_at(incumbent.ub, incumbent.origin)
            book.journal = journal
        if saved is None:
            whole = WorkUnit.whole(spec.problem.n_jobs)
            book.make(whole, root_bound(spec.problem), fresh=True)
        else:
            book.restore(saved)
            book.check_partition()
            text = f"{plural(len(saved.units), 'part')} of a checkpoint"
            self.events.add(now, "resumed", text)
        if spec.proved_bound is not None:
            text = f"nothing is below {spec.proved_bound}; looking below {self.ub}"
            self.events.add(now, "step", text)

    # -- what is known ------------------------------------------------------------

    @property
    def running(self) -> bool:
        """Whether work is still given out."""
        return self.state is RunState.RUNNING

    @property
    def finished(self) -> bool:
        """Whether the run is over, in whatever way; then it has an outcome."""
        return self.ended is not None

    @property
    def ub(self) -> int:
        """Upper bound: prune LB >= ub."""
        return self.incumbent.ub

    @property
    def lower_bound(self) -> int:
        """A value that no permutation costs less than.

        The least LB of the open roots as of the last reports; roots that no engine
        has bounded stand with the bound of the tree's root. Never above the
        incumbent's value or the cutoff, and the smaller of them when nothing is
        open. Depth-first search leaves roots near the top open for long, so this
        rises late and in leaps. What was proved before the run counts, too.
        """
        units = self.book.units.values()
        best = self.incumbent.optimum_if_exhausted
        least = min([best, *(max(one.least_lb, one.shown_lb) for one in units)])
        proved = self.spec.proved_bound
        return least if proved is None else max(least, proved)

    @property
    def decomposed(self) -> int:
        """Decomposed nodes, light reports included."""
        return max(0, self.book.counters.decomposed + self.book.ahead_decomposed)

    @property
    def leaves(self) -> int:
        """Leaves, light reports included."""
        return self.book.counters.leaves + self.book.ahead_leaves

    @property
    def nodes(self) -> int:
        """Nodes of both kinds, light reports included."""
        return self.decomposed + self.leaves

    def totals(self, now: float, nodes: Counters | None = None) -> Totals:
        """Return what the run took, leases included as of their last reports.

        ``nodes``: those to be named; None: all, light reports included.
        """
        book = self.book
        leases = book.leases.values()
        gpus = [one for one in leases if one.seat.seat.device.kind == "cuda"]
        known = [one.energy_j for one in leases if one.energy_j is not None]
        held = Totals(
            decomposed=self.decomposed if nodes is None else nodes.decomposed,
            leaves=self.leaves if nodes is None else nodes.leaves,
            seconds=self.seconds(now),
            explore_seconds=sum(one.explore_s for one in leases),
            gpu_seconds=sum(one.explore_s for one in gpus),
            energy_j=sum(known) if known else None,
        )
        return book.past.plus(held)

    def seconds(self, now: float) -> float:
        """How long the run has taken, resumed parts together."""
        return (now if self.ended is None else self.ended) - self.opened

    # -- seats and work ---------------------------------------------------------

    def idle_seats(self) -> list[SeatId]:
        """Seats that could be given a unit, the fastest first; none at the end."""
        return self.book.balance.idle_seats() if self.running else []

    def wanted_seats(self) -> int:
        """How many more seats this run can feed now: two open roots each."""
        return self.book.wanted_seats() if self.running else 0

    def add_seat(self, seat: Seat, now: float, *, shown: bool = True) -> None:
        """Let the run use a seat; one that is there already drains no more.

        ``shown``: people see it among the events.
        """
        self.book.add_seat(seat, now, shown=shown)

    def remove_seat(
        self, seat_id: SeatId, now: float, *, lost: bool = True, shown: bool = True
    ) -> None:
        """Forget a seat; its unit waits again, as of its last full report.

        ``lost``: it is gone with its worker, and not only given to another run.
        ``shown``: as of ``add_seat``.
        """
        self.book.remove_seat(seat_id, now, lost=lost, shown=shown)
        self._go_on(now)

    def drain_seat(self, seat_id: SeatId, now: float) -> None:
        """Have a seat give its unit back; it gets no other until it is added again."""
        self.book.drain_seat(seat_id)
        self._go_on(now)

    def assign(self, seat_id: SeatId, now: float) -> Assignment | None:
        """Give an idle seat a unit; None when the seat is not idle or nothing waits.

        In the latter case a donation is asked for.
        """
        if not self.running:
            return None
        assignment = self.book.assign(seat_id, now)
        if assignment is None:
            self._go_on(now)
        return assignment

    def unassign(self, given: Assignment, now: float, *, lost: bool = True) -> None:
        """Take note that the future of an attempt ended and gave nothing back.

        If the attempt is the current one, the unit waits again with a new attempt,
        as of its last full report. ``lost``: it had been begun, as far as is known.
        """
        self.book.unassign(given, now, lost=lost)
        self._go_on(now)

    def lease(self, given: Assignment, now: float) -> Lease:
        """Grant the unit to the attempt that it is assigned to.

        Until its first report an attempt may ask again: the answer may be lost.

        StaleLeaseError: the attempt is not the current one.
        """
        lease = self.book.lease(given, now)
        return Lease(lease.id, lease.basis.roots, self.ub)

    # -- reports ----------------------------------------------------------------

    def basis(self, lease_id: LeaseId, seq: int) -> LeaseBasis | None:
        """Facts to check a report with roots against; None: it is stale or repeated."""
        lease = self.book.leases.get(lease_id)
        return None if lease is None or seq <= lease.seq else lease.basis

    def on_report(self, report: Report, checked: Checked | None, now: float) -> Order:
        """Take a report, the next, a repeated or a stale one; return its answer.

        Parameters
        ----------
        checked
            Of a report with roots that is new: what ``check_report`` made of it.

        Raises
        ------
        ValueError
            A new report with roots came unchecked.
        """
        if not self.finished:
            try:
                return self._answered(report, checked, now)
            except InvariantError as error:  # it cannot be true
                self.fail(error, now)
        return Order(OrderKind.DROP, self.ub)

    def _answered(self, report: Report, checked: Checked | None, now: float) -> Order:
        if report.best is not None:
            evaluate_candidate(self.spec.problem, report.best, report.lease)
            self.improve(report.best, f"{TREE}, lease {report.lease}", now)
        lease = self.book.leases.get(report.lease)
        if lease is not None:
            if report.seq <= lease.seq and lease.answer is not None:
                return lease.answer
            self._take(lease, report, checked, now)
        else:
            self.book.hear(report.lease)
        self._go_on(now)
        if lease is None or lease.id not in self.book.leases:
            return Order(OrderKind.DROP, self.ub)
        lease.answer = self._answer(lease)
        if lease.answer.kind is OrderKind.DROP:  # no list of what remains is wanted
            self.book.requeue(lease.unit, counted=True)
            self._go_on(now)
        return lease.answer

    def _take(
        self, lease: LeaseRecord, report: Report, checked: Checked | None, now: float
    ) -> None:
        """Apply the next report of a lease."""
        if report.seq != lease.seq + 1:
            raise InvariantError(
                f"expected report {lease.seq + 1} of lease {lease.id}, got {report.seq}"
            )
        full = report.full
        if report.has_roots and checked is None:
            raise ValueError(f"report {report.seq} of {lease.id} is not checked")
        book, balance = self.book, self.book.balance
        for candidate in () if full is None else full.optima:
            # before the ledger moves: their leaves still lie below the lower bound
            self.improve(candidate, f"{TREE}, lease {lease.id}", now)
        book.note(lease, report, checked, now)
        self.book.used_seats[lease.seat.id] = lease.seat.seat.engine
        lease.seat.reported = True
        gift = report.gift
        balance.reported(lease, now, given=None if gift is None else len(gift))
        if gift is not None:
            self._add_gift(lease, gift, report.least_lb, now)
        if report.has_roots:
            book.check_partition()
        if full is None:
            return
        self._pace.note_full(report.n_bytes)
        lease.save = lease.unheard_save = False
        for request in self._saves:
            request.reported(lease)
        self.incumbent.collect(full.optima)
        if not len(full.remaining):
            self.book.finish(lease.unit)
        elif full.last:
            self.book.requeue(lease.unit)

    def _add_gift(
        self, lease: LeaseRecord, gift: WorkUnit, least_lb: int | None, now: float
    ) -> None:
        """Make units of what a lease gave away."""
        lease.asked_to_donate = False
        if not len(gift):
            return
        self.book.count(donations=1)
        lease.seat.donations += 1
        lease.seat.donated_roots += len(gift)
        text = f"{lease.seat.seat.label} gave {len(gift):,} roots"
        self.events.add(now, "donation", text)
        least = lease.unit.least_lb
        if least_lb is not None:  # it covers what was given, too
            least = max(least, least_lb)
        worth_s = now - lease.since
        portions = self.book.balance.portions(gift, worth_s)
        book = self.book
        for portion in portions:
            unit = book.make(portion, least, fresh=False, parent=lease.unit)
            unit.worth_s = worth_s / len(portions)

    def nudges(self) -> list[SeatId]:
        """Seats that should report at once; forgotten by this call."""
        seats = list(self.book.nudges)
        self.book.nudges.clear()
        return seats

    # -- answers ----------------------------------------------------------------

    def _answer(self, lease: LeaseRecord) -> Order:
        """Return the answer to a lease's report: what to do, how often to report."""
        balance, leases, max_roots = self.book.balance, len(self.book.leases), 0
        if self.state is RunState.STOPPING:
            kind = OrderKind.STOP if self._lists_at_stop(lease) else OrderKind.DROP
        elif lease.seat.draining:
            kind = OrderKind.DRAIN
        elif balance.shall_donate(lease):
            kind = OrderKind.DRAIN
            if not balance.gives_all(lease):
                kind, max_roots = OrderKind.DONATE, balance.roots_to_give(lease)
                lease.asked_to_donate = True
        else:
            kind = OrderKind.SAVE if lease.save else OrderKind.CONTINUE
        pace = self._pace.report_s(leases), self._pace.full_s(leases)
        return Order(kind, self.ub, max_roots, *pace)

    def hint(self, seat_id: SeatId) -> dict[str, Any]:
        """Return what a nudged seat is told at once, before it asks.

        ``full``: whether it is to report in full. ``lease``, ``max_roots``: it may give
        so many roots, if that is still its lease. Else it reports, and does as the
        answer says.
        """
        seat = self.book.seats.get(seat_id) if self.running else None
        lease = None if seat is None or seat.unit is None else seat.unit.lease
        told = {"full": lease is not None and lease.save}
        if lease is None or lease.save or lease.seat.draining:
            return told
        balance = self.book.balance
        if balance.mixed or not balance.shall_donate(lease):
            return told
        lease.asked_to_donate = True
        return {**told, "lease": lease.id, "max_roots": balance.roots_to_give(lease)}

    def _lists_at_stop(self, lease: LeaseRecord) -> bool:
        """Whether a seat's last report says what remains."""
        options = self.spec.options
        # optimal permutations come with full reports alone
        wanted = options.checkpoint is not None or options.all_optima or lease.save
        return wanted or lease.open_roots <= LISTED_AT_STOP

    # -- steering -----------------------------------------------------------------

    def offer(self, permutation: Sequence[int], source: str, now: float) -> bool:
        """Take a permutation from outside; True if it is the new incumbent.

        OptionError: it is not one of all the problem's jobs, or has no cost.
        """
        problem = self.spec.problem
        jobs = jobs_of(problem, part_of(problem, permutation))
        value = cost_of(problem, jobs)
        if self.finished:
            return False
        try:
            return self.improve(Candidate(value, jobs), source, now)
        except InvariantError as error:
            self.fail(error, now)
            raise

    def request_stop(self, termination: Termination, now: float) -> None:
        """End the run early, seats giving back what remains; the first reason holds."""
        if not self.running:
            return
        self.state, self.termination = RunState.STOPPING, termination
        self.events.add(now, "stop", f"stopping: {termination.value}")
        self._stop_asked = now
        self.book.requeue_all(leased=False)
        self.book.nudge_leased()
        self._go_on(now)

    def request_save(self, now: float, patience_s: float = math.inf) -> SaveRequest:
        """Ask all leased seats for a full report.

        The first ones at once, the others by ``ask_on``; who does not answer is waited
        for as long as ``patience_s`` says; see ``SaveRequest``.
        """
        leases = self.book.leases.values()
        request = SaveRequest(leases, now, rate=MAX_REPORTS, patience_s=patience_s)
        self._saves.append(request)
        self.ask_on(request, now)
        return request

    def ask_on(self, request: SaveRequest, now: float) -> bool:
        """Ask the next seats of a request; whether there were any."""
        asked = request.next(now)
        for lease in asked:
            lease.save = True
            self.book.nudges[lease.seat.id] = None
        return bool(asked)

    def save_done(self, request: SaveRequest) -> bool:
        """Whether the leases of that moment have reported; then it is forgotten."""
        if request.done and request in self._saves:
            self._saves.remove(request)
        return request.done

    def fail(self, error: Exception | str, now: float) -> None:
        """Stop at once with an error; all units stay as of their last full report."""
        if self.finished:
            return
        self.error, self.broken = str(error), isinstance(error, InvariantError)
        self.events.add(now, "error", self.error)
        self.book.nudge_leased()
        self.book.requeue_all(leased=True)
        self.end(RunState.FAILED, Termination.STOPPED, now)

    def tick(self, now: float) -> None:
        """Look at limits and silent seats; call it about once a second."""
        if self.finished:
            return
        self.book.expire(now, self._is_silent)
        if self.running:
            limit = self.limit_reached(now)
            if limit is not None:
                self.request_stop(limit, now)
        self._go_on(now)

    def _is_silent(self, lease: LeaseRecord | None, heard: float, now: float) -> bool:
        """Whether a unit's seat is lost, that was last heard of then."""
        if now - heard >= self.spec.lease_timeout_s and self.running:
            return True
        if self.running:
            return False
        # asked to stop: what has never reported has nothing that is worth waiting for
        grace = STOP_NEW_S
        if lease is not None and lease.seq > 0:
            grace = STOP_GRACE_S + STOP_ROOT_S * lease.open_roots
        return now - max(heard, self._stop_asked) >= grace

    # -- inside -----------------------------------------------------------------

    def _go_on(self, now: float) -> None:
        """After every event: end the run if it is over, else see to idle seats."""
        if self.finished:
            return
        book = self.book
        self.meter.note(now, self.nodes)
        if self.book.hopeless is not None:
            self.fail(self.book.hopeless, now)
        elif not book.units:
            try:
                book.check_complete()
            except InvariantError as error:
                self.fail(error, now)
            else:
                self.end(RunState.FINISHED, Termination.EXHAUSTED, now)
        elif self.running:
            for lease in book.balance.choose_donors(now):
                book.nudges[lease.seat.id] = None
        elif not book.leases and self.termination is not None:
            self.end(RunState.FINISHED, self.termination, now)

    def limit_reached(self, now: float) -> Termination | None:
        """Return the limit that ends the run now, if one does.

        Of time, nodes or the gap, or nothing better for long; or the bound that proves
        its incumbent.
        """
        spec, options = self.spec, self.spec.options
        if now >= self.deadline:
            return Termination.TIME_LIMIT
        patience = options.no_improvement_s
        if patience is not None and now >= self._improved + patience:
            return Termination.NO_IMPROVEMENT
        if options.node_limit is not None and self.decomposed >= options.node_limit:
            return Termination.NODE_LIMIT
        if spec.root_bound is not None:
            value = self.incumbent.value
            if value is not None and value <= spec.root_bound:
                return Termination.ROOT_BOUND
        if options.gap_limit is not None:  # else not asked for: it looks at every unit
            gap = _gap(self.incumbent.value, self.lower_bound)
            # at 0 nothing is left but to prune the open roots: let them be exhausted
            if gap is not None and 0 < gap <= options.gap_limit:
                return Termination.GAP_LIMIT
        return None

    def improve(self, candidate: Candidate, source: str, now: float) -> bool:
        """Take an evaluated candidate if it is better than the incumbent.

        InvariantError: it costs less than the lower bound.
        """
        value = self.incumbent.value
        if value is not None and candidate.value >= value:
            return False
        bound = self.lower_bound
        if candidate.value < bound:
            raise InvariantError(
                f"{source}: a permutation of cost {candidate.value} is below the "
                f"lower bound {bound}"
            )
        self._improved = now
        self.incumbent.improve(
            candidate.value, candidate.permutation, source, now - self.opened
        )
        if self.book.journal is not None:
            self.book.journal.pruned_at(self.incumbent.ub, self.incumbent.origin)
        self.events.add(now, "incumbent", f"{candidate.value} by {source}")
        return True

    def end(self, state: RunState, termination: Termination, now: float) -> None:
        """Take note that the run is over."""
        self.state, self.termination, self.ended = state, termination, now
        self.events.add(now, "end", f"{state.value}: {termination.value}")

    # -- what is taken of it: for people, to go on from, at the end ----------------

    def snapshot(self, now: float) -> Snapshot:
        """Return the run as it is now, for people and programs."""
        book, incumbent = self.book, self.incumbent
        units = book.units.values()
        until = now if self.ended is None else self.ended
        totals = self.totals(now)
        # what people were told before the tree, whose own bound may be the weaker one
        before = self.spec.root_bound
        bound = self.lower_bound if before is None else max(self.lower_bound, before)
        return Snapshot(
            run_id=self.spec.run_id,
            instance=self.spec.instance,
            state=self.state,
            value=incumbent.value,
            permutation=None
            if incumbent.permutation is None
            else whole_of(self.spec.problem, incumbent.permutation),
            ub=incumbent.ub,
            lower_bound=bound,
            gap=_gap(incumbent.value, bound),
            nodes_per_second=self.meter.rate(until, totals.nodes),
            explored=_share(book.closed_leaves, n_leaves(self.spec.problem.n_jobs)),
            waiting=len(book.waiting),
            leased=len(book.units) - len(book.waiting),
            open_roots=sum(unit.open_roots for unit in units),
            seats=self._seat_snapshots(now),
            trajectory=tuple(incumbent.trajectory),
            spans=spans_of(
                (unit.cells for unit in units if unit.lease is None),
                (unit.cells for unit in units if unit.lease is not None),
            ),
            events=self.events.latest(),
            termination=None if self.termination is None else self.termination.value,
            error=self.error,
            closed=tuple(book.counters.closed.tolist()),
            seats_lost=self.book.seats_lost,
            engine_nodes=tuple(book.engine_nodes.items()),
            objective=objective_of(self.spec.problem),
            waits_for=self._compiling(now),
            **asdict(totals),
        )

    def _standing(self, now: float, nodes: Counters) -> dict[str, Any]:
        """Return what the run has come to, by name; ``nodes``: as of ``totals``."""
        incumbent = self.incumbent
        return {
            "value": incumbent.value,
            "permutation": incumbent.permutation,
            "trajectory": tuple(incumbent.trajectory),
            "n_optima": incumbent.n_optima,
            "totals": self.totals(now, nodes),
            "seats": dict(self.book.used_seats),
            "error": self.error,
        }

    def checkpoint(self, now: float) -> Checkpoint:
        """Return the state that the run can go on from; copies references only."""
        book, incumbent = self.book, self.incumbent
        leases = list(book.leases.values())
        journal = book.journal
        if journal is not None:
            journal = journal.copy(leases, incumbent.ub)
        optima = incumbent.optima()
        nothing = np.zeros((0, self.spec.problem.n_jobs), np.uint16)
        return Checkpoint(
            spec=self.spec,
            cutoff=incumbent.cutoff,
            optima=nothing if optima is None else optima.permutations,
            first_optimum=0 if optima is None else optima.first,
            closed=book.counters.closed,
            units=tuple(SavedUnit.of(unit) for unit in book.units.values()),
            covered_s=self.seconds(min([now, *(_safe_at(x, now) for x in leases)])),
            journal=journal,
            left_s=max(0.0, self.deadline - now) if self.deadline < math.inf else None,
            **self._standing(now, book.counters),
        )

    def outcome(self) -> Outcome:
        """Return what the run came to; raises ValueError while it goes on."""
        if self.ended is None or self.termination is None:
            raise ValueError(f"expected run {self.spec.run_id} to be over, it goes on")
        incumbent = self.incumbent
        exhausted = self.error is None and not self.book.units
        explored = replace(
            self.book.counters, decomposed=self.decomposed, leaves=self.leaves
        )
        return Outcome(
            termination=self.termination,
            exhausted=exhausted,
            ub=incumbent.ub,
            lower_bound=incumbent.optimum_if_exhausted
            if exhausted
            else self.lower_bound,
            counters=explored,
            broken=self.broken,
            optima=incumbent.optima() if self.spec.options.all_optima else None,
            journal=self.book.journal,
            **self._standing(self.ended, explored),
        )

    def _compiling(self, now: float) -> str:
        """Say so when seats have units for a while, and none has reported yet.

        A seat that has leased its first unit opens a session, which compiles or loads
        its code, before it can report.
        """
        if not self.running:
            return ""
        begun = []
        for seat in self.book.seats.values():
            if seat.reported:
                return ""
            if seat.unit is not None:
                begun.append(seat.unit.since)
        if not begun or now - min(begun) < WAITING_S:
            return ""
        where = plural(len(begun), "worker")
        return f"compiling on {where}, once for this kind of problem"

    def _seat_snapshots(self, now: float) -> tuple[SeatSnapshot, ...]:
        """Return all seats; those of a large run may be ``SEATS_AGE_S`` old.

        At 4,096 seats making them takes 20 ms of the scheduler's event loop.
        """
        records = self.book.seats.values()
        few = len(records) <= MANY_SEATS or len(records) != len(self._seats)
        if few or self.finished or now - self._seats_from >= SEATS_AGE_S:
            self._seats = tuple(record.snapshot(self.opened) for record in records)
            self._seats_from = now
        return self._seats


def _safe_at(lease: LeaseRecord, now: float) -> float:
    """Until when a lease's exploration is in the ledger.

    A seat that has not been heard of yet compiles, or waits for its first answer.
    """
    return lease.safe_at if lease.seq else max(lease.safe_at, now - UNHEARD_S)


def _gap(value: int | None, bound: int) -> float | None:
    if value is None:
        return None
    return (value - bound) / max(value, 1)  # all times may be zero


def _share(part: int, whole: int) -> float:
    """Return part / whole; 0 and 1 only where it is that, not by rounding."""
    if part in (0, whole):
        return float(part > 0)
    return min(max(part / whole, sys.float_info.min), 1 - sys.float_info.epsilon)
