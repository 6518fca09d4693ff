"""Check a certificate of dpbb: this file alone, with Python's standard library.

    python checker.py certificate.json.gz [--nodes 200000] [--seed 0]

It shares no code with the solver. It recomputes the makespan of the schedule, adds up
the books of the run, and explores some finished subtrees again, slowly, with a bound
and a branching rule of its own, which must give the same counts to the last node.
``docs/proof.md`` says what that proves, and what it does not.
"""

import argparse
import gzip
import hashlib
import json
import random
import struct
import sys
from math import factorial

FORMAT, SCHEMA = "dpbb-certificate", 1
RULE_VERSION = 1


class Failed(Exception):
    """A check that failed: what was expected, and what the certificate says."""


def expect(ok, text):
    """Raise Failed unless a fact holds."""
    if not ok:
        raise Failed(text)


def read(path):
    """Return a certificate, uncompressed or not; ValueError if it is none."""
    with open(path, "rb") as file:
        content = file.read()
    if content[:2] == b"\x1f\x8b":
        content = gzip.decompress(content)
    certificate = json.loads(content)
    if not isinstance(certificate, dict) or certificate.get("format") != FORMAT:
        raise ValueError(f"{path}: expected a certificate of dpbb")
    if certificate["schema"] != SCHEMA:
        raise ValueError(f"{path}: expected schema {SCHEMA}")
    return certificate


# -- the flow shop ---------------------------------------------------------------------


def makespan(times, order):
    """End of the last job on the last machine."""
    ends = [0] * len(times[0])
    for job in order:
        before = 0
        for machine, time in enumerate(times[job]):
            before = ends[machine] = max(before, ends[machine]) + time
    return ends[-1]


def digest_of(times):
    """SHA-256 of the shape and the times, little-endian 64-bit integers."""
    flat = [time for row in times for time in row]
    content = hashlib.sha256(b"dpbb flow shop 1\n")
    content.update(struct.pack("<2q", len(times), len(times[0])))
    content.update(struct.pack(f"<{len(flat)}q", *flat))
    return content.hexdigest()


class Tree:
    """The search tree: LB1, and the branching rules, by their definitions."""

    def __init__(self, times, tree):
        self.times = [list(map(int, row)) for row in times]
        self.mirror = [row[::-1] for row in self.times]
        self.n_jobs, self.n_machines = len(times), len(times[0])
        self.rule = tree["branching"]
        self.branching_ub = tree["branching_ub"]
        self.order = list(tree["root_order"] or range(self.n_jobs))
        machines = range(self.n_machines)
        self.heads = [min(sum(row[:k]) for row in self.times) for k in machines]
        self.tails = [min(sum(row[:k]) for row in self.mirror) for k in machines]

    def bounds(self, front, back, remain, jobs, times):
        """LB1 of appending each job; the mirror image for the back."""
        found = []
        for job in jobs:
            end, bound = 0, 0
            for k, time in enumerate(times[job]):
                start = front[k] if k == 0 else max(end, front[k])
                bound = max(bound, start + remain[k] + back[k])
                end = start + time
            found.append(bound)
        return found

    def explore(self, roots, ub, most):
        """Explore subtrees to their end at a fixed upper bound.

        Returns decomposed nodes, leaves and closed subtrees by depth; None if there
        are more than ``most`` nodes.
        """
        counts = [0, 0]
        closed = {}
        for path in roots:
            zeros = len(path)
            while zeros and path[zeros - 1] == 0:
                zeros -= 1
            owned_from = (
                zeros  # ancestors from here on have their first leaf below path
            )
            node = (tuple(self.order), (), ())
            alive = True
            for depth, digit in enumerate(path):
                if depth >= owned_from:
                    counts[0] += 1
                jobs, side, lower = self.children(node)
                if lower[digit] >= ub:
                    closed[len(path)] = closed.get(len(path), 0) + 1
                    alive = False
                    break
                node = self.child(node, jobs[digit], side)
            stack = [node] if alive else []
            while stack:
                node = stack.pop()
                jobs = node[0]
                depth = self.n_jobs - len(jobs)
                if len(jobs) == 1:
                    counts[1] += 1
                    closed[depth] = closed.get(depth, 0) + 1
                    value = makespan(self.times, [*node[1], *jobs, *node[2]])
                    expect(value >= ub, f"a schedule of makespan {value} below {ub}")
                    continue
                counts[0] += 1
                if sum(counts) > most:
                    return None
                jobs, side, lower = self.children(node)
                for index in range(len(jobs) - 1, -1, -1):
                    if lower[index] < ub:
                        stack.append(self.child(node, jobs[index], side))
                    else:
                        closed[depth + 1] = closed.get(depth + 1, 0) + 1
        return counts[0], counts[1], closed

    def child(self, node, job, side):
        """Return a node with one job more."""
        jobs, prefix, suffix = node
        rest = tuple(other for other in jobs if other != job)
        return (
            (rest, prefix, (job, *suffix)) if side else (rest, (*prefix, job), suffix)
        )

    def children(self, node):
        """Unscheduled jobs, the side that is taken, and its bounds."""
        jobs, prefix, suffix = node
        depth = self.n_jobs - len(jobs)
        front, back = self.heads, self.tails[::-1]
        if prefix:
            front = self.ends(self.times, prefix)
        if suffix:
            back = self.ends(self.mirror, suffix[::-1])[::-1]
        machines = range(self.n_machines)
        remain = [sum(self.times[job][k] for job in jobs) for k in machines]
        ahead = self.bounds(front, back, remain, jobs, self.times)
        behind = self.bounds(back[::-1], front[::-1], remain[::-1], jobs, self.mirror)
        side = self.back_is_taken(ahead, behind, depth)
        return jobs, side, behind if side else ahead

    def ends(self, times, order):
        """When each machine is free after some jobs."""
        ends = [0] * self.n_machines
        for job in order:
            before = 0
            for machine, time in enumerate(times[job]):
                before = ends[machine] = max(before, ends[machine]) + time
        return ends

    def back_is_taken(self, ahead, behind, depth):
        """Whether the back children are taken."""
        if self.rule in ("front", "back", "alternate"):
            return {"front": False, "back": True, "alternate": depth % 2 == 1}[
                self.rule
            ]
        difference = 0
        if self.rule == "minmin":
            least = min(ahead + behind)
            difference = behind.count(least) - ahead.count(least)
        elif self.rule == "minbranch":
            limit = self.branching_ub
            difference = sum(b < limit for b in behind) - sum(b < limit for b in ahead)
        if difference:
            return difference < 0
        return sum(behind) > sum(ahead)


