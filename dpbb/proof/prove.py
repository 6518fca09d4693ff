"""Prove that no schedule of a flow shop has a makespan below a value.

    python prove.py shop.txt UB [--order "3 1 2 ..."]

This file alone, with Python; where Numba is installed it is compiled, and far faster.
It needs no certificate, and shares no line with dpbb: it explores the tree {LB1 < UB}
from the root, depth first, and counts its nodes. The file has the numbers of jobs and
machines, then a row of times for each job, or is what ``dpbb info --json`` printed of
a shop without dates and set-ups. With a schedule (jobs from 1, in order) of makespan
UB, that is optimal.

Exit codes: 0 there is none; 1 there is one, or the schedule has another makespan;
2 the file or the schedule cannot be read.

A node fixes jobs at the front and at the back. Of its two sets of children, one more
job in front or behind, it takes the one with fewer children of the least bound of all;
if both have as many, that with the larger sum, or in front. The bound of a child (LB1):
on any machine the job begins no sooner than it is free and the job ended on the one
before; from there all unscheduled jobs, and what is fixed behind, have yet to come.
"""

import argparse
import json
import sys
from time import monotonic


def plain(function):
    """Return a function as it is: nothing is compiled."""
    return function


try:
    import numba
    import numpy

    fast, table = numba.njit(nogil=True), numpy.array
except ImportError:
    fast, table = plain, list


@fast
def bound_of(times, job, ends, tails, work, backward):
    """LB1 of a child that has one more job at one end."""
    m = len(work)
    end = bound = 0
    for k in range(m):
        machine = m - 1 - k if backward else k
        begin = max(end, ends[k])
        bound = max(bound, begin + work[machine] + tails[m - 1 - k])
        end = begin + times[job][machine]
    return bound


@fast
def explore(times, heads, fronts, backs, works, taken, kids, sides, ub):
    """Explore {LB1 < UB}; returns nodes, and the makespan of a better one, if any.

    ``fronts`` and ``backs`` have for each depth when machines are free in front, and
    what is fixed behind, machines in reverse. ``kids[depth]``: the jobs to branch on;
    its last entry but one is how many, the last one how many were taken.
    """
    n, m, depth, nodes = len(times), len(times[0]), 0, 1
    kids[0][n] = -1
    while depth >= 0:
        kid = kids[depth]
        if kid[n] < 0:  # a new node: bound all children on both sides
            front = heads[0] if sum(sides[:depth]) == depth else fronts[depth]
            back = heads[1] if sum(sides[:depth]) == 0 else backs[depth]
            least, fewer, larger = ub + 1, 0, 0
            for job in range(n):
                if taken[job]:
                    continue
                one = bound_of(times, job, front, back, works[depth], False)
                two = bound_of(times, job, back, front, works[depth], True)
                if min(one, two) < least:
                    least, fewer = min(one, two), 0
                fewer += (one == least) - 1 * (two == least)
                larger += two - one
            behind = fewer > 0 or (fewer == 0 and larger > 0)
            sides[depth] = 1 if behind else 0
            kid[n], kid[n + 1] = 0, 0
            for job in range(n):
                if not taken[job]:
                    if behind:
                        bound = bound_of(times, job, back, front, works[depth], True)
                    else:
                        bound = bound_of(times, job, front, back, works[depth], False)
                    if bound < ub:
                        kid[kid[n]] = job
                        kid[n] += 1
        if kid[n + 1] == kid[n]:  # all children are done
            depth -= 1
            if depth >= 0:
                taken[kids[depth][kids[depth][n + 1] - 1]] = 0
            continue
        job = kid[kid[n + 1]]
        kid[n + 1] += 1
        end_front = end_back = 0
        for k in range(m):
            fronts[depth + 1][k] = fronts[depth][k]
            backs[depth + 1][k] = backs[depth][k]
            if sides[depth] == 0:
                end_front = max(end_front, fronts[depth][k]) + times[job][k]
                fronts[depth + 1][k] = end_front
            else:
                end_back = max(end_back, backs[depth][k]) + times[job][m - 1 - k]
                backs[depth + 1][k] = end_back
            works[depth + 1][k] = works[depth][k] - times[job][k]
        if depth + 1 == n:  # a schedule
            value = 0
            for k in range(m):
                value = max(value, fronts[n][k] + backs[n][m - 1 - k])
            return nodes, value
        nodes += 1
        taken[job] = 1
        depth += 1
        kids[depth][n] = -1
    return nodes, 0


def makespan(times, order):
    """Makespan of a schedule."""
    ends = [0] * len(times[0])
    for job in order:
        end = 0
        for k, time in enumerate(times[job]):
            end = ends[k] = max(end, ends[k]) + time
    return ends[-1]


def prove(times, ub):
    """Return nodes, and the makespan of a schedule below ub: 0, there is none."""
    n, m = len(times), len(times[0])
    heads = [
        [min(sum(row[:k]) for row in times) for k in range(m)],
        [min(sum(row[m - k :]) for row in times) for k in range(m)],
    ]
    zeros = [[[0] * m for _ in range(n + 1)] for _ in range(3)]
    zeros[2][0] = [sum(column) for column in zip(*times)]
    fronts, backs, works = (table(rows) for rows in zeros)
    taken, sides = table([0] * n), table([0] * n)
    kids = table([[0] * (n + 2) for _ in range(n + 1)])
    state = table(times), table(heads), fronts, backs, works, taken, kids, sides
    return explore(*state, ub)


def numbers(text):
    """Return the jobs of a schedule, from 0."""
    return [int(job) - 1 for job in text.replace(",", " ").split()]


def main():
    """Read a shop, and prove that it has nothing better; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("shop", help="jobs, machines, then a row of times for each job")
    parser.add_argument("ub", type=int, help="there is nothing below, it says")
    parser.add_argument(
        "--order", type=numbers, help="a schedule that has it; jobs from 1"
    )
    args = parser.parse_args()
    try:
        with open(args.shop) as file:
            text = file.read(2**25)
        if text.startswith("{"):
            rows = json.loads(text).get("times")
            if not rows or {*map(len, rows)} != {len(rows[0])}:
                raise ValueError("expected times of a shop without dates or set-ups")
            text = " ".join(map(str, [len(rows), len(rows[0]), *sum(rows, [])]))
        n, m, *rest = map(int, text.split())
        if not (0 < n <= 1024 and n * m == len(rest) > 0 <= min(rest)):
            raise ValueError(
                f"expected {n} (<= 1024) rows of {m} times >= 0, got {len(rest)} times"
            )
        if sum(rest) >= 2**30:
            raise ValueError("expected times that are together below 2^30")
    except (OSError, ValueError, TypeError, LookupError, RecursionError) as error:
        print(f"{args.shop}: {error}")
        return 2
    times = [rest[job * m : (job + 1) * m] for job in range(n)]
    if args.order is not None:
        ok = sorted(args.order) == [*range(n)]
        ok = ok and makespan(times, args.order) == args.ub
        if not ok:
            print(f"the schedule is none of all jobs, or has not makespan {args.ub}")
            return 1
    begun = monotonic()
    nodes, better = prove(times, args.ub)
    seconds = monotonic() - begun
    if better:
        print(f"there is a schedule of makespan {better} below {args.ub}")
        return 1
    about = "optimal" if args.order is not None else "nothing is below"
    print(f"proved: {about} {args.ub}; {nodes:,} nodes, {seconds:.1f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
