"""Two-machine bounds for CUDA kernels; the host's side of ``cascade.cuh``."""

import numpy as np
from numpy.typing import NDArray

from dpbb.flowshop.bounds.cascade import Cascade
from dpbb.flowshop.bounds.lb2 import JohnsonTables, machine_pairs

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
    bit = np.uint32(1) << (johnson.order % 32).astype(np.uint32)
    word = johnson.order // 32
    # a negative difference keeps its 32 bits
    shift = (johnson.first - johnson.second).astype(np.int32).view(np.uint32)
    columns = [bit, word, johnson.first + johnson.lag, shift]
    if n_jobs <= 32:
        del columns[1]
    elif n_jobs <= 64:
        columns[:2] = np.where(word == 0, bit, 0), np.where(word == 1, bit, 0)
    steps = np.zeros((n_pairs, -(-n_jobs // 4) * 4, len(columns)), np.uint32)
    steps[:, :n_jobs] = np.stack(columns, axis=2)
    machines = np.zeros((n_pairs, 4), np.uint32)
    machines[:, :2] = johnson.pairs
    pairs = np.concatenate([machines, steps.reshape(n_pairs, -1)], axis=1)
    return np.concatenate([head, pairs.reshape(-1)])


def warp_bytes(n_jobs: int, n_machines: int, *, wide: bool) -> int:
    """Bytes of ``Tightening``, the shared memory of a warp."""
    ends = SLOTS * n_machines * (2 if wide else 1)
    jobs = 1 if n_jobs <= 64 else SLOTS * -(-n_jobs // 32)
    return 4 * LANES * (ends + jobs)
