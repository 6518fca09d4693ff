"""Costs of job-shop schedules: the founding paper's table, and batches of solutions.

The table: one solution of every instance by all pairs of longest paths, with the
paper's kernel, in tiles with DPX instructions and by repeated squaring on the GPU; and
on one CPU core by the same O(o^3) algorithm and by the O(o) sweep. (The paper's CPU
times can only be those of O(o^3), though its text speaks of O(o); its OpenCL column is
not reproduced.) Batches: scheduled operations a second, with the solutions on the
device, with their transfers, and on the CPU. Every cost is compared with another
evaluator's; the exit code is 1 when one is wrong or a part failed. Sets of Lawrence's
instances need ``--data``. Also runnable as ``python -m dpbb.bench.jobshop``.
"""

from __future__ import annotations

import argparse
import csv
import math
import os
import statistics
import time
import traceback
from dataclasses import asdict, dataclass, field, fields
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dpbb.errors import DpbbError, InstanceError, OptionError
from dpbb.jobshop import Criterion, Encoding, Method, generate, load
from dpbb.jobshop.cpu_batch import costs as cpu_costs
from dpbb.jobshop.cpu_batch import random_sequences
from dpbb.jobshop.cpu_paths import closure
from dpbb.jobshop.graph import Graph
from dpbb.jobshop.longest_paths import arcs_matrix
from dpbb.jobshop.solution import orders_of_sequence
from dpbb.text.json_text import json_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from dpbb.jobshop.instance import JobShopInstance

PAPER = {225: 8.258, 300: 12.640, 400: 16.062, 450: 19.855, 600: 22.895} | {
    750: 27.054,
    1000: 25.997,
}
"""Speed-ups of the paper's CUDA version on a GTX 480, by operations (ta01 to ta70)."""

SETS = {
    **{"la01-05": (5, 50), "la06-10": (5, 75), "la11-15": (5, 100)},
    **{"la16-20": (5, 100), "la21-25": (5, 150), "la26-30": (5, 200)},
    **{"la31-35": (5, 300), "la36-40": (5, 225)},
    **{"ta01-10": (10, 225), "ta11-20": (10, 300), "ta21-30": (10, 400)},
    **{"ta31-40": (10, 450), "ta41-50": (10, 600), "ta51-60": (10, 750)},
    **{"ta61-70": (10, 1000), "ta71-80": (10, 2000)},
}
"""Sets of the table: how many instances each has, and of how many operations."""

ONCE = 2e8
"""Steps of the O(o^3) algorithm from which it is timed once for each instance."""

SWEEPS = 400
"""Sweeps that are timed together: one takes microseconds."""

PARTS = ("table", "batch", "cpu")
BATCHES = {"10x10": 2**20, "15x15": 2**20, "20x20": 2**20, "100x20": 2**17}
"""Solutions of a batch for each size."""

GPU_METHODS = {
    Method.FLOYD_WARSHALL: "gpu_paper",
    Method.BLOCKED: "gpu_blocked",
    Method.SQUARING: "gpu_squaring",
}
OTHER_WARPS = (1, 2, 8)
"""Sizes of blocks that are tried beside the evaluator's own."""

DISTINCT = 512
"""Different machine orders of a batch, which are repeated: they take Python long."""


@dataclass(slots=True)
class TableRow:
    """Mean over the instances of a set of their median times, in milliseconds.

    Parameters
    ----------
    cpu_cubic_ms, cpu_sweep_ms
        One core: O(o^3), compiled (the compiler makes vectors of its inner loop); and
        the O(o) sweep over machine orders, the same ones again and again.
    gpu_*_ms
        The matrix is on the device, all launches in one CUDA graph.
    gpu_*_with_ms
        With the whole matrix there and back, as in the paper.
    exact
        Whether all ends are those of the sweep.
    """

    name: str
    operations: int
    instances: int
    cpu_cubic_ms: float
    cpu_sweep_ms: float
    gpu_paper_ms: float | None = None
    gpu_paper_with_ms: float | None = None
    gpu_blocked_ms: float | None = None
    gpu_blocked_with_ms: float | None = None
    gpu_squaring_ms: float | None = None
    gpu_squaring_with_ms: float | None = None
    paper_speedup: float | None = None
    exact: bool = True
    graph: bool | None = None


