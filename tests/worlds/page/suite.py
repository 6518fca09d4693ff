"""What a run loses while its page is open in browsers.

The same tree again and again on a LocalCluster, in pairs: once with no page open, once
with several, in turns which comes first. Browsers have a core of their own; scheduler
and workers share the others, so that what the page costs the scheduler is taken from
the workers, as it is where a machine has no core to spare. A loss is that of a pair:
what else runs on the machine changes slower than that. Beside it stand processor
times, which others' work blurs less: what the process of the scheduler takes of a core,
how many nodes the workers explore in a processor second, and the loss that follows from
both. Pages are open before a run begins, and one without them begins when the scheduler
has forgotten the last: what their coming and going costs once is said by itself. The
exit code is 1 when a count is wrong.
"""

from __future__ import annotations

import contextlib
import os
import statistics
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil

from dpbb.bench.common import Machine
from dpbb.bench.cpu import TREES, Tree
from dpbb.bench.dask import submit_tree
from dpbb.cluster.client.run import page_address
from dpbb.cluster.scheduler.page import PAGE
from dpbb.errors import OptionError
from dpbb.text.json_text import json_text
from tests.worlds.page.browsers import Browsers

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Sequence

    from distributed import Client

IDLE_S = 5.0
"""Time in which it is seen what an idle scheduler takes."""

POLL_S = 0.2


@dataclass(frozen=True, slots=True)
class Done:
    """One exploration of the tree.

    ``scheduler`` and ``workers`` are processor seconds of their processes; ``frames``
    counts the messages that the pages got; ``once`` is what it cost the scheduler that
    they came and went, in processor seconds beyond those of its idling.
    """

    pages: int
    counts: tuple[int, int]
    seconds: float
    scheduler: float
    workers: float
    frames: int
    once: float = 0.0

    @property
    def rate(self) -> float:
        """Nodes a second."""
        return sum(self.counts) / self.seconds

    @property
    def share(self) -> float:
        """What the process of the scheduler takes of a core."""
        return self.scheduler / self.seconds

    @property
    def work(self) -> float:
        """Nodes a processor second of the workers."""
        return sum(self.counts) / self.workers


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the suite's arguments."""
    parser.add_argument("--tree", default="ta021-long", choices=sorted(TREES))
    parser.add_argument("--pages", type=int, default=2, help="browsers, a page each")
    parser.add_argument("--repeat", type=int, default=3, help="pairs of runs")
    parser.add_argument("--workers", type=int, default=1, help="of one thread each")
    parser.add_argument("--json", type=Path, default=None, help="also write this file")


def run(args: argparse.Namespace) -> int:
    """Run the suite; returns 0 if all counts are right."""
    for name in ("pages", "repeat", "workers"):
        if (value := getattr(args, name)) < 1:
            raise OptionError(f"--{name}: expected at least 1, got {value}")
    tree, machine = TREES[args.tree], Machine.this()
    with split_cores() as (cores, browser_core):
        print(
            f"{machine.processor}, load {machine.load:.1f}; {tree.instance}, tree "
            f"{{LB < {tree.ub}}}, {args.workers} workers x 1 and the scheduler on "
            f"cores {cores}, {args.pages} browsers on {browser_core}"
        )
        pairs = measure(tree, args.workers, args.pages, args.repeat, browser_core)
    report(pairs, len(cores))
    done = [one for pair in pairs for one in pair]
    counts = {one.counts for one in done}
    print(
        f"decomposed, leaves: {sorted(counts)}; load at the end "
        f"{os.getloadavg()[0]:.1f}"
    )
    if args.json is not None:
        record = {"machine": asdict(machine), "runs": [asdict(one) for one in done]}
        args.json.write_text(json_text(record))
    return int(counts != {(tree.decomposed, tree.leaves)})


@contextlib.contextmanager
def split_cores() -> Iterator[tuple[list[int], int | None]]:
    """Bind this process, and what it starts, to all cores but one, for browsers.

    Yields
    ------
    list of int, int or None
        The cores of the run; that of the browsers, None if there is only one core or
        no way to bind.
    """
    if not hasattr(os, "sched_setaffinity"):
        yield list(range(os.cpu_count() or 1)), None
        return
    before = sorted(os.sched_getaffinity(0))
    *cores, browser_core = before
    if not cores:
        yield before, None
        return
    # of every thread that is there; later ones inherit it
    for thread in psutil.Process().threads():
        os.sched_setaffinity(thread.id, cores)
    try:
        yield cores, browser_core
    finally:
        for thread in psutil.Process().threads():
            with contextlib.suppress(ProcessLookupError):
                os.sched_setaffinity(thread.id, before)


