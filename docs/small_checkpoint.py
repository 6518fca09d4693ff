"""A checkpoint of a flow shop's makespan with LB1, small, and back again.

    python docs/small_checkpoint.py checkpoint-000012.dpbb ta053.small
    python docs/small_checkpoint.py ta053.small FOLDER/checkpoint-000001.dpbb

Which children of a node are below the upper bound need not be written: whoever reads
computes it again. What is left is a letter for each of them, closed, open, or entered,
and most letters are foretold by the one before: an arithmetic coder writes them, with
the letter before and the depth as context. Only for a run whose upper bound is that of
its start.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import numba
import numpy as np
from numpy.typing import NDArray

from dpbb.coordination.checkpoint import Checkpoint, SavedUnit
from dpbb.coordination.format import (
    _decoded,
    decode_header,
    from_bytes,
    header_length,
    to_bytes,
)
from dpbb.coordination.messages import UnitId
from dpbb.options import BranchingRule, TreeOptions
from dpbb.tree.branching import order_of
from dpbb.tree.work_unit import WorkUnit

MAGIC = b"small checkpoint 1\n"
CLOSED, OPEN, ENTERED, NONE = range(4)


class Letters(msgspec.Struct):
    """A unit: see ``SavedUnit``, with its roots as letters."""

    id: int
    least_lb: int
    fresh: bool
    n_roots: int
    code: bytes


class Small(msgspec.Struct):
    """What is in a file: the checkpoint with one whole tree as its unit, and units."""

    shell: bytes
    units: list[Letters]


def main(source: str, target: str) -> None:
    """Write the other form; a small one is read back and compared first."""
    content = Path(source).read_bytes()
    if content.startswith(MAGIC):
        large = to_bytes(unpack(content))
        from_bytes(large, target)  # all that can be checked without exploring
        Path(target).write_bytes(large)
        return
    saved = from_bytes(content, source)
    small = pack(saved)
    for one, again in zip(saved.units, unpack(small).units, strict=True):
        if one.roots != again.roots:
            raise AssertionError(f"unit {one.id}: other roots came back")
    Path(target).write_bytes(small)
    n_roots = sum(len(one.roots) for one in saved.units)
    print(f"{n_roots:,} roots: {len(content):,} -> {len(small):,} bytes")  # noqa: T201


def pack(saved: Checkpoint) -> bytes:
    """Return it with its units' roots as letters."""
    tables = tables_of(saved)
    whole = WorkUnit.whole(saved.spec.problem.n_jobs)
    first = replace(saved.units[0], roots=whole, gifts=())
    units = []
    for one in saved.units:
        roots = one.open_roots
        code = np.zeros(4 * len(roots) + 64, np.uint8)
        depths, shared, tails = roots.paths
        length = code_roots(*tables, False, depths, shared, tails, code)
        if length < 0:
            raise AssertionError(f"unit {one.id}: a root is not below the upper bound")
        letters = code[:length].tobytes()
        units.append(Letters(one.id, one.least_lb, one.fresh, len(roots), letters))
    shell = to_bytes(replace(saved, units=(first,)))
    return MAGIC + msgspec.msgpack.encode(Small(shell, units))


def unpack(content: bytes) -> Checkpoint:
    """Inverse of ``pack``."""
    small = msgspec.msgpack.decode(content[len(MAGIC) :], type=Small)
    header = decode_header(small.shell, "shell")
    sections = memoryview(small.shell)[header_length(small.shell, "shell") :]
    saved = _decoded(header, sections, None)
    tables = tables_of(saved)
    n_jobs = saved.spec.problem.n_jobs
    units = []
    for one in small.units:
        code = np.frombuffer(bytearray(one.code + bytes(8)), np.uint8)
        depths, shared = np.zeros((2, one.n_roots), np.uint8)
        tails = np.zeros(n_jobs * one.n_roots, np.uint8)
        length = code_roots(*tables, True, depths, shared, tails, code)
        arrays = {"depths": depths, "shared": shared, "tails": tails[:length].copy()}
        roots = WorkUnit.from_arrays(n_jobs, arrays)
        units.append(SavedUnit(UnitId(one.id), roots, (), one.least_lb, one.fresh))
    return replace(saved, units=tuple(units))


def tables_of(saved: Checkpoint) -> tuple[NDArray[np.int64], Any, Any, int, bool]:
    """Return times, least heads and tails, UB, and whether the rule is maxsum."""
    problem: Any = saved.spec.problem
    rules, tree = (BranchingRule.MINMIN, BranchingRule.MAXSUM), saved.spec.tree
    if replace(tree, root_order=None) not in [TreeOptions(rule) for rule in rules]:
        raise SystemExit(f"expected minmin or maxsum with lb1, got {tree}")
    times = problem.times[order_of(tree, problem.n_jobs)]
    maxsum = tree.branching is BranchingRule.MAXSUM
    return times, problem.least_heads, problem.least_tails, saved.ub, maxsum


