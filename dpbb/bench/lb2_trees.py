"""Trees below lists of open nodes: a core, several threads, and a GPU by arm and pool.

The founding papers' protocol. A list (``lb2_lists``) is explored in every way; the
counts of nodes are compared, and the times are what is wanted. Lists are made and
searched sequentially, in plain loops, on a core each, side by side; meanwhile a GPU and
the cores that are left explore those that are there; then threads with SIMD, as many
lists side by side as there are cores for. What is finished is in the file, and a second
call goes on from there.
"""

from __future__ import annotations

import json
import math
import os
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass, replace
from functools import cache
from itertools import product
from multiprocessing import get_context, parent_process
from multiprocessing.queues import Queue
from pathlib import Path
from threading import Thread
from typing import Any, Self

from dpbb.bench.lb2_arms import POOLS
from dpbb.bench.lb2_lists import CLASSES, LONGER, WANTED, NodeList, make_list, size_of
from dpbb.bench.lb2_scalar import ScalarFlowShop
from dpbb.engines.base import Device
from dpbb.engines.cpu.engine import processor_name
from dpbb.engines.driver import explore_to_end
from dpbb.engines.energy import EnergyMeter
from dpbb.engines.pool.bounding import CpuBounding
from dpbb.engines.pool.engine import PoolEngine
from dpbb.engines.pool.session import PoolSession
from dpbb.engines.pool.settings import PoolSettings
from dpbb.errors import DpbbError, OptionError
from dpbb.kernels.cores import physical_cores, usable_cores
from dpbb.options import Offload, Placement

WAYS = ("lists", "cores", "gpu", "threads")
"""Of exploring a list; ``lists`` makes them alone, as ``cores`` does before."""

THREADS = (1, 3, 5, 7, 9, 11)
"""Of the papers' multi-core runs, and one; all threads are added."""

SPARE_CORES = 2
"""Cores left alone while lists are explored side by side, if nothing else is said."""

CORE_CHILDREN = 1 << 16
"""Children of a batch of the sequential search: what Python adds to it does not count
then (with 512 it was a quarter of the time)."""

LONG_SLICE_S = 2.0
"""At the end of a slice nothing is on its way, so slices are long."""

MOST_S = 5.0
"""No further run of a list begins when those before took so long together."""

NODES = Offload.NODES
ARMS = {
    "parents": PoolSettings(),
    "tables, refactored": PoolSettings(
        offload=NODES, placement=Placement.TABLES, refactor=True
    ),
    "sorted, refactored": PoolSettings(
        offload=NODES, placement=Placement.GLOBAL, refactor=True
    ),
    "sorted": PoolSettings(offload=NODES, placement=Placement.GLOBAL),
    "basic": PoolSettings(offload=NODES, placement=Placement.GLOBAL, sort_pool=False),
    "tables": PoolSettings(offload=NODES, placement=Placement.TABLES),
    "all": PoolSettings(offload=NODES, placement=Placement.ALL),
}
"""Chakroun's tables III (basic), IV (sorted) and V (refactored), which with the front
alone is Melab's II; Melab's III (tables, refactored); and today's forms."""

TODAYS, MELABS = "parents", "tables, refactored"
"""The arms of all lists; the others are of the first lists alone."""

LARGEST_POOL = 262144
"""Of this pool a list is explored several times, of the others once."""

LIST_KEY = ("instance", "branching", "seed", "wanted")
"""What a list is a function of."""

ROW_KEY = (*LIST_KEY, "how", "pool")
"""What a row is of: a list, and a way to explore it."""

NOT_WRITTEN = ValueError, LookupError, TypeError, AttributeError
"""What a file that ``--json`` did not write leads to when it is read."""

Found = NodeList | dict[str, Any] | None
"""A list, or the row of one, if the time was enough."""


def not_written(path: Path, error: Exception) -> OptionError:
    """Say that a file is not one that ``--json`` wrote."""
    return OptionError(f"expected a file of dpbb bench lb2 --json, got {path}: {error}")


@dataclass(frozen=True, slots=True)
class Key:
    """A list by its name."""

    instance: str
    branching: str
    seed: int
    wanted: int


