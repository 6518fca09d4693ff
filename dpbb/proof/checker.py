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
from itertools import accumulate, chain, combinations
from math import factorial
from operator import lt, ne, sub

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
PROVED, AUDITED, TOO_LITTLE = "proved again", "audited", "not checked enough"
FALSE = "does not hold"
EXIT = {PROVED: 0, FALSE: 1, TOO_LITTLE: 3, AUDITED: 4}
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


def same(place, got, *wanted):
    """Raise Failed unless what is at a place is one of some values."""
    if got not in wanted:
        known = " or ".join(map(ascii, wanted))
        raise Failed(f"expected {place} {known}, got {got!a}")


def shown(text):
    """Text as it is if it is printable ASCII, else with escapes: letters look alike."""
    return text if text.isascii() and text.isprintable() else ascii(text)


# -- reading ---------------------------------------------------------------------------


def read(path):
    """Return a certificate, uncompressed or not; ValueError if it is none."""
    with open(path, "rb") as file:
        unpack = gzip.open if file.read(2) == b"\x1f\x8b" else open
    try:
        with unpack(path, "rb") as file:
            text = file.read(MOST_BYTES + 1)
        sizes = len(text), text.count(b"["), text.count(b"{")
        if any(map(lt, (MOST_BYTES, MOST_LISTS, MOST_OBJECTS), sizes)):
            raise ValueError("larger than any that a run writes")
        certificate = json.loads(text, parse_int=small)
    except (EOFError, gzip.BadGzipFile, zlib.error, RecursionError) as error:
        raise ValueError(f"a damaged file: {error}") from None
    known = isinstance(certificate, dict) and certificate.get("format") == FORMAT
    if not known or certificate.get("schema") != SCHEMA:
        raise ValueError(f"another file, or one of another schema than {SCHEMA}")
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
    kind = form if isinstance(form, type) else type(form)
    ok = type(value) is (list if kind is tuple else kind)
    ok = ok and (form is not int or 0 <= value < 2**63)
    if not ok or (kind is tuple and len(value) != len(form)):
        raise Failed(f"[{name}] is {value!a:.99}, no {kind.__name__}, or below 0")
    if isinstance(form, dict):
        unknown = {*value} - {key.rstrip("?") for key in form}
        expect(not unknown, f"[{name}] has unknown entries: {unknown!a:.99}")
        for key, one in form.items():
            own = key.rstrip("?")
            if key == own or value.get(own) is not None:
                fits(value[own], one, own)
    elif form is not kind:
        for one, its in zip(value, form * len(value) if kind is list else form):
            fits(one, its, name)


def check_sizes(certificate):
    """Look at lengths alone: nothing is built of what is larger, nor is it refuted."""
    instance, tree = certificate["instance"], certificate.get("tree") or {}
    bounds = [str(one.get("bound")) for one in (instance, tree)]
    rows = [row for row in instance.get("times") or () if isinstance(row, list)]
    jobs, machines = len(rows), max(map(len, rows), default=0)
    all_pairs = machines * (machines - 1) // 2 * ("lb2" in bounds)
    sizes = jobs, machines, jobs * max(all_pairs, *(one.count("-") for one in bounds))
    most = MOST_JOBS, MOST_MACHINES, MOST_STEPS
    if any(map(lt, most, sizes)):
        what = "jobs, machines, and pairs of machines times jobs"
        raise Unchecked(f"expected at most {most} {what}, got {sizes}")


def read_times(path):
    """Return the times in a file: jobs, machines, and the rows of all jobs.

    There may be the machine before each time, as in the files of VRF.
    """
    try:
        with open(path, encoding="ascii") as file:
            jobs, machines, *at = map(small, file.read(MOST_BYTES).split())
        at = at[1::2] if len(at) == 2 * jobs * machines else at
        ok = 0 < jobs <= MOST_JOBS and 0 < machines <= MOST_MACHINES
        ok = ok and len(at) == jobs * machines
        if not ok or not 0 <= min(at) <= max(at) < MOST_TIME:
            raise ValueError(f"no {jobs} rows of {machines} times from 0 on")
    except (OSError, ValueError, MemoryError) as error:
        text = f"{path}: expected jobs, machines, times, got: {reason(error)}"
        raise argparse.ArgumentTypeError(text) from None
    return [at[i : i + machines] for i in range(0, len(at), machines)]


