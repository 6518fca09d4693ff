"""What ``dpbb plot`` reads: results, schedules, logs, checkpoints, benchmarks."""

import argparse
import csv
import io
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from dpbb.coordination.format import MAGIC
from dpbb.coordination.snapshot import RunState, Snapshot
from dpbb.errors import InstanceError, OptionError
from dpbb.problem import Scheduled, instance_name_of
from dpbb.progress.base import STARTING
from dpbb.result import Improvement, Result
from dpbb.result.json_form import Cost, Seconds
from dpbb.result.schedule import COLUMNS, Schedule
from dpbb.text.files import noted, read_file
from dpbb.text.labels import Names

ALLOWED = (
    "a result (dpbb solve --json), a schedule (dpbb solve --output), a log (dpbb solve "
    "--log-json), a checkpoint, or the JSON of dpbb bench multigpu"
)

MOST_BYTES = 2**30
"""Of a file: logs of long runs are large."""


@dataclass(frozen=True, slots=True)
class Plotted:
    """Content of a file, what it is called, and the kinds of plots it is for."""

    name: str
    content: Any
    kinds: tuple[str, ...]


def read_plotted(file: str) -> Plotted:
    """Read a file of any kind.

    Raises
    ------
    OptionError
        Not there, or none of the kinds.
    DpbbError
        Damaged.
    """
    path = Path(file)
    if "://" in file or path.is_dir():
        noted(path)
        return _checkpoint(file)
    try:
        content = read_file(path, MOST_BYTES)
    except OSError as error:
        raise OptionError(
            f"FILE: expected {ALLOWED}; got {file}: {error.strerror or error}"
        ) from error
    if content.startswith(MAGIC):
        return _checkpoint(file)
    try:
        text = content.decode()
    except UnicodeDecodeError:
        raise _unknown(file, "a binary file") from None
    if not text.strip():
        raise _unknown(file, "nothing: the file is empty")
    if text.split("\n", 1)[0].strip() == ",".join(COLUMNS):
        return Plotted("a schedule", read_schedule(text, file), ("gantt",))
    return _json(text, file)


def _checkpoint(file: str) -> Plotted:
    from dpbb.cluster.storage.checkpoint_folder import load_checkpoint

    kinds = ("intervals", "convergence", "gantt")
    return Plotted("a checkpoint", load_checkpoint(file), kinds)


def _json(text: str, file: str) -> Plotted:
    try:
        values = [msgspec.json.decode(text)]
    except (ValueError, RecursionError):  # perhaps an object a line
        try:
            lines = filter(str.strip, text.splitlines())
            values = [msgspec.json.decode(line) for line in lines]
        except (ValueError, RecursionError):
            raise _unknown(file, f"{text[:60]!r}") from None
    shots = [value for value in values if isinstance(value, dict) and "run_id" in value]
    if shots:
        log = [_snapshot(value, file) for value in shots]
        return Plotted("a log", log, ("convergence",))
    (first,) = values if len(values) == 1 else (None,)
    if isinstance(first, dict) and "status" in first:
        result = Result.from_json(text)
        return Plotted("a result", result, ("gantt", "convergence"))
    rows = first.get("rows") if isinstance(first, dict) else first
    if isinstance(rows, list):
        return Plotted("a benchmark", rows, ("speedup",))
    raise _unknown(file, f"other JSON: {text.strip()[:60]!r}")


def _unknown(file: str, got: str) -> OptionError:
    return OptionError(f"FILE: expected {ALLOWED}; got {file}: {got}")


class Drawn(msgspec.Struct):
    """Fields of a snapshot that plots need."""

    instance: str
    state: RunState
    seconds: Seconds
    value: Cost | None
    lower_bound: Cost | None
    trajectory: tuple[Improvement, ...]
    objective: str = "makespan"


