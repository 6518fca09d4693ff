"""Layout of the CPU engine's tables: what compiled code trusts."""

from itertools import pairwise

import numpy as np
import pytest

from dpbb.engines.cpu.state import make_explorer, make_tables, plan_tables
from dpbb.flowshop import FlowShopInstance, FlowShopProblem
from dpbb.kernels.pairs import GROUP_JOBS, PAIR_LANES, TILE_GROUPS
from dpbb.modeling.cpu import model_of
from dpbb.options import TreeOptions

TIMES = np.random.default_rng(3).integers(0, 100, (21, 11))


def tables_of(times, dtype=np.int16):
    problem = FlowShopProblem(FlowShopInstance("test", times))
    model = model_of(problem).of(problem, None, dtype)
    return make_tables(model, problem, TreeOptions(), all_optima=False)


@pytest.mark.parametrize("n_jobs", [1, 2, 7, 8, 9, 16, 17, 64, 100, 200, 333, 800])
def test_every_depth_has_a_table_for_all_its_jobs(n_jobs):
    """A node's jobs, and so the children that it chooses from, have slots."""
    table_of, build_at, groups = plan_tables(n_jobs)
    assert table_of[0] == 0
    for depth in range(n_jobs):
        # the table is built one level up, with the job taken there still in it
        first = int(np.flatnonzero(table_of == table_of[depth])[0])
        built_with = n_jobs if first == 0 else n_jobs - first + 1
        assert GROUP_JOBS * groups[table_of[depth]] >= built_with
        if depth:
            new = table_of[depth] != table_of[depth - 1]
            assert build_at[depth - 1] == (table_of[depth] if new else -1)


def test_tables_below_are_much_smaller():
    """Each is worth its building, and the memory of all is a few times the first's."""
    _, _, groups = plan_tables(800)
    assert all(4 * below <= 3 * above for above, below in pairwise(groups))
    assert not any(one % TILE_GROUPS for one in groups)
    assert sum(groups) <= 4 * groups[0]


def test_an_idle_explorer_has_the_root_on_level_0():
    tables = tables_of(TIMES)
    explorer = make_explorer(tables)
    root = tables.model.root
    np.testing.assert_array_equal(explorer.nodes[: len(root)], root)
    is_child = explorer.taken[: 2 * 3 * GROUP_JOBS] == 0
    assert is_child.tolist() == [True] * 42 + [False] * 6


@pytest.mark.parametrize(("n_jobs", "n_machines"), [(300, 1), (100, 9), (9, 3)])
def test_every_table_has_room_to_be_built_in_whole_squares(n_jobs, n_machines):
    """Overrunning the end of the memory once corrupted the heap (300 x 1)."""
    tables = tables_of(np.ones((n_jobs, n_machines), np.int64))
    columns = make_explorer(tables).columns
    squares = -(-n_machines // GROUP_JOBS)
    for first, groups in zip(tables.first_lane, tables.groups, strict=True):
        last_square = first + (squares - 1) * GROUP_JOBS * PAIR_LANES * groups
        assert last_square + GROUP_JOBS * PAIR_LANES * groups <= len(columns)
        assert first + n_machines * PAIR_LANES * groups <= len(columns)