def reason(error):
    """Return what is said of an error that a file led to, without its path."""
    return getattr(error, "strerror", None) or error


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
    """The jobs between the given ones: what is sequenced; by default all jobs."""

    functions = None  # those of ``kernels``

    def __init__(self, instance):
        self.all_times = instance["times"]
        self.front, self.back = (instance.get(side) or [] for side in ("front", "back"))
        given = {*self.front, *self.back}
        self.jobs = [job for job in range(len(self.all_times)) if job not in given]
        self.times = [self.all_times[job] for job in self.jobs]
        self.kinds = self.times  # jobs of equal ones are equal

    def makespan(self, order):
        """Makespan of the whole sequence, of which the given jobs are a part."""
        between = [self.jobs[job] for job in order]
        return ends_of(self.all_times, [*self.front, *between, *self.back])[-1]

    def tables(self, order, bound, pad):
        """Return the root, the times, and what LB2 needs, with jobs in this order.

        The root: when the first one of any jobs can begin on each machine after the
        given front, and what follows the last one, by the machines in reverse. This may
        stand for when machines are free: what follows from it for a job is the same.
        """
        root, times = [], []
        for way, given in (1, self.front), (-1, self.back[::-1]):
            free = ends_of([row[::way] for row in self.all_times], given)
            rows = [self.times[job][::way] for job in order]
            begins = (map(sub, ends_of([row], [0], free), row) for row in rows)
            root.append([*map(min, zip(*begins))])
            times.append([[*column, *pad] for column in zip(*rows)])
        rows = [self.times[job] for job in order]
        depths, pairs = pairs_of(bound, len(rows), len(rows[0]))
        sums = [[0, *accumulate(row)] for row in rows]
        orders = [johnson(rows, sums, u, v) for u, v in pairs]
        pairs, orders = pairs or [(0, 0)], orders or [[(0, 0, 0, 0)]]
        root = root, [*map(sum, zip(*rows))]
        return root, times, (pairs, orders), (depths.start, depths.stop)


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
    of the second side in reverse. ``ends`` and ``work`` have a row for each depth.
    ``ends``: when machines are free after the prefix; the same of the suffix, by the
    machines in reverse. ``work``: what unscheduled jobs take on each machine. ``gone``:
    BIG for those scheduled.

    ``marks`` are the roots of a part and the deeper ones of others, sorted: where each
    one begins, then for each whether it is the part's, its length without zeros at the
    end, and its digits. Those from ``at`` to ``end`` are a node or below it; ``own``:
    whether the part has what they leave.
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
    def step(tables, side, job, depth, ends, work, gone, ub):
        """Schedule a job; returns whether the LB2 of all pairs of machines is below ub.

        Its bound for a pair: the jobs left pass both in Johnson's order.
        """
        times, _, machines, orders, first, last = tables
        old, new, m, end = ends[depth - 1], ends[depth], len(work[depth]), 0
        for k in range(m):
            end = max(end, old[side][k]) + times[side][k][job]
            new[side][k] = end
            new[1 - side][k] = old[1 - side][k]
            work[depth][k] = work[depth - 1][k] - times[0][k][job]
        if first <= depth < last:
            for pair in range(len(machines)):
                u, v = machines[pair]
                one, two = new[0][u], new[0][v]
                for a, lag, b, i in orders[pair]:
                    if gone[i] == 0:
                        one += a
                        two = max(two, one + lag) + b
                if two + new[1][m - 1 - v] >= ub:
                    return False
        return True

    if functions is not None:
        look, step = functions(jit, sided)

    @jit
    def explore(about, state, how, left, counts, sampled, node, weight):
        """Explore what a part has of a node, and of all below it.

        It ends when more nodes were visited than are left, or with a leaf below the
        floor. ``state``: rows by depth of ends, work and bounds; ``gone``; the
        sequence. At the depth ``cut`` only every so many-th node is explored, those of
        a piece. ``counts``: closed nodes by depth, leaves, decomposed nodes, whether a
        leaf is below the floor, nodes at the cut. A node is the part's if its first
        leaf is.

        An estimate has a ``few`` above 0: about so many children of each depth and
        stratum, by how far bounds are below ub, go on, and carry the weight of all: so
        every node has the expected weight 1 (P. C. Chen, SIAM J. Comput. 21(2), 1992).
        All roots go on, and what is above them. ``sampled``: by depth the weights of
        all strata, and what was drawn, from a random begin; behind that of all nodes.
        """
        tables, options, marks = about
        ends, work, found, gone, order = state
        ub, floor, span, few, cut, pieces, piece = how
        depth, front, at, end, own, is_open = node
        n, side, digit = len(order), 0, 0
        if at < end and marks[at + 1] - marks[at] == depth + 2:
            own, at = marks[marks[at]], at + 1
        if at == end and own == 0:
            return
        if depth == cut:
            counts[n + 3] += 1
            if counts[n + 3] % pieces != piece:
                return
        if is_open == 1:
            new, mark = own, at
            while mark < end and marks[marks[mark] + 1] <= depth:
                new, mark = marks[marks[mark]], mark + 1
            counts[n if depth == n - 1 else n + 1] += new
            if few > 0:
                sampled[n][0] += new * weight
            left[0] -= new
            if left[0] < 0:
                return
            bounds = found[depth]
            side = look(tables, options, depth, ends[depth], work[depth], gone, bounds)
        elif at == end:
            counts[depth] += 1
            return
        row = found[depth][side]
        for job in range(n):
            if gone[job] != 0:
                continue
            if depth == n - 1:
                counts[depth], order[front] = counts[depth] + 1, job
                if found[depth][0][job] < floor:
                    counts[n + 2], left[0] = 1, -1
                return
            first, share = at, weight
            while at < end and marks[marks[at] + 2 + depth] == digit:
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
                is_below = step(tables, side, job, depth + 1, ends, work, gone, ub)
            child = depth + 1, front + 1 - side, first, at, own, is_below * 1
            explore(about, state, how, left, counts, sampled, child, share)
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
        self.tables = self.table((times, groups, *pairs, *depths))
        self.root = self.table((*root, [0] * n + [BIG] * len(pad)))

    def table(self, rows, kind=None):
        """Copy lists of numbers as the kernels take them, or a tuple of these."""
        if isinstance(rows, int | float):
            return rows
        if isinstance(rows, tuple):
            return tuple(map(self.table, rows))
        np = self.np
        return np.array(rows, kind or self.kind) if np else [*map(self.table, rows)]

    def marks(self, part):
        """Return the roots of a part, and those of others, as the kernels take them."""
        own, rows = dict.fromkeys(part.roots, 1) | dict.fromkeys(part.given, 0), []
        for path in sorted(own):
            size = max((at for at, digit in enumerate(path, 1) if digit), default=0)
            rows.append((own[path], size, *path))
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
            left, how = self.table([2**62], "int64"), (ub, 0, span, few, *WHOLE)
            self.run(marks, left, how, [0] * (n + 4), sampled)
            sums = sampled[:n]
        return float(sampled[n][0])

    def run(self, marks, left, how, counts, sampled=None):
        """Explore a piece of a part; returns its counts, added to others."""
        n, (ends, work, gone) = self.n_jobs, self.root
        state = self.table(([ends] * n, [work] * n, [[gone] * 3] * n, gone, [0] * n))
        about, counts = (self.tables, self.options, marks), self.table(counts, "int64")
        if sampled is None:
            sampled = self.table([[0.0]], "float64")
        root = 0, 0, 0, int(marks[0]) - 1, 0, 1
        self.kernel(about, state, how, left, counts, sampled, root, 1.0)
        if counts[n + 2]:
            order = [self.order[job] for job in state[4]]
            value, ub = self.shop.makespan(order), how[0]
            raise Failed(f"makespan {value}, below {ub}, was missed: {order}")
        return [*map(int, counts)]

    def pieces(self, marks, left, how):
        """Cut a large part; returns for each piece how it is cut, and counts so far.

        What is above the cut is explored with each, and counted with the first.
        """
        n, pieces = self.n_jobs, PIECES * self.threads
        above, zero, most = None, [0] * (n + 4), int(left[0])
        if self.threads == 1 or most < LARGE or not self.np:
            return [(WHOLE, zero)]
        for cut in range(1, max(2, n)):
            left[0] = most
            *above, _, seen = self.run(marks, left, (*how, cut, 1, 1), zero)
            top = sum(above[n:])
            if seen >= 16 * pieces or top > most // (64 * pieces):
                break
        left[0] = most + (pieces - 1) * top
        again = [*(-count for count in above), 0, 0]
        return [((cut, pieces, at), again if at else zero) for at in range(pieces)]

    def explore_all(self, jobs):
        """Explore parts; yields the number and counts of each; None: it has more."""
        lefts = [self.table([min(most, 2**62)], "int64") for *_, most in jobs]
        with ThreadPoolExecutor(self.threads) as pool:
            try:
                runs = []
                for (part, ub, _), left in zip(jobs, lefts):
                    marks, how = self.marks(part), (ub, ub - self.all_optima, 1, 0)
                    about = partial(pool.submit, self.run, marks, left)
                    cuts = self.pieces(marks, left, how)
                    runs.append([about((*how, *cut), counts) for cut, counts in cuts])
                for index, run in enumerate(runs):
                    found = zip(*(piece.result() for piece in run))
                    *closed, leaves, decomposed, _, _ = map(sum, found)
                    part, _, most = jobs[index]
                    ok = lefts[index][0] >= 0 and leaves + decomposed <= most
                    counts = decomposed, leaves, +Counter(dict(enumerate(closed)))
                    # a race on ``left`` can hide a stop: then leaves are missing
                    ok = ok and part.open == leaves_of(counts[2], self.n_jobs)
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
    widths = {*map(len, times)}
    expect(len(widths) == 1 and widths != {0}, "the times are no table")
    ends = [instance.get(side) or [] for side in ("front", "back")]
    given = sum(ends, [])
    ok = {*given} <= {*range(len(times))} and len({*given}) == len(given) < len(times)
    expect(ok, "expected given jobs each once, and others between them")
    if instance.get("kind") == SHOP_KIND:
        shop, bound = shops().shop_of(certificate, expect), "model"
    else:
        same("objective", objective, "makespan", None)
        same("digest", instance["digest"], digest_of(times, *ends))
        ok = max(sum(map(sum, times)), tree["trivial_ub"] - 1) < MOST_TIME
        expect(ok, f"the times are together {MOST_TIME} or more")
        shop, bound = Shop(instance), instance.get("bound") or "lb1"
        pairs_of(bound, len(shop.times), len(times[0]))
    same("n_jobs", tree["n_jobs"], len(shop.times))
    check_options(certificate, bound)
    if tree["rule_version"] == EQUAL_JOBS_RULES:  # copies are skipped
        kinds = [shop.kinds[job] for job in tree["root_order"] or range(tree["n_jobs"])]
        found = 1 + sum(map(ne, kinds, kinds[1:]))
        ok = found == len({*map(str, kinds)}) < len(kinds)
        expect(ok, "expected equal jobs side by side in the root order")
    check_claim(certificate, shop.makespan)
    return shop


