"""One event at a time: what the coordinator answers, and whom it makes do what."""

from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest

from dpbb.coordination import book
from dpbb.coordination.coordinator import STOP_GRACE_S, STOP_NEW_S
from dpbb.coordination.ledger import check_report
from dpbb.coordination.messages import Assignment, OrderKind, UnitId
from dpbb.coordination.snapshot import RunState
from dpbb.coordination.wire import decode_report, encode
from dpbb.engines.base import Candidate
from dpbb.errors import InvariantError, OptionError, StaleLeaseError
from dpbb.options import BranchingRule, TreeOptions
from dpbb.result import Termination
from tests.oracle import Partial, best_orders
from tests.unit.coordination.world import (
    World,
    check_books,
    deliver,
    optimum,
    seat_of,
    spec_of,
    tiny,
)
from tests.waiting import WaitingJobs

LARGE = tiny(6, slack=100)  # 517 decomposed nodes, 720 leaves: nothing is pruned
BEST, BEST_ORDERS = best_orders(LARGE.times)


def busy_world(seats=("a",), nodes=20, **changes):
    """Return a world in which every seat has leased, explored and reported.

    The first seat gets the whole tree, the others get donations.
    """
    world = World(spec_of(LARGE, **changes), seats=seats)
    for _ in range(100):
        world.assign()
        for seat, task in list(world.tasks.items()):
            if task.lease is None:
                world.start(seat)
                task.explore(nodes)
            world.report(seat)
        if len(world.tasks) == len(seats):
            break
    world.coordinator.nudges()
    return world


def fill(world):
    """Give whatever waits to new seats, which have not reported yet."""
    while world.coordinator.book.waiting:
        name = f"new{len(world.tasks)}"
        world.coordinator.add_seat(seat_of(name), world.now)
        world.assign()
        world.start(name)


def units_of(world):
    return world.coordinator.book.units


# -- start ----------------------------------------------------------------------


def test_tree_is_not_cut_blindly():
    """Most parts would be pruned at once: the first seat donates instead."""
    world = World(spec_of(LARGE), seats=["a", "b", "c"])
    world.assign()
    assert set(world.tasks) == {"a"}
    assert not world.coordinator.nudges()  # nobody has leased anything yet
    world.start("a")
    world.assign()
    assert world.coordinator.nudges() == ["a"]


def test_waiting_roots_are_dealt_out_to_idle_seats():
    """What waits, or is not leased yet, is shared before anybody is asked to donate."""
    world = busy_world(["a"])
    world.report("a", full=True)
    roots = len(world.tasks["a"].session.remaining())
    world.coordinator.remove_seat("a", world.now)
    for name in ("b", "c", "d"):
        world.coordinator.add_seat(seat_of(name), world.now)
        world.assign()
    assert set(world.tasks) == {"a", "b", "c", "d"}
    assert not world.coordinator.nudges()
    lengths = [len(unit.roots) for unit in units_of(world).values()]
    assert (len(lengths), sum(lengths)) == (3, roots)
    check_books(world.coordinator)


# -- proof ----------------------------------------------------------------------


def test_start_permutation_above_the_cutoff_is_not_proved_optimal():
    """Nothing below the cutoff exists; between both there may be something."""
    problem = tiny(5)
    best = optimum(problem)
    cost = problem.evaluate(range(5))
    assert cost > best
    spec = spec_of(problem, permutation=tuple(range(5)), upper_bound=best)
    outcome = World(spec, seats=["a"]).run()
    assert outcome.exhausted
    assert (outcome.value, outcome.lower_bound) == (cost, best)


def test_lower_bound_is_the_least_of_the_open_units():
    problem = tiny(6, slack=3)
    world = World(spec_of(problem), seats=["a", "b", "c"])
    root = world.coordinator.lower_bound
    bounds = [root]
    while not world.coordinator.finished:
        world.round(n_nodes=3)
        for seat in list(world.tasks):
            if world.tasks[seat].lease is not None:
                world.report(seat, full=True)
        units = units_of(world).values()
        least = min((unit.least_lb for unit in units), default=10**9)
        best = world.coordinator.incumbent.value or problem.trivial_ub
        assert world.coordinator.lower_bound == min(least, best)
        bounds.append(world.coordinator.lower_bound)
    assert bounds == sorted(bounds)  # it only rises
    assert bounds[0] < bounds[-1] == optimum(problem)


