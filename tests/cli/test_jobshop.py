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


def test_evaluate_sequences(dpbb, shop):
    ran = dpbb("jobshop", "evaluate", shop, shop.parent / "sequences.txt")
    assert ran.code == 0
    assert ran.out.splitlines()[0].split() == ["0", "12"]
    assert ran.out.splitlines()[-1] == "best: solution 0, makespan 12"


def test_solutions_of_other_systems_are_read(dpbb, shop, tmp_path):
    file = tmp_path / "bom.txt"
    file.write_bytes(b"\xef\xbb\xbf" + SEQUENCES.replace("\n", "\r\n").encode())
    assert dpbb("jobshop", "evaluate", shop, file).code == 0


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


BAD = {
    "no such file": (("evaluate", "SHOP", "nowhere.txt"), "a file of solutions"),
    "words": (("evaluate", "SHOP", "SHOP.words"), "line 1: expected job numbers"),
    "json": (("evaluate", "SHOP", "bad.json"), "expected JSON"),
    "deep": (("evaluate", "SHOP", "deep.json"), "expected JSON"),
    "no array": (("evaluate", "SHOP", "empty.npy"), "a file of solutions"),
    "archive": (("evaluate", "SHOP", "archive.npy"), "a file of solutions"),
    "short": (("evaluate", "SHOP", "short.txt"), r"expected an array of shape"),
    "wrong": (("evaluate", "SHOP", "wrong.txt"), "solution 0: expected job 0 3 times"),
    "suffix": (
        ("evaluate", "SHOP", "sequences.txt", "--output", "a.doc"),
        "a file ending in .csv",
    ),
    "due": (
        ("evaluate", "SHOP", "sequences.txt", "--criterion", "weighted_tardiness"),
        "expected due dates",
    ),
    "cyclic": (
        (
            *("evaluate", "SHOP", "cyclic.txt", "--encoding", "machine_orders"),
            *("--output", "a.csv"),
        ),
        "a solution without a cycle",
    ),
    "instance": (("info", "ta99"), "ta01 to ta80"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_ends_with_code_2_and_says_why(dpbb, shop, monkeypatch, case):
    arguments, message = BAD[case]
    monkeypatch.chdir(shop.parent)
    (shop.parent / "SHOP.words").write_text("a b\n")
    (shop.parent / "bad.json").write_text("{")
    (shop.parent / "deep.json").write_text("[" * 200_000)
    (shop.parent / "empty.npy").write_bytes(b"")
    np.savez(shop.parent / "archive", a=np.zeros((1, 8), int))
    (shop.parent / "archive.npz").rename(shop.parent / "archive.npy")
    (shop.parent / "short.txt").write_text("0 1\n")
    (shop.parent / "wrong.txt").write_text("0 0 0 0 0 0 0 0\n")
    (shop.parent / "cyclic.txt").write_text(ORDERS.split("\n\n")[1])
    given = [shop if word == "SHOP" else word for word in arguments]
    ran = dpbb("jobshop", *given)
    assert ran.code == 2
    assert message in ran.err
    assert not (shop.parent / "a.csv").exists()