def check_options(certificate, bound):
    """Bound, rule and its version are those that are known here."""
    tree, jobs = certificate["tree"], certificate["tree"]["n_jobs"]
    versions = [1] if certificate["result"]["all_optima"] else [1, EQUAL_JOBS_RULES]
    expect(0 < jobs <= MOST_JOBS, f"expected 1 to {MOST_JOBS} jobs, got {jobs}")
    same("bound", tree["bound"], bound)
    same("branching", tree["branching"], *RULES)
    text = f"rules of version 1, {EQUAL_JOBS_RULES} (not with all optima):"
    same(text, tree["rule_version"], *versions)
    ok = tree["branching_ub"] is not None or tree["branching"] != "minbranch"
    expect(ok, "expected the fixed value that minbranch compares with")
    ok = tree["root_order"] is None or sorted(tree["root_order"]) == [*range(jobs)]
    expect(ok, "the root order is none of all jobs")


def check_claim(certificate, cost):
    """Check the claim, its schedule, and the bounds that the tree was pruned at.

    The bounds fall to the claim. With all optima they are higher by 1. One that has a
    schedule is its cost; one that was given has none, see ``audit``.
    """
    result, jobs = certificate["result"], [*range(certificate["tree"]["n_jobs"])]
    order, value = result.get("permutation"), result.get("makespan")
    if result["status"] == "optimal":
        expect(sorted(order or []) == jobs, "no schedule of all jobs")
        same("what the schedule costs", cost(order), value)
        same("ub", result["ub"], value)
    else:
        claim = [result["status"], value, order, result["all_optima"]]
        ok = claim == ["infeasible_cutoff", None, None, False]
        expect(ok, f"expected an optimum, or no schedule below a cutoff: {claim!a}")
    same("lower_bound", result["lower_bound"], result["ub"])
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

    def __init__(self, number, counts=(0, 0, Counter()), ubs=(0, 0)):
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


