"""Check a certificate of dpbb: this file alone, with Python; Numba makes it fast.

Of flow shops with dates, set-ups and more check_shops.py has to be beside it.

    python checker.py certificate.json.gz [--nodes N] [--draws K] [--seed N] [--all]
                      [--instance FILE]

It evaluates the schedules, adds up the books of the run, and explores the search tree
again, as a whole or in parts that it draws, with bounds and branching rules of its own:
the counts have to be the same, to the last node. ``docs/proof.md`` says what each
verdict means, and what it does not exclude.

The books are a list of units. A unit has roots, nodes of the tree as paths of digits
(digit v: the v-th of the unscheduled jobs is next), and counts: decomposed nodes,
leaves, closed subtrees by depth; and the first and the last upper bound it was pruned
at. It owns what is below its roots, without what is below deeper roots of other units.
So every leaf of the tree has one owner, and must be in a subtree that this one closed.

Exit codes: 0 proved again; 1 it does not hold; 2 no certificate, or a damaged one;
3 not checked enough; 4 audited.

``dpbb verify`` imports the form, the claim, the books and the draws from here. It walks
the tree, estimates and explores with code of its own. ``prove.py`` needs no books.
"""

import argparse
import gzip
import hashlib
import json
import os
import random
import re
import struct
import sys
import zlib
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial, reduce
from importlib.util import module_from_spec, spec_from_file_location
from itertools import accumulate, chain, combinations, groupby
from math import factorial
from operator import itemgetter, lt, ne, sub

FORMAT, SCHEMA = "dpbb-certificate", 4
KIND = "flowshop-makespan"  # what this file explores by itself
SHOP_KIND = "flow-shop"  # by check_shops.py, which is beside it
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
MOST_DIGITS = 2**28  # of all nodes that are left between roots
HELP = "--finer (of dpbb verify) makes small units at one bound; --all explores all"
DRAWS, DIGEST_DRAWS = 40, 422  # 0.9 ** 422 < 2 ** -64
BY_CLAIM = 4  # beside so many draws there is one by claimed nodes
NODES = 300_000, 2_000_000_000  # budgets: of plain Python, and compiled
BINS, KEPT = 32, ((1,), (1, 64))  # strata of a depth; how many go on in each walk
MOST_SIZE = 1e280  # of an estimate, and of a weight in it: sums are finite
FAST = 10_000_000  # steps of a tree for which compiling is worth while
BIG = 2**31 - 1  # bound of what is no child
LARGE, PIECES = 1_000_000, 16  # a part of so many nodes has pieces for each thread
WHOLE = -1, 1, 0  # the only piece
ZERO = 0, 0, Counter()  # decomposed nodes, leaves, closed subtrees by depth
PROVED, AUDITED, TOO_LITTLE = "proved again", "audited", "not checked enough"
FALSE = "does not hold"
EXIT = {PROVED: 0, FALSE: 1, TOO_LITTLE: 3, AUDITED: 4}
DAMAGED = EOFError, gzip.BadGzipFile, zlib.error, ValueError, RecursionError
MALFORMED = ArithmeticError, AttributeError, LookupError, TypeError, ValueError
# "?": may be missing, or null; [x]: any number of x; (x, y): two entries
COUNTS = {"decomposed": int, "leaves": int, "closed": [(int, int)]}
RESULT = {"status": str, "objective?": str, "makespan?": int, "lower_bound": int} | {
    **{"permutation?": [int], "ub": int, "all_optima": bool},
    **{"engine?": str, "seconds?": float, "versions?": [[str]]},
}
FORM = {
    "format": str,
    "schema": int,
    "instance": {"kind?": str, "name?": str, "digest": str, "bound?": str}
    | {"times?": [[int]], "front?": [int], "back?": [int]},
    "result": RESULT,
    "tree": {"rule_version": int, "branching": str, "branching_ub?": int}
    | {"bound": str, "root_order?": [int], "n_jobs": int, "trivial_ub": int},
    "totals": COUNTS,
    "bounds": [(int, [int])],  # with the schedule, if it comes from one
    "units": [([[int]], int, int, [(int, int)], (int, int))],
}


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
    if certificate.get("schema") != SCHEMA:
        raise ValueError(f"one of another schema than {SCHEMA}")
    return certificate


def small(text):
    """Return an integer of few digits."""
    return int(text if len(text) < 30 else "too long")


def check_form(certificate):
    """Nothing is too large, or unknown, and numbers are whole ones, of 0 or more."""
    check_sizes(certificate)
    form, kind = FORM, certificate["instance"].get("kind", KIND)
    if kind == SHOP_KIND:
        form = FORM | {"instance": FORM["instance"] | shops().FORM}
        if "tree" not in certificate or "bound" in certificate["instance"]:
            raise Unchecked("it has no tree, or one of a bound that is not known here")
    elif kind != KIND:
        raise Unchecked(f"expected a problem of kind {KIND}, got {kind!a:.99}")
    fits(certificate, form, "it")


