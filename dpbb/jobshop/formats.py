"""Job shops by name, and from text, JSON and CSV files.

The standard text form is a line ``n m`` and a line of ``machine time`` pairs for every
job, machines from 0; jobs may have unequal numbers of pairs, and lines that start with
``#`` are comments. CSV has a line for every operation, under a header with ``job``,
``machine`` and ``time`` and perhaps ``release``, ``due`` and ``weight``. JSON is an
object with ``jobs``; see ``read_json``.
"""

import csv
import io
import json
import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from dpbb.errors import InstanceError, refuse, shown
from dpbb.flowshop.text_formats import decoded, number_in
from dpbb.flowshop.vrf import DATA_VARIABLE
from dpbb.jobshop.instance import MAX_MACHINES, JobShopInstance, whole_number
from dpbb.jobshop.taillard import taillard_instance
from dpbb.text.files import read_file

_TAILLARD = re.compile(r"ta0*([1-9]\d{0,8})", re.IGNORECASE | re.ASCII)
_NAMED = re.compile(r"(ft|la|abz|orb|swv|yn)0*(\d{1,3})", re.IGNORECASE | re.ASCII)
_NUMBER = re.compile(r"0|[1-9]\d{0,17}", re.ASCII)
_DATES = ("release", "due", "weight")


def load(
    source: str | os.PathLike[str] | JobShopInstance,
    *,
    data_dir: str | os.PathLike[str] | None = None,
) -> JobShopInstance:
    """Return a job shop from its name or its file.

    Parameters
    ----------
    source
        ``"ta01"`` to ``"ta80"``, which are made by their generator; ``"ft06"``,
        ``"la01"``, ``"abz5"``, ``"orb01"``, ``"swv01"``, ``"yn1"`` and so on, which
        are read from ``data_dir``; or a file: ``.json``, ``.csv``, else text. A file
        called like a benchmark is read as ``"./ta01"``.
    data_dir
        Folder of benchmark files; default: the environment variable ``DPBB_DATA``.
        Looked at: it, and its subfolders ``jobshop/instances`` and ``instances``.

    Raises
    ------
    InstanceError
        Says where (file, line), what was expected and what came.
    """
    if isinstance(source, JobShopInstance):
        return source
    if not isinstance(source, str | os.PathLike):
        refuse("job shop", "a name or a file", shown(source))
    text = os.fsdecode(source).strip()
    if isinstance(source, str):
        if match := _TAILLARD.fullmatch(text):
            return taillard_instance(int(match[1]))
        if _NAMED.fullmatch(text):
            return _read(_find(text.lower(), data_dir))
    return _read(Path(text))


def _find(name: str, data_dir: str | os.PathLike[str] | None) -> Path:
    given = os.environ.get(DATA_VARIABLE) if data_dir is None else data_dir
    if not given:
        refuse(
            name, f"data_dir (--data) or {DATA_VARIABLE} to name its folder", "neither"
        )
    for part in (".", "jobshop/instances", "instances"):
        if (file := Path(given) / part / f"{name}.txt").is_file():
            return file
    raise InstanceError(
        f"{name}: expected {name}.txt in {str(given)!r} or its subfolder "
        "jobshop/instances, got no such file"
    )


def _read(path: Path) -> JobShopInstance:
    try:
        content = read_file(path) if path.exists() and not path.is_dir() else None
    except (OSError, ValueError) as error:
        refuse(shown(str(path)), "a readable file", f"an error: {error}")
    if content is None:
        refuse(
            shown(str(path)),
            "ta01 to ta80, a name such as ft06 or la01, or a file",
            "neither such a name nor a file",
        )
    reader = {".json": read_json, ".csv": read_csv}.get(path.suffix.lower(), read_text)
    return reader(decoded(content, str(path)), str(path), path.stem)


def read_text(text: str, where: str, name: str) -> JobShopInstance:
    """Read the standard text form; ``where`` is for messages."""
    lines = [
        (number, line.split())
        for number, line in enumerate(text.splitlines(), 1)
        if line.strip() and not line.lstrip().startswith("#")
    ]
    if not lines:
        refuse(where, "a line with the numbers of jobs and machines", "an empty file")
    number, head = lines[0]
    if len(head) != 2:
        refuse(
            f"{where}, line {number}",
            "two numbers, of jobs and of machines",
            shown(" ".join(head)),
        )
    n_jobs, n_machines = (_number(token, f"{where}, line {number}") for token in head)
    if len(lines) - 1 != n_jobs:
        refuse(where, f"{n_jobs} jobs, a line each", f"{len(lines) - 1} lines")
    routes = []
    for number, tokens in lines[1:]:
        place = f"{where}, line {number}"
        if len(tokens) % 2:
            refuse(place, "pairs of machine and time", f"{len(tokens)} numbers")
        values = [_number(token, place) for token in tokens]
        routes.append(list(zip(values[::2], values[1::2], strict=True)))
        for machine in values[::2]:
            if machine >= n_machines:
                refuse(place, f"machines 0 to {n_machines - 1}", str(machine))
    if not routes:
        refuse(f"{where}, line {lines[0][0]}", "at least one job", "0")
    return JobShopInstance.from_routes(routes, name=name, n_machines=n_machines)


def _number(token: str, where: str) -> int:
    return whole_number(number_in(token, where), where)


