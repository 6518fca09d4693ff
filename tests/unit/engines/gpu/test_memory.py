"""Explorers and spare pages, as free pages come and go."""

import sys
from types import SimpleNamespace

import pytest

from dpbb.engines.gpu.memory import CLAIM, PageBudget, allocate
from dpbb.errors import EngineUnavailable

GIB = 2**30
NEED = 1000 + CLAIM


def budget(n_pages):
    return PageBudget(n_pages, 1000)


def test_all_explorers_begin_and_leave_a_quarter():
    assert (budget(40_000).limit, budget(40_000).spare) == (None, 10_000)


def test_one_explorer_can_always_go_on():
    assert budget(2000).spare == NEED


def test_stages_end_where_the_free_pages_are_enough_for_the_worst_case():
    pages = budget(400_000)
    explorers, free = 2048, 400_000
    stages = []
    while True:
        free = pages.spare  # all but those are used up
        pages.used_up(explorers, free)
        stages.append((pages.limit, pages.spare))
        if pages.spare == 0:
            break
        assert pages.spare < free
        explorers = pages.limit
    assert stages == [(512, 50_000), (128, 25_000), (32, 12_500), (11, 0)]
    assert pages.limit * NEED <= free


def test_roots_are_loaded_beside_the_spare_pages():
    pages = budget(40_000)
    assert pages.loadable(40_000, explores=False) == 30_000
    assert pages.loadable(35_000, explores=True) == 25_000
    pages.used_up(64, 9_900)
    assert pages.loadable(39_000, explores=True) == 0
    assert pages.loadable(40_000, explores=False) == 30_000


def test_a_refusal_says_what_is_free_and_who_holds_the_rest(monkeypatch):
    free, pool = (4 * GIB, 80 * GIB), SimpleNamespace()
    pool.free_bytes, pool.used_bytes = (lambda: GIB), (lambda: 2 * GIB)
    runtime = SimpleNamespace(memGetInfo=lambda: free)
    cupy = SimpleNamespace(
        cuda=SimpleNamespace(runtime=runtime), get_default_memory_pool=lambda: pool
    )
    memory = SimpleNamespace(OutOfMemoryError=MemoryError)
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    monkeypatch.setitem(sys.modules, "cupy.cuda", cupy.cuda)
    monkeypatch.setitem(sys.modules, "cupy.cuda.memory", memory)

    def plan(n_warps, free_bytes):
        raise EngineUnavailable(f"{n_warps} warps in {free_bytes} bytes")

    with pytest.raises(EngineUnavailable) as refused:
        allocate(plan, lambda planned: planned, 64, 1)
    for said in (
        f"64 warps in {5 * GIB} bytes",
        "80.0 GiB 5.0 are free",
        "others 73.0",
    ):
        assert said in str(refused.value)
