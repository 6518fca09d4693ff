"""Places of runs side by side, and processes that end."""

from dpbb.bench import heuristics_runs
from dpbb.bench.heuristics_runs import Task, cores_of_their_own, run_all
from dpbb.flowshop import read_instance


def test_of_two_hyperthreads_one_is_used_while_there_are_cores(monkeypatch):
    monkeypatch.setattr(heuristics_runs, "available_cpus", lambda: set(range(2, 10)))
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
