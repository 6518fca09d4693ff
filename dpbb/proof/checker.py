"""Check a certificate of dpbb: this file alone, with Python's standard library.

    python checker.py certificate.json.gz [--nodes 200000] [--seed N]

It shares no code with the solver. It recomputes the makespan of the schedule, adds up
the books of the run, and explores some finished subtrees again, slowly, with a bound
and a branching rule of its own, which must give the same counts to the last node.
``docs/proof.md`` says what that proves, and what it does not.
"""

import argparse
import gzip
import hashlib
import json
import math
import random
import struct
import sys
import zlib
from bisect import bisect_right
from collections import Counter
from functools import cache
from math import inf

FORMAT, SCHEMA, RULE_VERSION = "dpbb-certificate", 1, 1
KIND, BOUND = "flowshop-makespan", "lb1"  # all that this file can explore
MOST_JOBS = 2**16 - 1
RULES = ("minmin", "minbranch", "maxsum", "alternate", "front", "back")
MOST_BYTES = 2**28  # of a certificate that is not compressed
MAX_ROOTS = 64  # roots of a unit that has more are not listed
MAX_ENTRIES, LISTED_BYTES = 20_000, 5_000_000  # a run lists no unit beyond the first
HANDY = 10_000  # nodes from which on a subtree is worth exploring again
DAMAGED = EOFError, gzip.BadGzipFile, zlib.error, ValueError, RecursionError
factorial = cache(math.factorial)


class Failed(Exception):
    """A check that failed: what was expected, and what the certificate says."""


def expect(ok, text):
    """Raise Failed unless a fact holds."""
    if not ok:
        raise Failed(text)


def read(path):
    """Return a certificate, uncompressed or not; ValueError if it is none."""
    try:
        with open(path, "rb") as file:
            packed = file.read(2) == b"\x1f\x8b"
        with (gzip.open if packed else open)(path, "rb") as file:
            text = file.read(MOST_BYTES + 1)
        certificate = json.loads(text) if len(text) <= MOST_BYTES else "a huge file"
    except DAMAGED as error:
        raise ValueError(f"{path}: no certificate, or a damaged one: {error}") from None
    if not isinstance(certificate, dict) or certificate.get("format") != FORMAT:
        raise ValueError(f"{path}: expected a certificate of dpbb")
    if certificate.get("schema") != SCHEMA:
        raise ValueError(f"{path}: expected schema {SCHEMA}")
    return certificate


# -- the form --------------------------------------------------------------------------


def maybe(form):
    """Form of what may be null."""
    return lambda value: None if value is None else misfit(value, form)


COUNTS = {"decomposed": int, "leaves": int, "closed": [(int, int)]}
LEASE = (int, int, str, str, int, int, [(int, int)], (int, int), bool, str)
TREE = {"rule_version": int, "branching": str, "branching_ub": maybe(int)}
TREE |= {"bound": str, "root_order": maybe([int])}
SHOP = {
    "instance": {"name": str, "digest": str, "times": [[int]]},
    "tree": TREE,
}
OTHER = {  # of another kind: what its books need
    "instance": {"kind": str, "digest": str},
    "tree": TREE | {"n_jobs": int, "trivial_ub": int},
}
FORM = {
    "format": str,
    "schema": int,
    "result": {"status": str, "makespan": maybe(int), "permutation": maybe([int])}
    | {"lower_bound": int, "ub": int, "all_optima": bool},
    "totals": COUNTS,
    "units": [(int, int, str, int, maybe([[int]]))],  # id, parent, leaves, roots
    "leases": [LEASE],  # unit, attempt, seat, engine, counts, UBs, alone, version
    "rest": COUNTS,
}


