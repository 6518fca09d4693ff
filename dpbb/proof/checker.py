"""Check a certificate of dpbb: this file alone, with Python; Numba makes it fast.

    python checker.py certificate.json.gz [--nodes N] [--draws K] [--seed N] [--all]

It looks at sizes first, evaluates the schedules, adds up the books of the run, and
explores the tree again, as a whole or in parts that it draws, with bounds and branching
rules of its own: the counts have to be the same, to the last node. ``docs/proof.md``
says what each verdict means, and what it does not exclude.

Exit codes: 0 proved again; 1 it does not hold; 2 no certificate, or a damaged one;
3 not checked enough; 4 audited.

``dpbb verify`` imports form, claim, books and draws from here, and has engines
of its own: one text of the rules, two explorers. ``prove.py`` needs no books.
"""

import argparse
import base64
import gzip
import hashlib
import json
import math
import os
import random
import re
import struct
import sys
import zlib
from bisect import bisect_right
from collections import Counter, deque
from concurrent.futures import ThreadPoolExecutor
from functools import cache, reduce
from itertools import accumulate
from math import inf
from operator import lt, ne, sub

FORMAT, SCHEMA, ROOT_SCHEMA = "dpbb-certificate", 2, 3  # the last one has no books
KIND = "flowshop-makespan"  # all that this file explores
RULES = ("minmin", "minbranch", "maxsum", "alternate", "front", "back")
BOUNDS = ("lb1", "lb2", "cascade")  # the last one: cascade:FIRST-LAST:u-v,u-v,...
EQUAL_JOBS_RULES = 2  # version of the branching rules; of all others 1
NUMBER = "(?:0|[1-9][0-9]{0,3})"
PAIR = f"{NUMBER}-{NUMBER}"
CASCADE = re.compile(f"cascade:({NUMBER})-({NUMBER}):({PAIR}(?:,{PAIR})*)")
MOST_JOBS = MOST_MACHINES = 1024
MOST_TIME = 2**30  # of all operations together
MOST_STEPS = 2_000_000  # pairs of machines times jobs
MOST_BYTES, MOST_LISTS, MOST_OBJECTS = 2**25, 2**21, 2**10  # of a file, unpacked
LISTS = {"bounds": 10_000, "units": 20_000, "leases": 312_500}  # so many entries
FEW_ROOTS, MAX_ROOTS = 64, 4096  # of a unit: listed as they are; packed
PACKED_DIGITS = 20_000_000  # of packed roots in all
HELP = "--finer (of dpbb verify) makes small units at one bound; --all explores all"
MOST_ABOVE = 1_000_000  # nodes above roots that a unit gave away
DRAWS, DIGEST_DRAWS = 40, 422  # 0.9 ** 422 < 2 ** -64
BY_CLAIM = 4  # beside so many draws there is one by claimed nodes
NODES = 300_000, 2_000_000_000  # budgets: of plain Python, and compiled
BINS, KEPT = 32, (32, 2048)  # of a walk's depth: strata; nodes that go on, in all
STARTS = 64  # nodes that a walk begins with
FAST = 10_000_000  # steps of a tree for which compiling is worth while
BIG = 2**31 - 1  # bound of what is no child
SPREAD = 64  # pieces of a large part for each thread
PROVED, AUDITED, TOO_LITTLE = "proved again", "audited", "not checked enough"
FALSE = "does not hold"
EXIT = {PROVED: 0, FALSE: 1, TOO_LITTLE: 3, AUDITED: 4}
DAMAGED = EOFError, gzip.BadGzipFile, zlib.error, ValueError, RecursionError
MALFORMED = ArithmeticError, AttributeError, LookupError, TypeError, ValueError
MALFORMED += (struct.error,)
factorial = cache(math.factorial)


class Failed(Exception):
    """A check that failed: what was expected, and what the certificate says."""


class Unchecked(Exception):
    """Too large, or of another kind than is looked at here: that refutes nothing."""


def expect(ok, text):
    """Raise Failed unless a fact holds."""
    if not ok:
        raise Failed(text)


def shown(text):
    """Text as it is if it is printable ASCII, else with escapes: letters look alike."""
    return text if text.isascii() and text.isprintable() else ascii(text)


# -- reading ---------------------------------------------------------------------------


def read(path):
    """Return a certificate, uncompressed or not; ValueError if it is none."""
    try:
        with open(path, "rb") as file:
            packed = file.read(2) == b"\x1f\x8b"
        with (gzip.open if packed else open)(path, "rb") as file:
            text = file.read(MOST_BYTES + 1)
        sizes = len(text), text.count(b"["), text.count(b"{")
        if any(map(lt, (MOST_BYTES, MOST_LISTS, MOST_OBJECTS), sizes)):
            raise ValueError("it is larger than any that a run writes")
        certificate = json.loads(text, parse_int=small)
    except DAMAGED as error:
        raise ValueError(f"another file, or a damaged one: {error}") from None
    if not isinstance(certificate, dict) or certificate.get("format") != FORMAT:
        raise ValueError("another file")
    if certificate.get("schema") not in (SCHEMA, ROOT_SCHEMA):
        raise ValueError(f"one of another schema than {SCHEMA} or {ROOT_SCHEMA}")
    return certificate


def small(text):
    """Return an integer of few digits."""
    return int(text if len(text) < 30 else "too long")


ROOT_KEYS = {
    "": {"format", "schema", "instance", "result"},
    "instance": {"kind", "name", "digest", "bound", "times", "front", "back"},
    "result": {"status", "makespan", "permutation", "lower_bound", "ub", "all_optima"}
    | {"versions", "objective", "engine", "seconds"},
}
OPTIONAL = {"kind", "bound", "front", "back"}
OPTIONAL |= {"versions", "objective", "engine", "seconds", "ub", "all_optima"}
COUNTS = ["decomposed", "leaves", "closed"]
KEYS = ROOT_KEYS | {
    "": ROOT_KEYS[""] | {"tree", "totals", "bounds", "units", "leases", "rest"},
    "tree": {"rule_version", "branching", "branching_ub", "bound", "root_order"}
    | {"n_jobs", "trivial_ub"},
    "totals": {*COUNTS},
    "rest": {*COUNTS},
}


