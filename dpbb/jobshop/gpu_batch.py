"""Costs of many solutions on a GPU; the kernels say how.

Input that is on the device already, a CuPy array or anything with
``__cuda_array_interface__``, is read where it lies, and the costs stay on the device.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpbb.errors import OptionError
from dpbb.jobshop.instance import JobShopInstance
from dpbb.jobshop.solution import Criterion
from dpbb.kernels.nvrtc import load_module, require_gpu

HERE = Path(__file__).parent / "cuda"
LANES = 32
WARPS = 4
"""Warps of a block, fewer where shared memory does not hold them."""

ID_BYTES = {"uint8": 1, "int16": 2, "uint16": 2, "int32": 4, "uint32": 4}
"""Types of job numbers that the kernel for sequences reads as they are."""


class Layout:
    """Widths and sizes of an instance in the kernels, the narrowest that hold it.

    Attributes
    ----------
    wide
        Whether the word of a job has 64 bits.
    group
        Lanes that have a solution given by machine orders.
    defines
        Macros of the kernels.
    """

    def __init__(self, instance: JobShopInstance) -> None:
        n_jobs, n_machines = instance.n_jobs, instance.n_machines
        self._instance = instance
        self.longest = int(instance.lengths.max())
        self.ready_bits = int(instance.longest_end).bit_length()
        self.machine_bits = n_machines.bit_length()
        bits = self.machine_bits + int(instance.times.max()).bit_length()
        self.entry_bytes = 2 if bits <= 16 else 4 if bits <= 32 else 8
        index_bits = ((self.longest + 2) * n_jobs).bit_length()
        self.wide = self.ready_bits + index_bits > 32
        self.group = min(LANES, 1 << (n_machines - 1).bit_length())
        self._table_bytes = (
            -(-(self.longest + 1) * n_jobs * self.entry_bytes // 16) * 16
        )
        self.defines = {
            "N_JOBS": n_jobs,
            "N_MACHINES": n_machines,
            "N_OPERATIONS": instance.n_operations,
            "LONGEST": self.longest,
            "READY_BITS": self.ready_bits,
            "MACHINE_BITS": self.machine_bits,
            "ENTRY_BYTES": self.entry_bytes,
            "WIDE": int(self.wide),
        }

    def sequence_bytes(self, warps: int) -> int:
        """Shared memory of a block of ``evaluate_sequences``."""
        job_words = (self._instance.n_jobs + 1) * (1 + self.wide)
        slots = job_words + self._instance.n_machines + 1 + 9
        return self._table_bytes + 4 * warps * LANES * slots

    def order_bytes(self, width: int, warps: int) -> int:
        """Shared memory of a block of ``evaluate_orders``."""
        job_words = -(-(self._instance.n_jobs + 1) * (1 + self.wide) // 2) * 2
        words = job_words + (self._instance.n_machines * width + 1) // 2
        groups = LANES // self.group
        return self._table_bytes + 4 * warps * groups * (-(-words // 2) * 2)

    def entries(self) -> NDArray[Any]:
        """Table of operations as the kernels read it, shape ((longest + 1) * n_jobs,).

        Operation i of job j is at ``i * n_jobs + j``; the rest is of no machine.
        """
        shop = self._instance
        table = np.full((self.longest + 1, shop.n_jobs), shop.n_machines)
        places = np.arange(shop.n_operations) - shop.first[shop.jobs]
        table[places, shop.jobs] = shop.times << self.machine_bits | shop.machines
        return table.reshape(-1).astype(f"u{self.entry_bytes}")

    def starts(self) -> NDArray[Any]:
        """Words of the jobs before their first operation, shape (n_jobs,)."""
        words = np.arange(self._instance.n_jobs) << self.ready_bits
        words |= self._instance.release
        return words.astype(np.uint64 if self.wide else np.uint32)


@functools.lru_cache(maxsize=16)  # it stays on the device for the next call
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
        self._layout = Layout(instance)
        self._criterion = criterion.number
        self._kernels: dict[tuple[Any, ...], Any] = {}
        finals = instance.lengths * instance.n_jobs + np.arange(instance.n_jobs)
        due = np.zeros_like(finals) if instance.due is None else instance.due
        put = self._cupy.asarray
        with self._cupy.cuda.Device(device):
            self._entries = put(self._layout.entries())
            self._starts = put(self._layout.starts())
            self._finals = put(finals.astype(np.uint32))
            self._dates = put(due), put(instance.weight)
            self._lengths = put(instance.machine_lengths.astype(np.int32))
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
        aligned = row_bytes % 4 == 0 and int(sequences.data.ptr) % 4 == 0
        forms = {"ID_BYTES": id_bytes, "UNIT": 4 if aligned else id_bytes}
        tables = self._entries, self._starts, self._finals
        needed = self._layout.sequence_bytes
        return self._run("sequences", forms, needed, LANES, sequences, *tables)

    def orders(self, orders: Any) -> Any:
        """Return the costs of machine orders, shape (b,), on the device.

        Parameters
        ----------
        orders : CuPy array of int16, shape (b, n_machines, longest), in C order
        """
        if int(orders.data.ptr) % 4:  # the kernel reads two at a time
            orders = orders.copy()
        width, group = int(orders.shape[2]), self._layout.group
        forms = {"WIDTH": width, "GROUP": group}
        tables = self._entries, self._starts, self._lengths, self._visits
        needed = functools.partial(self._layout.order_bytes, width)
        return self._run("orders", forms, needed, LANES // group, orders, *tables)

    def _run(
        self,
        name: str,
        forms: dict[str, int],
        shared_bytes: Callable[[int], int],
        per_warp: int,
        solutions: Any,
        *tables: Any,
    ) -> Any:
        """Launch a kernel for all solutions.

        ``forms``: more macros; ``shared_bytes``: shared memory of a block of so many
        warps; ``per_warp``: solutions of a warp.
        """
        key = (name, *forms.items())
        if key not in self._kernels:
            self._kernels[key] = self._compiled(name, forms, shared_bytes)
        function, warps, shared = self._kernels[key]
        count = len(solutions)
        with self._cupy.cuda.Device(self._device):
            result = self._cupy.empty((count,), np.int64)
            if count:
                blocks = -(-count // (warps * per_warp))
                fit = max(1, min(32, 2 * self._most_shared // max(1, shared)))
                function(
                    (min(blocks, fit * self._n_multiprocessors),),
                    (warps * LANES,),
                    (solutions, *tables, *self._dates, result, np.int64(count)),
                    shared_mem=shared,
                )
        return result

    def _compiled(
        self, name: str, forms: dict[str, int], shared_bytes: Callable[[int], int]
    ) -> tuple[Any, int, int]:
        """Return a kernel, the warps of its blocks and their shared memory."""
        sizes = range(WARPS, 0, -1)
        fits = [warps for warps in sizes if shared_bytes(warps) <= self._most_shared]
        if not fits:
            raise OptionError(
                "device: expected cpu for so many jobs and machines: they need "
                f"{shared_bytes(1) / 1024:.0f} KiB of shared memory, and the GPU "
                f"has {self._most_shared / 1024:.0f}"
            )
        warps, shared = fits[0], shared_bytes(fits[0])
        defines = {**self._layout.defines, **forms}
        defines |= {"CRITERION": self._criterion, "WARPS": warps}
        module = load_module([HERE / f"{name}.cu"], defines, self._device)
        with self._cupy.cuda.Device(self._device):
            kernel = module.get_function(f"evaluate_{name}")
            kernel.max_dynamic_shared_size_bytes = shared
            kernel.preferred_shared_memory_carveout = 100  # per cent of the cache
        return kernel, warps, shared
