"""How long a freed seat waits for its next unit, as the scheduler sees it.

A seat is freed by the last report of its unit and is at work again when it leases the
next one, or gets it with the answer; all are seen by the hub, in this process, on one
clock. Only seats that get another unit of the same run count: at its end there is none.
The exit code is 1 when a count is wrong.
"""

import argparse
import statistics
import time
from pathlib import Path
from typing import Any

from distributed import Client

from dpbb.bench.common import Machine, check_counts, write_json
from dpbb.bench.cpu import TREES, Tree
from dpbb.bench.dask import submit_tree
from dpbb.coordination.ledger import Checked, CheckedGift
from dpbb.coordination.messages import (
    Lease,
    LeaseId,
    Order,
    Report,
    RunId,
    SeatId,
    UnitId,
)


class Watch:
    """Notes when seats of a hub are freed and when they lease again.

    Attributes
    ----------
    gaps
        Seconds between the two, in the order of the leases.
    with_answer
        How many came with the answer to the last report.
    """

    def __init__(self, hub: Any) -> None:
        self.gaps: list[float] = []
        self.with_answer = 0
        self._hub = hub
        self._freed: dict[SeatId, float] = {}
        self._report, self._lease = hub.on_report, hub.lease
        hub.on_report, hub.lease = self._on_report, self._on_lease
        shell = hub._shell
        self._answer = shell.answer
        shell.answer = self._on_answer

    def forget(self) -> None:
        """Begin anew, with another run."""
        self.gaps, self.with_answer = [], 0
        self._freed.clear()

    def _on_report(
        self, run_id: RunId, report: Report, checked: Checked | CheckedGift | None
    ) -> Order:
        run = self._hub.runs.get(run_id)
        seat = None if run is None else run.lease_seats.get(report.lease)
        if seat is not None and report.full is not None and report.full.last:
            self._freed[seat] = time.perf_counter()
        order: Order = self._report(run_id, report, checked)
        if seat is not None and order.next is not None:
            self._went_on(seat)
        return order

    def _on_answer(self, run_id: RunId, lease: LeaseId, order: Order) -> None:
        """Note an answer that was held back until there was a unit."""
        self._answer(run_id, lease, order)
        if order.next is not None:
            self._went_on(self._hub.runs[run_id].lease_seats[order.next.id])

    def _went_on(self, seat: SeatId) -> None:
        freed = self._freed.pop(seat, None)
        if freed is not None:
            self.gaps.append(time.perf_counter() - freed)
            self.with_answer += 1

    def _on_lease(
        self, run_id: RunId, unit: UnitId, attempt: int, seat: SeatId
    ) -> Lease:
        lease: Lease = self._lease(run_id, unit, attempt, seat)
        freed = self._freed.pop(seat, None)
        if freed is not None:
            self.gaps.append(time.perf_counter() - freed)
        return lease


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the suite's arguments."""
    parser.add_argument("--tree", default="ta022-long", choices=sorted(TREES))
    parser.add_argument("--workers", type=int, default=4, help="of one thread each")
    parser.add_argument("--repeat", type=int, default=5, help="runs")
    parser.add_argument("--json", type=Path, default=None, help="also write this file")


def run(args: argparse.Namespace) -> int:
    """Run the suite; returns 0 if all counts are right."""
    check_counts(args, "workers", "repeat")
    tree = TREES[args.tree]
    machine = Machine.this()
    print(
        f"{machine}; "
        f"{tree.instance}, tree {{LB < {tree.ub}}}, {args.workers} workers x 1"
    )
    gaps, with_answer, counts = measure(tree, args.workers, args.repeat)
    if len(gaps) > 1:
        parts = statistics.quantiles(gaps, n=10)
        print(
            f"{len(gaps)} hand-overs in {args.repeat} runs: median "
            f"{statistics.median(gaps) * 1e3:.1f} ms, 90 % below "
            f"{parts[-1] * 1e3:.1f} ms, longest {max(gaps) * 1e3:.1f} ms; "
            f"{with_answer} with the answer to the last report"
        )
    else:
        print("too few hand-overs to say anything")
    print(f"decomposed, leaves: {sorted(counts)}")
    record = {"machine": machine, "tree": args.tree, "gaps_s": gaps}
    write_json(args.json, record)
    return int(counts != {(tree.decomposed, tree.leaves)})


def measure(
    tree: Tree, workers: int, repeat: int
) -> tuple[list[float], int, set[tuple[int, int]]]:
    """Explore the tree on a cluster of processes.

    Returns
    -------
    list of float, int, set of (int, int)
        Seconds of every hand-over; how many were answers to a last report; decomposed
        nodes and leaves of every run.
    """
    from distributed import Client, LocalCluster

    gaps: list[float] = []
    with_answer = 0
    counts = set()
    with (
        LocalCluster(
            n_workers=workers, threads_per_worker=1, dashboard_address="127.0.0.1:0"
        ) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        client.wait_for_workers(workers)
        _explore(client, tree)  # warm
        watch = Watch(cluster.scheduler.extensions["dpbb"].hub)
        for _ in range(repeat):
            watch.forget()
            counts.add(_explore(client, tree))
            gaps += watch.gaps
            with_answer += watch.with_answer
    return gaps, with_answer, counts


def _explore(client: Client, tree: Tree) -> tuple[int, int]:
    with submit_tree(client, tree.instance, tree.ub) as opened:
        outcome = opened.result()
    return outcome.counters.decomposed, outcome.counters.leaves