def leaves_of(closed, n_jobs):
    """Return how many leaves are below closed nodes, given their number by depth."""
    return sum(count * factorial(n_jobs - depth) for depth, count in closed.items())


def nodes_of(parts):
    """Return the nodes that parts claim together."""
    return sum(part.nodes for part in parts)


def counts_of(name, decomposed, leaves, closed, n_jobs):
    """Check counts: depths rise, numbers are above 0, leaves are closed."""
    depths = [-1, *(depth for depth, _ in closed), n_jobs]
    ok = all(map(lt, depths, depths[1:])) and all(number for _, number in closed)
    closed = Counter(dict(closed))
    expect(ok and leaves <= closed[n_jobs - 1], f"{name} has impossible counts")
    return decomposed, leaves, closed


def parts_of(units, n_jobs):
    """Return what each unit owns: every leaf is of one of them."""
    parts, owner, above, inner = [], {}, [()], 0
    for number, (roots, *counts, ubs) in enumerate(units, 1):
        part = Part(number, counts_of(f"unit {number}", *counts, n_jobs), ubs)
        for path in map(tuple, roots):
            ok = len(path) < n_jobs and all(map(lt, path, range(n_jobs, 1, -1)))
            expect(ok, f"unit {number} has a root {path}, which is no node")
            owner[path] = part  # a root that is taken whole has a new owner
        parts.append(part)
    expect(() in owner, "no unit has the whole tree")
    first, *others = paths = sorted(owner)
    owner[first].roots, owner[first].open = [first], factorial(n_jobs)
    for before, path in zip(paths, others):
        same = len(os.path.commonprefix([before, path]))
        inner += len(path) - same - (same < len(before))
        while path[: len(above[-1])] != above[-1]:
            above.pop()
        part, other, leaves = (
            owner[path],
            owner[above[-1]],
            factorial(n_jobs - len(path)),
        )
        ok = all(owner[one] is not part for one in above)
        expect(ok, f"unit {part.number} has roots that overlap")
        part.roots.append(path)
        other.given.append(path)
        part.open, other.open = part.open + leaves, other.open - leaves
        above.append(path)
    if inner * n_jobs * max(map(len, paths)) > MOST_DIGITS:
        raise Unchecked(f"expected roots that leave at most {MOST_DIGITS} digits")
    return parts


