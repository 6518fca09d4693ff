"""What is the CPU engine's own; the laws of all engines are in tests/parity."""

import gc
import threading
import time

import numpy as np
import pytest

from dpbb.engines.base import Device, explore_to_end
from dpbb.engines.cpu import state
from dpbb.engines.cpu.engine import CpuEngine
from dpbb.errors import EngineUnavailable, InvariantError
from dpbb.flowshop.instance import FlowShopInstance
from dpbb.flowshop.problem import FlowShopProblem
from dpbb.flowshop.taillard import taillard_instance
from dpbb.modeling import cpu
from dpbb.options import BranchingRule, TreeOptions
from dpbb.tree import WorkUnit, n_leaves
from tests.oracle import TinyFlowShop

TA021_OPTIMUM = 2297
TA012_TREE = (1659, 91513, 12)  # ub, decomposed nodes, leaves: a golden value


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


@pytest.mark.parametrize("rule", BranchingRule)
def test_both_widths_explore_the_same_tree(monkeypatch, open_session, rule):
    problem = random_problem(5, 9, 7)
    counts = []
    for dtype in (np.int16, np.int32):
        monkeypatch.setattr(cpu, "narrowest_dtype", lambda *_, d=dtype: d)
        tree = TreeOptions(rule, branching_ub=problem.root_bound + 50)
        session = open_session(problem, tree=tree)
        total = explore_to_end(session, problem.trivial_ub)
        counts.append((total.best.value, *vars_of(total.counters)))
    assert counts[0] == counts[1]


def vars_of(counters):
    return counters.decomposed, counters.leaves, tuple(counters.closed)


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


def test_a_slice_of_no_time_visits_a_node(open_session):
    problem = taillard("ta012")
    session = open_session(problem)
    ub = TA012_TREE[0]
    decomposed = [session.advance(ub, 0).decomposed for _ in range(50)]
    assert decomposed[0] in (1, 2)  # the root, and at most one node below
    assert decomposed[1:] == [1] * 49


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


def test_counts_do_not_depend_on_what_is_asked_between_slices(open_session):
    ub, decomposed, leaves = TA012_TREE
    session = open_session(taillard("ta012"), threads=2)
    total = explore_to_end(
        session, ub, 0.001, on_slice=lambda *_: bool(len(session.remaining())) and None
    )
    assert (total.counters.decomposed, total.counters.leaves) == (decomposed, leaves)


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


@pytest.mark.parametrize("above", [0, 1])
def test_the_least_bound_is_that_of_an_open_root(open_session, above):
    """A ub that falls to it leaves nothing to visit; with one more there is a root."""
    session = open_session(taillard("ta012"))
    for _ in range(5):
        part = session.advance(TA012_TREE[0], 0)
    assert part.least_lb is not None
    last = session.advance(part.least_lb + above, 0)
    assert last.decomposed == above
    assert above or last.exhausted


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


def test_roots_that_overlap_open_ones_are_refused(open_session):
    session = open_session(random_problem(2, 9, 4))
    with pytest.raises(InvariantError, match="disjoint"):
        session.load(WorkUnit.from_paths(9, [(3,)]))


def test_the_pool_shrinks_when_a_large_unit_is_done(open_session):
    """Memory does not grow with time."""
    problem = random_problem(2, 50, 3)
    unit = WorkUnit.whole(50)
    for _ in range(2):
        unit = WorkUnit.concatenate(
            [unit.take(slice(i, i + 1)).expand(0) for i in range(len(unit))]
        )
    session = open_session(problem, unit=unit)
    explore_to_end(session, problem.root_bound)  # all pruned
    session._pool.reserve(len(unit))
    large = session._pool.address.capacity
    session.load(WorkUnit.from_paths(50, [(1, 1, 1)]))
    session.advance(0, 0)
    assert session._pool.address.capacity < large / 4


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


def test_devices_are_one_processor_with_all_its_cores():
    (device,) = CpuEngine().devices()
    assert device.kind == "cpu"
    assert device.threads >= 1
    assert device.name
    assert CpuEngine().devices(3)[0].threads == 3
    assert CpuEngine().devices()[0].uuid == device.uuid


@pytest.mark.parametrize(
    ("problem", "tree", "reason"),
    [
        (TinyFlowShop(((1, 2), (3, 4))), TreeOptions(), "no model of tiny"),
        (
            problem_of([[1, 2], [3, 4]]),
            TreeOptions(BranchingRule.MINBRANCH),
            "minbranch",
        ),
        (problem_of([[1, 2], [3, 4]]), TreeOptions(root_order=(0, 0)), "permutation"),
    ],
    ids=["another class", "no branching_ub", "no permutation"],
)
def test_what_it_does_not_take_is_refused(problem, tree, reason):
    engine = CpuEngine()
    obstacle = engine.supports(problem, tree)
    assert obstacle is not None
    assert reason is None or reason in obstacle
    with pytest.raises(EngineUnavailable, match="cpu engine"):
        engine.open(problem, tree, engine.devices(1)[0])


def test_no_thread_is_refused():
    device = Device("cpu", "test", threads=0)
    with pytest.raises(ValueError, match="at least 1 thread"):
        CpuEngine().open(random_problem(1, 3, 3), TreeOptions(), device)


def test_many_open_roots_are_listed_in_order(open_session):
    session = open_session(taillard("ta021"), ub=TA021_OPTIMUM)
    session.advance(TA021_OPTIMUM, 0.01)
    before = session.remaining()
    given = session.donate(1000)
    assert len(before) > len(given) > 2
    for unit in (before, given, session.remaining()):
        unit.check()
    assert session.remaining().leaves + given.leaves == before.leaves
