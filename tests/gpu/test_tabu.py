"""Tabu search on a device: the golden values, and the CPU's trajectories."""

import json

import numpy as np
import pytest

from dpbb import FlowShopInstance
from dpbb.flowshop.heuristics import tabu_gpu
from dpbb.flowshop.heuristics.tabu import make_searches, make_starts, swap_makespans
from dpbb.flowshop.taillard import generate, taillard_instance
from tests.conftest import GOLDEN

pytestmark = [pytest.mark.gpu, pytest.mark.usefixtures("cupy")]


@pytest.fixture(params=["no column is shared", "all are"], autouse=True)
def sharing(request, monkeypatch):
    pays = 0 if request.param == "all are" else 2**62
    monkeypatch.setattr(tabu_gpu, "SHARING_PAYS", pays)


def shop(n_jobs, n_machines, seed=7, longest=99):
    times = generate(seed, n_jobs, n_machines).T * longest // 99
    return FlowShopInstance(f"{n_jobs}x{n_machines}", times)


def trajectory(instance, device, generations, searches=1, **how):
    starts = make_starts(instance, range(instance.n_jobs), searches, 1)
    run = make_searches(instance, starts, generations, device, threads=4, **how)
    run.run()
    return run


def same_on_both(*how):
    one, other = (trajectory(how[0], device, *how[1:]) for device in ("cpu", "gpu"))
    assert one.moves.tolist() == other.moves.tolist()
    assert one.history.tolist() == other.history.tolist()
    assert one.values.tolist() == other.values.tolist()
    assert one.parents.tolist() == other.parents.tolist()
    assert one.bests.tolist() == other.bests.tolist()


def test_golden_values_and_trajectories():
    file = GOLDEN / "bounds_tabu_jobshop.json"
    for golden in json.loads(file.read_text())["tabu"]:
        instance = taillard_instance(golden["inst"])
        found = swap_makespans(instance, range(20), device="gpu")
        assert found.tolist() == golden["f_generation0"]
        state = trajectory(instance, "gpu", 12, tenure=7)
        steps = np.column_stack([state.moves[0], state.history[0, 1:]])
        assert steps.tolist() == golden["trajectory_t_f"]
        assert state.parents[0].tolist() == golden["final"]


@pytest.mark.parametrize("searches", [1, 3, 300])
def test_trajectories_are_those_of_the_cpu(searches):
    same_on_both(shop(35, 12), 20, searches)


@pytest.mark.parametrize(
    ("n_jobs", "n_machines"), [(2, 3), (3, 1), (9, 2), (150, 40), (64, 61), (300, 20)]
)
def test_any_shape(n_jobs, n_machines):
    same_on_both(shop(n_jobs, n_machines), 10)


def test_large_times_take_wide_columns():
    same_on_both(shop(50, 10, longest=99_000), 10)
