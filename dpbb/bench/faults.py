"""Runs on clusters that fail at random: the counts must be exact all the same.

Each run explores a tree of known size at a fixed upper bound, on a few worker processes
of this machine, while workers are killed, drained, added and restarted, reports come
late or twice, and the run is saved, stopped and resumed, on the same scheduler or on a
new one. A seed is one run: its faults and their times.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import random
import signal
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from distributed import Client, LocalCluster

from dpbb.cluster.checkpoint_folder import resumed_id
from dpbb.cluster.run import Run, submit_run
from dpbb.coordination.checkpoint_format import from_bytes, to_bytes
from dpbb.coordination.messages import RunId, RunSpec
from dpbb.errors import OptionError
from dpbb.flowshop import FlowShopProblem
from dpbb.flowshop.taillard import taillard_instance
from dpbb.options import TreeOptions

if TYPE_CHECKING:
    import argparse
    from collections.abc import Awaitable, Callable

    from dpbb.coordination.outcome import Outcome

TREES = (
    ("ta014", 1377, (16_114, 13)),
    ("ta028", 2200, (14_523_872, 46)),
    ("ta028", 2200, (14_523_872, 46)),
)
"""Instance, upper bound, decomposed nodes and leaves of the minmin tree."""

FAULTS = ("kill", "kill two", "drain", "join", "restart", "twice", "late", "resume")
WORKERS = 3
LONGEST_S = 120.0
"""A run that takes longer hangs."""


@dataclass(frozen=True, slots=True)
class Report:
    """What came of a run."""

    seed: int
    tree: str
    faults: tuple[str, ...]
    exact: bool
    seconds: float
    requeues: int


class Campaign:
    """A cluster that many runs share, as long as it lives."""

    def __init__(self) -> None:
        self._cluster: Any = None
        self._client: Any = None
        self._mischief: tuple[float, float] = (0.0, 0.0)  # share twice, share late
        self._rng = random.Random(0)  # noqa: S311

    async def __aenter__(self) -> Campaign:
        await self._start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._close()

    async def _start(self) -> None:
        self._cluster = await LocalCluster(
            n_workers=WORKERS,
            threads_per_worker=1,
            dashboard_address=":0",
            asynchronous=True,
            silence_logs=logging.CRITICAL,
        )
        self._client = await Client(
            self._cluster, asynchronous=True, set_as_default=False
        )

    async def _close(self) -> None:
        await self._client.close()
        await self._cluster.close()

    async def run(self, seed: int) -> Report:
        """Make one run, with the faults of its seed."""
        rng = self._rng = random.Random(seed)  # noqa: S311
        name, ub, golden = rng.choice(TREES)
        faults = [rng.choice(FAULTS) for _ in range(rng.randrange(1, 5))]
        self._mischief = (0.3 * ("twice" in faults), 0.3 * ("late" in faults))
        spec = RunSpec(
            run_id=RunId(f"faults-{seed}-{os.getpid()}-{time.monotonic_ns()}"),
            problem=FlowShopProblem(taillard_instance(name)),
            tree=TreeOptions(),
            instance=name,
            engine="cpu",
            upper_bound=ub,
            report_interval_s=0.05,
            full_interval_s=rng.choice((0.1, 0.5, 5.0)),
        )
        began = time.monotonic()
        run = await self._open(spec)
        for fault in faults:
            await asyncio.sleep(rng.uniform(0.0, 0.5))
            if await run.done():
                break
            run = await self._inflict(fault, run)
        outcome: Outcome = await run.outcome(LONGEST_S)
        counts = (outcome.counters.decomposed, outcome.counters.leaves)
        await run.close()
        return Report(
            seed,
            f"{name}@{ub}",
            tuple(faults),
            outcome.exhausted and counts == golden,
            time.monotonic() - began,
            outcome.requeues,
        )

    async def _open(self, spec: RunSpec, saved: bytes | None = None) -> Run:
        run: Run = await submit_run(
            self._client, spec, make_result=_nothing, saved=saved
        )
        scheduler = self._cluster.scheduler
        handler = scheduler.handlers["dpbb_report"]
        if not getattr(handler, "is_mischievous", False):
            scheduler.handlers["dpbb_report"] = self._mischievous(handler)
        return run

    def _mischievous(
        self, handler: Callable[..., Awaitable[Any]]
    ) -> Callable[..., Awaitable[Any]]:
        """Have some reports arrive late, and some twice."""

        async def report(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401
            twice, late = self._mischief
            if self._rng.random() < late:
                await asyncio.sleep(self._rng.uniform(0.0, 0.3))
            if self._rng.random() < twice:
                await handler(*args, **kwargs)
            return await handler(*args, **kwargs)

        report.is_mischievous = True  # type: ignore[attr-defined]
        return report

    async def _inflict(self, fault: str, run: Run) -> Run:
        """Do harm; returns the run's handle, which may be another one."""
        rng, cluster = self._rng, self._cluster
        nannies = [nanny for nanny in cluster.workers.values() if nanny.pid]
        match fault:
            case "kill" | "kill two":
                for nanny in rng.sample(
                    nannies, min(len(nannies), 1 + (fault != "kill"))
                ):
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(nanny.pid, signal.SIGKILL)
            case "drain":
                workers = list(cluster.scheduler.workers)
                if workers:
                    await self._client.retire_workers([rng.choice(workers)])
                    cluster.scale(WORKERS)
            case "join":
                cluster.scale(WORKERS + 1)
            case "restart":
                with contextlib.suppress(TimeoutError):
                    await self._client.restart(timeout=20)
            case "resume":
                return await self._resume(run)
        return run

    async def _resume(self, run: Run) -> Run:
        """Save, and go on: here, or with a new scheduler and new workers."""
        plugin = self._cluster.scheduler.extensions["dpbb"]
        open_run = plugin.hub.runs.get(run.run_id)
        if open_run is None:
            return run
        # as of the last full reports, wherever they are: what a dead scheduler leaves
        saved = from_bytes(to_bytes(open_run.coordinator.checkpoint(time.monotonic())))
        if self._rng.random() < 0.25:
            await self._close()
            await self._start()
        else:
            await run.close()
        spec = replace(
            saved.spec,
            run_id=resumed_id(saved.spec.run_id),
            upper_bound=saved.cutoff,
            permutation=None,
        )
        return await self._open(spec, to_bytes(saved))