def test_light_reports_raise_the_lower_bound_and_no_loss_lowers_it():
    problem = tiny(6, slack=3)
    world = World(spec_of(problem), seats=["a"])
    world.assign()
    world.start("a")
    root = world.coordinator.lower_bound
    while world.coordinator.lower_bound == root:
        world.tasks["a"].explore(1)
        assert world.report("a").kind is OrderKind.CONTINUE
    (unit,) = units_of(world).values()
    raised = world.coordinator.lower_bound
    assert unit.least_lb == root < raised == unit.shown_lb <= optimum(problem)
    world.coordinator.remove_seat("a", world.now)
    assert world.coordinator.lower_bound == raised
    world.tasks.clear()
    world.coordinator.add_seat(seat_of("b"), world.now)
    outcome = world.run()
    assert outcome.lower_bound == outcome.value == optimum(problem)


# -- reports --------------------------------------------------------------------


def test_repeated_report_gets_the_stored_answer_and_counts_once():
    world = busy_world()
    message = world.tasks["a"].message(full=True)
    first = deliver(world.coordinator, message, world.now)
    counters = world.coordinator.book.counters
    world.coordinator.offer(min(BEST_ORDERS), "guest", world.now)  # the UB falls
    assert deliver(world.coordinator, message, world.now) == first
    assert world.coordinator.book.counters is counters


def test_report_after_a_gap_is_an_invariant_error():
    world = busy_world()
    world.tasks["a"].seq += 1
    message = world.tasks["a"].message()
    with pytest.raises(InvariantError, match=r"expected report 2 .* got 3"):
        deliver(world.coordinator, message, world.now)
    assert world.coordinator.state is RunState.FAILED


def test_report_checked_against_an_older_one_is_an_invariant_error():
    world = busy_world()
    basis = world.coordinator.basis(world.tasks["a"].lease.id, 2)
    world.report("a", full=True)
    world.tasks["a"].explore(3)
    report = decode_report(world.tasks["a"].message(full=True))
    checked = check_report(basis, report)
    world.coordinator.on_report(report, checked, world.now)
    assert "not checked against" in world.coordinator.error


@pytest.mark.parametrize("stale", [False, True])
def test_lying_permutation_fails_the_run(stale):
    world = busy_world()
    report = decode_report(world.tasks["a"].message())
    order = np.array(min(BEST_ORDERS))
    report = replace(report, best=Candidate(BEST - 1, order))
    if stale:
        world.coordinator.remove_seat("a", world.now)
    with pytest.raises(InvariantError, match="was claimed"):
        deliver(world.coordinator, encode(report), world.now)
    assert "was claimed" in world.coordinator.error


def test_permutation_below_the_lower_bound_fails_the_run():
    """A bound was wrong then, and nothing that was pruned can be trusted."""
    world = busy_world()
    report = decode_report(world.tasks["a"].message(full=True))
    report = replace(report, least_lb=BEST + 1)  # every open root, it says
    checked = check_report(world.coordinator.basis(report.lease, report.seq), report)
    world.coordinator.on_report(report, checked, world.now)
    with pytest.raises(InvariantError, match=f"cost {BEST} is below the lower bound"):
        world.coordinator.offer(min(BEST_ORDERS), "guest", world.now)
    assert world.coordinator.finished


