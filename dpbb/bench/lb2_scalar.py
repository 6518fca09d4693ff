"""The sequential search of the founding papers: a core, a node after the other."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np

from dpbb.flowshop.models.pool import PoolFlowShop
from dpbb.kernels.compiling import entry, int64

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dpbb.bench.lb2_arms import Nodes
    from dpbb.flowshop.models.pool import PoolTables


class ScalarFlowShop(PoolFlowShop):
    """The model of a flow shop with bounds in plain loops: for measurements."""

    def bound(
        self,
        rows: NDArray[np.uint16],
        front: NDArray[np.uint16],
        back: NDArray[np.uint16],
        ub: int,
    ) -> NDArray[np.int32]:
        """Return LB1 and the two-machine bounds of nodes, the larger one."""
        result = np.empty(len(rows), np.int32)
        nodes = rows, front, back
        _bound(self.tables, self.pairs, self.shop.steps, *nodes, ub, result)
        return result


def scalar_rate(model: PoolFlowShop, nodes: Nodes) -> tuple[float, NDArray[np.int32]]:
    """Return whole bounds a second of one core in plain loops, and the bounds."""
    result = np.empty(len(nodes[0]), np.int32)
    work = (model.tables, model.pairs, model.shop.steps, *nodes, 1 << 30, result)
    _bound(*work)
    began, done = time.perf_counter(), 0
    while time.perf_counter() - began < 0.5:
        _bound(*work)
        done += len(result)
    return done / (time.perf_counter() - began), result


@entry
def _bound(
    tables: PoolTables,
    pairs: NDArray[np.intp],
    steps: NDArray[np.int64],
    rows: NDArray[np.uint16],
    front: NDArray[np.uint16],
    back: NDArray[np.uint16],
    ub: int,
    result: NDArray[np.int32],
) -> None:
    n_jobs, n_machines = tables.times.shape
    heads = np.empty(n_machines, np.int32)
    tails = np.empty(n_machines, np.int32)
    remain = np.empty(n_machines, np.int32)
    free = np.empty(n_jobs, np.bool_)
    for node in range(len(rows)):
        n_front, end = int64(front[node]), n_jobs - int64(back[node])
        heads[:] = 0
        tails[:] = 0
        remain[:] = 0
        free[:] = False
        for i in range(n_front):
            last = np.int32(0)
            for k in range(n_machines):
                last = max(last, heads[k]) + tables.times[int64(rows[node, i]), k]
                heads[k] = last
        for i in range(n_jobs - 1, end - 1, -1):
            last = np.int32(0)
            for k in range(n_machines - 1, -1, -1):
                last = max(last, tails[k]) + tables.times[int64(rows[node, i]), k]
                tails[k] = last
        for i in range(n_front, end):
            job = int64(rows[node, i])
            free[job] = True
            for k in range(n_machines):
                remain[k] += tables.times[job, k]
        if n_front == 0:
            heads[:] = tables.least_heads
        if end == n_jobs:
            tails[:] = tables.least_tails
        bound = int64(0)
        for k in range(n_machines):
            bound = max(bound, int64(heads[k]) + remain[k] + tails[k])
        for pair in range(len(pairs)):
            if bound >= ub:
                break
            on_first = int64(heads[pairs[pair, 0]])
            on_second = int64(heads[pairs[pair, 1]])
            for place in range(n_jobs):
                if free[steps[pair, place, 0]]:
                    on_first += steps[pair, place, 1]
                    ready = on_first + steps[pair, place, 2]
                    on_second = max(on_second, ready) + steps[pair, place, 3]
            bound = max(bound, on_second + int64(tails[pairs[pair, 1]]))
        result[node] = bound
