"""Which run a seat serves: equal parts, few moves, seats drained before they change.

Part of the hub: it moves seats between coordinators, and notes which runs are to be
advanced after that.
"""

from collections.abc import Callable, Sequence

from dpbb.cluster.scheduler.open_run import OpenRun
from dpbb.cluster.scheduler.seats import SeatState, SeatTable, WorkerSeats
from dpbb.coordination.messages import RunId, SeatId
from dpbb.text.names import told_apart

TURN_S = 1.0
"""With fewer seats than runs, the seats change hands this often."""

TURNS = 4
"""Rounds of turns that nodes a second of a run are an average over."""


class SeatSharing:
    """Shares the seats of a table among the open runs.

    Attributes
    ----------
    due
        Whether something changed that ``share`` should look at.
    changed
        Ordered set of runs whose coordinator is to be looked at.
    """

    def __init__(
        self, table: SeatTable, runs: dict[RunId, OpenRun], clock: Callable[[], float]
    ) -> None:
        self.due = False
        self.changed: dict[RunId, None] = {}
        self._table = table
        self._runs = runs
        self._clock = clock
        self._turn = 0
        self._turned = clock()

    def is_full(self, worker: str) -> bool:
        """Whether the worker has no thread left for a task of ours."""
        entry = self._table.workers[worker]
        if len(entry.seats) <= entry.nthreads:
            return False
        busy = sum(
            seat.run is not None and seat.id in self._runs[seat.run].tasks
            for seat in entry.seats
        )
        return busy >= entry.nthreads

    def join(self, entry: WorkerSeats) -> None:
        """Find work for the seats of a worker that is new.

        Among several runs all seats are shared anew. With a single one that would only
        find these: when thousands of workers join at once, each costs the same.
        """
        if self.due or len(self._runs) != 1:
            self.due = True
            return
        (run,) = self._runs.values()
        for seat in entry.serving(run.engines, run.excluded):
            self._take(run, seat)

    def _take(self, run: OpenRun, seat: SeatState) -> None:
        """Give a free seat to a run."""
        run.seats.add(seat.id)
        seat.run = run.id
        known = seat.for_run(run.engines)
        run.coordinator.add_seat(known, self._clock(), shown=not run.shares_with)
        self.changed[run.id] = None

    def give_up(self, run: OpenRun, seat: SeatState) -> None:
        """Take a seat from a run at once."""
        gone = seat.id not in self._table.seats
        told = gone or not run.shares_with
        run.coordinator.remove_seat(seat.id, self._clock(), lost=gone, shown=told)
        run.seats.discard(seat.id)
        run.leaving.discard(seat.id)
        seat.run = None
        # a seat that is gone with its worker leaves a single run nothing to share
        self.due |= len(self._runs) > 1 or not gone or self._table.moved_up
        self.changed[run.id] = None

    def let_go_if_idle(self, seat: SeatState | None) -> None:
        """Take a seat from the run that it waits in, so that it can be moved."""
        if seat is None or seat.run is None:
            return
        run = self._runs[seat.run]
        if seat.id not in run.tasks:
            self.give_up(run, seat)

    def take_away(self, run: OpenRun, seat: SeatState) -> None:
        """Take a seat from a run as soon as it has given back its unit."""
        if seat.id not in run.tasks:
            self.give_up(run, seat)
            return
        run.leaving.add(seat.id)
        run.coordinator.drain_seat(seat.id, self._clock())
        self.changed[run.id] = None

    def share(self) -> None:
        """Share the seats among the open runs that can use them."""
        self.due = self._table.moved_up = False
        now = self._clock()
        if now - self._turned >= TURN_S:
            self._turn += 1
            self._turned = now
        users: dict[SeatId, list[RunId]] = {}
        for run_id, run in self._runs.items():
            for seat in self._table.usable_by(run.engines, run.excluded):
                users.setdefault(seat.id, []).append(run_id)
        groups: dict[tuple[RunId, ...], list[SeatState]] = {}
        for seat_id, run_ids in users.items():
            groups.setdefault(tuple(run_ids), []).append(self._table.seats[seat_id])
        in_turns: dict[RunId, set[RunId]] = {}
        for group, seats in groups.items():
            runs = [self._runs[run_id] for run_id in group]
            hungry = self._share_group(runs, seats)
            if len(seats) < len(hungry):
                for run in hungry:
                    in_turns.setdefault(run.id, set()).update(r.id for r in hungry)
        for run_id, run in self._runs.items():
            self._tell_turns(run, in_turns.get(run_id, set()) - {run_id}, now)

    def _tell_turns(self, run: OpenRun, others: set[RunId], now: float) -> None:
        """Tell people with which runs this one takes turns, when that has changed."""
        with_whom = tuple(other for other in self._runs if other in others)
        if with_whom == run.shares_with:
            return
        known = {one.id: one.coordinator.spec.instance for one in self._runs.values()}
        called = told_apart(known)
        names = [called[other] for other in with_whom]
        run.shares_with, run.shares_names = with_whom, tuple(names)
        text = "has workers of its own again"
        if names:
            more = f" and {len(names) - 3:,} more" if len(names) > 3 else ""
            text = f"fewer workers than runs: takes turns with {', '.join(names[:3])}"
            text += more
        run.coordinator.events.add(now, "shared", text)
        # a run that waits for its turn is no slower than one that has it
        round_s = TURNS * TURN_S * (len(names) + 1)
        meter = run.coordinator.meter
        meter.window_s = max(meter.least_s, round_s)

    def _share_group(
        self, runs: list[OpenRun], seats: list[SeatState]
    ) -> list[OpenRun]:
        """Share seats that the same runs can use; return the runs that want any."""
        free = [seat for seat in seats if seat.run is None]
        settled = [run.settled for run in runs]  # sets: made once, not for each seat
        held = [[seat for seat in seats if seat.id in mine] for mine in settled]
        coming = len(seats) - len(free) - sum(map(len, held))
        demands = [
            len(mine) + run.coordinator.wanted_seats()
            for run, mine in zip(runs, held, strict=True)
        ]
        if len(runs) == 1:  # a seat is better idle in a run than out of it
            demands = [len(seats)]
        shares = fair_shares(demands, len(seats), self._turn)
        steps = moves([len(mine) for mine in held], shares, len(free), coming)
        for run, mine, (take, give) in zip(runs, held, steps, strict=True):
            for seat in free[:take]:
                self._take(run, seat)
            del free[:take]
            tasks = run.tasks
            for seat in sorted(mine, key=lambda seat: seat.id in tasks)[:give]:
                self.take_away(run, seat)
        pairs = zip(runs, demands, strict=True)
        return [run for run, demand in pairs if demand]


