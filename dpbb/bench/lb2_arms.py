"""Off-loaded bounding by pool size, class and arm: the papers' ablations, kernel alone.

A pool is so many random children of partial schedules, on the host, in random order. It
is timed from there to the bounds being on the host again, transfers included, without a
stop at an upper bound: every arm does the same work, and their bounds are compared. The
core's rate is that of the papers' scalar loop on some of the same nodes.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpbb.bench.lb2_scalar import scalar_rate
from dpbb.engines.pool.bounding import children_of
from dpbb.engines.pool.nodes import Batch
from dpbb.errors import DpbbError
from dpbb.flowshop.models.pool import PoolFlowShop
from dpbb.flowshop.models.pool_cuda import PLACEMENTS, PoolDevice
from dpbb.flowshop.problem import FlowShopProblem
from dpbb.flowshop.taillard import taillard_instance
from dpbb.kernels.nvrtc import require_gpu
from dpbb.kernels.pool_models import Nodes
from dpbb.options import BranchingRule, TreeOptions

POOLS = (4096, 8192, 16384, 32768, 65536, 131072, 262144)
"""Sizes of the papers' pools: 16 to 1024 blocks of 256 threads."""

NO_UB = 1 << 30


@dataclass(frozen=True, slots=True)
class Arm:
    """One way of bounding a pool on a GPU.

    ``sorts``: the pool is in the order of the jobs fixed at the front and at the back.
    """

    name: str
    placement: str = "global"
    refactor: bool = False
    sorts: bool = True
    block_size: int = 256
    branching: str = "minmin"


ARMS = (
    Arm("basic", sorts=False),
    Arm("sorted"),
    Arm("sorted, refactored", refactor=True),
    *(Arm(f"sorted, {place} shared", place) for place in PLACEMENTS[1:]),
    *(Arm(f"blocks of {size}", block_size=size) for size in (64, 128, 512)),
    Arm("front only, refactored", refactor=True, branching="front"),
    *(
        Arm(f"front only, {place}, refactored", place, True, branching="front")
        for place in PLACEMENTS[1:]
    ),
)
"""The first three are Chakroun's tables III to V; those of the front are Melab's II and
III, with refactoring as there. Blocks have 256 threads if nothing else is said."""


@dataclass(frozen=True, slots=True)
class Rate:
    """One arm with one pool of one class.

    Parameters
    ----------
    bounds_per_s, least, most
        Median, least and largest of the runs.
    kernel_per_s
        Bounds a second of the kernel alone, without copies; median.
    speed_up
        Over the scalar core.
    registers, shared_bytes, active_warps
        Of the kernel; warps that a multiprocessor holds at a time.
    """

    size: str
    arm: str
    block_size: int
    pool: int
    bounds_per_s: float
    least: float
    most: float
    kernel_per_s: float
    speed_up: float
    registers: int
    shared_bytes: int
    active_warps: int


def random_pool(n_jobs: int, count: int, seed: int, *, front_only: bool) -> Nodes:
    """Return rows, front and back: at least one job fixed, two unscheduled."""
    rng = np.random.default_rng(seed)
    rows = np.broadcast_to(np.arange(n_jobs, dtype=np.uint16), (count, n_jobs))
    rows = rng.permuted(rows, axis=1)
    fixed = rng.integers(1, n_jobs - 1, count)
    front = fixed if front_only else rng.integers(0, fixed + 1)
    return Nodes(rows, front.astype(np.uint16), (fixed - front).astype(np.uint16))


def measure(
    sizes: dict[str, str],
    pools: Sequence[int],
    repeat: int,
    note: Callable[[dict[str, Any]], None],
    arms: Sequence[str] | None = None,
) -> bool:
    """Measure arms, by default all; ``note`` is told every row.

    Whether all bounds are equal.
    """
    require_gpu()
    exact = True
    for size, name in sizes.items():
        exact &= _Class(size, name, pools, repeat, arms).measure(note)
    return exact


