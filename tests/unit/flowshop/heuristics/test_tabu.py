"""Tabu search by itself: results, and what is refused; and as a heuristic."""

import itertools
import time

import numpy as np
import pytest

import dpbb
from dpbb.errors import OptionError
from dpbb.flowshop.heuristics.tabu import tabu
from dpbb.flowshop.makespan import makespan
from dpbb.flowshop.problem import FlowShopProblem
from dpbb.flowshop.taillard import taillard_instance
from dpbb.heuristics import Search, improve

TIMES = [[3, 2, 4], [1, 4, 2], [2, 2, 5], [6, 1, 1]]


def search(**changes):
    return dpbb.tabu_search(TIMES, **{"generations": 8, "device": "cpu", **changes})


def test_the_best_is_found_and_evaluated():
    best = min(
        makespan(np.array(TIMES), jobs) for jobs in itertools.permutations(range(4))
    )
    found = search(start=[3, 0, 1, 2], searches=3)
    assert found.value == best
    assert makespan(np.array(TIMES), found.permutation) == best
    assert found.history.shape == (3, 9)
    assert found.moves.shape == (3, 8)
    assert found.value == found.history[found.search].min()
    assert found.tenure == 7
    assert found.device == "cpu"
    assert found.neighbours == 3 * 8 * 6
    assert found.neighbours_per_s > 0


def test_starts():
    assert search(generations=0).value <= 25  # NEH's
    starts = [[0, 1, 2, 3], [3, 2, 1, 0]]
    found = search(start=starts, searches=3, generations=0)
    assert found.history[:2, 0].tolist() == [
        makespan(np.array(TIMES), jobs) for jobs in starts
    ]
    same = search(start=starts, searches=3, seed=1)
    assert (
        same.moves.tolist() == search(start=starts, searches=3, seed=1).moves.tolist()
    )


def test_one_job_has_no_neighbours():
    found = dpbb.tabu_search([[3, 4]], generations=2, device="cpu")
    assert found.value == 7
    assert found.moves.tolist() == [[-1, -1]]
    assert found.neighbours == 0
    assert dpbb.neighbourhood.swap_makespans([[3, 4]], [0]).tolist() == []


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"generations": -1}, "generations: expected a whole number from 0 to"),
        ({"searches": 0}, "searches: expected a whole number >= 1, got 0"),
        ({"tenure": 2**31}, "tenure: expected .* 0 to 1000000, got 2147483648"),
        ({"threads": True}, "threads: expected a whole number >= 1, got True"),
        ({"device": "tpu"}, "device: expected one of auto, cpu, gpu, got"),
        ({"start": [0, 1, 1, 2]}, "start: expected every job once, got job 1 again"),
        ({"start": [[0, 1, 2, 3], [1, 0]]}, "start: expected 4 jobs, got 2"),
        ({"start": [[0, 1, 2, 3]] * 3}, "at most one for each of 1 searches, got 3"),
    ],
)
def test_bad_input_is_refused(changes, said):
    with pytest.raises(OptionError, match=said):
        search(**changes)


def test_all_neighbours():
    jobs = [2, 0, 3, 1]
    times = np.array(TIMES)
    swaps = []
    for i, j in itertools.combinations(range(4), 2):
        other = list(jobs)
        other[i], other[j] = other[j], other[i]
        swaps.append(makespan(times, other))
    found = dpbb.neighbourhood.swap_makespans(TIMES, jobs)
    assert found.dtype == np.int32
    assert found.tolist() == swaps


SHOP = FlowShopProblem(taillard_instance("ta001"))
HARD = FlowShopProblem(taillard_instance("ta021"))


def start_at(jobs):
    return improve(Search(SHOP, 0), None, jobs, "initial")


def test_it_improves_and_says_so():
    seen = []
    search = Search(SHOP, 0, iterations=60, on_improvement=seen.append)
    found = tabu(search, start_at(range(20)))
    assert found.value < 1300
    assert found is seen[-1]
    assert [one.value for one in seen] == sorted({o.value for o in seen}, reverse=True)
    assert {one.source for one in seen} == {"tabu"}


def test_seed_and_iterations_repeat_a_run():
    def run(seed):
        found = tabu(Search(HARD, 0, seed=seed, iterations=600))
        return found.permutation.tolist()

    assert run(3) == run(3)
    assert len({tuple(run(seed)) for seed in range(5)}) > 1


def test_limits_end_it():
    found = tabu(Search(SHOP, 1400), start_at(range(20)))  # the bound
    assert found.proved
    assert found.value <= 1400
    begun = time.monotonic()
    tabu(Search(SHOP, 0, deadline=begun + 0.1, threads=2))
    calls = []
    tabu(Search(SHOP, 0, should_stop=lambda: calls.append(1) or len(calls) > 5))
    assert 5 < len(calls) < 20