def with_times(certificate, times):
    """Return a certificate with its times: a benchmark's may leave them to its file."""
    instance = certificate["instance"]
    own = instance.get("times")
    if own is None and times is None:
        raise Unchecked("it leaves out the processing times: --instance has them")
    expect(own is None or times in (None, own), "the instance has other times")
    filled = certificate | {"instance": instance | {"times": own or times}}
    check_sizes(filled)
    return filled


def fits(value, form, name):
    """Check that a value is of a form, as ``FORM`` has them."""
    if isinstance(form, dict):
        expect(type(value) is dict, f"[{name}] is {value!a:.99}")
        unknown = {*value} - {key.rstrip("?") for key in form}
        expect(not unknown, f"[{name}] has unknown entries: {unknown!a:.99}")
        for key, one in form.items():
            own = key.rstrip("?")
            if key == own or value.get(own) is not None:
                fits(value[own], one, own)
    elif isinstance(form, type):
        ok = type(value) is form and (form is not int or 0 <= value < 2**63)
        expect(ok, f"[{name}] is {value!a:.99}, no {form.__name__}, or below 0")
    else:
        forms = form * len(value) if type(value) is type(form) is list else form
        ok = type(value) is list and len(value) == len(forms)
        expect(ok, f"[{name}] is {value!a:.99}")
        for one, its in zip(value, forms):
            fits(one, its, name)


def check_sizes(certificate):
    """Look at lengths alone: nothing is built of what is larger, nor is it refuted."""
    instance, tree = certificate["instance"], certificate.get("tree") or {}
    rows = [row for row in instance.get("times") or () if isinstance(row, list)]
    bounds = instance.get("bound"), tree.get("bound")
    machines = max(map(len, rows), default=0)
    pairs = machines * (machines - 1) // 2 if "lb2" in bounds else 0
    pairs = max(pairs, *(str(bound).count("-") for bound in bounds))
    for name, size, most in (
        ("jobs", len(rows), MOST_JOBS),
        ("machines", machines, MOST_MACHINES),
        ("pairs of machines times jobs", pairs * len(rows), MOST_STEPS),
    ):
        if size > most:
            raise Unchecked(f"expected at most {most} {name}, got {size}")


def read_times(path):
    """Return the times in a file: jobs, machines, and the rows of all jobs.

    There may be the machine before each time, as in the files of VRF.
    """
    try:
        with open(path, encoding="ascii") as file:
            jobs, machines, *at = map(small, file.read(MOST_BYTES).split())
        at = at[1::2] if len(at) == 2 * jobs * machines else at
        ok = 0 < jobs <= MOST_JOBS and 0 < machines <= MOST_MACHINES
        if (
            not ok
            or len(at) != jobs * machines
            or not 0 <= min(at) <= max(at) < MOST_TIME
        ):
            raise ValueError(f"no {jobs} rows of {machines} times from 0 on")
    except (OSError, ValueError, MemoryError) as error:
        got = getattr(error, "strerror", None) or error
        text = f"{path}: expected jobs, machines, times, got: {got}"
        raise argparse.ArgumentTypeError(text) from None
    return [at[i : i + machines] for i in range(0, len(at), machines)]


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
        self.front, self.back = (instance.get(side) or [] for side in ("front", "back"))
        given = {*self.front, *self.back}
        self.jobs = [job for job in range(len(self.all_times)) if job not in given]
        self.times = [self.all_times[job] for job in self.jobs]
        self.mirror = [row[::-1] for row in self.times]
        begin = ends_of(self.all_times, self.front)
        follow = ends_of([row[::-1] for row in self.all_times], self.back[::-1])
        self.heads = first_begin(self.times, begin)
        self.tails = first_begin(self.mirror, follow)
        self.kinds = self.times  # jobs of equal ones are equal

    functions = None  # those of ``kernels``

    def makespan(self, order):
        """Makespan of the whole sequence, of which the given jobs are a part."""
        between = [self.jobs[job] for job in order]
        return ends_of(self.all_times, [*self.front, *between, *self.back])[-1]

    def tables(self, order, bound, pad):
        """Return the root, the times, and what LB2 needs, with jobs in this order."""
        rows = [[side[job] for job in order] for side in (self.times, self.mirror)]
        times = [[[*column, *pad] for column in zip(*side)] for side in rows]
        depths, pairs = pairs_of(bound, len(order), len(self.heads))
        sums = [[0, *accumulate(row)] for row in rows[0]]
        orders = [johnson(rows[0], sums, u, v) for u, v in pairs]
        root = [self.heads, self.tails], [*map(sum, zip(*rows[0]))]
        pairs, orders = pairs or [(0, 0)], orders or [[(0, 0, 0, 0)]]
        return root, times, (pairs, orders), (depths.start, depths.stop)