@numba.njit
def code_roots(times, heads, tails_of, ub, maxsum, decode, depths, shared, tails, code):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
    """Write roots as letters, or letters as roots; return the length, -1 if none fits.

    The tree is walked from the root down, a stack of nodes at a time. ``low`` and
    ``span`` are those of a carryless range coder: 32 bits, adaptive bits of 12.
    """
    n, m = times.shape
    states = np.zeros((3, n + 1, m), np.int64)
    front, back, remain = states[0], states[1], states[2]
    front[0], back[0], remain[0] = heads, tails_of, times.sum(axis=0)
    jobs = np.zeros((n + 1, n), np.int64)
    jobs[0] = np.arange(n)
    at = np.zeros(n + 1, np.int64)
    below, on_back = np.zeros((n + 1, n), np.bool_), np.zeros(n + 1, np.bool_)
    before = np.full(n + 1, NONE)
    bounds = np.zeros((2, n), np.int64)
    odds = np.full((n + 1, 4, 2), 2048)
    low, span, value, place = 0, 0xFFFFFFFF, 0, 0
    if decode:
        for _ in range(4):
            value = value << 8 | code[place]
            place += 1
    path, last = np.zeros(n, np.int64), np.zeros(n, np.int64)
    n_roots, k, n_tails, depth, known, same = len(depths), 0, 0, 0, 0, 0
    if not decode:
        known = depths[0]
        for i in range(known):
            path[i] = tails[i]
        n_tails = known
    level, fresh = 0, True
    while level >= 0:
        r = n - level
        if fresh:  # bound the children of the node at the stack's end
            fresh = False
            for j in range(r):
                p = times[jobs[level, j]]
                begin, most = front[level, 0], 0
                for i in range(m):
                    begin = max(begin, front[level, i])
                    most = max(most, begin + remain[level, i] + back[level, i])
                    begin += p[i]
                bounds[0, j] = most
                begin, most = back[level, m - 1], 0
                for i in range(m - 1, -1, -1):
                    begin = max(begin, back[level, i])
                    most = max(most, begin + remain[level, i] + front[level, i])
                    begin += p[i]
                bounds[1, j] = most
            least = bounds[:, :r].min()
            prefers = (bounds[1, :r] == least).sum() - (bounds[0, :r] == least).sum()
            if maxsum or prefers == 0:
                prefers = bounds[0, :r].sum() - bounds[1, :r].sum()
            on_back[level] = prefers < 0
            chosen = bounds[1] if prefers < 0 else bounds[0]
            for j in range(r):
                below[level, j] = chosen[j] < ub
            at[level], before[level] = 0, NONE
        while at[level] < r and not below[level, at[level]]:
            at[level] += 1
        if at[level] == r:  # up
            level -= 1
            if level >= 0:
                at[level] += 1
            continue
        j = at[level]
        letter = CLOSED
        if not decode and k < n_roots:
            same = min(same, level)  # ranks that the path shares with the stack
            while same < level and path[same] == at[same]:
                same += 1
            if same == level and path[level] == j:
                letter = OPEN if known == level + 1 else ENTERED
            elif same == level and path[level] < j:
                return -1
        for bit_of in range(2):  # closed or not, open or entered
            context = odds[level, before[level]]
            bound = (span >> 12) * context[bit_of]
            if decode:
                bit = (value - low) & 0xFFFFFFFF >= bound
            else:
                bit = letter != CLOSED if bit_of == 0 else letter == ENTERED
            if bit:
                low = (low + bound) & 0xFFFFFFFF
                span -= bound
                context[bit_of] -= context[bit_of] >> 5
            else:
                span = bound
                context[bit_of] += (4096 - context[bit_of]) >> 5
            context[bit_of] = min(max(context[bit_of], 32), 4064)
            while True:
                if (low ^ (low + span)) >= 1 << 24:
                    if span >= 1 << 16:
                        break
                    span = -low & 0xFFFF
                if decode:
                    value = (value << 8 | code[place]) & 0xFFFFFFFF
                else:
                    code[place] = low >> 24
                place += 1
                low = low << 8 & 0xFFFFFFFF
                span = span << 8
            if decode:
                letter = (ENTERED if bit else OPEN) if bit_of else CLOSED
            if not bit:
                break
        before[level] = letter
        if letter == ENTERED:
            job, side = jobs[level, j], on_back[level]
            jobs[level + 1, :j] = jobs[level, :j]
            jobs[level + 1, j : r - 1] = jobs[level, j + 1 : r]
            front[level + 1], back[level + 1] = front[level], back[level]
            remain[level + 1] = remain[level] - times[job]
            if side:
                end = back[level, m - 1]
                for i in range(m - 1, -1, -1):
                    end = max(end, back[level, i]) + times[job, i]
                    back[level + 1, i] = end
            else:
                end = front[level, 0]
                for i in range(m):
                    end = max(end, front[level, i]) + times[job, i]
                    front[level + 1, i] = end
            level += 1
            fresh = True
            continue
        if letter == OPEN and decode:
            same = 0
            while k and same < min(depth, level + 1) and last[same] == at[same]:
                same += 1
            depths[k], shared[k] = level + 1, same
            for i in range(same, level + 1):
                last[i] = at[i]
                tails[n_tails] = at[i]
                n_tails += 1
            depth = level + 1
            k += 1
            if k == n_roots:
                return n_tails
        elif letter == OPEN:
            k += 1
            if k < n_roots:
                known, same = depths[k], min(same, shared[k])
                for i in range(shared[k], known):
                    path[i] = tails[n_tails]
                    n_tails += 1
        at[level] += 1
    if decode or k < n_roots:
        return -1
    for _ in range(4):
        code[place] = low >> 24
        place += 1
        low = low << 8 & 0xFFFFFFFF
    return place


if __name__ == "__main__":
    main(*sys.argv[1:])
