"""Several GPUs of a host, told apart by UUID; with GPUs that are none (fake_gpu.py)."""

import os
import signal
from contextlib import suppress

import pytest

import dpbb
from dpbb.cluster.local import embedded_cluster
from dpbb.cluster.storage.checkpoint_folder import load_checkpoint
from dpbb.coordination.book import Book
from dpbb.errors import ClusterError
from dpbb.result import Termination
from tests.cluster.support import (
    HUGE,
    LARGE,
    SMALL,
    counts,
    exploring_seats,
    local_cluster,
    nannies,
    spec_of,
    submit,
    wait_until,
)
from tests.fake_gpu import fake_host

pytestmark = pytest.mark.cluster

TWO = ("GPU-a", "GPU-b")


@pytest.fixture
def host(monkeypatch):
    """Put fake GPUs into this process's environment and those of its workers."""

    def put(*uuids, **engines):
        for name, value in fake_host(*uuids, **engines).items():
            monkeypatch.setenv(name, value)
        monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)

    return put


def test_one_solve_uses_all_gpus(host):
    """A process for each, each on a GPU of its own."""
    host(*TWO)
    with embedded_cluster(engine="gpu") as (cluster, client):
        spec = spec_of(*HUGE, engine="gpu")
        with submit(client, spec) as run:
            wait_until(lambda: exploring_seats(run) == 2)
            seats = run.snapshot().seats
            table = cluster.scheduler.extensions["dpbb"].hub.table
            found = {table.seats[seat.seat].device.uuid for seat in seats}
        assert found == set(TWO)
        assert len({seat.worker for seat in seats}) == 2


def test_replaced_worker_gets_the_same_gpu(host):
    """Not the other's, when its process is killed."""
    host(*TWO)
    instance, ub, *golden = LARGE
    with embedded_cluster(engine="gpu") as (cluster, client):
        client.wait_for_workers(2)
        table_of = cluster.scheduler.extensions
        with submit(client, spec_of(instance, ub, engine="gpu")) as run:
            assert counts(run.result()) == tuple(golden)
        table = table_of["dpbb"].hub.table
        wait_until(lambda: len(table.seats) == 2)
        os.kill(cluster.workers[0].pid, signal.SIGKILL)
        wait_until(lambda: len(table.seats) == 1)
        wait_until(lambda: len(table.seats) == 2)
        assert {seat.device.uuid for seat in table.seats.values()} == set(TWO)


@pytest.mark.parametrize("uuids", [("GPU-small",), ("GPU-a-small", "GPU-b-small")])
def test_cores_go_on_where_the_gpus_refuse(host, capsys, uuids):
    """With ``auto``; one line for each says so, and nothing counts as lost."""
    host(*uuids, gpu="SmallGpu")
    instance, ub, *golden = LARGE
    result = dpbb.solve(instance, cutoff=ub, engine="auto")
    assert (result.decomposed, result.leaves) == tuple(golden)
    assert result.engine == "cpu"
    assert {seat.rpartition("/")[2] for seat in result.seats} == {"cpu0"}
    shown = capsys.readouterr().err
    for uuid in uuids:
        assert shown.count(f"cannot explore this, others go on: {uuid} is too") <= 1
    assert "is too small" in shown
    assert "waits again" not in shown


def test_a_gpu_that_refuses_leaves_the_run_to_the_others(host):
    """Whichever is asked first; with an engine asked for by name, too."""
    host("GPU-a", "GPU-small", gpu="SmallGpu")
    with embedded_cluster(engine="gpu") as (cluster, client):
        first = spec_of(*SMALL[:2], engine="gpu")
        # there may be the one seat alone yet
        with submit(client, first) as run, suppress(ClusterError):
            run.result()
        seats = cluster.scheduler.extensions["dpbb"].hub.table.seats
        wait_until(lambda: len(seats) == 2)
        with submit(client, spec_of(*LARGE[:2], engine="gpu")) as run:
            assert counts(run.result()) == LARGE[2:]
            assert [seats[seat].device.uuid for seat in run.outcome().seats] == [
                "GPU-a"
            ]


def test_a_run_that_every_gpu_refuses_ends_with_the_reason(host):
    """The engine's own words, no trace of where they were said."""
    host("GPU-small", gpu="SmallGpu")
    with pytest.raises(ClusterError) as caught:
        dpbb.solve(*LARGE[:1], cutoff=LARGE[1], engine="gpu")
    text = str(caught.value)
    assert "no seat is left to explore on, tcp://" in text
    assert text.endswith("/cuda0 says: GPU-small is too small")
    assert "Traceback" not in text


@pytest.mark.slow
def test_cores_and_gpus_on_one_run(host, monkeypatch):
    """Every seat its own engine; the slow one holds up neither run nor count."""
    monkeypatch.setattr("dpbb.coordination.balance.PLENTY", 2)  # fake GPUs hold few
    host("GPU-a", cpu="SlowCpu")
    environs = [{"DPBB_SEATS": "gpu"}, {"DPBB_SEATS": "cpu"}]
    with nannies(environs) as client:
        with submit(client, spec_of(*HUGE, engine="auto")) as run:
            wait_until(lambda: exploring_seats(run) == 2)
            seats = {seat.engine for seat in run.snapshot().seats}
            assert seats == {"cpu", "gpu"}
        with submit(client, spec_of(*LARGE[:2], engine="auto")) as run:
            outcome = run.result()
        assert counts(outcome) == LARGE[2:]
        assert "gpu" in outcome.engines


def test_a_checkpoint_goes_from_gpus_to_cores_and_back(host, tmp_path):
    """Exact counts over all three, and the books say who explored."""
    instance, ub, *golden = LARGE
    folder = str(tmp_path / "run")
    how = {"report_interval_s": 0.1, "verbosity": "quiet"}
    host(*TWO, gpu="SlowGpu", cpu="SlowCpu")  # not over before the limit is noticed
    gpus = dpbb.solve(
        instance, cutoff=ub, engine="gpu", node_limit=1, checkpoint=folder, **how
    )
    limit = gpus.decomposed + 1
    cores = dpbb.resume(folder, engine="cpu", workers=2, node_limit=limit, **how)
    host(*TWO)
    both = dpbb.resume(folder, engine="gpu", **how)
    assert gpus.termination is cores.termination is Termination.NODE_LIMIT
    assert 0 < gpus.decomposed < cores.decomposed < both.decomposed
    assert (both.decomposed, both.leaves) == tuple(golden)
    assert set(load_checkpoint(folder).seats.values()) == {"cpu", "gpu"}


def test_gifts_change_no_count(monkeypatch):
    """Donations through the wire."""
    gifts = []
    note = Book.note

    def noted(book, lease, report, checked, now):
        gifts.extend([] if report.gift is None else [report.gift])
        note(book, lease, report, checked, now)

    monkeypatch.setattr(Book, "note", noted)
    with local_cluster(3) as (_, client):
        client.wait_for_workers(3)
        for _ in range(5):
            spec = spec_of(*LARGE[:2], checkpoint_interval_s=0.3)
            with submit(client, spec) as run:
                assert counts(run.result()) == LARGE[2:]
            if gifts:
                break
    assert gifts
