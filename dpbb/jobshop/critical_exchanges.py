"""The neighbourhood N5: the exchanges on a critical path that may shorten it.

A critical path falls into blocks of operations on one machine. Of the first block the
last two operations are exchanged, of the last block the first two, of every other one
both; exchanges inside of blocks cannot make the makespan smaller. A neighbour never has
a cycle, as the operations that change places are critical; one in which operations of
zero time make a cycle all the same is left out. Behind a release date later than 0 the
first block is no first one: what begins there may have to wait for its job.

Source: Nowicki, Smutnicki, "A fast taboo search algorithm for the job shop problem",
Management Science 42(6), 1996.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpbb.jobshop.instance import JobShopInstance
from dpbb.jobshop.schedule import JobShopSchedule, schedule
from dpbb.jobshop.solution import Criterion, Encoding


@dataclass(frozen=True, slots=True, eq=False)
class Neighbourhood:
    """The neighbours of one solution, and what they cost.

    Parameters
    ----------
    schedule
        Of the solution itself.
    operations : ndarray of int64, shape (n_moves, 2)
        The two operations that change places, in their order before.
    places : ndarray of int64, shape (n_moves, 2)
        Machine, and place of the first one in its order.
    makespans : ndarray of int64, shape (n_moves,)
        Exact, by a sweep for each move.
    """

    schedule: JobShopSchedule
    operations: NDArray[np.int64]
    places: NDArray[np.int64]
    makespans: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.operations)

    def orders(self, move: int) -> NDArray[np.int64]:
        """Machine orders of a neighbour."""
        machine, place = self.places[move]
        result = self.schedule.orders.copy()
        result[machine, [place, place + 1]] = result[machine, [place + 1, place]]
        return result


def n5(
    instance: JobShopInstance,
    solution: Any,
    encoding: str | Encoding = Encoding.MACHINE_ORDERS,
) -> Neighbourhood:
    """Return the neighbourhood N5 of a solution, with exact makespans.

    Raises
    ------
    InstanceError
        No solution of this shop, or a cyclic one.
    """
    from dpbb.jobshop import cpu_batch

    found = schedule(instance, solution, encoding)
    moves = critical_exchanges(instance, found.critical_path())
    place_of = np.empty(instance.n_operations, np.int64)
    for row in found.machine_operations():
        place_of[row] = np.arange(len(row))
    places = np.stack([instance.machines[moves[:, 0]], place_of[moves[:, 0]]], axis=1)
    orders = np.repeat(found.orders[None].astype(np.int16), len(moves), axis=0)
    each, (machine, place) = np.arange(len(moves)), places.T
    orders[each, machine, place] = found.orders[machine, place + 1]
    orders[each, machine, place + 1] = found.orders[machine, place]
    makespans = cpu_batch.costs(
        instance, orders, Encoding.MACHINE_ORDERS, Criterion.MAKESPAN, 1
    )
    kept = makespans >= 0
    return Neighbourhood(found, *(part[kept] for part in (moves, places, makespans)))


def critical_exchanges(
    instance: JobShopInstance, path: tuple[int, ...]
) -> NDArray[np.int64]:
    """Return the exchanges of N5 on a critical path, shape (n_moves, 2).

    Two operations of one job never change places, though they may share a machine.
    """
    machines, jobs = instance.machines, instance.jobs
    blocks: list[list[int]] = []
    for v in path:
        if blocks and machines[blocks[-1][-1]] == machines[v]:
            blocks[-1].append(v)
        else:
            blocks.append([v])
    moves: dict[tuple[int, int], None] = {}
    released = instance.release[jobs[path[0]]] > 0
    for number, block in enumerate(blocks):
        if len(block) < 2:
            continue
        if number > 0 or released:
            moves[block[0], block[1]] = None
        if number < len(blocks) - 1:
            moves[block[-2], block[-1]] = None
    kept = [(u, v) for u, v in moves if jobs[u] != jobs[v]]
    return np.array(kept, np.int64).reshape(-1, 2)
