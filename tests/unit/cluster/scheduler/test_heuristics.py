"""How many threads improve schedules, on which worker, and what they are told."""

from dataclasses import replace

import pytest

from dpbb.cluster.scheduler.forecasts import Estimate
from dpbb.cluster.scheduler.heuristics import LOOK_S, Part
from dpbb.flowshop.heuristics.plain import palmer
from dpbb.flowshop.problem import FlowShopProblem
from dpbb.flowshop.taillard import taillard_instance
from dpbb.heuristics import Search
from dpbb.options import Tuning
from dpbb.result import Termination
from tests.specs import changed
from tests.unit.cluster.support import World, seat_message, tiny_spec


def shop_spec(**options):
    """A run of a problem that can improve schedules beside its tree."""
    problem = FlowShopProblem(taillard_instance("ta001"))
    permutation = tuple(range(20))
    spec = replace(tiny_spec(), problem=problem, permutation=permutation)
    return changed(spec, **{"engine": "auto", "tuning": Tuning(), **options})


@pytest.fixture
def world():
    return World()


def tick(world, seconds=2 * LOOK_S):
    world.clock.now += seconds
    world.hub.tick()


def told(world):
    """What the workers were told since somebody asked: worker, threads, explorers."""
    parts, world.shell.parts = world.shell.parts, []
    return [(worker, part.threads, part.explorers) for worker, part, _, _ in parts]


def estimate(run, low, high):
    """An estimate of the nodes that are left is there."""
    ub = run.coordinator.ub
    run.outlook.latest = Estimate(0.0, 0, ub, (low, (low + high) / 2, high))
    run.outlook.count += 1


def explore(world, run, nodes):
    """Let the meter see so many nodes a second, for two seconds."""
    snapshot = run.coordinator.snapshot
    run.coordinator.snapshot = lambda now: replace(
        snapshot(now), nodes_per_second=float(nodes)
    )


def test_incumbents_go_to_those_who_improve_them(world):
    world.join("a", kind="cuda", host="h", cores=2)
    run = world.open(shop_spec())
    tick(world)
    ((_, _, value, permutation),) = world.shell.parts
    assert (value, permutation) == (1448, tuple(range(20)))
    told(world)
    problem = run.coordinator.spec.problem
    found = palmer(Search(problem, 0), None)
    better = tuple(found.permutation.tolist())
    assert run.coordinator.offer(better, "guest", world.clock.now)
    tick(world)
    ((worker, part, value, permutation),) = world.shell.parts
    assert (worker, part, permutation) == ("a", Part(1), better)
    assert value == run.coordinator.value < 1448


def test_a_stop_ends_them_at_once(world):
    world.join("a", kind="cuda", host="h", cores=2)
    spec = shop_spec()
    run = world.open(spec)
    tick(world)
    told(world)
    run.coordinator.request_stop(Termination.STOPPED, world.clock.now)
    world.hub.advance(spec.run_id)
    assert told(world) == [("a", 0, None)]


def cpu_run(world, threads=8, **options):
    world.hub.hello("a", threads, [seat_message("a", threads=threads)])
    run = world.open(shop_spec(**options))
    explore(world, run, 1e6)
    tick(world)
    return run


def test_a_hopeless_tree_leaves_all_cores_but_one(world):
    run = cpu_run(world)
    estimate(run, 1e14, 1e15)
    tick(world)
    assert told(world) == [("a", 7, 1)]
    text = run.coordinator.snapshot(0.0).events[-1].text
    assert text.endswith("as the tree does not end in time")
