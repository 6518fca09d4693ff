"""Two-machine bounds a second: one scalar core, all cores with SIMD, and a GPU.

Every evaluation is whole: all pairs of machines, no stop at an upper bound. Nodes are
random permutations with a random part fixed at either side. The scalar core runs the
plain loop of the founding papers, node by node, one pair after the other. All rates are
of the bounds of one batch, which are compared; the exit code is 1 where two of them
differ. On a GPU the nodes are there already, and the bounds stay there.
"""

import argparse
import json
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpbb.bench.common import check_counts, find_gpu
from dpbb.bench.lb2_scalar import scalar_rate
from dpbb.errors import OptionError
from dpbb.flowshop.bounds import batch_cpu
from dpbb.flowshop.bounds.lb2 import JohnsonTables, machine_pairs
from dpbb.flowshop.instance import FlowShopInstance
from dpbb.flowshop.models.pool import PoolFlowShop
from dpbb.flowshop.problem import FlowShopProblem
from dpbb.flowshop.taillard import taillard_instance
from dpbb.kernels.cores import usable_cores
from dpbb.kernels.pool_models import Nodes
from dpbb.options import TreeOptions

SIZES = {"20x20": "ta021", "50x20": "ta051", "100x20": "ta081", "200x20": "ta101"}
"""An instance for each size."""

PARTS = ("rates", "arms", "trees")

SCALAR_NODES = 2000
"""Nodes that one scalar core is timed with, at 20 jobs; fewer with more."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the suite's arguments."""
    parser.add_argument("--sizes", nargs="+", choices=SIZES, default=list(SIZES))
    parser.add_argument(
        "--nodes", type=int, default=2**20, help="of a batch on a GPU (default: 2**20)"
    )
    parser.add_argument("--repeat", type=int, default=5, help="runs; medians are shown")
    parser.add_argument(
        "--part",
        choices=PARTS,
        default="rates",
        help="rates: whole bounds a second of everything; arms: pools that are sent to "
        "a GPU, as in the founding papers, by size and arm; trees: lists of open nodes "
        "explored by the pool engine in all these ways (default: rates)",
    )
    parser.add_argument(
        "--json",
        type=Path,
        help="arms, trees: write the rows here; trees go on with what is not there",
    )
    parser.add_argument(
        "--known",
        type=Path,
        nargs="+",
        default=[],
        metavar="FILE",
        help="trees: files of earlier calls; what they have is not measured again",
    )
    parser.add_argument(
        "--budget",
        type=float,
        default=480.0,
        metavar="SECONDS",
        help="trees: nothing begins after it (default: 480)",
    )
    parser.add_argument(
        "--ways",
        nargs="+",
        choices=("lists", "cores", "gpu", "threads"),
        default=["lists", "cores", "gpu", "threads"],
        help="trees: make lists alone, or also explore them on a core each; on a GPU; "
        "on threads together (default: all)",
    )
    parser.add_argument(
        "--side-by-side",
        type=int,
        metavar="CORES",
        help="trees: cores that explore lists, one list for each or for as many as it "
        "has threads; a GPU's host part has the others (default: all but two)",
    )
    parser.add_argument(
        "--branching",
        nargs="+",
        choices=("minmin", "front"),
        default=["minmin", "front"],
        help="trees: rules; the front alone is that of Melab's tables",
    )
    parser.add_argument(
        "--pools",
        type=int,
        nargs="+",
        help="arms, trees: sizes of pools (default: the papers')",
    )
    parser.add_argument("--arms", nargs="+", help="arms, trees: names of those wanted")
    parser.add_argument(
        "--report",
        type=Path,
        nargs="+",
        metavar="FILE",
        help="measure nothing: print tables of what --json wrote, beside the papers'",
    )
    parser.add_argument("--plot", type=Path, help="report: draw a picture here")
    for name in ("core-gflops", "core-watts"):
        parser.add_argument(
            f"--{name}",
            type=float,
            help="report: of a core, for speed-ups at equal theoretical peak and watts",
        )


def run(args: argparse.Namespace) -> int:
    """Run the suite; returns 0 unless two evaluators differ."""
    if args.report is not None:
        from dpbb.bench.lb2_report import print_report

        print_report(args.report, args.core_gflops, args.core_watts, args.plot)
        return 0
    check_counts(args, "repeat", "nodes")
    if args.part == "arms":
        return _arms(args)
    if args.part == "trees":
        return _trees(args)
    cupy, _ = find_gpu()
    print(
        f"{'size':<8}{'how':<34}{'nodes':>9}{'bounds/s':>12}{'least':>12}{'most':>12}"
    )
    exact = True
    for size in args.sizes:
        shop = taillard_instance(SIZES[size])
        exact &= _Size(size, shop, args.repeat).measure(cupy, args.nodes)
    return int(not exact)


def _arms(args: argparse.Namespace) -> int:
    """Measure off-loaded pools; rows are printed, and written as they come."""
    from dpbb.bench import lb2_arms

    rows: list[dict[str, Any]] = []

    def note(row: dict[str, Any]) -> None:
        rows.append(row)
        print(json.dumps(row), flush=True)
        if args.json is not None:
            args.json.write_text(json.dumps(rows, indent=1), encoding="utf-8")

    sizes = {size: SIZES[size] for size in args.sizes}
    pools = args.pools or lb2_arms.POOLS
    exact = lb2_arms.measure(sizes, pools, args.repeat, note, args.arms)
    return int(not exact)


