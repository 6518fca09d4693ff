import sys
from functools import partial

import numpy as np
import pytest

from dpbb.errors import EngineUnavailable, InstanceError, OptionError
from dpbb.jobshop import Criterion, evaluate, load, schedule
from dpbb.jobshop.instance import JobShopInstance
from dpbb.jobshop.solution import orders_of_sequence
from tests.unit.jobshop.shops import (
    GOLDEN_ROWS,
    SMALL,
    golden_shop,
    odd_shop,
    oracle_cost,
    oracle_ends,
    orders_of,
    random_sequence,
    random_sequences,
    rows_of,
)

SEQUENCE = [2, 0, 1, 0, 2, 1, 0, 1]


@pytest.mark.parametrize("row", GOLDEN_ROWS)
def test_golden_costs(row):
    shop, one = golden_shop(row), [row["sequence"]]
    assert evaluate(shop, one).tolist() == [row["cmax"]]
    sums = evaluate(shop, one, criterion="sum_completion")
    assert sums.tolist() == [row["sum_c"]]


@pytest.mark.parametrize("criterion", Criterion)
@pytest.mark.parametrize("seed", range(8))
def test_costs_are_those_of_the_oracle(seed, criterion):
    shop = odd_shop(seed)
    rng = np.random.default_rng(seed)
    sequences = np.array([random_sequence(shop, rng) for _ in range(20)])
    orders = orders_of(shop, [*sequences, *sequences], n_cyclic=20)
    ends = [oracle_ends(shop, rows_of(shop, one)) for one in orders]
    expected = [
        -1 if found is None else oracle_cost(shop, found, criterion) for found in ends
    ]
    assert evaluate(shop, sequences, criterion=criterion).tolist() == expected[:20]
    found = evaluate(shop, orders, encoding="machine_orders", criterion=criterion)
    assert found.tolist() == expected
    assert -1 in expected
    assert schedule(shop, sequences[0]).cost(criterion) == expected[0]


@pytest.mark.data
def test_all_evaluators_agree_on_all_benchmarks(shared):
    """ft, la, abz, orb, swv, yn and ta: sequences, their machine orders, cycles."""
    files = sorted((shared / "data" / "jobshop" / "instances").glob("*.txt"))
    assert len(files) == 162
    for file in files:
        shop = load(file)
        sequences = random_sequences(shop, 4, seed=len(file.name))
        costs = evaluate(shop, sequences, device="cpu").tolist()
        both = orders_of(shop, [*sequences, *sequences[:2]], n_cyclic=2)
        found = evaluate(shop, both, encoding="machine_orders", device="cpu")
        assert found.tolist()[:4] == costs
        assert set(found.tolist()[4:]) <= {-1}
        assert schedule(shop, sequences[0]).makespan == costs[0]
        with pytest.raises(InstanceError, match="cycle"):
            schedule(shop, both[4], "machine_orders")


def test_zero_and_large_times_are_exact():
    shop = odd_shop(9, longest_time=20_000_000)
    rng = np.random.default_rng(9)
    sequence = random_sequence(shop, rng)
    orders = orders_of_sequence(shop, sequence)
    ends = oracle_ends(shop, rows_of(shop, orders))
    for criterion in Criterion:
        found = evaluate(shop, [sequence], criterion=criterion)
        assert found.tolist() == [oracle_cost(shop, ends, criterion)]


BAD = {
    "one solution": (SEQUENCE, {}, InstanceError, "put it into a list"),
    "short": ([[0, 1]], {}, InstanceError, r"shape \(b, 8\) for sequence"),
    "ragged": ([[0], [0, 1]], {}, InstanceError, "one length"),
    "floats": (np.zeros((1, 8)), {}, InstanceError, "whole numbers"),
    "no job": ([[*SEQUENCE[:-1], 70_000]], {}, InstanceError, "place 7: .* got 70000"),
    "twice": ([[0] * 8], {}, InstanceError, "solution 0: expected job 0 3 times"),
    "order": (
        [[[0, 0, -1], [2, 0, 1], [2, 1, 0]]],
        {"encoding": "machine_orders"},
        InstanceError,
        "solution 0, machine 0: expected job 0 1 times, got 2",
    ),
    "a job behind the end of a row": (
        [[[0, 1, 0], [2, 0, 1], [2, 1, 0]]], {"encoding": "machine_orders"},
        InstanceError, "solution 0, machine 0: expected 2 jobs, got 3",
    ),
    "encoding": ([SEQUENCE], {"encoding": "x"}, OptionError, "encoding: expected"),
    "criterion": ([SEQUENCE], {"criterion": "x"}, OptionError, "criterion: expected"),
    "due": ([SEQUENCE], {"criterion": "weighted_tardiness"}, OptionError, "due dates"),
    "device": ([SEQUENCE], {"device": "tpu"}, OptionError, "one of auto"),
    "threads": ([SEQUENCE], {"threads": 0}, OptionError, "threads: expected"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_refused(case):
    given, more, error, message = BAD[case]
    with pytest.raises(error, match=message):
        evaluate(SMALL, given, **{"device": "cpu", **more})


def test_more_jobs_than_uint8_counts():
    shop = JobShopInstance.from_routes([[(0, 1)]] * 300)
    assert evaluate(shop, random_sequences(shop, 3, seed=1)).tolist() == [300] * 3
    with pytest.raises(InstanceError, match="solution 0: expected job 0 1 times"):
        evaluate(shop, np.arange(300).astype(np.uint8)[None])


def test_without_check_what_is_no_solution_costs_minus_two():
    given = [SEQUENCE, [0] * 8]
    assert evaluate(SMALL, given, device="cpu", check=False).tolist() == [12, -2]


def test_without_a_device_the_gpu_is_refused(monkeypatch):
    monkeypatch.setitem(sys.modules, "cupy", None)
    with pytest.raises(EngineUnavailable, match="CuPy"):
        evaluate(SMALL, [SEQUENCE], device="gpu")


def test_dask_maps_batches_as_the_documentation_says():
    import dask.array

    shop = load("ta01")
    sequences = random_sequences(shop, 400, seed=1)
    given = dask.array.from_array(sequences, chunks=(150, -1))
    costs = given.map_blocks(
        partial(evaluate, shop, threads=1), drop_axis=1, dtype=np.int64
    )
    expected = evaluate(shop, sequences, device="cpu").tolist()
    assert costs.compute(scheduler="threads").tolist() == expected