class Book:
    """What is finished, in a file of JSON.

    ``known``: files of earlier calls; what is in them counts as finished, too.
    """

    def __init__(self, path: Path, known: Iterable[Path] = ()) -> None:
        self._path = path
        self.lists: dict[Key, NodeList] = {}
        self.rows: list[dict[str, Any]] = []
        self.host: dict[str, Any] = {}
        for one in (*known, *([path] if path.exists() else [])):
            try:
                data = json.loads(one.read_text(encoding="utf-8"))
                self.host = data["host"]
                self.rows += [row for row in data["rows"] if not self._has_row(row)]
                for entry in data["lists"]:
                    found = NodeList.from_json(entry)
                    self.lists[_key(found)] = found
            except NOT_WRITTEN as error:
                raise not_written(one, error) from error

    def save(self) -> None:
        """Write the file."""
        lists = ", ".join(map(_text_of, self.lists.values()))
        host, rows = json.dumps(self.host), json.dumps(self.rows)
        text = f'{{"host": {host}, "lists": [{lists}], "rows": {rows}}}'
        part = self._path.with_suffix(".part")
        part.write_text(text, encoding="utf-8")
        part.replace(self._path)

    def _has_row(self, row: dict[str, Any]) -> bool:
        return self.has(**{name: row[name] for name in ROW_KEY})

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
        wrong = "" if row["exact"] else "  WRONG COUNTS"
        print(
            f"{name:<14} {row['how']:<28} {row['pool']!s:>7} {seconds}{wrong}",
            flush=True,
        )


@cache
def _text_of(found: NodeList) -> str:
    """Return a list as JSON; that of many takes a second, and is saved often."""
    return json.dumps(found.to_json())


def keys(classes: list[str], branchings: list[str]) -> list[Key]:
    """Ten lists of a class and rule: the first of each, then the second, and so on."""
    found = []
    for branching, number, size in product(branchings, range(10), classes):
        n_jobs, instance = int(size.split("x")[0]), f"ta{CLASSES[size] + number:03}"
        longer = LONGER.get((instance, branching), 1.0)
        found.append(Key(instance, branching, number, int(WANTED[n_jobs] * longer)))
    return found


@dataclass(frozen=True, slots=True)
class Plan:
    """What is measured.

    Parameters
    ----------
    budget_s
        Nothing begins after it.
    repeat
        Runs of a list on a GPU and on threads, fewer where they are long.
    side_by_side
        Cores that explore lists, one list for each or for as many as it has threads;
        None: all but two.
    arms, pools
        Of a GPU; None: all.
    """

    ways: tuple[str, ...] = WAYS
    budget_s: float = 480.0
    repeat: int = 5
    side_by_side: int | None = None
    arms: tuple[str, ...] | None = None
    pools: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        for name, known in (("arms", ARMS), ("pools", POOLS)):
            unknown = [one for one in getattr(self, name) or () if one not in known]
            if unknown:
                raise OptionError(f"{name}: expected some of {[*known]}, got {unknown}")

    def has(self, arm: str, pool: int) -> bool:
        """Whether a GPU's arm is measured with such a pool."""
        return (self.arms is None or arm in self.arms) and (
            self.pools is None or pool in self.pools
        )


def measure(book: Book, wanted: Sequence[Key], plan: Plan) -> bool:
    """Measure what is not in the book until the time is over; whether counts agree."""
    end = time.monotonic() + plan.budget_s
    book.host = host()  # not that of a known file
    with _SideBySide(book, 1, plan.side_by_side, end) as cores:
        if {"lists", "cores"} & {*plan.ways}:
            cores.searches = "cores" in plan.ways
            for key in wanted:
                if key not in book.lists:
                    cores.submit(_list_of, key)
            if cores.searches:
                for found in _without(book, wanted, "core"):
                    cores.submit(_search, found)
            cores.keep_to_the_rest()
        if "gpu" in plan.ways:
            _explore_on_gpu(book, wanted, plan, cores)
        cores.wait()
    if "threads" in plan.ways:
        for threads in sorted({*THREADS, physical_cores()}):
            if threads > physical_cores() or time.monotonic() > end:
                break
            with _SideBySide(book, threads, plan.side_by_side, end) as groups:
                for found in _without(book, wanted, f"{threads} threads"):
                    groups.submit(_on_threads, found, threads, plan.repeat)
                groups.wait()
    book.save()
    there = sum(key in book.lists for key in wanted)
    if there < len(wanted):
        print(f"{there} of {len(wanted)} lists are there; the same call goes on")
    return all(row["exact"] for row in book.rows)