def test_liar_fails_the_run_and_its_unit_stays_as_of_the_last_true_report():
    world = busy_world(["a", "b"])
    world.report("a", full=True)
    before = world.coordinator.book.counters
    world.tasks["a"].explore(5)
    report = decode_report(world.tasks["a"].message(full=True))
    message = encode(
        replace(report, full=replace(report.full, closed=report.full.closed + 1))
    )
    with pytest.raises(InvariantError):
        deliver(world.coordinator, message, world.now)
    coordinator = world.coordinator
    check_books(coordinator)
    assert (coordinator.state, coordinator.finished) == (RunState.FAILED, True)
    assert coordinator.book.counters is before
    assert set(coordinator.nudges()) == {"a", "b"}
    assert world.report("b", full=True).kind is OrderKind.DROP
    outcome = coordinator.outcome()
    assert not outcome.exhausted
    assert "closed leaves" in outcome.error
    assert coordinator.snapshot(world.now).error == outcome.error
    assert coordinator.idle_seats() == []


def test_units_that_vanish_are_an_invariant_error():
    """Closed leaves must make up n! when nothing is open."""
    world = busy_world()
    book = world.coordinator.book
    closed = book.counters.closed.copy()
    book.counters = replace(book.counters, closed=closed - 1)
    with pytest.raises(InvariantError, match="no units are left"):
        world.run(n_nodes=100)
    assert world.coordinator.state is RunState.FAILED


# -- leases ---------------------------------------------------------------------


@pytest.mark.parametrize("how", ["unit", "attempt", "seat", "reported", "stopped"])
def test_stale_lease(how):
    world = World(spec_of(LARGE), seats=["a"])
    world.assign()
    given = Assignment(UnitId(1), 1, "a")
    match how:
        case "unit":
            given = replace(given, unit=UnitId(9))
        case "attempt":
            world.coordinator.unassign(given, world.now)
            world.assign()  # the same seat has the unit again
        case "seat":
            world.coordinator.add_seat(seat_of("b"), world.now)
            given = replace(given, seat="b")
        case "reported":
            world.start("a")
            world.report("a")
        case "stopped":
            world.coordinator.request_stop(Termination.STOPPED, world.now)
    with pytest.raises(StaleLeaseError):
        world.coordinator.lease(given, world.now)


def test_silent_seat_loses_its_lease_and_works_again_when_it_is_heard():
    world = busy_world(["a"], lease_timeout_s=10.0)
    world.now += 9.0
    world.coordinator.tick(world.now)
    assert not world.coordinator.nudges()
    world.now += 1.0
    world.coordinator.tick(world.now)
    assert world.coordinator.nudges() == ["a"]
    assert world.coordinator.idle_seats() == []  # it may hang
    assert world.coordinator.snapshot(world.now).requeues == 1
    assert world.report("a", full=True).kind is OrderKind.DROP
    assert world.coordinator.idle_seats() == ["a"]
    assert world.run(n_nodes=50).exhausted


@pytest.mark.parametrize("heard", ["unassign", "lease", "seat"])
def test_silent_assignment_ends_as_well(heard):
    """Its future may never have started."""
    world = World(spec_of(LARGE, lease_timeout_s=10.0), seats=["a"])
    world.assign()
    given = world.tasks["a"].assignment
    world.now += 10.0
    world.coordinator.tick(world.now)
    assert world.coordinator.idle_seats() == []
    if heard == "unassign":
        world.coordinator.unassign(given, world.now)
    elif heard == "lease":
        with pytest.raises(StaleLeaseError):
            world.coordinator.lease(given, world.now)
    else:
        world.coordinator.remove_seat("a", world.now)
        world.coordinator.add_seat(seat_of("a"), world.now)
        world.coordinator.unassign(given, world.now)
    assert world.coordinator.idle_seats() == ["a"]


def test_unit_that_kills_every_seat_fails_the_run(monkeypatch):
    monkeypatch.setattr(book, "MAX_LOSSES", 3)
    world = World(spec_of(LARGE))
    for number in range(3):
        world.coordinator.add_seat(seat_of(f"s{number}"), world.now)
        world.assign()
        world.start(f"s{number}")
        assert world.coordinator.error is None
        world.coordinator.remove_seat(f"s{number}", world.now)
    assert "unit 1 was lost 3 times in a row" in world.coordinator.error


