"""Runs that are interrupted and go on: counts, schedulers that die, damaged folders."""

from __future__ import annotations

import asyncio
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from math import factorial

import fsspec
import pytest
from distributed import Client
from distributed.utils_test import gen_cluster
from fsspec.implementations.memory import MemoryFileSystem

import dpbb
from dpbb.cluster.storage.checkpoint_folder import (
    folder_of,
    load_checkpoint,
    resumed_id,
)
from dpbb.cluster.timeouts import DEFAULTS
from dpbb.coordination.format import to_bytes
from dpbb.errors import CheckpointError, OptionError
from dpbb.progress import Progress
from dpbb.result import Status, Termination
from tests.cluster.support import (
    HUGE,
    LARGE,
    MIDDLE,
    ONE,
    books_hold,
    counts,
    local_cluster,
    slow_cpu_engine,
    spec_of,
    submit,
    until,
    wait_until,
)
from tests.processes import dask_processes
from tests.specs import changed

pytestmark = pytest.mark.cluster


async def go_on(client, source, **changes):
    saved = load_checkpoint(str(source))
    run_id = resumed_id(saved.spec.run_id)
    changes = {"checkpoint": folder_of(str(source))} | changes
    spec = changed(
        saved.spec, run_id=run_id, upper_bound=saved.cutoff, permutation=None, **changes
    )
    return await submit(client, spec, saved=to_bytes(saved))


@gen_cluster(client=True, nthreads=ONE * 2, timeout=100)
async def test_a_saved_run_goes_on_with_exact_counts(c, s, a, b, tmp_path, monkeypatch):
    """Save, stop, resume, save into the folder, stop, resume: one tree in all."""
    instance, ub, *golden = LARGE
    file, folder = tmp_path / "saved.dpbb", tmp_path / "folder"
    with slow_cpu_engine(monkeypatch):  # it is not over before it is interrupted
        run = await submit(c, spec_of(instance, ub, certificate=True))
        await until(lambda: sum(len(w.extensions["dpbb"]._links) for w in (a, b)) == 2)
        await run.save(file)
        await run.close()

        run = await go_on(c, file, checkpoint=str(folder))
        snapshot = await run.snapshot()
        assert snapshot.checkpoint.url == str(folder)
        status = await run.save_now()
        assert status.written == 1
        assert status.files == ("checkpoint-000001.dpbb",)
        await run.stop()
        assert (await run.outcome()).termination is Termination.STOPPED
        await run.close()
    assert load_checkpoint(str(folder)).spec.run_id == run.run_id

    run = await go_on(c, folder)
    outcome = await run.result()
    assert counts(outcome) == tuple(golden)
    closed = sum(entry.counts.closed_leaves for entry in outcome.journal.units)
    assert closed == factorial(20)
    snapshot = await run.snapshot()
    assert "checkpoint" in {event.kind for event in snapshot.events}
    await run.close()
    assert load_checkpoint(str(folder)).finished


@gen_cluster(client=True, nthreads=ONE, timeout=100)
async def test_a_folder_that_fails_is_told_and_not_fatal(c, s, a, tmp_path):
    (tmp_path / "file").write_text("")
    nowhere = spec_of(*MIDDLE[:2], checkpoint=str(tmp_path / "file" / "run"))
    with pytest.raises(CheckpointError, match=r"on host .*NotADirectoryError"):
        await submit(c, nowhere)
    folder = tmp_path / "run"
    run = await submit(c, spec_of(*HUGE, checkpoint=str(folder)))
    await run.save_now()
    folder.rename(tmp_path / "moved")
    folder.write_text("in the way")
    with pytest.raises(CheckpointError, match="cannot write to"):
        await run.save_now()
    status = (await run.snapshot()).checkpoint
    assert status.failures == 1
    assert "cannot write to" in status.error
    folder.unlink()
    (tmp_path / "moved").rename(folder)
    assert (await run.save_now()).written == 2
    await run.close()
    with pytest.raises(CheckpointError, match="of another run"):
        await submit(c, spec_of(*MIDDLE[:2], checkpoint=str(folder)))


class Hanging(MemoryFileSystem):
    """Does not answer while ``answers`` is not set."""

    protocol = "dpbb-hanging"
    answers = threading.Event()

    @classmethod
    def _strip_protocol(cls, path):
        return super()._strip_protocol(path.removeprefix("dpbb-hanging:"))

    def pipe_file(self, path, value, **options):
        self.answers.wait(60)
        return super().pipe_file(path, value, **options)


@pytest.fixture
def hanging(monkeypatch):
    """Files that hang from when its event is cleared until the end of the test."""
    monkeypatch.setitem(DEFAULTS, "store", 0.5)
    fsspec.register_implementation("dpbb-hanging", Hanging, clobber=True)
    Hanging.answers.set()
    yield Hanging.answers
    Hanging.answers.set()


