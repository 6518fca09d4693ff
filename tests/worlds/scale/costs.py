"""What a report and a hand-over cost the scheduler, measured on this machine.

The hub's own calls are timed while the simulation makes them. What the simulation does
not do is measured here, once at its start: Dask's part of an RPC, of a hint and of a
pinned future, with a real scheduler and a worker process; and the bytes and the decode
and check times of reports with as many roots as a GPU holds.
"""

from __future__ import annotations

import asyncio
import statistics
import time
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from dpbb.cluster.rpc import unwrap, wrap
from dpbb.cluster.scheduler.hub import Hub
from dpbb.coordination.ledger import check_report
from dpbb.coordination.messages import FullReport, Report, RunId, RunSpec
from dpbb.coordination.wire import decode_report, encode
from dpbb.flowshop.problem import FlowShopProblem
from dpbb.flowshop.taillard import taillard_instance
from dpbb.options import TreeOptions
from dpbb.tree.work_unit import WorkUnit

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpbb.coordination.messages import Assignment

INSTANCE = "ta056"  # 50 jobs on 20 machines
GIFT_ROOTS = 4096  # ``Order.max_roots``


@dataclass(frozen=True, slots=True)
class Costs:
    """Seconds and bytes; ``loop`` is time of the event loop, ``thread`` of a checker.

    Parameters
    ----------
    rpc_s, byte_s
        Loop, an RPC of a worker with an empty handler; and for each byte of its body.
    task_s
        Loop, a pinned future from its submission until it is forgotten.
    hint_s
        Loop, a message on a worker's stream.
    heartbeat_s
        Loop, a worker's heartbeat.
    full_s, gift_s
        Thread, decoding and checking a full report and a donation.
    full_loop_s, gift_loop_s
        Loop, applying them.
    full_bytes, gift_bytes
        On the wire.
    """

    rpc_s: float
    byte_s: float
    task_s: float
    hint_s: float
    heartbeat_s: float
    full_s: float
    gift_s: float
    full_loop_s: float
    gift_loop_s: float
    full_bytes: int
    gift_bytes: int

    def times(self, factor: float) -> Costs:
        """All seconds multiplied."""
        values = {f.name: getattr(self, f.name) for f in fields(self)}
        return Costs(
            **{k: v * factor if k.endswith("_s") else v for k, v in values.items()}
        )


# -- reports --------------------------------------------------------------------


class NoShell:
    """A shell for a hub that nobody watches."""

    def submit(self, run_id: RunId, assignment: Assignment, worker: str) -> None:
        """Keep what is to be done."""
        self.assignment = assignment

    def release(self, run_id: RunId, assignment: Assignment) -> None:
        """Nothing to release."""

    def send(self, worker: str, op: str, run_id: RunId, **message: Any) -> None:
        """Nobody to tell."""

    def changed(self, run_id: RunId) -> None:
        """Nobody to wake."""


def sample_roots(n_jobs: int, n_roots: int, seed: int = 0) -> WorkUnit:
    """Open roots as a GPU's explorers leave them: siblings along many long paths."""
    rng = np.random.default_rng(seed)
    paths: set[tuple[int, ...]] = set()
    top, bottom = 6, (3 * n_jobs) // 5
    while len(paths) < n_roots:
        # an explorer below a root of its own, with open siblings to its right
        path = [int(rng.integers(0, n_jobs - level)) for level in range(bottom)]
        path[:top] = [int(v) for v in rng.integers(0, 4, top)]
        level = int(rng.integers(top + 4, bottom))
        if any(tuple(path[:depth]) in paths for depth in range(level)):
            continue
        width = n_jobs - level
        for digit in sorted(rng.choice(width, min(6, width), replace=False).tolist()):
            paths.add((*path[:level], digit))
    chosen = sorted(paths)
    kept: list[tuple[int, ...]] = []
    for path_ in chosen:  # none inside another
        if not kept or path_[: len(kept[-1])] != kept[-1]:
            kept.append(path_)
    return WorkUnit.from_paths(n_jobs, kept[:n_roots])


class OneSeat:
    """A real hub with a run and a seat that has leased the whole tree."""

    def __init__(self) -> None:
        self.hub = Hub(shell := NoShell())
        problem = FlowShopProblem(taillard_instance(INSTANCE))
        self.spec = RunSpec(RunId("costs"), problem, TreeOptions(), engine="gpu")
        self.hub.hello("w", 1, [seat_message("w")])
        self.hub.open(self.spec, b"")
        self.lease = self.hub.lease(self.spec.run_id, shell.assignment)
        self._seq = 0

    def deliver(self, **parts: Any) -> tuple[float, float, int]:
        """Send a report through encode, decode, check and the hub.

        Returns seconds of a thread and of the loop, and its bytes.
        """
        self._seq += 1
        message = wrap(encode(Report(self.lease.id, self._seq, **parts)))
        coordinator = self.hub.run(self.spec.run_id).coordinator
        basis = coordinator.basis(self.lease.id, self._seq)
        assert basis is not None  # noqa: S101 - the report is new
        started = time.thread_time()
        came = decode_report(unwrap(message))
        checked = check_report(basis, came)
        ready = time.thread_time()
        self.hub.on_report(self.spec.run_id, came, checked)
        return ready - started, time.thread_time() - ready, came.n_bytes


