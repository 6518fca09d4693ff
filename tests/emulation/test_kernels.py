"""The kernels of both arms, lane by lane on the host: counts, leaves, open roots."""

import logging
import random
import threading
from itertools import pairwise

import numpy as np
import pytest

import dpbb
from dpbb.engines import explore_to_end
from dpbb.engines.gpu import explode as explode_module
from dpbb.engines.gpu import kernels as kernels_module
from dpbb.engines.gpu import pool as pool_module
from dpbb.engines.gpu.control import DeviceError
from dpbb.engines.gpu.explode import Exploding
from dpbb.engines.gpu.kernels import Kernels
from dpbb.engines.gpu.memory import MemoryPlan
from dpbb.errors import InvariantError
from dpbb.flowshop.instance import FlowShopInstance
from dpbb.flowshop.problem import FlowShopProblem
from dpbb.kernels.cuda_model import NARROW_LIMIT
from dpbb.options import BranchingRule, SolveOptions, TreeOptions
from dpbb.problem import StartSearch
from dpbb.tree import WorkUnit, n_leaves
from dpbb.tree.branching import tree_of
from tests.emulation.cupy_on_host import OutOfMemoryError
from tests.emulation.support import counted, problem_of, steals
from tests.intervals import unit_between
from tests.oracle import RULES, TinyFlowShop, best_orders, makespan, naive_tree
from tests.parity.subject import Subject, churn

pytestmark = pytest.mark.timeout(600)

# decomposed nodes and leaves from the table of trees that a program counted which
# shares no code with dpbb
TA014 = ("ta014", 1377, (16114, 13))
TA016 = ("ta016", 1397, (1586, 0))
TA041 = ("ta041", 2991, (16451, 0))
TA056 = ("ta056", 3620, (9175, 0))
TA049_MINBRANCH = ("ta049", 2897, (641, 0))


