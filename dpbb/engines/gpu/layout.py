"""Structures in device memory that the host reads and writes; mirrors ``pages.cuh``."""

from __future__ import annotations

from enum import IntEnum

import numpy as np

CONTROL = np.dtype(
    [
        (name, kind)
        for kind, names in (
            ("u4", "tickets gifts stop"),
            ("i4", "ub"),
            ("u4", "pool_next pool_size n_out n_warps"),
            ("u4", "free_next free_end lock n_optima"),
            ("i4", "best least_bound"),
            ("u4", "branching_ub drain_batches spare_pages padding"),
            ("u8", "decomposed leaves batches children idle_ns busy_ns"),
            ("u8", "open_roots budget_ns"),
        )
        for name in names.split()
    ]
)
"""``Control``: counters and orders, exchanged once a launch."""

COUNTERS = ("decomposed", "leaves", "batches", "children", "idle_ns", "busy_ns")
"""What a launch adds up."""

STOP_AT = 2 * np.dtype("u4").itemsize
"""Offset of ``stop`` in bytes: the one field written while a launch goes on."""

ARENA = np.dtype(
    [
        (name, kind)
        for kind, names in (
            ("u8", "control pages next meta free_ring gift_ring pool out"),
            ("u8", "rows root closed leaves"),
            ("u4", "free_bits gift_bits n_leaves all_optima"),
        )
        for name in names.split()
    ]
)
"""``Arena``: addresses of the arrays."""

NONE = 0xFFFFFFFF
NO_VALUE = 0x7FFFFFFF


class Stop(IntEnum):
    """Why a launch ended."""

    RUNNING = 0
    SLICE_OVER = 1
    OUT_OF_PAGES = 2
    ALL_DONE = 3
    OPTIMA_FULL = 4
