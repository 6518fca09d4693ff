"""Trees of known size with the GPU engine: counts, nodes a second, where time goes.

The exit code is 1 when a count is wrong.
"""

import argparse
import time
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

from dpbb.bench.common import check_counts, write_json
from dpbb.engines import nvml
from dpbb.engines.base import Device
from dpbb.engines.gpu.engine import GpuEngine
from dpbb.engines.gpu.session import GpuSession
from dpbb.errors import EngineUnavailable
from dpbb.flowshop.formats import read_instance
from dpbb.flowshop.instance import FlowShopInstance
from dpbb.flowshop.problem import FlowShopProblem
from dpbb.flowshop.taillard import generate
from dpbb.options import LB1, Balance, BranchingRule, TreeOptions, Tuning
from dpbb.tree.work_unit import WorkUnit

PHASE_SLICE_S = 0.002
PHASES_S = 5.0
BUSY = 0.95

TREES: dict[str, tuple[str, int, int | None]] = {
    "ta021": ("ta021", 2297, 447_987_895),
    "ta056": ("ta056", 3660, 107_404_891),
    "ta081": ("ta081", 6115, 280_567_542),
    "ta101": ("ta101", 11156, 379_378_874),
    "ta056-long": ("ta056", 3679, 207_683_508_756),
    "20x20": ("seed 13", 2320, 9_577_257_228),
    "ta021-huge": ("ta021", 2450, None),
    "vfr30": ("VFR30_20_5", 2672, None),
    "ta081-huge": ("ta081", 6150, None),
    "ta101-huge": ("ta101", 11200, None),
}
"""Instance, fixed upper bound, decomposed nodes and leaves of the minmin tree.

``seed 13`` is the 20 x 20 shop that Taillard's generator makes of that time seed, of
optimum 2320: no tree of the benchmarks' 20 x 20 shops takes an H100 a second. The CPU
engine counts the same. The huge ones are for a rate over seconds (``--limit-s``), and
no other program has counted them.
"""


@dataclass(frozen=True, slots=True)
class Measurement:
    """One exploration of a whole tree at a fixed upper bound.

    Parameters
    ----------
    nodes
        Decomposed nodes and leaves.
    exact
        Whether that is the known number; None if the time limit came first.
    explorers, block_size, slice_s
        At the end, as given or as tuned.
    open_s
        Compilation (or its cache) and allocation.
    run_s, nodes_per_s
        First slice to last, start and end included.
    occupancy
        Warps of the exploring kernel that are on the device at a time, as a share of
        those that its multiprocessors could hold.
    steady_nodes_per_s
        All slices but the first and the last; 0 when there are fewer than three.
    lanes
        Share of lanes that held a node, over all batches; with balance steal: a child.
    jobs_per_node
        Children bounded for each decomposed node.
    rows_per_batch
        Jobs bounded by each warp for each batch of 32 nodes.
    idle
        Share of the warps' time spent waiting for work: lost to balancing.
    host_ms_per_slice
        Time of a slice in which no kernel explored, on average.
    most_open_roots
        Largest number of open roots at the end of a slice.
    ramp_ms
        From the whole tree to the first slice of a few milliseconds in which the warps
        were busy for 95 % of the time, in a run of its own with such slices; None: they
        never were.
    tail
        Share of that run's warp time that was idle after the last such slice; None: it
        was not over within ``PHASES_S``.
    energy_j
        Of the device, over the run; None if it does not say.
    phases, stolen
        With balance steal: phases of exploration, and intervals that changed hands.
    """

    tree: str
    instance: str
    digest: str
    ub: int
    bound: str
    device: str
    balance: str
    explorers: int
    block_size: int
    slice_s: float
    repetition: int
    nodes: int
    exact: bool | None
    open_s: float
    run_s: float
    nodes_per_s: float
    occupancy: float
    steady_nodes_per_s: float
    lanes: float
    jobs_per_node: float
    rows_per_batch: float
    idle: float
    host_ms_per_slice: float
    slices: int
    most_open_roots: int
    ramp_ms: float | None
    tail: float | None
    energy_j: float | None
    phases: int
    stolen: int


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the suite's arguments."""
    parser.add_argument(
        "--trees",
        nargs="+",
        choices=TREES,
        default=list(TREES)[:4],
        help="which trees; ta056-long takes most of a minute on an H100",
    )
    parser.add_argument(
        "--explorers",
        nargs="+",
        type=int,
        default=[None],
        help="numbers of explorers (K): lanes, or warps with an interval each",
    )
    parser.add_argument(
        "--balance",
        nargs="+",
        type=Balance,
        choices=list(Balance),
        default=list(Balance),
        help="how explorers share their work; both by default, explode is the engine's",
    )
    parser.add_argument(
        "--bound", default=LB1, help="lower bound; counts are known of lb1 alone"
    )
    parser.add_argument(
        "--data", type=Path, default=None, help="folder of benchmark files, of VFR"
    )
    parser.add_argument("--repeat", type=int, default=1, help="runs of each tree")
    parser.add_argument("--block-size", type=int, default=None, help="threads")
    parser.add_argument(
        "--slice",
        type=float,
        default=None,
        metavar="SECONDS",
        help="what is given of these is not tuned",
    )
    parser.add_argument("--limit-s", type=float, default=600.0, help="stop a run then")
    parser.add_argument("--json", type=Path, default=None, help="also write this file")


