"""What a certificate claims, explored again on a cluster, unit by unit."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from types import SimpleNamespace

import pytest
from distributed import Event, Future

import dpbb
from dpbb.cluster.client import verification
from dpbb.cluster.client.verification import explore_on
from dpbb.errors import ClusterError
from dpbb.proof.certificate import Certificate
from dpbb.proof.verify import verify
from tests.cluster.support import local_cluster
from tests.unit.proof.conftest import SHOP

pytestmark = pytest.mark.cluster


@pytest.fixture(scope="module")
def client():
    with local_cluster(threads=2, host="127.0.0.1", protocol="tcp://") as (_, client):
        yield client


@pytest.fixture(scope="module")
def content(client, tmp_path_factory):
    """Of a run whose bound fell."""
    path = tmp_path_factory.mktemp("run") / "certificate.json.gz"
    dpbb.solve(
        SHOP, client=client, engine="reference", heuristics="neh",
        certificate=str(path), verbosity="quiet",
    )  # fmt: skip
    return Certificate.read(path).content


def explored_again(content, client):
    there = partial(explore_on, client, "cpu")
    return verify(Certificate(content), everything=True, elsewhere=there)


@pytest.mark.parametrize("small", [verification.SMALL, 20])
def test_everything_is_explored_again(small, content, client, monkeypatch):
    """Units together in a task, or pieces of a unit: the counts are the same."""
    monkeypatch.setattr(verification, "SMALL", small)
    there = explored_again(content, client)
    assert there.verdict == "proved again", there.summary()
    here = verify(Certificate(content), everything=True, engine="reference")
    said = [found.checks[-1].found.partition("; by ")[0] for found in (there, here)]
    assert said[0].partition("units (")[0] == said[1].partition("units (")[0]
    assert "by a cluster" in there.checks[-1].found


async def never_says():
    await asyncio.sleep(5)


def test_a_worker_that_does_not_answer_is_told(content, client, monkeypatch):
    monkeypatch.setattr(verification, "versions", never_says)
    monkeypatch.setattr(verification, "ANSWER_S", 0.5)
    with pytest.raises(ClusterError, match=r"answer within 0\.5 s, got not all"):
        explored_again(content, client)


def never_ends(*_):
    from distributed import Event

    Event("asked for").set()
    Event("never").wait(20)


def dies(*_):
    from distributed import KilledWorker

    raise KilledWorker("a task", SimpleNamespace(address="tcp://w"), 3)


def test_tasks_that_somebody_cancels_are_told(content, client, monkeypatch):
    """Or that a scheduler forgot when it ended: nothing is said of the claim."""
    monkeypatch.setattr(verification, "explore_again", never_ends)

    def cancel():
        Event("asked for", client=client).wait(30)
        client.cancel([Future(key, client) for key in client.futures], force=True)

    with ThreadPoolExecutor(1) as thread:
        cancelled = thread.submit(cancel)
        with pytest.raises(ClusterError, match="expected the cluster to stay"):
            explored_again(content, client)
        cancelled.result()
    Event("never", client=client).set()


def test_workers_that_die_again_and_again_are_told(content, client, monkeypatch):
    monkeypatch.setattr(verification, "explore_again", dies)
    with pytest.raises(ClusterError, match="expected the cluster to stay"):
        explored_again(content, client)
