"""Levels of the beam against a beam made of the problem's own bounds, one by one."""

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpbb.flowshop import FlowShopInstance, FlowShopProblem
from dpbb.flowshop.heuristics.beam import BACK, LACK, NO_KEY, NO_LACK
from dpbb.flowshop.heuristics.beam_cpu import CpuLevels
from tests import oracle


def idle_times(times, order):
    """Idle time of every machine between 0 and its last job, and that job's end."""
    idle, ends = [0] * len(times[0]), [0] * len(times[0])
    for job in order:
        end = 0
        for machine, duration in enumerate(times[job]):
            idle[machine] += max(0, end - ends[machine])
            end = max(end, ends[machine]) + duration
            ends[machine] = end
    return idle, ends


def weight_of(times, prefix, suffix, lack):
    """Weights of front and back by their definition."""
    mirror = [row[::-1] for row in times]
    lag = max(1, 3 * max(map(max, times)) // 2)
    weights = []
    for shop, order in ((times, prefix), (mirror, suffix[::-1])):
        idle, ends = idle_times(shop, order)
        shares = [idle / max(end, 1) for idle, end in zip(idle, ends, strict=True)][1:]
        near = [max(0, lag - (end - before)) / lag for before, end in pairwise(ends)]
        weights.append(sum(shares) + lack * sum(x * x for x in near) * bool(order))
    return weights


def plain_guide(problem, bound, prefix, suffix, lack):
    """The guide of a child by its formula; None: one-sided."""
    if len(prefix) + len(suffix) == problem.n_jobs:
        return bound
    if not prefix or not suffix:
        return None
    weight = sum(weight_of(problem.instance.times.tolist(), prefix, suffix, lack))
    alpha = (len(prefix) + len(suffix)) / problem.n_jobs
    return alpha * bound + (1 - alpha) * weight * bound


def candidates(problem, nodes, ub, lack=0.0):
    """All children, in order: parent, move, bound, guide."""
    found = []
    for parent, (state, free, prefix, suffix, floor) in enumerate(nodes):
        sides = [
            np.maximum(problem.child_bounds(state, np.array(free), back=back), floor)
            for back in (False, True)
        ]
        alive = [int((side < ub).sum()) for side in sides]
        totals = [int(side[side < ub].sum()) for side in sides]
        back = (alive[1], -totals[1]) < (alive[0], -totals[0])
        for job, bound in zip(free, sides[back].tolist(), strict=True):
            if bound < ub:
                ends = ([*prefix], [job, *suffix]) if back else ([*prefix, job], suffix)
                key = plain_guide(problem, bound, *ends, lack)
                found.append((parent, job + BACK * back, bound, key))
    return found


def levels_of(problem):
    return CpuLevels(problem, problem.trivial_ub)


@settings(max_examples=30, deadline=None)
@given(oracle.problems(max_jobs=7), st.data())
def test_candidates_have_the_bounds_and_guides_of_the_problem(tiny, data):
    """Along a random path: which children live, on which side, and their keys."""
    instance = FlowShopInstance("tiny", tiny.times)
    problem = FlowShopProblem(instance)
    levels = levels_of(problem)
    levels.lack = lack = data.draw(st.sampled_from([NO_LACK, LACK]))
    n_jobs = tiny.n_jobs
    levels._begin(1)
    node = problem.root_state(), list(range(n_jobs)), [], [], problem.root_bound
    for r in range(n_jobs, 1, -1):
        ub = data.draw(st.integers(1, problem.trivial_ub))
        alive = levels._expand(1, r, ub, levels.alpha(r), lambda: False)
        keys, sides = levels._keys[:r], levels._sides
        expected = candidates(problem, [node], ub, lack)
        slots = np.flatnonzero(keys != NO_KEY)
        assert alive == len(slots) == len(expected)
        for slot, (_, move, bound, key) in zip(slots, expected, strict=True):
            assert node[1][slot] == move % BACK
            assert sides[0] == move // BACK
            if key is None:
                assert keys.view(np.float32)[slot] == np.float32(1e25) * np.float32(
                    bound
                )
            else:
                assert math.isclose(keys.view(np.float32)[slot], key, rel_tol=1e-5)
        if not expected:
            return
        _, move, bound, _ = data.draw(st.sampled_from(expected))
        state, free, prefix, suffix, _ = node
        job, back = move % BACK, move >= BACK
        levels._parents[n_jobs - r, 0], levels._moves[n_jobs - r, 0] = 0, move
        levels._make(n_jobs - r, 1)
        ends = (prefix, [job, *suffix]) if back else ([*prefix, job], suffix)
        free = [one for one in free if one != job]
        node = problem.extend(state, job, back=back), free, *ends, bound
        assert levels._level.used[0].tolist() == [bool(side) for side in ends]
        expected = weight_of(tiny.times, *ends, lack)
        np.testing.assert_allclose(levels._level.weights[0], expected, rtol=1e-5)


@settings(max_examples=30, deadline=None)
@given(oracle.problems(max_jobs=7), st.integers(1, 40), st.data())
def test_a_run_keeps_the_best_and_knows_when_it_cut(tiny, width, data):
    """By bounds alone a plain beam of exact numbers keeps the same nodes."""
    problem = FlowShopProblem(FlowShopInstance("tiny", tiny.times))
    ub = data.draw(st.integers(1, problem.trivial_ub))
    levels = levels_of(problem)
    levels.alpha = lambda _r: np.float32(1)
    run = levels.run(width, ub, 3, lambda: False)
    nodes = [(problem.root_state(), list(range(tiny.n_jobs)), [], [], 0)]
    paths, keys, cut, expanded, depth = [[]], [(False, 0)], False, 0, 0

    def rank(one):
        """One-sided nodes come last."""
        _, _, bound, guide = one
        return guide is None, bound

    while depth < tiny.n_jobs:
        expanded += len(nodes)
        found = candidates(problem, nodes, ub)
        if not found:
            break
        depth += 1
        wanted = min(3, width) if depth == tiny.n_jobs else width
        if len(found) > wanted:
            cut |= depth < tiny.n_jobs
            order = sorted(range(len(found)), key=lambda i: (rank(found[i]), i))
            found = [found[i] for i in sorted(order[:wanted])]
        below = []
        for parent, move, bound, _ in found:
            state, free, prefix, suffix, _ = nodes[parent]
            job, back = move % BACK, move >= BACK
            free = [one for one in free if one != job]
            ends = (prefix, [job, *suffix]) if back else ([*prefix, job], suffix)
            below.append((problem.extend(state, job, back=back), free, *ends, bound))
        paths = [[*paths[parent], move] for parent, move, _, _ in found]
        keys = [rank(one) for one in found]
        nodes = below
    assert run.uncut == (not cut)
    assert run.nodes == expanded
    best = sorted(range(len(keys)), key=lambda i: (keys[i], i))[:3] if depth else []
    assert run.moves.tolist() == [paths[i] for i in best]


@pytest.mark.parametrize("after", [0, 1, 3, 5])
def test_a_run_that_is_stopped_says_nothing(after):
    problem = FlowShopProblem(FlowShopInstance("x", [[3, 5], [2, 2], [4, 1]]))
    asked = []

    def over():
        asked.append(True)
        return len(asked) > after

    run = levels_of(problem).run(9, problem.trivial_ub, 1, over)
    assert (run is None) == (len(asked) > after)
    assert run is None or run.uncut
