"""Tabu search on cores against a slow search in NumPy."""

import itertools

from dpbb.flowshop.heuristics import tabu_cpu
from dpbb.flowshop.makespan import makespan
from tests.parity.tabu import check_golden, searched, shop


def neighbours(jobs):
    """All neighbours in the order of their indices, with their positions."""
    for i, j in itertools.combinations(range(len(jobs)), 2):
        other = list(jobs)
        other[i], other[j] = other[j], other[i]
        yield i, j, tuple(other)


def slow_search(run):
    """The same trajectory from the definition alone."""
    parent = tuple(range(run.parents.shape[1]))
    first, last = run.kept[0], len(parent) - run.kept[1]
    best, last_tabu, moves, values = makespan(run.times, parent), {}, [], []
    value = best
    for g in range(1, run.generation + 1):
        chosen = None
        for t, (i, j, jobs) in enumerate(neighbours(parent)):
            if i < first or j >= last:
                continue
            key = frozenset((parent[i], parent[j]))
            new = makespan(run.times, jobs)
            allowed = new < best or last_tabu.get(key, 0) < g
            if allowed and (chosen is None or new < chosen[0]):
                chosen = new, t, key, jobs
        if chosen is not None:
            value, t, key, parent = chosen
            last_tabu[key] = g + run.tenure
            best = min(best, value)
        moves.append(-1 if chosen is None else t)
        values.append(value)
    return moves, values, parent, best


def test_golden_values_and_trajectories():
    check_golden("cpu")


def test_trajectories_are_those_of_the_definition():
    for n_jobs, n_machines, longest in [(2, 3, 9), (3, 2, 9), (7, 1, 9), (8, 4, 3)]:
        instance = shop(n_jobs, n_machines, longest)
        for tenure, kept in [(0, (0, 0)), (1, (0, 0)), (6, (0, 0)), (3, (1, 1))]:
            run = searched(instance, "cpu", 12, tenure=tenure, kept=kept)
            moves, values, parent, best = slow_search(run)
            assert run.moves[0].tolist() == moves
            assert run.history[0, 1:].tolist() == values
            assert run.parents[0].tolist() == list(parent)
            assert run.values[0].tolist() == [values[-1], best]
            assert makespan(instance.times, run.bests[0]) == best


def test_threads_and_parts_change_nothing(monkeypatch):
    instance = shop(40, 5)
    one = searched(instance, "cpu", 10)
    monkeypatch.setattr(tabu_cpu, "PART_OPERATIONS", 0)
    many = searched(instance, "cpu", 10, threads=3, searches=4)
    assert many.moves[0].tolist() == one.moves[0].tolist()
    assert len({tuple(row) for row in many.moves.tolist()}) == 4
