"""How many explorers of the stealing arm fit a device."""

import pytest

from dpbb.engines.gpu.kernels import KernelShape
from dpbb.engines.gpu.steal import (
    LEAST_PAGES,
    MEMORY_SHARE,
    POOL_PAGES,
    explorer_bytes,
    plan_intervals,
)
from dpbb.errors import EngineUnavailable
from dpbb.flowshop.models.lb1_cuda import Lb1
from dpbb.options import BranchingRule

SHAPE = KernelShape(Lb1(50, 20, wide=False), BranchingRule.MINMIN)


def plan(wanted, free_bytes, shape=SHAPE, *, all_optima=False):
    return plan_intervals(shape, wanted, free_bytes, all_optima=all_optima)


def test_what_fits_is_taken():
    found = plan(65536, 80 << 30)
    assert (found.n_warps, found.n_pages, found.n_leaves) == (65536, POOL_PAGES, 1)


def test_a_number_of_explorers_is_a_multiple_of_a_block():
    assert plan(1023, 80 << 30).n_warps == 1023 // SHAPE.warps * SHAPE.warps
    assert plan(1, 80 << 30).n_warps == SHAPE.warps


def test_fewer_explorers_where_memory_is_short():
    free = int(10_000 * explorer_bytes(SHAPE) / MEMORY_SHARE)
    assert plan(65536, free).n_warps == 8192


def test_leaves_have_room_for_one_of_every_explorer():
    found = plan(4096, 80 << 30, all_optima=True)
    assert found.n_leaves > 2 * found.n_warps


def test_too_little_memory_is_refused():
    with pytest.raises(EngineUnavailable, match=r"50 jobs on 20 machines need .* GiB"):
        plan(65536, 1 << 20)
    assert plan(4, 1 << 30).n_pages >= LEAST_PAGES


def test_too_many_jobs_are_refused():
    shape = KernelShape(Lb1(1025, 5, wide=False), BranchingRule.MINMIN)
    with pytest.raises(EngineUnavailable, match="up to 1024 jobs, not 1025"):
        plan(4, 80 << 30, shape)
