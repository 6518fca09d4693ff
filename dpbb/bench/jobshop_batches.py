"""Throughput of batches of job-shop solutions, for ``dpbb bench jobshop``."""

import statistics
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpbb.bench.jobshop_report import Bench, Rate
from dpbb.jobshop import Criterion, Encoding, generate, load
from dpbb.jobshop.cpu_batch import costs as cpu_costs
from dpbb.jobshop.cpu_batch import random_sequences
from dpbb.jobshop.graph import Graph
from dpbb.jobshop.instance import JobShopInstance
from dpbb.jobshop.solution import orders_of_sequence
from dpbb.kernels.cores import usable_cores

BATCHES = {"10x10": 2**20, "15x15": 2**20, "20x20": 2**20, "100x20": 2**17}
"""Solutions of a batch for each size."""

OTHER_WARPS = (1, 2, 8)
"""Sizes of blocks that are tried beside the evaluator's own."""

DISTINCT = 512
"""Different machine orders of a batch, which are repeated: they take Python long."""


RATE_HEADER = (
    f"{'size':<8}{'how':<52}{'solutions':>9}{'ops/s':>12}{'least':>12}{'most':>12}"
    f"{'exact':>7}"
)


class Batches:
    """Measures the rates of some sizes of shops.

    ``solutions``: of a batch; None: those of its size.
    """

    def __init__(
        self, bench: Bench, sizes: Sequence[str], solutions: int | None
    ) -> None:
        self._bench, self._sizes, self._solutions = bench, sizes, solutions

    def measure_gpu(self) -> None:
        """Measure the throughput of the GPU."""
        if self._bench.cupy is None:
            return
        print(RATE_HEADER)
        for size in self._sizes:
            if self._bench.has_time(f"batches of {size}"):
                self._bench.guarded(f"batches of {size}", partial(self._batch, size))

    def _batch(self, size: str) -> None:
        from dpbb.jobshop.gpu_batch import GpuBatch

        cupy = self._bench.cupy
        shop = _shop_of(size)
        n_solutions = self._solutions or BATCHES[size]
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
        batch: Any,
        there: Any,
        expected: NDArray[np.int64],
    ) -> None:
        """Time solutions that come from the host and costs that go back."""
        import cupyx

        pinned = cupyx.empty_pinned(host.shape, host.dtype)
        pinned[...] = host
        for name, source in (("pageable", host), ("pinned", pinned)):
            seconds = []
            for _ in range(self._bench.repeat + 1):
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
        there = self._bench.cupy.tile(self._bench.cupy.asarray(some), (copies, 1, 1))
        seconds = self._device_seconds(lambda: batch.orders(there))
        found = batch.orders(there).get()[: len(some)].tolist()
        how = "gpu, machine orders resident"
        self._rate(size, how, shop, len(there), seconds, found == expected)

    def _device_seconds(self, work: Callable[[], Any]) -> list[float]:
        """Seconds of ``work`` on the device: medians need several short runs."""
        cupy = self._bench.cupy
        work()
        cupy.cuda.Device().synchronize()
        began = time.perf_counter()
        work()
        cupy.cuda.Device().synchronize()
        each = max(1, min(20, int(0.02 / max(1e-6, time.perf_counter() - began))))
        seconds = []
        for _ in range(self._bench.repeat):
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
        self._bench.report.rates.append(row)
        print(
            f"{size:<8}{how:<52}{n_solutions:>9}{row.median:>12.3e}{row.least:>12.3e}"
            f"{row.most:>12.3e}{'yes' if exact else 'NO':>7}",
            flush=True,
        )

    def measure_cpu(self) -> None:
        """Measure the throughput of the CPU, and what the GPU is worth in its cores."""
        print(RATE_HEADER)
        cores = usable_cores()
        for size in self._sizes:
            if not self._bench.has_time(f"CPU, {size}"):
                continue
            shop = _shop_of(size)
            count = min(self._solutions or 10**9, 20_000_000 // shop.n_operations)
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
                    for _ in range(self._bench.repeat + 1):
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
        found = {(row.size, row.how): row.median for row in self._bench.report.rates}
        for size in self._sizes:
            gpu = found.get((size, "gpu, sequences resident (uint8)"))
            core = found.get((size, "cpu, sequence, 1 thread(s)"))
            if gpu and core:
                self._bench.report.findings.append(
                    f"{size}: the GPU is worth {gpu / core:,.0f} cores of this host "
                    f"({gpu:.3g} and {core:.3g} operations a second)"
                )


def _shop_of(size: str) -> JobShopInstance:
    """Return a shop of a size: Taillard's, or one that his generator makes."""
    names = {"15x15": "ta01", "20x20": "ta21", "100x20": "ta71"}
    if size in names:
        return load(names[size])
    n_jobs, n_machines = map(int, size.split("x"))
    return generate(840612802, 398197754, n_jobs, n_machines, name=f"{size} of seeds")