@dataclass(slots=True)
class Rate:
    """Scheduled operations a second of one way to evaluate a batch.

    Parameters
    ----------
    least, median, most
        Of all repetitions.
    exact
        Whether the first costs are those of the CPU (or, there, of the sweep).
    """

    size: str
    how: str
    solutions: int
    least: float
    median: float
    most: float
    exact: bool


@dataclass(slots=True)
class Report:
    """Everything that was measured; written again after every part."""

    device: str = ""
    host: str = ""
    table: list[TableRow] = field(default_factory=list)
    rates: list[Rate] = field(default_factory=list)
    findings: list[str] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the suite's arguments."""
    parser.add_argument(
        "--parts", nargs="+", choices=PARTS, default=list(PARTS), help="what to measure"
    )
    parser.add_argument(
        "--sets", nargs="+", choices=SETS, default=list(SETS), help="rows of the table"
    )
    parser.add_argument(
        "--sizes", nargs="+", choices=BATCHES, default=list(BATCHES), help="of batches"
    )
    parser.add_argument(
        "--solutions", type=int, default=None, help="of a batch (default: by its size)"
    )
    parser.add_argument("--repeat", type=int, default=5, help="runs; medians are shown")
    parser.add_argument(
        "--budget-s",
        type=float,
        default=270.0,
        help="no further set or size is begun after so long; what is left out is told",
    )
    parser.add_argument("--data", metavar="FOLDER", help="benchmark files: la01 ...")
    parser.add_argument(
        "--json", type=Path, help="also write everything into this file"
    )
    parser.add_argument("--csv", type=Path, help="also write the table into this file")
    parser.add_argument(
        "--plot", type=Path, help="also draw the table: .png, .svg, .pdf"
    )


def run(args: argparse.Namespace) -> int:
    """Run the suite; returns 0 unless a cost is wrong or a part failed."""
    if args.repeat < 1:
        raise OptionError(f"--repeat: expected at least 1, got {args.repeat}")
    bench = Bench(args, Report(host=_host()))
    for name, part in (
        ("device", bench.find_device),
        ("batch", bench.measure_batches),
        ("cpu", bench.measure_cpu),
        ("table", bench.measure_table),
    ):
        if name in args.parts or name == "device":
            bench.guarded(name, part)
            bench.write()
    for finding in bench.report.findings:
        print(finding)
    wrong = [f"{row}" for row in bench.report.table if not row.exact]
    wrong += [f"{row}" for row in bench.report.rates if not row.exact]
    for one in wrong:
        print(f"WRONG: {one}")
    return int(bool(wrong or bench.report.failures))


def _host() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        name = next(line.split(":")[1] for line in lines if "model name" in line)
    except (OSError, StopIteration, IndexError):
        name = "unknown"
    return f"{name.strip()}, {len(os.sched_getaffinity(0))} cores"


