"""Costs of job-shop schedules: one solution by all pairs of longest paths, and batches.

``paths`` is the table of Bozejko, Uchronski and Wodecki, "Parallel cost function
determination on GPU for the job shop scheduling problem" (PPAM 2011): one solution of
every instance, by O(o^3) on one core and on a GPU (their kernel, tiles with DPX
instructions, repeated squaring; with transfers), and by the O(o) sweep on one core.
``batches``: scheduled operations a second. All costs are compared; the exit code is 1
when one is wrong. Lawrence's instances need ``--data``.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from pathlib import Path

import numba
import numpy as np

from dpbb import jobshop
from dpbb.bench.common import Machine
from dpbb.jobshop import JobShopSchedule
from dpbb.jobshop.schedule import NONE
from dpbb.kernels.cores import usable_cores
from dpbb.kernels.nvrtc import has_gpu, load_module, require_gpu

PAPER = {225: 8.3, 300: 12.6, 400: 16.1, 450: 19.9, 600: 22.9, 750: 27.1, 1000: 26.0}
"""Speed-ups of the paper's kernel on a GTX 480, by operations (ta01 to ta70)."""

SETS = ["la01-05", "la16-20", "la31-35", "ta01-10", "ta11-20", "ta21-30", "ta31-40"]
SETS += ["ta41-50", "ta51-60", "ta61-70", "ta71-80"]

BATCHES = {"ta01": 2**20, "ta21": 2**20, "ta71": 2**17}
"""Solutions of a batch: 15x15, 20x20 and 100x20."""

SWEEPS = 400
"""Sweeps that are timed together: one takes microseconds."""


NO_PATH = -1

METHODS = ("floyd_warshall", "blocked", "squaring")
"""Their kernel, a launch for each of o steps; the same in tiles of the matrix; about
log2(o) max-plus products of the matrix with itself."""

TILE, BLOCK = 64, 256
NARROW_LIMIT = 2**13
"""Makespans below it fit 16 bits: twice of them stay below the length of no path."""


def random_sequences(shop, count: int, seed: int):
    """Return sequences, shape (count, o), of one byte a job."""
    jobs = np.tile(shop.jobs.astype(np.uint8), (count, 1))
    return np.random.default_rng(seed).permuted(jobs, axis=1)


def arcs_matrix(found: JobShopSchedule):
    """Return the weights of the arcs, int32, shape (o + 1, o + 1); else ``NO_PATH``.

    Vertex 0 stands before everything, vertex v + 1 is operation v. An arc weighs the
    time of the operation that it enters, so that a path from vertex 0 ends when the
    operation does. (The paper marks "no path" by 0, as operations without a duration
    would be, too, and weighs an arc by the operation that it leaves.)
    """
    shop = found.instance
    o = shop.n_operations
    matrix = np.full((o + 1, o + 1), NO_PATH, np.int32)
    for before in found.before:
        later = np.flatnonzero(before != NONE)
        matrix[before[later] + 1, later + 1] = shop.times[later]
    starts = shop.first[:-1]
    matrix[0, starts + 1] = shop.release + shop.times[starts]
    return matrix


@numba.njit
def floyd_warshall(matrix):
    """Return the longest paths of a matrix of arcs: their fig. 1, on one core."""
    paths = matrix.copy()
    size = len(paths)
    for k in range(size):
        for y in range(size):
            first = paths[y, k]
            for x in range(size):
                second = paths[k, x]
                if first >= 0 and second >= 0:
                    paths[y, x] = max(paths[y, x], first + second)
    return paths