def check_form(certificate):
    """Nothing is too large, or unknown, and numbers are whole ones, of 0 or more."""
    check_sizes(certificate)
    keys = ROOT_KEYS if certificate["schema"] == ROOT_SCHEMA else KEYS
    kind, result = certificate["instance"].get("kind", KIND), certificate["result"]
    expect(type(kind) is str, "the kind of problem is no text")
    for name in ("lower_bound", "ub", "makespan"):
        ok = name == "makespan" and result[name] is None
        ok = ok or type(result.get(name, 0)) is int
        expect(ok, f"[result][{name}] is no whole number")
    own = kind != KIND  # then the family knows the keys of the instance
    for name, known in keys.items():
        found = {*(certificate[name] if name else certificate)}
        ok = known - found <= OPTIONAL and found <= known
        wrong = sorted(known ^ found, key=str)
        ok = ok or (name == "instance" and own and found >= {"name", "digest"})
        expect(ok, f"[{name}] has other entries than are known: {wrong!a:.99}")
    seconds = certificate["result"].get("seconds", 0.0)
    stack = [certificate | {"result": certificate["result"] | {"seconds": 0}}]
    while stack:
        value = stack.pop()
        if isinstance(value, dict | list):
            stack += value.values() if isinstance(value, dict) else value
        elif type(value) is not int and not own:
            ok = value is None or isinstance(value, bool | str)
            expect(ok and type(seconds) is float, f"{value!a:.99} is no whole number")
        elif type(value) is int:
            expect(0 <= value < 2**63, f"{value} is below 0, or too large")


def check_sizes(certificate):
    """Look at lengths alone: nothing is built of what is larger, nor is it refuted."""
    instance, tree = certificate["instance"], certificate.get("tree", {})
    rows, bounds = instance.get("times", []), (instance.get("bound"), tree.get("bound"))
    machines = max(map(len, rows), default=0)
    pairs = machines * (machines - 1) // 2 if "lb2" in bounds else 0
    pairs = max(pairs, *(str(bound).count("-") for bound in bounds))
    for name, size, most in (
        ("jobs", len(rows), MOST_JOBS),
        ("machines", machines, MOST_MACHINES),
        ("pairs of machines times jobs", pairs * len(rows), MOST_STEPS),
        *((name, len(certificate.get(name, [])), most) for name, most in LISTS.items()),
    ):
        if size > most:
            raise Unchecked(f"expected at most {most} {name}, got {size}")


def paths_of(row, n_jobs):
    """Roots of a unit as paths: None if they are not listed, else tuples of digits.

    Packed ones are 16-bit integers, little-endian, zlib, base64: of every root its
    depth and its digits.
    """
    name, n_roots, roots = f"unit {row[0]}", row[3], row[4]
    if roots is None:
        return None
    if type(roots) is str:
        most = 2 * min(n_roots, MAX_ROOTS) * (n_jobs + 1)
        try:
            stream = zlib.decompressobj()
            data = stream.decompress(base64.b64decode(roots, validate=True), most + 1)
            values = struct.unpack(f"<{len(data) // 2}H", data)
        except (ValueError, zlib.error, struct.error):
            raise Failed(f"{name}: damaged roots") from None
        at, roots = 0, []
        while at < len(values):
            roots.append(values[at + 1 : at + 1 + values[at]])
            at += 1 + values[at]
    paths = [tuple(path) for path in roots if isinstance(path, list | tuple)]
    expect(len(paths) == len(roots) == n_roots, f"{name} has not {n_roots} roots")
    for path in paths:
        ok = len(path) < n_jobs and all(map(lt, path, range(n_jobs, 1, -1)))
        expect(ok, f"{name} has a root {path}, which is no node")
    return paths


# -- the flow shop ---------------------------------------------------------------------


def ends_of(times, order, start=None):
    """When each machine is free after some jobs, if it was at the start before them."""
    ends = [*(start or [0] * len(times[0]))]
    for job in order:
        before = 0
        for machine, time in enumerate(times[job]):
            before = ends[machine] = max(before, ends[machine]) + time
    return ends


def digest_of(times, front=(), back=()):
    """SHA-256 of the shape, the times and given jobs, little-endian 64-bit integers."""
    content = hashlib.sha256(b"dpbb flow shop 1\n")
    for row in ((len(times), len(times[0])), *times):
        content.update(struct.pack(f"<{len(row)}q", *row))
    if front or back:
        own = b"dpbb flow shop with given ends 1\n" + content.digest()
        rows = [struct.pack(f"<{len(g) + 1}q", len(g), *g) for g in (front, back)]
        content = hashlib.sha256(b"".join([own, *rows]))
    return content.hexdigest()


class Shop:
    """The jobs between the given ones: what is sequenced; by default all jobs.

    ``heads`` and ``tails``: when the first one of any of the jobs can begin after the
    given front, and what follows the last one, by the machines in reverse.
    """

    def __init__(self, instance):
        self.all_times = instance["times"]
        self.front, self.back = (instance.get(side, []) for side in ("front", "back"))
        given = {*self.front, *self.back}
        self.jobs = [job for job in range(len(self.all_times)) if job not in given]
        self.times = [self.all_times[job] for job in self.jobs]
        self.mirror = [row[::-1] for row in self.times]
        begin = ends_of(self.all_times, self.front)
        follow = ends_of([row[::-1] for row in self.all_times], self.back[::-1])
        self.heads = first_begin(self.times, begin)
        self.tails = first_begin(self.mirror, follow)

    def makespan(self, order):
        """Makespan of the whole sequence, of which the given jobs are a part."""
        between = [self.jobs[job] for job in order]
        return ends_of(self.all_times, [*self.front, *between, *self.back])[-1]


def first_begin(times, start):
    """When the first one of any jobs can begin on each machine, at the earliest.

    This may stand for the start: what follows from it for a job is the same.
    """
    rows = [
        [*map(sub, ends_of(times, [job], start), times[job])]
        for job in range(len(times))
    ]
    return [*map(min, zip(*rows))]


