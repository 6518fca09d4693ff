"""A small tabu search for job shops over the neighbourhood N5.

    python examples/10_job_shop_tabu.py [FOLDER]

It begins at the best of a thousand random sequences, moves to the neighbour that ends
first, and forbids to undo the last moves; when nothing has become better for a while it
begins anew at another one of the best sequences. ft06 (Fisher and Thompson, 1963) is
written below; la01 to la05 are read from a folder of benchmark files (default: that of
DPBB_DATA). All six reach the best known makespan in seconds.
"""

import os
import sys
from collections import deque

import numpy as np

from dpbb import jobshop

FT06 = (
    ((2, 1), (0, 3), (1, 6), (3, 7), (5, 3), (4, 6)),
    ((1, 8), (2, 5), (4, 10), (5, 10), (0, 10), (3, 4)),
    ((2, 5), (3, 4), (5, 8), (0, 9), (1, 1), (4, 7)),
    ((1, 5), (0, 5), (2, 5), (3, 3), (4, 8), (5, 9)),
    ((2, 9), (1, 3), (4, 5), (5, 4), (0, 3), (3, 1)),
    ((1, 3), (3, 3), (5, 9), (0, 10), (4, 4), (2, 1)),
)
TENURE = 10
PATIENCE = 1000


def random_sequences(shop, rng, count):
    jobs = np.repeat(np.arange(shop.n_jobs), shop.lengths)
    return rng.permuted(np.tile(jobs, (count, 1)), axis=1)


def tabu_search(shop, target, rng, most_moves=20_000):
    """Return the best schedule found, and the number of moves that it took."""
    sequences = random_sequences(shop, rng, 1000)
    starts = sequences[np.argsort(jobshop.evaluate(shop, sequences), kind="stable")]
    best, moves = None, 0
    for start in starts:
        here = jobshop.n5(shop, start, "sequence")
        tabu, local_best, idle = deque(maxlen=TENURE), here.schedule.makespan, 0
        while idle < PATIENCE:
            if best is None or here.schedule.makespan < best.makespan:
                best = here.schedule
            if best.makespan <= target or moves >= most_moves:
                return best, moves
            if not len(here):  # the critical path is a job or a machine: optimal
                return here.schedule, moves
            ties = rng.random(len(here))  # of neighbours that end at once, any one
            order = np.lexsort((ties, here.makespans)).tolist()
            allowed = [
                move
                for move in order
                if tuple(here.operations[move]) not in tabu
                or here.makespans[move] < best.makespan
            ]
            move = allowed[0] if allowed else int(rng.choice(order))
            u, v = here.operations[move].tolist()
            tabu.append((v, u))
            here = jobshop.n5(shop, here.orders(move))
            moves += 1
            idle += 1
            if here.schedule.makespan < local_best:
                local_best, idle = here.schedule.makespan, 0
    return best, moves


def main() -> None:
    folder = sys.argv[1] if len(sys.argv) > 1 else os.environ.get("DPBB_DATA")
    shops = [jobshop.JobShopInstance.from_routes(FT06, name="ft06")]
    if folder:
        shops += [jobshop.load(f"la{n:02d}", data_dir=folder) for n in range(1, 6)]
    for shop in shops:
        known = jobshop.best_known(shop.name)
        target = known.upper_bound
        found, moves = tabu_search(shop, target, np.random.default_rng(1))
        print(
            f"{shop.name}: makespan {found.makespan} after {moves} moves, "
            f"best known {known}"
        )
    print(found)


if __name__ == "__main__":
    main()
