"""The map shows a cell iff an open root touches it."""

from math import factorial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpbb.coordination.span_map import N_CELLS, cells_of, spans_of, states_of
from dpbb.tree.work_unit import WorkUnit
from tests.intervals import intervals_of, unit_between


def touched(unit):
    """Cells by exact arithmetic on leaf intervals."""
    total, cells = factorial(unit.n_jobs), set()
    for interval in intervals_of(unit):
        first = interval.begin * N_CELLS // total
        cells |= set(range(first, -(-interval.end * N_CELLS // total)))
    return cells


@given(st.integers(1, 12), st.data())
def test_cells_are_those_that_roots_touch(n_jobs, data):
    ends = data.draw(
        st.lists(st.integers(0, factorial(n_jobs)), min_size=2, max_size=2)
    )
    unit = unit_between(n_jobs, min(ends), max(ends))
    cells = {index for index, here in enumerate(cells_of(unit)) if here}
    exact = touched(unit)
    # a root that is far narrower than a cell may be taken for one at its border
    assert len(cells ^ exact) <= 2
    assert bool(cells) == bool(exact)


@pytest.mark.parametrize("n_jobs", [1, 2, 5, 20, 100, 800])
def test_whole_tree_is_the_whole_map(n_jobs):
    assert cells_of(WorkUnit.whole(n_jobs)).all()
    assert not cells_of(WorkUnit.empty(n_jobs)).any()


def test_first_and_last_leaf_are_in_the_first_and_last_cell():
    n_jobs = 100
    last = tuple(n_jobs - 1 - level for level in range(n_jobs - 1))
    unit = WorkUnit.from_paths(n_jobs, [(0,) * (n_jobs - 1), last])
    assert cells_of(unit).nonzero()[0].tolist() == [0, N_CELLS - 1]


def test_leased_wins_over_waiting():
    half = cells_of(unit_between(5, 0, 60))
    whole = cells_of(WorkUnit.whole(5))
    assert spans_of([whole], [half]) == ((0.0, 0.5, "leased"), (0.5, 1.0, "waiting"))
    assert spans_of([], [half, half]) == ((0.0, 0.5, "leased"),)
    assert spans_of([], []) == ()
    assert states_of(spans_of([whole], [half])).tolist() == [2] * 120 + [1] * 120
