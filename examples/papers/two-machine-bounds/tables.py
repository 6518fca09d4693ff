"""Two-machine bounds in pools: one scalar core, threads with SIMD, and a GPU.

``bounds``: random nodes, bounded whole: on a core in plain loops, as in the papers, and
on threads with SIMD; all children of such nodes, on a GPU to which pools are sent.
``trees``: the same part of a tree, explored in each of these ways.
``cascades``: whole trees with LB1, LB2 and cascades of the pairs that prune most.
All bounds and counts of nodes are compared; the exit code is 1 where two differ.

Papers: Melab, Chakroun, Mezmaz and Tuyttens, IEEE Cluster 2012; Chakroun, Mezmaz, Melab
and Bendjoudi, Concurrency and Computation 25(8), 2013.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Sequence
from contextlib import closing
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

import dpbb.bounds
from dpbb.bench.common import Machine, explored
from dpbb.engines.base import Device, explore_to_end
from dpbb.engines.pool.bounding import Cores
from dpbb.engines.pool.device import OnDevice
from dpbb.engines.pool.engine import PoolEngine
from dpbb.engines.pool.nodes import Batch
from dpbb.engines.pool.session import PoolSession
from dpbb.engines.registry import choose_engine
from dpbb.estimation.roots import thin
from dpbb.flowshop.bounds import JohnsonTables, machine_pairs
from dpbb.flowshop.models.lb1_cuda import Lb1
from dpbb.flowshop.problem import FlowShopProblem
from dpbb.flowshop.taillard import taillard_instance
from dpbb.kernels.compiling import entry, helper, int64
from dpbb.kernels.cores import physical_cores
from dpbb.kernels.nvrtc import has_gpu
from dpbb.modeling.cpu import model_of
from dpbb.options import BranchingRule, Selection, TreeOptions, Tuning
from dpbb.tree.branching import bound_children
from dpbb.tree.work_unit import WorkUnit

FIRST = {"20x20": "ta021", "50x20": "ta051", "100x20": "ta081", "200x20": "ta101"}

POOLS = 4096, 8192, 16384, 32768, 65536, 131072, 262144
"""16 to 1024 blocks of 256 threads, as in the papers."""

PAPERS = {
    "20x20": (53.64, 61.47, 59.55, 51.39, 47.40, 46.53, 46.37),
    "50x20": (64.91, 81.50, 78.02, 74.16, 73.83, 73.25, 72.71),
    "100x20": (65.85, 86.33, 87.60, 89.18, 91.41, 92.02, 92.39),
    "200x20": (66.13, 87.34, 88.86, 95.23, 98.83, 99.89, 100.48),
}
"""Speed-ups by pool of a Tesla C2050 over a core of a Xeon E5520 (Melab III)."""

NO_UB = 1 << 30
COMPARED = 2048
"""So many bounds of a pool are compared."""


class ScalarCore(Cores):
    """Branches on nodes by LB1; then LB2 by the papers' plain loops."""

    def __init__(self, problem: FlowShopProblem, rule: BranchingRule) -> None:
        plain = problem.with_bound("lb1")
        super().__init__(model_of(plain), plain, TreeOptions(rule), problem.trivial_ub)
        times, pairs = problem.times, machine_pairs(problem.n_machines)
        tables = JohnsonTables.of(times, pairs)
        steps = tables.order, tables.first, tables.lag, tables.second
        ends = problem.least_heads, problem.least_tails
        self._shop = times, *ends, pairs, np.stack(steps, axis=2)

    def branch(self, nodes: Batch, ub: int) -> tuple[NDArray[Any], ...]:
        """Return the open children of nodes: parents, codes, bounds."""
        parent, code, bounds = super().branch(nodes, ub)
        children = nodes.children(parent, code, bounds)
        bounds = self.bound((children.rows, children.front, children.back), ub)
        is_open = bounds < ub
        return parent[is_open], code[is_open], bounds[is_open]

    def bound(self, nodes: tuple[NDArray[Any], ...], ub: int) -> NDArray[np.int32]:
        """Return LB1 and the two-machine bounds of nodes, the larger one."""
        result = np.empty(len(nodes[0]), np.int32)
        _bound(*self._shop, nodes, ub, result)
        return result


