"""Runs of heuristics for ``dpbb bench heuristics``: one, several side by side, a file.

Every process that runs heuristics has cores of its own, so that runs side by side
disturb each other as little as one host lets them, and compiles before its clock
starts: a short run of the same instance comes first, once for each shape.
"""

from __future__ import annotations

import json
import os
import signal
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, fields
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import dpbb
from dpbb.cluster.worker.gpus import VISIBLE
from dpbb.errors import DpbbError, OptionError
from dpbb.kernels.cores import usable_cpus
from dpbb.problem import StartSearch
from dpbb.text.json_text import json_text

if TYPE_CHECKING:
    from dpbb.flowshop import FlowShopInstance

WARM_S = {"cpu": 1.0, "gpu": 10.0}
"""Time limit of the run before the first one of a shape, which compiles; on a GPU for
each shape anew, while the cores search."""

SIBLINGS = "/sys/devices/system/cpu/cpu{}/topology/thread_siblings_list"


@dataclass(frozen=True, slots=True)
class Task:
    """One run to make; all of it but the instance itself is the run's name in a file.

    Parameters
    ----------
    instance, digest, class_name
        Name, identity, and the class of the benchmark, such as ``"50x20"``.
    method, device, threads, seed, limit_s
        As of ``first_incumbent``.
    version
        Of dpbb: a run of another one is another run.
    """

    instance: str
    digest: str
    class_name: str
    method: str
    device: str
    threads: int
    seed: int
    limit_s: float
    version: str = dpbb.__version__


@dataclass(frozen=True, slots=True)
class Run:
    """A finished run.

    Parameters
    ----------
    seconds
        From the call to its return, of which ``limit_s`` was asked for; less where the
        schedule was proved optimal.
    value, permutation
        The best schedule, as it is evaluated again after the run.
    root_bound, best_known
        Lower bound of the root; the least makespan that is published.
    trajectory
        (second, value, what found it) of every incumbent.
    side_by_side, host
        How many runs shared the host, and which.
    """

    task: Task
    seconds: float
    value: int
    permutation: tuple[int, ...]
    root_bound: int
    best_known: int
    trajectory: tuple[tuple[float, int, str], ...]
    side_by_side: int
    host: str

    @property
    def rpd(self) -> float:
        """Relative percentage deviation from the best-known makespan."""
        return 100.0 * (self.value - self.best_known) / self.best_known

    def to_json(self) -> str:
        """Return the run as one line."""
        values = asdict(self)
        return json_text({**values.pop("task"), **values, "rpd": round(self.rpd, 4)})

    @classmethod
    def from_json(cls, line: str) -> Run:
        """Read a line; ValueError, KeyError or TypeError if it is none."""
        values: dict[str, Any] = json.loads(line)
        del values["rpd"]
        task = Task(**{one.name: values.pop(one.name) for one in fields(Task)})
        values["permutation"] = tuple(map(int, values["permutation"]))
        steps = values["trajectory"]
        values["trajectory"] = tuple((float(s), int(v), str(by)) for s, v, by in steps)
        return cls(task, **values)


class RunsFile:
    """Finished runs, one JSON line each; written to as they finish.

    ``path``: read if it is there; None: nothing is kept.
    """

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self.runs: dict[Task, Run] = {}
        if path is None or not path.exists():
            return
        lines = path.read_text().splitlines()
        for number, line in enumerate(lines, 1):
            try:
                run = Run.from_json(line)
            except (KeyError, TypeError, ValueError) as error:
                if number == len(lines):  # cut off while it was written
                    path.write_text("".join(f"{whole}\n" for whole in lines[:-1]))
                    break
                raise OptionError(
                    f"--runs: expected finished runs of this bench, got {path}, line "
                    f"{number}: {error}"
                ) from error
            self.runs[run.task] = run

    def add(self, run: Run) -> None:
        """Note a finished run, and write it."""
        self.runs[run.task] = run
        if self._path is not None:
            with self._path.open("a") as file:
                file.write(run.to_json() + "\n")


def cores_of_their_own(count: int, threads: int) -> list[list[int]]:
    """Return for each of ``count`` runs the CPUs that it is pinned to.

    Whole physical cores first: of two hyperthreads of a core only one is used as long
    as there are cores enough.
    """
    cpus = sorted(usable_cpus())
    groups = {cpu: _siblings(cpu) for cpu in cpus}
    first = [cpu for cpu in cpus if cpu == min(set(groups[cpu]) & set(cpus))]
    rest = [cpu for cpu in cpus if cpu not in first]
    ordered = [*first, *rest]
    if count * threads > len(ordered):
        raise OptionError(
            f"--side-by-side, --threads: expected at most {len(ordered)} threads in "
            f"all, as many CPUs as there are, got {count} x {threads}"
        )
    return [ordered[at * threads : (at + 1) * threads] for at in range(count)]


