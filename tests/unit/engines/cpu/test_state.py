"""Layout of the CPU engine's tables: what compiled code trusts."""

from itertools import pairwise

import numpy as np
import pytest

from dpbb.engines.cpu.state import (
    GROUP_JOBS,
    PAIR_LANES,
    aligned_zeros,
    make_explorer,
    make_tables,
    plan_tables,
)
from dpbb.options import BranchingRule

TIMES = np.random.default_rng(3).integers(0, 100, (21, 11))


def tables_of(times, dtype=np.int16):
    return make_tables(times, BranchingRule.MINMIN, None, dtype, all_optima=False)


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
    assert sum(groups) <= 4 * groups[0]


@pytest.mark.parametrize("dtype", [np.int16, np.int32])
def test_steps_are_prefix_sums_of_both_directions(dtype):
    tables = tables_of(TIMES, dtype)
    steps = tables.steps[:-PAIR_LANES].reshape(len(TIMES), -1, 2)
    for job, times in enumerate(TIMES):
        for side, row in enumerate((times, times[::-1])):
            sums = np.concatenate([[0], row.cumsum()])
            np.testing.assert_array_equal(steps[job, : len(sums), side], sums)
            assert np.all(steps[job, len(sums) :, side] == sums[-1])


def test_shifted_rows_mirror_when_reversed():
    """Reversing all lanes of a shifted row gives the unshifted row of pairs."""
    tables = tables_of(TIMES)
    assert tables.row % PAIR_LANES == 0
    rows = tables.shifted[:-PAIR_LANES].reshape(len(TIMES), tables.row)[:, ::-1]
    m = TIMES.shape[1]
    np.testing.assert_array_equal(rows[:, 0 : 2 * m : 2], TIMES)
    np.testing.assert_array_equal(rows[:, 1 : 2 * m : 2], TIMES[:, ::-1])


def test_an_idle_explorer_has_the_root_on_level_0():
    explorer = make_explorer(tables_of(TIMES))
    m = TIMES.shape[1]
    heads = TIMES.cumsum(axis=1) - TIMES
    tails = TIMES[:, ::-1].cumsum(axis=1) - TIMES[:, ::-1]
    np.testing.assert_array_equal(explorer.fronts[0 : 2 * m : 2], heads.min(axis=0))
    np.testing.assert_array_equal(explorer.fronts[1 : 2 * m : 2], tails.min(axis=0))
    is_child = explorer.taken[: 2 * 3 * GROUP_JOBS] == 0
    assert is_child.tolist() == [True] * 42 + [False] * 6


@pytest.mark.parametrize(("n_jobs", "n_machines"), [(300, 1), (100, 9), (9, 3)])
def test_every_table_has_room_to_be_built_in_whole_squares(n_jobs, n_machines):
    """Overrunning the end of the memory once corrupted the heap (300 x 1)."""
    tables = tables_of(np.ones((n_jobs, n_machines), np.int64))
    columns = make_explorer(tables).columns
    squares = -(-n_machines // GROUP_JOBS)
    for first, groups in zip(tables.first_time, tables.groups, strict=True):
        last_square = first + (squares - 1) * GROUP_JOBS * PAIR_LANES * groups
        assert last_square + GROUP_JOBS * PAIR_LANES * groups <= len(columns)
        assert first + n_machines * PAIR_LANES * groups <= len(columns)


@pytest.mark.parametrize("dtype", [np.int16, np.int32])
def test_arrays_start_on_a_cache_line(dtype):
    for size in (1, 33, 1000):
        array = aligned_zeros(size, dtype)
        assert array.dtype == dtype
        assert len(array) == size
        assert array.ctypes.data % 64 == 0
