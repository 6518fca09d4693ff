"""Trees below lists of open nodes: a core, several threads, and a GPU by arm and pool.

The founding papers' protocol. A list (``lb2_lists``) is explored in every way; the
counts of nodes are compared, and the times are what is wanted. First come the lists and
the sequential search on one core in plain loops, an instance a core, side by side; then
the GPU; then the cores together, with SIMD. What is finished is in the file, and a
second call goes on from there.
"""

from __future__ import annotations

import json
import math
import os
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, replace
from itertools import product
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpbb.bench.lb2_arms import POOLS
from dpbb.bench.lb2_lists import CLASSES, POOL, WANTED, NodeList, make_list
from dpbb.bench.lb2_scalar import ScalarFlowShop
from dpbb.engines.base import SLICE_S, Device
from dpbb.engines.cpu.engine import processor_name
from dpbb.engines.driver import explore_to_end
from dpbb.engines.energy import EnergyMeter
from dpbb.engines.pool.bounding import CpuBounding
from dpbb.engines.pool.engine import PoolEngine
from dpbb.engines.pool.session import PoolSession
from dpbb.engines.pool.settings import PoolSettings
from dpbb.errors import DpbbError
from dpbb.kernels.cores import physical_cores
from dpbb.options import Offload, Placement

if TYPE_CHECKING:
    from collections.abc import Iterator
    from multiprocessing.queues import Queue

THREADS = (1, 3, 5, 7, 9, 11)
"""Of the papers' multi-core runs, and one; all threads are added."""

SPARE_CORES = 2
"""Cores left alone while lists are explored side by side."""

CORE_SHARE, GPU_SHARE = 0.6, 0.8
"""Parts of the budget after which sequential search ends, and the GPU's."""

NODES = Offload.NODES
ARMS = {
    "parents": PoolSettings(),
    "sorted, refactored": PoolSettings(
        offload=NODES, placement=Placement.GLOBAL, refactor=True
    ),
    "tables, refactored": PoolSettings(
        offload=NODES, placement=Placement.TABLES, refactor=True
    ),
    "sorted": PoolSettings(offload=NODES, placement=Placement.GLOBAL),
    "basic": PoolSettings(offload=NODES, placement=Placement.GLOBAL, sort_pool=False),
    "tables": PoolSettings(offload=NODES, placement=Placement.TABLES),
    "all": PoolSettings(offload=NODES, placement=Placement.ALL),
}
"""Chakroun's tables III (basic), IV (sorted) and V (refactored), which with the front
alone is Melab's II; Melab's III (tables, refactored); and today's forms."""


FIRST_ARMS = ("parents", "sorted, refactored", "tables, refactored")
FIRST_POOLS = (262144,), (8192, 65536)
FIRST_LISTS = 2
"""What is measured first: these arms and pools of all lists, then all of some lists."""


@dataclass(frozen=True, slots=True)
class Key:
    """A list by its name."""

    instance: str
    branching: str
    seed: int
    wanted: int


