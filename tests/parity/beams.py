"""Beams of two devices, level by level the same: what the tests of devices share."""

import numpy as np

from dpbb.flowshop import FlowShopInstance, FlowShopProblem
from dpbb.flowshop.heuristics.beam import LACK, NO_LACK
from dpbb.flowshop.heuristics.beam_cpu import CpuLevels


def shop(n_jobs, n_machines, longest=99, seed=0):
    """A random shop; many equal times, so that keys tie."""
    rng = np.random.default_rng(seed)
    times = rng.integers(0, longest + 1, (n_jobs, n_machines))
    return FlowShopInstance("random", times)


def same_runs(gpu_levels, instance, widths, ends=((), ())):
    """Run both by the same upper bounds; return the outcomes."""
    problem = FlowShopProblem(instance, "lb1", *ends)
    ub = problem.trivial_ub
    cpu, gpu = CpuLevels(problem, ub), gpu_levels(problem, ub)
    outcomes = []
    for width in widths:
        for rows, lack in ((1, LACK), (7, NO_LACK), (7, LACK)):
            cpu.lack = gpu.lack = lack
            one = cpu.run(width, ub, rows, lambda: False)
            other = gpu.run(width, ub, rows, lambda: False)
            assert other.moves.shape == one.moves.shape
            assert other.moves.tolist() == one.moves.tolist()
            assert (other.uncut, other.nodes) == (one.uncut, one.nodes)
            outcomes.append(one)
        # a bound between the root's and the best: some runs end early
        ub = max(problem.root_bound + 1, ub - ub // 4)
    return outcomes


SMALL = shop(9, 4)
SHAPES = {
    "small": SMALL, "one machine": shop(5, 1),
    "two words of jobs": shop(34, 5, longest=9), "wide": shop(12, 4, longest=30_000),
}  # fmt: skip