def test_full_report_makes_good_for_losses(monkeypatch):
    """Only losses in a row are counted: a unit that moves on is not hopeless."""
    monkeypatch.setattr(book, "MAX_LOSSES", 2)
    world = World(spec_of(LARGE))
    for number in range(4):
        seat = f"s{number}"
        world.coordinator.add_seat(seat_of(seat), world.now)
        world.assign()
        world.start(seat)
        world.report(seat, full=True)
        world.coordinator.remove_seat(seat, world.now)
    assert world.coordinator.state is RunState.RUNNING
    assert world.coordinator.snapshot(world.now).requeues == 4


# -- donation -------------------------------------------------------------------


def test_donated_unit_inherits_the_lower_bound():
    problem = tiny(6, slack=3)
    world = World(spec_of(problem), seats=["a"])
    root = world.coordinator.lower_bound
    world.assign()
    world.start("a")
    task = world.tasks["a"]
    while task.slice.least_lb <= root or task.slice.open_roots < 2:
        task.explore(1)
    least_lb = task.slice.least_lb
    world.report("a", donate=True)
    giver, given = units_of(world).values()
    assert (giver.least_lb, giver.shown_lb) == (root, least_lb)  # if it is lost: root
    assert given.least_lb == least_lb
    assert root < world.coordinator.lower_bound <= least_lb


def test_donor_that_does_not_answer_is_not_waited_for():
    world = busy_world(["a", "b"])
    fill(world)
    world.coordinator.add_seat(seat_of("idle"), world.now)
    world.assign()
    (first,) = world.coordinator.nudges()
    world.now += 1.0
    world.coordinator.tick(world.now)
    assert world.coordinator.nudges() == []
    world.now += 1.5
    world.coordinator.tick(world.now)
    (second,) = world.coordinator.nudges()
    assert second != first


# -- orders ---------------------------------------------------------------------


def test_orders_in_the_order_of_their_weight():
    world = busy_world(["a"])
    coordinator = world.coordinator
    token = coordinator.request_save(world.now)
    assert world.coordinator.nudges() == ["a"]
    assert world.report("a").kind is OrderKind.SAVE
    coordinator.add_seat(seat_of("b"), world.now)
    world.assign()
    world.tasks["a"].order = None  # light reports again, whatever was ordered
    assert world.report("a").kind is OrderKind.DONATE
    coordinator.drain_seat("a", world.now)
    world.tasks["a"].order = None
    assert world.report("a").kind is OrderKind.DRAIN
    coordinator.request_stop(Termination.STOPPED, world.now)
    world.tasks["a"].order = None
    assert world.report("a").kind is OrderKind.STOP
    assert not coordinator.save_done(token)
    assert world.report("a").kind is OrderKind.DROP
    assert coordinator.save_done(token)
    assert coordinator.finished


def test_a_checkpoint_knows_until_when_all_work_is_in_it():
    world = busy_world(["a", "b"])
    began = world.now
    assert world.coordinator.checkpoint(
        world.now
    ).covered_s <= world.coordinator.seconds(began)
    world.now += 10
    world.report("a", full=True)
    world.now += 5
    saved = world.coordinator.checkpoint(world.now)
    # b has reported nothing in full since it was given its unit
    assert saved.covered_s <= world.coordinator.seconds(began)
    assert saved.totals.seconds >= saved.covered_s + 15
    world.report("b", full=True)
    world.now += 1
    saved = world.coordinator.checkpoint(world.now)
    assert saved.totals.seconds - saved.covered_s == pytest.approx(6, abs=1)


# -- offers ---------------------------------------------------------------------


def test_a_tree_that_is_not_whole_is_exhausted():
    """Children that do not exist are closed, and are in no lower bound."""
    after = (frozenset(), {0}, {0}, {1}, {2, 3}, {0})
    jobs = WaitingJobs((4, 2, 7, 3, 5, 1), (1, 6, 2, 9, 3, 4), (99,) * 6, after)
    orders = [Partial(order) for order in permutations(range(6))]
    best = min(jobs.cost(order) for order in orders if jobs.exists(order))
    for sides, rule in ((("front", "back"), "minmin"), (("front",), "front")):
        problem = replace(jobs, sides=sides)
        tree = TreeOptions(BranchingRule(rule))
        world = World(spec_of(problem, tree), seats=["a", "b"])
        lower = []
        while not world.coordinator.finished:
            world.round()
            check_books(world.coordinator)
            lower.append(world.coordinator.snapshot(world.now).lower_bound)
        assert max(lower) <= best
        outcome = world.coordinator.outcome()
        assert (outcome.exhausted, outcome.value) == (True, best)


