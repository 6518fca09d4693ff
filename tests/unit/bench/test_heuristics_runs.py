"""Places of runs side by side, and processes that end."""

import os
import time
from multiprocessing import active_children

import pytest

from dpbb.bench import heuristics_runs
from dpbb.bench.heuristics_runs import Task, cores_of_their_own, run_all
from dpbb.flowshop import read_instance


def test_of_two_hyperthreads_one_is_used_while_there_are_cores(monkeypatch):
    monkeypatch.setattr(heuristics_runs, "usable_cpus", lambda: set(range(2, 10)))
    # cores of CPUs 0 and 1, 2 and 3, ...: the pair of 0 is not ours
    monkeypatch.setattr(
        heuristics_runs, "_siblings", lambda cpu: [cpu - cpu % 2, cpu - cpu % 2 + 1]
    )
    assert cores_of_their_own(2, 2) == [[2, 4], [6, 8]]
    assert cores_of_their_own(3, 2) == [[2, 4], [6, 8], [3, 5]]


def test_what_fails_is_told_and_the_others_run():
    shop = read_instance("ta001")
    one = Task("ta001", shop.digest, "20x5", "neh", "cpu", 1, 0, 0.1)
    other = Task("ta001", shop.digest, "20x5", "no such", "cpu", 1, 0, 0.1)
    runs, failures = [], []
    run_all(
        [(shop, other), (shop, one)],
        [([0], None)],
        may_begin=lambda _task: True,
        on_run=runs.append,
        on_failure=lambda task, why: failures.append((task, why)),
    )
    assert [run.task for run in runs] == [one]
    ((task, why),) = failures
    assert task == other
    assert why.startswith("OptionError: heuristics: expected one of")


class Deadly:
    """An instance that ends the process that it is sent to."""

    def __reduce__(self):
        return os._exit, (1,)


def test_a_process_that_is_killed_takes_its_run_alone_with_it():
    shop = read_instance("ta001")
    tasks = [
        Task("ta001", shop.digest, "20x5", "neh", "cpu", 1, seed, 0.1)
        for seed in range(3)
    ]
    runs, failures = [], []
    run_all(
        [(Deadly(), tasks[0]), (shop, tasks[1]), (shop, tasks[2])],
        [([0], None)],
        may_begin=lambda _task: True,
        on_run=runs.append,
        on_failure=lambda task, why: failures.append((task, why)),
    )
    assert [run.task for run in runs] == tasks[1:]
    assert failures == [(tasks[0], "its process ended")]
    assert not active_children()


def test_who_interrupts_waits_for_no_run():
    shop = read_instance("ta031")
    brief = Task("ta031", shop.digest, "50x5", "neh", "cpu", 1, 0, 0.1)
    long = Task("ta031", shop.digest, "50x5", "ig", "cpu", 1, 0, 600.0)
    ends = []

    def interrupt(_run):
        ends.append(time.monotonic())
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_all(
            [(shop, long), (shop, brief)],
            [([0], None)] * 2,
            may_begin=lambda _task: True,
            on_run=interrupt,
            on_failure=lambda *_: None,
        )
    assert time.monotonic() - ends[0] < 60  # of 600
    assert not active_children()


def test_what_may_not_begin_is_left_out():
    shop = read_instance("ta001")
    task = Task("ta001", shop.digest, "20x5", "neh", "cpu", 1, 0, 0.1)
    told = []
    run_all(
        [(shop, task)],
        [([0], None)],
        may_begin=lambda _task: False,
        on_run=told.append,
        on_failure=lambda *why: told.append(why),
    )
    assert told == []
