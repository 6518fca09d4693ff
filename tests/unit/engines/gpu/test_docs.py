"""Numbers in ``docs/gpus.md`` that follow from the engine's plan of its memory."""

import re
from pathlib import Path

import pytest

from dpbb.engines.gpu.kernels import KernelShape
from dpbb.engines.gpu.memory import plan_memory
from dpbb.engines.gpu.steal import plan_intervals
from dpbb.errors import EngineUnavailable
from dpbb.flowshop.models.lb1_cuda import Lb1
from dpbb.options import BranchingRule

DOCS = Path(__file__).parents[4] / "docs" / "gpus.md"
ROW = re.compile(
    r"\| (\d+) x (\d+) \| ([\d.]+) \| ([\d.]+) \| ([\d.]+) \|$", re.MULTILINE
)
ROWS = ROW.findall(DOCS.read_text())
GIB = 1 << 30


def least_free(plan, shape):
    """Fewest GiB of free memory, to a thousandth, for which there is a plan."""
    low, high = 0, 1 << 20
    while high - low > 1:
        middle = (low + high) // 2
        try:
            plan(shape, shape.warps, middle * GIB // 1000, all_optima=False)
            high = middle
        except EngineUnavailable:
            low = middle
    return high / 1000


def test_the_docs_have_the_table():
    assert len(ROWS) == 6


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row[0]}x{row[1]}")
def test_free_memory_that_one_block_needs(row):
    n_jobs, n_machines = map(int, row[:2])
    needs = []
    for plan, wide in (
        (plan_memory, False),
        (plan_memory, True),
        (plan_intervals, False),
    ):
        shape = KernelShape(Lb1(n_jobs, n_machines, wide), BranchingRule.MINMIN)
        needs.append(least_free(plan, shape))
    for need, shown in zip(needs, row[2:], strict=True):
        digits = len(shown.partition(".")[2])
        assert abs(need - float(shown)) <= 0.51 * 10**-digits