@gen_cluster(client=True, nthreads=ONE * 2, timeout=100)
async def test_a_folder_that_hangs_costs_its_run_alone_its_checkpoints(
    c, s, a, b, tmp_path, hanging, monkeypatch
):
    """It is told; another run, a stop and the end of the cluster do not wait for it."""
    urls = [f"dpbb-hanging://{name}-{tmp_path.name}" for name in "ab"]
    specs = [
        spec_of(*HUGE, checkpoint=url, checkpoint_interval_s=0.1)
        for url in (*urls, str(tmp_path))
    ]
    stopped, running, other = [await submit(c, spec) for spec in specs]

    async def status(run):
        return (await run.snapshot()).checkpoint

    async def written(run, more=3):
        wanted = (await status(run)).written + more
        while (await status(run)).written < wanted:
            await asyncio.sleep(0.01)

    async def found_to_hang(run, url):
        failures = (await status(run)).failures
        while (now := await status(run)).failures == failures:
            await asyncio.sleep(0.01)
        assert f"{url} on host" in now.error
        assert "has not answered for" in now.error
        with pytest.raises(CheckpointError, match="hangs: no checkpoint now"):
            await run.save_now()

    await asyncio.gather(written(stopped), written(running))
    hanging.clear()
    await asyncio.gather(*map(found_to_hang, (stopped, running), urls))
    await written(other)
    assert (await status(other)).failures == 0
    await stopped.stop()
    assert (await stopped.outcome(10)).termination is Termination.STOPPED
    with monkeypatch.context() as patch:
        patch.setitem(DEFAULTS, "store-open", 0.2)
        with pytest.raises(CheckpointError, match="-new has not answered"):
            await submit(c, spec_of(*HUGE, checkpoint=f"{urls[0]}-new"))
    hanging.set()
    await written(running)
    owner = f"{urls[0]}/owner.json"  # the run that was stopped leaves its folder now
    while await asyncio.to_thread(fsspec.filesystem("dpbb-hanging").exists, owner):
        await asyncio.sleep(0.01)
    hanging.clear()
    await found_to_hang(running, urls[1])
    runs = s.extensions["dpbb"].hub.runs.values()
    closing = [run.keeper.close() for run in runs]  # as at the scheduler's end
    await asyncio.wait_for(asyncio.gather(*closing), 10)
    hanging.set()


@gen_cluster(client=True, nthreads=ONE, timeout=100)
async def test_two_runs_do_not_go_on_from_one_folder_at_a_time(c, s, a, tmp_path):
    """The second is told who is there; when the first is over, it may."""
    folder = tmp_path / "run"
    first = await submit(c, spec_of(*HUGE, checkpoint=str(folder)))
    await first.save_now()
    assert "owner.json" in {path.name for path in folder.iterdir()}
    with pytest.raises(CheckpointError, match=f"run {first.run_id} on host"):
        await go_on(c, folder)
    assert (await first.save_now()).failures == 0
    await first.stop()
    await first.wait()
    assert "owner.json" not in {path.name for path in folder.iterdir()}
    second = await go_on(c, folder)
    (folder / "owner.json").unlink()
    third = await go_on(c, folder)  # somebody was sure that the second is dead
    with pytest.raises(CheckpointError, match=f"run {third.run_id} on host"):
        await second.save_now()
    assert (await third.save_now()).failures == 0
    for run in (first, second, third):
        await run.close()


@pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL")
def test_a_killed_scheduler_costs_an_interval(tmp_path):
    """SIGKILL of the scheduler's process in mid-run; another one goes on, exactly."""
    instance, ub, *golden = LARGE
    folder = tmp_path / "run"
    with dask_processes(1) as processes:
        with Client(processes.address, timeout=30) as client:
            client.wait_for_workers(1, timeout=60)
            saving = {"checkpoint": str(folder), "checkpoint_interval_s": 0.2}
            submit(client, spec_of(instance, ub, certificate=True, **saving))
            wait_until(lambda: len(list(folder.glob("*.dpbb"))) >= 3)
            processes.end(processes.scheduler)
        processes.end_all()
        saved = load_checkpoint(str(folder))
        assert saved.counters.decomposed < golden[0]
        processes.start_scheduler()
        processes.add_worker()
        with Client(processes.address, timeout=30) as client:
            client.wait_for_workers(1, timeout=60)
            result = dpbb.resume(folder, client=client, verbosity="quiet")
    assert (result.decomposed, result.leaves) == tuple(golden)
    assert result.status is Status.INFEASIBLE_CUTOFF
    assert result.seconds > saved.totals.seconds
    assert books_hold(result.certificate)