@helper
def read_ends(times, heads, tails, row, n_front, n_back, ends):  # type: ignore[no-untyped-def]
    """Write front, back and remain of a node, one after the other."""
    n_jobs, n_machines = times.shape
    ends[:n_machines] = heads
    ends[n_machines : 2 * n_machines] = tails
    ends[2 * n_machines :] = 0
    for i in range(n_front):
        job = int64(row[i])
        last = np.int32(0)
        for k in range(n_machines):
            last = max(last, ends[k]) + times[job, k]
            ends[k] = last
    for i in range(n_jobs - 1, n_jobs - n_back - 1, -1):
        job = int64(row[i])
        last = np.int32(0)
        for k in range(n_machines - 1, -1, -1):
            last = max(last, ends[n_machines + k]) + times[job, k]
            ends[n_machines + k] = last
    for i in range(n_front, n_jobs - n_back):
        job = int64(row[i])
        for k in range(n_machines):
            ends[2 * n_machines + k] += times[job, k]


@entry
def _bound(times, least, after, pairs, steps, nodes, ub, result):  # type: ignore[no-untyped-def]
    rows, front, back = nodes
    n_jobs, n_machines = times.shape
    ends = np.empty(3 * n_machines, np.int32)
    heads, tails = ends[:n_machines], ends[n_machines : 2 * n_machines]
    remain = ends[2 * n_machines :]
    free = np.empty(n_jobs, np.bool_)
    for node in range(len(rows)):
        n_front, n_back = int64(front[node]), int64(back[node])
        read_ends(times, least, after, rows[node], n_front, n_back, ends)
        free[:] = False
        for i in range(n_front, n_jobs - n_back):
            free[int64(rows[node, i])] = True
        bound = int64(0)
        for k in range(n_machines):
            bound = max(bound, int64(heads[k]) + remain[k] + tails[k])
        for pair in range(len(pairs)):
            if bound >= ub:
                break
            on_first = int64(heads[pairs[pair, 0]])
            on_second = int64(heads[pairs[pair, 1]])
            for place in range(n_jobs):
                if free[steps[pair, place, 0]]:
                    on_first += steps[pair, place, 1]
                    ready = on_first + steps[pair, place, 2]
                    on_second = max(on_second, ready) + steps[pair, place, 3]
            bound = max(bound, on_second + int64(tails[pairs[pair, 1]]))
        result[node] = bound


def print_row(*cells: object) -> None:
    """Print a row of a Markdown table; floats with three digits."""
    texts = (f"{c:.3g}" if isinstance(c, float) else str(c) for c in cells)
    print("| " + " | ".join(texts) + " |", flush=True)


def print_head(*names: str) -> None:
    """Print the head of a Markdown table."""
    print()
    print_row(*names)
    print("|" + "---|" * len(names))


# -- bounds of random nodes -----------------------------------------------------------


def random_nodes(n_jobs: int, count: int) -> dpbb.bounds.Nodes:
    """Return partial schedules: at least one job fixed, at least two unscheduled."""
    rng = np.random.default_rng(1)
    rows = np.broadcast_to(np.arange(n_jobs, dtype=np.uint16), (count, n_jobs))
    fixed = rng.integers(1, n_jobs - 1, count)
    front = rng.integers(0, fixed + 1)
    ends = front.astype(np.uint16), (fixed - front).astype(np.uint16)
    return dpbb.bounds.Nodes(np.ascontiguousarray(rng.permuted(rows, axis=1)), *ends)


