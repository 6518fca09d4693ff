"""One schedule of a job shop: start times, machine sequences, critical path, files.

Every operation waits for two others at most: the one before it in its job and the one
before it on its machine. Starts and layers follow in one pass over a topological order,
O(o).

The neighbourhood N5 are the exchanges on a critical path that may shorten it.
A critical path falls into blocks of operations on one machine. Of the first block the
last two operations are exchanged, of the last block the first two, of every other one
both; exchanges inside of blocks cannot make the makespan smaller. A neighbour never has
a cycle, as the operations that change places are critical; one in which operations of
zero time make a cycle all the same is left out. Behind a release date later than 0 the
first block is no first one: what begins there may have to wait for its job.

Source: Nowicki, Smutnicki, "A fast taboo search algorithm for the job shop problem",
Management Science 42(6), 1996.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpbb.jobshop.instance import JobShopInstance
from dpbb.jobshop.solution import (
    Criterion,
    CyclicError,
    Encoding,
    check_orders,
    check_sequence,
    criterion_of,
    machine_operations,
    orders_of_sequence,
)
from dpbb.options.kinds import member
from dpbb.result.schedule import NONE, Bars, critical_path
from dpbb.result.written import write_csv, write_form
from dpbb.text.json_text import json_text
from dpbb.text.labels import Names

COLUMNS = ("job", "operation", "machine", "start", "end")


@dataclass(frozen=True, slots=True, eq=False)
class JobShopSchedule:
    """Start and end of every operation, each as early as the orders allow.

    Parameters
    ----------
    orders : ndarray of int64, shape (n_machines, longest order)
        Machine orders; -1 fills the rows up.
    before : ndarray of int64, shape (2, n_operations)
        The operation before each one in its job, and on its machine; ``NONE`` without.
    start : ndarray of int64, shape (n_operations,)
        In the instance's time unit.
    """

    instance: JobShopInstance
    orders: NDArray[np.int64]
    before: NDArray[np.int64]
    start: NDArray[np.int64]

    @property
    def end(self) -> NDArray[np.int64]:
        """Ends of all operations, shape (n_operations,)."""
        return self.start + self.instance.times

    @property
    def makespan(self) -> int:
        """End of the last operation."""
        return int(self.end.max())

    def cost(self, criterion: str | Criterion = Criterion.MAKESPAN) -> int:
        """Return the cost of the schedule by a criterion."""
        instance = self.instance
        what = criterion_of(criterion, instance)
        ends = self.end[instance.first[1:] - 1]
        if what is Criterion.MAKESPAN:
            return self.makespan
        if what is Criterion.SUM_COMPLETION:
            return int(ends.sum())
        assert instance.due is not None  # noqa: S101 (criterion_of has seen to it)
        return int((instance.weight * np.maximum(0, ends - instance.due)).sum())

    def machine_sequences(self) -> list[list[int]]:
        """Jobs of every machine in the order of processing."""
        lengths = self.instance.machine_lengths
        return [
            row[:length].tolist()
            for row, length in zip(self.orders, lengths, strict=True)
        ]

    def machine_operations(self) -> list[list[int]]:
        """Operations of every machine in the order of processing."""
        return [row.tolist() for row in machine_operations(self.instance, self.orders)]

    def critical_path(self) -> tuple[int, ...]:
        """Return a chain of operations without slack, up to the makespan.

        Where both operations before one end as it begins, it stays on the machine. It
        begins at time 0 or at the release date of a job.
        """
        return critical_path(self.start, self.end, self.before[::-1])

    def bars(self) -> Bars:
        """Return the operations as ``dpbb.plotting.gantt`` draws them."""
        instance = self.instance
        return Bars(
            *(instance.name, tuple(range(instance.n_jobs))),
            Names(machines=instance.machine_names),
            *(instance.jobs, instance.machines, self.start, self.end),
            self.critical_path(),
        )

    def rows(self) -> Iterator[tuple[str, int, str, int, int]]:
        """Operations as (job, place in its route, machine, start, end)."""
        instance, end = self.instance, self.end
        for v, job in enumerate(instance.jobs.tolist()):
            yield (
                instance.job_names[job],
                v - int(instance.first[job]),
                instance.machine_names[instance.machines[v]],
                int(self.start[v]),
                int(end[v]),
            )

    def write_csv(self, path: str | Path) -> None:
        """Write the operations to a CSV file, one a line, under a header line."""
        write_csv(path, COLUMNS, self.rows())

    def write(self, path: str | Path) -> None:
        """Write the operations, or a Gantt chart, as ``Result.write_schedule`` does."""
        write_form(path, COLUMNS, self.rows(), self)

    def to_json(self) -> str:
        """Write everything there is to know as JSON."""
        instance = self.instance
        values: dict[str, Any] = {
            "instance": instance.name,
            "digest": instance.digest,
            "makespan": self.makespan,
            "costs": {
                str(criterion): self.cost(criterion)
                for criterion in Criterion
                if instance.due is not None
                or criterion is not Criterion.WEIGHTED_TARDINESS
            },
            "machine_orders": self.machine_sequences(),
            "critical_path": list(self.critical_path()),
            "operations": [dict(zip(COLUMNS, row, strict=True)) for row in self.rows()],
        }
        return json_text(values)

    def __str__(self) -> str:
        """Table for people: a line a machine, its jobs with start and end."""
        lines = []
        jobs = self.instance.jobs
        end = self.end
        for name, row in zip(
            self.instance.machine_names, self.machine_operations(), strict=True
        ):
            cells = (
                f"{self.instance.job_names[jobs[v]]}:{self.start[v]}-{end[v]}"
                for v in row
            )
            lines.append(f"machine {name:<6} " + "  ".join(cells))
        return "\n".join(lines)


def schedule(
    instance: JobShopInstance,
    solution: Any,
    encoding: str | Encoding = Encoding.SEQUENCE,
) -> JobShopSchedule:
    """Return the semi-active schedule of one solution.

    Parameters
    ----------
    solution
        A sequence of jobs, or machine orders; see ``dpbb.jobshop.solution``.

    Raises
    ------
    InstanceError
        No solution of this shop, or one with a cycle: its operations are named.
    """
    orders, before = _arcs(instance, solution, encoding)
    start = _longest_ways(instance, before, instance.times, instance.release)
    return JobShopSchedule(instance, orders, before, start)


def layers(
    instance: JobShopInstance,
    solution: Any,
    encoding: str | Encoding = Encoding.SEQUENCE,
) -> NDArray[np.int64]:
    """Return the layer of every operation, from 0, shape (n_operations,).

    Operations of a layer are independent. An operation's is 1 more than the larger one
    of the two that it waits for, so that there are as few layers as can be. (Bozejko,
    Uchronski, Wodecki, PPAM 2011, take maximal runs without an arc of a given
    topological order, whose number depends on the order.)

    Raises
    ------
    InstanceError
        No solution of this shop, or a cyclic one.
    """
    _, before = _arcs(instance, solution, encoding)
    return _longest_ways(instance, before, np.ones_like(instance.times), 0)


def _arcs(
    instance: JobShopInstance, solution: Any, encoding: str | Encoding
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the machine orders of a solution, and who waits for whom."""
    if member(Encoding, encoding, "encoding") is Encoding.SEQUENCE:
        orders = orders_of_sequence(instance, check_sequence(instance, solution))
    else:
        orders = check_orders(instance, solution)
    by_job = np.arange(instance.n_operations) - 1
    by_job[instance.first[:-1]] = NONE
    by_machine = np.full(instance.n_operations, NONE)
    for row in machine_operations(instance, orders):
        by_machine[row[1:]] = row[:-1]
    return orders, np.stack([by_job, by_machine])