def misfit(value, form):
    """Where a value is not of a form, such as ``[3][1]``; None if it is. ints: >= 0."""
    if isinstance(form, type):
        fits = type(value) is form and (form is not int or 0 <= value < 2**63)
        return None if fits else ""
    if callable(form):
        return form(value)
    if type(value) is not (dict if isinstance(form, dict) else list):
        return ""
    if isinstance(form, dict):
        parts = [(key, value.get(key, ...), form[key]) for key in form]
    elif isinstance(form, tuple):
        if len(value) != len(form):
            return ""
        parts = zip(range(len(form)), value, form)
    else:
        parts = ((index, item, form[0]) for index, item in enumerate(value))
    for key, item, part in parts:
        where = misfit(item, part)
        if where is not None:
            return f"[{key}]{where}"
    return None


def kind_of(certificate):
    """Kind of problem; certificates of flow shops need not say it."""
    instance = certificate.get("instance")
    return instance.get("kind", KIND) if isinstance(instance, dict) else KIND


def size_of(certificate):
    """Jobs, and a value above the cost of every permutation."""
    if kind_of(certificate) == KIND:
        times = certificate["instance"]["times"]
        return len(times), sum(map(sum, times)) + 1
    return certificate["tree"]["n_jobs"], certificate["tree"]["trivial_ub"]


def check_form(certificate):
    """Everything is there, and of the type that it should be."""
    shop = kind_of(certificate) == KIND
    where = misfit(certificate, FORM | (SHOP if shop else OTHER))
    expect(where is None, f"{where} is missing, or of another type")
    known = certificate["format"], certificate["schema"]
    expect(known == (FORMAT, SCHEMA), f"expected {FORMAT} {SCHEMA}, got {known}")
    ok = 0 < size_of(certificate)[0] <= MOST_JOBS
    expect(ok, f"there are no jobs, or more than {MOST_JOBS}")
    for row in certificate["units"]:
        ok = row[2].isascii() and row[2].isdigit() and len(row[2]) < 4300
        expect(ok, f"unit {row[0]} has no number of leaves")


# -- the flow shop ---------------------------------------------------------------------


def ends_of(times, order):
    """When each machine is free after some jobs."""
    ends = [0] * len(times[0])
    for job in order:
        before = 0
        for machine, time in enumerate(times[job]):
            before = ends[machine] = max(before, ends[machine]) + time
    return ends


def digest_of(times):
    """SHA-256 of the shape and the times, little-endian 64-bit integers."""
    flat = [time for row in times for time in row]
    content = hashlib.sha256(b"dpbb flow shop 1\n")
    content.update(struct.pack("<2q", len(times), len(times[0])))
    content.update(struct.pack(f"<{len(flat)}q", *flat))
    return content.hexdigest()