def _siblings(cpu: int) -> list[int]:
    """Return the CPUs that share a physical core with this one, itself among them."""
    try:
        text = Path(SIBLINGS.format(cpu)).read_text()
    except OSError:
        return [cpu]
    found: list[int] = []
    for part in text.strip().split(","):
        low, _, high = part.partition("-")
        found += range(int(low), int(high or low) + 1)
    return found


def run_one(instance: FlowShopInstance, task: Task, *, limit_s: float) -> Run:
    """Run a heuristic once; ``limit_s`` is that of the task, or a shorter one."""
    from dpbb.flowshop.heuristics import first_incumbent
    from dpbb.flowshop.makespan import makespan

    steps: list[tuple[float, int, str]] = []
    began = time.monotonic()
    search = StartSearch(
        task.method,
        time_limit_s=limit_s,
        threads=task.threads,
        seed=task.seed,
        device=task.device,
        on_improvement=lambda one: steps.append(
            (round(time.monotonic() - began, 4), one.value, one.source)
        ),
    )
    incumbent = first_incumbent(instance, search)
    seconds = time.monotonic() - began
    known = instance.best_known
    if incumbent is None or known is None:
        raise DpbbError(f"{task.instance}: expected a schedule and a best-known one")
    return Run(
        task=task,
        seconds=seconds,
        value=makespan(instance.times, incumbent.permutation),
        permutation=tuple(incumbent.permutation.tolist()),
        root_bound=_root_bound(instance),
        best_known=known.upper_bound,
        trajectory=tuple(steps),
        side_by_side=1,
        host="",
    )


def _root_bound(instance: FlowShopInstance) -> int:
    from dpbb.flowshop.bounds.lb1 import root_bound

    return root_bound(instance.times)


def _serve(tasks: Connection, cores: list[int], gpu: str | None) -> None:
    """Run what comes, one after the other, on these cores and this GPU.

    The first run of a shape comes after one that compiles. Answers each with a ``Run``,
    or with the text of what went wrong.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # whoever started this ends it
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, cores)
    if gpu is not None:
        os.environ[VISIBLE] = gpu
    warm: set[tuple[Any, ...]] = set()
    while True:
        try:
            instance, task = tasks.recv()
        except EOFError:  # whoever started this has ended
            return
        try:
            shape = task.method, task.device, instance.times.shape
            if shape not in warm:
                run_one(instance, task, limit_s=WARM_S[task.device])
                warm.add(shape)
            tasks.send(run_one(instance, task, limit_s=task.limit_s))
        except Exception as error:  # noqa: BLE001 (told, with its task)
            tasks.send(f"{type(error).__name__}: {error}")


def run_all(
    wanted: Iterable[tuple[FlowShopInstance, Task]],
    places: Sequence[tuple[list[int], str | None]],
    *,
    may_begin: Callable[[Task], bool],
    on_run: Callable[[Run], None],
    on_failure: Callable[[Task, str], None],
) -> None:
    """Make runs side by side, each process in a place of its own.

    A process that is killed takes its run with it, and another one takes its place; who
    interrupts waits for no run. (An executor's processes all end with one of them, and
    it waits for what they run.)

    Parameters
    ----------
    places
        Of every process: its CPUs, and its entry of CUDA_VISIBLE_DEVICES.
    may_begin
        Asked before each run; False leaves it out.
    on_run, on_failure
        Called in this thread with what came of each.
    """
    queue = deque(wanted)
    context = get_context("spawn")
    processes = []
    place_of: dict[Connection, tuple[list[int], str | None]] = {}
    busy: dict[Connection, Task] = {}

    def start(place: tuple[list[int], str | None]) -> Connection:
        ours, theirs = context.Pipe()
        process = context.Process(target=_serve, args=(theirs, *place), daemon=True)
        process.start()
        theirs.close()
        processes.append(process)
        place_of[ours] = place
        return ours

    try:
        idle = [start(place) for place in places[: len(queue)]]
        while True:
            while idle and queue:
                instance, task = queue.popleft()
                if may_begin(task):
                    connection = idle.pop()
                    connection.send((instance, task))
                    busy[connection] = task
            if not busy:
                break
            for connection in cast("list[Connection]", wait(list(busy))):
                task = busy.pop(connection)
                try:
                    answer = connection.recv()
                except (EOFError, OSError):
                    answer = "its process ended"
                    connection = start(place_of.pop(connection))
                idle.append(connection)
                if isinstance(answer, Run):
                    on_run(answer)
                else:
                    on_failure(task, answer)
    finally:
        for process in processes:
            process.terminate()
        for process in processes:
            process.join()
