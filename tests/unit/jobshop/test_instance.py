import numpy as np
import pytest

from dpbb.errors import InstanceError
from dpbb.flowshop.makespan import makespan
from dpbb.flowshop.taillard import taillard_instance
from dpbb.jobshop import evaluate
from dpbb.jobshop.instance import MAX_TOTAL_TIME, JobShopInstance
from tests.unit.jobshop.shops import ROUTES, SMALL


def test_the_digest_is_of_all_but_the_names():
    other = JobShopInstance.from_routes(
        ROUTES, name="other", job_names=("a", "b", "c"), machine_names=("x", "y", "z")
    )
    assert other == SMALL
    assert hash(other) == hash(SMALL)
    dated = JobShopInstance.from_routes(ROUTES, due=[9, 9, 9])
    assert dated != SMALL
    assert JobShopInstance.from_routes(ROUTES, n_machines=4) != SMALL


def test_a_flow_shop_is_a_job_shop_of_one_route():
    """Equal machine orders cost what the permutation costs in the flow shop."""
    flow = taillard_instance("ta001")
    shop = JobShopInstance.from_routes([list(enumerate(row)) for row in flow.times])
    rng = np.random.default_rng(1)
    orders = [rng.permutation(flow.n_jobs) for _ in range(30)]
    costs = evaluate(
        shop, [[order] * flow.n_machines for order in orders], encoding="machine_orders"
    )
    assert costs.tolist() == [makespan(flow.times, order) for order in orders]
    sequences = np.repeat(orders, flow.n_machines, axis=1)
    assert evaluate(shop, sequences).tolist() == costs.tolist()


def test_lower_bound_is_the_longest_job_or_machine():
    assert SMALL.lower_bound == 10  # machine 1: 4 + 2 + 4, nothing before or behind
    assert JobShopInstance.from_routes(ROUTES, release=[0, 9, 0]).lower_bound == 16


BAD = {
    "no jobs": ([], {}, "at least one job"),
    "a job without operations": ([[(0, 1)], []], {}, "job 1: expected at least one"),
    "no route": ([[(0, 1)], 7], {}, r"job 1: expected \(machine, time\) pairs"),
    "no pair": ([[(0, 1, 2)]], {}, r"a pair \(machine, time\)"),
    "a negative time": ([[(0, -1)]], {}, "time: expected a whole number >= 0, got -1"),
    "a fraction": ([[(0, 1.5)]], {}, "a whole number >= 0, got 1.5"),
    "a negative machine": ([[(-1, 1)]], {}, "machine: expected a whole number"),
    "no such machine": (
        [[(0, 1), (5, 1)]],
        {"n_machines": 3},
        "job 0, operation 1: machine: expected 0 to 2, got 5",
    ),
    "too long times": ([[(0, MAX_TOTAL_TIME)] * 2], {}, "coarser time unit"),
    "dates of other jobs": ([[(0, 1)]], {"due": [1, 2]}, "due: expected 1 numbers"),
    "a negative date": ([[(0, 1)]], {"release": [-4]}, r"release\[0\]: expected"),
    "a word for names": ([[(0, 1)]], {"job_names": "a"}, "job_names: expected names"),
    "a name twice": (
        [[(0, 1), (1, 1)]], {"machine_names": ("a", "a")}, "2 different names",
    ),
    "heavy weights": ([[(0, 1)]] * 5, {"weight": [2**29] * 5}, "weight: .* a sum"),
    "no machines": ([[(0, 1)]], {"n_machines": "two"}, "n_machines"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_bad_routes_are_refused(case):
    routes, more, message = BAD[case]
    with pytest.raises(InstanceError, match=message):
        JobShopInstance.from_routes(routes, **more)