def test_solve_and_resume(tmp_path):
    """From the embedded cluster to another one; options that may change, or not."""
    instance, ub, *golden = LARGE
    folder = tmp_path / "run"
    how = {"engine": "cpu", "checkpoint": str(folder), "verbosity": "quiet"}
    first = dpbb.solve(
        instance, cutoff=ub, threads=1, node_limit=1_000_000, report_interval_s=0.1,
        **how,
    )  # fmt: skip
    assert first.termination is Termination.NODE_LIMIT
    with pytest.raises(OptionError, match="branching: expected minmin, as the run"):
        dpbb.resume(folder, branching="maxsum")
    with pytest.raises(OptionError, match="branching_ub: expected None, as the run"):
        dpbb.resume(folder, tuning={"branching_ub": 2100})
    with pytest.raises(OptionError, match="upper_bound: expected at most 2200"):
        dpbb.resume(folder, upper_bound=2300, verbosity="quiet")
    with pytest.raises(OptionError, match="cutoff: expected 2200, as the run"):
        dpbb.resume(folder, cutoff=2000)
    again = dpbb.resume(folder, workers=2, engine="cpu", verbosity="quiet")
    assert again.status is Status.INFEASIBLE_CUTOFF
    assert (again.decomposed, again.leaves) == tuple(golden)
    assert again.tree_seconds > first.tree_seconds
    assert again.seconds > first.seconds
    # a run that is over has nothing to do
    third = dpbb.solve(instance, cutoff=ub, **how)
    assert third.status is Status.INFEASIBLE_CUTOFF
    assert (third.decomposed, third.leaves) == tuple(golden)
    fresh = dpbb.solve(instance, cutoff=ub, fresh=True, node_limit=1, **how)
    assert fresh.decomposed < golden[0]
    assert load_checkpoint(str(folder)).counters.decomposed == fresh.decomposed


def test_the_same_call_attaches_to_the_run_whose_client_is_gone(tmp_path):
    """Or is refused, if it is to begin anew, or of another tree."""
    instance, ub, *golden = LARGE
    how = {"checkpoint": str(tmp_path / "run"), "engine": "cpu", "verbosity": "quiet"}
    with local_cluster() as (_, client):
        how |= {"client": client, "certificate": str(tmp_path / "proof.json.gz")}
        run = dpbb.submit(instance, cutoff=ub, **how)
        wait_until(lambda: run.snapshot().nodes)
        run.detach()
        with pytest.raises(CheckpointError, match=f"run {run.run_id} on host"):
            dpbb.submit(instance, cutoff=ub, **how)
        with pytest.raises(OptionError, match=f"cutoff: expected {ub}, as the run"):
            dpbb.solve(instance, cutoff=ub - 1, **how)
        with pytest.raises(CheckpointError, match=f"instance {instance}, as run"):
            dpbb.solve("ta001", cutoff=ub, **how)
        result = dpbb.solve(instance, cutoff=ub, **how)
        assert [one.run_id for one in dpbb.runs(client)] == [run.run_id]
    assert (result.decomposed, result.leaves) == tuple(golden)
    assert books_hold(result.certificate)
    assert (tmp_path / "proof.json.gz").is_file()


@pytest.mark.parametrize("strategy", ["incumbent", "from-below"])
def test_two_calls_at_a_time_share_one_folder(tmp_path, strategy):
    """Neither sees a run there at first; who is refused attaches, and loses nothing."""
    started, over = threading.Barrier(2), threading.Event()

    class Attaching(Progress):
        """The run begins with a second call, which looks when the first is over."""

        attached = False

        def note(self, text):
            if text.startswith("attached to run"):
                self.attached = True
                cluster.scale(1)

        def update(self, snapshot):
            if self.attached and snapshot.termination is not None:
                assert over.wait(60)

    def order(problem, rng, seconds):
        started.wait(60)
        return range(problem.n_jobs)

    def solved(progress):
        how = {"client": client, "checkpoint": str(tmp_path / "run")}
        how |= {"strategy": strategy, "progress": progress, "heuristic_time_s": 30}
        try:
            return dpbb.solve("ta014", heuristics=order, **how)
        finally:
            cluster.scale(1)
            over.set()

    with local_cluster(0) as (cluster, client), ThreadPoolExecutor(2) as pool:
        results = list(pool.map(solved, [Attaching(), Attaching()]))
    assert {result.makespan for result in results} == {1377}
    assert {result.status for result in results} == {Status.OPTIMAL}


def test_a_better_schedule_is_taken_along(tmp_path):
    folder = tmp_path / "run"
    dpbb.solve(
        "ta021",
        engine="cpu",
        heuristics="neh",
        node_limit=100_000,  # no time limit: it may be over before the run is opened
        checkpoint=str(folder),
        verbosity="quiet",
    )
    saved = load_checkpoint(str(folder))
    better = dpbb.solve("ta021", heuristic_time_s=1, node_limit=1, verbosity="quiet")
    result = dpbb.resume(
        folder, initial=better.permutation, node_limit=1, verbosity="quiet"
    )
    assert result.makespan <= min(saved.value, better.makespan)
    values = [step.value for step in result.trajectory]
    assert values == sorted(values, reverse=True)