def pairs_of(bound, n_jobs, n_machines):
    """Return depths at which children have two-machine bounds, and the pairs."""
    if bound == "lb1":
        return range(0), []
    machines = range(n_machines)
    if bound == "lb2":
        return range(n_jobs), [(u, v) for u in machines for v in machines[u + 1 :]]
    found = CASCADE.fullmatch(bound)
    expect(found, f"expected the bound lb1, lb2 or a cascade, got {bound!a}")
    first, last = int(found[1]), int(found[2])
    pairs = [tuple(map(int, pair.split("-"))) for pair in found[3].split(",")]
    ok = all(u < v < n_machines for u, v in pairs) and len({*pairs}) == len(pairs)
    ok = ok and 1 <= first <= last < n_jobs
    expect(ok, f"expected depths of a tree, and pairs u < v, each once: {bound}")
    return range(first, last + 1), pairs


def johnson(times, sums, u, v):
    """Return all jobs in Johnson's order of two machines, with their three times.

    They are that on u, between the two, which counts as a lag, and on v.
    """
    lags = [row[v] - row[u + 1] for row in sums]
    rows = [(row[u], lags[j], row[v], j) for j, row in enumerate(times)]
    ahead = sorted((a + lag, a, lag, b, j) for a, lag, b, j in rows if a <= b)
    behind = sorted((-b - lag, a, lag, b, j) for a, lag, b, j in rows if a > b)
    return [row[1:] for row in ahead + behind]


# -- the tree --------------------------------------------------------------------------


@cache
def numba_here():
    """Return Numba and NumPy, which comes with it; None if they cannot be used."""
    try:
        import numba
        import numpy
    except Exception:  # noqa: BLE001 - not only ImportError: a wrong setting, too
        return None
    return None if numba.config.DISABLE_JIT else (numba, numpy)


