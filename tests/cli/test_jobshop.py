"""``dpbb jobshop``: what is known of an instance, costs of solutions, schedules."""

import json

import numpy as np
import pytest

SHOP = "3 3\n0 3 1 2 2 2\n0 2 2 1 1 4\n1 4 2 3\n"
SEQUENCES = "2 0 1 0 2 1 0 1\n0,0,0,1,1,1,2,2\n"
ORDERS = "0 1\n2 0 1\n2 1 0\n\n0 1\n1 0 2\n0 2 1\n"


@pytest.fixture
def shop(tmp_path):
    (tmp_path / "shop.txt").write_text(SHOP)
    (tmp_path / "sequences.txt").write_text(SEQUENCES)
    (tmp_path / "orders.txt").write_text(ORDERS)
    return tmp_path / "shop.txt"


def test_info(dpbb, shop):
    ran = dpbb("jobshop", "info", shop)
    assert ran.code == 0
    assert "operations     8, 2 to 3 of a job" in ran.out
    assert "best known     unknown" in ran.out
    facts = json.loads(dpbb("jobshop", "info", "ta01", "--json").out)
    assert (facts["lower_bound"], facts["best_known_makespan"]) == (1005, 1231)


def test_evaluate_machine_orders_of_which_one_is_cyclic(dpbb, shop):
    given = (shop, shop.parent / "orders.txt", "--encoding", "machine_orders")
    assert "cyclic" in dpbb("jobshop", "evaluate", *given).out
    values = json.loads(
        dpbb(
            *("jobshop", "evaluate", *given, "--json"),
            *("--criterion", "sum_completion"),
        ).out
    )
    assert (values["costs"], values["best"]) == ([29, -1], 0)


@pytest.mark.parametrize("suffix", ["npy", "json"])
def test_evaluate_takes_arrays_and_json(dpbb, shop, tmp_path, suffix):
    rows = [[int(job) for job in SEQUENCES.splitlines()[0].split()]] * 2
    file = tmp_path / f"solutions.{suffix}"
    if suffix == "npy":
        np.save(file, np.array(rows))
    else:
        file.write_text(json.dumps(rows))
    values = json.loads(dpbb("jobshop", "evaluate", shop, file, "--json").out)
    assert values["costs"] == [12, 12]


@pytest.mark.parametrize("suffix", ["csv", "json", "png"])
def test_the_best_schedule_is_written(dpbb, shop, tmp_path, suffix):
    out = tmp_path / f"best.{suffix}"
    solutions = shop.parent / "sequences.txt"
    ran = dpbb("jobshop", "evaluate", shop, solutions, "--output", out)
    assert ran.code == 0
    begins = {"csv": b"job,operation,machine,start,end\n0,0,0,0,3", "png": b"\x89PNG"}
    assert out.read_bytes().startswith(begins.get(suffix, b'{"instance": "shop"'))
