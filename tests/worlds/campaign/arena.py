"""One run on a scheduler and workers of its own, and the faults that a seed draws.

    python -m tests.worlds.campaign.arena SEED FOLDER

prints what became of it, as a line of JSON.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import shutil
import signal
import stat
import sys
import threading
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from distributed import Client

import dpbb
from dpbb.cluster.storage.checkpoint_folder import load_checkpoint
from dpbb.coordination.snapshot import RunState
from dpbb.errors import ClusterError, DpbbError
from dpbb.options.table import EngineName
from tests.processes import DaskProcesses, signalled
from tests.worlds.campaign.held import HOLD, PROTOCOL
from tests.worlds.faults.suite import TREES, Tree

if TYPE_CHECKING:
    from collections.abc import Callable

PATIENCE_S = 100.0
"""A run that has done nothing for so long after its last fault is stuck."""

LOOK_S = 5.0

PRELOAD = ("--preload", "dpbb.cluster.preload")
HELD = ("--preload", "tests.worlds.campaign.held")
MOST_WORKERS = 4
EARLY = 0.8
"""So often the first fault waits for the first checkpoint."""

MOST_FAULTS = 7
MOST_HANG_S = 8.0
LARGE = (
    Tree("ta056", 3660, 107_404_891, 0, "cpu"),
    Tree("ta021", 2297, 447_986_455, 1440, "cpu"),
)
CHOICE = (
    *TREES,
    Tree("ta017", 1484, 38_374_060, 26_685, "cpu"),
    Tree("ta022", 2099, 55_138_829, 34, "cpu"),
    *(*LARGE, *LARGE, *LARGE),  # faults strike them in time
)
"""Of the table of trees; seconds of one thread each, so that faults strike in time."""

FIRST_PORT, PORTS = 20_000, 10_000
"""Below those that systems hand out: a scheduler that restarts finds its own free."""
UNSAVED = "nothing saved yet"
"""Its scheduler was killed before the first checkpoint: nothing to go on from."""

FINE = ("ok", UNSAVED)
OUTCOMES = (*FINE, "lost", "stuck", "wrong counts", "error")


@dataclass(slots=True)
class Record:
    """What became of a run; a line of the campaign's file.

    ``in_time``: it was still open after its last fault; ``store``: local or held.
    """

    seed: int
    instance: str
    outcome: str = "ok"
    about: str = ""
    seconds: float = 0.0
    faults: list[str] = field(default_factory=list)
    in_time: bool = False
    store: str = ""
    requeues: int = 0


class Arena:
    """The processes of one run, and what may be done to them.

    Parameters
    ----------
    folder
        For the run's checkpoints, and what the processes print.
    rng
        Draws the faults.
    port
        Of the scheduler.
    """

    def __init__(self, folder: Path, rng: random.Random, port: int) -> None:
        self._rng = rng
        runs = folder / "runs"
        self._store = runs / "one"
        self._hold = folder / "hold"
        self.store = rng.choice(("local", PROTOCOL))
        self._url = "" if self.store == "local" else f"{PROTOCOL}://"
        self._hangs: list[Callable[[], None]] = []  # each lets go again
        self._n_hangs = 0
        here = str(Path(__file__).resolve().parents[3])
        paths = os.pathsep.join(filter(None, (here, os.environ.get("PYTHONPATH"))))
        self._dask = DaskProcesses(
            *(*PRELOAD, *HELD),
            environ={
                "DASK_DPBB__RESUME": f"{self._url}{runs}",
                "PYTHONPATH": paths,
                "DPBB_SEATS": "cpu",  # GPUs of this host may be measured meanwhile
                HOLD: str(self._hold),
            },
            port=port,
            logs=folder / "logs",
        )

    def run(self, tree: Tree, record: Record) -> None:
        """Run a tree under faults; the record says what came of it."""
        dask = self._dask
        try:
            dask.start_scheduler()
            for _ in range(self._rng.randint(1, 3)):
                dask.add_worker()
            run_id = self._submit(tree)
            if self._rng.random() < EARLY:
                self._wait_for_whole(10.0)
            for _ in range(self._rng.randint(1, MOST_FAULTS)):
                time.sleep(self._rng.uniform(0.05, 1.5))
                name, fault = self._rng.choice(self._faults())
                if fault():
                    record.faults.append(name)
            self._repair()
            self._look(run_id, tree, record)
        finally:
            self._repair()
            dask.end_all()

    def _submit(self, tree: Tree) -> str:
        with self._client() as client:
            run = dpbb.submit(
                tree.instance,
                client=client,
                engine=EngineName(tree.engine),
                cutoff=tree.optimum,
                heuristics="none",
                checkpoint=f"{self._url}{self._store}",
                checkpoint_interval_s=self._rng.choice((0.2, 0.5, 1.0)),
                report_interval_s=self._rng.choice((0.1, 0.3)),
                estimates="off",
            )
            return str(run.run_id)

    @contextlib.contextmanager
    def _client(self) -> Any:
        with Client(self._dask.address, timeout=60, set_as_default=False) as client:
            yield client

    def _look(self, run_id: str, tree: Tree, record: Record) -> None:
        """Wait for the end of the run, under whatever name it goes on, and compare."""
        deadline = time.monotonic() + PATIENCE_S
        stem = run_id.partition("~")[0]
        with self._client() as client:
            while True:
                shots = dpbb.runs(client)
                names = [shot.run_id for shot in shots]
                found = [name for name in names if name.partition("~")[0] == stem]
                if found:
                    state = shots[names.index(found[-1])].state
                    record.in_time = state == RunState.RUNNING
                    break
                if not self._store.exists() or not list(self._store.glob("*.dpbb")):
                    record.outcome = UNSAVED
                    return
                if self._is_over():
                    # when the scheduler was killed: the state says so
                    record.about = "was over; its last checkpoint says so"
                    result = dpbb.resume(
                        str(self._store), client=client, progress="none"
                    )
                    self._compare(result, tree, record)
                    return
                if time.monotonic() > deadline:
                    record.outcome = "lost"
                    record.about = f"the scheduler knows {names}, not {stem}"
                    return
                time.sleep(0.2)
            run = dpbb.attach(found[-1], client=client)
            nodes = -1
            while not run.wait(LOOK_S):
                shot = run.snapshot()
                if shot.decomposed != nodes:  # slow, but not stuck
                    nodes, deadline = shot.decomposed, time.monotonic() + PATIENCE_S
                if time.monotonic() > deadline:
                    record.outcome, record.about = "stuck", str(shot)
                    return
            result = run.result()
            self._compare(result, tree, record)

    def _is_over(self) -> bool:
        with contextlib.suppress(DpbbError):
            return load_checkpoint(str(self._store)).finished
        return False

    def _compare(self, result: Any, tree: Tree, record: Record) -> None:
        record.requeues = result.requeues
        counts = (result.decomposed, result.leaves)
        wanted = (tree.decomposed, tree.leaves)
        if result.termination != "exhausted" or counts != wanted:
            record.outcome = "wrong counts"
            record.about = f"{result.termination}, {counts}, expected {tree}"

    # -- faults: each returns whether there was something to do it to --------------

    def _faults(self) -> list[tuple[str, Callable[[], bool]]]:
        return [
            ("worker SIGKILL", lambda: self._kill(signal.SIGKILL)),
            ("worker SIGTERM", lambda: self._kill(signal.SIGTERM)),
            ("worker SIGSTOP", self._freeze),
            ("join", self._join),
            ("restart", self._restart),
            ("retire", self._retire),
            ("rebalance", self._rebalance),
            ("scheduler SIGKILL", lambda: self._reboot(signal.SIGKILL)),
            ("scheduler SIGTERM", lambda: self._reboot(signal.SIGTERM)),
            ("store deleted", self._delete_parts),
            ("store hangs", self._hang),
        ]

    def _kill(self, number: signal.Signals) -> bool:
        if not self._dask.workers:
            return False
        worker = self._rng.choice(self._dask.workers)
        done = signalled(worker, number)
        if number == signal.SIGKILL:
            self._dask.end(worker)
        return done

    def _freeze(self) -> bool:
        """Stop a worker, and let it go on later, if it is still there."""
        if not self._dask.workers:
            return False
        worker = self._rng.choice(self._dask.workers)
        if not signalled(worker, signal.SIGSTOP):
            return False
        pause = threading.Timer(
            self._rng.uniform(0.5, 6.0), lambda: signalled(worker, signal.SIGCONT)
        )
        pause.daemon = True
        pause.start()
        return True

    def _join(self) -> bool:
        if len(self._dask.workers) >= MOST_WORKERS:
            return False
        self._dask.add_worker()
        return True

    def _asked(self, call: Callable[[Any], Any]) -> bool:
        """Ask the scheduler for something; a cluster may refuse or take too long."""
        try:
            with Client(
                self._dask.address, timeout=20, set_as_default=False, asynchronous=False
            ) as client:
                call(client)
        except Exception:  # noqa: BLE001 - not what is tested
            return False
        return True

    def _restart(self) -> bool:
        return self._asked(lambda client: client.restart(timeout=15))

    def _retire(self) -> bool:
        def retire(client: Any) -> None:
            addresses = list(client.scheduler_info(n_workers=-1)["workers"])
            client.retire_workers([self._rng.choice(addresses)])

        return self._asked(retire)

    def _rebalance(self) -> bool:
        return self._asked(lambda client: client.rebalance())

    def _reboot(self, number: signal.Signals) -> bool:
        scheduler = self._dask.scheduler
        if scheduler is None or not signalled(scheduler, number):
            return False
        with contextlib.suppress(Exception):
            scheduler.wait(30)
        self._dask.end(scheduler)
        time.sleep(self._rng.uniform(0.0, 1.0))
        self._dask.start_scheduler()
        return True

    def _delete_parts(self) -> bool:
        """Delete what a cleaner of temporary files would: all parts.

        Not while no scheduler has the run: then it is gone, whoever comes.
        """
        if not self._asked(_require_open):
            return False
        parts = list(self._store.glob("units-*.bin"))
        for part in parts:
            part.unlink(missing_ok=True)
        if parts:
            self._wait_for_whole()
        return bool(parts)

    def _wait_for_whole(self, most_s: float = 30.0) -> None:
        """Wait until there is a checkpoint, or the run is over, but not for ever."""
        deadline = time.monotonic() + most_s
        while time.monotonic() < deadline and (self._store / "owner.json").exists():
            with contextlib.suppress(DpbbError):
                load_checkpoint(str(self._store))
                return
            time.sleep(0.05)

    def _hang(self) -> bool:
        """Have the store answer nothing for a while; other faults go on."""
        if self._hangs or not (self._store / "owner.json").exists():
            return False
        begin = self._hang_owner if self.store == "local" else self._hang_all
        if not begin():
            return False
        wake = threading.Timer(self._rng.uniform(0.5, MOST_HANG_S), self._let_go)
        wake.daemon = True
        wake.start()
        return True

    def _hang_all(self) -> bool:
        """Every call waits."""
        self._hold.touch()
        self._hangs.append(self._hold.unlink)
        return True

    def _hang_owner(self) -> bool:
        """Whoever reads whose the folder is waits: the file is a pipe meanwhile.

        Every checkpoint and sign of life reads it before anything is there.
        """
        owner = self._store / "owner.json"
        self._n_hangs += 1
        pipe, kept, second = (
            self._store.with_name(f".{name}-{self._n_hangs}")
            for name in ("pipe", "owner", "second")
        )
        try:
            kept.write_bytes(owner.read_bytes())
            os.mkfifo(pipe)
            os.link(pipe, second)
            second.replace(owner)
        except FileNotFoundError:  # the run is over just now
            pipe.unlink(missing_ok=True)
            return False

        def end() -> None:
            with contextlib.suppress(FileNotFoundError):
                if stat.S_ISFIFO(owner.stat().st_mode):
                    kept.replace(owner)
            deadline = time.monotonic() + 1
            while time.monotonic() < deadline:  # whoever is about to open it, too
                with contextlib.suppress(OSError):  # nobody reads it
                    os.close(os.open(pipe, os.O_WRONLY | os.O_NONBLOCK))
                time.sleep(0.02)
            pipe.unlink()

        self._hangs.append(end)
        return True

    def _let_go(self) -> None:
        """Have the store answer again."""
        while self._hangs:
            with contextlib.suppress(IndexError):  # the timer has
                self._hangs.pop()()

    def _repair(self) -> None:
        """Wake who sleeps, and see that somebody is there to finish the run."""
        self._let_go()
        for worker in self._dask.workers:
            signalled(worker, signal.SIGCONT)
        scheduler = self._dask.scheduler
        if scheduler is not None and scheduler.poll() is not None:
            self._dask.start_scheduler()
        alive = [worker for worker in self._dask.workers if worker.poll() is None]
        if len(alive) < MOST_WORKERS:
            self._dask.add_worker()


def _require_open(client: Client) -> None:
    """Raise an error unless a run is open."""
    if not any(shot.state == RunState.RUNNING for shot in dpbb.runs(client)):
        raise ClusterError("expected an open run, got none")


def one_run(seed: int, folder: Path) -> Record:
    """Run what a seed says, in a folder of its own."""
    rng = random.Random(seed)  # noqa: S311 - no secret
    tree = rng.choice(CHOICE)
    record = Record(seed, tree.instance)
    began = time.monotonic()
    try:
        arena = Arena(folder, rng, FIRST_PORT + seed % PORTS)
        record.store = arena.store
        arena.run(tree, record)
    except Exception as error:  # noqa: BLE001 - it is the outcome of this run
        record.outcome, record.about = "error", f"{type(error).__name__}: {error}"
    record.seconds = round(time.monotonic() - began, 1)
    return record


if __name__ == "__main__":
    place = Path(sys.argv[2])
    shutil.rmtree(place, ignore_errors=True)  # of a run that was cut off
    print(json.dumps(asdict(one_run(int(sys.argv[1]), place))))