async def campaign(
    seeds: range, show: Callable[[Report], None] = lambda _report: None
) -> list[Report]:
    """Make a run for each seed."""
    reports = []
    async with Campaign() as cluster:
        for seed in seeds:
            reports.append(await cluster.run(seed))
            show(reports[-1])
    return reports


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the suite's arguments."""
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0, help="of the first run")


def run(args: argparse.Namespace) -> int:
    """Run the campaign; returns 1 if a count is wrong."""
    if args.runs < 1:
        raise OptionError(f"--runs: expected at least 1, got {args.runs}")

    def show(report: Report) -> None:
        exact = "yes" if report.exact else "NO"
        print(
            f"{report.seed:>6} {report.tree:<11} {exact:<5} {report.seconds:>6.2f} "
            f"{report.requeues:>6}  {', '.join(report.faults)}",
            flush=True,
        )

    print("  seed tree        exact     s   lost  faults")
    reports = asyncio.run(campaign(range(args.seed, args.seed + args.runs), show))
    wrong = [report.seed for report in reports if not report.exact]
    seconds = sum(report.seconds for report in reports)
    lost = sum(report.requeues for report in reports)
    print(
        f"{len(reports)} runs in {seconds:.0f} s, {lost} leases lost, "
        f"{len(wrong)} not exact {wrong or ''}"
    )
    return int(bool(wrong))


def _nothing(outcome: Outcome) -> Any:  # noqa: ANN401
    return outcome