def random_shop(rng, n_jobs, n_machines, longest):
    """Few different times, so that bounds tie often."""
    times = [
        tuple(rng.choice((1, longest // 2, longest)) for _ in range(n_machines))
        for _ in range(n_jobs)
    ]
    return TinyFlowShop(tuple(times))


@pytest.mark.parametrize("case", [TA014, TA016, TA056], ids=lambda case: case[0])
@pytest.mark.parametrize("ordered", [False, True])
def test_golden_tree(gpu, case, ordered):
    name, ub, expected = case
    problem = problem_of(name)
    order = tuple(range(problem.n_jobs))[::-1] if ordered else None
    if steals(gpu) and case is not TA016:
        pytest.skip("a node is a warp's work there: too many")
    total = gpu.explore(problem, TreeOptions(root_order=order), ub)
    assert counted(total) == expected
    assert total.best is None


@pytest.mark.parametrize("rule", RULES)
def test_counts_are_those_of_the_naive_tree(gpu, rule):
    if steals(gpu) and rule not in (BranchingRule.MINMIN, BranchingRule.MINBRANCH):
        pytest.skip("every rule is compiled; it is the same text in both arms")
    rng = random.Random(f"{rule}")
    for longest in (2, 9, 99, 2, 9, 99):
        problem = random_shop(rng, 6, 3, longest)
        best, _ = best_orders(problem.times)
        tree = TreeOptions(rule, branching_ub=best)
        expected = naive_tree(problem, tree, best)
        total = gpu.explore(problem, tree, best)
        assert counted(total) == (len(expected.decomposed), len(expected.leaves))
        assert total.counters.closed.tolist() == expected.closed()


@pytest.mark.parametrize("longest", [9, 2 * NARROW_LIMIT])
def test_the_root_begins_where_given_jobs_end(gpu, longest):
    rng = random.Random(longest)
    for n_front, n_back in ((0, 0), (2, 0), (0, 1), (1, 2)):
        rows = random_shop(rng, 6 + n_front + n_back, 3, longest).times
        between, back = rows[n_front : n_front + 6], rows[n_front + 6 :]
        problem = TinyFlowShop(between, front=rows[:n_front], back=back)
        best, orders = problem.best_orders()
        expected = naive_tree(problem, TreeOptions(), best)
        assert counted(gpu.explore(problem, TreeOptions(), best)) == (
            len(expected.decomposed),
            len(expected.leaves),
        )
        found = gpu.explore(problem, TreeOptions(), best + 1).best
        assert tuple(found.permutation.tolist()) in orders


@pytest.mark.parametrize(
    ("longest", "branching_ub"),
    [(2500, 50_000), (2 * NARROW_LIMIT, 2**31 + 5), (2 * NARROW_LIMIT, 2**33)],
)
def test_minbranch_with_a_value_above_all_bounds(gpu, longest, branching_ub):
    rng = random.Random(longest)
    for _ in range(6):
        problem = random_shop(rng, 6, 5, longest)
        tree = TreeOptions(BranchingRule.MINBRANCH, branching_ub=branching_ub)
        best, _ = best_orders(problem.times)
        expected = naive_tree(problem, tree, best)
        total = gpu.explore(problem, tree, best)
        assert counted(total) == (len(expected.decomposed), len(expected.leaves))


def test_paths_of_more_than_256_jobs(gpu, monkeypatch):
    """Digits of 16 bits; memory for the worst case would be a gigabyte."""
    have(monkeypatch, 5000)
    rng = random.Random(300)
    times = [[rng.randint(1, 99) for _ in range(3)] for _ in range(300)]
    problem = FlowShopProblem(FlowShopInstance("300x3", times))
    with gpu.session(problem, TreeOptions(), ub=problem.root_bound + 1) as session:
        part = session.advance(problem.root_bound + 1, 0.1)
        rest = session.remaining()
        rest.check()
        assert part.decomposed > 0
        closed = sum(
            int(n) * n_leaves(300 - depth) for depth, n in enumerate(part.closed)
        )
        assert closed + rest.leaves == n_leaves(300)


@pytest.mark.parametrize(
    ("shape", "wide"), [((2, 3, 3), True), ((5, 8, 4), False), ((22, 3, 8), False)]
)
def test_of_equal_jobs_the_first_alone_is_branched_on(gpu, shape, wide):
    """Up to 66 jobs: sets of three words."""
    kinds, copies, n_machines = shape
    rng = random.Random(kinds)
    unit = NARROW_LIMIT if wide else 1
    rows = [
        [unit * rng.randint(1, 99) for _ in range(n_machines)] for _ in range(kinds)
    ]
    times = [row for row in rows for _ in range(copies)]
    rng.shuffle(times)
    problem = FlowShopProblem(FlowShopInstance("equal", times))
    tree = tree_of(problem, SolveOptions(), None)
    assert tree.skips_copies
    reference = Subject.of("reference")
    above = None if kinds == 2 else problem.root_bound + 40 * unit
    optimum = reference.explore(problem, tree, above)
    ub = optimum.best.value
    expected = reference.explore(problem, tree, ub).counters
    total = gpu.explore(problem, tree, ub)
    assert counted(total) == (expected.decomposed, expected.leaves)
    assert total.counters.closed.tolist() == expected.closed.tolist()


def test_roots_in_copies_of_equal_jobs_are_closed_where_they_are(gpu):
    """On the way down the copy is pruned, and so is what is asked for below it."""
    problem = TinyFlowShop(((3, 9), (3, 9), (4, 4), (8, 1), (8, 1)))
    tree = TreeOptions(rule_version=2)
    ub = best_orders(problem.times)[0]
    expected = naive_tree(problem, tree, ub)
    for begin, end in pairwise((0, 1, 7, 31, 32, 60, 77, 120)):
        unit = unit_between(5, begin, end)
        total = gpu.explore(problem, tree, ub, unit)
        assert total.counters.decomposed == expected.decomposed_in(begin, end)
        assert total.counters.closed_leaves == end - begin


def test_optima_are_found_and_listed(gpu):
    rng = random.Random(6)
    for _ in range(4):
        problem = random_shop(rng, 6, 3, 9)
        best, orders = best_orders(problem.times)
        total = gpu.explore(problem, TreeOptions())
        found = [int(job) for job in total.best.permutation]
        assert total.best.value == best == makespan(problem.times, found)
        with gpu.session(
            problem, TreeOptions(), ub=best + 1, all_optima=True
        ) as session:
            listed = [
                tuple(map(int, leaf.permutation))
                for leaf in explore_all(session, best + 1)
            ]
        assert len(listed) == len(orders)
        assert set(listed) == orders


def explore_all(session, ub):
    while True:
        part = session.advance(ub, 0.05)
        yield from part.optima
        if part.exhausted:
            return


@pytest.mark.parametrize("case", [TA016, TA049_MINBRANCH], ids=lambda case: case[0])
def test_stops_donations_and_reloads_lose_nothing(gpu, case):
    name, ub, expected = case
    tree = TreeOptions()
    if case is TA049_MINBRANCH:
        tree = TreeOptions(BranchingRule.MINBRANCH, branching_ub=ub)
    rng = random.Random(name)
    total, best, _ = churn(gpu, problem_of(name), tree, ub, rng, slice_s=0.02)
    assert (total.decomposed, total.leaves) == expected
    assert best is None


def test_interrupted_slices_lose_nothing(gpu):
    name, ub, expected = TA016 if steals(gpu) else TA014
    over = threading.Event()
    with gpu.session(problem_of(name), TreeOptions(), ub=ub) as session:

        def disturb():
            while not over.wait(0.002):
                session.interrupt()

        thread = threading.Thread(target=disturb)
        thread.start()
        try:
            total = explore_to_end(session, ub, 0.5)
        finally:
            over.set()
            thread.join()
    assert counted(total) == expected


@pytest.mark.parametrize("error", [OutOfMemoryError, InvariantError])
@pytest.mark.parametrize("place", ["walk", "survey"])
def test_a_session_is_lost_with_the_first_failure(gpu, monkeypatch, error, place):
    """What the device has is not what the host believes: no count may come of it."""
    name, ub, _ = TA014
    with gpu.session(problem_of(name), TreeOptions(), ub=ub) as session:
        launch = Kernels.launch

        def fail(kernels, name, *arguments, **options):
            if name == place:
                raise error("no more")
            launch(kernels, name, *arguments, **options)

        with monkeypatch.context() as patch:
            patch.setattr(Kernels, "launch", fail)
            expected = DeviceError if error is OutOfMemoryError else error
            with pytest.raises(expected, match="no more"):
                session.advance(ub, 0.0)
        with pytest.raises(ValueError, match="closed"):
            session.advance(ub, 0.0)
        with pytest.raises(ValueError, match="closed"):
            session.remaining()


# -- pages used up: the arm that keeps its open nodes in pages -------------------------


@pytest.fixture
def pages(gpu):
    """The arm with pages alone."""
    if steals(gpu):
        pytest.skip("explorers of this arm keep their nodes elsewhere")
    return gpu


def have(monkeypatch, n_pages, n_warps=8):
    plan = MemoryPlan(n_pages, n_warps, 1)
    monkeypatch.setattr(Exploding, "plan", lambda *a, **k: plan)


@pytest.mark.parametrize("n_pages", [345, 400, 3000])
def test_fewer_explorers_when_pages_are_used_up(pages, monkeypatch, caplog, n_pages):
    """50 jobs: an explorer can hold 251 pages, and eight of them are not stopped."""
    name, ub, expected = TA041
    have(monkeypatch, n_pages)
    with caplog.at_level(logging.WARNING):
        total = pages.explore(problem_of(name), TreeOptions(), ub)
    assert counted(total) == expected
    assert ("going on with" in caplog.text) == (n_pages < 3000)


def test_pages_without_hope_are_freed_at_a_better_upper_bound(pages, monkeypatch):
    """By all warps at once, as one explorer alone may be left to go on."""
    have(monkeypatch, 400)
    problem = problem_of("ta041")
    ub = problem.trivial_ub
    with pages.session(problem, TreeOptions(), ub=ub) as session:
        parts = []
        while session._arm.budget.limit != 1:
            parts.append(session.advance(ub, 0.0))
            assert not parts[-1].exhausted
        rest = session.remaining()
        parts.append(session.advance(problem.root_bound, 0.0))
    assert len(rest) > 1000
    assert parts[-1].exhausted
    assert parts[-1].decomposed == 0
    closed = sum(part.closed for part in parts)
    leaves = sum(int(n) * n_leaves(50 - depth) for depth, n in enumerate(closed))
    assert leaves == n_leaves(50)


def test_an_error_when_not_even_one_explorer_has_pages(pages, monkeypatch):
    name, ub, _ = TA041
    have(monkeypatch, 60)
    with pytest.raises(DeviceError, match="left to load"):
        pages.explore(problem_of(name), TreeOptions(), ub)


@pytest.mark.parametrize("order", [None, tuple(range(49, -1, -1))])
def test_however_short_launches_are_few_pages_wait(pages, monkeypatch, order):
    """Where each begins with what the one before left first, 2,200 wait after these."""
    have(monkeypatch, 5000, n_warps=2)
    tree = TreeOptions(root_order=order)
    with pages.session(problem_of("ta041"), tree, ub=3100) as session:
        pool, waiting = session._arm.pool, []
        for _ in range(80):
            session.advance(3100, 0.0)
            waiting.append(pool.size)
    assert max(waiting) < 600


@pytest.mark.parametrize("sides", [0, 1, 2])
def test_a_launch_begins_near_the_first_schedule_or_deep(pages, sides):
    objective = "total-completion" if sides == 1 else "makespan"
    problem = dpbb.FlowShop(problem_of("ta041").times, objective=objective)
    first = problem.first_incumbent(StartSearch("neh"))
    schedule = first.permutation.tolist()
    tree = tree_of(problem, SolveOptions(), first.value, tuple(schedule))
    with pages.session(problem, tree, ub=first.value) as session:
        pool = session._arm.pool
        for _ in range(20):
            session.advance(first.value, 0.0)
        assert pool.sides == (sides or 2)
        before = pool.pages()
        pool.control.send()
        pool.put_in_order(sides)
        numbers, meta = after = pool.pages()
        words = pool.memory.pages.get().reshape(pool.n_pages, -1, 32, 4)[numbers]

    def beside(record, depth):
        digits = record[pool.layout.path_at :].view(np.uint8)
        directions = record[pool.layout.directions_at :]
        left, taken = list(tree.root_order), [0, 0]
        for level in range(depth):
            back = int(directions[level // 32]) >> level % 32 & 1
            job = schedule[-1 - taken[1]] if back else schedule[taken[0]]
            if left.pop(digits[level]) != job:
                return level
            taken[back] += 1
        return depth

    keys = []
    for page, word in zip(words, meta.tolist(), strict=True):
        depth, records = word >> 8, page.swapaxes(0, 1).reshape(32, -1)[: word & 255]
        near = min(max(beside(record, depth) for record in records), 15)
        keys.append((near * (sides > 0), depth))
    assert sorted(zip(*before, strict=True)) == sorted(zip(*after, strict=True))
    assert keys == sorted(keys, reverse=True)
    assert len({key[not sides] for key in keys}) > 2


@pytest.mark.parametrize("slices", [0, 1])
def test_a_cleared_session_begins_anew(gpu, slices):
    name, ub, expected = TA016 if steals(gpu) else TA014
    with gpu.session(problem_of(name), TreeOptions(), ub=ub) as session:
        for _ in range(slices):
            assert not session.advance(ub, 0.001).exhausted
        session.clear()
        assert len(session.remaining()) == 0
        part = session.advance(ub, 0.001)
        assert part.exhausted
        assert (part.decomposed, part.leaves) == (0, 0)
        pool = session._arm.pool
        assert pool.free_pages == pool.n_pages
        session.load(WorkUnit.whole(20))
        assert counted(explore_to_end(session, ub)) == expected


# -- few open roots before a checkpoint ------------------------------------------------


def test_shrinking_leaves_fewer_roots_and_every_count(gpu):
    name, ub, expected = TA016 if steals(gpu) else TA014
    problem = problem_of(name)
    decomposed = leaves = 0
    fewer = []
    with gpu.session(problem, TreeOptions(), ub=ub) as session:
        while True:
            parts = [session.advance(ub, 0.01)]
            if not parts[-1].exhausted:
                parts.append(session.advance(ub, 0.05, 1))
                fewer.append(parts[-1].open_roots < parts[0].open_roots)
                assert len(session.remaining()) == parts[-1].open_roots
            decomposed += sum(part.decomposed for part in parts)
            leaves += sum(part.leaves for part in parts)
            if parts[-1].exhausted:
                break
    assert (decomposed, leaves) == expected
    assert any(fewer)


@pytest.mark.parametrize("name", ["ta041", "ta111"])
def test_lists_that_the_device_sorts_and_packs_are_those_of_the_host(
    gpu, monkeypatch, name
):
    """With 500 jobs digits are of 16 bits."""
    problem = problem_of(name)
    if name == "ta111" and steals(gpu):
        pytest.skip("explorers of this arm need more memory than there is")
    if name == "ta111":
        have(monkeypatch, 9000)
    ub = problem.trivial_ub
    with gpu.session(problem, TreeOptions(), ub=ub) as session:
        session.advance(ub, 0.0)
        wanted = session.remaining()
        monkeypatch.setattr(pool_module, "SORTED_BY_HOST", 0)
        found = session.remaining()
    assert len(wanted) > 1
    assert found == wanted
    found.check()


@pytest.fixture
def one_side(pages, monkeypatch):
    """Small instances as those of many jobs: one side of two jobs at a time."""
    monkeypatch.setattr(kernels_module, "ONE_SIDE_JOBS", range(1, 257))
    return pages


@pytest.mark.parametrize("case", [TA016, TA041], ids=lambda case: case[0])
def test_one_side_at_a_time_counts_the_same_tree(one_side, case):
    name, ub, expected = case
    problem = problem_of(name)
    assert counted(one_side.explore(problem, TreeOptions(), ub)) == expected
    total, _, _ = churn(
        *(one_side, problem, TreeOptions(), ub, random.Random(name)), slice_s=0.02
    )
    assert (total.decomposed, total.leaves) == expected


def test_one_side_at_a_time_where_bounds_tie(one_side):
    rng = random.Random(2)
    for longest in (2, 9, 99):
        problem = random_shop(rng, 7, 3, longest)
        best, orders = best_orders(problem.times)
        expected = naive_tree(problem, TreeOptions(), best)
        total = one_side.explore(problem, TreeOptions(), best)
        assert counted(total) == (len(expected.decomposed), len(expected.leaves))
        assert total.counters.closed.tolist() == expected.closed()
        found = one_side.explore(problem, TreeOptions(), best + 1).best
        assert tuple(found.permutation.tolist()) in orders


@pytest.mark.parametrize(("n_jobs", "seed", "above"), [(67, 1, 60), (129, 0, 100)])
def test_one_side_at_a_time_of_more_than_64_jobs(pages, n_jobs, seed, above):
    """Several words of jobs, the last of which has halves of its own."""
    rng = random.Random(f"{n_jobs}{seed}")
    times = [[rng.randint(1, 99) for _ in range(20)] for _ in range(n_jobs)]
    problem = FlowShopProblem(FlowShopInstance("random", times))
    ub = problem.root_bound + above
    expected = counted(Subject.of("cpu-1").explore(problem, TreeOptions(), ub))
    assert expected[0] > 100
    assert counted(pages.explore(problem, TreeOptions(), ub)) == expected


def test_parts_of_pages_lose_nothing(pages, monkeypatch):
    """Even where hardly a page is decomposed whole, the deepest first."""
    monkeypatch.setattr(explode_module, "MANY_PAGES", 0)
    monkeypatch.setattr(kernels_module, "MOST_CHILDREN", 20)
    monkeypatch.setattr(kernels_module, "FEW_CHILDREN", 6)
    for name, ub, expected in (TA016, TA041):
        problem = problem_of(name)
        assert counted(pages.explore(problem, TreeOptions(), ub)) == expected
        total, best, _ = churn(
            *(pages, problem, TreeOptions(), ub, random.Random(name)), slice_s=0.02
        )
        assert (total.decomposed, total.leaves) == expected
        assert best is None
