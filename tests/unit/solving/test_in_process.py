"""Solving in this process: the same run as on a cluster, and windows of a sequence."""

from itertools import permutations
from threading import Event

import numpy as np
import pytest

import dpbb
from dpbb.cluster.storage.checkpoint_folder import CheckpointFolder
from dpbb.cluster.worker.sessions import SeatSessions
from dpbb.coordination.format import to_bytes
from dpbb.errors import OptionError
from dpbb.flowshop import FlowShopInstance, FlowShopProblem
from dpbb.options import SolveOptions
from dpbb.problem import StartSearch
from dpbb.result import Status, Termination
from dpbb.solving.plan import Plan
from dpbb.solving.start import with_heuristics
from tests.oracle import makespan
from tests.unit.coordination.world import World

TIMES = np.random.default_rng(3).integers(1, 99, (10, 5))
HERE = {"workers": 0, "progress": "none"}
ENGINES = ("reference", "cpu", "pool")


def best_between(front, back):
    jobs = [job for job in range(len(TIMES)) if job not in (*front, *back)]
    return min(
        makespan(TIMES.tolist(), (*front, *order, *back))
        for order in permutations(jobs)
    )


@pytest.mark.parametrize("engine", ENGINES)
def test_no_cluster_is_started(engine, monkeypatch):
    monkeypatch.setattr("dpbb.cluster.local.embedded_cluster", None)
    whole = dpbb.solve(TIMES[:7], engine=engine, heuristics="neh", **HERE)
    times = TIMES[:7].tolist()
    assert whole.makespan == min(makespan(times, o) for o in permutations(range(7)))
    assert (whole.engine, whole.seats) == (engine, ("here",))


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("front", "back"), [((3, 1), (0, 8)), ((9, 2, 5, 6), ()), ((), (7, 4, 0))]
)
def test_jobs_between_given_ones_are_in_their_best_order(engine, front, back):
    between = [job for job in range(10) if job not in (*front, *back)]
    initial = (*front, *between, *back)
    how = {"engine": engine, "heuristics": "none", **HERE}
    result = dpbb.solve(TIMES, front=front, back=back, initial=initial, **how)
    assert result.status is Status.OPTIMAL
    assert result.makespan == best_between(front, back)
    assert makespan(TIMES.tolist(), result.permutation) == result.makespan
    assert result.permutation[: len(front)] == front
    assert result.permutation[10 - len(back) :] == back
    assert (result.n_jobs, result.schedule().makespan) == (10, result.makespan)


def test_a_run_of_a_cluster_goes_on_here(tmp_path):
    """With the counts of both parts, and without checkpoints of its own."""
    best = dpbb.solve(TIMES, heuristics="neh", **HERE).makespan
    options = SolveOptions(upper_bound=best, heuristics="none")
    whole = dpbb.solve(TIMES, options=options, **HERE)
    shop = FlowShopProblem(FlowShopInstance("ten", TIMES))
    plan = with_heuristics(Plan(shop, "ten", options, 0.0), StartSearch())
    world = World(plan.spec(0.0, "cpu"), ("a",))
    for _ in range(6):
        world.round()
    saved = world.coordinator.checkpoint(world.now)
    folder, file = tmp_path / "run", tmp_path / "file"
    file.write_bytes(to_bytes(saved))
    CheckpointFolder(str(folder), keep=1).write(saved)
    before = [*folder.rglob("*")]
    for source in folder, file:
        result = dpbb.resume(source, **HERE)
        assert result.status is Status.INFEASIBLE_CUTOFF
        assert (result.decomposed, result.leaves) == (whole.decomposed, whole.leaves)
    assert [*folder.rglob("*")] == before
    with pytest.raises(OptionError, match="workers: expected at least 1 with checkpoi"):
        dpbb.resume(folder, checkpoint=folder, **HERE)


@pytest.mark.parametrize(("bound", "nodes"), [("lb1", 7), ("lb2", 1)])
def test_a_cutoff_takes_no_other_bound_than_that_of_the_tree(bound, nodes):
    """LB2 of the root is 1278, too, but the golden tree of LB1 has seven nodes."""
    result = dpbb.solve("ta001", cutoff=1278, bound=bound, heuristics="none", **HERE)
    assert result.status is Status.INFEASIBLE_CUTOFF
    assert result.decomposed == nodes


def test_limits_hold():
    shop = np.random.default_rng(0).integers(1, 99, (60, 20))
    result = dpbb.solve(shop, node_limit=50, heuristics="neh", **HERE)
    assert result.termination is Termination.NODE_LIMIT
    asked = iter([False, False, False])
    result = dpbb.solve(
        shop, heuristics="none", should_stop=lambda: next(asked, True), **HERE
    )
    assert result.termination is Termination.STOPPED


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"checkpoint": "here"}, "workers: expected at least 1 with checkpoint"),
        ({"engine": "gpu"}, "workers: expected at least 1 with engine gpu"),
        ({"front": [1, 2], "initial": range(10)}, "initial: expected a sequence that"),
        ({"front": [1, 2], "initial": range(8)}, "initial: expected all 10 jobs, the "),
        ({"front": [1], "tuning": {"root_order": range(10)}}, "root_order: .* 9 jobs"),
    ],
)
def test_what_does_not_go_together_is_refused(options, message):
    with pytest.raises(OptionError, match=message):
        dpbb.solve(TIMES, **options, **HERE)


def test_a_limit_ends_the_call_while_its_seat_compiles(monkeypatch):
    """Nobody waits for what nothing interrupts."""
    compiled, opened = Event(), SeatSessions._open

    def slow(*arguments):
        assert compiled.wait(60)
        return opened(*arguments)

    monkeypatch.setattr(SeatSessions, "_open", slow)
    how = {"heuristics": "neh", "time_limit_s": 0.2, **HERE}
    try:
        result = dpbb.solve(TIMES, **how)
    finally:
        compiled.set()
    assert (result.termination, result.decomposed) == (Termination.TIME_LIMIT, 0)
    assert result.seconds < 30


def test_heuristics_and_estimates_take_given_jobs():
    ends = {"front": (3, 1), "back": (0, 8)}
    best = best_between(**ends)
    found = dpbb.heuristic(TIMES, iterations=20, threads=1, progress="none", **ends)
    assert (found.permutation[:2], found.permutation[-2:]) == ((3, 1), (0, 8))
    assert found.makespan == makespan(TIMES.tolist(), found.permutation) >= best
    guess = dpbb.estimate(TIMES, upper_bound=best, measure=False, **ends)
    assert (guess.n_jobs, guess.exact, guess.upper_bound) == (6, True, best)
    made = dpbb.estimate(TIMES, measure=False, **ends)
    assert made.upper_bound >= best
