"""Heuristics over the workers of a cluster in this process."""

import numpy as np
import pytest

from dpbb import tabu_search
from dpbb.errors import OptionError
from dpbb.flowshop import FlowShopInstance
from dpbb.flowshop.heuristics.spread import n_tasks, results, spread
from dpbb.flowshop.problem import FlowShopProblem
from dpbb.flowshop.taillard import taillard_instance
from dpbb.problem import StartSearch

pytestmark = pytest.mark.cluster

EASY = FlowShopProblem(
    FlowShopInstance("easy", np.random.default_rng(4).integers(1, 20, (5, 4)))
)
"""Its optimum is 108, the bound of its root 105."""

PROBLEM = FlowShopProblem(taillard_instance("ta001"))


@pytest.fixture(scope="module")
def client():
    from distributed import Client, LocalCluster

    with (
        LocalCluster(
            n_workers=2, threads_per_worker=2, processes=False, dashboard_address=None
        ) as cluster,
        Client(cluster) as client,
    ):
        yield client


class Asked:
    """What is told of a search, and when it stops."""

    def __init__(self, stop_after=None, **values):
        self.seen, self.polls = [], 0
        self.search = StartSearch(
            **{"method": "tabu", "initial": tuple(range(20)), **values},
            on_improvement=self.seen.append,
            should_stop=self.poll,
        )
        self.stop_after = stop_after

    def poll(self):
        self.polls += 1
        return self.stop_after is not None and self.polls > self.stop_after


@pytest.mark.parametrize("method", ["tabu", "ig"])
def test_the_best_of_all_tasks_is_told(client, method):
    asked = Asked(method=method, seed=5, iterations=30)
    found = spread(client, PROBLEM, asked.search)
    assert found is asked.seen[-1]
    values = [one.value for one in asked.seen]
    assert values == sorted(set(values), reverse=True)
    assert found.value < 1330


def test_a_proof_or_a_stop_ends_it(client):
    found = spread(client, PROBLEM, Asked(lower_bound=1400).search)
    assert found.proved
    asked = Asked(stop_after=3, time_limit_s=1.0)
    spread(client, PROBLEM, asked.search, starts=9)
    assert asked.polls == 4


def test_errors_of_workers_and_of_clients_are_told(client):
    with pytest.raises(ZeroDivisionError):
        list(results(client, lambda x: 1 // x, [1, 0]))
    with pytest.raises(OptionError, match=r"a distributed\.Client, got 7"):
        n_tasks(7, per_thread=True)
    assert n_tasks(client, per_thread=True) == 4
    assert n_tasks(client, per_thread=False) == 2


def test_many_starts_go_without_a_warning(client, recwarn):
    """Dask warns of more than 10 MiB."""
    arguments = [np.zeros(1_500_000) for _ in range(2)]
    assert list(results(client, len, arguments)) == [1_500_000] * 2
    assert not [one for one in recwarn if "large graph" in str(one.message)]


def test_tabu_searches_over_a_cluster_are_those_of_one_machine(client):
    how = {"generations": 20, "searches": 5, "seed": 2, "device": "cpu"}
    here = tabu_search("ta001", range(20), **how)
    there = tabu_search("ta001", range(20), client=client, **how)
    assert there.history.tolist() == here.history.tolist()
    assert there.moves.tolist() == here.moves.tolist()
    assert there.permutation.tolist() == here.permutation.tolist()
    assert (there.value, there.search) == (here.value, here.search)
    assert there.neighbours == here.neighbours == 5 * 20 * 190
    address = client.scheduler.address
    again = tabu_search("ta001", range(20), scheduler=address, **how)
    assert again.value == here.value
