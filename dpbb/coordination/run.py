"""One run as its coordinator keeps it, and what is taken of it.

The coordinator alone changes it. People and programs see snapshots; a checkpoint is
what the run can go on from, and the outcome is what it came to.
"""

from __future__ import annotations

import math
import sys
from collections import deque
from dataclasses import asdict
from typing import Any

import numpy as np

from dpbb.coordination.book import Book
from dpbb.coordination.checkpoint import Checkpoint, SavedUnit
from dpbb.coordination.events import EventLog
from dpbb.coordination.incumbent import Incumbent
from dpbb.coordination.messages import RunSpec
from dpbb.coordination.outcome import Outcome
from dpbb.coordination.snapshot import WAITING_S, RunState, SeatSnapshot, Snapshot
from dpbb.coordination.units import LeaseRecord
from dpbb.engines.base import Candidate
from dpbb.errors import InvariantError
from dpbb.problem import objective_of, whole_of
from dpbb.result import Termination, Totals
from dpbb.tree.counters import Counters
from dpbb.tree.factoradic import n_leaves

MANY_SEATS = 256
"""With more seats, snapshots may show them as they were a moment ago."""

SEATS_AGE_S = 2.0

UNHEARD_S = 1.0
"""A seat explores less than this before its first report."""


class Run:
    """A run; see the module.

    Parameters
    ----------
    spec
        What it is.
    incumbent
        The best schedule that is known.
    opened
        When it would have been opened had it never been interrupted.
    deadline
        When its time limit ends it, which counts from its last start.
    now
        The time; the run may have explored ``nodes`` before.
    """

    def __init__(
        self,
        spec: RunSpec,
        incumbent: Incumbent,
        opened: float,
        deadline: float,
        now: float,
        nodes: int,
    ) -> None:
        self.spec, self.incumbent = spec, incumbent
        self.opened, self.deadline = opened, deadline
        self.events = EventLog(opened)
        self.book = Book(spec, self.events, lambda: incumbent.ub)
        self.meter = RateMeter(now, nodes)
        self.state = RunState.RUNNING
        self.termination: Termination | None = None
        self.ended: float | None = None
        self.error: str | None = None
        self.donations = 0
        # of leases given up at a stop, beyond the ledger
        self.abandoned_decomposed = 0
        self.abandoned_leaves = 0
        self._seats: tuple[SeatSnapshot, ...] = ()
        self._seats_from = -math.inf  # when they were taken

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
    def value(self) -> int | None:
        """The incumbent's cost; None when there is no permutation."""
        return self.incumbent.value

    @property
    def permutation(self) -> tuple[int, ...] | None:
        """The incumbent."""
        return self.incumbent.permutation

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
        book = self.book
        ahead = book.ahead_decomposed + self.abandoned_decomposed
        return max(0, book.counters.decomposed + ahead)

    @property
    def leaves(self) -> int:
        """Leaves, light reports included."""
        book = self.book
        return book.counters.leaves + book.ahead_leaves + self.abandoned_leaves

    @property
    def nodes(self) -> int:
        """Nodes of both kinds, light reports included."""
        return self.decomposed + self.leaves

    @property
    def explored(self) -> Counters:
        """The ledger's counters and the nodes of leases that were given up."""
        ledger = self.book.counters
        return Counters(
            ledger.decomposed + self.abandoned_decomposed,
            ledger.leaves + self.abandoned_leaves,
            ledger.closed,
        )

    def totals(self, now: float, nodes: Counters | None = None) -> Totals:
        """Return what the run took, leases included as of their last reports.

        ``nodes``: those to be named; None: all, light reports included.
        """
        book = self.book
        leases = book.leases.values()
        gpus = [one for one in leases if one.seat.seat.device.kind == "cuda"]
        used = [book.energy_j, *(lease.energy_j for lease in leases)]
        known = [joules for joules in used if joules is not None]
        return Totals(
            decomposed=self.decomposed if nodes is None else nodes.decomposed,
            leaves=self.leaves if nodes is None else nodes.leaves,
            seconds=self.seconds(now),
            explore_seconds=book.explore_seconds + sum(x.explore_s for x in leases),
            gpu_seconds=book.gpu_seconds + sum(one.explore_s for one in gpus),
            energy_j=sum(known) if known else None,
            units=book.made,
            donations=self.donations,
            requeues=self.book.requeues,
        )

    def seconds(self, now: float) -> float:
        """How long the run has taken, resumed parts together."""
        return (now if self.ended is None else self.ended) - self.opened

    def limit_reached(self, now: float) -> Termination | None:
        """Return the limit that ends the run now, if one does.

        Of time, nodes or the gap; or the bound that proves its incumbent.
        """
        spec, options = self.spec, self.spec.options
        if now >= self.deadline:
            return Termination.TIME_LIMIT
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
        self.incumbent.improve(
            candidate.value, candidate.permutation, source, now - self.opened
        )
        if self.book.journal is not None:
            self.book.journal.pruned_at(self.incumbent.ub, self.incumbent.origin)
        self.events.add(now, "incumbent", f"{candidate.value} by {source}")
        return True

    def abandon(self, lease: LeaseRecord) -> None:
        """End a lease without a list of what remains; its nodes were explored."""
        self.abandoned_decomposed += lease.decomposed_since_full
        self.abandoned_leaves += lease.leaves_since_full
        self.book.count_nodes(lease, lease.nodes_since_full)
        self.book.requeue(lease.unit)

    def end(self, state: RunState, termination: Termination, now: float) -> None:
        """Take note that the run is over."""
        self.state, self.termination, self.ended = state, termination, now
        self.events.add(now, "end", f"{state.value}: {termination.value}")

    def snapshot(self, now: float) -> Snapshot:
        """Return the run as it is now, for people and programs."""
        book, incumbent = self.book, self.incumbent
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
            open_roots=sum(unit.open_roots for unit in book.units.values()),
            seats=self._seat_snapshots(now),
            trajectory=tuple(incumbent.trajectory),
            spans=book.span_map.spans(),
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
        return Outcome(
            termination=self.termination,
            exhausted=exhausted,
            ub=incumbent.ub,
            lower_bound=incumbent.optimum_if_exhausted
            if exhausted
            else self.lower_bound,
            counters=self.explored,
            optima=incumbent.optima() if self.spec.options.all_optima else None,
            journal=self.book.journal,
            **self._standing(self.ended, self.explored),
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
        seats = "1 seat" if len(begun) == 1 else f"{len(begun):,} seats"
        return f"compiling on {seats}"

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


WINDOW_S = 5.0
"""Nodes a second are an average over about this long."""

_STEP_S = 0.25  # between two samples


class RateMeter:
    """Nodes a second over the last few seconds.

    ``window_s``: the length of the average; may be set.
    """

    def __init__(self, now: float, nodes: int = 0) -> None:
        self.window_s = WINDOW_S
        self._samples: deque[tuple[float, int]] = deque([(now, nodes)])

    def note(self, now: float, nodes: int) -> None:
        """Take a sample, if the last one is not too young."""
        if now - self._samples[-1][0] < _STEP_S:
            return
        self._samples.append((now, nodes))
        while len(self._samples) > 2 and now - self._samples[1][0] >= self.window_s:
            self._samples.popleft()

    def rate(self, now: float, nodes: int) -> float:
        """Nodes a second until now; 0 if nodes were lost with a lease."""
        then, before = self._samples[0]
        return max(0.0, (nodes - before) / (now - then)) if now > then else 0.0