class Bench:
    """The parts, and what they have found; a part that fails loses no other one."""

    def __init__(self, args: argparse.Namespace, report: Report) -> None:
        self.args, self.report = args, report
        self._began = time.perf_counter()
        self._cupy: Any = None

    def guarded(self, name: str, work: Callable[[], None]) -> bool:
        """Do a part of the work; whether it ended well."""
        try:
            work()
        except Exception as error:  # noqa: BLE001 (the other parts go on)
            print(f"FAILED: {name}: {error!r}", flush=True)
            traceback.print_exc()
            self.report.failures.append(f"{name}: {error!r}")
            return False
        return True

    def _has_time(self, what: str) -> bool:
        if time.perf_counter() - self._began < self.args.budget_s:
            return True
        print(f"left out, the time is over: {what}", flush=True)
        self.report.findings.append(f"left out: {what}")
        return False

    def write(self) -> None:
        """Write the files as far as there is something to write."""
        if self.args.json is not None:
            self.args.json.write_text(json_text(asdict(self.report), indent=1))
        if self.args.csv is not None and self.report.table:
            with self.args.csv.open("w", newline="") as file:
                names = [one.name for one in fields(TableRow)]
                writer = csv.DictWriter(file, names, lineterminator="\n")
                writer.writeheader()
                writer.writerows(asdict(row) for row in self.report.table)
        if self.args.plot is not None and self.report.table:
            self.guarded("plot", self._draw)

    def _draw(self) -> None:
        from dpbb.bench.jobshop_plot import draw_table

        draw_table(self.report.table, self.report.device, self.args.plot)

    def find_device(self) -> None:
        """Find a GPU; without one its columns stay empty."""
        from dpbb.jobshop.gpu_batch import require_gpu

        print(f"host: {self.report.host}")
        try:
            self._cupy = require_gpu()
        except DpbbError as error:
            print(f"no GPU to measure: {error}", flush=True)
            self.report.findings.append(f"no GPU: {error}")
            return
        name = self._cupy.cuda.runtime.getDeviceProperties(0)["name"].decode()
        print(f"device: {name}", flush=True)
        self.report.device = name

    # -- batches ---------------------------------------------------------------

    def measure_batches(self) -> None:
        """Measure the throughput of the GPU."""
        if self._cupy is None:
            return
        print(RATE_HEADER)
        for size in self.args.sizes:
            if self._has_time(f"batches of {size}"):
                self.guarded(f"batches of {size}", partial(self._batch, size))

    def _batch(self, size: str) -> None:
        from dpbb.jobshop.gpu_batch import GpuBatch

        cupy = self._cupy
        shop = _shop_of(size)
        n_solutions = self.args.solutions or BATCHES[size]
        host = random_sequences(shop, n_solutions, seed=1)
        first = host[:1000]
        for criterion in (Criterion.MAKESPAN, Criterion.SUM_COMPLETION):
            expected = cpu_costs(shop, first, Encoding.SEQUENCE, criterion)
            batch = GpuBatch(shop, criterion)
            there = cupy.asarray(host)
            result = cupy.empty((n_solutions,), np.int64)

            seconds = self._device_seconds(partial(batch.sequences, there, result))
            exact = result.get()[: len(first)].tolist() == expected.tolist()
            name = "" if criterion is Criterion.MAKESPAN else f", {criterion}"
            how = f"gpu, sequences resident (uint8){name}"
            self._rate(size, how, shop, n_solutions, seconds, exact)
            if criterion is not Criterion.MAKESPAN:
                continue
            wide = cupy.asarray(host[: n_solutions // 2].astype(np.int16))
            seconds = self._device_seconds(partial(batch.sequences, wide))
            found = batch.sequences(wide).get()[: len(first)].tolist()
            half = n_solutions // 2
            how = "gpu, sequences resident (int16)"
            self._rate(
                size, how, shop, half, seconds, found == expected.tolist()[:half]
            )
            del wide
            self._transfers(size, shop, host, batch, there, expected)
            for warps in OTHER_WARPS:
                other = GpuBatch(shop, criterion, warps=warps)
                seconds = self._device_seconds(partial(other.sequences, there, result))
                exact = result.get()[: len(first)].tolist() == expected.tolist()
                how = f"gpu, sequences resident (uint8), {warps} warps a block"
                self._rate(size, how, shop, n_solutions, seconds, exact)
            del there, result
        self._machine_orders(size, shop, host, n_solutions)

    def _transfers(
        self,
        size: str,
        shop: JobShopInstance,
        host: NDArray[Any],
        batch: Any,  # noqa: ANN401
        there: Any,  # noqa: ANN401
        expected: NDArray[np.int64],
    ) -> None:
        """Time solutions that come from the host and costs that go back."""
        import cupyx

        pinned = cupyx.empty_pinned(host.shape, host.dtype)
        pinned[...] = host
        for name, source in (("pageable", host), ("pinned", pinned)):
            seconds = []
            for _ in range(self.args.repeat + 1):
                began = time.perf_counter()
                there.set(source)
                costs = batch.sequences(there).get()
                seconds.append(time.perf_counter() - began)
            exact = costs[: len(expected)].tolist() == expected.tolist()
            how = f"gpu, sequences with transfers ({name})"
            self._rate(size, how, shop, len(host), seconds[1:], exact)

    def _machine_orders(
        self, size: str, shop: JobShopInstance, host: NDArray[Any], n_solutions: int
    ) -> None:
        from dpbb.jobshop.gpu_batch import GpuBatch

        distinct = [
            orders_of_sequence(shop, one.astype(int)) for one in host[:DISTINCT]
        ]
        some = np.array(distinct, np.int16)
        expected = cpu_costs(
            shop, some, Encoding.MACHINE_ORDERS, Criterion.MAKESPAN
        ).tolist()
        copies = max(1, n_solutions // 4 // len(some))
        batch = GpuBatch(shop, Criterion.MAKESPAN)
        there = self._cupy.tile(self._cupy.asarray(some), (copies, 1, 1))
        seconds = self._device_seconds(lambda: batch.orders(there))
        found = batch.orders(there).get()[: len(some)].tolist()
        how = "gpu, machine orders resident"
        self._rate(size, how, shop, len(there), seconds, found == expected)

    def _device_seconds(self, work: Callable[[], Any]) -> list[float]:
        """Seconds of ``work`` on the device: medians need several short runs."""
        cupy = self._cupy
        work()
        cupy.cuda.Device().synchronize()
        began = time.perf_counter()
        work()
        cupy.cuda.Device().synchronize()
        each = max(1, min(20, int(0.02 / max(1e-6, time.perf_counter() - began))))
        seconds = []
        for _ in range(self.args.repeat):
            begin, end = cupy.cuda.Event(), cupy.cuda.Event()
            begin.record()
            for _ in range(each):
                work()
            end.record()
            end.synchronize()
            elapsed_ms = cupy.cuda.get_elapsed_time(begin, end)
            seconds.append(elapsed_ms / 1000 / each)
        return seconds

    def _rate(
        self,
        size: str,
        how: str,
        shop: JobShopInstance,
        n_solutions: int,
        seconds: list[float],
        exact: bool,
    ) -> None:
        rates = [n_solutions * shop.n_operations / one for one in seconds]
        row = Rate(
            *(size, how, n_solutions, min(rates), statistics.median(rates), max(rates)),
            exact,
        )
        self.report.rates.append(row)
        print(
            f"{size:<8}{how:<52}{n_solutions:>9}{row.median:>12.3e}{row.least:>12.3e}"
            f"{row.most:>12.3e}{'yes' if exact else 'NO':>7}",
            flush=True,
        )

    def measure_cpu(self) -> None:
        """Measure the throughput of the CPU, and what the GPU is worth in its cores."""
        print(RATE_HEADER)
        cores = len(os.sched_getaffinity(0))
        for size in self.args.sizes:
            if not self._has_time(f"CPU, {size}"):
                continue
            shop = _shop_of(size)
            count = min(self.args.solutions or 10**9, 20_000_000 // shop.n_operations)
            sequences = random_sequences(shop, count, seed=2)
            ends = Graph.of(shop, sequences[0]).heads() + shop.times
            orders = np.array(
                [orders_of_sequence(shop, one.astype(int)) for one in sequences[:64]],
                np.int16,
            )
            orders = np.tile(orders, (max(1, count // 256), 1, 1))
            for encoding, given in (
                (Encoding.SEQUENCE, sequences),
                (Encoding.MACHINE_ORDERS, orders),
            ):
                for threads in sorted({1, min(2, cores), cores}):
                    seconds = []
                    for _ in range(self.args.repeat + 1):
                        began = time.perf_counter()
                        costs = cpu_costs(
                            shop, given, encoding, Criterion.MAKESPAN, threads
                        )
                        seconds.append(time.perf_counter() - began)
                    how = f"cpu, {encoding}, {threads} thread(s)"
                    exact = int(costs[0]) == int(ends.max())
                    self._rate(size, how, shop, len(given), seconds[1:], exact)
        self._compare_rates()

    def _compare_rates(self) -> None:
        found = {(row.size, row.how): row.median for row in self.report.rates}
        for size in self.args.sizes:
            gpu = found.get((size, "gpu, sequences resident (uint8)"))
            core = found.get((size, "cpu, sequence, 1 thread(s)"))
            if gpu and core:
                self.report.findings.append(
                    f"{size}: the GPU is worth {gpu / core:,.0f} cores of this host "
                    f"({gpu:.3g} and {core:.3g} operations a second)"
                )

    # -- the table -------------------------------------------------------------

    def measure_table(self) -> None:
        """Measure one solution by all methods."""
        print(TABLE_HEADER)
        for name in sorted(self.args.sets, key=_first_operations):
            if self._has_time(f"set {name}"):
                self.guarded(f"set {name}", partial(self._set, name))
        self._name_crossovers()

    def _set(self, name: str) -> None:
        try:
            shops = [load(one, data_dir=self.args.data) for one in _members(name)]
        except InstanceError as error:
            print(f"{name}: left out: {error}", flush=True)
            self.report.findings.append(f"{name}: left out: {error}")
            return
        rows = []
        for number, shop in enumerate(shops):
            if number and not self._has_time(f"{name} from {shop.name} on"):
                break
            rows.append(self._instance(name, shop))
        values: dict[str, Any] = {}
        for one in fields(TableRow):
            if one.name.endswith("_ms"):
                known = [getattr(row, one.name) for row in rows]
                known = [value for value in known if value is not None]
                values[one.name] = statistics.mean(known) if known else None
        graphs = {row.graph for row in rows}
        row = TableRow(
            name,
            shops[0].n_operations,
            len(rows),
            **values,
            paper_speedup=PAPER.get(shops[0].n_operations)
            if name.startswith("ta")
            else None,
            exact=all(row.exact for row in rows),
            graph=graphs.pop() if len(graphs) == 1 else None,
        )
        self.report.table.append(row)
        print(_table_line(row), flush=True)
        self.write()

    def _instance(self, name: str, shop: JobShopInstance) -> TableRow:
        sequence = random_sequences(shop, 1, seed=3)[0]
        graph = Graph.of(shop, sequence)
        matrix = arcs_matrix(graph)
        ends = (graph.heads() + shop.times).tolist()
        orders = np.repeat(graph.orders[None].astype(np.int16), SWEEPS, axis=0)
        sweeps, cubic = [], []
        for _ in range(self.args.repeat + 1):
            began = time.perf_counter()
            cpu_costs(shop, orders, Encoding.MACHINE_ORDERS, Criterion.MAKESPAN, 1)
            sweeps.append((time.perf_counter() - began) / SWEEPS)
        once = len(matrix) ** 3 >= ONCE
        closure(matrix[:2, :2], Method.FLOYD_WARSHALL)  # compiled
        for _ in range(1 if once else self.args.repeat):
            began = time.perf_counter()
            paths = closure(matrix, Method.FLOYD_WARSHALL)
            cubic.append(time.perf_counter() - began)
        row = TableRow(
            *(name, shop.n_operations, 1),
            cpu_cubic_ms=1000 * statistics.median(cubic),
            cpu_sweep_ms=1000 * statistics.median(sweeps[1:]),
            exact=paths[0, 1:].tolist() == ends,
        )
        if self._cupy is not None:
            for method, arm in GPU_METHODS.items():
                device_s, with_s, found, graphed = self._gpu_paths(
                    matrix, method, max(ends)
                )
                setattr(row, f"{arm}_ms", 1000 * device_s)
                setattr(row, f"{arm}_with_ms", 1000 * with_s)
                row.exact &= bool((found == paths).all())
                row.graph = graphed
        return row

    def _gpu_paths(
        self, matrix: NDArray[np.int32], method: Method, longest: int
    ) -> tuple[float, float, NDArray[np.int32], bool]:
        """Median seconds on the device and with transfers, paths, whether a graph."""
        from dpbb.jobshop.gpu_paths import GpuPaths

        cupy = self._cupy
        paths = GpuPaths(len(matrix), method, longest=longest)
        original = cupy.asarray(matrix)
        paths.matrix = cupy.asarray(matrix.copy())
        paths.run()  # compiles
        cupy.cuda.Device().synchronize()
        stream = cupy.cuda.Stream(non_blocking=True)
        launch, graphed = paths.run, False
        try:
            with stream:
                stream.begin_capture()
                paths.run()
                captured = stream.end_capture()
            launch, graphed = (lambda: captured.launch(stream)), True
        except Exception as error:  # noqa: BLE001 (an old driver: launch one by one)
            print(f"no CUDA graph: {error!r}", flush=True)
            stream = cupy.cuda.Stream(non_blocking=True)
        device_s, with_s = [], []
        with stream:
            for _ in range(self.args.repeat + 1):
                paths.matrix[...] = original
                begin, end = cupy.cuda.Event(), cupy.cuda.Event()
                begin.record(stream)
                launch()
                end.record(stream)
                end.synchronize()
                device_s.append(cupy.cuda.get_elapsed_time(begin, end) / 1000)
            for _ in range(self.args.repeat + 1):
                began = time.perf_counter()
                paths.matrix.set(matrix, stream=stream)
                launch()
                found = paths.matrix.get(stream=stream)
                stream.synchronize()
                with_s.append(time.perf_counter() - began)
        return (
            statistics.median(device_s[1:]),
            statistics.median(with_s[1:]),
            found,
            graphed,
        )

    def _name_crossovers(self) -> None:
        """Say from how many operations on the GPU needs less time."""
        table = [row for row in self.report.table if row.gpu_paper_with_ms]
        for arm, text in (
            ("gpu_paper_with_ms", "the paper's kernel, with transfers,"),
            ("gpu_blocked_with_ms", "tiles with DPX, with transfers,"),
        ):
            for column, other in (
                ("cpu_cubic_ms", "O(o^3) on a core"),
                ("cpu_sweep_ms", "the O(o) sweep on a core"),
            ):
                points = [
                    (row.operations, getattr(row, column) / getattr(row, arm))
                    for row in table
                ]
                if points:
                    where = crossover(points)
                    self.report.findings.append(
                        f"{text} against {other}: {where} (the paper: 225 operations)"
                    )


def crossover(points: list[tuple[int, float]]) -> str:
    """Say where a speed-up passes 1, between two sizes on logarithmic scales."""
    points = sorted(points)
    if points[0][1] >= 1:
        return f"faster from the smallest size on, {points[0][0]} operations"
    for (size, ratio), (next_size, next_ratio) in pairwise(points):
        if ratio < 1 <= next_ratio and next_size > size:
            share = -math.log(ratio) / (math.log(next_ratio) - math.log(ratio))
            at = math.exp(
                math.log(size) + share * (math.log(next_size) - math.log(size))
            )
            return f"faster from about {at:.0f} operations on"
    return f"never faster up to {points[-1][0]} operations"


def _members(name: str) -> list[str]:
    family, first = name[:2], int(name[2:4])
    return [f"{family}{first + number:02d}" for number in range(SETS[name][0])]


def _first_operations(name: str) -> tuple[int, str]:
    return SETS[name][1], name


def _shop_of(size: str) -> JobShopInstance:
    """Return a shop of a size: Taillard's, or one that his generator makes."""
    names = {"15x15": "ta01", "20x20": "ta21", "100x20": "ta71"}
    if size in names:
        return load(names[size])
    n_jobs, n_machines = map(int, size.split("x"))
    return generate(840612802, 398197754, n_jobs, n_machines, name=f"{size} of seeds")


RATE_HEADER = (
    f"{'size':<8}{'how':<52}{'solutions':>9}{'ops/s':>12}{'least':>12}{'most':>12}"
    f"{'exact':>7}"
)
TABLE_HEADER = (
    "times in ms; x: speed-up with transfers over O(o^3), and over the sweep\n"
    "set          o   cpu o^3     sweep | paper's kernel     with   x o^3   x sweep"
    " | tiles DPX     with   x o^3 |  squaring     with | their x  exact"
)


def _table_line(row: TableRow) -> str:
    def shown(value: float | None, width: int) -> str:
        return f"{'-' if value is None else format(value, '.3g'):>{width}}"

    def ratio(above: float, below: float | None) -> float | None:
        return above / below if below else None

    paper, tiles = row.gpu_paper_with_ms, row.gpu_blocked_with_ms
    return (
        f"{row.name:<8}{row.operations:>6}{shown(row.cpu_cubic_ms, 10)}"
        f"{shown(row.cpu_sweep_ms, 10)} |{shown(row.gpu_paper_ms, 15)}"
        f"{shown(paper, 9)}{shown(ratio(row.cpu_cubic_ms, paper), 8)}"
        f"{shown(ratio(row.cpu_sweep_ms, paper), 10)} |{shown(row.gpu_blocked_ms, 10)}"
        f"{shown(tiles, 9)}{shown(ratio(row.cpu_cubic_ms, tiles), 8)} |"
        f"{shown(row.gpu_squaring_ms, 10)}{shown(row.gpu_squaring_with_ms, 9)} |"
        f"{shown(row.paper_speedup, 8)}{'yes' if row.exact else 'NO':>7}"
    )


def main(arguments: list[str] | None = None) -> int:
    """Run the suite with the arguments of a command line."""
    parser = argparse.ArgumentParser("dpbb bench jobshop", description=__doc__)
    add_arguments(parser)
    return run(parser.parse_args(arguments))


if __name__ == "__main__":
    raise SystemExit(main())