def _without(book: Book, wanted: Sequence[Key], how: str) -> list[NodeList]:
    """Return the lists of the book that were not explored this way."""
    lists = [book.lists[key] for key in wanted if key in book.lists]
    return [found for found in lists if not book.has(**_row(found, how, None))]


def host() -> dict[str, Any]:
    """Return what the tables need to know of the machine."""
    found: dict[str, Any] = {"processor": processor_name(), "cores": physical_cores()}
    devices = [device for device in PoolEngine().devices() if device.kind == "cuda"]
    if devices:
        found["gpu"] = devices[0].name
    return found


def _key(found: NodeList) -> Key:
    return Key(found.instance, found.branching, found.seed, found.wanted)


# -- processes with cores of their own, side by side ---------------------------------


class _SideBySide:
    """Processes that work for a book, with some cores each.

    This process has the cores that are left.

    Parameters
    ----------
    each
        Cores of a process.
    most
        Cores of all of them; None: all but two, or all if one process has them.
    end
        Nothing begins after it (monotonic).
    """

    def __init__(self, book: Book, each: int, most: int | None, end: float) -> None:
        self._book, self.end = book, end
        self.searches = False  # the lists that are made
        self._waiting: set[Future[Found]] = set()
        self._before = os.sched_getaffinity(0)
        cores = sorted(self._before)
        most = max(each, min(most or len(cores) - SPARE_CORES, len(cores)))
        groups = [cores[i : i + each] for i in range(0, most - each + 1, each)]
        context = get_context("spawn")
        free = context.Queue()
        for group in groups:
            free.put(group)
        self._count = len(groups)
        self._pool = ProcessPoolExecutor(self._count, context, _take_cores, (free,))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.shutdown(cancel_futures=True)
        os.sched_setaffinity(0, self._before)

    def submit(self, work: Callable[..., Found], *given: Any) -> None:
        """Have something done when a process is free."""
        self._waiting.add(self._pool.submit(work, *given, self.end))

    def keep_to_the_rest(self) -> None:
        """Leave the processes' cores to them."""
        taken = sorted(self._before)[: self._count]
        if rest := self._before - set(taken):
            os.sched_setaffinity(0, rest)

    def collect(self, timeout_s: float = 0.0) -> bool:
        """Take what has ended into the book; whether anything is on its way."""
        ended, self._waiting = wait(
            self._waiting, timeout=timeout_s, return_when=FIRST_COMPLETED
        )
        for future in ended:
            result = future.result()
            if isinstance(result, NodeList):
                self._book.lists[_key(result)] = result
                if self.searches and not self._book.has(**_row(result, "core", None)):
                    self.submit(_search, result)
            elif result is not None:
                self._book.add({**result, "side_by_side": self._count})
            self._book.save()
        return bool(self._waiting)

    def wait(self) -> None:
        """Wait for all of them."""
        while self.collect(1.0):
            pass


def _take_cores(free: Queue[list[int]]) -> None:
    os.sched_setaffinity(0, free.get())
    Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """End this process when its parent was killed."""
    if (parent := parent_process()) is not None:
        parent.join()
        os._exit(1)


def _list_of(key: Key, end: float) -> NodeList | None:
    if time.monotonic() > end:
        return None
    return make_list(key.instance, key.branching, key.seed, key.wanted, end)


def _search(found: NodeList, end: float) -> dict[str, Any] | None:
    """Search a list in plain loops; the row."""
    if time.monotonic() > end:
        return None
    problem, tree = found.problem, found.tree
    model = ScalarFlowShop(problem, tree)
    settings = PoolSettings(pool_size=CORE_CHILDREN, in_flight=1, keeps_ub=True)

    def opened() -> PoolSession:
        return PoolSession(
            *(problem, tree, model, CpuBounding(model, 1), settings, found.ub),
            threads=1,
            all_optima=False,
        )

    _explored(opened(), found, 0.0)  # a batch, which compiles
    run = _explored(opened(), found, end)
    return None if run is None else {**_row(found, "core", None), **run}


