from __future__ import annotations

import asyncio
import io
import itertools
import time
from functools import partial

import numpy as np
import pandas as pd
import pytest
from distributed import Client

import dpbb
from dpbb.cluster.local import embedded_cluster
from dpbb.errors import CheckpointError, InstanceError, OptionError
from dpbb.progress import Progress, ProgressPrinter

pytestmark = pytest.mark.cluster

SHOP = [[3, 2, 4], [1, 4, 2], [2, 2, 5], [4, 1, 1]]


def best_makespan(times):
    table = np.array(times)
    orders = itertools.permutations(range(len(table)))
    return min(dpbb.evaluate(table, order).makespan for order in orders)


@pytest.fixture(scope="module")
def client():
    with embedded_cluster(dashboard_address=":0", threads=2) as (_, client):
        yield client


@pytest.mark.parametrize("instance", [SHOP, np.array(SHOP), pd.DataFrame(SHOP)])
def test_solve_takes_tables_of_any_kind(client, instance):
    result = dpbb.solve(instance, client=client, verbosity="quiet")
    assert result.status is dpbb.Status.OPTIMAL
    assert result.makespan == best_makespan(SHOP)
    assert dpbb.evaluate(SHOP, result.permutation).makespan == result.makespan
    assert result.schedule().makespan == result.makespan
    assert client.status == "running"


@pytest.mark.parametrize("use", [dpbb.solve, dpbb.heuristic, dpbb.estimate])
def test_a_job_shop_is_sent_where_it_is_taken(use):
    shop = dpbb.jobshop.JobShopInstance.from_routes([[(0, 3), (1, 2)], [(1, 4)]])
    with pytest.raises(InstanceError, match="jobshop"):
        use(shop)


def test_solve_without_a_client_has_a_cluster_of_its_own(capsys):
    result = dpbb.solve("ta002", threads=1, heuristics="neh")
    assert result.makespan == 1359
    assert result.engine == "cpu"
    assert dict(result.versions)["dpbb"] == dpbb.__version__
    assert "BestBound" in capsys.readouterr().err


def test_progress_is_closed_also_after_an_error(client):
    class Broken(Progress):
        closed = 0

        def update(self, snapshot):
            raise ZeroDivisionError

        def close(self):
            self.closed += 1

    broken = Broken()
    with pytest.raises(ZeroDivisionError):
        dpbb.solve("ta056", client=client, heuristics="none", progress=broken)
    assert broken.closed == 1


def test_options_and_keywords_are_one(client):
    options = dpbb.SolveOptions(verbosity="quiet", cutoff=1278)
    result = dpbb.solve("ta001", client=client, options=options, cutoff=1279)
    assert result.options.cutoff == 1279
    assert (result.status, result.makespan) == (dpbb.Status.OPTIMAL, 1278)
    assert result.permutation is not None


def test_asynchronous_client_gives_awaitables(client):
    async def main():
        address = client.scheduler_info()["address"]
        async with Client(address, asynchronous=True, set_as_default=False) as own:
            result = await dpbb.solve("ta001", client=own, verbosity="quiet")
            run = await dpbb.submit("ta001", client=own, heuristics="none")
            async with run:
                last = [snapshot async for snapshot in run][-1]
            return result, last

    result, last = asyncio.run(main())
    assert (result.status, result.makespan) == (dpbb.Status.OPTIMAL, 1278)
    assert (last.value, last.lower_bound) == (1278, 1278)


def test_should_stop_ends_a_run(client):
    stream = io.StringIO()
    calls = itertools.count()
    result = dpbb.solve(
        "ta056", client=client, heuristics="none", progress=ProgressPrinter(stream),
        should_stop=lambda: next(calls) > 3,
    )  # fmt: skip
    assert result.termination is dpbb.Termination.STOPPED
    assert "dashboard http://" in stream.getvalue()


def test_submit_watches_helps_and_stops(client):
    seen = []
    with dpbb.submit("ta056", client=client, heuristics="none") as run:
        run.on_incumbent(lambda snapshot: seen.append(snapshot.value))
        order = tuple(range(50))
        assert not run.wait(0.1)
        taken = run.offer(order)  # if the run has found nothing as good yet
        sources = {step.source for step in run.snapshot().trajectory}
        assert taken == ("offer" in sources)
        run.stop()
        result = run.result()
    assert result.termination is dpbb.Termination.STOPPED
    assert result.makespan <= dpbb.evaluate("ta056", order).makespan
    assert seen


@pytest.mark.parametrize(
    ("offered", "got"),
    [
        ([0.7, 1.7, 2.7, 3.7], "a whole number at position 0, got 0.7"),
        (None, "a sequence of jobs, got None"),
        ([1, 1, 2, 3], "got job 1 again"),
    ],
)
def test_what_is_offered_is_checked_and_never_changed(client, offered, got):
    """A list of floats was cut to integers, and taken."""
    with (
        dpbb.submit(SHOP, client=client, heuristics="none") as run,
        pytest.raises(OptionError, match=got),
    ):
        run.offer(offered)