# -- the books -------------------------------------------------------------------------


def leaves_below(closed, n_jobs):
    """Leaves of subtrees, given as (depth, number)."""
    return sum(int(count) * factorial(n_jobs - depth) for depth, count in closed)


def interval_of(path, n_jobs):
    """First leaf, and the one after the last."""
    first = sum(digit * factorial(n_jobs - 1 - i) for i, digit in enumerate(path))
    return first, first + factorial(n_jobs - len(path))


def check_instance(certificate):
    """Digest of the times; cost of the schedule; what the result claims."""
    instance, result = certificate["instance"], certificate["result"]
    times = instance["times"]
    expect(
        digest_of(times) == instance["digest"],
        "the digest is not that of the processing times",
    )
    rule = certificate["tree"]["rule_version"]
    expect(
        rule == RULE_VERSION, f"expected rules of version {RULE_VERSION}, got {rule}"
    )
    order, value = result["permutation"], result["makespan"]
    if order is None:
        expect(value is None, "expected a schedule with the makespan")
    else:
        expect(
            sorted(order) == list(range(len(times))), "the schedule is none of all jobs"
        )
        found = makespan(times, order)
        expect(found == value, f"the schedule has makespan {found}, not {value}")
    if result["status"] == "optimal":
        expect(
            result["lower_bound"] == value and result["ub"] == value,
            f"expected a tree of bounds below {value}, got {result['ub']}",
        )
    elif result["status"] == "infeasible_cutoff":
        expect(value is None, "expected no schedule below the cutoff")
        expect(
            result["lower_bound"] == result["ub"], "expected the cutoff as the bound"
        )


def check_units(certificate):
    """Units are made of each other's roots, and nothing is in two of them.

    Returns how many units list their roots.
    """
    n_jobs = len(certificate["instance"]["times"])
    units = {row[0]: row for row in certificate["units"]}
    expect(len(units) == len(certificate["units"]), "a unit is there twice")
    made_from, listed = {}, 0
    for number, parent, leaves, n_roots, roots in units.values():
        if parent:
            expect(parent in units and parent < number, f"unit {number} has no parent")
        else:
            expect(
                roots == [[]], f"unit {number} is made from nothing, but no whole tree"
            )
        made_from.setdefault(parent, []).append(number)
        if roots is None:
            continue
        listed += 1
        expect(len(roots) == n_roots, f"unit {number} does not have {n_roots} roots")
        spans = sorted(interval_of(path, n_jobs) for path in roots)
        for path in roots:
            for depth, digit in enumerate(path):
                expect(0 <= digit < n_jobs - depth, f"unit {number} has a root {path}")
        expect(
            all(one[1] <= two[0] for one, two in zip(spans, spans[1:])),
            f"roots of unit {number} overlap",
        )
        total = sum(end - begin for begin, end in spans)
        expect(total == int(leaves), f"unit {number} does not have {leaves} leaves")
    expect(len(made_from.get(0, [])) == 1, "expected one unit to begin with")
    for parent, children in made_from.items():
        spans = [
            interval_of(path, n_jobs) for c in children for path in units[c][4] or ()
        ]
        spans.sort()
        expect(
            all(one[1] <= two[0] for one, two in zip(spans, spans[1:])),
            f"units made from unit {parent} overlap",
        )
        above = parent and units[parent][4]
        if above:
            homes = sorted(interval_of(path, n_jobs) for path in above)
            at = 0
            for begin, end in spans:
                while at < len(homes) and homes[at][1] <= begin:
                    at += 1
                inside = (
                    at < len(homes) and homes[at][0] <= begin and end <= homes[at][1]
                )
                expect(inside, f"a unit made from unit {parent} is not inside of it")
    return listed


