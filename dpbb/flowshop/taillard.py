"""Taillard's flow-shop benchmark, made by its generator: ta001 to ta120.

Source: E. Taillard, "Benchmarks for basic scheduling problems", European Journal of
Operational Research 64(2), 1993, 278-285: the generator, and the time seeds
(``data/taillard.csv``).
"""

import functools

import numpy as np
from numpy.typing import NDArray

from dpbb.errors import InstanceError
from dpbb.flowshop.best_known import benchmark_name
from dpbb.flowshop.instance import FlowShopInstance
from dpbb.text.files import data_lines


@functools.cache
def time_seeds() -> dict[tuple[int, int], tuple[int, ...]]:
    """Time seeds by (n_jobs, n_machines): ten instances of each size, numbered on."""
    found = {}
    for line in data_lines(__package__, "taillard.csv"):
        n_jobs, n_machines, seeds = line.split(",")
        found[int(n_jobs), int(n_machines)] = tuple(map(int, seeds.split()))
    return found


def taillard_instance(name: str) -> FlowShopInstance:
    """Return an instance of the benchmark by its name.

    ``name``: ``"ta001"`` to ``"ta120"``; also ``"ta1"`` and ``"TA001"``.
    """
    known = benchmark_name(name) or ""
    number = int(known[2:]) if known.startswith("ta") else 0
    sizes = list(time_seeds())
    if not 1 <= number <= 10 * len(sizes):
        raise InstanceError(
            f"Taillard instance: expected ta001 to ta{10 * len(sizes)}, got {name!r}"
        )
    n_jobs, n_machines = sizes[(number - 1) // 10]
    seed = time_seeds()[n_jobs, n_machines][(number - 1) % 10]
    return FlowShopInstance.from_array(
        generate(seed, n_jobs, n_machines), name=known, orientation="machines_rows"
    )


def generate(seed: int, n_jobs: int, n_machines: int) -> NDArray[np.int64]:
    """Return times from 1 to 99 of Taillard's generator, machine by machine.

    Parameters
    ----------
    seed
        Start of the generator, 1 to 2**31 - 2.

    Returns
    -------
    ndarray of int64, shape (n_machines, n_jobs)

    Notes
    -----
    ``x <- 16807 x mod (2**31 - 1)``, time ``1 + floor(99 x / (2**31 - 1))``; exact in
    integers, and equal to the paper's floating-point form.
    """
    modulus = 2**31 - 1
    times = np.empty(n_machines * n_jobs, dtype=np.int64)
    for index in range(len(times)):
        seed = 16807 * seed % modulus
        times[index] = 1 + 99 * seed // modulus
    return times.reshape(n_machines, n_jobs)
