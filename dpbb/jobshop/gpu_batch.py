"""Costs of many solutions on a GPU; the kernels say how.

Input that is on the device already, a CuPy array or anything with
``__cuda_array_interface__``, is read where it lies, and the costs stay on the device.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpbb.errors import OptionError
from dpbb.jobshop.instance import JobShopInstance
from dpbb.jobshop.solution import Criterion, Encoding
from dpbb.jobshop.tables import CRITERION_NUMBER, Tables
from dpbb.kernels.nvrtc import load_module, require_gpu

HERE = Path(__file__).parent / "cuda"
LANES = 32
WARPS = 4
"""Warps of a block, fewer where shared memory does not hold them."""

ID_BYTES = {"uint8": 1, "int16": 2, "uint16": 2, "int32": 4, "uint32": 4}
"""Types of job numbers that the kernel for sequences reads as they are."""


@dataclass(frozen=True, slots=True)
class Layout:
    """Widths and sizes of an instance in the kernels: what they are compiled for."""

    n_jobs: int
    n_machines: int
    n_operations: int
    longest: int
    ready_bits: int
    machine_bits: int
    entry_bytes: int
    wide: bool

    @classmethod
    def of(cls, instance: JobShopInstance) -> Layout:
        """Choose the narrowest widths in which nothing can overflow."""
        longest = int(instance.lengths.max())
        ready_bits = int(instance.longest_end).bit_length()
        index_bits = ((longest + 2) * instance.n_jobs).bit_length()
        machine_bits = instance.n_machines.bit_length()
        time_bits = int(instance.times.max()).bit_length()
        bits = machine_bits + time_bits
        return cls(
            instance.n_jobs,
            instance.n_machines,
            instance.n_operations,
            longest,
            ready_bits,
            machine_bits,
            2 if bits <= 16 else 4 if bits <= 32 else 8,
            ready_bits + index_bits > 32,
        )

    @property
    def defines(self) -> dict[str, int]:
        """Macros of the kernels."""
        return {
            "N_JOBS": self.n_jobs,
            "N_MACHINES": self.n_machines,
            "N_OPERATIONS": self.n_operations,
            "LONGEST": self.longest,
            "READY_BITS": self.ready_bits,
            "MACHINE_BITS": self.machine_bits,
            "ENTRY_BYTES": self.entry_bytes,
            "WIDE": int(self.wide),
        }

    @property
    def _table_bytes(self) -> int:
        return -(-(self.longest + 1) * self.n_jobs * self.entry_bytes // 16) * 16

    def sequence_bytes(self, warps: int) -> int:
        """Shared memory of a block of ``evaluate_sequences``."""
        slots = (self.n_jobs + 1) * (1 + self.wide) + self.n_machines + 1 + 9
        return self._table_bytes + 4 * warps * LANES * slots

    def order_bytes(self, warps: int, width: int) -> int:
        """Shared memory of a block of ``evaluate_orders``."""
        job_words = -(-(self.n_jobs + 1) * (1 + self.wide) // 2) * 2
        words = job_words + (self.n_machines * width + 1) // 2
        groups = LANES // self.group
        return self._table_bytes + 4 * warps * groups * (-(-words // 2) * 2)

    @property
    def group(self) -> int:
        """Lanes that have a solution given by machine orders."""
        return min(LANES, 1 << (self.n_machines - 1).bit_length())

    def entries(self, tables: Tables) -> NDArray[Any]:
        """Table of operations as the kernels read it, shape ((longest + 1) * n_jobs,).

        Operation i of job j is at ``i * n_jobs + j``; the rest is of no machine.
        """
        table = np.full((self.longest + 1, self.n_jobs), self.n_machines, np.uint64)
        for job in range(self.n_jobs):
            part = tables.entries[tables.first[job] : tables.first[job + 1]]
            packed = (part >> 16) << self.machine_bits | part & 0xFFFF
            table[: part.size, job] = packed.astype(np.uint64)
        return table.reshape(-1).astype(f"u{self.entry_bytes}")

    def starts(self, tables: Tables) -> NDArray[Any]:
        """Words of the jobs before their first operation, shape (n_jobs,)."""
        words = np.arange(self.n_jobs, dtype=np.uint64) << np.uint64(self.ready_bits)
        words |= tables.dates[0].astype(np.uint64)
        return words.astype(np.uint64 if self.wide else np.uint32)


class GpuBatch:
    """An instance on a device, for any number of batches.

    Raises
    ------
    EngineUnavailable
        No such device, or its compiler refused the kernels.
    OptionError
        The device has too little shared memory for so many jobs and machines.
    """

    def __init__(
        self, instance: JobShopInstance, criterion: Criterion, device: int = 0
    ) -> None:
        self._cupy = require_gpu(device)
        self._device = device
        self._instance = instance
        self._layout = Layout.of(instance)
        self._criterion = CRITERION_NUMBER[criterion]
        self._kernels: dict[tuple[Any, ...], Any] = {}
        tables = Tables.of(instance)
        lengths = np.diff(tables.first)
        finals = lengths * instance.n_jobs + np.arange(instance.n_jobs)
        put = self._cupy.asarray
        with self._cupy.cuda.Device(device):
            self._entries = put(self._layout.entries(tables))
            self._starts = put(self._layout.starts(tables))
            self._finals = put(finals.astype(np.uint32))
            self._due, self._weight = put(tables.dates[1]), put(tables.dates[2])
            self._lengths = put(tables.lengths.astype(np.int32))
            self._visits = put(instance.visits.astype(np.int32))
            attributes = self._cupy.cuda.Device(device).attributes
        self._n_multiprocessors = int(attributes["MultiProcessorCount"])
        self._most_shared = int(attributes["MaxSharedMemoryPerBlockOptin"])

    def sequences(self, sequences: Any) -> Any:
        """Return the costs of sequences, shape (b,), on the device; does not wait.

        Parameters
        ----------
        sequences : CuPy array of shape (b, n_operations), in C order
            Of a type in ``ID_BYTES``; read where it lies.
        """
        id_bytes = ID_BYTES[str(sequences.dtype)]
        row_bytes = self._instance.n_operations * id_bytes
        aligned = row_bytes % 4 == 0 and address(sequences) % 4 == 0
        layout = self._layout
        kernel, warps, shared = self._kernel(
            "sequences",
            {"ID_BYTES": id_bytes, "UNIT": 4 if aligned else id_bytes},
            layout.sequence_bytes,
        )
        arrays = (self._entries, self._starts, self._finals, self._due, self._weight)
        return self._launch((kernel, warps, shared, LANES), (sequences, *arrays))

    def orders(self, orders: Any) -> Any:
        """Return the costs of machine orders, shape (b,), on the device.

        Parameters
        ----------
        orders : CuPy array of int16, shape (b, n_machines, longest), in C order
        """
        if address(orders) % 4:  # the kernel reads two at a time
            orders = orders.copy()
        width = int(orders.shape[2])
        layout = self._layout
        kernel, warps, shared = self._kernel(
            "orders",
            {"WIDTH": width, "GROUP": layout.group},
            lambda warps: layout.order_bytes(warps, width),
        )
        arrays = (self._entries, self._starts, self._lengths, self._visits)
        return self._launch(
            (kernel, warps, shared, LANES // layout.group),
            (orders, *arrays, self._due, self._weight),
        )

    def _launch(
        self, kernel: tuple[Any, int, int, int], arguments: tuple[Any, ...]
    ) -> Any:
        """Launch a kernel for all solutions, which are the first argument."""
        function, warps, shared, per_warp = kernel
        count = len(arguments[0])
        with self._cupy.cuda.Device(self._device):
            result = self._cupy.empty((count,), np.int64)
            if count:
                blocks = -(-count // (warps * per_warp))
                fit = max(1, min(32, 2 * self._most_shared // max(1, shared)))
                grid = (min(blocks, fit * self._n_multiprocessors),)
                function(
                    grid,
                    (warps * LANES,),
                    (*arguments, result, np.int64(count)),
                    shared_mem=shared,
                )
        return result

    def _kernel(
        self,
        name: str,
        more: Mapping[str, int],
        shared_bytes: Any,  # a function of the number of warps
    ) -> tuple[Any, int, int]:
        """Return a kernel, the warps of its blocks and their shared memory."""
        key = (name, *more.items())
        if key not in self._kernels:
            sizes = range(WARPS, 0, -1)
            fits = [w for w in sizes if shared_bytes(w) <= self._most_shared]
            if not fits:
                raise OptionError(
                    "device: expected cpu for so many jobs and machines: they need "
                    f"{shared_bytes(1) / 1024:.0f} KiB of shared memory, and the GPU "
                    f"has {self._most_shared / 1024:.0f}"
                )
            warps, shared = fits[0], shared_bytes(fits[0])
            defines = {**self._layout.defines, **more}
            defines |= {"CRITERION": self._criterion, "WARPS": warps}
            module = load_module([HERE / f"{name}.cu"], defines, self._device)
            with self._cupy.cuda.Device(self._device):
                kernel = module.get_function(f"evaluate_{name}")
                kernel.max_dynamic_shared_size_bytes = shared
                kernel.preferred_shared_memory_carveout = 100  # per cent of the cache
            self._kernels[key] = kernel, warps, shared
        return self._kernels[key]


def address(array: Any) -> int:
    """Address of an array's data on the device."""
    return int(array.data.ptr)


@functools.lru_cache(maxsize=16)
def batch_of(
    instance: JobShopInstance, criterion: Criterion, device: int = 0
) -> GpuBatch:
    """Return the ``GpuBatch`` of an instance; it stays there for the next call."""
    return GpuBatch(instance, criterion, device)


def costs(
    instance: JobShopInstance,
    solutions: Any,  # CuPy array
    encoding: Encoding,
    criterion: Criterion,
    device: int = 0,
) -> Any:  # CuPy array
    """Return the costs of a batch on the device; see ``GpuBatch``."""
    batch = batch_of(instance, criterion, device)
    if encoding is Encoding.SEQUENCE:
        return batch.sequences(solutions)
    return batch.orders(solutions)