def _row(found: NodeList, how: str, pool: int | None) -> dict[str, Any]:
    return {
        "instance": found.instance,
        "branching": found.branching,
        "seed": found.seed,
        "wanted": found.wanted,
        "ub": found.ub,
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
            *(session, found.ub, LONG_SLICE_S if end else 0.0),
            lambda _part, _all: time.monotonic() > end,
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


def _explore_on_gpu(
    book: Book, wanted: Sequence[Key], plan: Plan, cores: _SideBySide
) -> None:
    devices = [device for device in PoolEngine().devices() if device.kind == "cuda"]
    if not devices:
        return
    by_seed = sorted(wanted, key=lambda key: key.seed)  # both rules by turns
    first = [key for key in by_seed if key.seed == 0]
    waiting = [
        *product(wanted, [TODAYS, MELABS], [LARGEST_POOL]),
        *product(first, ARMS, [LARGEST_POOL]),
        *product(first, [MELABS], POOLS),
        *((key, TODAYS, pool) for pool in reversed(POOLS) for key in by_seed),
    ]  # the smaller a pool, the longer a run
    waiting = [one for one in waiting if plan.has(*one[1:])]
    while waiting and time.monotonic() < cores.end:
        is_more = cores.collect()
        task = next((one for one in waiting if one[0] in book.lists), None)
        if task is None:
            if not is_more:
                break
            cores.collect(1.0)
            continue
        waiting.remove(task)
        key, arm, pool = task
        found = book.lists[key]
        if book.has(**_row(found, arm, pool)):
            continue
        settings = replace(ARMS[arm], pool_size=pool, keeps_ub=True)
        runs = plan.repeat if pool == LARGEST_POOL else 1
        given = found, arm, pool, settings, devices[0], runs, cores.end
        if (row := _repeated(*given)) is not None:
            book.add(row)
            book.save()


def _on_threads(
    found: NodeList, threads: int, repeat: int, end: float
) -> dict[str, Any] | None:
    """Explore a list on threads with SIMD; the row."""
    device = Device("cpu", "cores", threads=threads)
    settings = PoolSettings(pool_size=LARGEST_POOL, keeps_ub=True)
    how = f"{threads} threads"
    return _repeated(found, how, None, settings, device, repeat, end)


_WARM: set[tuple[str, str]] = set()
"""Ways that this process has compiled; on a GPU for a class."""


def _repeated(
    found: NodeList,
    how: str,
    pool: int | None,
    settings: PoolSettings,
    device: Device,
    repeat: int,
    end: float,
) -> dict[str, Any] | None:
    """Explore a list several times after a warm-up; the row."""
    if time.monotonic() > end:
        return None
    given = (settings, found.problem, found.tree, device)

    def run(end: float = math.inf) -> dict[str, Any] | None:
        return _explored(PoolEngine().open_with(*given, ub=found.ub), found, end)

    size = f"{size_of(found.instance)} {found.branching}"
    compiled = (how, size) if device.kind == "cuda" else ("threads", "")
    try:
        if compiled not in _WARM:
            run(0.0)  # a slice
            _WARM.add(compiled)
        meter = EnergyMeter(device)
        before, began = meter.read(), time.perf_counter()
        runs: list[dict[str, Any]] = []
        while len(runs) < repeat and time.perf_counter() - began < MOST_S:
            runs += [one] if (one := run()) is not None else []
        after, watts = meter.read(), None
        if before is not None and after is not None:
            watts = (after - before) / (time.perf_counter() - began)
    except DpbbError as error:
        print(f"{found.instance} {how}: {error}")
        return None
    return {
        **_row(found, how, pool),
        **runs[-1],
        "watts": watts,
        "host_cores": usable_cores(),
        "seconds": [one["seconds"][0] for one in runs],
        "exact": all(one["exact"] for one in runs),
    }
