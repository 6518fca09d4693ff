"""What ``dpbb plot`` reads: results, schedules, logs, checkpoints, benchmarks."""

import argparse
import csv
import io
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from dpbb.coordination.format import MAGIC
from dpbb.coordination.snapshot import RunState, Snapshot
from dpbb.errors import InstanceError, OptionError
from dpbb.options.permutations import check_permutation
from dpbb.problem import Scheduled, instance_name_of
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
    first = values[0] if values else None
    if len(values) == 1 and isinstance(first, dict) and "status" in first:
        result = Result.from_json(text)
        return Plotted("a result", result, ("gantt", "convergence"))
    rows = first.get("rows") if isinstance(first, dict) else first
    if len(values) == 1 and isinstance(rows, list):
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


def _snapshot(values: Any, file: str) -> Snapshot:
    """Return a snapshot of a log, without what no plot needs."""
    known = {item.name for item in fields(Snapshot)}
    known -= {"permutation", "seats", "spans", "events", "checkpoint"}
    plain = {name: values[name] for name in values if name in known}
    try:
        drawn = msgspec.convert(values, Drawn)
        return Snapshot(permutation=None, **plain | msgspec.structs.asdict(drawn))
    except (msgspec.ValidationError, TypeError) as error:  # or fields are missing
        raise OptionError(f"FILE: {file}: expected snapshots, got: {error}") from error


def read_schedule(text: str, file: str) -> Schedule:
    """Read the schedule that ``Schedule.write_csv`` wrote.

    OptionError: another header, a line that is no operation, operations missing or
    twice.
    """
    lines = [
        (number, row)
        for number, row in enumerate(csv.reader(io.StringIO(text)), 1)
        if number > 1 and row
    ]
    n_positions = len({row[0] for _, row in lines}) or 1
    counts = {1: n_positions, 2: len(lines) // n_positions}
    names = Names(*(_names_in(lines, *one) for one in counts.items()))
    rows = []
    for number, row in lines:
        try:
            cells = list(row)
            for column, known in ((1, names.jobs), (2, names.machines)):
                if known:
                    cells[column] = str(known.index(cells[column]))
            position, job, machine, start, end = map(int, cells)
        except (IndexError, ValueError):
            raise OptionError(
                f"{file}: line {number}: expected whole numbers "
                f"{', '.join(COLUMNS)}, got {','.join(row)}"
            ) from None
        if min(position, job, machine, start) < 0 or end < start:
            raise OptionError(
                f"{file}: line {number}: expected numbers of at least 0, and an end "
                f"after the start, got {','.join(row)}"
            )
        rows.append((position, job, machine, start, end))
    places = {(position, machine) for position, _, machine, _, _ in rows}
    n_jobs = 1 + max((row[0] for row in rows), default=-1)
    n_machines = 1 + max((row[2] for row in rows), default=-1)
    if not rows or len(rows) != n_jobs * n_machines or len(places) != len(rows):
        raise OptionError(
            f"{file}: expected every position on every machine once, got {len(rows)} "
            f"operations of {n_jobs} positions and {n_machines} machines"
        )
    order = [-1] * n_jobs
    for position, job, *_ in rows:
        if order[position] not in (-1, job):
            raise OptionError(
                f"{file}: expected one job at position {position}, got "
                f"{order[position]} and {job}"
            )
        order[position] = job
    permutation = check_permutation(order, f"{file}: jobs", n_jobs=n_jobs)
    start_of, end_of = np.empty((2, n_jobs, n_machines), np.int64)
    for _, job, machine, start, end in rows:
        start_of[job, machine], end_of[job, machine] = start, end
    return Schedule(permutation, start_of, end_of, names)


def _names_in(
    lines: list[tuple[int, list[str]]], column: int, count: int
) -> tuple[str, ...]:
    """Return the names of a column, first ones first; () if all are numbers of one."""
    found = dict.fromkeys(row[column] for _, row in lines if len(row) > column)
    numbers = {str(number) for number in range(count)}
    return () if numbers.issuperset(found) else tuple(found)


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
    return _incumbent(found.content)


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


def _incumbent(saved: Any) -> tuple[Any, tuple[int, ...]]:
    problem, permutation = saved.spec.problem, saved.permutation
    if permutation is None:
        raise OptionError("--kind gantt: expected an incumbent, got none")
    return problem, permutation
