"""Work for idle seats: cutting what waits, and asking the rich for donations.

The roots of units that wait are dealt out first, as that costs nothing. Where they do
not suffice, one donation is asked for each idle seat, of the seat that probably has the
most work left (``Donors``). A seat that is about to run dry is provided for as well,
but only by seats that have plenty: at the end of a run all are nearly dry, and would
only pass crumbs around. And where there are few seats one donation always waits, so
that who is idle next need not wait for a donor.

A GPU explores a thousand times the nodes of a core. Then what matters is that a slow
seat never holds the end up: it gets little from a fast one, and gives all it has to a
fast one that is idle. Among seats of one kind nothing of this happens.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np
from sortedcontainers import SortedList

from dpbb.coordination.messages import LeaseId, SeatId
from dpbb.coordination.units import LeaseRecord, SeatRecord, Unit
from dpbb.tree.work_unit import WorkUnit

if TYPE_CHECKING:
    from dpbb.coordination.book import Book

REST_S = 1.0
"""A seat that had nothing to give is left alone for so long."""

PATIENCE_S = 2.0
"""A donor that has not answered for so long does not count any more."""

HAND_OVER_S = (0.002, 0.02)
"""What a donation and the unit made of it take of the scheduler's event loop: bounds.

Measured (``python -m tests.worlds scale``): a millisecond for the future, where there
is one, 0.3 ms for each of four or five RPCs, a millisecond for the new unit, and as
much again for what goes on beside. What it is on another machine, and what the loop has
to do besides, is seen by its lag.
"""

DONATION_ROOTS = (4096, 65_536)
"""Least and most of the roots that a seat is asked for at most; see ``GIVEN_ROOTS``."""

GIVEN_ROOTS = 262_144
"""Roots that one donation of every lease would have at most.

