"""Tabu searches of two devices, move by move the same: what the tests of both share."""

import json

import numpy as np
import pytest

from dpbb import FlowShopInstance
from dpbb.flowshop.heuristics import tabu_gpu
from dpbb.flowshop.heuristics.tabu import make_searches, make_starts, swap_makespans
from dpbb.flowshop.taillard import taillard_instance
from tests.conftest import GOLDEN


def shop(n_jobs, n_machines, longest=50):
    times = np.random.default_rng(4).integers(0, longest, (n_jobs, n_machines))
    return FlowShopInstance(f"{n_jobs}x{n_machines}", times)


@pytest.fixture(params=["no column is shared", "all are"])
def sharing(request, monkeypatch):
    pays = 0 if request.param == "all are" else 2**62
    monkeypatch.setattr(tabu_gpu, "SHARING_PAYS", pays)


def searched(instance, device, generations, *, searches=1, threads=1, **how):
    starts = make_starts(instance, range(instance.n_jobs), searches, seed=1)
    run = make_searches(instance, starts, generations, device, threads=threads, **how)
    if device == "gpu":
        run.part = -(-generations // 2)  # two launches: the state goes on
    run.run()
    return run


def same_on_both(instance, generations=12, **how):
    cpu, gpu = (searched(instance, one, generations, **how) for one in ("cpu", "gpu"))
    for part in ("moves", "history", "values", "parents", "bests"):
        assert getattr(gpu, part).tolist() == getattr(cpu, part).tolist()


def check_golden(device):
    """Compare with the values and trajectories of tests/data/golden."""
    file = GOLDEN / "bounds_tabu_jobshop.json"
    for golden in json.loads(file.read_text())["tabu"]:
        instance = taillard_instance(golden["inst"])
        found = swap_makespans(instance, range(20), device=device)
        assert found.tolist() == golden["f_generation0"]
        run = searched(instance, device, 12, tenure=7)
        steps = np.column_stack([run.moves[0], run.history[0, 1:]])
        assert steps.tolist() == golden["trajectory_t_f"]
        assert run.parents[0].tolist() == golden["final"]
        assert run.values[0, 1] == golden["best"]