def check_books(certificate):
    """Every leaf is closed exactly once, by the exact sums of every unit.

    So the totals are of a tree, whose nodes can be counted from above. Returns the
    parts of the tree.
    """
    n_jobs, top = (certificate["tree"][key] for key in ("n_jobs", "trivial_ub"))
    parts, floor = parts_of(certificate["units"], n_jobs), floor_of(certificate)
    known = {bound for bound, _ in certificate["bounds"]}
    for part in parts:
        name, ubs = f"unit {part.number}", part.ubs
        ok = {*ubs} <= known and floor <= ubs[1] <= ubs[0] <= top
        expect(ok, f"{name} pruned at {ubs}: expected bounds that fall to {floor}")
        left = part.open - leaves_of(part.counts[2], n_jobs)
        expect(left == 0, f"{name}: {left} of its leaves are not accounted for")
    found = reduce(plus, (part.counts for part in parts))
    totals = counts_of("the total", *map(certificate["totals"].get, COUNTS), n_jobs)
    expect(found == totals, f"the units have {found}, not the totals")
    level, nodes = 1, 0  # nodes of a depth that are not closed
    for depth in range(n_jobs):
        level -= totals[2][depth]
        nodes, level = nodes + level, level * (n_jobs - depth)
    fell = not all(part.exact for part in parts)  # what is above roots may be closed
    ok = totals[0] == nodes or (fell and totals[0] < nodes)
    expect(ok, f"expected {nodes} nodes above what is closed, got {totals[0]}")
    return parts


# -- exploring again -------------------------------------------------------------------