def _longest_ways(
    instance: JobShopInstance,
    before: NDArray[np.int64],
    times: NDArray[np.int64],
    release: NDArray[np.int64] | int,
) -> NDArray[np.int64]:
    """Return the longest way from the beginning to each operation.

    Sweeps with a queue; CyclicError when not every operation is reached.
    """
    following = np.full_like(before, NONE)
    for after, row in zip(following, before, strict=True):
        later = np.flatnonzero(row != NONE)
        after[row[later]] = later
    starts = np.zeros(instance.n_operations, np.int64)
    starts[instance.first[:-1]] = release
    found, lasting, after = starts.tolist(), times.tolist(), following.T.tolist()
    waiting = (before != NONE).sum(axis=0).tolist()
    ready = [v for v, count in enumerate(waiting) if not count]
    for v in ready:  # grows
        end = found[v] + lasting[v]
        for w in after[v]:
            if w != NONE:
                found[w] = max(found[w], end)
                waiting[w] -= 1
                if not waiting[w]:
                    ready.append(w)
    if len(ready) < instance.n_operations:
        v = next(v for v, count in enumerate(waiting) if count)
        path: list[int] = []
        while v not in path:  # back from one that waits to another one that does
            path.append(v)
            v = next(u for u in before[:, v].tolist() if u != NONE and waiting[u])
        raise CyclicError.of(instance, path[path.index(v) :][::-1])
    return np.array(found, np.int64)


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
