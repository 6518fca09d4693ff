"""Runs, seats, and who works for whom, without Dask."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpbb.cluster.scheduler import hub as hub_module
from dpbb.cluster.scheduler.open_run import SEAT_FAILURES
from dpbb.cluster.scheduler.sharing import TURN_S
from dpbb.coordination import book
from dpbb.coordination.snapshot import RunState
from dpbb.errors import InvariantError, StaleLeaseError
from dpbb.result import Termination
from tests.unit.cluster.support import World, tiny_spec, whole_tree


def held(world, spec):
    return len(world.hub.runs[spec.run_id].seats)


def test_run_starts_with_the_first_seat():
    """And ends without leaving anything at seats and workers."""
    world, spec = World(), tiny_spec()
    world.open(spec)
    assert not world.shell.futures
    world.join("a")
    assert len(world.shell.futures) == 1
    world.finish(spec)
    result = world.hub.result(spec.run_id)
    assert result.outcome.exhausted
    assert result.snapshot.state is RunState.FINISHED
    assert world.hub.table.seats["a/cpu0"].run is None
    assert world.shell.forgotten == [("a", spec.run_id)]
    assert not world.shell.futures
    assert spec.run_id in world.shell.changes


def test_lost_worker_requeues_its_unit():
    """Its future is let go, and another seat gets the unit under a new attempt."""
    world, spec = World(), tiny_spec()
    world.open(spec)
    world.join("a")
    ((key, assignment),) = world.shell.futures.items()
    world.hub.lease(spec.run_id, assignment)
    world.hub.remove_worker("a")
    assert not world.shell.futures
    assert [assignment.seat for assignment in world.shell.released] == ["a/cpu0"]
    world.join("b")
    ((_, unit, attempt),) = world.shell.futures
    assert (unit, attempt) == (key[1], key[2] + 1)
    with pytest.raises(StaleLeaseError):
        world.hub.lease(spec.run_id, assignment)
    world.finish(spec)
    assert world.hub.result(spec.run_id).outcome.totals.requeues == 1
    assert world.hub.result(spec.run_id).snapshot.seats_lost == 1


def test_two_runs_share_in_equal_parts():
    """The first gives up two of four seats, and gets them back at the end."""
    world = World()
    first, second = tiny_spec(1, 8), tiny_spec(2, 8)
    world.open(first)
    for name in "abcd":
        world.join(name)
    assert held(world, first) == 4
    world.open(second)
    for _ in range(3):  # idle seats go at once, busy ones when they have drained
        world.hub.tick()
        for key in list(world.shell.futures):
            if key[0] == first.run_id:
                world.work(first, key, stop_after=1)
    assert (held(world, first), held(world, second)) == (2, 2)
    seen = world.hub.runs[first.run_id].snapshot(world.clock.now)
    assert (len(seen.seats), seen.seats_lost) == (2, 0)  # given up, but not lost
    assert "seat-lost" not in {event.kind for event in seen.events}
    world.finish(second)
    world.hub.tick()
    assert held(world, first) == 4
    world.finish(first)


def test_runs_take_turns_on_one_seat():
    """The waiting one gets the seat after a turn, when the other has drained."""
    world = World()
    specs = [tiny_spec(seed, 8) for seed in (1, 2)]
    for spec in specs:
        world.open(spec)
    world.join("a")
    served = set()
    for _ in range(6):
        world.clock.now += TURN_S
        world.hub.tick()
        ((run_id, unit, attempt),) = world.shell.futures
        served.add(run_id)
        spec = next(spec for spec in specs if spec.run_id == run_id)
        world.work(spec, (run_id, unit, attempt), stop_after=2)
    assert served == {spec.run_id for spec in specs}
    world.finish(*specs)


def test_no_more_tasks_than_threads_on_a_worker():
    """A second one would wait behind the first, and its unit with it."""
    world, spec = World(), tiny_spec(n_jobs=8, engine="gpu")
    world.open(spec)
    seats = [
        {"id": f"a/cuda{i}", "kind": "cuda", "uuid": str(i), "index": i}
        | {"threads": 1, "name": ""}
        for i in range(3)
    ]
    world.hub.hello("a", 2, seats)
    run = world.hub.runs[spec.run_id]
    for assignment in list(world.shell.futures.values()):
        world.hub.lease(spec.run_id, assignment)
    assert len(run.seats) == 3
    assert len(run.tasks) <= 2


def test_seat_rests_after_a_failure_and_another_takes_over():
    """The unit does not go back to the seat that failed while another is there."""
    world, spec = World(), tiny_spec()
    world.open(spec)
    world.join("a")
    (assignment,) = world.shell.futures.values()
    world.shell.futures.clear()
    world.hub.ended(spec.run_id, assignment, "ValueError: once")
    world.hub.tick()
    assert not world.shell.futures
    world.join("b")
    assert [a.seat for a in world.shell.futures.values()] == ["b/cpu0"]
    world.finish(spec)


def test_seat_that_fails_again_and_again_is_left_out():
    """Its units are explored by others; the run goes on."""
    world, spec = World(), tiny_spec(n_jobs=8)
    run = world.open(spec)
    world.join("bad")
    world.join("good")
    for unit in range(100, 100 + SEAT_FAILURES):
        run.note_failure("bad/cpu0", unit, world.clock.now)
    assert run.excluded == {"bad/cpu0"}
    world.hub.tick()
    assert "bad/cpu0" not in {
        s.id for s in world.hub.table.usable_by(run.engines, run.excluded)
    }
    world.shell.futures = {
        key: a for key, a in world.shell.futures.items() if a.seat == "good/cpu0"
    }
    world.hub.remove_worker("bad")
    world.finish(spec)
    assert world.hub.result(spec.run_id).outcome.exhausted


@pytest.mark.parametrize("before", ["nothing", "losses", "stop"])
def test_invariant_error_of_a_task_fails_the_run_at_once(monkeypatch, before):
    """A proof whose books do not balance is not tried again, and nothing hides it.

    The unit's hundredth loss did, and a run's end by the stop that waited for it.
    """
    world, spec = World(), tiny_spec()
    run = world.open(spec)
    world.join("a")
    (assignment,) = world.shell.futures.values()
    world.hub.lease(spec.run_id, assignment)
    if before == "losses":
        monkeypatch.setattr(book, "MAX_LOSSES", 1)
    elif before == "stop":
        run.coordinator.request_stop(Termination.STOPPED, world.clock.now)
    world.hub.ended(spec.run_id, assignment, InvariantError("overlap"))
    result = world.hub.result(spec.run_id)
    assert result.outcome.broken
    assert result.outcome.error == "overlap"


def test_better_ub_is_broadcast_but_not_too_often():
    """To the workers that explore; the rest learn it with their lease."""
    world, spec = World(), tiny_spec(n_jobs=7)
    run = world.open(spec)
    world.join("a")
    assert not [hint for hint in world.shell.hints if hint[2] is not None]
    world.clock.now += 1
    run.coordinator.offer(range(7), "test", world.clock.now)
    world.hub.settle(spec.run_id)
    (first,) = [hint for hint in world.shell.hints if hint[2] is not None]
    assert first == ("a", None, run.coordinator.ub)
    better = min(
        ([*range(i, 7), *range(i)] for i in range(7)),
        key=lambda jobs: spec.problem.evaluate(jobs),
    )
    assert run.coordinator.offer(better, "test", world.clock.now)
    world.hub.settle(spec.run_id)
    assert len([hint for hint in world.shell.hints if hint[2] is not None]) == 1
    world.clock.now += hub_module.BROADCAST_S
    world.hub.tick()
    assert len([hint for hint in world.shell.hints if hint[2] is not None]) == 2


def test_results_are_kept_as_long_as_there_is_room_for_their_optima(monkeypatch):
    """The newest is kept whatever it takes: its client is about to ask for it."""
    world = World()
    world.join("a")
    specs = [tiny_spec(seed, 4, all_optima=True) for seed in range(3)]
    for spec in specs:
        world.open(spec)
        world.finish(spec)
        last = world.hub.result(spec.run_id)
        assert last.n_bytes >= last.outcome.optima.permutations.nbytes > 0
        monkeypatch.setattr(hub_module, "KEPT_BYTES", last.n_bytes - 1)
    assert list(world.hub.finished) == [specs[-1].run_id]


@settings(max_examples=40)
@given(st.data())
def test_counts_are_exact_whatever_comes_and_goes(data):
    """Workers join, die and are retired; tasks die in the middle: the same tree."""
    world = World()
    spec = tiny_spec(
        data.draw(st.integers(0, 5)), n_jobs=6,
        upper_bound=data.draw(st.integers(60, 120)), checkpoint_interval_s=1.0,
        report_interval_s=0.5,
    )  # fmt: skip
    world.open(spec)
    world.join("w0")
    for step in range(1, 40):
        if spec.run_id not in world.hub.runs:
            break
        world.clock.now += 0.1
        world.hub.tick()
        futures = sorted(world.shell.futures)
        match data.draw(st.integers(0, 9)):
            case 0:
                world.join(f"w{step}")
            case 1 if len(world.hub.table.workers) > 1:
                world.hub.remove_worker(sorted(world.hub.table.workers)[0])
            case 2:
                world.hub.retire(sorted(world.hub.table.workers)[:1])
                world.join(f"w{step}")
            case 3:
                for worker in list(world.hub.table.workers):
                    world.hub.remove_worker(worker)
                world.join(f"w{step}")
            case _ if futures:
                key = data.draw(st.sampled_from(futures))
                world.work(spec, key, data.draw(st.integers(1, 12)))
    if spec.run_id in world.hub.runs:
        world.join("last")
        world.finish(spec)
    outcome = world.hub.result(spec.run_id).outcome
    assert outcome.exhausted
    if outcome.value is None:  # a fixed UB, so a fixed tree
        counters = outcome.counters
        assert (counters.decomposed, counters.leaves) == whole_tree(spec)