def audit(certificate, parts, tree, say, *, seed, nodes, draws, everything=False):
    """Explore the tree of a certificate again: all of it, or parts that are drawn.

    The size of each part is estimated by a walk, and parts are drawn by these sizes,
    whatever the certificate claims; some parts more by claimed nodes, where walks may
    hardly come. Each drawn part has to be explored exactly: at one upper bound, with
    the same counts to the last node. Draws are independent: if parts with a share f of
    all estimated nodes have false counts, k draws miss them with probability
    (1 - f) ** k, whoever chose them, unless he could know the seed.

    ``tree``: as ``Tree``, with ``threads``, ``weigh`` and ``explore_all``. ``seed``:
    any value, or "digest": then a hash of the certificate. ``nodes``: explored at most,
    unless it is everything. ``say``: is told what is explored. Returns the verdict, and
    what it rests on.
    """
    claimed = nodes_of(parts)
    if everything or claimed <= nodes:
        found = explore_again(parts, tree, say)
        fell = sum(not part.exact for part in parts)
        less = f", of {claimed:,} claimed: bounds fell in {fell} units" * (fell > 0)
        return PROVED, f"the whole tree, {counted(parts)}, has {found:,} nodes{less}"
    if not draws:
        return TOO_LITTLE, "nothing was explored again, as no draws were wanted"
    known = "; so many as he could try seeds" * (seed == "digest")
    if known:
        text = json.dumps(certificate, sort_keys=True)
        seed, draws = (
            hashlib.sha256(text.encode()).hexdigest(),
            max(draws, DIGEST_DRAWS),
        )
    rng, floors = random.Random(str(seed)), [floor_of(certificate)] * len(parts)
    say(f"estimates the sizes of {counted(parts)}")
    rngs = [random.Random(rng.getrandbits(63)) for _ in parts]
    with ThreadPoolExecutor(tree.threads) as pool:
        found = pool.map(tree.weigh, parts, floors, rngs)
        sizes = [min(size, MOST_SIZE) for size in found]
    chosen = rng.choices(parts, sizes, k=draws)
    sizes = [part.nodes for part in parts]
    chosen += rng.choices(parts, sizes, k=-(-draws // BY_CLAIM))
    different = sorted({*chosen}, key=lambda part: (part.nodes, part.number))
    exact = [part for part in different if part.exact]
    sums = accumulate(part.nodes for part in exact)
    fit = [part for part, total in zip(exact, sums) if total <= nodes]
    found = explore_again(fit, tree, say)
    ended = sum(part in fit for part in chosen)
    text = (
        f"{ended} of {len(chosen)} draws ({draws} by estimates) were exact: "
        f"{counted(fit)}, {found:,} nodes, {found / claimed:.3%} of all"
    )
    given = not all(order for _, order in certificate["bounds"][1:])
    reasons = {
        f"they have {nodes_of(exact):,} (--nodes)": len(fit) < len(exact),
        "bounds fell in some": len(exact) < len(different),
        "a bound was given on the way, with no schedule": given,
    }
    if any(reasons.values()):
        why = ", and ".join(text for text, holds in reasons.items() if holds)
        return TOO_LITTLE, f"{text}; {why}. {HELP}"
    who = "Who explored a share x of the tree, by these estimates, passes with"
    return AUDITED, f"{text}. {who} x^{draws}: {0.9**draws:.2g} for 90 %{known}"


def explore_again(parts, tree, say):
    """Explore parts again, which must have the claimed counts; returns nodes."""
    nodes, done, total = 0, 0, nodes_of(parts)  # forged ones may claim none
    say(f"explores {counted(parts)}, {total:,} nodes")
    for index, found in tree.explore_all([(p, p.ubs[1], p.nodes) for p in parts]):
        parts[index].compare(found)
        nodes += found[0] + found[1]
        before, done = done, done + parts[index].nodes
        if done and 20 * done // total > 20 * before // total:
            say(f"explored {done / total:.0%}")
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
    fast = fast and nodes_of(parts) * len(shop.times) * len(shop.times[0]) > FAST
    about = certificate["tree"], result["all_optima"], max(1, args.threads), fast
    say = partial(print, "...     ", flush=True)
    how = {"nodes": args.nodes, "draws": args.draws, "everything": args.all}
    return audit(certificate, parts, Tree(shop, *about), say, seed=args.seed, **how)


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
