"""Heuristics while the tree is explored, on workers that share this process."""

import threading

import pytest

from dpbb.cluster.scheduler.forecasts import Estimate
from dpbb.engines.cpu.session import BY_TURNS, CpuSession
from dpbb.estimation.background import Remainder
from dpbb.result import TREE, Termination
from tests.cluster.support import (
    HUGE,
    LARGE,
    counts,
    local_cluster,
    slow_cpu_engine,
    spec_of,
    submit,
    wait_until,
)
from tests.specs import changed

pytestmark = pytest.mark.cluster

START = tuple(range(50))
"""A poor schedule of ta056: the tree needs long for what a heuristic finds at once."""


def searching():
    """Threads that improve schedules."""
    return [one for one in threading.enumerate() if one.name == "dpbb-heuristics"]


def plugins(cluster):
    return [worker.extensions["dpbb"] for worker in cluster.workers.values()]


def from_a_poor_start(**options):
    spec = spec_of(HUGE[0], 10_000, heuristic_threads=1, **options)
    return changed(spec, permutation=START, upper_bound=None)


def test_improvements_reach_all_seats_and_the_result_names_the_method():
    with (
        local_cluster(2) as (cluster, client),
        submit(client, from_a_poor_start()) as run,
    ):
        found = []

        def by_heuristic():
            found[:] = [
                step
                for step in run.snapshot().trajectory
                if step.method not in ("start", TREE)
            ]
            return found and found[-1].value < 3900

        wait_until(by_heuristic, 100)  # one may be compiled first
        places = {step.source.partition(", ")[2] for step in found}
        assert places <= {worker.address for worker in cluster.workers.values()}

        def all_know():
            ubs = [
                link.control.ub
                for plugin in plugins(cluster)
                for link in plugin._links.values()
            ]
            return len(ubs) == 2 and all(ub and ub <= found[-1].value for ub in ubs)

        wait_until(all_know)
        wait_until(
            lambda: (
                len(
                    {
                        plugin._heuristics[run.run_id]._best.value
                        for plugin in plugins(cluster)
                    }
                )
                == 1
            )
        )
        assert any(event.kind == "heuristics" for event in run.snapshot().events)
        run.stop()
        wait_until(lambda: not searching())
        outcome = run.result()
    assert outcome.termination is Termination.STOPPED
    assert {step.source for step in found} <= {s.source for s in outcome.trajectory}
    assert outcome.value <= found[-1].value
    assert outcome.permutation != START


def test_a_changed_split_keeps_counts(monkeypatch):
    """To one explorer and back, in the middle of a tree of known size."""
    threads = []

    def use_threads(self, wanted, use_threads=CpuSession.use_threads):
        use_threads(self, wanted)
        threads.append(len(self._explorers) // BY_TURNS)

    monkeypatch.setattr(CpuSession, "use_threads", use_threads)
    instance, ub, *golden = LARGE
    with local_cluster(threads=2) as (cluster, client):
        spec = spec_of(instance, ub, heuristic_threads=None)
        with slow_cpu_engine(monkeypatch):
            run = submit(client, spec)
            wait_until(lambda: threads[-1:] == [2])
            opened = cluster.scheduler.extensions["dpbb"].hub.runs[spec.run_id]
            for nodes, expected in ((1e30, 1), (1e9, 2), (1e30, 1)):
                wait_until(lambda: opened.coordinator.snapshot(0.0).decomposed)
                left = Remainder(nodes, nodes, nodes, ())
                opened.outlook.latest = Estimate(0.0, 0, ub, left)
                opened.outlook.count += 1
                wait_until(lambda expected=expected: threads[-1] == expected)
            assert len(searching()) == 1
        outcome = run.result()
        run.close()
    assert counts(outcome) == tuple(golden)
    wait_until(lambda: not searching())
