"""A task that goes on with the unit that came with its last answer: one future."""

import numpy as np
import pytest

from dpbb.cluster.scheduler.handover import PARK_S
from dpbb.cluster.scheduler.open_run import UNIT_FAILURES
from dpbb.coordination.ledger import check_report
from dpbb.coordination.messages import FullReport, OrderKind, Report
from dpbb.errors import InvariantError
from dpbb.result import Termination
from dpbb.tree.work_unit import WorkUnit
from tests.unit.cluster.support import FakeLink, World, seat_message, tiny_spec

N_JOBS = 8


class Chain:
    """A hub with a run of two units: one that seat a explores, one that waits."""

    def __init__(self, nthreads=1, seats=1):
        self.world, self.spec = World(), tiny_spec(n_jobs=N_JOBS, upper_bound=999)
        self.hub = self.world.hub
        self.run = self.world.open(self.spec)
        self.hub.hello(
            "a", nthreads, [seat_message("a", index=i) for i in range(seats)]
        )
        (self.key,) = self.world.shell.futures
        self.head = self.world.shell.futures[self.key]
        self.lease = self.hub.lease(self.spec.run_id, *self.key[1:], self.head.seat)
        self.link = FakeLink(self.hub, self.spec.run_id, self.world.clock)
        self._split()

    def _split(self):
        """Close nothing, donate all but the first two children of the root."""
        first = WorkUnit.from_paths(N_JOBS, [(0,), (1,)])
        rest = WorkUnit.from_paths(N_JOBS, [(job,) for job in range(2, N_JOBS)])
        closed = np.zeros(N_JOBS + 1, np.int64)
        self.link.report(self._report(1, FullReport(closed, first, rest, last=False)))

    def _report(self, seq, full):
        return Report(self.lease.id, seq, 1, 0, 2, None, None, full=full)

    def last(self, seq=2):
        """Return the report that the two children are closed."""
        closed = np.zeros(N_JOBS + 1, np.int64)
        closed[1] = 2
        nothing = WorkUnit.empty(N_JOBS)
        return self._report(seq, FullReport(closed, nothing, nothing, last=True))

    def checked(self):
        """Return what a thread makes of the last report."""
        return check_report(self.run.coordinator.basis(self.lease.id), self.last())

    def finish_unit(self):
        return self.link.report(self.last())


def test_one_future_for_a_chain_of_units():
    """The seat stays busy, and nothing is submitted or let go."""
    chain = Chain()
    order = chain.finish_unit()
    assert order.kind is OrderKind.DROP
    assert order.next is not None
    assert [task.named for task in chain.run.tasks.values()] == [chain.head]
    assert list(chain.world.shell.futures) == [chain.key]
    assert chain.world.shell.released == []
    assert chain.hub.busy_workers() == {"a"}
    assert chain.run.lease_seats == {order.next.id: chain.head.seat}


def test_end_of_the_future_gives_back_the_unit_that_it_was_at():
    chain = Chain()
    order = chain.finish_unit()
    chain.world.shell.futures.clear()
    chain.hub.ended(chain.spec.run_id, chain.head, None)
    ((_, unit, attempt),) = chain.world.shell.futures
    assert (unit, attempt) == (order.next.unit, order.next.attempt + 1)
    chain.world.finish(chain.spec)
    assert chain.hub.result(chain.spec.run_id).outcome.exhausted


def test_lost_worker_loses_the_unit_that_its_task_was_at():
    """The future is let go under the name that it has."""
    chain = Chain()
    order = chain.finish_unit()
    chain.hub.remove_worker("a")
    assert chain.world.shell.released == [chain.head]
    assert (chain.run.tasks, chain.run.lease_seats) == ({}, {})
    chain.world.join("b")
    assert order.next.unit in {key[1] for key in chain.world.shell.futures}


def test_failed_task_counts_against_the_unit_that_it_was_at():
    chain = Chain()
    order = chain.finish_unit()
    chain.hub.ended(chain.spec.run_id, chain.head, "ValueError: no")
    assert dict(chain.run.unit_failures) == {order.next.unit: 1}
    assert UNIT_FAILURES > 1


def test_retired_worker_gets_no_other_unit():
    """It is about to close."""
    chain = Chain()
    chain.hub.retire(["a"])
    assert chain.finish_unit().next is None
    assert chain.hub.busy_workers() == set()


def test_seat_that_another_run_is_due_gets_no_other_unit():
    """Runs share in equal parts, also when units follow each other."""
    chain = Chain()
    other = tiny_spec(7, N_JOBS)
    chain.world.open(other)
    chain.world.clock.now += 2.0
    chain.hub.tick()
    order = chain.finish_unit()
    assert order.next is None
    assert [key[0] for key in chain.world.shell.futures if key != chain.key] == [
        other.run_id
    ]


