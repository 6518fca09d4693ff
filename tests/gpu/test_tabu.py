"""Tabu search on a device: the golden values, and the CPU's trajectories."""

import json

import numpy as np
import pytest

from dpbb import FlowShopInstance
from dpbb.flowshop.heuristics.tabu.search import (
    make_rules,
    make_searches,
    make_starts,
    run,
)
from dpbb.flowshop.taillard import generate, taillard_instance
from tests.conftest import GOLDEN

pytestmark = [pytest.mark.gpu, pytest.mark.usefixtures("cupy")]


WAYS = [*({"sharing": sharing} for sharing in ("none", "prefix", "both"))]


def shop(n_jobs, n_machines, seed=7, longest=99):
    times = generate(seed, n_jobs, n_machines).T * longest // 99
    return FlowShopInstance(f"{n_jobs}x{n_machines}", times)


def trajectory(instance, device, generations, searches=1, **changes):
    rules = make_rules(instance, **changes)
    starts = make_starts(instance, range(instance.n_jobs), searches, 1)
    searches = make_searches(rules, starts, generations, device, threads=4)
    run(searches)
    return searches.state


def same(one, other):
    assert one.moves.tolist() == other.moves.tolist()
    assert one.history.tolist() == other.history.tolist()
    assert one.values.tolist() == other.values.tolist()
    assert one.parents.tolist() == other.parents.tolist()
    assert one.bests.tolist() == other.bests.tolist()


@pytest.mark.parametrize("sharing", ["none", "prefix", "both"])
def test_golden_values_and_trajectories(sharing):
    file = GOLDEN / "bounds_tabu_jobshop.json"
    for golden in json.loads(file.read_text())["tabu"]:
        instance = taillard_instance(golden["inst"])
        rules = make_rules(instance, tenure=7, sharing=sharing)
        starts = make_starts(instance, range(20), 1, 0)
        found = make_searches(rules, starts, 12, "gpu").neighbours()
        assert found.tolist() == golden["f_generation0"]
        state = trajectory(instance, "gpu", 12, tenure=7, sharing=sharing)
        steps = np.column_stack([state.moves[0], state.history[0, 1:]])
        assert steps.tolist() == golden["trajectory_t_f"]
        assert state.parents[0].tolist() == golden["final"]


@pytest.mark.parametrize("searches", [1, 3, 300])
def test_trajectories_are_those_of_the_cpu(searches):
    instance = shop(35, 12)
    for way in WAYS:
        expected = trajectory(instance, "cpu", 20, searches, **way)
        same(trajectory(instance, "gpu", 20, searches, **way), expected)


@pytest.mark.parametrize(
    ("n_jobs", "n_machines"), [(2, 3), (3, 1), (9, 2), (150, 40), (64, 61), (300, 20)]
)
def test_any_shape(n_jobs, n_machines):
    instance = shop(n_jobs, n_machines)
    for way in WAYS:
        expected = trajectory(instance, "cpu", 10, **way)
        same(trajectory(instance, "gpu", 10, **way), expected)


def test_large_times_take_wide_columns():
    instance = shop(50, 10, longest=99_000)
    for way in WAYS:
        expected = trajectory(instance, "cpu", 10, **way)
        same(trajectory(instance, "gpu", 10, **way), expected)