class Tree:
    """The search tree: LB1, and the branching rules, by their definitions."""

    def __init__(self, certificate):
        tree = certificate["tree"]
        self.times = certificate["instance"]["times"]
        self.mirror = [row[::-1] for row in self.times]
        self.n_jobs, n_machines = len(self.times), len(self.times[0])
        self.rule, self.branching_ub = tree["branching"], tree["branching_ub"]
        self.order = tuple(tree["root_order"] or range(self.n_jobs))
        self.all_optima = certificate["result"]["all_optima"]
        self.machines = range(n_machines)
        self.heads = [min(sum(row[:k]) for row in self.times) for k in self.machines]
        self.tails = [min(sum(row[:k]) for row in self.mirror) for k in self.machines]

    def explore(self, roots, ub, most):
        """Explore subtrees to their end at a fixed upper bound.

        Returns decomposed nodes, leaves and closed subtrees by depth; None if there
        are more than ``most`` nodes.
        """
        decomposed, leaves, closed = 0, 0, Counter()
        for path in roots:
            # ancestors from this depth on have their first leaf below path
            owned_from = len(path) - trailing_zeros(path)
            node = (self.order, (), ())
            for depth, digit in enumerate(path):
                decomposed += depth >= owned_from
                side, lower = self.children(node)
                if lower[digit] >= ub:
                    closed[len(path)] += 1
                    break
                node = self.child(node, digit, side)
            stack = [node] if len(node[0]) == self.n_jobs - len(path) else []
            while stack:
                node = stack.pop()
                jobs, prefix, suffix = node
                depth = self.n_jobs - len(jobs)
                if len(jobs) == 1:
                    leaves += 1
                    closed[depth] += 1
                    value = ends_of(self.times, [*prefix, *jobs, *suffix])[-1]
                    ok = value >= ub - self.all_optima  # then one of ub - 1 is known
                    expect(ok, f"a schedule of makespan {value} below {ub} was missed")
                else:
                    decomposed += 1
                    side, lower = self.children(node)
                    closed[depth + 1] += sum(bound >= ub for bound in lower)
                    stack += [
                        self.child(node, digit, side)
                        for digit in reversed(range(len(jobs)))
                        if lower[digit] < ub
                    ]
                if decomposed + leaves > most:
                    return None
        return decomposed, leaves, dict(+closed)

    def child(self, node, digit, side):
        """Return a node with one job more."""
        jobs, prefix, suffix = node
        rest, job = jobs[:digit] + jobs[digit + 1 :], (jobs[digit],)
        return (rest, prefix, job + suffix) if side else (rest, prefix + job, suffix)

    def children(self, node):
        """Return the side that is taken (1: back), and its children's bounds."""
        jobs, prefix, suffix = node
        front, back = self.heads, self.tails[::-1]
        if prefix:
            front = ends_of(self.times, prefix)
        if suffix:
            back = ends_of(self.mirror, suffix[::-1])[::-1]
        remain = [sum(self.times[job][k] for job in jobs) for k in self.machines]
        ahead = self.bounds(front, back, remain, jobs, self.times)
        behind = self.bounds(back[::-1], front[::-1], remain[::-1], jobs, self.mirror)
        side = self.back_is_taken(ahead, behind, self.n_jobs - len(jobs))
        return side, behind if side else ahead

    def bounds(self, front, back, remain, jobs, times):
        """LB1 of appending each job; the mirror image for the back."""
        found = []
        for job in jobs:
            end, bound = 0, 0
            for k, time in enumerate(times[job]):
                start = max(end, front[k])
                bound = max(bound, start + remain[k] + back[k])
                end = start + time
            found.append(bound)
        return found

    def back_is_taken(self, ahead, behind, depth):
        """Whether the back children are taken."""
        if self.rule in ("front", "back", "alternate"):
            return self.rule == "back" or (self.rule == "alternate" and depth % 2 == 1)
        difference = 0
        if self.rule == "minmin":
            least = min(ahead + behind)
            difference = behind.count(least) - ahead.count(least)
        elif self.rule == "minbranch":
            limit = self.branching_ub
            difference = sum(b < limit for b in behind) - sum(b < limit for b in ahead)
        return difference < 0 if difference else sum(behind) > sum(ahead)


# -- the books -------------------------------------------------------------------------


def trailing_zeros(path):
    """How many ancestors of a node have the same first leaf."""
    return next((z for z, digit in enumerate(reversed(path)) if digit), len(path))


def leaves_below(closed, n_jobs):
    """Leaves of subtrees, given as (depth, number)."""
    return sum(count * factorial(n_jobs - depth) for depth, count in closed)


def check_instance(certificate):
    """Digest of the times; the tree's options; cost of the schedule; the claim."""
    kind = kind_of(certificate)
    expect(kind == KIND, f"expected a problem of kind {KIND}, got {kind!a}")
    times = certificate["instance"]["times"]
    expect(times[0], "there are no processing times")
    expect(all(len(row) == len(times[0]) for row in times), "the times are no table")
    digest = certificate["instance"]["digest"]
    expect(digest_of(times) == digest, "the digest is not that of the processing times")
    said = certificate["tree"].get("n_jobs", len(times))
    expect(said == len(times), f"expected {len(times)} jobs, got {said}")
    check_options(certificate, BOUND)
    check_claim(certificate, lambda order: ends_of(times, order)[-1], "makespan")


