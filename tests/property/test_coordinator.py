"""Any order of events leads to the optimum, with exact counts, and loses no leaf.

A rule-based machine plays the shell, the seats and the network: seats come, explore,
report, donate, drain, fall silent and die; messages are lost, repeated and come late;
the scheduler is killed, and the run goes on from a checkpoint.
Workers are honest here; what liars do is in ``tests/unit/coordination``.
"""

import random
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from dpbb.coordination.format import from_bytes, to_bytes
from dpbb.coordination.messages import OrderKind
from dpbb.coordination.wire import decode_report
from dpbb.engines import explore_to_end
from dpbb.errors import StaleLeaseError
from dpbb.result import Termination
from tests.oracle import best_orders, naive_tree, trees
from tests.unit.coordination.world import (
    ENGINE,
    WeakFlowShop,
    World,
    check_books,
    check_certified,
    check_journal,
    seat_of,
    spec_of,
)

EVENTS = {}
"""Name of the method and what must hold for it to happen."""


def event(needs=lambda self: True):
    """Make a method one of the events."""

    def note(method):
        EVENTS[method.__name__] = needs
        return method

    return note


class CoordinatorMachine(RuleBasedStateMachine):
    """See the module."""

    def __init__(self):
        super().__init__()
        self.world = None
        self.n_seats = 0
        self.gone = []  # assignments whose futures are lost
        self.saves = []
        self.saved = None  # the last checkpoint, as bytes
        self.n_runs = 1

    @initialize(
        data=st.data(), n_seats=st.integers(0, 4),
        n_jobs=st.sampled_from((6, 6, 5, 6, 3, 1)),
        slack=st.sampled_from((100, 30, 10, 100, 0)), seed=st.integers(0, 99),
    )  # fmt: skip
    def open(self, data, n_seats, n_jobs, slack, seed):
        rng = random.Random(seed)
        times = tuple((rng.randint(0, 20), rng.randint(0, 20)) for _ in range(n_jobs))
        self.problem = WeakFlowShop(times, slack)
        self.best, self.best_orders = best_orders(self.problem.times)
        self.fixed, self.all_optima, self.stops = (
            data.draw(st.booleans()) for _ in range(3)
        )
        self.tree = data.draw(trees(self.problem, copies=self.all_optima or None))
        self.world = World(
            spec_of(
                self.problem, self.tree,
                permutation=min(self.best_orders) if self.fixed else None,
                all_optima=self.all_optima, units_per_seat=data.draw(st.integers(1, 3)),
                lease_timeout_s=50.0, certificate=data.draw(st.booleans()),
            )
        )  # fmt: skip
        self.coordinator = self.world.coordinator
        for _ in range(n_seats):
            self.add_seat()

    def add_seat(self):
        self.n_seats += 1
        self.coordinator.add_seat(seat_of(f"seat{self.n_seats}"), self.world.now)

    def seats(self):
        return sorted(self.coordinator.book.seats)

    def tasks(self, *, started):
        return sorted(
            seat
            for seat, task in self.world.tasks.items()
            if (task.lease is not None) == started
        )

    def pick(self, data, seats):
        return data.draw(st.sampled_from(seats))

    # -- seats ------------------------------------------------------------------

    @event(lambda self: len(self.seats()) < 5)
    def join(self, data):
        self.add_seat()

    @event(lambda self: self.seats())
    def die(self, data):
        seat = self.pick(data, self.seats())
        task = self.world.tasks.pop(seat, None)
        if task is not None:
            self.gone.append(task.assignment)
            if task.lease is not None:  # a last message may still be on its way
                self.world.mail.append(task.unanswered or task.message(full=True))
        self.coordinator.remove_seat(seat, self.world.now)

    @event(lambda self: self.seats())
    def drain(self, data):
        self.coordinator.drain_seat(self.pick(data, self.seats()), self.world.now)

    @event(lambda self: self.seats())
    def announce_again(self, data):
        seat = seat_of(self.pick(data, self.seats()))
        self.coordinator.add_seat(seat, self.world.now)

    # -- work -------------------------------------------------------------------

    def work(self, seat, n_nodes):
        """Do the usual: lease, explore, report, and do at once what the answer says."""
        if self.world.tasks[seat].lease is None:
            self.world.start(seat)
        task = self.world.tasks.get(seat)
        if task is None:
            return
        if task.unanswered is None:
            task.explore(n_nodes)
        while self.world.report(seat).kind not in (OrderKind.CONTINUE, OrderKind.DROP):
            assert seat in self.world.tasks

    def all_work(self, n_nodes):
        self.world.assign()
        for seat in list(self.world.tasks):
            self.work(seat, n_nodes)

    @event(lambda self: self.world.tasks)
    def one_works(self, data):
        seat = self.pick(data, sorted(self.world.tasks))
        self.work(seat, data.draw(st.integers(0, 8)))

    @event()
    def assign(self, data):
        self.world.assign()

    @event(lambda self: self.tasks(started=False))
    def start(self, data):
        self.world.start(self.pick(data, self.tasks(started=False)))

    @event(lambda self: self.tasks(started=True))
    def lease_again(self, data):
        """The answer to the lease was lost: before any report it is given again."""
        seat = self.pick(data, self.tasks(started=True))
        task = self.world.tasks[seat]
        asks = task.assignment, self.world.now
        known = self.coordinator.book.leases.get(task.lease.id)
        if known is None or known.seq > 0:
            with pytest.raises(StaleLeaseError):
                self.coordinator.lease(*asks)
        else:
            assert self.coordinator.lease(*asks).roots == task.lease.roots

    @event(lambda self: self.world.tasks)
    def lose_future(self, data):
        seat = self.pick(data, sorted(self.world.tasks))
        task = self.world.tasks.pop(seat)
        self.gone += [task.assignment, self.world.ended(seat, task)]

    @event(lambda self: self.gone)
    def lose_future_again(self, data):
        """What is known to be lost changes nothing when it is lost again."""
        gone = data.draw(st.sampled_from(self.gone))
        waiting = set(self.coordinator.book.waiting)
        self.coordinator.unassign(gone, self.world.now)
        assert set(self.coordinator.book.waiting) == waiting
        for seat in self.seats():
            with pytest.raises(StaleLeaseError):
                self.coordinator.lease(replace(gone, seat=seat), self.world.now)

    def kind(self, data):
        kind = data.draw(st.sampled_from(("light", "full", "donate", "last")))
        return {} if kind == "light" else {kind: True}

    # -- reports ----------------------------------------------------------------

    @event(lambda self: self.tasks(started=True))
    def report(self, data):
        """A seat may send any report at any time, asked or not."""
        seat = self.pick(data, self.tasks(started=True))
        self.world.report(seat, **self.kind(data))

    @event(lambda self: self.tasks(started=True))
    def lose_answer(self, data):
        """The report or its answer is lost; the seat will send the same one again."""
        task = self.world.tasks[self.pick(data, self.tasks(started=True))]
        message = task.unanswered or task.message(**self.kind(data))
        self.world.mail.append(message)
        if data.draw(st.booleans()):
            self.world.deliver(message)

    def may_arrive(self):
        """Messages that the network may still deliver: a seat sends one at a time."""
        return self.world.mail[-20:]

    @event(lambda self: self.world.mail)
    def deliver_again(self, data):
        """An old message comes once more, or late and for the first time."""
        message = data.draw(st.sampled_from(self.may_arrive()))
        current = decode_report(message).lease in self.coordinator.book.leases
        before = self.coordinator.book.counters, len(self.coordinator.book.units)
        order = self.world.deliver(message)
        if not current:
            assert order.kind is OrderKind.DROP
            after = self.coordinator.book.counters, len(self.coordinator.book.units)
            assert before == after

    # -- steering ---------------------------------------------------------------

    @event()
    def offer(self, data):
        jobs = data.draw(st.permutations(range(self.problem.n_jobs)))
        before, cost = self.coordinator.incumbent.value, self.problem.evaluate(jobs)
        better = before is None or cost < before
        taken = self.coordinator.offer(jobs, "guest", self.world.now)
        assert taken == (better and not self.coordinator.finished)

    @event()
    def save(self, data):
        self.saves.append(self.coordinator.request_save(self.world.now))

    @event()
    def checkpoint(self, data):
        """Whatever is open or on its way, what is written down adds up."""
        saved = self.coordinator.checkpoint(self.world.now)
        content = to_bytes(saved)
        if saved.journal is not None:
            check_journal(saved)
            check_journal(from_bytes(content, "", self.problem))
        self.saved = content

    @event(lambda self: self.saved is not None)
    def scheduler_is_killed(self, data):
        """All is gone but the last checkpoint; late messages find other leases."""
        self.n_runs += 1
        spec = replace(self.world.spec, run_id=f"run-{self.n_runs}", permutation=None)
        mail, now = self.world.mail, self.world.now
        saved = from_bytes(self.saved, "", self.problem)
        self.world = World(spec, now=now, saved=saved)
        self.world.mail = mail
        self.coordinator = self.world.coordinator
        self.gone.clear()
        self.saves.clear()
        for _ in range(data.draw(st.integers(0, 3))):
            self.add_seat()

    @event()
    def time_goes_by(self, data):
        """Fifty seconds without a report, and a lease has expired."""
        self.world.now += data.draw(st.sampled_from((0.1, 1.5, 30.0, 60.0)))
        self.coordinator.tick(self.world.now)
        self.coordinator.snapshot(self.world.now)
        assert set(self.coordinator.nudges()) <= set(self.seats())
        assert self.coordinator.nudges() == []

    # One rule for all: Hypothesis leaves some rules out for a whole example, and most
    # examples would have seats that hardly explore.
    @rule(
        data=st.data(),
        what=st.sampled_from(sorted(EVENTS)),
        then_explore=st.sampled_from((1, 2, 0)),
    )
    def happen(self, data, what, then_explore):
        """Something happens, if it can, and then all seats work a little."""
        if not self.coordinator.finished and EVENTS[what](self):
            getattr(self, what)(data)
        if then_explore:
            self.all_work(then_explore)

    # -- laws -------------------------------------------------------------------

    @invariant()
    def books_agree(self):
        if self.world is None:
            return
        coordinator = self.coordinator
        check_books(coordinator)
        assert coordinator.error is None
        assert coordinator.lower_bound <= self.best
        assert coordinator.ub >= self.best
        if coordinator.incumbent.value is not None:
            assert coordinator.incumbent.value >= self.best
            cost = self.problem.evaluate(coordinator.incumbent.permutation)
            assert cost == coordinator.incumbent.value

    def teardown(self):
        """Whatever has happened, one more seat and some time end the run."""
        if self.world is None:
            return
        for seat in self.seats():
            self.coordinator.add_seat(seat_of(seat), self.world.now)
        self.add_seat()
        if self.stops:
            self.all_work(1)
            self.coordinator.request_stop(Termination.STOPPED, self.world.now)
        outcome = self.world.run(n_nodes=3)
        self.books_agree()
        if outcome.exhausted:
            self.check_proof(outcome)
            if outcome.journal is not None:
                check_certified(self.coordinator)
        else:
            assert outcome.termination is Termination.STOPPED
            assert self.stops
        assert all(self.coordinator.save_done(token) for token in self.saves)
        if self.fixed:
            self.check_counts(outcome)

    def check_proof(self, outcome):
        assert outcome.termination is Termination.EXHAUSTED
        assert outcome.value == outcome.lower_bound == self.best
        if self.all_optima:
            found = [tuple(row) for row in outcome.optima.permutations.tolist()]
            assert len(found) == outcome.n_optima
            assert sorted(found) == sorted(self.best_orders)

    def check_counts(self, outcome):
        """With what is left they are those of the tree, to the last node (law 4)."""
        counters, ub = outcome.counters, self.best + self.all_optima
        for unit in self.coordinator.book.units.values():
            session = ENGINE.open(
                self.problem, self.tree, None, ub=ub, all_optima=self.all_optima
            )
            session.load(unit.roots)
            rest = explore_to_end(session, ub)
            counters += rest.counters
        naive = naive_tree(self.problem, self.tree, ub)
        assert counters.decomposed == len(naive.decomposed)
        assert counters.leaves == len(naive.leaves)


CHECKS = [HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large]


class TestCoordinator(CoordinatorMachine.TestCase):
    settings = settings(
        max_examples=40, stateful_step_count=50, suppress_health_check=CHECKS
    )


@pytest.mark.slow
@pytest.mark.timeout(1800)
class TestCoordinatorAtLength(CoordinatorMachine.TestCase):
    settings = settings(
        max_examples=1500, stateful_step_count=100, suppress_health_check=CHECKS
    )