def rate_of(work, repeat, synchronize=lambda: None):
    """Return what ``work`` returns, and its median seconds after a call that warms."""
    result, seconds = work(), []
    for _ in range(repeat):
        synchronize()
        began = time.perf_counter()
        work()
        synchronize()
        seconds.append(time.perf_counter() - began)
    return result, statistics.median(seconds)


def bounds(args: argparse.Namespace) -> bool:
    """Print rates by class, way and pool; whether all bounds are equal."""
    exact = True
    print_head("size", "how", "pool", "bounds/s", "times a core", "papers")
    for size in args.sizes:
        shop = taillard_instance(FIRST[size])
        problem = FlowShopProblem(shop, "lb2")
        scalar = ScalarCore(problem, BranchingRule.MINMIN)
        nodes = random_nodes(shop.n_jobs, max(args.pools))
        few = tuple(nodes.take(slice(COMPARED)))
        expected, seconds = rate_of(partial(scalar.bound, few, NO_UB), args.repeat)
        core = len(expected) / seconds

        def say(how, pool, count, seconds, size=size, core=core):
            papers = dict(zip(POOLS, PAPERS[size], strict=True)).get(pool, "")
            print_row(size, how, pool, count / seconds, count / seconds / core, papers)

        say("one scalar core", "", len(expected), seconds)
        for threads in sorted({1, physical_cores()}):
            work = partial(dpbb.bounds.lb2, shop, *nodes, device="cpu", threads=threads)
            found, seconds = rate_of(work, args.repeat)
            exact &= np.array_equal(found[:COMPARED], expected)
            say(f"{threads} cores, SIMD", "", max(args.pools), seconds)
        if has_gpu():
            _offloaded(args, problem, nodes, say)
    return exact