def check_sums(certificate):
    """Every leaf is closed exactly once, by the exact sums of every unit."""
    n_jobs = len(certificate["instance"]["times"])
    totals, rest = certificate["totals"], certificate["rest"]
    closed, made, nodes, leaves = {}, {}, rest["decomposed"], rest["leaves"]
    for row in certificate["leases"]:
        unit, ended = row[0], leaves_below(row[6], n_jobs)
        closed[unit] = closed.get(unit, 0) + ended
        nodes, leaves = nodes + row[4], leaves + row[5]
    expect(nodes == totals["decomposed"], f"the leases have {nodes} decomposed nodes")
    expect(leaves == totals["leaves"], f"the leases have {leaves} leaves")
    for _number, parent, unit_leaves, _n_roots, _roots in certificate["units"]:
        made[parent] = made.get(parent, 0) + int(unit_leaves)
    complete = not rest["closed"]
    if complete:
        for number, _parent, unit_leaves, _n_roots, _roots in certificate["units"]:
            found = closed.get(number, 0) + made.get(number, 0)
            expect(
                found == int(unit_leaves),
                f"unit {number} has {unit_leaves} leaves, but {found} were closed or "
                "given away",
            )
    total = sum(closed.values()) + leaves_below(rest["closed"], n_jobs)
    expect(total == factorial(n_jobs), f"{total} of {n_jobs}! leaves were closed")
    expect(
        leaves_below(totals["closed"], n_jobs) == factorial(n_jobs),
        "the totals do not close all leaves",
    )
    return complete


def witnesses(certificate, least, most):
    """Leases that finished a listed unit alone, at one upper bound."""
    roots = {row[0]: row[4] for row in certificate["units"]}
    return [
        (roots[row[0]], row)
        for row in certificate["leases"]
        if row[8]
        and row[7][0] == row[7][1]
        and roots[row[0]]
        and least <= row[4] + row[5] <= most
    ]


def choose(certificate, found, count, seed):
    """Choose witnesses by a hash of the whole certificate and the checker's seed."""
    content = json.dumps(certificate, sort_keys=True).encode()
    rng = random.Random(hashlib.sha256(content + str(seed).encode()).hexdigest())
    return rng.sample(found, min(count, len(found)))


def check_witness(row, got):
    """Compare the counts of a subtree with those that the certificate has."""
    expected = (row[4], row[5], {depth: count for depth, count in row[6]})
    expect(
        got == expected,
        f"unit {row[0]}: expected {expected[0]} decomposed nodes and {expected[1]} "
        f"leaves, got {got[0]} and {got[1]} when explored again (or others closed)",
    )


STRUCTURE = (
    ("instance, schedule and claim", check_instance),
    ("units are parts of each other", check_units),
    ("every leaf is closed once", check_sums),
)


def main():
    """Check a certificate; returns the exit code."""
    parser = argparse.ArgumentParser(description="Check a certificate of dpbb.")
    parser.add_argument("certificate")
    parser.add_argument(
        "--nodes", type=int, default=200_000, help="nodes to explore again, in all"
    )
    parser.add_argument("--seed", default=random.SystemRandom().randrange(2**32))
    args = parser.parse_args()
    try:
        certificate = read(args.certificate)
        for name, check in STRUCTURE:
            check(certificate)
            print(f"ok      {name}")
        found = witnesses(certificate, 1, args.nodes)
        tree = Tree(certificate["instance"]["times"], certificate["tree"])
        left = args.nodes
        done = nodes = 0
        for roots, row in choose(certificate, found, len(found), args.seed):
            if row[4] + row[5] > left:
                continue
            check_witness(row, tree.explore(roots, row[7][0], 2 * left))
            left -= row[4] + row[5]
            done, nodes = done + 1, nodes + row[4] + row[5]
        print(
            f"ok      {done} subtrees, {nodes} nodes, explored again (seed {args.seed})"
        )
        if not done:
            print("note    no finished subtree is small enough: nothing was explored")
    except (Failed, OSError, ValueError, KeyError, TypeError, IndexError) as error:
        print(f"FAILED  {type(error).__name__}: {error}")
        return 1
    print(f"the certificate of {certificate['instance']['name']} holds")
    return 0


if __name__ == "__main__":
    sys.exit(main())