def read_csv(text: str, where: str, name: str) -> JobShopInstance:
    """Read a table of operations; a job's lines stand in the order of its route.

    Jobs and machines have any names, and are numbered as they first appear; machines
    that are all whole numbers (without leading zeros) keep them.
    """
    lines = io.StringIO(text, newline=None)
    try:
        rows = list(csv.reader(lines, skipinitialspace=True))
    except csv.Error as error:
        refuse(where, "CSV", f"an error: {error}")
    head = [field.strip().lower() for field in rows[0]] if rows else []
    known = ("job", "machine", "time", *_DATES)
    if not {"job", "machine", "time"} <= set(head) or len(set(head)) != len(head):
        refuse(where, "a header with job, machine, time", shown(",".join(head)))
    for column in head:
        if column not in known:
            refuse(where, f"columns {', '.join(known)}", shown(column))
    routes: dict[str, list[tuple[str, int]]] = {}
    dates: dict[str, dict[str, int]] = {column: {} for column in _DATES}
    for number, row in enumerate(rows[1:], 2):
        if not any(field.strip() for field in row):
            continue
        place = f"{where}, line {number}"
        if len(row) != len(head):
            refuse(place, f"{len(head)} fields", str(len(row)))
        fields = dict(zip(head, (field.strip() for field in row), strict=True))
        job, machine = fields["job"], fields["machine"]
        if not job or not machine:
            refuse(place, "a job and a machine", "an empty field")
        routes.setdefault(job, []).append((machine, _number(fields["time"], place)))
        for column in _DATES:
            if fields.get(column):
                value = _number(fields[column], f"{place}, {column}")
                if dates[column].setdefault(job, value) != value:
                    refuse(
                        place,
                        f"one {column} for job {job}",
                        f"{dates[column][job]} and {value}",
                    )
    return _named_instance(name, routes.items(), None, dates, where)


def read_json(text: str, where: str, name: str) -> JobShopInstance:
    """Read an object with ``jobs``, and perhaps ``name`` and ``machines``.

    A job is a list of operations, or an object with ``operations`` and perhaps
    ``name``, ``release``, ``due`` and ``weight``. An operation is a pair
    ``[machine, time]`` or an object of both. ``machines`` are the names of the
    machines, or their number; an operation names its machine by either.
    """
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        refuse(where, "JSON", f"an error: {error}")
    if not isinstance(data, dict) or not isinstance(data.get("jobs"), list):
        refuse(where, 'an object with a list "jobs"', shown(data))
    routes: dict[str, list[tuple[Any, int]]] = {}
    dates: dict[str, dict[str, int]] = {column: {} for column in _DATES}
    for number, job in enumerate(data["jobs"]):
        place = f"{where}, job {number}"
        job = {"operations": job} if isinstance(job, list) else job
        if not isinstance(job, dict) or not isinstance(job.get("operations"), list):
            refuse(
                place, 'a list of operations, or an object with "operations"', "none"
            )
        label = str(job.get("name", number))
        if label in routes:
            refuse(place, "a name of its own", shown(label))
        route = routes[label] = []
        for step, given in enumerate(job["operations"]):
            pair = given
            if isinstance(given, dict):
                pair = [given.get("machine"), given.get("time")]
            at = f"{place}, operation {step}"
            if not isinstance(pair, list) or len(pair) != 2 or None in pair:
                refuse(at, "[machine, time]", shown(given))
            if isinstance(pair[0], bool) or not isinstance(pair[0], int | str):
                refuse(f"{at}: machine", "a number or a name", shown(pair[0]))
            route.append((pair[0], whole_number(pair[1], f"{at}: time")))
        for column in _DATES:
            if job.get(column) is not None:
                dates[column][label] = whole_number(job[column], f"{place}, {column}")
    machines = data.get("machines")
    if isinstance(machines, int) and not isinstance(machines, bool):
        machines = _numbered(machines, where)
    if machines is not None and not isinstance(machines, list):
        refuse(f"{where}: machines", "names, or their number", shown(machines))
    label = data.get("name", name)
    return _named_instance(str(label), routes.items(), machines, dates, where)


def _named_instance(
    name: str,
    routes: Iterable[tuple[str, list[tuple[Any, int]]]],
    machines: list[Any] | None,
    dates: dict[str, dict[str, int]],
    where: str,
) -> JobShopInstance:
    """Give machines their numbers; dates that only some jobs have are refused."""
    jobs = list(routes)
    if not jobs:
        refuse(where, "at least one job", "none")
    found = dict.fromkeys(str(machine) for _, route in jobs for machine, _ in route)
    if machines is not None:
        names = [str(machine) for machine in machines]
    elif all(_NUMBER.fullmatch(label) for label in found):
        names = _numbered(1 + max(map(int, found), default=0), where)
    else:
        names = list(found)
    numbers = {label: number for number, label in enumerate(names)}
    for label in found:
        if label not in numbers:
            refuse(where, f"one of the machines {shown(names)}", shown(label))
    more: dict[str, Any] = {}
    for column, values in dates.items():
        if values and column == "due" and len(values) != len(jobs):
            missing = next(job for job, _ in jobs if job not in values)
            refuse(where, "a due date for every job", f"none for job {missing}")
        if values:
            default = 1 if column == "weight" else 0
            more[column] = np.array([values.get(job, default) for job, _ in jobs])
    return JobShopInstance.from_routes(
        [
            [(numbers[str(machine)], time) for machine, time in route]
            for _, route in jobs
        ],
        name=name,
        n_machines=len(names),
        job_names=tuple(job for job, _ in jobs),
        machine_names=tuple(names),
        **more,
    )


def _numbered(n_machines: int, where: str) -> list[str]:
    """Name machines by their numbers; not before so many are allowed."""
    if not 1 <= n_machines <= MAX_MACHINES:
        refuse(f"{where}: machines", f"1 to {MAX_MACHINES:,}", shown(n_machines))
    return [str(number) for number in range(n_machines)]