def on_gpu(matrix, method: str, longest: int):
    """Return the longest paths of a matrix by ``paths.cu``, of at most 2**29."""
    import cupy

    narrow = longest < NARROW_LIMIT
    source = Path(__file__).with_name("paths.cu")
    kernel = load_module([source], {"NARROW": int(narrow)}, 0).get_function
    n, size = len(matrix), np.int32(len(matrix))
    paths = cupy.asarray(matrix)
    if method == "floyd_warshall":
        threads = min(1024, -(-n // 32) * 32)
        for k in range(n):
            kernel("floyd_step")((n,), (threads,), (paths, size, np.int32(k)))
        return paths.get()
    tiles, words = -(-n // TILE), TILE // (2 if narrow else 1)
    shared = 2 * TILE * (words + 1) * 4
    packed, spare = (
        cupy.empty((tiles * TILE, tiles * words), np.uint32) for _ in range(2)
    )
    count = np.uint32(tiles)
    arguments = (paths, size, packed, np.int32(tiles))
    kernel("pack_paths")((tiles * TILE,), (BLOCK,), arguments)
    if method == "blocked":
        rest = tiles - 1
        parts = (("close", 1), ("cross", 2 * rest), ("rest", rest * rest))
        for t in range(tiles):
            for part, blocks in parts[: 3 if rest else 1]:
                name = "close_tile" if part == "close" else f"{part}_tiles"
                given = (packed, count, np.uint32(t))
                kernel(name)((blocks,), (BLOCK,), given, shared_mem=shared)
    for _ in range((n - 1).bit_length() if method == "squaring" else 0):
        given = (packed, spare, count)
        kernel("square_tiles")((tiles**2,), (BLOCK,), given, shared_mem=shared)
        packed, spare = spare, packed
    arguments = (packed, np.int32(tiles), paths, size)
    kernel("unpack_paths")((n,), (BLOCK,), arguments)
    return paths.get()


def seconds_of(work, repeat: int):
    """Return what ``work`` returns, and its median seconds after a call that warms."""
    result, seconds = work(), []
    for _ in range(repeat):
        began = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - began)
    return result, statistics.median(seconds)


def paths(args: argparse.Namespace) -> bool:
    """Print a row for each set; whether all lengths are exact."""
    cupy = require_gpu() if has_gpu() else None
    print(
        "\n| set | o | core, O(o³), ms | core, sweep, µs | paper's kernel, ms "
        "| tiles, ms | squaring, ms | x kernel | theirs |\n" + "|---" * 9 + "|"
    )
    exact = True
    for name in args.sets:
        family, first, last = name[:2], int(name[2:4]), int(name[-2:])
        rows = []
        for number in range(first, last + 1):
            shop = jobshop.load(f"{family}{number:02}", data_dir=args.data)
            drawn = jobshop.schedule(shop, random_sequences(shop, 1, seed=3)[0])
            matrix, ends = arcs_matrix(drawn), drawn.end
            orders = np.repeat(drawn.orders[None].astype(np.int16), SWEEPS, axis=0)
            _, sweep = seconds_of(
                lambda shop=shop, orders=orders: jobshop.evaluate(
                    shop, orders, encoding="machine_orders", device="cpu", threads=1
                ),
                args.repeat,
            )
            found, cubic = seconds_of(
                lambda matrix=matrix: floyd_warshall(matrix), args.repeat
            )
            exact &= found[0, 1:].tolist() == ends.tolist()
            row = [1e3 * cubic, 1e6 * sweep / SWEEPS]
            longest = int(ends.max())
            for method in METHODS if cupy is not None else ():
                there, seconds = seconds_of(
                    lambda matrix=matrix, method=method, longest=longest: on_gpu(
                        matrix, method, longest
                    ),
                    args.repeat,
                )
                exact &= np.array_equal(there, found)
                row.append(1e3 * seconds)
            rows.append(row)
        means = np.mean(rows, axis=0).tolist()
        cells = [name, shop.n_operations, *(f"{mean:.3g}" for mean in means)]
        cells += ["-"] * (7 - len(cells))
        gain = f"{means[0] / means[2]:.2g}" if len(means) > 2 else "-"
        theirs = PAPER.get(shop.n_operations, "-") if family == "ta" else "-"
        print("|", *(f"{cell} |" for cell in (*cells, gain, theirs)), flush=True)
    return exact


def batches(args: argparse.Namespace) -> bool:
    """Print scheduled operations a second; whether all costs are exact."""
    cupy = require_gpu() if has_gpu() else None
    print("\n| shop | how | solutions | operations/s |\n" + "|---" * 4 + "|")
    exact = True
    for name, count in BATCHES.items():
        shop = jobshop.load(name)
        host = random_sequences(shop, args.solutions or count, seed=1)
        few = host[: max(1, len(host) // 64)]
        known = [jobshop.schedule(shop, one) for one in host[:64]]
        truth = [schedule.makespan for schedule in known]
        one = np.array([schedule.orders for schedule in known], np.int16)
        orders = np.tile(one, (max(1, len(few) // 256), 1, 1))
        ways = [
            (f"CPU, {what}, {threads} threads", rows, what,
             {"device": "cpu", "threads": threads})
            for what, rows in (("sequence", few), ("machine_orders", orders))
            for threads in sorted({1, usable_cores()})
        ]  # fmt: skip
        if cupy is not None:
            tiled = np.tile(one, (max(1, len(host) // 256), 1, 1))
            there = {"device": "gpu", "check": False}
            ways += [
                ("GPU, sequence, resident", cupy.asarray(host), "sequence", there),
                ("GPU, sequence, with transfers", host, "sequence", there),
                ("GPU, machine_orders, resident", cupy.asarray(tiled),
                 "machine_orders", there),
            ]  # fmt: skip
        for how, rows, encoding, given in ways:

            def work(rows=rows, encoding=encoding, given=given, shop=shop):
                costs = jobshop.evaluate(shop, rows, encoding=encoding, **given)
                if cupy is not None:
                    cupy.cuda.Device().synchronize()
                return costs

            costs, seconds = seconds_of(work, args.repeat)
            exact &= costs[: len(truth)].tolist() == truth[: len(costs)]
            rate = len(rows) * shop.n_operations / seconds
            print(f"| {name} | {how} | {len(rows):,} | {rate:.2g} |", flush=True)
    return exact


def main(arguments: list[str] | None = None) -> int:
    """Print the tables of one part; 1 if a cost is wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("part", choices=("paths", "batches"))
    parser.add_argument("--sets", nargs="+", default=SETS, metavar="ta01-10")
    parser.add_argument("--solutions", type=int, help="of a batch (default: by size)")
    parser.add_argument("--data", metavar="FOLDER", help="benchmark files: la01 ...")
    parser.add_argument("--repeat", type=int, default=5, help="runs; medians are shown")
    args = parser.parse_args(arguments)
    print(Machine())
    return int(not {"paths": paths, "batches": batches}[args.part](args))


if __name__ == "__main__":
    sys.exit(main())