def seat_message(worker: str) -> dict[str, Any]:
    """Return a GPU as a worker announces it."""
    return {
        "id": f"{worker}/cuda0", "kind": "cuda", "uuid": worker, "index": 0,
        "threads": 1, "name": "simulated",
    }  # fmt: skip


def report_costs(n_roots: int, repeat: int) -> dict[str, Any]:
    """Medians of full reports of so many roots, and of donations of some of them."""
    remaining = sample_roots(taillard_instance(INSTANCE).n_jobs, n_roots)
    n_jobs = remaining.n_jobs
    counts: dict[str, Any] = {
        "decomposed": remaining.owned_ancestors, "leaves": 0,
        "open_roots": len(remaining), "least_lb": None, "best": None,
    }  # fmt: skip
    closed = WorkUnit.whole(n_jobs).subtract(remaining).depth_counts
    full = FullReport(closed, remaining, last=False)
    gift = remaining.donate(GIFT_ROOTS)[1]
    samples: dict[str, list[tuple[float, float, int]]] = {"full": [], "gift": []}
    for _ in range(repeat):
        seat = OneSeat()
        samples["full"].append(seat.deliver(**counts, full=full))
        samples["gift"].append(seat.deliver(**counts, gift=gift))
    costs: dict[str, Any] = {}
    for name, rows in samples.items():
        thread, loop, n_bytes = zip(*rows, strict=True)
        costs[f"{name}_s"] = statistics.median(thread)
        costs[f"{name}_loop_s"] = statistics.median(loop)
        costs[f"{name}_bytes"] = n_bytes[-1]
    return costs


# -- Dask -----------------------------------------------------------------------


def _nothing() -> None:
    """Do what a task does besides exploring."""


async def _call(times: int, n_bytes: int) -> None:
    """Send light or full reports of an unknown run from a worker."""
    from distributed import get_worker

    worker: Any = get_worker()
    body = wrap(bytes(n_bytes or 64))
    for _ in range(times):
        await worker.scheduler.dpbb_report(
            run_id="none", lease="none/1.1", seq=1, full=bool(n_bytes), body=body
        )


async def _dask(repeat: int) -> dict[str, Any]:
    """Loop time of an RPC, a byte, a task, a hint and a heartbeat; and objects."""
    from distributed import Client, LocalCluster

    from dpbb.cluster.rpc import HINT
    from dpbb.cluster.scheduler.plugin import DpbbSchedulerPlugin

    async def loop_s(action: Callable[[], Any], times: int) -> float:
        """Least of three, for one of ``times``: the loop runs in this thread."""
        least = float("inf")
        for _ in range(3):
            begin = time.thread_time()
            await action()
            least = min(least, (time.thread_time() - begin) / times)
        return least

    async with (
        LocalCluster(
            n_workers=1,
            threads_per_worker=1,
            processes=True,
            asynchronous=True,
            dashboard_address="127.0.0.1:0",
        ) as cluster,
        Client(cluster, asynchronous=True, set_as_default=False) as client,
    ):
        scheduler: Any = cluster.scheduler
        await client.register_plugin(DpbbSchedulerPlugin())
        await client.wait_for_workers(1)
        (worker,) = scheduler.workers
        big = 1_000_000

        async def rpcs(n_bytes: int) -> None:
            await client.submit(_call, repeat, n_bytes, pure=False)

        async def tasks() -> None:
            futures = [
                client.submit(
                    _nothing, workers=[worker], allow_other_workers=False, pure=False
                )
                for _ in range(repeat)
            ]
            await asyncio.gather(*(future.exception() for future in futures))
            for future in futures:
                future.release()
            while any(future.key in scheduler.tasks for future in futures):
                await asyncio.sleep(0.002)

        async def hints() -> None:
            for _ in range(repeat):
                message = {"op": HINT, "run_id": "none", "seat": None, "ub": 1}
                scheduler.worker_send(worker, {**message, "report": False})
            await asyncio.sleep(0.1)

        async def heartbeats() -> None:
            await client.submit(_beat, repeat, pure=False)

        await rpcs(0)  # warm
        await tasks()
        rpc_s = await loop_s(lambda: rpcs(0), repeat)
        rpc_big_s = await loop_s(lambda: rpcs(big), repeat)
        return {
            "rpc_s": rpc_s,
            "byte_s": max(0.0, rpc_big_s - rpc_s) / big,
            "task_s": await loop_s(tasks, repeat),
            "hint_s": await loop_s(hints, repeat),
            "heartbeat_s": await loop_s(heartbeats, repeat),
        }


async def _beat(times: int) -> None:
    """Send heartbeats from a worker."""
    from distributed import get_worker

    worker: Any = get_worker()
    for _ in range(times):
        await worker.heartbeat()


def measure(n_roots: int, repeat: int) -> Costs:
    """Measure all costs of seats that hold so many roots; takes some seconds."""
    return Costs(**asyncio.run(_dask(10 * repeat)), **report_costs(n_roots, repeat))
