"""What a seat is answered when it reports: go on, give some of it away, save, stop."""

from dpbb.coordination.messages import GiftWanted, Order, OrderKind, RunSpec, SeatId
from dpbb.coordination.run import Run
from dpbb.coordination.snapshot import RunState
from dpbb.coordination.units import LeaseRecord

SIGNS_OF_LIFE = 3.1
"""A seat reports at least so often within the time after which its lease expires.

With an interval that is jittered by half two reports still fit.
"""

ASKED_TIMES = 4.0
"""Seats of a run with checkpoints are asked for full reports before each of them. By
themselves they report as seldom as this: it matters where a store hangs for long."""

_WEIGHT = 0.05  # of one full report in the average size


class Pace:
    """Report intervals of one run.

    A light report costs the scheduler's event loop some fraction of a millisecond,
    whatever it says, and a full one its bytes. So the intervals that a run asks for are
    stretched, for all seats alike, until the reports of all leases together stay below
    a number and a number of bytes a second. Every answer carries them (``Order``).
    """

    def __init__(self, spec: RunSpec) -> None:
        self._spec = spec
        self._full_bytes: float | None = None

    def note_full(self, n_bytes: int) -> None:
        """Take the size of a full report into the average."""
        if self._full_bytes is None:
            self._full_bytes = n_bytes
        else:
            self._full_bytes += _WEIGHT * (n_bytes - self._full_bytes)

    def order(self, kind: OrderKind, ub: int, leases: int) -> Order:
        """Return an order that carries the intervals for so many leases."""
        return Order(
            kind, ub, report_s=self.report_s(leases), full_s=self.full_s(leases)
        )

    def report_s(self, leases: int) -> float:
        """Seconds from one light report of a lease to the next."""
        spec = self._spec
        seldom = min(leases / spec.max_reports, spec.lease_timeout_s / SIGNS_OF_LIFE)
        return max(spec.options.report_interval_s, seldom)

    def full_s(self, leases: int) -> float:
        """Seconds from one periodic full report of a lease to the next."""
        spec = self._spec
        stretched = leases * (self._full_bytes or 0.0) / spec.max_report_bytes
        full_s = max(spec.options.checkpoint_interval_s, stretched)
        return full_s if spec.options.checkpoint is None else ASKED_TIMES * full_s


LISTED_AT_STOP = 250_000
"""A seat with more open roots does not list them at a stop, if nobody can use the list.

That is so without a checkpoint: the run is over for good. Listing the 4 to 20 million
roots of a GPU took tens of seconds.
"""


class Answers:
    """The answers of one run; they say how often to report, too.

    Of the run only the leases' own notes of what they were asked for are changed.
    """

    def __init__(self, run: Run) -> None:
        self._run = run
        self._pace = Pace(run.spec)

    def note_full(self, n_bytes: int) -> None:
        """Take note of the size of a full report."""
        self._pace.note_full(n_bytes)

    def order(self, lease: LeaseRecord) -> Order:
        """Return the answer to a lease's report."""
        ub, balance = self._run.incumbent.ub, self._run.book.balance
        if self._run.state is RunState.STOPPING:
            kind = OrderKind.STOP if self._lists_at_stop(lease) else OrderKind.DROP
        elif lease.seat.draining:
            kind = OrderKind.DRAIN
        elif balance.shall_donate(lease):
            if balance.gives_all(lease):
                return Order(OrderKind.DRAIN, ub)
            lease.asked_to_donate = True
            return Order(OrderKind.DONATE, ub, balance.roots_to_give(lease))
        else:
            kind = OrderKind.SAVE if lease.save else OrderKind.CONTINUE
        return self._pace.order(kind, ub, len(self._run.book.leases))

    def gift_wanted(self, seat_id: SeatId) -> GiftWanted | None:
        """Return what a nudged seat may give at once, before it asks what is wanted.

        None if it is to report and do as the answer says.
        """
        lease = self._lease_of(seat_id)
        if lease is None or not self._run.running or lease.seat.draining or lease.save:
            return None
        balance = self._run.book.balance
        if balance.mixed or not balance.shall_donate(lease):
            return None
        lease.asked_to_donate = True
        return GiftWanted(lease.id, balance.roots_to_give(lease))

    def full_wanted(self, seat_id: SeatId) -> bool:
        """Whether a nudged seat is to report in full at once."""
        lease = self._lease_of(seat_id)
        return lease is not None and lease.save and self._run.running

    def _lease_of(self, seat_id: SeatId) -> LeaseRecord | None:
        seat = self._run.book.seats.get(seat_id)
        return None if seat is None or seat.unit is None else seat.unit.lease

    def _lists_at_stop(self, lease: LeaseRecord) -> bool:
        """Whether a seat's last report says what remains."""
        options = self._run.spec.options
        # optimal permutations come with full reports alone
        wanted = options.checkpoint is not None or options.all_optima or lease.save
        return wanted or lease.open_roots <= LISTED_AT_STOP