def _snapshot(values: Any, file: str) -> Snapshot:
    """Return a snapshot of a log, without what no plot needs."""
    try:
        drawn = msgspec.convert(values, Drawn)
    except msgspec.ValidationError as error:
        raise OptionError(f"FILE: {file}: expected snapshots, got: {error}") from error
    return replace(STARTING, **msgspec.structs.asdict(drawn))


def read_schedule(text: str, file: str) -> Schedule:
    """Read the schedule that ``Schedule.write_csv`` wrote.

    OptionError: it would have written something else.
    """
    rows = [row for row in csv.reader(io.StringIO(text)) if row][1:]
    jobs, machines = (
        tuple(dict.fromkeys(row[column] for row in rows if len(row) > column))
        for column in (1, 2)
    )
    numbered = set(jobs) == set(map(str, range(len(jobs))))
    # by name, jobs have no numbers but those of their places
    permutation = tuple(map(int, jobs)) if numbered else tuple(range(len(jobs)))
    counted = machines == tuple(map(str, range(len(machines))))
    names = Names(() if numbered else jobs, () if counted else machines)
    try:
        times = np.array([[int(cell) for cell in row[3:]] for row in rows], np.int64)
        start, end = np.empty((2, len(jobs), len(machines)), np.int64)
        start[list(permutation)] = times[:, 0].reshape(start.shape)
        end[list(permutation)] = times[:, 1].reshape(end.shape)
    except (IndexError, OverflowError, ValueError) as error:
        raise OptionError(
            f"{file}: expected {', '.join(COLUMNS)} of every job on every machine, "
            f"got {len(rows)} lines of {len(jobs)} jobs: {error}"
        ) from error
    schedule = Schedule(permutation, start, end, names)
    for number, (row, due) in enumerate(zip(rows, schedule.rows(), strict=True), 2):
        if row != list(map(str, due)) or not 0 <= due[3] <= due[4]:
            raise OptionError(
                f"{file}: line {number}: expected {', '.join(COLUMNS)}, such as "
                f"{','.join(map(str, due))}, got {','.join(row)}"
            )
    return schedule


def plot_data(found: Plotted, kind: str, args: argparse.Namespace) -> Any:
    """Return what the plot of a kind takes.

    Raises
    ------
    OptionError
        The kind is not for this file, or there is no schedule to draw.
    InstanceError
        The schedule needs an instance, and there is none, or another one.
    """
    if kind not in found.kinds:
        raise OptionError(
            f"--kind: expected {' or '.join(found.kinds)} for {found.name}, got {kind}"
        )
    if kind != "gantt" or isinstance(found.content, Schedule):
        return found.content
    if isinstance(found.content, Result):
        return _with_schedule(found.content, args)
    problem, permutation = found.content.spec.problem, found.content.permutation
    if permutation is None:
        raise OptionError("--kind gantt: expected an incumbent, got none")
    return problem, permutation


def _with_schedule(result: Result, args: argparse.Namespace) -> Result:
    """Add the schedule, which ``to_json`` may have left out."""
    if result.permutation is None or result.operations is not None:
        result.schedule()  # raises if there is none
        return result
    from dpbb.flowshop.family import read_problem
    from dpbb.flowshop.given import GivenEnds
    from dpbb.problem import with_ends

    hint = "the schedule of a result needs its instance: give it with --instance"
    shop, *ends = GivenEnds.of_name(result.instance or "")
    try:
        problem = read_problem(
            args.instance or shop,
            index=args.index,
            orientation=args.orientation,
            data_dir=args.data,
        )
        problem = with_ends(problem, *ends)
    except InstanceError as error:
        if args.instance:
            raise
        raise InstanceError(f"{hint} ({error})") from error
    if problem.digest != result.digest or not isinstance(problem, Scheduled):
        raise InstanceError(
            f"{hint}: expected one of digest {result.digest[:12]}, got "
            f"{instance_name_of(problem)} of {problem.digest[:12]}"
        )
    return replace(result, operations=problem.schedule(result.permutation))
