"""The file of optimal permutations."""

import asyncio

import numpy as np
import pytest

from dpbb.cluster.client import optima_file
from dpbb.cluster.client.optima_file import OptimaFile
from dpbb.coordination.optima import Optima
from dpbb.errors import ClusterError, DpbbError, OptionError
from dpbb.flowshop import FlowShopInstance, FlowShopProblem
from tests.oracle import TinyFlowShop

SAME = TinyFlowShop(((1, 0), (1, 0), (1, 0)))
"""Every order costs 3."""


def optima(value, *rows, first=0):
    return Optima(value, np.array(rows, np.uint16).reshape(len(rows), 3), first)


def test_better_value_starts_the_file_again(tmp_path):
    """What was optimal so far is not any more."""
    path = tmp_path / "optima.txt"
    path.write_text("old\n")
    file = OptimaFile(path, SAME)
    assert path.read_text() == "old\n"  # the run may be refused yet
    file.write(optima(9, (0, 1, 2)))
    file.write(optima(9, (0, 2, 1), (2, 1, 0), first=1))
    assert path.read_text() == "0 1 2\n0 2 1\n2 1 0\n"
    assert (file.value, file.position, file.count) == (9, 3, 3)
    file.write(optima(8, (1, 0, 2)))
    file.write(optima(8, first=1))
    assert path.read_text() == "1 0 2\n"
    assert (file.value, file.position, file.count) == (8, 1, 1)


def test_sequences_are_whole_where_jobs_are_given(tmp_path):
    shop = FlowShopInstance("same", np.ones((5, 1), int))
    problem = FlowShopProblem(shop, front=(3,), back=(0,))
    path = tmp_path / "optima.txt"
    file = OptimaFile(path, problem)
    file.write(optima(5, (0, 1, 2), (2, 0, 1)))
    assert path.read_text() == "3 1 2 4 0\n3 4 1 2 0\n"


def test_a_run_that_holds_some_no_more_is_refused_and_the_file_left_alone(tmp_path):
    path = tmp_path / "optima.txt"
    path.write_text("0 1 2\n0 2 1\n")
    file = OptimaFile(path, SAME)
    with pytest.raises(OptionError, match="the first 2 optimal permutations no more"):
        file.write(optima(3, (2, 1, 0), first=2))
    assert path.read_text() == "0 1 2\n0 2 1\n"
    file.write(optima(3, (2, 1, 0)))
    file.write(optima(2, (1, 2, 0), first=4))  # another reader was given the others
    assert path.read_text() == "1 2 0\n"
    assert (file.position, file.count) == (5, 1)


def test_a_disk_that_is_full_is_an_error_of_ours(tmp_path, monkeypatch):
    def full(_fd):
        raise OSError(28, "No space left on device")

    file = OptimaFile(tmp_path / "optima.txt", SAME)
    monkeypatch.setattr(optima_file.os, "fsync", full)
    with pytest.raises(DpbbError, match=r"cannot write to .*No space left"):
        file.write(optima(3, (0, 1, 2)))


def test_a_file_that_could_not_be_written_is_not_whole(tmp_path, caplog):
    answers = [(None, False)]

    async def fetch(_value, _position):
        if not answers:
            raise ClusterError("the scheduler is gone")
        return answers.pop()

    async def write():
        file = OptimaFile(tmp_path / "optima.txt", SAME)
        await file.follow(fetch)
        await file.finished()
        return file

    assert not asyncio.run(write()).is_whole("run")
    assert "the scheduler is gone" in caplog.text
