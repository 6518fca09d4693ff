"""From parents to their open children on a GPU, by the model of the engine ``gpu``."""

from __future__ import annotations

import math
import threading
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpbb.engines.gpu.kernels import BRANCHING, KernelShape
from dpbb.engines.gpu.layout import LANES
from dpbb.errors import EngineUnavailable
from dpbb.kernels.nvrtc import load_module, require_gpu
from dpbb.options import TreeOptions
from dpbb.problem import Problem, kinds_in_order
from dpbb.tree.branching import order_of

SOURCE, KERNELS = Path(__file__).with_name("branch.cu"), ("branch", "tighten")

CHILDREN_PER_MULTIPROCESSOR = 64
"""Those of a first batch, of each of the threads that send nodes."""

BLOCKS_PER_MULTIPROCESSOR = 16

ALIGNED = 64
"""Bytes; an array on the device begins at a multiple of it."""


class OnDevice:
    """A problem with its tree on one CUDA device; a ``Brancher``.

    Parameters
    ----------
    model
        The class of CUDA models of the problem, see ``dpbb.kernels.cuda_model``.
    problem, tree
        What the tree is a function of.
    ub
        The largest one of all calls.
    device
        CUDA ordinal.
    block_size
        Threads of a block; None: the kernels' own.

    Raises
    ------
    EngineUnavailable
        No such device, its compiler refused the kernels, or they have no such numbers.
    """

    least_part = 256

    def __init__(
        self,
        model: Any,
        problem: Problem[Any],
        tree: TreeOptions,
        ub: int,
        device: int,
        *,
        block_size: int | None = None,
    ) -> None:
        self._cupy = require_gpu(device)
        if reason := model.obstacle(problem):
            raise EngineUnavailable(reason)
        self._device = device
        self._own = threading.local()
        attributes = self._cupy.cuda.Device(device).attributes
        multiprocessors = int(attributes["MultiProcessorCount"])
        self._most_blocks = BLOCKS_PER_MULTIPROCESSOR * multiprocessors
        self.first_size = multiprocessors * CHILDREN_PER_MULTIPROCESSOR
        self._shape = shape = KernelShape(model.of(problem, ub), tree.branching)
        if block_size is not None:
            self._shape = shape = replace(shape, warps=block_size // 32)
        rows, root = shape.model.pack(problem, order_of(tree, shape.n_jobs))
        root = np.pad(root, (0, -len(root) % 4))  # quads are loaded
        kinds = kinds_in_order(problem, tree)
        if kinds is None:
            kinds = np.arange(shape.n_jobs)
        self._ub = ub
        self._branching_ub = np.int32(min(tree.branching_ub or 0, shape.value_limit))
        with self._cupy.cuda.Device(device):
            sources = BRANCHING, shape.model.header, SOURCE
            module = load_module(sources, shape.defines, device)
            self._branch, self._tighten = map(module.get_function, KERNELS)
            tables = rows, root, kinds.astype(np.uint16)
            self._tables = [self._cupy.asarray(part) for part in tables]
            # The streams of threads do not wait for this one, and its copies may be
            # late: a busy device once bounded nodes by tables that were not there.
            self._cupy.cuda.get_current_stream().synchronize()

    def branch(
        self, nodes: Any, ub: int
    ) -> tuple[NDArray[np.int32], NDArray[np.uint16], NDArray[np.int32]]:
        """See ``Brancher``; of nodes the rows and counts. Waits for their children."""
        cupy, shape, count = self._cupy, self._shape, len(nodes.rows)
        fixed = nodes.front.sum(dtype=np.int64) + nodes.back.sum(dtype=np.int64)
        most = shape.n_jobs * count - int(fixed)
        with cupy.cuda.Device(self._device), self._stream() as stream:
            mail = self._own.mail
            given = nodes.rows, nodes.front, nodes.back
            totals, *there = mail.send(stream, np.zeros(2, np.uint32), *given)
            *tables, kinds = self._tables
            numbers = np.int32(min(ub, self._ub)), np.int32(count)

            def made_by(
                kernel: Any, lanes: int, total: Any, *more: Any
            ) -> tuple[Any, ...]:
                kinds = np.int32, np.uint16, np.int32
                found = [cupy.empty((most,), kind) for kind in kinds]
                blocks = min(-(-lanes // shape.threads), self._most_blocks)
                given = *there, *tables, *numbers, total, *found, *more
                kernel((blocks,), (shape.threads,), given)
                return total, *found

            own = kinds, self._branching_ub
            made = made_by(self._branch, LANES * count, totals[:1], *own)
            if shape.model.tightening_bytes:
                made = made_by(self._tighten, most, totals[1:], *made)
            size = int(mail.fetch(stream, made[0])[0][0])
            parent, code, bounds = mail.fetch(stream, *(one[:size] for one in made[1:]))
            return parent, code, bounds

    def _stream(self) -> Any:
        """Return this thread's stream: what threads do goes on side by side."""
        if not hasattr(self._own, "stream"):
            self._own.stream = self._cupy.cuda.Stream(non_blocking=True)
            self._own.mail = _Mail(self._cupy)
        return self._own.stream


class _Mail:
    """Pinned memory of one thread, which is copied at the full rate, all at once."""

    def __init__(self, cupy: Any) -> None:
        self._cupy = cupy
        self._memory: Any = None
        self._size = 0

    def send(self, stream: Any, *parts: NDArray[Any]) -> list[Any]:
        """Return copies on the device; what was sent before has to be there."""
        places, size = self._places(parts)
        for part, place in zip(parts, places, strict=True):
            np.copyto(self._view(part, place), part)
        there = self._cupy.empty((size,), np.uint8)
        there.data.copy_from_host_async(self._memory.ptr, size, stream)
        return [
            there[place : place + part.nbytes].view(part.dtype).reshape(part.shape)
            for part, place in zip(parts, places, strict=True)
        ]

    def fetch(self, stream: Any, *parts: Any) -> list[NDArray[Any]]:
        """Return copies on the host; waits for them."""
        places, _ = self._places(parts)
        for part, place in zip(parts, places, strict=True):
            if part.nbytes:
                part.data.copy_to_host_async(
                    self._memory.ptr + place, part.nbytes, stream
                )
        stream.synchronize()
        return [
            self._view(part, place).copy()
            for part, place in zip(parts, places, strict=True)
        ]

    def _places(self, parts: Sequence[Any]) -> tuple[list[int], int]:
        """Where each part begins, and the bytes of all; there is room for them."""
        places, size = list[int](), 0
        for part in parts:
            places.append(size)
            size += -(-part.nbytes // ALIGNED) * ALIGNED
        if size > self._size:
            self._size = size * 3 // 2
            self._memory = self._cupy.cuda.alloc_pinned_memory(self._size)
        return places, size

    def _view(self, part: Any, place: int) -> NDArray[Any]:
        count = math.prod(part.shape)
        whole = np.frombuffer(self._memory, part.dtype, count, place)
        return whole.reshape(part.shape)
