"""Independent answers for tests: plain Python, no engine, no NumPy arithmetic.

Everything is computed from the definitions again and from scratch at every node, so
that it shares no code and no shortcut with the package.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import combinations, permutations
from math import factorial
from typing import NamedTuple

import numpy as np
from hypothesis import strategies as st

from dpbb.options import LB1, BranchingRule, TreeOptions
from dpbb.problem import NO_CHILD

RULES = tuple(rule for rule in BranchingRule if rule != BranchingRule.OWN)


def makespan(times, order):
    """Completion of the last job on the last machine."""
    ends = [0] * len(times[0])
    for job in order:
        end = 0
        for machine, duration in enumerate(times[job]):
            end = max(end, ends[machine]) + duration
            ends[machine] = end
    return ends[-1]


def best_orders(times):
    """Least makespan and the set of all permutations that have it."""
    spans = {p: makespan(times, p) for p in permutations(range(len(times)))}
    best = min(spans.values())
    return best, {p for p, span in spans.items() if span == best}


class Partial(NamedTuple):
    """A partial schedule: the state of the tiny flow shop."""

    prefix: tuple[int, ...] = ()
    suffix: tuple[int, ...] = ()  # in the order of the schedule


@dataclass(frozen=True)
class TinyFlowShop:
    """The permutation flow shop with LB1, by its definition, as a ``Problem``.

    ``front`` and ``back`` are the times of jobs that are given there.
    """

    times: tuple[tuple[int, ...], ...]
    name: str = field(default="tiny-flowshop-makespan", init=False)
    front: tuple[tuple[int, ...], ...] = field(default=(), kw_only=True)
    back: tuple[tuple[int, ...], ...] = field(default=(), kw_only=True)

    @property
    def n_jobs(self):
        return len(self.times)

    @property
    def digest(self):
        return repr((self.times, self.front, self.back)).encode().hex()

    @property
    def job_kinds(self):
        return [self.times.index(row) for row in self.times]

    @property
    def trivial_ub(self):
        return sum(map(sum, (*self.times, *self.front, *self.back))) + 1

    def best_orders(self):
        """Least makespan and the set of all permutations that have it."""
        orders = permutations(range(self.n_jobs))
        spans = {order: self.evaluate(order) for order in orders}
        best = min(spans.values())
        return best, {order for order, span in spans.items() if span == best}

    def root_state(self):
        return Partial()

    def extend(self, state, job, *, back):
        if back:
            return Partial(state.prefix, (job, *state.suffix))
        return Partial((*state.prefix, job), state.suffix)

    def child_bounds(self, state, jobs, *, back):
        assert set(jobs) == set(range(self.n_jobs)) - {*state.prefix, *state.suffix}
        return np.array([self.child_bound(state, job, back=back) for job in jobs])

    def evaluate(self, permutation):
        rows = [*self.front, *(self.times[job] for job in permutation), *self.back]
        return makespan(rows, range(len(rows))) if rows else 0

    def heads(self, prefix):
        """End of the prefix on each machine; without one when a first job may begin."""
        machines = range(len(self.times[0]))
        ends = []
        for last in [prefix[-1:]] if prefix else [(job,) for job in range(self.n_jobs)]:
            rows = [*self.front, *(self.times[job] for job in (*prefix[:-1], *last))]
            order = range(len(rows))
            ends.append([makespan([r[: k + 1] for r in rows], order) for k in machines])
            if not prefix:
                ends[-1] = [ends[-1][k] - rows[-1][k] for k in machines]
        return [min(column) for column in zip(*ends, strict=True)]

    def tails(self, suffix):
        """The mirror image of ``heads``."""
        return self.mirrored().heads(suffix[::-1])[::-1]

    def mirrored(self):
        """Return the shop with jobs and machines in reverse."""
        times, front, back = (
            tuple(row[::-1] for row in rows)
            for rows in (self.times, self.back[::-1], self.front[::-1])
        )
        return TinyFlowShop(times, front=front, back=back)

    def child_bound(self, state, job, *, back):
        """LB1 of the child that adds the job: max over machines of e + R + B."""
        if back:  # the mirror image: jobs and machines in reverse
            turned = Partial(state.suffix[::-1], state.prefix[::-1])
            return self.mirrored().child_bound(turned, job, back=False)
        times, machines = self.times, range(len(self.times[0]))
        front, back_ = self.heads(state.prefix), self.tails(state.suffix)
        left = set(range(self.n_jobs)) - {*state.prefix, *state.suffix}
        bounds, start = [], 0
        for k in machines:
            start = max(start + times[job][k - 1], front[k]) if k else front[0]
            bounds.append(start + sum(times[j][k] for j in left) + back_[k])
        return max(bounds)


def longest_stay(times, u, v, sequence):
    """End on v of jobs that need the time between u and v after u; from 0 on."""
    on_u = on_v = 0
    for job in sequence:
        on_u += times[job][u]
        on_v = max(on_v, on_u + sum(times[job][u + 1 : v])) + times[job][v]
    return on_v


@dataclass(frozen=True)
class TightFlowShop(TinyFlowShop):
    """The shop with two-machine bounds of children at some depths, by definition."""

    depths: tuple[int, ...] = ()
    pairs: tuple[tuple[int, int], ...] = ()

    @property
    def bound(self):
        """Text of the cascade."""
        pairs = ",".join(f"{u}-{v}" for u, v in self.pairs)
        return f"cascade:{self.depths[0]}-{self.depths[-1]}:{pairs}"

    def tight_bound(self, state, job, *, back):
        child = self.extend(state, job, back=back)
        done = child.prefix + child.suffix
        if len(done) not in self.depths:
            return -1
        rest = [j for j in range(self.n_jobs) if j not in done]
        heads, tails = self.heads(child.prefix), self.tails(child.suffix)
        return max(
            heads[u]
            + min(longest_stay(self.times, u, v, order) for order in permutations(rest))
            + tails[v]
            for u, v in self.pairs
        )


@dataclass
class NaiveTree:
    """The tree {LB < ub} as lists of paths."""

    n_jobs: int
    decomposed: list[tuple[int, ...]] = field(default_factory=list)
    pruned: list[tuple[int, ...]] = field(default_factory=list)
    leaves: dict[tuple[int, ...], tuple[int, ...]] = field(default_factory=dict)

    def closed(self):
        """Number of pruned or leaf subtrees at each depth."""
        depths = [len(path) for path in (*self.pruned, *self.leaves)]
        return [depths.count(depth) for depth in range(self.n_jobs + 1)]

    def first_leaf(self, path):
        n = self.n_jobs
        return sum(v * factorial(n - 1 - i) for i, v in enumerate(path))

    def decomposed_in(self, begin, end):
        """Nodes owned by the interval: those with their first leaf in it."""
        return sum(begin <= self.first_leaf(path) < end for path in self.decomposed)


def tight(problem, state, job, *, back):
    """Tighter bound of a child, if the problem has one."""
    bound = getattr(problem, "tight_bound", None)
    return -1 if bound is None else bound(state, job, back=back)


def takes_back(rule, front, back, depth, branching_ub):
    """Branching rules as architecture.md words them."""
    if rule in (BranchingRule.FRONT, BranchingRule.BACK):
        return rule is BranchingRule.BACK
    if rule is BranchingRule.ALTERNATE:
        return depth % 2 == 1
    if rule is BranchingRule.MINMIN:
        least = min(front + back)
        counts = front.count(least), back.count(least)
    elif rule is BranchingRule.MINBRANCH:
        counts = tuple(sum(lb < branching_ub for lb in side) for side in (front, back))
    else:
        counts = 0, 0
    if counts[0] != counts[1]:
        return counts[1] < counts[0]
    front, back = ([lb for lb in side if lb != NO_CHILD] for side in (front, back))
    return sum(back) > sum(front)


def naive_tree(problem, tree, ub, *, live=False):
    """Visit the tree {LB < ub} depth first, by the definitions of the law.

    With ``live`` the ub falls to the cost of every better leaf.
    """
    found = NaiveTree(problem.n_jobs)
    order = tree.root_order or range(problem.n_jobs)

    def visit(path, state, jobs):
        nonlocal ub
        if len(jobs) == 1:
            found.leaves[path] = (*state.prefix, *jobs, *state.suffix)
            if live:
                ub = min(ub, problem.evaluate(found.leaves[path]))
            return
        found.decomposed.append(path)
        sides = [
            [problem.child_bound(state, job, back=back) for job in jobs]
            for back in (False, True)
            if ("front", "back")[back] in getattr(problem, "sides", ("front", "back"))
        ]
        front_and_back = sides if len(sides) == 2 else sides * 2
        back = takes_back(tree.branching, *front_and_back, len(path), tree.branching_ub)
        for v, job in enumerate(jobs):
            child = (*path, v)
            bound = front_and_back[back][v]
            is_copy = tree.skips_copies and any(
                problem.job_kinds[job] == problem.job_kinds[other] for other in jobs[:v]
            )
            if is_copy or bound >= ub or tight(problem, state, job, back=back) >= ub:
                found.pruned.append(child)
            else:
                rest = [j for j in jobs if j != job]
                visit(child, problem.extend(state, job, back=back), rest)

    visit((), Partial(), list(order))
    return found


def leaf_costs(problem, tree):
    """Cost of every leaf in the order of their indices."""
    everything = naive_tree(problem, replace(tree, rule_version=1), 10**9)
    return [problem.evaluate(order) for _, order in sorted(everything.leaves.items())]


@st.composite
def problems(draw, max_jobs=7, max_machines=4, shape=None):
    """Draw a small flow shop; few different times, so that bounds tie often."""
    if shape is None:
        shape = draw(st.integers(1, max_jobs)), draw(st.integers(1, max_machines))
    n_jobs, n_machines = shape
    longest = draw(st.sampled_from((1, 4, 20, 99)))
    row = st.tuples(*[st.integers(0, longest)] * n_machines)
    return TinyFlowShop(tuple(draw(st.tuples(*[row] * n_jobs))))


@st.composite
def trees(draw, problem, rules=RULES, copies=None):
    """Draw tree options of a problem.

    ``copies``: whether equal jobs are branched on; None: in some trees.
    """
    rule = draw(st.sampled_from(rules))
    ub = draw(st.integers(1, problem.trivial_ub))
    order = draw(st.none() | st.permutations(range(problem.n_jobs)).map(tuple))
    tree = TreeOptions(
        branching=rule, branching_ub=ub if rule is BranchingRule.MINBRANCH else None,
        bound=getattr(problem, "bound", LB1), root_order=order,
    )  # fmt: skip
    kinds = getattr(problem, "job_kinds", range(problem.n_jobs))
    if len({*kinds}) == problem.n_jobs:
        return tree
    if draw(st.booleans()) if copies is None else copies:
        return tree
    jobs = range(problem.n_jobs) if order is None else order
    first = {kind: list(jobs).index(kind) for kind in kinds}
    jobs = tuple(sorted(jobs, key=lambda job: (first[kinds[job]], jobs.index(job))))
    return replace(tree, root_order=jobs, rule_version=2)


@st.composite
def cascades(draw, max_jobs=5, max_machines=4):
    """Draw a shop with a cascade."""
    n_jobs = draw(st.integers(2, max_jobs))
    n_machines = draw(st.integers(2, max_machines))
    return draw(with_cascade(draw(problems(shape=(n_jobs, n_machines)))))


@st.composite
def with_cascade(draw, shop):
    """Draw depths FIRST, LAST and pairs of machines of a shop, if it has some."""
    n_jobs, n_machines = len(shop.times), len(shop.times[0])
    if n_jobs < 2 or n_machines < 2:
        return shop
    first = draw(st.integers(1, n_jobs - 1))
    last = draw(st.integers(first, n_jobs - 1))
    every = [*combinations(range(n_machines), 2)]
    pairs = draw(st.lists(st.sampled_from(every), min_size=1, unique=True))
    depths = tuple(range(first, last + 1))
    return TightFlowShop(
        shop.times, depths=depths, pairs=tuple(pairs), front=shop.front, back=shop.back
    )


@st.composite
def with_given_ends(draw, shop):
    """Draw up to two jobs before all others of a shop, and up to two after them."""
    row = st.tuples(*[st.integers(0, 50)] * len(shop.times[0]))
    front, back = (tuple(draw(st.lists(row, max_size=2))) for _ in range(2))
    return replace(shop, front=front, back=back)


def random_nodes(n_jobs, count, seed):
    """Return permutations, d1 and d2 as int32; any number of jobs is unscheduled.

    Each number from 0 to n_jobs is equally likely, and so is each share of the front.
    """
    rng = np.random.default_rng(seed)
    rows = np.broadcast_to(np.arange(n_jobs, dtype=np.int32), (count, n_jobs))
    fixed = rng.integers(0, n_jobs + 1, count)
    front = rng.integers(0, fixed + 1)
    counts = front.astype(np.int32), (fixed - front).astype(np.int32)
    return np.ascontiguousarray(rng.permuted(rows, axis=1)), *counts