def first_begin(times, start):
    """When the first one of any jobs can begin on each machine, at the earliest.

    This may stand for the start: what follows from it for a job is the same.
    """
    rows = [map(sub, ends_of(times, [j], start), row) for j, row in enumerate(times)]
    return [*map(min, zip(*rows))]


def pairs_of(bound, n_jobs, n_machines):
    """Return depths at which children have two-machine bounds, and the pairs."""
    if bound == "lb1":
        return range(0), []
    if bound == "lb2":
        return range(n_jobs), [*combinations(range(n_machines), 2)]
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
def shops():
    """Return check_shops.py, as a module."""
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "check_shops.py")
    if not os.path.exists(path):
        raise Unchecked(f"kind {SHOP_KIND} needs {path}")
    spec = spec_from_file_location("check_shops", path)
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@cache
def find_numba():
    """Return Numba and NumPy, which comes with it; None if they cannot be used."""
    try:
        import numba
        import numpy
    except Exception:  # noqa: BLE001 - not only ImportError: a wrong setting, too
        return None
    return None if numba.config.DISABLE_JIT else (numba, numpy)


@cache
def kernels(fast, functions=None):
    """Return the functions that explore and estimate: compiled, or plain Python.

    ``functions`` of other shops take the place of the bounds and steps of this one.

    Jobs are numbered by the root order. ``times``: by side, machine and job, machines
    of the second side in reverse. ``ends`` has two rows: when machines are free after
    the prefix; the same of the suffix, by the machines in reverse. ``work`` is what
    unscheduled jobs take on each machine; ``gone`` is BIG for those scheduled.

    ``marks`` are the roots of a part and the deeper ones of others, sorted: where each
    one begins, then for each whether it is the part's, and its digits. Those from
    ``at`` to ``end`` are a node or below it; ``own``: whether the part has what they
    leave.
    """
    jit, whole = (lambda function: function), int
    if fast:
        jit, whole = find_numba()[0].njit(nogil=True), find_numba()[1].int32

    @jit
    def sided(groups, options, depth, gone, found):
        """Return the side that the rule takes, by the bounds of both."""
        rule, limit, skips_copies = options
        ahead, behind, more, lanes = found[0], found[1], 0, len(gone)
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
    def look(tables, options, depth, ends, work, gone, found):
        """Compute LB1 of all children of a node, and return the side that it takes.

        The earliest begin of a job on a machine is its end on the one before, or when
        this one is free; from then on the machine has all unscheduled jobs to do. Of
        the only job that is left it is the makespan.
        """
        times, groups = tables[0], tables[1]
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
        return sided(groups, options, depth, gone, found)

    @jit
    def step(times, side, job, ends, work, new_ends, new_work):
        """Schedule a job."""
        end = 0
        for k in range(len(work)):
            end = max(end, ends[side][k]) + times[side][k][job]
            new_ends[side][k] = end
            new_ends[1 - side][k] = ends[1 - side][k]
            new_work[k] = work[k] - times[0][k][job]

    @jit
    def shut(tables, depth, ends, gone, ub):
        """Whether LB2 closes a node: whether that of some pair is ub, or more."""
        machines, orders, first, last = tables[2], tables[3], tables[4], tables[5]
        if first <= depth < last:
            for pair in range(len(machines)):
                u, v = machines[pair]
                one, two = ends[0][u], ends[0][v]
                for a, lag, b, job in orders[pair]:
                    if gone[job] == 0:
                        one += a
                        two = max(two, one + lag) + b
                if two + ends[1][len(ends[1]) - 1 - v] >= ub:
                    return True
        return False

    if functions is not None:
        look, step, shut = functions(jit, sided)

    @jit
    def has_first(marks, depth, at, end, own):
        """Whether the part has a node's first leaf: then the node is the part's."""
        while at < end:
            for place in range(marks[at] + 1 + depth, marks[at + 1]):
                if marks[place] != 0:
                    return own
            own, at = marks[marks[at]], at + 1
        return own

    @jit
    def explore(
        tables, options, marks, state, how, left, counts, sampled, node, weight
    ):
        """Explore what a part has of a node, and of all below it.

        It ends when more nodes were visited than are left, or with a leaf below the
        floor. ``state``: rows by depth of ends, work and bounds; ``gone``; the
        sequence. At the depth ``cut`` only every so many-th node is explored, those of
        a piece. ``counts``: closed nodes by depth, leaves, decomposed nodes, whether a
        leaf is below the floor, nodes at the cut.

        An estimate has a ``few`` above 0: about so many children of each depth and
        stratum, by how far bounds are below ub, go on, and carry the weight of all: so
        every node has the expected weight 1 (P. C. Chen, SIAM J. Comput. 21(2), 1992).
        All roots go on, and what is above them. ``sampled``: by depth the weights of
        all strata, and what was drawn, from a random begin; behind that of all nodes.
        """
        ends, work, found, gone, order = state
        depth, front, at, end, own, is_open = node
        ub, floor, span, few, cut, pieces, piece = how
        n, side, digit = len(tables[1]), 0, 0
        if at < end and marks[at + 1] - marks[at] == depth + 1:
            own, at = marks[marks[at]], at + 1
        if at == end and own == 0:
            return
        if depth == cut:
            counts[n + 3] += 1
            if counts[n + 3] % pieces != piece:
                return
        if is_open == 1:
            new = has_first(marks, depth, at, end, own)
            counts[n if depth == n - 1 else n + 1] += new
            if few > 0:
                sampled[n][0] += new * weight
            left[0] -= new
            if left[0] < 0:
                return
            bounds = found[depth]
            side = look(tables, options, depth, ends[depth], work[depth], gone, bounds)
            if depth == n - 1:
                counts[depth], job = counts[depth] + 1, 0
                while gone[job] != 0:
                    job += 1
                order[front] = job
                if bounds[0][job] < floor:
                    counts[n + 2], left[0] = 1, -1
                return
        elif at == end:
            counts[depth] += 1
            return
        row = found[depth][side]
        for job in range(n):
            if gone[job] != 0:
                continue
            first, share = at, weight
            while at < end and marks[marks[at] + 1 + depth] == digit:
                at += 1
            digit += 1
            is_below = is_open == 1 and row[job] < ub
            if first == at and (own == 0 or not is_below):
                counts[depth + 1] += own
                continue
            if few > 0 and first == at:
                stratum = min(BINS - 1, (ub - 1 - row[job]) * BINS // span)
                size = sampled[depth][stratum] + weight
                sampled[depth][stratum] = size
                if few * weight < size:
                    drawn = sampled[depth][BINS + stratum] + few * weight / size
                    sampled[depth][BINS + stratum] = drawn - (drawn >= 1.0)
                    if drawn < 1.0:
                        continue
                    share = min(size / few, MOST_SIZE)
            gone[job] = BIG
            order[front if side == 0 else n - 1 - depth + front] = job
            if is_below:
                new_ends, new_work = ends[depth + 1], work[depth + 1]
                step(tables[0], side, job, ends[depth], work[depth], new_ends, new_work)
                is_below = not shut(tables, depth + 1, new_ends, gone, ub)
            child = depth + 1, front + 1 - side, first, at, own, is_below * 1
            explore(
                tables, options, marks, state, how, left, counts, sampled, child, share
            )
            if left[0] < 0:
                return
            gone[job] = 0

    return look, explore


class Tree:
    """The search tree of a shop with some options: explores parts, estimates them."""

    def __init__(self, shop, options, all_optima=False, threads=1, fast=False):
        self.shop, self.all_optima, self.threads = shop, all_optima, threads
        self.look, self.kernel = kernels(fast, shop.functions)
        self.np, self.kept = fast and find_numba()[1], KEPT[fast]
        self.kind = "int64" if shop.functions else "int32"
        self.n_jobs = n = len(shop.times)
        self.order = options["root_order"] or range(n)
        rule, limit = RULES.index(options["branching"]), options["branching_ub"] or 0
        self.options = rule, limit, options["rule_version"] == EQUAL_JOBS_RULES
        pad = [0] * (-n % 8 if fast else 0)
        kinds = [shop.kinds[job] for job in self.order]
        groups = [*accumulate(map(ne, kinds, kinds[1:]), initial=0)]
        root, times, pairs, depths = shop.tables(self.order, options["bound"], pad)
        several = isinstance(times, tuple)
        times = tuple(map(self.table, times)) if several else self.table(times)
        self.tables = times, *map(self.table, (groups, *pairs)), *depths
        self.root = [*map(self.table, (*root, [0] * n + [BIG] * len(pad)))]

    def table(self, rows, kind=None):
        """Copy nested rows of numbers as the kernels take them."""
        if self.np:
            return self.np.array(rows, kind or self.kind)
        nested = bool(rows) and isinstance(rows[0], list | tuple)
        return [*map(self.table, rows)] if nested else [*rows]

    def marks(self, part):
        """Return the roots of a part, and those of others, as the kernels take them."""
        own = dict.fromkeys(part.roots, 1) | dict.fromkeys(part.given, 0)
        rows = [(own[path], *path) for path in sorted(own)]
        begins = accumulate(map(len, rows), initial=len(rows) + 1)
        return self.table([*begins, *chain(*rows)], "int64")

    def weigh(self, part, ub, rng):
        """Estimate the number of nodes of a part, below every root of it."""
        n, (ends, work, gone), marks = self.n_jobs, self.root, self.marks(part)
        found = self.table([gone] * 3)
        side = self.look(self.tables, self.options, 0, ends, work, gone, found)
        span, sums = max(1, ub - int(min(found[side]))), [[0.0] * BINS] * n
        for few in self.kept:  # a first time to see what there is, if there is time
            rows = [[*row[:BINS], *(rng.random() for _ in range(BINS))] for row in sums]
            sampled = self.table([*rows, [0.0] * 2 * BINS], "float64")
            left, how = self.table([2**62], "int64"), (ub, 0, span, few)
            self.run(marks, how, left, WHOLE, [0] * (n + 4), sampled)
            sums = sampled[:n]
        return float(sampled[n][0])

    def run(self, marks, how, left, piece, counts, sampled=None):
        """Explore a piece of a part; returns its counts, added to others."""
        n, (ends, work, gone) = self.n_jobs, self.root
        rows = [ends] * n, [work] * n, [[gone] * 3] * n, gone, [0] * n
        state, counts = tuple(map(self.table, rows)), self.table(counts, "int64")
        if sampled is None:
            sampled = self.table([[0.0]], "float64")
        about = self.tables, self.options, marks, state, (*how, *piece), left, counts
        self.kernel(*about, sampled, (0, 0, 0, int(marks[0]) - 1, 0, 1), 1.0)
        if counts[n + 2]:
            order = [self.order[job] for job in state[4]]
            value, ub = self.shop.makespan(order), how[0]
            raise Failed(f"makespan {value}, below {ub}, was missed: {order}")
        return [*map(int, counts)]

    def pieces(self, marks, how, left):
        """Return pieces of a part, and counts to begin with; of a large one many.

        What is above the cut is explored with each, and counted with the first.
        """
        n, most, pieces = self.n_jobs, int(left[0]), PIECES * self.threads
        zero, spent = [0] * (n + 4), 0
        if n == 1 or self.threads == 1 or most < LARGE or not self.np:
            return [(WHOLE, zero)]
        for cut in range(1, n):
            left[0] = most
            *above, _, seen = self.run(marks, how, left, (cut, 1, 1), zero)
            spent += sum(above[n:])
            enough = seen >= 16 * pieces or spent > most // (16 * pieces)
            if enough or left[0] < 0:
                break
        if left[0] >= 0:
            left[0] = most + (pieces - 1) * sum(above[n:])
        again = [*(-count for count in above), 0, 0]
        return [((cut, pieces, at), again if at else zero) for at in range(pieces)]

    def explore_all(self, jobs):
        """Explore parts; yields the number and counts of each; None: it has more."""
        lefts = [self.table([min(most, 2**62)], "int64") for *_, most in jobs]

        def pieces():
            for index, (part, ub, _) in enumerate(jobs):
                how = ub, ub - self.all_optima, 1, 0
                about = self.marks(part), how, lefts[index]
                for piece in self.pieces(*about):
                    yield index, (*about, *piece)

        with ThreadPoolExecutor(self.threads) as pool:
            run = pool.map if self.np and self.threads > 1 else map
            found = run(lambda piece: (piece[0], self.run(*piece[1])), pieces())
            try:
                for index, group in groupby(found, key=itemgetter(0)):
                    rows = [counts for _, counts in group]
                    *closed, leaves, decomposed, _, _ = map(sum, zip(*rows))
                    ok = lefts[index][0] >= 0 and leaves + decomposed <= jobs[index][2]
                    counts = decomposed, leaves, +Counter(dict(enumerate(closed)))
                    yield index, counts if ok else None
            finally:
                for left in lefts:
                    left[0] = -1
                pool.shutdown(cancel_futures=True)


def plus(one, two):
    """Add up counts: decomposed nodes, leaves, closed subtrees by depth."""
    return one[0] + two[0], one[1] + two[1], one[2] + two[2]


# -- the claim -------------------------------------------------------------------------


def check_instance(certificate):
    """Check times, options, schedules and claim; returns the shop."""
    instance, tree = certificate["instance"], certificate["tree"]
    times, objective = instance["times"], certificate["result"].get("objective")
    ok = {*map(len, times)} == {len(times[0])} != {0}
    expect(ok, "the times are no table")
    ends = [instance.get(side) or [] for side in ("front", "back")]
    given = sum(ends, [])
    ok = {*given} <= {*range(len(times))} and len({*given}) == len(given) < len(times)
    expect(ok, "expected given jobs each once, and others between them")
    if instance.get("kind") == SHOP_KIND:
        shop, bound = shops().shop_of(certificate, expect), "model"
    else:
        ok = objective in ("makespan", None)
        expect(ok, f"expected a makespan, got {objective!a}")
        ok = digest_of(times, *ends) == instance["digest"]
        expect(ok, "the digest is not that of the processing times")
        ok = max(sum(map(sum, times)), tree["trivial_ub"] - 1) < MOST_TIME
        expect(ok, f"the times are together {MOST_TIME} or more")
        shop, bound = Shop(instance), instance.get("bound") or "lb1"
        pairs_of(bound, len(shop.times), len(times[0]))
    jobs = len(shop.times)
    expect(tree["n_jobs"] == jobs, f"expected {jobs} jobs, got {tree['n_jobs']}")
    check_options(certificate, bound)
    check_kinds(shop.kinds, tree)
    check_claim(certificate, shop.makespan)
    return shop


def check_kinds(kinds, tree):
    """Of a tree that skips copies equal jobs are side by side in the root order."""
    if tree["rule_version"] == EQUAL_JOBS_RULES:
        rows = [kinds[job] for job in tree["root_order"] or range(len(kinds))]
        found = 1 + sum(map(ne, rows, rows[1:]))
        ok = found == len({*map(str, rows)}) < len(rows)
        expect(ok, "expected equal jobs side by side in the root order")


def check_options(certificate, bound):
    """Bound, rule and its version are those that are known here."""
    tree, jobs = certificate["tree"], certificate["tree"]["n_jobs"]
    rule, version, order = tree["branching"], tree["rule_version"], tree["root_order"]
    expect(0 < jobs <= MOST_JOBS, f"expected 1 to {MOST_JOBS} jobs, got {jobs}")
    expect(tree["bound"] == bound, f"expected bound {bound!a}, got {tree['bound']!a}")
    expect(rule in RULES, f"expected a branching rule of {RULES}, got {rule!a}")
    ok = version == 1
    ok = ok or (version == EQUAL_JOBS_RULES and not certificate["result"]["all_optima"])
    expect(ok, f"expected rules of version 1, 2 (not with all optima), got {version}")
    ok = tree["branching_ub"] is not None or rule != "minbranch"
    expect(ok, "expected the fixed value that minbranch compares with")
    ok = order is None or sorted(order) == [*range(jobs)]
    expect(ok, "the root order is none of all jobs")


def check_claim(certificate, cost):
    """Check the claim, its schedule, and the bounds that the tree was pruned at.

    The bounds fall to the claim. With all optima they are higher by 1. One that has a
    schedule is its cost; one that was given has none, see ``Audit``.
    """
    result, jobs = certificate["result"], [*range(certificate["tree"]["n_jobs"])]
    order, value = result.get("permutation"), result.get("makespan")
    if result["status"] == "optimal":
        expect(sorted(order or []) == jobs, "no schedule of all jobs")
        found = cost(order)
        expect(found == value, f"the schedule costs {found}, not {value}")
        expect(value == result["ub"], f"the bound is not that of the schedule, {value}")
    else:
        claim = [result["status"], value, order, result["all_optima"]]
        ok = claim == ["infeasible_cutoff", None, None, False]
        expect(ok, f"expected an optimum, or no schedule below a cutoff: {claim!a}")
    expect(result["lower_bound"] == result["ub"], "the bound is not what was explored")
    before, floor = certificate["tree"]["trivial_ub"] + 1, floor_of(certificate)
    for bound, order in certificate["bounds"]:
        expect(bound < before, f"bound {bound} is not below the one before it")
        before = bound
        ok = not order or sorted(order) == jobs
        ok = ok and (not order or cost(order) + result["all_optima"] == bound)
        expect(ok, f"the schedule of bound {bound} is none, or has another cost")
    ok = certificate["bounds"] and before >= floor
    expect(ok, f"expected bounds not below {floor}")


def floor_of(certificate):
    """Return the least upper bound that a run which proves the claim prunes at."""
    return certificate["result"]["ub"] + certificate["result"]["all_optima"]


# -- the books -------------------------------------------------------------------------


class Part:
    """What a unit owns: its roots without deeper ones of others, and its counts.

    ``open``: leaves that it owns. ``exact``: there was one upper bound, so that any
    engine counts the same.
    """

    def __init__(self, number, counts=ZERO, ubs=(0, 0)):
        self.number, self.counts, self.ubs = number, counts, ubs
        self.roots, self.given, self.open = [], [], 0
        self.nodes, self.exact = counts[0] + counts[1], ubs[0] == ubs[1]

    def compare(self, found):
        """Compare with what was found at the last bound: the same, or fewer nodes."""
        name = f"unit {self.number} was explored with {self.counts}"
        expect(found is not None, f"{name}, again there are more nodes")
        fewer = found[0] <= self.counts[0] and found[1] <= self.counts[1]
        ok = found == self.counts if self.exact else fewer
        expect(ok, f"{name}, again with {found}")


def counts_of(name, decomposed, leaves, closed, n_jobs):
    """Check counts: depths rise, numbers are above 0, leaves are closed."""
    depths = [-1, *(depth for depth, _ in closed), n_jobs]
    ok = all(map(lt, depths, depths[1:])) and all(number for _, number in closed)
    closed = Counter(dict(closed))
    expect(ok and leaves <= closed[n_jobs - 1], f"{name} has impossible counts")
    return decomposed, leaves, closed


def parts_of(units, n_jobs):
    """Return what each unit owns: every leaf is of one of them."""
    parts, owner, above = [], {}, []
    for number, (roots, *counts, ubs) in enumerate(units, 1):
        part = Part(number, counts_of(f"unit {number}", *counts, n_jobs), ubs)
        for path in map(tuple, roots):
            ok = len(path) < n_jobs and all(map(lt, path, range(n_jobs, 1, -1)))
            expect(ok, f"unit {number} has a root {path}, which is no node")
            owner[path] = part  # a root that is taken whole has a new owner
        parts.append(part)
    expect(() in owner, "no unit has the whole tree")
    paths = sorted(owner)
    check_between(paths, n_jobs)
    for path in paths:
        part, leaves = owner[path], factorial(n_jobs - len(path))
        while above and path[: len(above[-1])] != above[-1]:
            above.pop()
        ok = all(owner[one] is not part for one in above)
        expect(ok, f"unit {part.number} has roots that overlap")
        part.roots.append(path)
        part.open += leaves
        if above:
            owner[above[-1]].given.append(path)
            owner[above[-1]].open -= leaves
        above.append(path)
    return parts


def check_between(paths, n_jobs):
    """Refuse roots between which there is more than there is memory for."""
    inner, before = 0, ()
    for path in paths:
        same = len(os.path.commonprefix([before, path]))
        inner, before = inner + len(path) - same - (same < len(before)), path
    digits = inner * n_jobs * max(map(len, paths))
    if digits > MOST_DIGITS:
        raise Unchecked(f"expected roots that leave at most {MOST_DIGITS} digits")


def check_books(certificate):
    """Every leaf is closed exactly once, by the exact sums of every unit.

    Returns the parts of the tree.
    """
    n_jobs, top = (certificate["tree"][key] for key in ("n_jobs", "trivial_ub"))
    parts, floor = parts_of(certificate["units"], n_jobs), floor_of(certificate)
    known = {bound for bound, _ in certificate["bounds"]}
    for part in parts:
        name, ubs = f"unit {part.number}", part.ubs
        ok = {*ubs} <= known and floor <= ubs[1] <= ubs[0] <= top
        expect(ok, f"{name} pruned at {ubs}: expected bounds that fall to {floor}")
        closed = part.counts[2].items()
        left = part.open - sum(n * factorial(n_jobs - depth) for depth, n in closed)
        expect(left == 0, f"{name}: {left} of its leaves are not accounted for")
    found = reduce(plus, (part.counts for part in parts))
    totals = counts_of("the total", *map(certificate["totals"].get, COUNTS), n_jobs)
    expect(found == totals, f"the units have {found}, not the totals")
    inner, nodes = 1, 0
    for depth in range(n_jobs):
        inner = inner * (n_jobs - depth + 1 if depth else 1) - totals[2][depth]
        nodes += inner
        expect(inner >= 0, f"the totals at depth {depth} are of no tree")
    fell = not all(part.exact for part in parts)  # what is above roots may be closed
    ok = inner == 0 and (totals[0] == nodes or (fell and totals[0] < nodes))
    expect(ok, f"expected {nodes} nodes above what is closed, got {totals[0]}")
    return parts


# -- exploring again -------------------------------------------------------------------


class Audit:
    """Explores the tree of a certificate again: all of it, or parts that it draws.

    It estimates the size of each part by a walk of its own, and draws by these sizes,
    whatever the certificate claims; some parts more by claimed nodes, where walks may
    hardly come. Each drawn part has to be explored exactly: at one upper bound, with
    the same counts to the last node. Draws are independent: if parts with a share f of
    all estimated nodes have false counts, k draws miss them with probability
    (1 - f) ** k, whoever chose them, unless he could know the seed.

    ``tree``: as ``Tree``, with ``threads``, ``weigh`` and ``explore_all``. ``seed``:
    any value, or "digest": then a hash of the certificate. ``say``: is told what is
    explored.
    """

    def __init__(self, certificate, parts, tree, seed, say):
        self.certificate, self.parts, self.tree = certificate, parts, tree
        self.seed, self.say, self.floor = seed, say, floor_of(certificate)
        self.claimed = sum(part.nodes for part in parts)

    def run(self, nodes, draws, everything=False):
        """Explore so many nodes at most; return the verdict, and what it rests on."""
        if everything or self.whole(nodes):
            found = self.explore(self.parts)
            text = f"the whole tree, {counted(self.parts)}, has {found:,} nodes"
            fell = sum(not part.exact for part in self.parts)
            less = f", of {self.claimed:,} claimed: bounds fell in {fell} units"
            return PROVED, text + less * (fell > 0)
        if not draws:
            return TOO_LITTLE, "nothing was explored again, as no draws were wanted"
        seed = self.seed
        if seed == "digest":
            text = json.dumps(self.certificate, sort_keys=True)
            seed = hashlib.sha256(text.encode()).hexdigest()
            draws = max(draws, DIGEST_DRAWS)
        rng = random.Random(str(seed))
        self.say(f"estimates the sizes of {counted(self.parts)}")
        rngs = [random.Random(rng.getrandbits(63)) for _ in self.parts]
        with ThreadPoolExecutor(self.tree.threads) as pool:
            floors = [self.floor] * len(rngs)
            found = pool.map(self.tree.weigh, self.parts, floors, rngs)
            sizes = [min(size, MOST_SIZE) for size in found]
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
            f"{counted(fit)}, {found:,} nodes, {found / self.claimed:.3%} of all"
        )
        reasons = []
        if len(fit) < len(exact):
            reasons.append(f"they have {sum(part.nodes for part in exact):,} (--nodes)")
        if len(exact) < len(different):
            reasons.append("bounds fell in some")
        if not all(order for _, order in self.certificate["bounds"][1:]):
            reasons.append("a bound was given on the way, with no schedule")
        if reasons:
            return TOO_LITTLE, f"{text}; {', and '.join(reasons)}. {HELP}"
        who = ". Who explored a share x of the tree, by these estimates, passes with x^"
        odds = f"{draws}: {0.9**draws:.2g} for 90 %"
        known = "; so many as he could try seeds" * (self.seed == "digest")
        return AUDITED, f"{text}{who}{odds}{known}"

    def whole(self, nodes):
        """Whether the budget is enough for the whole tree, as it is claimed."""
        return self.claimed <= nodes

    def explore(self, parts):
        """Explore parts again, which must have the claimed counts; returns nodes."""
        nodes, done, total = 0, 0, sum(part.nodes for part in parts)
        self.say(f"explores {counted(parts)}, {total:,} nodes")
        jobs = [(part, part.ubs[1], part.nodes) for part in parts]
        for index, found in self.tree.explore_all(jobs):
            parts[index].compare(found)
            nodes += found[0] + found[1]
            before, done = done, done + parts[index].nodes
            if 20 * done // total > 20 * before // total:
                self.say(f"explored {done / total:.0%}")
        return nodes


