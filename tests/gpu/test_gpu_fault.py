"""A real fault of a kernel: the error that comes, and that nothing goes on after it."""

import json
import sys
from pathlib import Path

import pytest

from dpbb.options import Balance
from tests.processes import run

pytestmark = pytest.mark.gpu

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("balance", list(Balance))
def test_a_fault_of_the_kernel_ends_the_session(gpu, balance):
    """In a process of its own, whose CUDA context it costs."""
    done = run(sys.executable, "-m", "tests.gpu.fault", balance, cwd=ROOT)
    seen = json.loads(done.stdout.splitlines()[-1])
    assert seen["before"] > 1
    kind, text = seen["fault"]
    assert kind == "DeviceError", seen
    assert "void" in text
    for name, raised in seen["after"].items():
        assert raised is not None, f"{name} after a fault: {seen}"
        assert raised[0] in ("ValueError", "DeviceError"), f"{name}: {seen}"
