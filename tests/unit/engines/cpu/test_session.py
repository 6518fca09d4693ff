"""What is the CPU engine's own; the laws of all engines are in tests/parity."""

import gc
import threading
import time

import numpy as np
import pytest

from dpbb.engines.base import Device, explore_to_end
from dpbb.engines.cpu import state
from dpbb.engines.cpu.engine import CpuEngine
from dpbb.flowshop.instance import FlowShopInstance
from dpbb.flowshop.problem import FlowShopProblem
from dpbb.flowshop.taillard import taillard_instance
from dpbb.options import TreeOptions
from dpbb.tree import WorkUnit, n_leaves

TA021_OPTIMUM = 2297


def problem_of(times):
    return FlowShopProblem(FlowShopInstance("test", np.array(times)))


def random_problem(seed, n_jobs, n_machines, high=100):
    rng = np.random.default_rng(seed)
    return problem_of(rng.integers(0, high, (n_jobs, n_machines)))


def taillard(name):
    return FlowShopProblem(taillard_instance(name))


@pytest.fixture
def open_session():
    """Open sessions that end with the test."""
    opened = []

    def open_one(problem, *, threads=1, tree=None, unit=None, **options):
        device = Device("cpu", "test", threads=threads)
        session = CpuEngine().open(problem, tree or TreeOptions(), device, **options)
        opened.append(session)
        session.load(WorkUnit.whole(problem.n_jobs) if unit is None else unit)
        return session

    yield open_one
    for session in opened:
        session.close()


# -- range of integers --------------------------------------------------------------


def test_an_instance_that_needs_32_bits_is_solved(open_session):
    """Times so long that 16 bits would wrap around: the optimum of a scaled instance
    is the scaled optimum.
    """
    small = random_problem(7, 8, 5)
    large = problem_of(small.instance.times * 10_000)
    values = [
        explore_to_end(open_session(p, threads=2), p.trivial_ub).best.value
        for p in (small, large)
    ]
    assert values[1] == 10_000 * values[0]


# -- sizes ------------------------------------------------------------------------


@pytest.mark.parametrize(("n_jobs", "n_machines"), [(800, 60), (65, 64), (40, 1)])
def test_large_shapes_conserve_leaves(open_session, n_jobs, n_machines):
    """Closed and remaining leaves are all n!, with stops and a donation between."""
    problem = random_problem(n_jobs, n_jobs, n_machines)
    session = open_session(problem, threads=2)
    closed = np.zeros(n_jobs + 1, np.int64)
    given = WorkUnit.empty(n_jobs)
    for seconds in (0, 0.05, 0):
        part = session.advance(problem.root_bound + 200, seconds)
        closed += part.closed
        rest = session.remaining()
        assert part.open_roots == len(rest)
        leaves = sum(
            int(closed[depth]) * n_leaves(n_jobs - int(depth))
            for depth in np.flatnonzero(closed)
        )
        assert leaves + rest.leaves + given.leaves == n_leaves(n_jobs)
        if seconds:
            given = session.donate(100)


# -- slices -------------------------------------------------------------------------


def test_a_slice_ends_soon_after_its_time(open_session):
    """Not a measurement: a stop that is not seen would last the whole tree, minutes."""
    session = open_session(taillard("ta021"), threads=2)
    begin = time.perf_counter()
    part = session.advance(TA021_OPTIMUM, 0.05)
    assert not part.exhausted
    assert time.perf_counter() - begin < 30


def test_idle_explorers_get_work(open_session):
    """The whole tree is one root; every explorer ends up below a part of it."""
    session = open_session(taillard("ta021"), threads=3)
    for _ in range(20):
        session.advance(TA021_OPTIMUM, 0.1)
        if all(e.counts[state.DEPTH] >= 0 for e in session._explorers):
            break
    assert all(e.counts[state.DEPTH] >= 0 for e in session._explorers)
    paths = [tuple(e.path[:3]) for e in session._explorers]
    assert len(set(paths)) > 1


@pytest.mark.parametrize("seed", range(6))
def test_one_thread_prunes_when_it_finds_a_better_leaf(open_session, seed):
    """Both of its explorers: fewer nodes than of the ub at the start; none too few."""
    problem = random_problem(seed, 7 + seed % 2, 3 + 2 * seed, high=40)
    live = explore_to_end(open_session(problem), problem.trivial_ub, 60.0)
    assert live.counters.closed_leaves == n_leaves(problem.n_jobs)
    assert live.best is not None
    least = explore_to_end(open_session(problem), live.best.value, 60.0)
    assert least.best is None
    kept = open_session(problem)
    kept.keep_ub()
    most = explore_to_end(kept, problem.trivial_ub, 60.0)
    nodes = [one.counters.decomposed for one in (least, live, most)]
    assert nodes[0] <= nodes[1] < nodes[2] / 2


# -- roots ------------------------------------------------------------------------


def test_paths_in_any_memory_layout_are_loaded(open_session):
    """Every second row of a read-only array: as units from slices and the wire are."""
    problem = random_problem(2, 9, 4)
    unit = WorkUnit.whole(9).expand(0)
    for array in unit.paths:
        array.flags.writeable = False
    total = 0
    for part in (slice(0, None, 2), slice(1, None, 2)):
        session = open_session(problem, unit=unit.take(part))
        explored = explore_to_end(session, problem.root_bound + 10)
        total += explored.counters.closed_leaves
    assert total == n_leaves(9)


# -- optima -------------------------------------------------------------------------


def test_a_full_buffer_of_optima_loses_none(monkeypatch, open_session):
    """On one machine all permutations are optimal: many more than a buffer holds."""
    monkeypatch.setattr(state, "LEAF_CAPACITY", 4)
    problem = problem_of([[3], [1], [4], [1], [5], [9]])
    session = open_session(problem, threads=2, all_optima=True)
    found, slices = [], 0
    while True:
        part = session.advance(problem.trivial_ub, 10.0)
        found += [tuple(leaf.permutation) for leaf in part.optima]
        slices += 1
        if part.exhausted:
            break
    assert slices > 1
    assert len(found) == len(set(found)) == n_leaves(6)


# -- life cycle -----------------------------------------------------------------------


def test_close_ends_all_threads_and_may_be_called_again():
    before = threading.active_count()
    device = Device("cpu", "test", threads=3)
    session = CpuEngine().open(random_problem(1, 6, 3), TreeOptions(), device)
    session.load(WorkUnit.whole(6))
    session.advance(10**6, 1.0)
    session.close()
    session.close()
    assert threading.active_count() == before


def test_a_session_frees_its_memory():
    """No reference cycle holds the arrays."""
    import weakref

    device = Device("cpu", "test", threads=1)
    session = CpuEngine().open(random_problem(1, 6, 3), TreeOptions(), device)
    session.close()
    seen = weakref.ref(session)
    del session
    gc.collect()
    assert seen() is None