def test_seats_that_wait_for_a_thread_get_their_turn():
    """With fewer threads than seats a chain would keep the others out for ever."""
    chain = Chain(nthreads=1, seats=2)
    assert chain.finish_unit().next is None


def test_repeated_last_report_frees_nothing_that_came_after():
    """The seat has another task by then."""
    chain = Chain()
    chain.hub.table.workers["a"].nthreads = 0  # no chain
    chain.finish_unit()
    chain.hub.table.workers["a"].nthreads = 1
    chain.hub.ended(chain.spec.run_id, chain.head, None)
    (now,) = chain.run.tasks.values()
    assert now.named != chain.head
    assert chain.link.report(chain.last()).kind is OrderKind.DROP
    assert list(chain.run.tasks.values()) == [now]


def test_lie_about_a_unit_gets_none():
    """The run has failed."""
    chain = Chain()
    bad = chain.last()
    bad.full.closed[1] = 3
    with pytest.raises(InvariantError):
        chain.link.report(bad)


# -- tasks that wait for a unit ---------------------------------------------------


def parked_chain():
    """Return a chain with a second worker, b, that holds the unit that waited."""
    chain = Chain()
    chain.world.join("b")
    (key,) = set(chain.world.shell.futures) - {chain.key}
    chain.other = chain.world.shell.futures[key]
    chain.hub.lease(chain.spec.run_id, key[1], key[2], chain.other.seat)
    order = chain.hub.on_report(chain.spec.run_id, chain.last(), chain.checked())
    assert order.kind is OrderKind.WAIT
    return chain


def test_task_waits_when_nothing_does_and_gets_what_comes():
    """Without a new future; it counts as idle meanwhile."""
    chain = parked_chain()
    assert chain.hub.busy_workers() == {"b"}
    assert not chain.world.shell.answers
    chain.hub.remove_worker("b")
    ((lease, order),) = chain.world.shell.answers
    assert lease == chain.lease.id
    assert order.next.unit == chain.other.unit
    assert chain.hub.busy_workers() == {"a"}
    assert chain.run.exploring == {"a/cpu0"}
    assert set(chain.world.shell.futures) == {chain.key}


def test_task_that_waited_for_long_ends():
    """The thread is the worker's; the seat gets a future when there is a unit."""
    chain = parked_chain()
    chain.world.clock.now += PARK_S / 2
    chain.hub.tick()
    assert not chain.world.shell.answers
    chain.world.clock.now += PARK_S
    chain.hub.tick()
    ((lease, order),) = chain.world.shell.answers
    assert (lease, order.kind, order.next) == (chain.lease.id, OrderKind.DROP, None)
    chain.hub.ended(chain.spec.run_id, chain.head, None)
    del chain.world.shell.futures[chain.key]
    chain.hub.remove_worker("b")
    assert [a.seat for a in chain.world.shell.futures.values()] == [chain.head.seat]


def test_repeated_report_of_a_task_that_waits_waits_too():
    """Both get the same answer; what comes after it gets the lease again."""
    chain = parked_chain()
    again = chain.hub.on_report(chain.spec.run_id, chain.last(), None)
    assert again.kind is OrderKind.WAIT
    chain.hub.remove_worker("b")
    ((_, order),) = chain.world.shell.answers
    late = chain.hub.on_report(chain.spec.run_id, chain.last(), None)
    assert late.next.id == order.next.id


@pytest.mark.parametrize(
    "leave",
    [
        lambda hub, chain: hub.retire(["a"]),
        lambda hub, chain: hub.remove_worker("a"),
        lambda hub, chain: hub.fail(chain.spec.run_id, "enough"),
        lambda hub, chain: hub.hello("a", 1, [seat_message("a")]),
        lambda hub, chain: hub.ended(chain.spec.run_id, chain.head, None),
    ],
)
def test_task_that_waits_is_sent_home(leave):
    """When its worker is retired or lost, at a restart, when run or task end."""
    chain = parked_chain()
    leave(chain.hub, chain)
    ((lease, order),) = chain.world.shell.answers
    assert (lease, order.kind, order.next) == (chain.lease.id, OrderKind.DROP, None)
    assert "a" not in chain.hub.busy_workers() or len(chain.world.shell.futures) > 1


def test_seat_whose_task_waits_goes_to_another_run_first():
    """Rather than one that explores."""
    chain = parked_chain()
    other = tiny_spec(7, N_JOBS)
    chain.world.open(other)
    run = chain.hub.runs[other.run_id]
    assert run.seats == {chain.head.seat}
    assert len(chain.world.shell.answers) == 1


def test_run_stops_while_tasks_wait():
    chain = parked_chain()
    now = chain.world.clock.now
    chain.run.coordinator.request_stop(Termination.STOPPED, now)
    chain.hub.ended(chain.spec.run_id, chain.other, None)
    assert chain.spec.run_id in chain.hub.finished
    assert len(chain.world.shell.answers) == 1