A GPU holds millions, and the shallowest thousands are soon given away: with 4,096 at
most, four GPUs spent a third of 7 s on ever smaller units (VFR30_15_2 at 2317). But
each donation has to be listed, sent and checked, so that with many seats they are
shorter.
"""

SPARE_AGE_S = 1.0
"""A seat that gives before anybody is idle has explored for so long: see ``donors``."""

LAG_S = 0.2
"""An event loop that is later than this has too much to do."""

MUCH = 8.0
"""Seats whose speeds differ by less are treated alike."""

LEAST_TIME_S = 2.0
"""A lease that explored for less says nothing of its seat's speed: a GPU takes its
time to get going, and compiles at first."""

LEAST_GIFT = 16
"""Roots that a slow seat gets at least, so that it does not ask again at once."""

PLENTY = 1024
"""Open roots of a fast seat that is not to be disturbed for a slow one below."""

_NODES_PER_S = {"cuda": 1e9, "cpu": 1e6}  # by kind, until something is measured


_CROWD = 4  # so many leases or fewer for each idle seat: many wait
_LOOKS = 64  # units that may be cut, and donors of a class, that are looked at
_FEW_LEASES = 16  # cannot keep the event loop busy
_ANY = 1_000_000  # parts, where the number does not matter
_SOME = 64  # idle seats that stand for all of them
_NEARLY_DRY = 2  # open roots of a seat that will soon be idle
_LEAST_ROOTS = 2  # what a donor for an idle seat has
_RICH_ROOTS = 64  # what a donor for a seat that is nearly dry has
_PORTION_ROOTS = 16  # a donation is cut into more than the idle seats need above this


class Balance:
    """Idle seats, possible donors, and the donations that are under way."""

    def __init__(self, book: Book) -> None:
        self.idle: dict[SeatId, SeatRecord] = {}
        self._book = book
        self._donors = Donors()
        self._nearly_dry: set[LeaseId] = set()
        self._asked: dict[LeaseId, float] = {}  # and when
        self._hand_over_s = sum(HAND_OVER_S) / 4
        self.kinds: set[tuple[str, str, int]] = set()  # of seats that were there

    @property
    def mixed(self) -> bool:
        """Whether the run has had seats of several kinds, some perhaps much faster."""
        return len(self.kinds) > 1

    def idle_seats(self) -> list[SeatId]:
        """Idle seats, the fastest first."""
        if not self.mixed:
            return list(self.idle)
        return [record.id for record in self._idle_by_speed()]

    def _idle_by_speed(self) -> list[SeatRecord]:
        return sorted(self.idle.values(), key=speed_of, reverse=True)

    def _worth(self, worth_s: float) -> int:
        """Into how many units so much work may be cut."""
        least_s = self._worth_s
        return (
            max(1, int(worth_s / least_s)) if worth_s < math.inf and least_s else _ANY
        )

    @property
    def _worth_s(self) -> float:
        """How much work is worth a hand-over: the least, in seconds of a seat.

        If all seats asked for less, the event loop would be busy with hand-overs alone,
        and each report of a seat that still has work would wait in its queue. At the
        end of a run, when fewer and fewer explore, ever smaller parts are worth it,
        and with few seats any part is.
        """
        return self._hand_over_s * max(0, len(self._book.leases) - _FEW_LEASES)

    def note_lag(self, late_s: float) -> None:
        """Take note of how late the event loop is, ten times a second or so.

        Late: hand-overs cost more than was thought, so fewer are worth it, at once; in
        time: more of them may be, bit by bit.
        """
        least, most = HAND_OVER_S
        change = 1.1 if late_s > LAG_S else 0.95
        self._hand_over_s = min(max(self._hand_over_s * change, least), most)

    def seat_changed(self, record: SeatRecord) -> None:
        """Note whether a seat is idle now."""
        if record.idle:
            self.idle[record.id] = record
        else:
            self.idle.pop(record.id, None)

    def cut_for_idle(self) -> None:
        """Deal out the roots of waiting units, and of those not leased yet.

        A root that no engine has seen is never cut blindly: most of its parts would
        be pruned at once, and a hand-over costs more than they do (471 units for a
        tree of 14 nodes). The seat that explores it is asked to donate instead.
        """
        while (missing := self._equal_takers() - len(self._book.waiting)) > 0:
            unit = self._largest_divisible()
            if unit is None:
                return
            if not self._book.cut(unit, min(missing + 1, self._worth(unit.worth_s))):
                return

    def _largest_divisible(self) -> Unit | None:
        # of hundreds on their way to seats, the latest: the others are leased soon
        assigned = islice(reversed(self._book.assigned.values()), _LOOKS)
        candidates = [
            unit
            for unit in (*self._book.waiting.values(), *assigned)
            if len(unit.roots) > 1
            and self._worth(unit.worth_s) > 1
            and not self._is_for_fast(unit)
        ]
        return max(candidates, key=lambda unit: unit.leaves, default=None)

    def _equal_takers(self) -> int:
        """Idle seats that equal parts are right for: not much slower than another."""
        if not self.mixed or not self.idle:
            return len(self.idle)
        seats = self._idle_by_speed()
        return sum(not much_faster(seats[0], seat) for seat in seats)

    def _is_for_fast(self, unit: Unit) -> bool:
        """Whether the unit is on its way to a seat much faster than the idle ones."""
        seat = unit.seat
        return (
            self.mixed
            and seat is not None
            and all(much_faster(seat, taker) for taker in self._some_idle())
        )

    def choose_donors(self, now: float) -> list[LeaseRecord]:
        """Leases to ask for a donation, beyond those that have been asked."""
        while self._asked:
            lease_id, asked = next(iter(self._asked.items()))
            if now - asked <= PATIENCE_S:
                break  # the rest was asked later
            del self._asked[lease_id]
        missing = len(self.idle) - len(self._book.waiting) - len(self._asked)
        wanted = missing + len(self._nearly_dry)
        chosen: list[LeaseRecord] = []
        while wanted > 0:
            least = _LEAST_ROOTS if missing > 0 else _RICH_ROOTS
            if not self._ask(self._donors.pop(least, now, self._worth_s), now, chosen):
                break
            missing -= 1
            wanted -= 1
        if self._lacks_spare and not self._asked:
            self._ask(self._donors.pop(_RICH_ROOTS, now, SPARE_AGE_S), now, chosen)
        return chosen

    def _ask(
        self, donor: LeaseId | None, now: float, chosen: list[LeaseRecord]
    ) -> bool:
        """Choose a donor; False if there is none that may be disturbed."""
        if donor is None:
            return False
        lease = self._book.leases[donor]
        if self._is_spared(lease):
            self._put(lease, lease.open_roots)
            return False
        self._asked[donor] = now
        chosen.append(lease)
        return True

    @property
    def _lacks_spare(self) -> bool:
        """Whether a unit ought to wait for who is idle next, and none does."""
        seats = len(self._book.leases) + len(self.idle)
        return 1 < seats <= _FEW_LEASES and not self._book.waiting and not self.mixed

    def shall_donate(self, lease: LeaseRecord) -> bool:
        """Whether the answer to this seat's report is to ask for the donation."""
        if lease.id not in self._asked:
            return False
        takers = len(self.idle) + len(self._nearly_dry)
        if takers > len(self._book.waiting) or self._lacks_spare:
            return True
        del self._asked[lease.id]  # somebody else gave in the meantime
        return False

    def _some_idle(self) -> list[SeatRecord]:
        """Idle seats, but not thousands of them: who wants to know asks often."""
        return list(islice(self.idle.values(), _SOME))

    def _is_spared(self, donor: LeaseRecord) -> bool:
        """Whether a fast donor has too little to be disturbed for slow seats."""
        return (
            self.mixed
            and donor.open_roots < PLENTY
            and all(much_faster(donor.seat, taker) for taker in self._some_idle())
        )

    def gives_all(self, lease: LeaseRecord) -> bool:
        """Whether a donor shall give all it has, to a seat that is much faster."""
        return self.mixed and any(
            much_faster(taker, lease.seat) for taker in self._some_idle()
        )

    def roots_to_give(self, lease: LeaseRecord) -> int:
        """How many roots to ask a donor for at most."""
        least, most = DONATION_ROOTS
        if self.mixed and self.idle:
            return roots_for(self._some_idle(), lease.seat, least)
        return min(max(GIVEN_ROOTS // max(1, len(self._book.leases)), least), most)

    def granted(self, lease: LeaseRecord) -> None:
        """Note a new lease; its first report may take a kernel's compilation."""
        # one root is many as soon as it is decomposed, so it may be asked at once
        self._put(lease, max(_LEAST_ROOTS, len(lease.unit.roots)))

    def reported(self, lease: LeaseRecord, now: float, *, given: int | None) -> None:
        """Note a report; ``given``: roots of a gift, None in one without."""
        if given is not None and lease.asked_to_donate:
            self._asked.pop(lease.id, None)
            if not given:
                lease.rest_until = now + REST_S
            lease.since += (now - lease.since) / 2  # half of what it has is gone
        if lease.open_roots <= _NEARLY_DRY and not lease.seat.draining:
            self._nearly_dry.add(lease.id)
        else:
            self._nearly_dry.discard(lease.id)
        can_give = lease.open_roots >= _LEAST_ROOTS and now >= lease.rest_until
        if can_give and lease.id not in self._asked and not lease.seat.draining:
            self._put(lease, lease.open_roots)
        else:
            self._donors.discard(lease.id)

    def _put(self, lease: LeaseRecord, open_roots: int) -> None:
        self._donors.put(lease.id, open_roots, lease.since, speed_of(lease.seat))

    def forget(self, lease: LeaseRecord) -> None:
        """Note the end of a lease."""
        self._donors.discard(lease.id)
        self._nearly_dry.discard(lease.id)
        self._asked.pop(lease.id, None)

    def portions(self, donated: WorkUnit, worth_s: float = math.inf) -> list[WorkUnit]:
        """Units to make of a donation: for each starving seat that it is for.

        A large one is cut into several for each (``RunSpec.units_per_seat``), so that
        who is idle next finds something waiting; but each is to be worth its hand-over,
        if the whole is worth ``worth_s`` seconds.
        """
        donors = 1 + len(self._asked)
        starving = len(self.idle) - len(self._book.waiting)
        seats = max(1, -(-starving // donors))
        if self.mixed and self.idle:
            takers = self._idle_by_speed()[:seats]
            if much_faster(takers[0], takers[-1]):
                return shares_by_speed(donated, takers)
        book = self._book
        per_seat = book.spec.tuning.units_per_seat
        several = min(seats * per_seat, len(donated) // _PORTION_ROOTS)
        if len(book.waiting) > max(_FEW_LEASES, len(book.leases) // 64):
            several = 1  # there is enough for who is idle next
        worth = self._worth(worth_s)
        if _CROWD * len(self.idle) > len(book.leases):
            # as when a run begins: the event loop is what all wait for, and several
            # units of one donation take less of it than several donations
            worth = max(worth, per_seat)
        parts = min(max(seats, several), worth, len(donated))
        return donated.split(parts)


class Donors:
    """Leases that may be asked to donate: those that have been at it for longest.

    How much work lies below open roots cannot be seen: subtrees of one depth differ by
    orders of magnitude, and a GPU lists thousands of roots whatever it holds. But what
    has lasted long will last long: the best guess of what a lease has left is what it
    has explored, half of it after it has given half away. On the recorded tree of
    ta056 at 3655 and 512 seats, the open roots chose donors hardly better than chance,
    and the leaves below them neither (``python -m tests.worlds scale``).

    Seats of about one speed are a class, in the order of the time since which their
    leases count as exploring.
    """

    def __init__(self) -> None:
        self._classes: dict[int, SortedList] = {}
        self._entries: dict[LeaseId, tuple[int, float, int]] = {}

    def put(
        self, lease: LeaseId, open_roots: int, since: float, speed: float = 1.0
    ) -> None:
        """Add a lease, or note what is new of it."""
        kind = math.frexp(speed)[1]
        if self._entries.get(lease, ())[:2] != (kind, since):
            self.discard(lease)
            self._classes.setdefault(kind, SortedList()).add((since, lease))
        self._entries[lease] = kind, since, open_roots

    def discard(self, lease: LeaseId) -> None:
        """Forget a lease, if it is there."""
        if lease in self._entries:
            kind, since, _ = self._entries.pop(lease)
            self._classes[kind].remove((since, lease))

    def pop(self, least: int, now: float, age_s: float = 0.0) -> LeaseId | None:
        """Take out a richest lease; None if none is found.

        Parameters
        ----------
        least
            Open roots that it has at least.
        now, age_s
            It counts as exploring for so long at least.
        """
        best: tuple[float, LeaseId] | None = None
        for kind, leases in self._classes.items():
            for since, lease in leases.islice(stop=_LOOKS):
                if now - since < age_s:
                    break
                if self._entries[lease][2] >= least:
                    explored = math.ldexp(max(now - since, 0.0), kind)
                    if best is None or explored > best[0]:
                        best = explored, lease
                    break
        if best is None:
            return None
        self.discard(best[1])
        return best[1]


def kind_of(record: SeatRecord) -> tuple[str, str, int]:
    """Return what makes two seats alike before anything is measured."""
    device = record.seat.device
    return device.kind, device.name, device.threads


def speed_of(record: SeatRecord) -> float:
    """Nodes a second, as measured or, before that, as its kind has them."""
    device = record.seat.device
    guess = _NODES_PER_S.get(device.kind, 1e6) * max(1, device.threads)
    return record.speed or guess


def note_speed(record: SeatRecord, nodes: int, explore_s: float) -> None:
    """Take in what a lease has explored; the best one counts, as others ramp up."""
    if explore_s >= LEAST_TIME_S and nodes > 0:
        record.speed = max(record.speed, nodes / explore_s)


def much_faster(one: SeatRecord, other: SeatRecord) -> bool:
    """Whether the first seat is another class of machine than the second."""
    return speed_of(one) >= MUCH * speed_of(other)


def roots_for(takers: Sequence[SeatRecord], donor: SeatRecord, most: int) -> int:
    """How many roots a donor is to give to these seats, ``most`` to its like."""
    share = sum(map(speed_of, takers)) / speed_of(donor)
    if share * MUCH >= 1:
        return most
    return min(most, max(LEAST_GIFT * len(takers), int(most * share)))


def shares_by_speed(donated: WorkUnit, takers: Sequence[SeatRecord]) -> list[WorkUnit]:
    """Cut a donation into a unit for each seat, of sizes as their speeds.

    Neighbours in leaf order go to different seats where they can, as the sizes of
    neighbouring subtrees are alike. Each gets a root as long as there are enough.
    """
    if len(donated) <= len(takers):
        return donated.split(max(1, len(donated)))
    speeds = np.array([speed_of(taker) for taker in takers])
    free = len(donated) - len(takers)
    ends = 1 + np.arange(len(takers)) + np.rint(free * speeds.cumsum() / speeds.sum())
    # multiples of the golden section spread any number of points evenly
    spread = np.argsort(np.arange(len(donated)) * 0.6180339887498949 % 1)
    parts = np.split(spread, ends[:-1].astype(np.intp))
    return [donated.take(np.sort(part)) for part in parts]