def check_options(certificate, bound):
    """Bound, rule and its version are those that are known here."""
    tree, jobs = certificate["tree"], list(range(size_of(certificate)[0]))
    expect(tree["bound"] == bound, f"expected bound {bound}, got {tree['bound']!a}")
    rule, version = tree["branching"], tree["rule_version"]
    expect(rule in RULES, f"expected a branching rule of {RULES}, got {rule!a}")
    ok = version == RULE_VERSION
    expect(ok, f"expected branching rules of version {RULE_VERSION}, got {version}")
    known = tree["branching_ub"] is not None or rule != "minbranch"
    expect(known, "expected the fixed value that minbranch compares with")
    order = tree["root_order"]
    expect(order is None or sorted(order) == jobs, "the root order is none of all jobs")


def check_claim(certificate, cost, objective):
    """Check that the schedule costs what is claimed, where the tree was pruned."""
    result, jobs = certificate["result"], list(range(size_of(certificate)[0]))
    status, value, order = result["status"], result["makespan"], result["permutation"]
    called = result.get("objective", objective)
    expect(called == objective, f"expected a cost called {objective}, got {called!a}")
    if status == "optimal":
        expect(sorted(order or []) == jobs, "the schedule is none of all jobs")
        found = cost(order)
        expect(found == value, f"the schedule has {objective} {found}, not {value}")
        expect(result["ub"] == value, f"explored below {result['ub']}, not {value}")
    else:
        expect(status == "infeasible_cutoff", f"{status!r} is no claim of a proof")
        expect((value, order) == (None, None), "expected no schedule below the cutoff")
        expect(not result["all_optima"], "expected schedules, if all are looked for")
    expect(result["lower_bound"] == result["ub"], "the bound is not what was explored")


def check_units(certificate):
    """Units are made of each other's roots, and nothing is in two of them.

    A root is named by its path. Two subtrees are disjoint unless one path begins the
    other, which in sorted order is then seen between neighbors. Returns how many units
    list their roots.
    """
    n_jobs, _ = size_of(certificate)
    homes = {}  # of each unit: the next one above, or itself, whose roots are listed
    inside = {0: []}  # of each of these: the roots of units that were made in it
    above = {0: [[]]}
    for number, parent, leaves, n_roots, roots in certificate["units"]:
        name = f"unit {number}"
        expect(number > 0 and number not in homes, f"{name} is there twice")
        expect(parent in homes if homes else not parent, f"{name} is made from nothing")
        expect(n_roots > 0 and int(leaves) > 0, f"{name} has no leaves")
        listed = n_roots <= MAX_ROOTS
        expect((roots is not None) == listed, f"{name} has {n_roots} roots: listed?")
        expect(homes or roots == [[]], f"{name}, the first one, is no whole tree")
        home = homes[number] = number if listed else homes[parent]
        if not listed:
            continue
        expect(len(roots) == n_roots, f"{name} does not have {n_roots} roots")
        for path in roots:
            ok = len(path) < n_jobs and all(
                digit < n_jobs - depth for depth, digit in enumerate(path)
            )
            expect(ok, f"{name} has a root {path}, which is no node")
        total = leaves_below(Counter(map(len, roots)).items(), n_jobs)
        expect(total == int(leaves), f"{name} does not have {leaves} leaves")
        above[home], inside[home] = sorted(roots), []
        inside[homes[parent] if parent else 0] += roots
    expect(homes, "there are no units")
    for home, roots in inside.items():
        roots.sort()
        for one, two in zip(roots, roots[1:]):
            expect(two[: len(one)] != one, f"roots {one} and {two} overlap")
        for path in roots:
            near = above[home][max(0, bisect_right(above[home], path) - 1)]
            expect(path[: len(near)] == near, f"root {path} is not inside unit {home}")
    return len(above) - 1


