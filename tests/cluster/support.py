"""Runs and trees for the cluster tests."""

from __future__ import annotations

import asyncio
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from uuid import uuid4

import numpy as np
from distributed import Client, LocalCluster, Nanny, SpecCluster, get_worker
from distributed.scheduler import Scheduler

import dpbb
from dpbb.cluster.client.open import submit_run
from dpbb.cluster.storage.checkpoint_folder import load_checkpoint
from dpbb.engines.cpu.session import CpuSession
from dpbb.errors import DpbbError
from dpbb.flowshop.problem import FlowShopProblem
from dpbb.flowshop.taillard import taillard_instance
from dpbb.options import BranchingRule, TreeOptions
from tests.oracle import TinyFlowShop
from tests.specs import run_spec

# instance, UB, decomposed nodes, leaves: rows of the golden table (minmin)
SMALL = ("ta016", 1397, 1_586, 0)
MIDDLE = ("ta014", 1377, 16_114, 13)
LARGE = ("ta028", 2200, 14_523_872, 46)

ONE = [("127.0.0.1", 1)]  # workers for ``gen_cluster``

HUGE = ("ta056", 3679)
"""Not over within any test: 207,683,508,756 nodes."""


def spec_of(instance, ub, *, rule=BranchingRule.MINMIN, **options):
    """A run on the tree {LB < ub} of a benchmark instance."""
    options.setdefault("engine", "cpu")
    options.setdefault("report_interval_s", 0.2)
    options.setdefault("heuristic_threads", 0)  # counts at a fixed UB
    return run_spec(
        run_id=uuid4().hex[:12], problem=FlowShopProblem(taillard_instance(instance)),
        tree=TreeOptions(rule, branching_ub=ub), instance=instance, upper_bound=ub,
        **options,
    )  # fmt: skip


def tiny_spec(seed=0, n_jobs=6, n_machines=3, problem_class=TinyFlowShop, **options):
    """A run on a small random problem that only the reference engine takes."""
    times = np.random.default_rng(seed).integers(1, 20, (n_jobs, n_machines))
    problem = problem_class(tuple(map(tuple, times.tolist())))
    return run_spec(
        run_id=uuid4().hex[:12], problem=problem, tree=TreeOptions(), **options
    )


def explored(checkpoint):
    """Nodes that the newest checkpoint has behind it; 0 if there is none yet."""
    with suppress(DpbbError):
        return load_checkpoint(str(checkpoint)).counters.decomposed
    return 0


def books_hold(certificate):
    """Whether the books of a certificate add up; its witnesses are tested elsewhere."""
    verified = dpbb.verify(certificate, draws=0)
    print(verified.summary())  # noqa: T201
    return {c.name: c.ok for c in verified.checks}["every leaf is closed once"]


def counts(outcome):
    """Decomposed nodes and leaves."""
    return outcome.counters.decomposed, outcome.counters.leaves


def permutations_of(path):
    """Return the lines of a file of optimal permutations; none is there twice."""
    lines = path.read_text().splitlines()
    assert len(set(lines)) == len(lines)
    return set(lines)


def submit(client, spec, **options):
    """A run whose result is its outcome; awaitable if the client is asynchronous."""
    return submit_run(client, spec, **options)


@contextmanager
def local_cluster(n_workers=1, threads=1, *, processes=False, **options):
    """A cluster, of threads of this process alone, and a client; no port of others'."""
    options = {"dashboard_address": "127.0.0.1:0", "processes": processes} | options
    options |= {"n_workers": n_workers, "threads_per_worker": threads}
    with (
        LocalCluster(**options) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        yield cluster, client


@contextmanager
def nannies(environs):
    """A worker process for each environment; yields a client of their cluster."""
    how = {"dashboard": False, "nthreads": 1}
    workers = {
        number: {"cls": Nanny, "options": {"env": environ, **how}}
        for number, environ in enumerate(environs)
    }
    options = {"dashboard": False, "host": "127.0.0.1", "port": 0}
    options["dashboard_address"] = "127.0.0.1:0"
    scheduler = {"cls": Scheduler, "options": options}
    with (
        SpecCluster(workers, scheduler, silence_logs=40) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        client.wait_for_workers(len(workers))
        yield client


def exploring_seats(run):
    """Seats that have reported nodes."""
    return sum(seat.decomposed > 0 for seat in run.snapshot().seats)


def wait_until(condition, timeout=60):
    """Wait until something holds, or fail; what takes long is asked less often."""
    began = time.monotonic()
    while not condition():
        waited = time.monotonic() - began
        assert waited < timeout, "waited in vain"
        time.sleep(min(0.01 + waited / 20, 0.1))


async def until(condition, timeout=60):
    """Wait until something holds, or fail."""
    deadline = time.monotonic() + timeout
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        await asyncio.sleep(0.01)


@contextmanager
def slow_cpu_engine(patch):
    """Sessions in this process mostly sleep: else 14 M nodes take a second or two."""

    def advance(self, ub, max_seconds, advance=CpuSession.advance):
        time.sleep(0.05)
        return advance(self, ub, min(max_seconds, 0.005))

    with patch.context() as slow:
        slow.setattr(CpuSession, "advance", advance)
        yield


def in_task():
    """Whether this is a task on a Dask worker."""
    try:
        get_worker()
    except ValueError:
        return False
    return True


@dataclass(frozen=True)
class SlowFlowShop(TinyFlowShop):
    """A problem whose exploration takes time."""

    def child_bounds(self, state, jobs, *, back):
        if in_task():
            time.sleep(0.005)
        return super().child_bounds(state, jobs, back=back)


@dataclass(frozen=True)
class BrokenFlowShop(TinyFlowShop):
    """A problem that cannot be explored."""

    def child_bounds(self, state, jobs, *, back):
        if in_task():
            raise ArithmeticError("the bound is broken")
        return super().child_bounds(state, jobs, back=back)
