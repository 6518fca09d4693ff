"""Taillard's flow-shop benchmark, made by its generator: ta001 to ta120.

Source: E. Taillard, "Benchmarks for basic scheduling problems", European Journal of
Operational Research 64(2), 1993, 278-285: the generator and the time seeds.
"""

import numpy as np
from numpy.typing import NDArray

from dpbb.errors import InstanceError
from dpbb.flowshop.best_known import benchmark_name
from dpbb.flowshop.instance import FlowShopInstance

TIME_SEEDS: dict[tuple[int, int], tuple[int, ...]] = {
    (20, 5): (
        873654221,
        379008056,
        1866992158,
        216771124,
        495070989,
        402959317,
        1369363414,
        2021925980,
        573109518,
        88325120,
    ),
    (20, 10): (
        587595453,
        1401007982,
        873136276,
        268827376,
        1634173168,
        691823909,
        73807235,
        1273398721,
        2065119309,
        1672900551,
    ),
    (20, 20): (
        479340445,
        268827376,
        1958948863,
        918272953,
        555010963,
        2010851491,
        1519833303,
        1748670931,
        1923497586,
        1829909967,
    ),
    (50, 5): (
        1328042058,
        200382020,
        496319842,
        1203030903,
        1730708564,
        450926852,
        1303135678,
        1273398721,
        587288402,
        248421594,
    ),
    (50, 10): (
        1958948863,
        575633267,
        655816003,
        1977864101,
        93805469,
        1803345551,
        49612559,
        1899802599,
        2013025619,
        578962478,
    ),
    (50, 20): (
        1539989115,
        691823909,
        655816003,
        1315102446,
        1949668355,
        1923497586,
        1805594913,
        1861070898,
        715643788,
        464843328,
    ),
    (100, 5): (
        896678084,
        1179439976,
        1122278347,
        416756875,
        267829958,
        1835213917,
        1328833962,
        1418570761,
        161033112,
        304212574,
    ),
    (100, 10): (
        1539989115,
        655816003,
        960914243,
        1915696806,
        2013025619,
        1168140026,
        1923497586,
        167698528,
        1528387973,
        993794175,
    ),
    (100, 20): (
        450926852,
        1462772409,
        1021685265,
        83696007,
        508154254,
        1861070898,
        26482542,
        444956424,
        2115448041,
        118254244,
    ),
    (200, 10): (
        471503978,
        1215892992,
        135346136,
        1602504050,
        160037322,
        551454346,
        519485142,
        383947510,
        1968171878,
        540872513,
    ),
    (200, 20): (
        2013025619,
        475051709,
        914834335,
        810642687,
        1019331795,
        2056065863,
        1342855162,
        1325809384,
        1988803007,
        765656702,
    ),
    (500, 20): (
        1368624604,
        450181436,
        1927888393,
        1759567256,
        606425239,
        19268348,
        1298201670,
        2041736264,
        379756761,
        28837162,
    ),
}
"""Time seeds by (n_jobs, n_machines): ten instances of each size, numbered on."""


def taillard_instance(name: str) -> FlowShopInstance:
    """Return an instance of the benchmark by its name.

    Parameters
    ----------
    name
        ``"ta001"`` to ``"ta120"``; also ``"ta1"`` and ``"TA001"``.

    Raises
    ------
    InstanceError
        No such instance.
    """
    known = benchmark_name(name) or ""
    number = int(known[2:]) if known.startswith("ta") else 0
    sizes = list(TIME_SEEDS)
    if not 1 <= number <= 10 * len(sizes):
        raise InstanceError(
            f"Taillard instance: expected ta001 to ta{10 * len(sizes)}, got {name!r}"
        )
    n_jobs, n_machines = sizes[(number - 1) // 10]
    seed = TIME_SEEDS[n_jobs, n_machines][(number - 1) % 10]
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
