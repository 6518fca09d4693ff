"""Two-machine bounds for CUDA kernels; the host's side of ``cascade.cuh``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dpbb.flowshop.bounds.lb2 import JohnsonTables, machine_pairs

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dpbb.flowshop.bounds.cascade import Cascade

SLOTS = 2
"""Children of a lane."""
LANES = 32


def tables(times: NDArray[np.int64], cascade: Cascade) -> NDArray[np.uint32]:
    """Words that the kernels read: depths and pairs, and the jobs in each pair's order.

    Parameters
    ----------
    times : ndarray of int64, shape (n_jobs, n_machines)
        Jobs in root order.
    """
    n_jobs, n_machines = times.shape
    johnson = JohnsonTables.of(times, machine_pairs(n_machines, cascade.pairs))
    n_pairs = len(johnson.pairs)
    head = np.array([cascade.first, cascade.last, n_pairs, 0], np.uint32)
    pairs = np.zeros((n_pairs, 1 + n_jobs, 4), np.uint32)
    pairs[:, 0, :2] = johnson.pairs
    steps = pairs[:, 1:]
    word = johnson.order // 32
    bit = np.uint32(1) << (johnson.order % 32).astype(np.uint32)
    if n_jobs <= 64:
        steps[..., 0] = np.where(word == 0, bit, 0)
        steps[..., 1] = np.where(word == 1, bit, 0)
    else:
        steps[..., 0], steps[..., 1] = bit, word
    steps[..., 2] = johnson.first + johnson.lag
    # a negative one keeps its 32 bits
    steps[..., 3] = (johnson.first - johnson.second).astype(np.int32).view(np.uint32)
    return np.concatenate([head, pairs.reshape(-1)])


def warp_bytes(n_jobs: int, n_machines: int, *, wide: bool) -> int:
    """Bytes of ``Tightening``, the shared memory of a warp."""
    ends = SLOTS * n_machines * (2 if wide else 1)
    jobs = 1 if n_jobs <= 64 else SLOTS * -(-n_jobs // 32)
    return 4 * LANES * (ends + jobs)
