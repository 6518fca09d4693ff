"""Which GPUs a process may use, and what its workers are told."""

import pytest

from dpbb.cluster.worker.gpus import (
    SEATS,
    VISIBLE,
    plan_workers,
    seat_kinds,
    visible_gpus,
)
from dpbb.engines import nvml
from dpbb.errors import OptionError
from dpbb.options import TreeOptions
from tests.fake_gpu import fake_host
from tests.oracle import TinyFlowShop


@pytest.fixture
def two(monkeypatch):
    """A host with two fake GPUs."""
    for name, value in fake_host("GPU-a", "GPU-b").items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv(VISIBLE, raising=False)


@pytest.mark.parametrize(
    ("mask", "expected"),
    [
        (None, ["0", "1", "2"]),
        ("", []),
        ("-1", []),
        ("2,0", ["2", "0"]),
        ("0,7,1", ["0"]),  # CUDA hides what follows a bad ordinal
        ("1,1", ["1"]),
        ("GPU-b, MIG-c", ["GPU-b", "MIG-c"]),
        ("NoDevFiles", []),
    ],
)
def test_visible_gpus_as_cuda_takes_the_mask(monkeypatch, mask, expected):
    monkeypatch.setattr(nvml, "device_count", lambda: 3)
    environ = {} if mask is None else {VISIBLE: mask}
    assert visible_gpus(environ) == expected


def test_one_worker_for_each_gpu(two):
    """With one it uses nothing else, with ``auto`` the cores are the second choice."""
    assert plan_workers(None, "gpu") == [
        {VISIBLE: "GPU-a", SEATS: "gpu"},
        {VISIBLE: "GPU-b", SEATS: "gpu"},
    ]
    assert plan_workers(1, "auto") == [{VISIBLE: "GPU-a", SEATS: "gpu,cpu"}]


def test_workers_on_the_cores(two):
    """An engine or a problem that no GPU takes."""
    assert plan_workers(None, "cpu") == [{SEATS: "cpu"}]
    assert plan_workers(3, "reference") == [{SEATS: "cpu"}] * 3
    problem = TinyFlowShop(((3, 9), (8, 1)))
    assert plan_workers(2, "auto", problem, TreeOptions()) == [{SEATS: ""}] * 2


def test_numbers_that_cannot_be_are_refused(two):
    with pytest.raises(OptionError, match="workers: expected at least 1, got 0"):
        plan_workers(0, "cpu")
    with pytest.raises(OptionError, match=r"at most 2, .* got 3"):
        plan_workers(3, "auto")


def test_kinds_of_seats_that_a_worker_announces():
    assert seat_kinds({}) == ("cpu", "gpu")
    assert seat_kinds({SEATS: "gpu"}) == ("gpu",)
    assert seat_kinds({SEATS: "gpu, cpu"}) == ("gpu", "cpu")
    with pytest.raises(OptionError, match="DPBB_SEATS: expected cpu, gpu or gpu,cpu"):
        seat_kinds({SEATS: "tpu"})
