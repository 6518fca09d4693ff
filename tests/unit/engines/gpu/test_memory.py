"""Explorers and spare pages, as free pages come and go."""

import sys
from types import SimpleNamespace

import pytest

from dpbb.engines.gpu.memory import allocate
from dpbb.errors import EngineUnavailable

GIB = 2**30


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
