"""Simulated seats: they lease, explore, report and donate as real ones do."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpbb.cluster.worker.exploration import FIRST_REPORT_S, FULL_REPORT_SHARE, ROOT_S
from dpbb.coordination.messages import FullReport, Lease, Order, OrderKind, Report
from dpbb.coordination.wire import decode, encode
from dpbb.errors import StaleLeaseError
from dpbb.tree.work_unit import WorkUnit
from tests.worlds.scale.costs import seat_message
from tests.worlds.scale.session import SeatSession

if TYPE_CHECKING:
    from dpbb.coordination.messages import Assignment, LeaseId, SeatId
    from dpbb.engines.base import Candidate
    from tests.worlds.scale.world import World


class SimulatedSeat:
    """One seat; see ``Exploration`` for the rules."""

    def __init__(self, world: World, index: int) -> None:
        self.world = world
        self.worker = f"w{index}"
        self.id: SeatId = seat_message(self.worker)["id"]
        self.session = SeatSession(world.tree, world.physics.speed)
        self.lease: Lease | None = None
        self.next: Assignment | None = None
        self.exploring_since: float | None = None
        self.idle_since = 0.0
        self.gain = 1.0
        self.turn = 0  # a planned event of an older turn is void
        self.wanted = False  # a hint asks for a report
        self.gift: tuple[LeaseId, int] | None = None  # or for this
        self.best: Candidate | None = None

    # -- leases -----------------------------------------------------------------

    def start(self, assignment: Assignment) -> None:
        """Take a task that has just arrived; it waits for the one before."""
        world = self.world
        if self.lease is not None:
            self.next = assignment
            return
        self.assignment = assignment
        world.tally.idle_s += world.now - self.idle_since
        self.began = world.now
        world.later(world.physics.start_s, self._ask)

    def _ask(self) -> None:
        self.world.call(self.world.costs.rpc_s, self._leased_on_loop, self._leased)

    def _leased_on_loop(self) -> bytes | None:
        world = self.world
        try:
            lease = world.hub.lease(world.spec.run_id, self.assignment)
        except StaleLeaseError:
            return None
        return encode(lease)

    def _leased(self, message: bytes | None) -> None:
        if message is None:
            self.end()
            return
        world = self.world
        self.lease = lease = decode(Lease, message)
        self.seq = 0
        self.session.start()
        self.session.load(lease.roots)
        self.gain = world.gain_of(lease.ub)
        self.report_s = world.spec.options.report_interval_s
        self.full_s = world.spec.options.checkpoint_interval_s
        self.full_since = world.now
        self.full_share = world.jitter()
        self.light_at = world.now + FIRST_REPORT_S * world.jitter()
        world.later(world.physics.load_s, self._loaded)

    def _loaded(self) -> None:
        self.world.tally.starting_s += self.world.now - self.began
        self.go_on()

    def end(self) -> None:
        """Take note that the task is over."""
        world = self.world
        self.lease = None
        self.idle_since = world.now
        given = self.assignment
        # what Dask does at the end of a task is in ``Costs.task_s``
        world.call(0.0, lambda: world.hub.ended(world.spec.run_id, given, None))
        if self.next is not None:
            after, self.next = self.next, None
            self.start(after)

    # -- exploring --------------------------------------------------------------

    def go_on(self) -> None:
        """Explore until something is due."""
        world = self.world
        self.exploring_since = world.now
        self.turn += 1
        turn = self.turn
        if self.wanted or self.best is not None:
            world.later(world.physics.slice_s, self._due, turn)
            return
        end = self.session.size / (world.physics.speed * self.gain)
        rest = world.physics.roots * ROOT_S / FULL_REPORT_SHARE
        full_at = self.full_since + max(self.full_share * self.full_s, rest)
        due = max(0.0, min(self.light_at, full_at) - world.now)
        world.later(min(end, due), self._due, turn)

    def poke(self, lease: LeaseId | None, max_roots: int) -> None:
        """Report, or give, at the end of this slice."""
        self.wanted = True
        self.gift = None if lease is None else (lease, max_roots)
        if self.exploring_since is not None:
            self.turn += 1
            wait = self.world.random.uniform(0.0, self.world.physics.slice_s)
            self.world.later(wait, self._due, self.turn)

    def learn(self, gain: float) -> None:
        """Hear of a better UB."""
        if gain <= self.gain:
            return
        if self.exploring_since is None:
            self.gain = gain
            return
        self._account()
        self.gain = gain
        self.go_on()

    def _account(self) -> None:
        """Take note of what was explored since the last time."""
        world, since = self.world, self.exploring_since
        if since is None:
            return
        seconds = world.now - since
        self.exploring_since = None
        self.session.work(seconds * world.physics.speed * self.gain)
        share = self.gain / world.gain
        world.tally.useful_s += seconds * share
        world.tally.stale_s += seconds * (1 - share)

    def _due(self, turn: int) -> None:
        if turn != self.turn or self.exploring_since is None:
            return
        world = self.world
        left = self.session.size - (world.now - self.exploring_since) * (
            world.physics.speed * self.gain
        )
        self._account()
        if left <= world.physics.speed * 1e-6:
            self.session.finish()
            self._report(full=True, last=True)
            return
        gift, self.gift = self.gift, None
        if gift is not None and self.lease is not None and gift[0] == self.lease.id:
            self._report(gift=self.session.donate(gift[1]))
            return
        rest = world.physics.roots * ROOT_S / FULL_REPORT_SHARE
        full_at = self.full_since + max(self.full_share * self.full_s, rest)
        self._report(full=world.now >= full_at)

    # -- reports ----------------------------------------------------------------

    def _report(
        self, *, full: bool = False, last: bool = False, gift: WorkUnit | None = None
    ) -> None:
        world, session, physics = self.world, self.session, self.world.physics
        assert self.lease is not None  # noqa: S101 - a report belongs to a lease
        self.wanted = False
        self.seq += 1
        open_roots = len(session) + (0 if gift is None else len(gift))
        part = None
        listing = 0.0
        if full:
            remaining = session.remaining(export=last)
            part = FullReport(session.closed.copy(), remaining, last=last)
            self.full_since, self.full_share = world.now, world.jitter()
            if len(remaining):
                listing = physics.roots * ROOT_S
        report = Report(
            lease=self.lease.id, seq=self.seq, decomposed=session.decomposed, leaves=0,
            open_roots=open_roots, least_lb=None, best=self.best, full=part, gift=gift,
        )  # fmt: skip
        self.best = None
        self.waiting_since = world.now
        world.later(
            listing + (0.0 if gift is None else physics.donate_s),
            lambda: world.report(report, self._answered),
        )

    def _answered(self, order: Order) -> None:
        world = self.world
        world.tally.reporting_s += world.now - self.waiting_since
        self.gain = max(self.gain, world.gain_of(order.ub))
        self.report_s = order.report_s or world.spec.options.report_interval_s
        self.full_s = order.full_s or world.spec.options.checkpoint_interval_s
        if order.kind is OrderKind.DROP:
            self.end()
            return
        if order.kind in (OrderKind.DRAIN, OrderKind.STOP):
            self._report(full=True, last=True)
            return
        if order.kind is OrderKind.DONATE:
            self.gift = None
            self._report(gift=self.session.donate(order.max_roots))
            return
        self.light_at = world.now + world.jitter() * self.report_s
        self.go_on()