def test_offer_of_an_order_without_a_cost_is_refused_and_harmless():
    jobs = WaitingJobs((4, 2), (1, 6), (99,) * 2, (frozenset(), {0}))
    world = World(spec_of(jobs), seats=["a"])
    with pytest.raises(OptionError, match="permutation: expected an order of a leaf"):
        world.coordinator.offer([1, 0], "guest", world.now)
    assert world.coordinator.state is RunState.RUNNING


# -- end ------------------------------------------------------------------------


def test_stop_without_a_lease_ends_at_once():
    world = World(spec_of(LARGE), seats=["a"])
    world.assign()  # only assigned
    world.coordinator.request_stop(Termination.TIME_LIMIT, world.now)
    outcome = world.coordinator.outcome()
    assert (outcome.termination, outcome.exhausted) == (Termination.TIME_LIMIT, False)
    world.start("a")
    assert not world.tasks


def test_stop_ends_when_all_leases_are_back_and_the_first_reason_holds():
    world = busy_world(["a", "b"])
    world.coordinator.request_stop(Termination.NODE_LIMIT, world.now)
    world.coordinator.request_stop(Termination.STOPPED, world.now)
    assert set(world.coordinator.nudges()) == {"a", "b"}
    assert world.coordinator.state is RunState.STOPPING
    assert world.report("a").kind is OrderKind.STOP
    assert world.report("a").kind is OrderKind.DROP
    assert not world.coordinator.finished
    world.coordinator.remove_seat("b", world.now)
    outcome = world.coordinator.outcome()
    assert outcome.termination is Termination.NODE_LIMIT
    check_books(world.coordinator)


def test_stop_does_not_wait_for_a_seat_that_hangs_or_still_compiles():
    compiling = World(spec_of(LARGE), ["a"])
    compiling.assign()
    compiling.start("a")
    hanging = busy_world(["a"], lease_timeout_s=1000.0)
    for world, grace in (hanging, STOP_GRACE_S), (compiling, STOP_NEW_S):
        world.now += 5
        world.coordinator.request_stop(Termination.STOPPED, world.now)
        world.now += grace - 0.5
        world.coordinator.tick(world.now)
        assert not world.coordinator.finished
        world.now += 0.6
        world.coordinator.tick(world.now)
        assert world.coordinator.finished


def stop_with_many_roots(**options):
    world = busy_world(["a", "b"], **options)
    for lease in world.coordinator.book.leases.values():
        world.tasks[lease.seat.id].explore(50)
    world.coordinator.request_stop(Termination.STOPPED, world.now)
    return world


def test_stop_asks_for_no_list_that_nobody_can_use(monkeypatch):
    monkeypatch.setattr("dpbb.coordination.coordinator.LISTED_AT_STOP", 0)
    world = stop_with_many_roots()
    assert [world.report(seat).kind for seat in "ab"] == [OrderKind.DROP] * 2
    outcome = world.coordinator.outcome()
    assert outcome.termination is Termination.STOPPED
    ledger = world.coordinator.book.counters
    assert outcome.counters.decomposed > ledger.decomposed
    assert world.deliver(world.mail[-1]).kind is OrderKind.DROP  # a repeated report
    again = world.coordinator.outcome().counters
    assert again.decomposed == outcome.counters.decomposed
    check_books(world.coordinator)


def test_stop_during_the_last_report_is_still_a_proof():
    world = busy_world(["a"])
    world.tasks["a"].explore(5000)
    world.coordinator.request_stop(Termination.STOPPED, world.now)
    world.report("a")
    assert world.coordinator.outcome().termination is Termination.EXHAUSTED
