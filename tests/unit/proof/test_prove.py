"""A program that needs no certificate counts what engines count."""

from __future__ import annotations

import contextlib
import itertools
import subprocess
import sys

import numpy as np
import pytest

from dpbb.cli import main
from dpbb.flowshop import read_instance
from dpbb.proof import prove

ROWS = "--orientation", "jobs_rows", "--json"

GOLDEN = {("ta001", 1278): 7, ("ta014", 1377): 16_127, ("ta016", 1397): 1586}


@pytest.mark.parametrize(("name", "ub"), GOLDEN)
def test_it_has_the_nodes_of_the_engines(name, ub):
    times = read_instance(name).times.tolist()
    assert prove.prove(times, ub) == (GOLDEN[name, ub], 0)


def test_what_is_better_is_found():
    for seed in range(30):
        rng = np.random.default_rng(seed)
        times = rng.integers(0, 30, (rng.integers(1, 7), rng.integers(1, 5))).tolist()
        orders = itertools.permutations(range(len(times)))
        best = min(prove.makespan(times, order) for order in orders)
        assert prove.prove(times, best)[1] == 0
        assert best <= prove.prove(times, best + 1)[1] <= best


def run(path, *arguments, code=""):
    call = (
        f"import sys; {code}\nimport runpy; sys.argv[1:] = {[str(path), *arguments]}; "
    )
    call += f"runpy.run_path({prove.__file__!r}, run_name='__main__')"
    return subprocess.run(  # noqa: S603
        [sys.executable, "-I", "-c", call], capture_output=True, text=True, timeout=100
    )


def assert_reads_what_info_prints(shop, best, plain):
    told = shop.with_name("shop.json")
    for flags, code in ((), 0), (("--blocking",), 2):
        with told.open("w") as file, contextlib.redirect_stdout(file):
            assert main(["info", str(shop), *flags, *ROWS]) == 0
        assert run(told, str(best), code=plain).returncode == code


def test_it_is_a_program_that_needs_nothing_else(tmp_path):
    times = np.random.default_rng(1).integers(1, 30, (6, 4)).tolist()
    orders = itertools.permutations(range(6))
    best, order = min((prove.makespan(times, order), order) for order in orders)
    path, jobs = tmp_path / "shop.txt", " ".join(str(job + 1) for job in order)
    path.write_text("\n".join(" ".join(map(str, row)) for row in [[6, 4], *times]))
    plain = "sys.modules['numba'] = None"
    for code in "", plain:
        ran = run(path, str(best), "--order", jobs, code=code)
        assert ran.returncode == 0, ran
        assert f"optimal {best}" in ran.stdout
    assert run(path, str(best + 1), code=plain).returncode == 1
    assert_reads_what_info_prints(path, best, plain)
    assert run(path, str(best), "--order", "1 2", code=plain).returncode == 1
    assert run(path, str(best), "--order", "door 2", code=plain).returncode == 2
    ragged = '{"times": [[1, 2], [3], [4, 5, 6]]}'
    damaged = ragged, '{"times": [3]}', '{"times": []}', '{"times": 5}', "{"
    for text in *damaged, "6 4 1 2 3", "-1 -1 5", "9999 1 " + "1 " * 9999:
        path.write_text(text)
        assert run(path, "9", code=plain).returncode == 2
