"""The JSON form of a result: self-contained, readable without dpbb."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

import msgspec
import numpy as np
from msgspec import Meta

from dpbb.errors import DpbbError, InstanceError, OptionError
from dpbb.options import SolveOptions
from dpbb.options.kinds import LARGEST
from dpbb.options.permutations import check_permutation
from dpbb.result.result import (
    Improvement,
    Proof,
    ProvedBound,
    Result,
    Status,
    Termination,
)
from dpbb.result.schedule import Schedule
from dpbb.text.json_text import json_text
from dpbb.text.labels import NO_NAMES, Names, checked_names

if TYPE_CHECKING:
    from collections.abc import Sequence

SCHEMA = 1
"""Version of the JSON form; a reader refuses any other."""

Count = Annotated[int, Meta(ge=0, le=LARGEST)]
Cost = Annotated[int, Meta(ge=-LARGEST, le=LARGEST)]
Seconds = Annotated[float, Meta(ge=0)]
Jobs = tuple[int, ...]


class Times(msgspec.Struct):
    """Start and end of every operation, a row a job."""

    start: list[list[Count]]
    end: list[list[Count]]


class Form(msgspec.Struct, kw_only=True):
    """The fields of a result; those with a default are not in every one."""

    schema: Literal[1]
    status: Status
    termination: Termination
    proof: Proof
    makespan: Cost | None
    lower_bound: Cost
    permutation: Jobs | None
    decomposed: Count
    leaves: Count
    seconds: Seconds
    tree_seconds: Seconds
    explore_seconds: Seconds
    engine: str
    seats: tuple[str, ...]
    instance: str
    digest: str
    n_jobs: Count
    n_machines: Count
    trajectory: tuple[Improvement, ...]
    optima: tuple[Jobs, ...] | None
    n_optima: Count | None
    units: Count
    donations: Count
    requeues: Count
    options: dict[str, Any]
    versions: dict[str, str]
    gpu_seconds: Seconds = 0.0
    energy_j: Seconds | None = None
    bounds: tuple[ProvedBound, ...] = ()
    n_optima_written: Count | None = None
    objective: str = "makespan"
    names: Names = NO_NAMES
    schedule: Times | None = None


PLAIN = [
    name
    for name in Form.__struct_fields__
    if name not in ("schema", "options", "versions", "schedule")
]
"""Fields that a result has as they are."""


def to_json(result: Result, *, schedule: bool, indent: int | None) -> str:
    """Write a result as one JSON object; see ``Result.to_json``."""
    values: dict[str, Any] = {
        "schema": SCHEMA,
        **{name: getattr(result, name) for name in PLAIN},
        "gap": result.gap,
        "nodes_per_second": result.nodes_per_second,
        "n_optima_listed": None if result.optima is None else len(result.optima),
        "options": result.options.to_mapping(),
        "versions": dict(result.versions),
    }
    if schedule and result.operations is not None:
        values["schedule"] = {
            "start": result.operations.start.tolist(),
            "end": result.operations.end.tolist(),
        }
    return json_text(values, indent=indent)


def from_json(text: str) -> Result:
    """Read what ``to_json`` wrote; see ``Result.from_json``."""
    try:
        return _result(msgspec.json.decode(text, type=Form))
    except (
        *(msgspec.DecodeError, RecursionError, TypeError, UnicodeError),
        *(OptionError, InstanceError),
    ) as error:
        raise DpbbError(
            f"result: expected the JSON of a result of schema {SCHEMA}, got: {error}"
        ) from error


def _result(form: Form) -> Result:
    """Return a result, whose parts are of the sizes that it says."""
    orders = [("permutation", form.permutation)]
    orders += [(f"optima[{at}]", one) for at, one in enumerate(form.optima or ())]
    for name, order in orders:
        if order is not None:  # the number of jobs is 0 where it was not said
            check_permutation(order, name, form.n_jobs or len(order))
    checked_names(form.names, form.n_jobs, form.n_machines, "names")
    try:
        options = SolveOptions.from_mapping(form.options)
    except OptionError as error:
        raise OptionError(f"options: {error}") from error
    return Result(
        **{name: getattr(form, name) for name in PLAIN},
        options=options,
        versions=tuple(form.versions.items()),
        operations=None if form.schedule is None else _schedule(form, form.schedule),
    )


def _schedule(form: Form, times: Times) -> Schedule:
    order, start = form.permutation, times.start
    n_machines = form.n_machines or len(start[0] if start else ())
    if not order or not n_machines:
        raise OptionError("schedule: expected a permutation and at least one machine")

    def table(rows: Sequence[Sequence[int]], name: str) -> Any:
        if len(rows) != len(order) or {len(row) for row in rows} - {n_machines}:
            raise OptionError(
                f"schedule.{name}: expected {len(order)} rows of {n_machines} times, "
                "as there are jobs and machines"
            )
        return np.array(rows, dtype=np.int64)

    ends = table(start, "start"), table(times.end, "end")
    return Schedule(order, *ends, form.names)