def run(args: argparse.Namespace) -> int:
    """Run the suite; returns 0 unless a count is wrong or there is no device."""
    engine = GpuEngine()
    try:
        device = engine.devices()[0]
    except EngineUnavailable as error:
        print(f"no GPU to measure: {error}")
        return 2
    check_counts(args, "repeat")
    results = []
    print(HEADER)
    for tree in args.trees:
        for balance, explorers in product(args.balance, args.explorers):
            tuning = Tuning(
                explorers=explorers,
                block_size=args.block_size,
                balance=balance,
                slice_s=args.slice,
            )
            for repetition in range(args.repeat):
                problem = FlowShopProblem(_instance(tree, args.data), args.bound)
                result = measure(
                    engine, device, tree, problem, tuning, repetition, args.limit_s
                )
                results.append(result)
                print(_row(result), flush=True)
    write_json(args.json, results)
    return int(any(result.exact is False for result in results))


def measure(
    engine: GpuEngine,
    device: Device,
    tree: str,
    problem: FlowShopProblem,
    tuning: Tuning,
    repetition: int,
    limit_s: float,
) -> Measurement:
    """Explore one tree through the engine's public interface."""
    _, ub, expected = TREES[tree]
    if problem.bound != LB1:
        expected = None
    options = TreeOptions(BranchingRule.MINMIN, bound=problem.bound)
    began = time.perf_counter()
    session = engine.open(problem, options, device, ub=ub, tuning=tuning)
    opened = time.perf_counter()
    decomposed = leaves = closed = 0
    slices: list[tuple[float, int]] = []
    most_open, exhausted, exploring_s, warp_s = 0, False, 0.0, 0.0
    joules = nvml.energy_j(device.uuid)
    session.load(WorkUnit.whole(problem.n_jobs))
    while not exhausted and time.perf_counter() - opened < limit_s:
        start = time.perf_counter()
        part = session.advance(ub, session.slice_s)
        slices.append((time.perf_counter() - start, part.decomposed))
        decomposed += part.decomposed
        leaves += part.leaves
        closed += int(part.closed.sum())
        most_open = max(most_open, part.open_roots)
        # here, as the number of warps may change from slice to slice
        now_s = _warp_seconds(session)
        exploring_s += (now_s - warp_s) / session.statistics["n_warps"]
        warp_s = now_s
        exhausted = part.exhausted
    run_s = time.perf_counter() - opened
    joules_after = nvml.energy_j(device.uuid)
    statistics = dict(session.statistics)
    slice_s = session.slice_s
    occupied = _occupancy(session)
    session.close()
    warps = statistics["n_warps"]
    batches = max(1.0, statistics["batches"])
    bounded = closed + decomposed + leaves - 1
    steals = tuning.balance == Balance.STEAL
    inner = slices[1:-1]
    session = engine.open(problem, options, device, ub=ub, tuning=tuning)
    ramp_ms, tail = phases(session, WorkUnit.whole(problem.n_jobs), ub)
    session.close()
    return Measurement(
        tree=tree,
        instance=problem.instance.name,
        digest=problem.digest,
        ub=ub,
        bound=problem.bound,
        device=device.name,
        balance=str(tuning.balance),
        explorers=int(warps) * (1 if steals else 32),
        block_size=int(statistics["block_size"]),
        slice_s=slice_s,
        repetition=repetition,
        nodes=decomposed + leaves,
        exact=decomposed + leaves == expected if exhausted and expected else None,
        open_s=opened - began,
        run_s=run_s,
        nodes_per_s=decomposed / run_s,
        occupancy=occupied,
        steady_nodes_per_s=sum(n for _, n in inner) / sum(s for s, _ in inner)
        if inner
        else 0.0,
        lanes=(bounded if steals else decomposed) / batches / 32,
        jobs_per_node=bounded / max(1, decomposed),
        rows_per_batch=statistics["children"] / batches,
        idle=statistics["idle_ns"] / 1e9 / max(warp_s, 1e-9),
        host_ms_per_slice=1e3 * max(0.0, run_s - exploring_s) / len(slices),
        slices=len(slices),
        most_open_roots=most_open,
        ramp_ms=ramp_ms,
        tail=tail,
        energy_j=None
        if joules is None or joules_after is None
        else joules_after - joules,
        phases=int(statistics.get("phases", 0)),
        stolen=int(statistics.get("stolen", 0)),
    )