@cache
def kernels(fast):
    """Return the functions that explore: one text, compiled or plain Python.

    Jobs are numbered by the root order. ``ends`` has two rows: when machines are free
    after the prefix; the same of the suffix, by the machines in reverse. ``work`` is
    what unscheduled jobs take on each machine; ``gone`` is BIG for those scheduled.
    """
    jit, whole = (lambda function: function), int
    if fast:
        jit, whole = numba_here()[0].njit(nogil=True), numba_here()[1].int32

    @jit
    def look(times, groups, options, depth, ends, work, gone, found):
        """Compute LB1 of all children of a node, and return the side that it takes.

        The earliest begin of a job on a machine is its end on the one before, or when
        this one is free; from then on the machine has all unscheduled jobs to do.
        """
        rule, limit, skips_copies = options
        m, lanes = len(work), len(gone)
        for side in range(2):
            bound, end, table = found[side], found[2], times[side]
            own, other = ends[side], ends[1 - side]
            for i in range(lanes):
                bound[i] = gone[i]
                end[i] = 0
            for k in range(m):
                row, free, at = table[k], own[k], m - 1 - k
                after = whole(work[at if side == 1 else k] + other[at])
                for i in range(lanes):
                    begin = max(end[i], free)
                    bound[i] = max(bound[i], whole(begin + after))
                    end[i] = whole(begin + row[i])
        ahead, behind, more = found[0], found[1], 0
        if rule == 0:
            limit = BIG
            for i in range(lanes):
                limit = min(limit, min(ahead[i], behind[i]))
            limit += 1
        if rule < 2:  # fewer children with the least bound, or below a limit
            for i in range(lanes):
                more += (behind[i] < limit) * 1 - (ahead[i] < limit) * 1
        if rule < 3 and more == 0:  # the larger sum
            for i in range(lanes):
                more += ahead[i] - behind[i]
        side, before = (1 if more < 0 else 0), -1
        if rule > 2:
            side = depth % 2 if rule == 3 else rule - 4
        if skips_copies:  # equal jobs are neighbors: only the first one of them goes on
            for i in range(len(groups)):
                if gone[i] == 0:
                    if groups[i] == before:
                        found[side][i] = BIG
                    before = groups[i]
        return side

    @jit
    def step(rows, side, job, ends, work, new_ends, new_work):
        """Schedule a job."""
        end = 0
        for k in range(len(work)):
            end = max(end, ends[side][k]) + rows[side][job][k]
            new_ends[side][k] = end
            new_ends[1 - side][k] = ends[1 - side][k]
            new_work[k] = work[k] - rows[0][job][k]

    @jit
    def shut(machines, orders, ends, gone, ub):
        """Whether LB2 closes a node: whether that of some pair is ub, or more."""
        for pair in range(len(machines)):
            u, v = machines[pair]
            one, two = ends[0][u], ends[0][v]
            for first, lag, second, job in orders[pair]:
                if gone[job] == 0:
                    one += first
                    two = max(two, one + lag) + second
            if two + ends[1][len(ends[1]) - 1 - v] >= ub:
                return True
        return False

    @jit
    def explore(tables, options, state, depth, ub, floor, left, counts):
        """Explore below a node; returns whether that was ended before.

        That is when no nodes are left, or a leaf is better than it may be: this is the
        last of ``counts``, after closed nodes by depth, leaves and other nodes.
        """
        times, rows, groups, machines, orders, first, last = tables
        ends, work, gone, found, way = state
        n, m = len(groups), len(work[0])
        left[0] -= 1
        if left[0] < 0:
            return True
        if depth == n - 1:
            counts[depth] += 1
            counts[n] += 1
            job = end = value = 0
            while gone[job] != 0:
                job += 1
            for k in range(m):
                end = max(end, ends[depth][0][k]) + rows[0][job][k]
                value = max(value, end + ends[depth][1][m - 1 - k])
            counts[n + 2] = value < floor
            return value < floor
        counts[n + 1] += 1
        here = ends[depth], work[depth], gone, found[depth]
        side = look(times, groups, options, depth, *here)
        bounds = found[depth][side]
        way[1][depth] = side
        for job in range(n):
            if gone[job] == 0:
                if bounds[job] >= ub:
                    counts[depth + 1] += 1
                    continue
                below = ends[depth + 1], work[depth + 1]
                step(rows, side, job, ends[depth], work[depth], *below)
                gone[job] = BIG
                way[0][depth] = job
                two = first <= depth + 1 < last
                if two and shut(machines, orders, ends[depth + 1], gone, ub):
                    counts[depth + 1] += 1
                elif explore(
                    tables, options, state, depth + 1, ub, floor, left, counts
                ):
                    return True
                gone[job] = 0
        return False

    @jit
    def weigh(tables, options, level, weights, depths, picks, found, ub, span, seed):
        """Estimate the number of nodes below some, by one walk down to all leaves.

        At every depth some children of each stratum, by how far bounds are below ub, go
        on, drawn by weight, and carry the weight of all: so every node has the expected
        weight 1 (P. C. Chen, SIAM J. Comput. 21(2), 1992). Levels take turns
        in two rows, behind which are the nodes to begin with, of some depths.
        """
        times, rows, groups, machines, orders, first, last = tables
        n, kept, total, count = len(groups), len(picks), 0.0, 0
        each = kept // BINS
        for depth in range(n):
            here, there = depth % 2, 1 - depth % 2
            ends, work, gone = level[0][here], level[1][here], level[2][here]
            new_ends, new_work, new_gone = (
                level[0][there],
                level[1][there],
                level[2][there],
            )
            for t in range(kept):
                weights[there][t] = 0.0
            for s in range(len(depths)):
                weight = weights[here][s]
                if weight == 0.0 or (s >= kept and depths[s] != depth):
                    continue
                total += weight
                if depth == n - 1:
                    continue
                about = ends[s], work[s], gone[s]
                side = look(times, groups, options, depth, *about, found)
                for job in range(n):
                    if gone[s][job] == 0 and found[side][job] < ub:
                        t = min(BINS - 1, (ub - 1 - found[side][job]) * BINS // span)
                        t, count = t + count % each * BINS, count + 1
                        weights[there][t] = min(weights[there][t] + weight, 1e290)
                        seed = seed * 48271 % 2147483647
                        if seed * weights[there][t] < weight * 2147483647.0:
                            picks[t][0], picks[t][1], picks[t][2] = s, job, side
            for t in range(kept):
                if weights[there][t] > 0.0:
                    s, job, side = picks[t]
                    step(rows, side, job, ends[s], work[s], new_ends[t], new_work[t])
                    for i in range(len(gone[s])):
                        new_gone[t][i] = gone[s][i]
                    new_gone[t][job] = BIG
                    two = first <= depth + 1 < last
                    if two and shut(machines, orders, new_ends[t], new_gone[t], ub):
                        weights[there][t] = 0.0
        return total

    return look, step, shut, explore, weigh


class Node:
    """A node: its path, sides and jobs of it, jobs that are left, what kernels need."""

    def __init__(self, path, way, jobs, state):
        self.path, self.way, self.jobs, self.state = path, way, jobs, state
        self.known = None  # for an upper bound: the side, and bounds of children


class Tree:
    """The search tree of a shop with some options: its nodes, and what is below."""

    def __init__(self, shop, options, all_optima=False, threads=1, fast=False):
        self.shop, self.all_optima, self.threads = shop, all_optima, threads
        self.kept, self.kernels, self.left = KEPT[fast], kernels(fast), []
        self.np = numba_here()[1] if fast else None
        self.n_jobs = n = len(shop.times)
        self.order = options["root_order"] or range(n)
        tables = shop.times, shop.mirror
        rows = [[times[job] for job in self.order] for times in tables]
        gone = [0] * n + [BIG] * (-n % 8 if fast else 0)
        pad = [0] * (len(gone) - n)
        times = [[[*column, *pad] for column in zip(*side)] for side in rows]
        groups = [*accumulate(map(ne, rows[0], rows[0][1:]), initial=0)]
        depths, pairs = pairs_of(options["bound"], n, len(rows[0][0]))
        sums = [[0, *accumulate(row)] for row in rows[0]]
        orders = [johnson(rows[0], sums, u, v) for u, v in pairs]
        tables = times, rows, groups, pairs or [(0, 0)], orders or [[(0, 0, 0, 0)]]
        self.tables = *map(self.table, tables), depths.start, depths.stop
        rule, limit = RULES.index(options["branching"]), options["branching_ub"] or 0
        self.options = rule, limit, options["rule_version"] == EQUAL_JOBS_RULES
        state = [shop.heads, shop.tails], [*map(sum, zip(*rows[0]))], gone
        self.root = Node((), (), (*range(n),), [*map(self.table, state)])
        self.found = self.table([gone] * 3)

    def table(self, rows):
        """Copy nested lists of integers as the kernels take them."""
        if self.np is not None:
            return self.np.array(rows, self.np.int32)
        nested = bool(rows) and isinstance(rows[0], list | tuple)
        return [*map(self.table, rows)] if nested else [*rows]

    def numbers(self, row):
        """Copy numbers that may be larger, or fractions."""
        return [*row] if self.np is None else self.np.array(row)

    def look(self, node):
        """Return the side that a node takes; bounds are in ``found``."""
        about = self.tables[0], self.tables[2], self.options, len(node.path)
        return self.kernels[0](*about, *node.state, self.found)

    def shut(self, node, ub):
        """Whether LB2 closes a node, wherever it is in the tree."""
        ends, _, gone = node.state
        return self.kernels[2](*self.tables[3:5], ends, gone, ub)

    def bounds(self, node, ub):
        """Return the bounds of a node's children, BIG where LB2 closes them."""
        if len(node.jobs) == 1:
            return []
        if node.known is None or node.known[0] != ub:
            side = self.look(node)
            bounds = [int(self.found[side][job]) for job in node.jobs]
            node.known = ub, side, bounds
            for digit in range(len(bounds)):
                two = self.tables[5] <= len(node.path) + 1 < self.tables[6]
                two = two and bounds[digit] < ub
                if two and self.shut(self.child(node, digit), ub):
                    bounds[digit] = BIG
        return node.known[2]

    def child(self, node, digit):
        """Return a child of a node whose bounds are known."""
        state, job = [*map(self.table, node.state)], node.jobs[digit]
        about = self.tables[1], node.known[1], job
        self.kernels[1](*about, *node.state[:2], *state[:2])
        state[2][job] = BIG
        jobs = node.jobs[:digit] + node.jobs[digit + 1 :]
        way = *node.way, (node.known[1], job)
        return Node((*node.path, digit), way, jobs, state)

    def below(self, node, ub, left):
        """Explore below a node at a fixed upper bound, as long as nodes are left.

        Returns decomposed nodes, leaves, and closed subtrees by depth.
        """
        n, base = self.n_jobs, len(node.path)
        rows, gone = [[0] * len(node.state[1])] * n, self.table(node.state[2])
        ends, work = self.table([[row, row] for row in rows]), self.table(rows)
        ends[base], work[base] = self.table(node.state[0]), self.table(node.state[1])
        found, way = self.table([[gone] * 3] * n), self.table([[0] * n] * 2)
        counts = self.numbers([0] * (n + 3))
        about = self.tables, self.options, (ends, work, gone, found, way), base
        self.kernels[3](*about, min(ub, BIG), ub - self.all_optima, left, counts)
        *closed, leaves, decomposed, better = map(int, counts)
        if better:
            left[0] = -1
            steps = [*node.way, *zip(way[1][base : n - 1], way[0][base : n - 1])]
            ahead = [int(job) for side, job in steps if side == 0]
            behind = [int(job) for side, job in steps if side == 1][::-1]
            ahead += {*range(n)} - {*ahead, *behind}
            order = [self.order[job] for job in ahead + behind]
            value = self.shop.makespan(order)
            raise Failed(f"makespan {value}, below {ub}, was missed: {order}")
        decomposed += trailing_zeros(node.path)
        return decomposed, leaves, Counter(dict(enumerate(closed)))

    def weigh(self, pieces, ub, rng):
        """Estimate the number of nodes of roots without those that were given away."""
        counts, nodes = parted_all(self, pieces, ub)
        some = rng.sample(nodes, min(len(nodes), STARTS))
        states = [*[self.root.state] * self.kept, *(node.state for node in some)]
        level = (*(self.table([[*rows]] * 2) for rows in zip(*states)),)
        weights = [[0.0] * self.kept + [len(nodes) / max(1, len(some))] * len(some)] * 2
        weights = self.numbers(weights[0]), self.numbers(weights[1])
        depths = self.table([-1] * self.kept + [len(node.path) for node in some])
        picks, found = self.table([[0] * 3] * self.kept), self.table(self.found)
        span = max(1, ub - min([ub, *self.bounds(self.root, ub)]))
        about = self.tables, self.options, level, weights, depths, picks, found
        seed = rng.randrange(1, 2**31 - 1)
        return counts[0] + self.kernels[4](*about, ub, span, seed)

    def explore(self, pieces, ub, most, pool=None):
        """Explore roots without those that were given away.

        Returns counts as ``below`` does; None if there are more nodes than most.
        """
        left = self.numbers([min(most, 2**62)])
        self.left.append(left)
        sums, nodes = parted_all(self, pieces, ub, SPREAD * self.threads if pool else 0)
        run = pool.map if pool else map
        sums = reduce(plus, run(lambda node: self.below(node, ub, left), nodes), sums)
        return sums if left[0] >= 0 and sums[0] + sums[1] <= most else None

    def explore_all(self, jobs):
        """Explore several parts; yields the number and counts of each."""
        with ThreadPoolExecutor(self.threads) as pool:
            try:
                if self.np is None or len(jobs) < 4 * self.threads:
                    pool = None if self.np is None or self.threads == 1 else pool
                    yield from enumerate(self.explore(*job, pool) for job in jobs)
                else:
                    yield from enumerate(pool.map(lambda job: self.explore(*job), jobs))
            finally:
                for left in self.left:  # threads end, if there are any
                    left[0] = -1


def plus(one, two):
    """Add up counts: decomposed nodes, leaves, closed subtrees by depth."""
    return one[0] + two[0], one[1] + two[1], one[2] + two[2]


def parted_all(tree, pieces, ub, wanted=0):
    """Return the sum of what ``parted`` returns of several lists of roots."""
    found = [parted(tree, roots, ub, given, wanted) for roots, given in pieces]
    nodes = [node for _, some in found for node in some]
    return reduce(plus, (one for one, _ in found)), nodes


def parted(tree, roots, ub, given=frozenset(), wanted=0):
    """Return counts, and nodes that are not pruned below roots: as many as wanted.

    Without those below roots that were given away; counts are of what is pruned above.
    A node counts where its first leaf is: whoever explores a root counts some above it.
    """
    above, closed, decomposed, found = set(), Counter(), 0, []
    for path in given:
        while path and path[:-1] not in above:
            path = path[:-1]
            above.add(path)
        if len(above) > MOST_ABOVE:
            raise Unchecked(f"more than {MOST_ABOVE} nodes are above roots given away")
    known = {}
    queue = deque((path, *node_at(tree, path, ub, known)) for path in roots)
    while queue:
        path, node, n_open = queue.popleft() if wanted else queue.pop()
        few = node is not None and len(node.jobs) > 2
        few = few and len(queue) + len(found) + 1 < wanted
        if path in given:
            continue
        if path in above or few:
            lower = tree.bounds(node, ub) if node else [ub] * (tree.n_jobs - len(path))
            for digit, bound in enumerate(lower):
                child = tree.child(node, digit) if bound < ub else None
                queue.append(((*path, digit), child, n_open + (node is not None)))
            continue
        if node is None:
            decomposed += max(0, n_open - len(path) + trailing_zeros(path))
            closed[len(path)] += 1
        else:
            found.append(node)
    return (decomposed, 0, closed), found


def node_at(tree, path, ub, known):
    """Return the node at a path, None if it is pruned, and how many above are not.

    ``known``: nodes at other paths.
    """
    at = next((at for at in range(len(path), 0, -1) if path[:at] in known), 0)
    node = known[path[:at]] if at else tree.root
    for depth, digit in enumerate(path[at:], at + 1):
        if tree.bounds(node, ub)[digit] >= ub:
            return None, depth
        node = known[path[:depth]] = tree.child(node, digit)
    return node, len(path)


def trailing_zeros(path):
    """How many ancestors of a node have the same first leaf."""
    return next((z for z, digit in enumerate(reversed(path)) if digit), len(path))


# -- the claim and the books -----------------------------------------------------------


def check_shop(certificate):
    """Check the processing times, given jobs and their digest; returns the shop."""
    instance = certificate["instance"]
    if (kind := instance.get("kind", KIND)) != KIND:
        raise Unchecked(f"expected a problem of kind {KIND}, got {kind!a}")
    times = instance["times"]
    objective = certificate["result"].get("objective", "makespan")
    expect(objective == "makespan", f"expected a makespan, got {objective!a}")
    expect(times and times[0], "there are no processing times")
    expect(all(len(row) == len(times[0]) for row in times), "the times are no table")
    ends = [instance.get(side, []) for side in ("front", "back")]
    given = sum(ends, [])
    ok = {*given} <= {*range(len(times))} and len({*given}) == len(given) < len(times)
    expect(ok, "expected given jobs each once, and others between them")
    ok = digest_of(times, *ends) == instance["digest"]
    expect(ok, "the digest is not that of the processing times")
    ok = sum(map(sum, times)) < MOST_TIME
    expect(ok, f"the times are together {MOST_TIME} or more")
    return Shop(instance)


def check_instance(certificate):
    """Check times, options, schedules and claim; returns the shop."""
    shop, tree = check_shop(certificate), certificate["tree"]
    ok = (tree["n_jobs"], tree["trivial_ub"] <= MOST_TIME) == (len(shop.times), True)
    expect(ok, f"expected {len(shop.times)} jobs, and less time, got {tree!a:.99}")
    check_options(certificate, certificate["instance"].get("bound", "lb1"))
    pairs_of(tree["bound"], len(shop.times), len(shop.times[0]))
    if tree["rule_version"] == EQUAL_JOBS_RULES:
        rows = [shop.times[job] for job in tree["root_order"] or range(len(shop.times))]
        kinds = 1 + sum(map(ne, rows, rows[1:]))
        ok = kinds == len({*map(tuple, rows)}) < len(rows)
        expect(ok, "expected equal jobs side by side in the root order")
    check_claim(certificate, shop.makespan)
    return shop


def check_options(certificate, bound):
    """Bound, rule and its version are those that are known here."""
    tree, jobs = certificate["tree"], certificate["tree"]["n_jobs"]
    expect(0 < jobs <= MOST_JOBS, f"expected 1 to {MOST_JOBS} jobs, got {jobs}")
    expect(tree["bound"] == bound, f"expected bound {bound!a}, got {tree['bound']!a}")
    rule, version = tree["branching"], tree["rule_version"]
    expect(rule in RULES, f"expected a branching rule of {RULES}, got {rule!a}")
    ok = type(version) is int and 1 <= version <= EQUAL_JOBS_RULES
    ok = ok and (version == 1 or not certificate["result"]["all_optima"])
    expect(ok, f"expected rules of version 1, 2 (not with all optima), got {version}")
    ok = tree["branching_ub"] is not None or rule != "minbranch"
    expect(ok, "expected the fixed value that minbranch compares with")
    ok = tree["root_order"] is None or sorted(tree["root_order"]) == [*range(jobs)]
    expect(ok, "the root order is none of all jobs")


def check_schedule(result, n_jobs, cost):
    """Check that a claimed optimum has a schedule, which costs as much."""
    ok = sorted(result["permutation"] or []) == [*range(n_jobs)]
    expect(ok, "no schedule of all jobs")
    found, value = cost(result["permutation"]), result["makespan"]
    expect(found == value, f"the schedule costs {found}, not {value}")
    bound = result["lower_bound"]
    expect(bound == value, f"the bound {bound} is not that of the schedule, {value}")


def check_claim(certificate, cost):
    """Check the claim, its schedule, and the bounds that the tree was pruned at.

    The bounds fall to the claim. With all optima they are higher by 1. One that has a
    schedule is its cost; one that was given has none, see ``Audit``.
    """
    result, tree = certificate["result"], certificate["tree"]
    if result["status"] == "optimal":
        check_schedule(result, tree["n_jobs"], cost)
    else:
        names = "status", "makespan", "permutation", "all_optima"
        claim = [result[name] for name in names]
        ok = claim == ["infeasible_cutoff", None, None, False]
        expect(ok, f"expected an optimum, or no schedule below a cutoff: {claim!a}")
    expect(result["lower_bound"] == result["ub"], "the bound is not what was explored")
    before, extra = tree["trivial_ub"] + 1, result["all_optima"]
    for bound, order in certificate["bounds"]:
        expect(bound < before, f"bound {bound} is not below the one before it")
        before = bound
        if order is not None:
            ok = sorted(order) == [*range(tree["n_jobs"])]
            ok = ok and cost(order) + extra == bound
            expect(ok, f"the schedule of bound {bound} is none, or has another cost")
    ok = certificate["bounds"] and before >= result["ub"] + extra
    expect(ok, f"expected bounds not below {result['ub'] + extra}")


def check_root(certificate):
    """Check a claim without a tree; returns what it rests on."""
    shop, result = check_shop(certificate), certificate["result"]
    expect(result["status"] == "optimal", "expected the claim of an optimum")
    check_schedule(result, len(shop.times), shop.makespan)
    value = result["makespan"]
    expect(is_root_bound(shop, value), f"the root has a bound below {value}")
    return f"the bound of the root is not below {value}: it needs no tree"


def is_root_bound(shop, value):
    """Whether LB1 of the root's children, or LB2 of the root, is so large."""
    n, m = len(shop.times), len(shop.times[0])
    two = m > 1 and n * m * (m - 1) // 2 <= MOST_STEPS
    options = {"root_order": None, "branching": "front", "branching_ub": None}
    options |= {"rule_version": 1, "bound": "lb2" if two else "lb1"}
    tree = Tree(shop, options)
    tree.look(tree.root)
    one = max(min(side) for side in tree.found[:2]) >= value
    return one or (two and tree.shut(tree.root, value))


class Part:
    """A unit without what was given away: roots, and counts of its leases."""

    def __init__(self, number, roots, n_jobs):
        self.number, self.roots, self.given = number, roots, set()
        self.pieces = [(roots, self.given)]
        self.open = leaves_below(Counter(map(len, roots)), n_jobs)  # of nobody yet
        self.counts, self.most, self.least = (0, 0, Counter()), 0, inf  # upper bounds
        self.listed = True  # nothing of it is only summed up

    def add(self, counts, most, least):
        """Add the counts of a lease."""
        self.counts = plus(self.counts, counts)
        self.most, self.least = max(self.most, most), min(self.least, least)

    @property
    def nodes(self):
        """Nodes of both kinds."""
        return self.counts[0] + self.counts[1]

    @property
    def exact(self):
        """Whether there was one upper bound, so that any engine counts the same."""
        return self.listed and self.least == self.most

    def check_again(self, found):
        """Compare with what was found at the last bound: the same, or fewer nodes."""
        name = f"unit {self.number} was explored with {self.counts}"
        expect(found is not None, f"{name}, again there are more nodes")
        fewer = found[0] <= self.counts[0] and found[1] <= self.counts[1]
        ok = found == self.counts if self.exact else fewer
        expect(ok, f"{name}, again with {found}")


def leaves_below(closed, n_jobs):
    """Leaves of subtrees, numbered by depth."""
    return sum(count * factorial(n_jobs - depth) for depth, count in closed.items())


def counts_of(name, decomposed, leaves, closed, n_jobs):
    """Check counts: depths rise, numbers are above 0, leaves are closed."""
    ok = (type(decomposed), type(leaves), type(closed)) == (int, int, list)
    expect(ok, f"{name}: no counts")
    depths = [-1, *(depth for depth, _ in closed), n_jobs]
    ok = all(map(lt, depths, depths[1:])) and all(number for _, number in closed)
    ok = ok and leaves <= dict(closed).get(n_jobs - 1, 0)
    expect(ok, f"{name}: depths do not rise, numbers are 0, or leaves are not closed")
    return decomposed, leaves, Counter(dict(closed))


def parts_of(certificate):
    """Units are made of each other's roots, and nothing is in two of them.

    Returns their parts by number; what lists no roots is in the part of the unit above.
    A root is named by its path. Two subtrees are disjoint unless one path begins the
    other, which in sorted order is then seen between neighbors.
    """
    n_jobs, parts, digits = certificate["tree"]["n_jobs"], {}, 0
    for row in certificate["units"]:
        number, parent, leaves, n_roots, roots = row
        name = f"unit {number}"
        ok = number > 0 and number not in parts and n_roots > 0
        ok = ok and (parent in parts if parts else not parent)
        expect(ok, f"{name} is of no unit")
        expect(parts or roots == [[]], f"{name}, the first one, is no whole tree")
        digits += n_roots * (n_jobs + 1) if isinstance(roots, str) else 0
        expect(digits <= 2 * PACKED_DIGITS, f"{name}: too many digits of packed roots")
        if roots is None:
            parts[number] = parts[parent]
            continue
        part = parts[number] = Part(number, paths_of(row, n_jobs), n_jobs)
        expect(leaves == str(part.open), f"{name} does not have {leaves:.99} leaves")
        ok = len({*part.roots}) == n_roots
        ok = ok and (not parent or parts[parent].given.isdisjoint(part.roots))
        expect(ok, f"{name} has a root that is there twice")
        if parent:
            parts[parent].given.update(part.roots)
            parts[parent].open -= part.open
    expect(parts, "there are no units")
    for part in parts.values():
        given, roots = sorted(part.given), sorted(part.roots)
        for one, two in zip(given, given[1:]):
            expect(two[: len(one)] != one, f"roots {one} and {two} overlap")
        for path in given:
            near = roots[max(0, bisect_right(roots, path) - 1)]
            ok = path[: len(near)] == near
            expect(ok, f"root {path} is not inside unit {part.number}")
    return parts


def check_books(certificate):
    """Every leaf is closed exactly once, by the exact sums of every unit.

    Returns the parts of the tree.
    """
    n_jobs, top = (certificate["tree"][key] for key in ("n_jobs", "trivial_ub"))
    result, parts, now = certificate["result"], parts_of(certificate), top
    floor = result["ub"] + result["all_optima"]  # below, no run that proves it pruned
    known = {bound for bound, _ in certificate["bounds"]}
    for number, attempt, _, _, *counts, ubs, _, _ in certificate["leases"]:
        name = f"lease {number}.{attempt}"
        expect(number in parts, f"{name} is of no unit")
        ok = floor <= ubs[1] <= min(now, ubs[0]) and {*ubs} <= known
        expect(ok, f"{name} pruned at {ubs}: expected bounds that fall to {floor}")
        now, counts = ubs[1], counts_of(name, *counts, n_jobs)
        parts[number].add(counts, *ubs)
        parts[number].open -= leaves_below(counts[2], n_jobs)
    rest, totals = (
        counts_of(f"the {name}", *(certificate[name][key] for key in COUNTS), n_jobs)
        for name in ("rest", "totals")
    )
    for part in parts.values():
        if part.least == inf:  # all was given away
            part.add((0, 0, Counter()), floor, floor)
        ok = part.open == 0 or (part.open > 0 and any(rest))
        text = f"unit {part.number}: {part.open} of its leaves are not accounted for"
        expect(ok, text)
    own = [*dict.fromkeys(parts.values())]
    if any(rest):  # it is one part with all units that it may be from
        first, *more = [part for part in own if part.open] or own
        first.listed = False
        first.add(rest, top, floor)
        for part in more:
            first.pieces += part.pieces
            first.add(part.counts, part.most, part.least)
        own = [first, *(part for part in own if part not in more and part is not first)]
    found = reduce(plus, (part.counts for part in own))
    expect(found == totals, f"the leases have {found}, not the totals")
    inner, nodes = 1, 0
    for depth in range(n_jobs):
        inner = inner * (n_jobs - depth + 1 if depth else 1) - totals[2][depth]
        nodes += inner
        expect(inner >= 0, f"the totals at depth {depth} are of no tree")
    fell = not all(part.exact for part in own)  # what is above roots may be closed then
    ok = inner == 0 and (totals[0] == nodes or (fell and totals[0] < nodes))
    expect(ok, f"expected {nodes} nodes above what is closed, got {totals[0]}")
    return own


# -- exploring again -------------------------------------------------------------------


class Audit:
    """Explores the tree of a certificate again: all of it, or parts that it draws.

    It estimates the size of each part by a walk of its own, and draws by these sizes,
    whatever the certificate claims; some parts more by claimed nodes, where walks may
    hardly come. Each drawn part has to be explored exactly: at one upper bound, with
    the same counts to the last node. Draws are independent: if parts with a share f of
    all estimated nodes have false counts, k draws miss them with probability
    (1 - f) ** k, whoever chose them, unless he could know the seed.

    Parameters
    ----------
    parts
        From ``check_books``.
    tree
        As ``Tree``: has ``weigh`` and ``explore_all``.
    seed
        Any value, or ``"digest"``: then a hash of the certificate.
    say
        Is told what is explored.
    """

    def __init__(self, certificate, parts, tree, seed, say):
        self.certificate, self.parts, self.tree, self.say = (
            certificate,
            parts,
            tree,
            say,
        )
        self.seed, result = seed, certificate["result"]
        self.floor = result["ub"] + result["all_optima"]
        self.claimed = sum(part.nodes for part in parts)

    def run(self, nodes, draws, everything=False):
        """Explore so many nodes at most; return the verdict, and what it rests on."""
        if everything or self.whole(nodes):
            found = self.explore(self.parts)
            text = f"the whole tree, {len(self.parts)} units, has {found} nodes"
            fell = sum(not part.exact for part in self.parts)
            less = f", of {self.claimed} claimed: bounds fell in {fell} units"
            return PROVED, text + less * (fell > 0)
        if not draws:
            return TOO_LITTLE, "nothing was explored again, as no draws were wanted"
        seed = self.seed
        if seed == "digest":
            text = json.dumps(self.certificate, sort_keys=True)
            seed = hashlib.sha256(text.encode()).hexdigest()
            draws = max(draws, DIGEST_DRAWS)
        rng = random.Random(str(seed))
        self.say(f"estimates the sizes of {len(self.parts)} units")
        about = self.floor, rng
        sizes = [self.tree.weigh(part.pieces, *about) for part in self.parts]
        chosen = rng.choices(self.parts, sizes, k=draws)
        sizes = [part.nodes for part in self.parts]
        chosen += rng.choices(self.parts, sizes, k=-(-draws // BY_CLAIM))
        different = sorted({*chosen}, key=lambda part: part.nodes)
        exact = [part for part in different if part.exact]
        sums = accumulate(part.nodes for part in exact)
        fit = [part for part, total in zip(exact, sums) if total <= nodes]
        found = self.explore(fit)
        ended = sum(part in fit for part in chosen)
        text = (
            f"{ended} of {len(chosen)} draws ({draws} by estimates) were exact: "
            f"{len(fit)} units, {found} nodes, {found / self.claimed:.3%} of all"
        )
        reasons = []
        if len(fit) < len(exact):
            reasons.append(f"they have {sum(part.nodes for part in exact)} (--nodes)")
        if len(exact) < len(different):
            reasons.append("bounds fell in some, or they are only summed up")
        if any(order is None for _, order in self.certificate["bounds"][1:]):
            reasons.append("a bound was given on the way, with no schedule")
        if reasons:
            return TOO_LITTLE, f"{text}; {', and '.join(reasons)}. {HELP}"
        text += (
            ". Who explored a share x of the tree, by these estimates, passes with x^"
        )
        return AUDITED, f"{text}{draws}: {0.9**draws:.2g} for 90 %"

    def whole(self, nodes):
        """Whether the budget is enough for the whole tree, as it is claimed."""
        return self.claimed <= nodes

    def explore(self, parts):
        """Explore parts again, which must have the claimed counts; returns nodes."""
        nodes, done, total = 0, 0, sum(part.nodes for part in parts)
        self.say(f"explores {len(parts)} units, {total} nodes")
        jobs = [(part.pieces, part.least, part.nodes) for part in parts]
        for index, found in self.tree.explore_all(jobs):
            parts[index].check_again(found)
            nodes += found[0] + found[1]
            before, done = done, done + parts[index].nodes
            if 20 * done // total > 20 * before // total:
                self.say(f"explored {done / total:.0%}")
        return nodes


def checked(certificate, step):
    """Return what a check of the form or the books returns; Failed if it is no form."""
    try:
        return step(certificate)
    except MALFORMED as error:
        raise Failed(f"another form: {type(error).__name__}: {error}") from None


def called(instance):
    """Name of an instance, with its given jobs, and its digest."""
    text = shown(str(instance["name"]))
    for side in ("front", "back"):
        jobs = instance.get(side, [])
        text += f", given {side} {' '.join(map(str, jobs))}" * bool(jobs)
    return f"{text}, digest {shown(str(instance['digest']))}"


def whole(text):
    """Return a number of the command line, of 0 or more."""
    if int(text) < 0:
        raise ValueError
    return int(text)


def say(text):
    """Print what is done."""
    print(f"...      {text}", flush=True)


def main():
    """Check a certificate; returns the exit code."""
    fast = numba_here() is not None
    about = "Check a certificate of dpbb. Needs only Python; Numba makes it fast."
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("certificate")
    text = "explored at most (default: %(default)s); a smaller tree is all explored"
    parser.add_argument("--nodes", type=whole, default=NODES[fast], help=text)
    parser.add_argument("--draws", type=whole, default=DRAWS, help="%(default)s")
    text = "repeats a draw; digest: a function of the certificate (default: random)"
    fresh = random.SystemRandom().randrange(2**63)
    parser.add_argument("--seed", default=fresh, help=text)
    parser.add_argument("--all", action="store_true", help="explore the whole tree")
    parser.add_argument("--threads", type=whole, default=os.cpu_count() or 1)
    args = parser.parse_args()
    try:
        certificate = read(args.certificate)
    except (OSError, ValueError, MemoryError) as error:
        got = getattr(error, "strerror", None) or str(error) or "too little memory"
        print(f"FAILED  {args.certificate}: expected a certificate of dpbb, got: {got}")
        return 2
    try:
        checked(certificate, check_form)
        print(f"instance {called(certificate['instance'])}")
        if certificate["schema"] == ROOT_SCHEMA:
            verdict, text = PROVED, checked(certificate, check_root)
        else:
            shop = checked(certificate, check_instance)
            parts = checked(certificate, check_books)
            result, options = certificate["result"], certificate["tree"]
            print(f"claim    {result['status']}: nothing below {result['lower_bound']}")
            steps = (
                sum(part.nodes for part in parts) * len(shop.times) * len(shop.times[0])
            )
            about = result["all_optima"], max(1, args.threads), fast and steps > FAST
            tree = Tree(shop, options, *about)
            audit = Audit(certificate, parts, tree, args.seed, say)
            print(f"seed     {args.seed}, {args.threads} threads", flush=True)
            verdict, text = audit.run(args.nodes, args.draws, everything=args.all)
    except Failed as error:
        verdict, text = FALSE, error
    except (Unchecked, MemoryError, KeyboardInterrupt) as error:
        verdict, text = TOO_LITTLE, f"it was stopped: {type(error).__name__}: {error}"
    print(f"{verdict}: {text}")
    return EXIT[verdict]


if __name__ == "__main__":
    sys.exit(main())
