"""How fast trees are explored: measured here, or known of GPUs that were measured."""

import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpbb.engines.registry import choose_engine
from dpbb.errors import DpbbError
from dpbb.options import TreeOptions
from dpbb.problem import Problem, objective_of
from dpbb.tree.work_unit import WorkUnit

MEASURE_S = {"cpu": 0.4, "cuda": 2.0}
"""Seconds that a rate is measured for, by kind of device: a GPU takes its time to
get all its explorers to work."""

H100_NODES_PER_S = {20: 12.7e9, 50: 7.5e9, 100: 3.3e9, 200: 2.1e9}
"""Decomposed nodes a second of one NVIDIA H100 SXM, by number of jobs, 20 machines.

Measured on an H200, which has as many cores: a 20 x 20 shop of Taillard's generator
(seed 13) at 2320, ta056 at 3679, ta081 at 6150 and ta101 at 11200, the first second of
each. Trees of a tenth of a second are explored at about nine tenths of it.
"""

GPUS_EFFICIENCY = 0.9
"""Share of linear that more than one GPU is taken to reach.

Measured: 89 %, 91 % and 100 % on four H200 for trees of 2e11, 5e11 and 3e12 nodes
(``dpbb bench multigpu``).
"""


class RateUnknown(DpbbError):
    """The tree was exhausted before its rate could be measured."""


@dataclass(frozen=True, slots=True)
class Rate:
    """Nodes a second, and where that is known from.

    Parameters
    ----------
    nodes_per_second
        Decomposed nodes and leaves a second.
    what
        What explores, such as ``"cpu, 4 threads"``.
    source
        How the rate is known.
    """

    nodes_per_second: float
    what: str
    source: str


def measured_rate(
    problem: Problem[Any],
    tree: TreeOptions,
    ub: int,
    *,
    engine: str = "auto",
    threads: int | None = None,
) -> Rate:
    """Explore the beginning of the tree for a moment, on one device of this process.

    Of several GPUs one is measured, and the rate is that of all of them together. A
    tree that is over before is explored again.

    Raises
    ------
    EngineUnavailable
        The engine cannot run here.
    RateUnknown
        The engine found a better schedule, and what was left with it was too little.

    Notes
    -----
    The CPU engine keeps the upper bound, as the tree is the one that is estimated.
    """
    chosen, _ = choose_engine(engine, problem, tree)
    devices = chosen.devices(threads)
    device = devices[0]
    seconds = MEASURE_S.get(device.kind, 0.4)
    session = chosen.open(problem, tree, device, ub=ub)
    try:
        keep_ub = getattr(session, "keep_ub", None)
        if keep_ub is not None:
            keep_ub()
        nodes, spent = 0, 0.0
        best, exhausted = None, True
        while spent < seconds:
            if exhausted:
                if best is not None:
                    raise RateUnknown(
                        f"the {chosen.name} engine found a {objective_of(problem)} of "
                        f"{best}, and nothing was left to explore after {spent:.1g} s"
                    )
                session.load(WorkUnit.whole(problem.n_jobs))
            began = time.perf_counter()
            part = session.advance(ub, seconds / 4)
            spent += time.perf_counter() - began
            nodes += part.decomposed + part.leaves
            exhausted = part.exhausted
            best = best if part.best is None else part.best.value
    finally:
        session.close()
    count = len(devices) if device.kind == "cuda" else device.threads
    unit = "GPU" if device.kind == "cuda" else "thread"
    factor = shared_speed(len(devices))
    return Rate(
        factor * max(1, nodes) / spent,
        f"{chosen.name} engine, {count} {unit}{'s' if count > 1 else ''}",
        f"measured on {device.name or 'this machine'} for {spent:.1f} s",
    )


def h100_rate(n_jobs: int, n_machines: int, gpus: int = 1) -> Rate:
    """Rate of H100s, from those that were measured.

    Parameters
    ----------
    gpus
        How many of them; see ``GPUS_EFFICIENCY``.

    Notes
    -----
    Between measured numbers of jobs the logarithms are interpolated, beyond them the
    nearest counts. A node's bounds take time in proportion to the machines, so rates
    of 20 machines are scaled by 20 / n_machines, but for fewer than 20 machines they
    are left: that they are faster has not been measured.
    """
    jobs, rates = np.log([*H100_NODES_PER_S]), np.log([*H100_NODES_PER_S.values()])
    rate = float(np.exp(np.interp(np.log(n_jobs), jobs, rates)))
    rate *= min(1.0, 20 / n_machines)
    shape = f"{n_jobs}x{n_machines}"
    known = n_jobs in H100_NODES_PER_S and n_machines == 20
    how = f"measured at {shape}" if known else f"for {shape}, from those measured"
    return Rate(
        rate * shared_speed(gpus),
        f"{gpus} H100",
        f"dpbb bench gpu, {how} (docs/gpus.md)",
    )


def shared_speed(devices: int) -> float:
    """How many times as fast several devices are taken to be as one."""
    return 1.0 if devices == 1 else devices * GPUS_EFFICIENCY