def _instance(tree: str, data: Path | None) -> FlowShopInstance:
    name = TREES[tree][0]
    if name.startswith("seed "):
        return FlowShopInstance(name, generate(int(name.split()[1]), 20, 20))
    return read_instance(name, data_dir=data)


def _warp_seconds(session: GpuSession) -> float:
    return (session.statistics["busy_ns"] + session.statistics["idle_ns"]) / 1e9


def _occupancy(session: GpuSession) -> float:
    """Warps on the device over those that it could hold."""
    import cupy

    kernels = session.kernels
    attributes = cupy.cuda.Device(kernels.device).attributes
    most = attributes["MaxThreadsPerMultiProcessor"] // 32 * kernels.n_multiprocessors
    return float(min(kernels.resident_warps, session.statistics["n_warps"]) / most)


def phases(
    session: GpuSession, unit: WorkUnit, ub: int
) -> tuple[float | None, float | None]:
    """Explore in slices of a few milliseconds; returns the ramp in ms and the tail.

    See ``Measurement``. Stops after ``PHASES_S``; then there is no tail to speak of.
    """
    session.load(unit)
    began = time.perf_counter()
    ramp_ms: float | None = None
    idle_after, before = 0.0, {"busy_ns": 0.0, "idle_ns": 0.0}
    exhausted = False
    while not exhausted and time.perf_counter() - began < PHASES_S:
        exhausted = session.advance(ub, PHASE_SLICE_S).exhausted
        now = {name: session.statistics[name] for name in before}
        busy, idle = (now[name] - before[name] for name in ("busy_ns", "idle_ns"))
        before = now
        if busy >= BUSY * (busy + idle):
            if ramp_ms is None:
                ramp_ms = 1e3 * (time.perf_counter() - began)
            idle_after = 0.0
        else:
            idle_after += idle
    total = before["busy_ns"] + before["idle_ns"]
    return ramp_ms, idle_after / max(total, 1.0) if exhausted else None


HEADER = (
    "tree       balance       K block slice        nodes  exact   run s  G nodes/s"
    "  steady occup.  lanes  jobs  rows   idle  host ms  open roots  ramp ms   tail"
    "  energy J  phases"
)


def _row(one: Measurement) -> str:
    exact: dict[Any, str] = {True: "yes", False: "NO", None: "-"}
    return (
        f"{one.tree:<11}{one.balance:<8}{one.explorers:>7}{one.block_size:>6}"
        f"{one.slice_s:>6.2f}{one.nodes:>14}{exact[one.exact]:>6}"
        f"{one.run_s:>9.3f}{one.nodes_per_s / 1e9:>10.3f}"
        f"{one.steady_nodes_per_s / 1e9:>8.3f}{one.occupancy:>7.3f}{one.lanes:>7.3f}"
        f"{one.jobs_per_node:>6.1f}{one.rows_per_batch:>6.1f}{one.idle:>7.3f}"
        f"{one.host_ms_per_slice:>9.2f}{one.most_open_roots:>12}"
        f"{_known(one.ramp_ms, '.1f'):>9}{_known(one.tail, '.3f'):>7}"
        f"{_known(one.energy_j, '.0f'):>10}{one.phases:>8}"
    )


def _known(value: float | None, form: str) -> str:
    return "-" if value is None else format(value, form)
