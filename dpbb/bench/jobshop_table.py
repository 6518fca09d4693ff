"""The founding paper's table of job-shop costs, for ``dpbb bench jobshop``."""

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import fields
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpbb.bench.jobshop_report import Bench, TableRow
from dpbb.errors import InstanceError
from dpbb.jobshop import Criterion, Encoding, Method, load
from dpbb.jobshop.cpu_batch import costs as cpu_costs
from dpbb.jobshop.cpu_batch import random_sequences
from dpbb.jobshop.cpu_paths import closure
from dpbb.jobshop.graph import Graph
from dpbb.jobshop.instance import JobShopInstance
from dpbb.jobshop.longest_paths import arcs_matrix

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

SWEEPS = 400
"""Sweeps that are timed together: one takes microseconds."""

GPU_METHODS = {
    Method.FLOYD_WARSHALL: "gpu_paper",
    Method.BLOCKED: "gpu_blocked",
    Method.SQUARING: "gpu_squaring",
}
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


class Table:
    """Measures one solution of every instance of some sets by all methods."""

    def __init__(
        self,
        bench: Bench,
        sets: Sequence[str],
        data: str | None,
        written: Callable[[], None],
    ) -> None:
        self._bench, self._sets, self._data = bench, sets, data
        self._written = written

    def measure(self) -> None:
        """Measure one solution by all methods."""
        print(TABLE_HEADER)
        for name in sorted(self._sets, key=_first_operations):
            if self._bench.has_time(f"set {name}"):
                self._bench.guarded(f"set {name}", partial(self._set, name))
        self._name_crossovers()

    def _set(self, name: str) -> None:
        try:
            shops = [load(one, data_dir=self._data) for one in _members(name)]
        except InstanceError as error:
            print(f"{name}: left out: {error}", flush=True)
            self._bench.report.findings.append(f"{name}: left out: {error}")
            return
        rows = []
        for number, shop in enumerate(shops):
            if number and not self._bench.has_time(f"{name} from {shop.name} on"):
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
        self._bench.report.table.append(row)
        print(_table_line(row), flush=True)
        self._written()

    def _instance(self, name: str, shop: JobShopInstance) -> TableRow:
        sequence = random_sequences(shop, 1, seed=3)[0]
        graph = Graph.of(shop, sequence)
        matrix = arcs_matrix(graph)
        ends = (graph.heads() + shop.times).tolist()
        orders = np.repeat(graph.orders[None].astype(np.int16), SWEEPS, axis=0)
        sweeps, cubic = [], []
        for _ in range(self._bench.repeat + 1):
            began = time.perf_counter()
            cpu_costs(shop, orders, Encoding.MACHINE_ORDERS, Criterion.MAKESPAN, 1)
            sweeps.append((time.perf_counter() - began) / SWEEPS)
        closure(matrix[:2, :2], Method.FLOYD_WARSHALL)  # compiled
        for _ in range(self._bench.repeat):
            began = time.perf_counter()
            paths = closure(matrix, Method.FLOYD_WARSHALL)
            cubic.append(time.perf_counter() - began)
        row = TableRow(
            *(name, shop.n_operations, 1),
            cpu_cubic_ms=1000 * statistics.median(cubic),
            cpu_sweep_ms=1000 * statistics.median(sweeps[1:]),
            exact=paths[0, 1:].tolist() == ends,
        )
        if self._bench.cupy is not None:
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

        cupy = self._bench.cupy
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
            for _ in range(self._bench.repeat + 1):
                paths.matrix[...] = original
                begin, end = cupy.cuda.Event(), cupy.cuda.Event()
                begin.record(stream)
                launch()
                end.record(stream)
                end.synchronize()
                device_s.append(cupy.cuda.get_elapsed_time(begin, end) / 1000)
            for _ in range(self._bench.repeat + 1):
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
        table = [row for row in self._bench.report.table if row.gpu_paper_with_ms]
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
                    self._bench.report.findings.append(
                        f"{text} against {other}: {where} (the paper: 225 operations)"
                    )


def crossover(points: list[tuple[int, float]]) -> str:
    """Say from which size on all speed-ups are above 1; sizes may come twice."""
    slower = max((size for size, ratio in points if ratio <= 1), default=0)
    faster = min((size for size, _ in points if size > slower), default=None)
    if faster is None:
        if any(ratio > 1 for _, ratio in points):
            return f"not faster at the largest size, {slower} operations"
        return f"never faster up to {slower} operations"
    if not slower:
        return f"faster from the smallest size on, {faster} operations"
    return f"faster from {faster} operations on, not yet at {slower}"


def _members(name: str) -> list[str]:
    family, first = name[:2], int(name[2:4])
    return [f"{family}{first + number:02d}" for number in range(SETS[name][0])]


def _first_operations(name: str) -> tuple[int, str]:
    return SETS[name][1], name
