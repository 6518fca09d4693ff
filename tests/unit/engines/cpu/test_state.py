"""Layout of the CPU engine's tables: what compiled code trusts."""

import numpy as np
import pytest

from dpbb.engines.cpu.state import make_explorer, make_tables
from dpbb.flowshop import FlowShopInstance, FlowShopProblem
from dpbb.kernels.pairs import GROUP_JOBS, PAIR_LANES
from dpbb.modeling.cpu import model_of
from dpbb.options import TreeOptions


def tables_of(times, dtype=np.int16):
    problem = FlowShopProblem(FlowShopInstance("test", times))
    model = model_of(problem).of(problem, None, dtype)
    return make_tables(model, problem, TreeOptions(), all_optima=False)


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