def report(pairs: Sequence[tuple[Done, Done]], n_cores: int) -> None:
    """Print medians with their spread; the first of each pair is without pages."""
    print(
        "pages   M nodes/s    least     most   scheduler   M nodes/worker s   frames/s"
    )
    for group in zip(*pairs, strict=True):
        rates = [one.rate / 1e6 for one in group]
        share = statistics.median(one.share for one in group)
        work = statistics.median(one.work / 1e6 for one in group)
        frames = statistics.median(one.frames / one.seconds for one in group)
        print(
            f"{group[0].pages:>5}{statistics.median(rates):>12.2f}{min(rates):>9.2f}"
            f"{max(rates):>9.2f}{share:>11.1%}{work:>19.2f}{frames:>11.1f}"
        )
    losses = [1 - with_.rate / without.rate for without, with_ in pairs]
    taken = [
        1 - (1 - (with_.share - without.share) / n_cores) * with_.work / without.work
        for without, with_ in pairs
    ]
    extra = [with_.share - without.share for without, with_ in pairs]
    print(
        f"loss of speed, pair by pair: median {statistics.median(losses):.2%}, from "
        f"{min(losses):.2%} to {max(losses):.2%}"
    )
    print(
        f"the pages cost the scheduler {statistics.median(extra):.2%} of a core more "
        f"({min(extra):.2%} to {max(extra):.2%}), that is "
        f"{statistics.median(extra) / n_cores:.2%} of the run's {n_cores} cores"
    )
    once = [with_.once / with_.pages for _, with_ in pairs]
    print(
        f"to open and leave a page cost the scheduler {statistics.median(once):.2f} "
        f"processor seconds once ({min(once):.2f} to {max(once):.2f})"
    )
    print(
        f"loss by processor times, the workers' slower nodes included: median "
        f"{statistics.median(taken):.2%}, from {min(taken):.2%} to {max(taken):.2%}"
    )


def measure(
    tree: Tree, workers: int, n_pages: int, repeat: int, browser_core: int | None
) -> list[tuple[Done, Done]]:
    """Explore the tree in pairs of runs: without pages, and with them."""
    from distributed import Client, LocalCluster

    pairs = []
    with (
        Browsers(n_pages, browser_core) as browsers,
        LocalCluster(
            n_workers=workers, threads_per_worker=1, dashboard_address="127.0.0.1:0"
        ) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        client.wait_for_workers(workers)
        pids = [info["pid"] for info in client.run(_process).values()]
        processes = [psutil.Process(pid) for pid in pids]
        address = page_address(client.dashboard_link)
        _explore(client, tree, processes)  # warm; and the page is there
        idle = Meter()
        time.sleep(IDLE_S)
        idle_share = idle.cpu_s / idle.seconds
        for number in range(repeat):
            done = {}
            for with_pages in (False, True) if number % 2 == 0 else (True, False):
                coming = Meter()
                if with_pages:
                    browsers.open(address)
                once = coming.cpu_s - idle_share * coming.seconds
                counts, seconds, own, theirs = _explore(client, tree, processes)
                going = Meter()
                frames = browsers.close() if with_pages else 0
                while _open_pages(cluster.scheduler):
                    time.sleep(POLL_S)
                once += going.cpu_s - idle_share * going.seconds
                done[with_pages] = Done(
                    n_pages * with_pages, counts, seconds, own, theirs, frames,
                    once * with_pages,
                )  # fmt: skip
            pairs.append((done[False], done[True]))
            rates = " and ".join(f"{done[pages].rate / 1e6:.2f}" for pages in done)
            first = "with" if number % 2 else "without"
            print(f"{rates} M nodes/s, {first} pages first", flush=True)
    return pairs


class Meter:
    """Seconds, and processor seconds of this process, since it was made."""

    def __init__(self) -> None:
        self._began = time.monotonic(), time.process_time()

    @property
    def seconds(self) -> float:
        """Seconds by the clock."""
        return time.monotonic() - self._began[0]

    @property
    def cpu_s(self) -> float:
        """Processor seconds."""
        return time.process_time() - self._began[1]


def _open_pages(scheduler: Any) -> int:
    """Documents of the page that the scheduler holds; some after they were left."""
    found = scheduler.http_application.applications
    ours = [one for one in found if f"/{PAGE}" in getattr(one, "app_paths", ())]
    return sum(len(one.get_sessions(f"/{PAGE}")) for one in ours)


def _process() -> dict[str, int]:
    return {"pid": os.getpid()}


def _explore(
    client: Client, tree: Tree, workers: Sequence[psutil.Process]
) -> tuple[tuple[int, int], float, float, float]:
    """Run the tree; counts, seconds, processor seconds of scheduler and of workers."""
    own, before = Meter(), sum(map(_cpu_s, workers))
    with submit_tree(client, tree.instance, tree.ub) as opened:
        outcome = opened.result()
        theirs = sum(map(_cpu_s, workers)) - before
        counts = outcome.counters.decomposed, outcome.counters.leaves
        return counts, outcome.totals.seconds, own.cpu_s, theirs


def _cpu_s(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)
