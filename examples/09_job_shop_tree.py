"""Solve a job shop exactly: a problem in which jobs have to wait for others.

    python examples/09_job_shop_tree.py

Every job visits all machines, in an order of its own. The permutation holds the
*operations* in the order in which they are placed. Of the n! children that a tree of
permutations has, few exist: the others have the bound ``NO_CHILD``. Those that exist
are the conflict sets of Giffler and Thompson (Operations Research 8(4), 1960): among
the operations that could end first, one machine has to decide which of those that could
start before that end comes next. So every active schedule is one leaf, and no other
schedule is needed, as an active one is optimal.
"""

from hashlib import sha256
from heapq import heappop, heappush
from typing import NamedTuple

import numpy as np

import dpbb
from dpbb.problem import NO_CHILD
from dpbb.result.schedule import Schedule

# Fisher and Thompson (1963), "ft06": a job a line, machine and time of each operation
FT06 = """
2 1  0 3  1 6  3 7  5 3  4 6
1 8  2 5  4 10 5 10 0 10 3 4
2 5  3 4  5 8  0 9  1 1  4 7
1 5  0 5  2 5  3 3  4 8  5 9
2 9  1 3  4 5  5 4  0 3  3 1
1 3  3 3  5 9  0 10 4 4  2 1
"""


class State(NamedTuple):
    """A partial schedule."""

    done: tuple[int, ...]  # number of placed operations of every job
    job: tuple[int, ...]  # when every job is free, its placed operations being done
    machine: tuple[int, ...]  # when every machine is


class JobShop:
    """Minimize the makespan; operation k of job j is element ``j * n_steps + k``."""

    name = "jobshop-makespan"
    objective = "makespan"
    sides = ("front",)  # schedules grow at their end

    def __init__(self, table: np.ndarray) -> None:  # as in the text of FT06
        self.machines = table[:, 0::2].tolist()  # [job][step]
        self.times = table[:, 1::2].tolist()
        self.n_steps = len(self.times[0])
        self.n_jobs = table.size // 2  # the length of the permutation
        self.digest = sha256(repr(table.tolist()).encode()).hexdigest()
        self.trivial_ub = int(table[:, 1::2].sum()) + 1
        after = table[:, :0:-2].cumsum(axis=1)[:, ::-1]  # from the start of each step
        self.tails = (after - table[:, 1::2]).tolist()

    def root_state(self) -> State:
        return State(*[(0,) * len(self.times)] * 2, (0,) * self.n_steps)

    def start(self, state, job, step) -> int:
        return max(state.job[job], state.machine[self.machines[job][step]])

    def extend(self, state, operation, *, back=False) -> State:
        job, step = divmod(int(operation), self.n_steps)
        if step != state.done[job]:
            raise ValueError(f"operation {operation} has to wait for one of its job")
        end = self.start(state, job, step) + self.times[job][step]
        done, ends, free = map(list, state)
        done[job], ends[job], free[self.machines[job][step]] = step + 1, end, end
        return State(tuple(done), tuple(ends), tuple(free))

    def conflicts(self, state) -> list[int]:
        """Operations one of which comes next."""
        ready = []  # end, start, machine, operation
        for job, step in enumerate(state.done):
            if step < self.n_steps:
                start = self.start(state, job, step)
                end, machine = start + self.times[job][step], self.machines[job][step]
                ready.append((end, start, machine, job * self.n_steps + step))
        first_end, _, decides, first = min(ready)
        return [
            operation
            for _, start, machine, operation in ready
            if machine == decides and (start < first_end or operation == first)
        ]

    def child_bounds(self, state, operations, *, back):
        bounds = dict.fromkeys(operations.tolist(), NO_CHILD)
        for operation in self.conflicts(state):
            bounds[operation] = self.bound(self.extend(state, operation))
        return np.array([*bounds.values()])

    def bound(self, state) -> int:
        """Every machine alone: its operations with all that is before and after."""
        queues = [[] for _ in state.machine]  # head, tail, time of every operation
        for job, (head, done) in enumerate(zip(state.job, state.done, strict=True)):
            for step in range(done, self.n_steps):
                machine, time = self.machines[job][step], self.times[job][step]
                head = max(head, state.machine[machine])
                queues[machine].append((head, self.tails[job][step], time))
                head += time
        return max(*state.job, *map(preemptive, queues))

    def evaluate(self, permutation) -> int:
        state = self.root_state()
        for operation in permutation:
            state = self.extend(state, operation)
        return max(state.job)

    def schedule(self, permutation) -> Schedule:
        """When every job is on every machine: for result.schedule(), CSV and Gantt."""
        end = np.zeros((len(self.times), self.n_steps), np.int64)
        time, state = end.copy(), self.root_state()
        for job, step in (divmod(int(o), self.n_steps) for o in permutation):
            state = self.extend(state, job * self.n_steps + step)
            end[job, self.machines[job][step]] = state.job[job]
            time[job, self.machines[job][step]] = self.times[job][step]
        return Schedule(tuple(range(len(end))), end - time, end)


def preemptive(operations) -> int:
    """Makespan of one machine that may interrupt: the longest tail first (Jackson)."""
    waiting, now, best = [], 0, 0  # waiting: minus tail, time left
    coming = sorted(operations, reverse=True)
    while coming or waiting:
        if not waiting:
            now = max(now, coming[-1][0])
        while coming and coming[-1][0] <= now:
            _, tail, time = coming.pop()
            heappush(waiting, (-tail, time))
        tail, left = heappop(waiting)
        spent = min(left, coming[-1][0] - now) if coming else left
        now += spent
        if spent < left:
            heappush(waiting, (tail, left - spent))
        else:
            best = max(best, now - tail)
    return best


def main() -> None:
    table = np.array([line.split() for line in FT06.split("\n") if line], dtype=int)
    # without a search before it, the tree is the same on every machine
    result = dpbb.solve(JobShop(table), heuristics="none", verbosity="quiet")
    print(result.summary())
    print(result.schedule())


if __name__ == "__main__":
    main()