def fair_shares(demands: Sequence[int], seats: int, turn: int = 0) -> list[int]:
    """Share seats in equal parts, none above a run's demand.

    Parameters
    ----------
    demands
        Seats that each run can feed, oldest run first.
    turn
        The odd seats that cannot be shared go to the oldest runs, unless there are
        fewer seats than runs: then to the runs from this one on, in a circle, so that
        they take turns.

    Returns
    -------
    list of int
        Sums to ``min(seats, sum(demands))``.
    """
    shares = [0] * len(demands)
    left = min(seats, sum(demands))
    while left:
        hungry = [i for i, demand in enumerate(demands) if shares[i] < demand]
        each = left // len(hungry)
        if not each:
            first = turn % len(hungry) if seats < len(hungry) else 0
            for i in (hungry[first:] + hungry[:first])[:left]:
                shares[i] += 1
            break
        for i in hungry:
            given = min(each, demands[i] - shares[i])
            shares[i] += given
            left -= given
    return shares


def moves(
    held: Sequence[int], shares: Sequence[int], free: int, coming: int
) -> list[tuple[int, int]]:
    """Find the way from what the runs hold to their shares that disturbs the fewest.

    Returns how many of the free seats each run gets, and how many it gives up.

    Parameters
    ----------
    held
        Seats of every run, without those that it is about to give up.
    shares
        What each should have.
    free
        Seats of no run.
    coming
        Seats that will soon be free.
    """
    missing = [max(0, share - mine) for share, mine in zip(shares, held, strict=True)]
    wanted = max(0, sum(missing) - free - coming)
    steps = []
    for share, mine, lacking in zip(shares, held, missing, strict=True):
        taken = min(free, lacking)
        given = min(wanted, max(0, mine - share))
        free -= taken
        wanted -= given
        steps.append((taken, given))
    return steps