def counted(parts):
    """Return how many units there are, as a text."""
    return f"{len(parts)} unit{'s' * (len(parts) != 1)}"


def checked(certificate, step):
    """Return what a check of the form or the books returns; Failed if it is no form."""
    try:
        return step(certificate)
    except MALFORMED as error:
        raise Failed(f"another form: {type(error).__name__}: {error}") from None


def check(certificate, args, fast):
    """Check a certificate with the options of the command; returns the verdict, why."""
    checked(certificate, check_form)
    certificate = with_times(certificate, args.instance)
    instance, result = certificate["instance"], certificate["result"]
    name = str(instance.get("name"))
    for side in ("front", "back"):
        jobs = " ".join(map(str, instance.get(side) or []))
        name += f", given {side} {jobs}" * bool(jobs)
    print(f"instance {shown(name)}, digest {shown(instance['digest'])}")
    if instance.get("kind") == SHOP_KIND:
        print(f"problem  {shops().said(instance)}; no other than its times is compared")
    shop = checked(certificate, check_instance)
    parts = checked(certificate, check_books)
    print(f"claim    {result['status']}: nothing below {result['lower_bound']}")
    print(f"seed     {args.seed}, {args.threads} threads", flush=True)
    steps = sum(part.nodes for part in parts) * len(shop.times) * len(shop.times[0])
    about = result["all_optima"], max(1, args.threads), fast and steps > FAST
    tree = Tree(shop, certificate["tree"], *about)
    say = partial(print, "...     ", flush=True)
    audit = Audit(certificate, parts, tree, args.seed, say)
    return audit.run(args.nodes, args.draws, everything=args.all)


def whole(text):
    """Return a number of the command line, of 0 or more."""
    if int(text) < 0:
        raise ValueError
    return int(text)


def main():
    """Check a certificate; returns the exit code."""
    fast = find_numba() is not None
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
    text = "file of the instance: jobs, machines, times, as VRF has them"
    parser.add_argument("--instance", type=read_times, metavar="FILE", help=text)
    parser.add_argument("--threads", type=whole, default=os.cpu_count() or 1)
    args = parser.parse_args()
    sys.setrecursionlimit(4 * MOST_JOBS)  # plain Python has a call for each job
    try:
        verdict, text = check(read(args.certificate), args, fast)
    except (OSError, ValueError) as error:
        got = getattr(error, "strerror", None) or error
        print(f"FAILED  {args.certificate}: expected a certificate of dpbb, got: {got}")
        return 2
    except Failed as error:
        verdict, text = FALSE, error
    except (Unchecked, MemoryError, RecursionError, KeyboardInterrupt) as error:
        verdict, text = TOO_LITTLE, f"it was stopped: {type(error).__name__}: {error}"
    print(f"{verdict}: {text}")
    return EXIT[verdict]


if __name__ == "__main__":
    sys.exit(main())
