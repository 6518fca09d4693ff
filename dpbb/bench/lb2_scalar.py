"""The sequential search of the founding papers: a core, a node after the other."""

from __future__ import annotations

import time

import numpy as np
from numpy.typing import NDArray

from dpbb.flowshop.models.pool import PoolFlowShop, PoolTables, read_ends
from dpbb.kernels.compiling import entry, int64
from dpbb.kernels.pool_models import Nodes


class ScalarFlowShop(PoolFlowShop):
    """The model of a flow shop with bounds in plain loops: for measurements."""

    def bound(self, nodes: Nodes, ub: int) -> NDArray[np.int32]:
        """Return LB1 and the two-machine bounds of nodes, the larger one."""
        result = np.empty(len(nodes.rows), np.int32)
        _bound(self.tables, self.pairs, self.shop.steps, nodes, ub, result)
        return result


def scalar_rate(model: PoolFlowShop, nodes: Nodes) -> tuple[float, NDArray[np.int32]]:
    """Return whole bounds a second of one core in plain loops, and the bounds."""
    result = np.empty(len(nodes.rows), np.int32)
    work = (model.tables, model.pairs, model.shop.steps, nodes, 1 << 30, result)
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
    nodes: Nodes,
    ub: int,
    result: NDArray[np.int32],
) -> None:
    rows, front, back = nodes
    n_jobs, n_machines = tables.times.shape
    ends = np.empty(3 * n_machines, np.int32)
    heads, tails = ends[:n_machines], ends[n_machines : 2 * n_machines]
    remain = ends[2 * n_machines :]
    free = np.empty(n_jobs, np.bool_)
    for node in range(len(rows)):
        n_front, n_back = int64(front[node]), int64(back[node])
        read_ends(tables, rows[node], n_front, n_back, ends)
        free[:] = False
        for i in range(n_front, n_jobs - n_back):
            free[int64(rows[node, i])] = True
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
