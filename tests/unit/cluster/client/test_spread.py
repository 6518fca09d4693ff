"""Heuristics over the workers of a cluster in this process."""

import pytest

from dpbb.cluster.client.spread import spread
from dpbb.errors import OptionError
from dpbb.flowshop.problem import FlowShopProblem
from dpbb.flowshop.taillard import taillard_instance
from dpbb.problem import StartSearch

pytestmark = pytest.mark.cluster

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


def test_a_proof_or_a_stop_ends_it(client):
    found = spread(client, PROBLEM, Asked(lower_bound=1400).search)
    assert found.proved
    asked = Asked(stop_after=3, time_limit_s=1.0)
    spread(client, PROBLEM, asked.search, starts=9)
    assert asked.polls == 4


def test_an_error_of_a_task_is_told(client):
    with pytest.raises(OptionError, match="expected 20 jobs, got 2"):
        spread(client, PROBLEM, Asked(initial=(0, 1)).search)
