"""The settings of Dask for long runs: each exists, is one, and a cluster solves."""

import socket
from pathlib import Path

import dask.config
import pytest
import yaml

import dpbb
from tests.cluster.support import local_cluster

FILE = Path(__file__).parents[2] / "dpbb" / "cluster" / "dask.yaml"


def leaves(tree, path=()):
    """Dotted names and values."""
    for key, value in tree.items():
        if isinstance(value, dict):
            yield from leaves(value, (*path, key))
        else:
            yield ".".join((*path, key)), value


SETTINGS = dict(leaves(yaml.safe_load(FILE.read_text())))


@pytest.mark.parametrize("name", SETTINGS)
def test_setting_is_one_of_dask_and_no_default(name):
    """A name with a slip would change nothing, and nobody would see it."""
    default = dask.config.get(name)
    assert SETTINGS[name] != default
    assert not isinstance(default, dict)


@pytest.mark.cluster
def test_cluster_with_the_settings_solves():
    """They reach scheduler and worker, and nothing of them is in our way."""
    with (
        dask.config.set(SETTINGS),
        local_cluster(protocol="tcp://") as (cluster, client),
    ):
        scheduler, worker = cluster.scheduler, cluster.workers[0]
        assert scheduler.allowed_failures == 1000
        assert scheduler.worker_ttl == 900
        assert scheduler.UNKNOWN_TASK_DURATION == 3600
        assert worker.memory_manager.memory_target_fraction is False
        assert worker.memory_manager.memory_spill_fraction is False
        assert worker.memory_manager.memory_pause_fraction is False
        assert "profile" not in worker.periodic_callbacks
        assert worker.state.log.maxlen == 20
        if hasattr(socket, "TCP_USER_TIMEOUT"):
            to_worker = scheduler.stream_comms[worker.address].comm.stream.socket
            found = to_worker.getsockopt(socket.SOL_TCP, socket.TCP_USER_TIMEOUT)
            assert found == 120_000
        result = dpbb.solve("ta001", client=client, verbosity="quiet")
    assert result.makespan == 1278