class _Class:
    """One class of shops."""

    def __init__(
        self,
        size: str,
        name: str,
        pools: Sequence[int],
        repeat: int,
        arms: Sequence[str] | None,
    ) -> None:
        self._arms = arms
        self._size, self._pools, self._repeat = size, pools, repeat
        self._problem = FlowShopProblem(taillard_instance(name), "lb2")
        self._exact = True

    def measure(self, note: Callable[[dict[str, Any]], None]) -> bool:
        n_jobs = self._problem.n_jobs
        for branching in ("minmin", "front"):
            tree = TreeOptions(BranchingRule(branching), bound="lb2")
            model = PoolFlowShop(self._problem, tree)
            front_only = branching == "front"
            nodes = random_pool(n_jobs, max(self._pools), 1, front_only=front_only)
            few = _some(nodes, slice(500))
            core, expected = scalar_rate(model, few)
            note({"size": self._size, "branching": branching, "core": core})
            for arm in ARMS:
                if arm.branching == branching and self._wants(arm.name):
                    self._measure_arm(model, arm, nodes, core, note)
            self._compare("core", model.bound(few, NO_UB), expected)
            if not front_only and self._wants("parents"):
                self._measure_parents(model, nodes, core, note)
        return self._exact

    def _wants(self, name: str) -> bool:
        return self._arms is None or name in self._arms

    def _measure_arm(
        self,
        model: PoolFlowShop,
        arm: Arm,
        nodes: Nodes,
        core: float,
        note: Callable[[dict[str, Any]], None],
    ) -> None:
        try:
            there = PoolDevice(
                model,
                0,
                nodes=True,
                placement=arm.placement,
                block_size=arm.block_size,
                refactor=arm.refactor,
            )
        except DpbbError as error:
            note({"size": self._size, "arm": arm.name, "refused": str(error)})
            return
        for pool in self._pools:
            some = _some(nodes, slice(pool))
            if arm.sorts:
                some = _some(some, np.lexsort((some.back, some.front)))
            bounds, seconds = self._time(there, partial(there.bound, some, NO_UB))
            self._compare(
                arm.name, bounds[:256], model.bound(_some(some, slice(256)), NO_UB)
            )
            self._note(note, arm.name, arm.block_size, there, pool, pool, seconds, core)

    def _measure_parents(
        self,
        model: PoolFlowShop,
        nodes: Nodes,
        core: float,
        note: Callable[[dict[str, Any]], None],
    ) -> None:
        """Parents, branched on there, of which so many children are bounded."""
        there = PoolDevice(model, 0, nodes=False)
        order = np.lexsort((nodes.back, nodes.front))
        children = int((model.n_jobs - nodes.front.astype(np.int64) - nodes.back).sum())
        for pool in self._pools:
            # spread over the depths, as many as have so many children
            parents = _some(nodes, order[:: max(1, children // pool)])
            found, seconds = self._time(there, partial(there.branch, parents, NO_UB))
            self._compare_parents(model, parents, found)
            self._note(
                *(note, "parents", there.threads, there, pool, found[3], seconds, core)
            )

    def _note(
        self,
        note: Callable[[dict[str, Any]], None],
        name: str,
        block_size: int,
        there: PoolDevice,
        pool: int,
        count: int,
        seconds: Seconds,
        core: float,
    ) -> None:
        rates = [count / second for second in seconds.whole]
        median = statistics.median(rates)
        attributes = there.kernel.attributes
        rate = Rate(
            *(self._size, name, block_size, pool, median, min(rates), max(rates)),
            kernel_per_s=count / statistics.median(seconds.kernel),
            speed_up=median / core,
            registers=int(attributes["num_regs"]),
            shared_bytes=there.shared_bytes,
            active_warps=active_warps(there, block_size),
        )
        note(asdict(rate))

    def _time(self, there: PoolDevice, work: Callable[[], Any]) -> tuple[Any, Seconds]:
        result = work()  # warm-up
        whole, kernel = there.kernel, TimedKernel(there.kernel)
        seconds = Seconds([], [])
        there.kernel = kernel
        for _ in range(self._repeat):
            began = time.perf_counter()
            work()
            seconds.whole.append(time.perf_counter() - began)
            seconds.kernel.append(kernel.seconds)
        there.kernel = whole
        return result, seconds

    def _compare_parents(
        self, model: PoolFlowShop, parents: Nodes, found: tuple[Any, ...]
    ) -> None:
        """Compare the children of some parents with those of the host."""
        some = _some(parents, slice(8))
        parent, code, _ = model.branch(some, NO_UB)
        batch = Batch.empty(model.n_jobs, len(some.rows))._replace(**some._asdict())
        children = children_of(batch, parent, code, np.zeros(len(code), np.int32))
        expected = model.bound(children.nodes, NO_UB)
        mine = np.lexsort((code, parent))
        theirs = np.flatnonzero(found[0] < len(some.rows))
        theirs = theirs[np.lexsort((found[1][theirs], found[0][theirs]))]
        self._compare("parents", found[2][theirs], expected[mine])

    def _compare(
        self, name: str, found: NDArray[np.int32], expected: NDArray[np.int32]
    ) -> None:
        if not np.array_equal(found, expected):
            print(f"{self._size:<8}{name}: WRONG")
            self._exact = False


class Seconds(NamedTuple):
    """Of every run."""

    whole: list[float]
    kernel: list[float]


class TimedKernel:
    """A kernel with the time that the device took for its last call."""

    def __init__(self, kernel: Any) -> None:
        from cupy.cuda import Event

        self._kernel = kernel
        self._began, self._ended = Event(), Event()

    def __call__(self, *given: Any, **options: Any) -> None:
        """Call it on the current stream."""
        self._began.record()
        self._kernel(*given, **options)
        self._ended.record()

    @property
    def seconds(self) -> float:
        """Of the last call; waits for it."""
        from cupy.cuda import get_elapsed_time

        self._ended.synchronize()
        return float(get_elapsed_time(self._began, self._ended)) / 1000


def active_warps(there: PoolDevice, block_size: int) -> int:
    """Warps of a kernel that a multiprocessor holds at a time."""
    from cupy.cuda import driver

    blocks = driver.occupancyMaxActiveBlocksPerMultiprocessor(
        there.kernel.kernel.ptr, block_size, there.shared_bytes
    )
    return int(blocks) * block_size // 32


def _some(nodes: Nodes, index: Any) -> Nodes:  # slice or numbers
    return Nodes(*(np.ascontiguousarray(part[index]) for part in nodes))