class Part:
    """A unit: what its leases counted, and soon those of units made from it, too."""

    def __init__(self, number, parent, leaves, _n_roots, roots):
        self.number, self.parent, self.roots = number, parent, roots
        self.leaves = self.open = int(leaves)  # open: nobody accounts for them yet
        self.whole = True  # nothing of it is in the rest
        self.decomposed = self.visited = 0  # nodes, leaves
        self.closed = Counter()
        self.most, self.least = 0, inf  # upper bounds

    def add(self, decomposed, visited, closed, most, least):
        """Add the counts of a lease, or of a unit that was made from it."""
        self.decomposed += decomposed
        self.visited += visited
        self.closed.update(closed)
        self.most, self.least = max(self.most, most), min(self.least, least)

    @property
    def counts(self):
        """As ``Tree.explore`` returns them."""
        return self.decomposed, self.visited, dict(self.closed)

    @property
    def nodes(self):
        """Nodes of both kinds."""
        return self.decomposed + self.visited

    @property
    def exact(self):
        """Whether there was one upper bound, so that any engine counts the same."""
        return self.least == self.most

    def check_tree(self, n_jobs):
        """Check that closed subtrees make up a tree, with so many inner nodes."""
        starts, inner, total = Counter(map(len, self.roots)), 0, 0
        for depth in range(n_jobs):
            inner = inner * (n_jobs - depth + 1) + starts[depth] - self.closed[depth]
            total += inner
            ok = inner >= 0 if depth < n_jobs - 1 else inner == 0
            expect(ok, f"unit {self.number}, depth {depth}: closed ones of no tree")
        most = total + sum(map(trailing_zeros, self.roots))  # with its ancestors
        ok = (total if self.exact else 0) <= self.decomposed <= most
        expect(ok, f"unit {self.number}: {self.decomposed} nodes, its tree has {total}")

    def check_again(self, found):
        """Compare the counts with those of the subtrees when explored once more."""
        name = f"unit {self.number} was explored with {self.counts}"
        expect(found is not None, f"{name}, again there are more nodes")
        # as the bound fell, the run explored what there is below the last one, or more
        fewer = found[0] <= self.decomposed and found[1] <= self.visited
        ok = found == self.counts if self.exact else fewer
        expect(ok, f"{name}, again with {found}")


def check_closed(name, closed, visited, n_jobs):
    """Depths rise, numbers are positive. Returns the leaves."""
    depths = [-1, *(depth for depth, _ in closed), n_jobs]
    ok = all(one < two for one, two in zip(depths, depths[1:]))
    expect(ok and all(n for _, n in closed), f"{name}: closed is no list of depths")
    expect(visited <= dict(closed).get(n_jobs - 1, 0), f"{name}: leaves are not closed")
    return leaves_below(closed, n_jobs)


def check_sums(certificate):
    """Every leaf is closed exactly once, by the exact sums of every unit.

    Returns the units as parts of the tree, with the counts of all units made from them.
    """
    n_jobs, start = size_of(certificate)
    result, rest = certificate["result"], certificate["rest"]
    totals, now = certificate["totals"], start
    floor = result["ub"] + result["all_optima"]  # below, no run that proves it pruned
    expect(result["ub"] <= start, f"{result['ub']} is above all schedules")
    parts = {row[0]: Part(*row) for row in certificate["units"]}
    for number, attempt, _, _, *counts, ubs, alone, _ in certificate["leases"]:
        name = f"lease {number}.{attempt}"
        expect(number in parts, f"{name} is of no unit")
        ok = floor <= ubs[1] <= ubs[0] <= start and ubs[1] <= now
        expect(ok, f"{name} pruned at {ubs}: expected to fall, and not below {floor}")
        now = ubs[1]
        ended = check_closed(name, counts[2], counts[1], n_jobs)
        ok = not alone or ended == parts[number].leaves
        expect(ok, f"{name} did not finish its unit alone")
        parts[number].open -= ended
        parts[number].add(*counts[:2], dict(counts[2]), *ubs)
    for part in parts.values():
        if part.parent:
            parts[part.parent].open -= part.leaves
    some = any(rest.values())
    for part in reversed(parts.values()):
        text = f"unit {part.number}: {part.open} of its leaves are not accounted for"
        expect(part.open == 0 or (part.open > 0 and some), text)
        part.whole = part.whole and part.open == 0
        if part.whole and part.roots is not None:
            part.check_tree(n_jobs)
        if part.parent:
            above = parts[part.parent]
            above.add(*part.counts, part.most, part.least)
            above.whole = above.whole and part.whole
    root = next(iter(parts.values()))
    check_closed("the rest", rest["closed"], rest["leaves"], n_jobs)
    check_closed("the totals", totals["closed"], totals["leaves"], n_jobs)
    if some:
        full = len(parts) >= MAX_ENTRIES or n_bytes(certificate) >= LISTED_BYTES
        expect(full, "units are only summed up, though there is room to list them")
        # at any bounds that the claim allows
        root.add(rest["decomposed"], rest["leaves"], dict(rest["closed"]), start, floor)
        root.whole = True
    expected = totals["decomposed"], totals["leaves"], dict(totals["closed"])
    expect(root.counts == expected, f"the leases have {root.counts}, not the totals")
    root.check_tree(n_jobs)
    return parts