def test_what_a_run_is_told_is_checked(client):
    with dpbb.submit(SHOP, client=client, heuristics="none") as run:
        for call in (run.wait, run.save, run.on_incumbent, run.on_close, run.stream):
            with pytest.raises(OptionError, match=r"expected .*, got \[\]"):
                call([])
        for timeout in (float("nan"), True, "1", 1j, 10**400):
            with pytest.raises(OptionError, match="timeout: expected a number, got"):
                run.wait(timeout)


def test_closed_client_is_refused_before_the_heuristics(client, monkeypatch):
    monkeypatch.setattr("dpbb.solving.start.with_heuristics", None)
    with Client(client.scheduler.address, set_as_default=False) as closed:
        pass
    for call in (
        lambda: dpbb.solve(SHOP, client=closed),
        lambda: dpbb.submit(SHOP, client=closed),
        lambda: dpbb.attach("x", closed),
        lambda: dpbb.runs(closed),
    ):
        with pytest.raises(dpbb.ClusterError, match="one that is closed"):
            call()


def test_run_that_is_closed_after_its_client_and_cluster_is_silent():
    """In whatever order they are closed, also by the end of a block."""
    with embedded_cluster(dashboard_address=":0") as (_, client):
        run = dpbb.submit(SHOP, client=client, heuristics="none")
        closed = []
        run.on_close(lambda: closed.append(run))
    with run, pytest.raises(dpbb.ClusterError, match="its client is closed"):
        run.snapshot()
    run.close()
    assert closed == [run]


@pytest.mark.parametrize("option", ["optima_file", "certificate"])
def test_files_that_cannot_be_written_are_refused_at_once(
    tmp_path, monkeypatch, option
):
    """Not after the heuristics, and the start of a cluster."""
    monkeypatch.setattr("dpbb.solving.cluster.Cluster.entered", None)
    path = tmp_path / "none" / "file"
    for call in (dpbb.solve, dpbb.submit):
        with pytest.raises(OptionError, match=f"{option}: expected a file"):
            call(SHOP, all_optima=True, **{option: str(path)})


def test_a_folder_of_checkpoints_is_looked_at_before_the_heuristics(
    tmp_path, monkeypatch
):
    monkeypatch.setattr("dpbb.solving.cluster.Cluster.entered", None)
    (tmp_path / "file").touch()
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "checkpoint-000001.dpbb").touch()
    for name, expected in (("file/more", "write to"), ("other", "a checkpoint")):
        with pytest.raises(CheckpointError, match=expected):
            dpbb.solve(SHOP, checkpoint=tmp_path / name)
    with pytest.raises(TypeError):  # there is no client here
        dpbb.solve(SHOP, checkpoint=tmp_path / "new" / "folder")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "other"]


@pytest.mark.parametrize("option", ["optima_file", "certificate"])
def test_an_instance_is_not_written_to(tmp_path, option):
    book = tmp_path / "book.csv"
    book.write_text("3,2\n1,4\n")
    with pytest.raises(OptionError, match=f"{option}: expected another file than"):
        dpbb.solve(book, all_optima=True, **{option: book})
    assert book.read_text() == "3,2\n1,4\n"


@pytest.mark.parametrize(
    ("call", "arguments", "message"),
    [
        (dpbb.evaluate, (SHOP, 3), "permutation: expected a list of jobs, got 3"),
        (dpbb.runs, (4,), "client: expected a distributed.Client, got 4"),
        (dpbb.attach, ("a", 4), "client: expected a distributed.Client, got 4"),
        (dpbb.attach, (3, None), "run_id: expected the name of a run, got 3"),
        (partial(dpbb.attach, optima_file=3), ("a", None), "optima_file: expected"),
    ],
)
def test_what_is_of_another_type_is_refused(call, arguments, message):
    with pytest.raises(OptionError, match=message):
        call(*arguments)


def test_gap_limit_that_the_heuristics_reach_ends_the_search():
    result = dpbb.solve("ta022", gap_limit=0.5, threads=1, verbosity="quiet")
    assert result.termination is dpbb.Termination.GAP_LIMIT
    assert result.status is dpbb.Status.FEASIBLE
    assert {step.source for step in result.trajectory} == {"neh"}
    assert (result.decomposed, result.gap <= 0.5) == (0, True)


def test_a_result_asked_for_late_counts_until_the_end_of_the_run(client):
    """In the morning, of a run that was over at midnight."""
    began = time.monotonic()
    with dpbb.submit(SHOP, client=client, heuristics="none") as run:
        assert run.wait(60)
        took = time.monotonic() - began
        time.sleep(0.3)  # what a count that goes on would add
        asked = time.monotonic()
        result = run.result()
        asking_s = time.monotonic() - asked
        assert result.tree_seconds <= result.seconds <= took + asking_s
        assert run.result() is result


def test_submit_without_a_client_closes_its_cluster_with_the_run():
    with dpbb.submit(SHOP, heuristics="none") as run:
        inner = run._client
        assert run.result().makespan == best_makespan(SHOP)
    assert inner.status == "closed"


def test_submit_that_fails_closes_its_cluster(monkeypatch):
    clients = []

    def refuse(client, *_args, **_more):
        clients.append(client)
        raise dpbb.ClusterError("no")

    monkeypatch.setattr("dpbb.cluster.client.open.submit_run", refuse)
    with pytest.raises(dpbb.ClusterError, match=r"^no$"):
        dpbb.submit(SHOP, heuristics="none")
    assert clients[0].status == "closed"
