"""Fronts: costs of slots, and what a chain finds and keeps."""

import numpy as np
import pytest

from dpbb.heuristics import Search
from dpbb.kernels.compiling import entry, int64
from dpbb.kernels.pointers import addresses, pointer_of, pointers
from dpbb.modeling import fronts
from dpbb.modeling.greedy import Chain
from dpbb.modeling.insertions import Room, narrowest
from dpbb.modeling.node_lanes import LANES
from dpbb.problem import Incumbent
from tests.models import random_models
from tests.unit.modeling.test_insertions import sequence_of


@entry
def _costs(room_in, lane, sequence, length, job, first, begin):
    """Costs of a job at slots from ``first`` on, with fronts up to ``begin``."""
    room, jobs = pointers(room_in, lane), pointer_of(sequence)
    fronts.walk(room, jobs, begin, int64(0))
    given = int64(length), int64(job), int64(first), int64(begin)
    fronts.try_slots(room, jobs, *given)
    costs = np.empty(LANES, np.int64)
    for i in range(LANES):
        costs[i] = room.costs[i]
    return costs


@pytest.mark.parametrize("kind", ["completion", "ordering"])
def test_costs_of_slots_are_those_of_whole_permutations(kind):
    """With vectors, and without."""
    problem = random_models(np.random.default_rng(1), n_jobs=70)[kind].for_costs()
    dtype, _ = narrowest(problem, problem.trivial_ub, 1)
    room = Room.of(problem, dtype)
    assert (room.size > 0) == (kind == "completion")
    jobs = np.random.default_rng(2).permutation(70).tolist()
    rest, job = jobs[1:], jobs[0]
    for first, begin in ((0, 0), (5, 3), (38, 38), (64, 1)):
        given = dtype(0), sequence_of(rest, 70), 69, job, first, begin
        costs = _costs(addresses(room), *given)
        slots = range(first, min(first + LANES, 70))
        expected = [problem.evaluate([*rest[:s], job, *rest[s:]]) for s in slots]
        assert costs.tolist()[: len(slots)] == expected


@pytest.mark.parametrize("n_jobs", [4, 40])
def test_costs_are_those_of_the_sequences(n_jobs):
    problem = random_models(np.random.default_rng(3), n_jobs)["completion"]
    own = np.arange(n_jobs)
    start = Incumbent(problem.evaluate(own), own, "own")
    chain = Chain.at(Search(problem, 0), start, 0, np.zeros(1, np.int64))
    chain.advance(1, builds=True)
    values = [start.value, int(chain.values[1])]
    for _ in range(5):
        chain.advance(20)
        for jobs, value in zip((chain.current, chain.best), chain.values, strict=True):
            assert problem.evaluate(jobs[:-1]) == value
        values.append(int(chain.values[1]))
    assert values == sorted(values, reverse=True)