def n_bytes(certificate):
    """Return what the lists take, as the run estimates it."""
    units = sum(
        16 + int(row[2]).bit_length() // 7 + sum(len(path) + 1 for path in row[4] or ())
        for row in certificate["units"]
    )
    return units + sum(32 + 7 * len(row[6]) for row in certificate["leases"])


def witnesses(parts, most):
    """Whole units of at most so many nodes, and not the units inside of these.

    But those of one upper bound inside of one that had several: they show more.
    """
    found, kinds = [], {0: frozenset()}
    for part in parts.values():
        kinds[part.number] = above = kinds[part.parent]
        fits = part.whole and part.roots is not None and part.nodes <= most
        if fits and part.exact not in above:
            found.append(part)
            kinds[part.number] = above | {part.exact}
    return found


def choose(certificate, found, count, seed):
    """Choose witnesses by a hash of the whole certificate and the checker's seed.

    Half of them of a handy size if there are, the others from all: so neither the large
    ones nor the small are left out.
    """
    content = json.dumps(certificate, sort_keys=True).encode()
    rng = random.Random(hashlib.sha256(content + str(seed).encode()).hexdigest())
    large = [part for part in found if part.nodes >= HANDY]
    first = rng.sample(large, min((count + 1) // 2, len(large)))
    taken = set(first)
    others = [part for part in found if part not in taken]
    return first + rng.sample(others, min(count - len(first), len(others)))


def main():
    """Check a certificate; returns the exit code."""
    parser = argparse.ArgumentParser(description="Check a certificate of dpbb.")
    parser.add_argument("certificate")
    parser.add_argument("--nodes", type=int, default=200_000, help="to explore again")
    parser.add_argument("--seed", default=random.SystemRandom().randrange(2**32))
    args = parser.parse_args()
    try:
        certificate = read(args.certificate)
    except (OSError, ValueError) as error:
        print(f"FAILED  {error}")
        return 2
    try:
        for name, check in STRUCTURE:
            parts = check(certificate)
            print(f"ok      {name}")
        found, tree = witnesses(parts, args.nodes), Tree(certificate)
        left, done = args.nodes, 0
        for part in choose(certificate, found, len(found), args.seed):
            if part.nodes <= left:
                again = tree.explore(part.roots, part.least, part.nodes)
                part.check_again(again)
                left, done = left - part.nodes, done + 1
        some = left < args.nodes
        expect(some, f"no finished subtree has at most {args.nodes} nodes (--nodes)")
    except (Failed, RecursionError) as error:
        print(f"FAILED  {error}")
        return 1
    nodes, totals = args.nodes - left, certificate["totals"]
    print(f"ok      {done} subtrees, {nodes} nodes, explored again (seed {args.seed})")
    part = nodes / (totals["decomposed"] + totals["leaves"])
    share = f"{part:.3%} of the run's nodes were explored again"
    print(f"the certificate of {certificate['instance']['name']!a} holds: {share}")
    return 0


STRUCTURE = (
    ("form", check_form),
    ("instance, schedule and claim", check_instance),
    ("units are parts of each other", check_units),
    ("every leaf is closed once", check_sums),
)

if __name__ == "__main__":
    sys.exit(main())