def _trees(args: argparse.Namespace) -> int:
    """Explore trees below lists; what is finished is in the file."""
    from dpbb.bench import lb2_trees

    if args.json is None or args.budget <= 0:
        raise OptionError("--part trees: expected --json and --budget > 0")
    wanted = lb2_trees.keys(args.sizes, args.branching)
    plan = lb2_trees.Plan(
        *(tuple(args.ways), args.budget, args.repeat, args.side_by_side),
        arms=args.arms and tuple(args.arms),
        pools=args.pools and tuple(args.pools),
    )
    exact = lb2_trees.measure(lb2_trees.Book(args.json, args.known), wanted, plan)
    return int(not exact)


def random_nodes(
    n_jobs: int, count: int, seed: int
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]]:
    """Return permutations, d1 and d2; any number of jobs is unscheduled.

    Each number from 0 to n_jobs is equally likely, and so is each share of the front.
    """
    rng = np.random.default_rng(seed)
    rows = np.broadcast_to(np.arange(n_jobs, dtype=np.int32), (count, n_jobs))
    fixed = rng.integers(0, n_jobs + 1, count)
    front = rng.integers(0, fixed + 1)
    counts = front.astype(np.int32), (fixed - front).astype(np.int32)
    return np.ascontiguousarray(rng.permuted(rows, axis=1)), *counts


class _Size:
    """Measures one size of shops."""

    def __init__(self, size: str, shop: FlowShopInstance, repeat: int) -> None:
        self._size, self._shop, self._repeat = size, shop, repeat
        self._pairs = machine_pairs(shop.n_machines)
        self._tables = JohnsonTables.of(shop.times, self._pairs)
        self._exact = True

    def measure(self, cupy: Any, count: int) -> bool:
        """Measure everything; whether all bounds are equal."""
        n_jobs = self._shop.n_jobs
        few = max(64, SCALAR_NODES * 20 // n_jobs)
        nodes = random_nodes(n_jobs, few, seed=1)
        model = PoolFlowShop(
            FlowShopProblem(self._shop, "lb2"), TreeOptions(bound="lb2")
        )
        narrow = Nodes(*(part.astype(np.uint16) for part in nodes))
        rates = [scalar_rate(model, narrow) for _ in range(self._repeat)]
        one = self._print("one scalar core", few, [rate for rate, _ in rates])
        # on an empty side a tree's heads (tails) are those of all jobs
        whole = (nodes[1] > 0) & (nodes[2] > 0)
        threads = usable_cores()
        for n_threads in sorted({1, threads}):
            many = random_nodes(n_jobs, few * 16 * n_threads, seed=1)
            first = batch_cpu.bounds(
                self._shop.times, self._tables, *nodes, strong=False, threads=1
            )
            self._compare("SIMD", first[whole], rates[0][1][whole])

            def simd(
                many: tuple[Any, ...] = many, n_threads: int = n_threads
            ) -> NDArray[np.int32]:
                return batch_cpu.bounds(
                    *(self._shop.times, self._tables, *many),
                    strong=False,
                    threads=n_threads,
                )

            how = f"{n_threads} cores with SIMD" if n_threads > 1 else "one core, SIMD"
            best = self._time(how, len(many[0]), simd)
        if cupy is not None:
            fastest = self._measure_gpu(cupy, count)
            print(
                f"{self._size:<8}GPU / scalar core {fastest / one:.0f}, "
                f"GPU / {threads} cores with SIMD {fastest / best:.1f}",
                flush=True,
            )
        return self._exact

    def _measure_gpu(self, cupy: Any, count: int) -> float:
        from dpbb.flowshop.bounds.batch_gpu import GpuNodes

        nodes = random_nodes(self._shop.n_jobs, count, seed=2)
        some = tuple(part[:1000] for part in nodes)
        expected = batch_cpu.bounds(
            self._shop.times, self._tables, *some, strong=False, threads=1
        )
        kinds = (np.uint16, np.int32, np.int32)
        there = [
            cupy.asarray(part.astype(kind))
            for part, kind in zip(nodes, kinds, strict=True)
        ]
        result = cupy.empty((count,), np.int32)

        def rate(how: str, batch: GpuNodes) -> float:
            def work() -> None:
                batch.bounds(*there, strong=False, result=result)
                cupy.cuda.Device().synchronize()

            return self._time(how, count, work)

        fastest = rate("GPU", GpuNodes(self._shop, self._pairs))
        self._compare("GPU", result.get()[: len(expected)], expected[:count])
        rate("GPU, LB1 alone", GpuNodes(self._shop, self._pairs[:0]))
        return fastest

    def _time(self, how: str, count: int, work: Callable[[], Any]) -> float:
        """Print the rate of a way to bound nodes; return the median."""
        work()
        rates = []
        for _ in range(self._repeat):
            began = time.perf_counter()
            work()
            rates.append(count / (time.perf_counter() - began))
        return self._print(how, count, rates)

    def _print(self, how: str, count: int, rates: list[float]) -> float:
        median = statistics.median(rates)
        print(
            f"{self._size:<8}{how:<34}{count:>9}{median:>12.3e}{min(rates):>12.3e}"
            f"{max(rates):>12.3e}",
            flush=True,
        )
        return median

    def _compare(
        self, how: str, found: NDArray[np.int32], expected: NDArray[np.int32]
    ) -> None:
        if not np.array_equal(found, expected):
            print(f"{self._size:<8}{how}: WRONG")
            self._exact = False