def _offloaded(args, problem, nodes, say) -> None:
    """Send parents to the GPU, as many as have so many children; these come back."""
    sizes = problem.n_jobs - nodes.front.astype(int) - nodes.back
    by_depth = np.lexsort((nodes.back, nodes.front))
    ub = problem.trivial_ub
    there = OnDevice(Lb1, problem, TreeOptions(bound="lb2"), ub, 0)
    for pool in args.pools:
        parents = nodes.take(by_depth[:: max(1, int(sizes.sum()) // pool)])
        work = partial(there.branch, parents, ub)
        (_, _, bounds), seconds = rate_of(work, args.repeat)
        say("GPU, parents", pool, len(bounds), seconds)


# -- parts of trees -------------------------------------------------------------------


def part_of(problem, tree, ub, wanted) -> WorkUnit:
    """Return what a search deepest first begins and ends within so many nodes.

    Nodes are counted, no clock is looked at: it is the same part everywhere.
    """
    tuning = Tuning(selection=Selection.DEPTH, pool_size=min(512, wanted))
    core = Device("cpu", "core", threads=1)
    session = PoolEngine().open(problem, tree, core, ub=ub, tuning=tuning)
    with closing(session):
        session.load(WorkUnit.whole(problem.n_jobs))
        open_roots, done, exhausted = [], 0, False
        for most in (wanted // 10, wanted):
            while done < most and not exhausted:
                part = session.advance(ub, 0.0)
                done, exhausted = done + part.decomposed, part.exhausted
            open_roots.append(session.remaining())
    begun, left = open_roots
    return begun.subtract(left)


def timed(session, unit, ub) -> tuple[tuple[int, int], float]:
    """Explore a unit: its counts of nodes, and the seconds."""
    with closing(session):
        session.load(unit)
        began = time.perf_counter()
        counters = explore_to_end(session, ub, 2.0).counters
        seconds = time.perf_counter() - began
        return (counters.decomposed, counters.leaves), seconds


def trees(args: argparse.Namespace) -> bool:
    """Print speed-ups over a scalar core; whether all counts are equal."""
    engine, exact = PoolEngine(), True
    gpus = [device for device in engine.devices() if device.kind == "cuda"]
    print_head("tree", "branching", "how", "pool", "nodes", "s", "times a core")
    for name in args.trees:
        problem = FlowShopProblem(taillard_instance(name), "lb2")
        ub = problem.best_known.upper_bound
        tree = TreeOptions(BranchingRule(args.branching), bound="lb2")
        unit = part_of(problem, tree, ub, args.nodes)
        model = ScalarCore(problem, tree.branching)
        tuning = Tuning(pool_size=1 << 16)

        def on_core(tuning=tuning, model=model, problem=problem, tree=tree, ub=ub):
            given = problem, tree, model, tuning, ub
            return PoolSession(*given, threads=1, all_optima=False)

        # without work it is compiled
        timed(on_core(), WorkUnit.empty(problem.n_jobs), ub)
        counts, core_s = timed(on_core(), unit, ub)
        exact &= counts[0] > 0
        print_row(name, args.branching, "one core", "", sum(counts), core_s, 1.0)
        ways = [(f"{n} threads", Device("cpu", "", threads=n), max(args.pools))
                for n in args.threads]  # fmt: skip
        ways += [("GPU", gpu, pool) for gpu in gpus[:1] for pool in args.pools]
        for how, device, pool in ways:
            tuning = Tuning(pool_size=pool)
            opened = partial(engine.open, problem, tree, device, ub=ub, tuning=tuning)
            timed(opened(), WorkUnit.empty(problem.n_jobs), ub)
            runs = [timed(opened(), unit, ub) for _ in range(args.repeat)]
            exact &= {run[0] for run in runs} == {counts}
            seconds = statistics.median(run[1] for run in runs)
            told = how, pool, sum(runs[0][0]), seconds, core_s / seconds
            print_row(name, args.branching, *told)
    return exact


# -- whole trees with cascades --------------------------------------------------------


def cascades(args: argparse.Namespace) -> bool:
    """Print nodes and seconds by bound; whether the runs of each agree."""
    exact = True
    print_head("tree", "bound", "nodes", "s", "times LB1")
    for name in args.trees:
        problem = FlowShopProblem(taillard_instance(name))
        ub = problem.best_known.upper_bound
        engine, _ = choose_engine(args.engine, problem, TreeOptions())
        device = engine.devices(args.threads[-1])[0]
        pairs = learned_pairs(problem, TreeOptions(), ub)
        arms = {"lb1": problem, "lb2": problem.with_bound("lb2")}
        arms |= {f"{len(some)} pairs": with_pairs(problem, some) for some in pairs}
        first = 0.0
        for bound, arm in arms.items():
            explored(engine, device, arm, ub, 0.1)  # compiles
            runs = [
                explored(engine, device, arm, ub, args.most) for _ in range(args.repeat)
            ]
            over = all(run.over for run in runs)
            exact &= not over or len({run[:2] for run in runs}) == 1
            seconds = statistics.median(run.seconds for run in runs)
            first = first or seconds
            nodes = f"{'' if over else '> '}{runs[0].nodes:,}"
            print_row(name, bound, nodes, seconds, first / seconds)
    return exact


NODES = 32
"""Nodes of a depth that are looked at to order pairs of machines."""

SHARES = (0.5, 0.75, 0.9)
"""Of the children that some pair prunes, what the pairs of a cascade prune."""


def with_pairs(
    problem: FlowShopProblem, pairs: Sequence[tuple[int, int]]
) -> FlowShopProblem:
    """Return a problem that some pairs tighten at all depths."""
    text = ",".join(f"{u}-{v}" for u, v in pairs)
    return problem.with_bound(f"cascade:1-{problem.n_jobs - 1}:{text}")


def learned_pairs(
    problem: FlowShopProblem, tree: TreeOptions, ub: int, seed: int = 0
) -> list[tuple[tuple[int, int], ...]]:
    """Return sets of pairs that prune much, each the beginning of the next.

    Parameters
    ----------
    problem, tree
        With the bound LB1.
    """
    pairs = [(u, v) for u, v in machine_pairs(problem.n_machines).tolist()]
    bounds = [with_pairs(problem, [pair]).tighten for pair in pairs]
    rows, weights = _pruned(problem, bounds, tree, ub, np.random.default_rng(seed))
    some = rows.any(axis=0)
    rows, weights = rows[:, some], weights[some]
    total, order = float(weights.sum()), list[tuple[int, int]]()
    found: list[tuple[tuple[int, int], ...]] = []
    shares = list(SHARES)
    while weights.size:
        best = int((rows @ weights).argmax())
        order.append(pairs[best])
        left = ~rows[best]
        rows, weights = rows[:, left], weights[left]
        while shares and 1 - float(weights.sum()) / total >= shares[0]:
            shares.pop(0)
            if not found or found[-1] != tuple(order):
                found.append(tuple(order))
    return found


def _pruned(
    problem: FlowShopProblem,
    bounds: list[Any],
    tree: TreeOptions,
    ub: int,
    random: np.random.Generator,
) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
    """Sample the tree of all pairs: which pairs prune which children that LB1 leaves.

    Returns
    -------
    rows : ndarray of bool, shape (n_pairs, r)
    weights : ndarray of float64, shape (r,)
        How many children of the tree each one stands for.
    """
    order = tree.root_order or range(problem.n_jobs)
    level = [(problem.root_state(), np.array(order, np.intp), 1.0)]
    rows = [np.zeros((len(bounds), 0), bool)]
    weights = [np.zeros(0)]
    for depth in range(problem.n_jobs - 2):
        below: list[tuple[int, Any, NDArray[np.intp], bool, int, float]] = []
        for state, jobs, weight in level:
            back, loose = bound_children(problem, tree, state, jobs, depth, ub)
            children = np.flatnonzero(loose < ub)
            if not children.size:
                continue
            found = [one(state, jobs, loose, ub, back=back) for one in bounds]
            pruned = np.array(found)[:, children] >= ub
            rows.append(pruned)
            weights.append(np.full(len(children), weight))
            below += [
                (int(loose[child]), state, jobs, back, child, weight)
                for child in children[~pruned.any(axis=0)].tolist()
            ]
        below.sort(key=lambda one: one[0])
        all_weights = np.array([one[-1] for one in below])
        kept, carried, _ = thin(all_weights, np.zeros(len(below)), NODES, random)
        level = []
        for row, weight in zip(kept.tolist(), carried.tolist(), strict=True):
            _, state, jobs, back, i, _ = below[row]
            extended = problem.extend(state, int(jobs[i]), back=back)
            level.append((extended, np.delete(jobs, i), weight))
    return np.concatenate(rows, axis=1), np.concatenate(weights)


def main(arguments: list[str] | None = None) -> int:
    """Print the tables of one part; 1 if bounds or counts differ."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("part", choices=("bounds", "trees", "cascades"))
    parser.add_argument("--sizes", nargs="+", choices=FIRST, default=list(FIRST))
    parser.add_argument("--trees", nargs="+", default=list(FIRST.values()))
    parser.add_argument("--pools", nargs="+", type=int, default=POOLS)
    parser.add_argument("--branching", choices=("minmin", "front"), default="minmin")
    parser.add_argument(
        "--nodes", type=int, default=100_000, help="of a part of a tree"
    )
    parser.add_argument("--threads", nargs="+", type=int, default=[physical_cores()])
    parser.add_argument("--engine", choices=("cpu", "gpu", "reference"), default="cpu")
    parser.add_argument("--most", type=float, default=60.0, help="seconds of a cascade")
    parser.add_argument("--repeat", type=int, default=3)
    args = parser.parse_args(arguments)
    print(Machine())
    parts = {"bounds": bounds, "trees": trees, "cascades": cascades}
    return int(not parts[args.part](args))


if __name__ == "__main__":
    sys.exit(main())