class Book:
    """What is finished, in a file of JSON."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.lists: dict[Key, NodeList] = {}
        self.rows: list[dict[str, Any]] = []
        self.host: dict[str, Any] = {}
        if path.exists():
            data = json.loads(path.read_text(encoding="utf-8"))
            self.rows, self.host = data["rows"], data["host"]
            for entry in data["lists"]:
                found = NodeList.from_json(entry)
                self.lists[_key(found)] = found

    def save(self) -> None:
        """Write the file."""
        lists = [found.to_json() for found in self.lists.values()]
        data = {"host": self.host, "lists": lists, "rows": self.rows}
        part = self._path.with_suffix(".part")
        part.write_text(json.dumps(data), encoding="utf-8")
        part.replace(self._path)

    def has(self, **wanted: Any) -> bool:
        """Whether there is a row with these values."""
        return any(
            all(row.get(name) == value for name, value in wanted.items())
            for row in self.rows
        )

    def add(self, row: dict[str, Any]) -> None:
        """Add a row; tell people."""
        self.rows.append(row)
        seconds = ", ".join(f"{second:.3f}" for second in row["seconds"])
        name = f"{row['instance']} {row['branching']}"
        print(f"{name:<14} {row['how']:<28} {row['pool']!s:>7} {seconds}", flush=True)


def keys(classes: list[str], branchings: list[str], share: float) -> Iterator[Key]:
    """All lists: the first instance of each class, then the second, and so on.

    Ten of a class, and, beside another rule, half as many of the front alone.
    """
    for place, branching in enumerate(branchings):
        for number in range(10 if place == 0 else 5):
            for size in classes:
                n_jobs = int(size.split("x")[0])
                instance = f"ta{CLASSES[size] + number:03}"
                yield Key(instance, branching, number, int(WANTED[n_jobs] * share))


def measure(
    book: Book,
    classes: list[str],
    branchings: list[str],
    *,
    budget_s: float,
    repeat: int,
    share: float,
) -> bool:
    """Measure what is not in the book until the time is over; whether counts agree."""
    began = time.monotonic()
    wanted = list(keys(classes, branchings, share))
    book.host = book.host or host()
    _explore_on_cores(book, wanted, began + CORE_SHARE * budget_s)
    exact = True
    end = began + budget_s
    exact &= _explore_on_gpu(book, wanted, repeat, began + GPU_SHARE * budget_s)
    exact &= _explore_on_threads(book, wanted, repeat, end)
    book.save()
    return exact


def host() -> dict[str, Any]:
    """Return what the tables need to know of the machine."""
    flags = Path("/proc/cpuinfo").read_text("utf-8") if os.name == "posix" else ""
    found: dict[str, Any] = {
        "processor": processor_name(),
        "cores": physical_cores(),
        "flops_per_cycle": 32 if "avx512f" in flags else 16,  # in double precision
    }
    devices = [device for device in PoolEngine().devices() if device.kind == "cuda"]
    if devices:
        found["gpu"] = devices[0].name
    return found


def _key(found: NodeList) -> Key:
    return Key(found.instance, found.branching, found.seed, found.wanted)


# -- one core each, side by side ------------------------------------------------------


def _explore_on_cores(book: Book, wanted: list[Key], end: float) -> None:
    """Make lists and search them sequentially, as many at a time as there are cores."""
    cores = sorted(os.sched_getaffinity(0))
    cores = cores[: max(1, len(cores) - SPARE_CORES)]
    context = get_context("spawn")
    free = context.Queue()
    for core in cores:
        free.put(core)
    waiting = [
        key
        for key in wanted
        if not book.has(instance=key.instance, branching=key.branching, how="core")
    ]
    with ProcessPoolExecutor(
        min(len(cores), len(waiting)) or 1, context, _take_core, (free,)
    ) as pool:
        futures = [
            pool.submit(_list_and_core, key, book.lists.get(key), end)
            for key in waiting
        ]
        for future in as_completed(futures):
            found, row = future.result()
            if found is not None:
                book.lists[_key(found)] = found
            if row is not None:
                book.add({**row, "side_by_side": min(len(cores), len(waiting))})
            book.save()


def _take_core(free: Queue[int]) -> None:
    os.sched_setaffinity(0, {free.get()})


def _list_and_core(
    key: Key, found: NodeList | None, end: float
) -> tuple[NodeList | None, dict[str, Any] | None]:
    """Make a list if need be, and search it in plain loops."""
    if found is None:
        found = make_list(key.instance, key.branching, key.seed, key.wanted, end)
    if found is None or time.monotonic() > end:
        return found, None
    problem, tree = found.problem, found.tree
    model = ScalarFlowShop(problem, tree)
    settings = PoolSettings(pool_size=POOL[problem.n_jobs], in_flight=1, keeps_ub=True)

    def opened() -> PoolSession:
        return PoolSession(
            *(problem, tree, model, CpuBounding(model, 1), settings, found.ub),
            threads=1,
            all_optima=False,
        )

    _explored(opened(), found, 0.0)  # a batch, which compiles
    run = _explored(opened(), found, end)
    return found, None if run is None else {**_row(found, "core", None), **run}


def _row(found: NodeList, how: str, pool: int | None) -> dict[str, Any]:
    return {
        "instance": found.instance,
        "branching": found.branching,
        "seed": found.seed,
        "how": how,
        "pool": pool,
    }


def _explored(
    session: PoolSession, found: NodeList, end: float = math.inf
) -> dict[str, Any] | None:
    """Explore a list and close the session; None if it is not over at the end.

    The counts have to be the list's.
    """
    try:
        session.load(found.unit)
        began = time.perf_counter()
        total = explore_to_end(
            session, found.ub, SLICE_S, lambda _part, _all: time.monotonic() > end
        )
        seconds = time.perf_counter() - began
    finally:
        session.close()
    if not total.exhausted:
        return None
    counters = total.counters
    exact = (counters.decomposed, counters.leaves) == (found.decomposed, found.leaves)
    return {
        "seconds": [seconds],
        "bounded": session.statistics["bounded"],
        "bounding_s": session.statistics["bounding_s"],
        "most_open": session.statistics["most_open"],
        "nodes": counters.nodes,
        "exact": exact,
    }


# -- the GPU, and threads with SIMD ---------------------------------------------------


def _explore_on_gpu(book: Book, wanted: list[Key], repeat: int, end: float) -> bool:
    devices = [device for device in PoolEngine().devices() if device.kind == "cuda"]
    if not devices:
        return True
    exact = True
    for key, arm, pool in [
        *(one for pools in FIRST_POOLS for one in product(wanted, FIRST_ARMS, pools)),
        *product(wanted[:FIRST_LISTS], ARMS, POOLS),
        *product(wanted, ARMS, POOLS),
    ]:
        found = book.lists.get(key)
        if found is None:
            continue
        if time.monotonic() > end:
            return exact
        settings = replace(ARMS[arm], pool_size=pool, keeps_ub=True)
        exact &= _repeated(book, found, arm, pool, settings, devices[0], repeat)
    return exact


def _explore_on_threads(book: Book, wanted: list[Key], repeat: int, end: float) -> bool:
    cores = physical_cores()
    exact = True
    for key in wanted:
        found = book.lists.get(key)
        if found is None:
            continue
        for threads in sorted({*(t for t in THREADS if t < cores), cores}):
            if time.monotonic() > end:
                return exact
            device = Device("cpu", "cores", threads=threads)
            settings = PoolSettings(keeps_ub=True)
            how = f"{threads} threads"
            exact &= _repeated(book, found, how, None, settings, device, repeat)
        book.save()
    return exact


_WARM: set[tuple[str, str]] = set()
"""Ways that this process has compiled; on a GPU for an instance."""


def _repeated(
    book: Book,
    found: NodeList,
    how: str,
    pool: int | None,
    settings: PoolSettings,
    device: Device,
    repeat: int,
) -> bool:
    """Explore a list several times after a warm-up; whether the counts are right."""
    row = _row(found, how, pool)
    if book.has(**row):
        return True
    given = (settings, found.problem, found.tree, device)

    def run(end: float = math.inf) -> dict[str, Any] | None:
        return _explored(PoolEngine().open_with(*given, ub=found.ub), found, end)

    compiled = (how, found.instance) if device.kind == "cuda" else ("threads", "")
    try:
        if compiled not in _WARM:
            run(0.0)  # a slice
            _WARM.add(compiled)
        meter = EnergyMeter(device)
        before, began = meter.read(), time.perf_counter()
        runs = [one for _ in range(repeat) if (one := run()) is not None]
        after, watts = meter.read(), None
        if before is not None and after is not None:
            watts = (after - before) / (time.perf_counter() - began)
    except DpbbError as error:
        print(f"{found.instance} {how}: {error}")
        return True
    seconds = [run["seconds"][0] for run in runs]
    book.add({**row, **runs[-1], "seconds": seconds, "watts": watts})
    exact = all(run["exact"] for run in runs)
    if not exact:
        print(f"{found.instance} {how}: WRONG COUNTS")
    book.save()
    return exact
