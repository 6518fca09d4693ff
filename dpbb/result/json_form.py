"""The JSON form of a result: self-contained, readable without dpbb."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any, Literal

import msgspec
import numpy as np

from dpbb.errors import DpbbError, InstanceError, OptionError
from dpbb.options import SolveOptions
from dpbb.options.permutations import check_permutation
from dpbb.result.result import Count, Result
from dpbb.result.schedule import SPANS, Schedule, each
from dpbb.text.clock import Clock, read_date
from dpbb.text.json_text import json_text
from dpbb.text.labels import checked_names

SCHEMA = 1
"""Version of the JSON form; a reader refuses any other."""

OTHERS = ("options", "versions", "operations", "certificate")
"""Fields of a result that are written in a form of their own, or not at all."""

PLAIN = [one.name for one in fields(Result) if one.name not in OTHERS]


class Times(msgspec.Struct):
    """Tables of a schedule, a row or a number a job; what follows is not read."""

    start: list[list[Count]]
    end: list[list[Count]]
    leave: list[list[Count]] | None = None
    setup: list[list[Count]] | None = None
    release: list[Count] | None = None
    due: list[Count] | None = None


class Form(msgspec.Struct):
    """What is not in the form that a result has it in."""

    schema: Literal[1]
    options: dict[str, Any] = {}
    versions: dict[str, str] = {}
    schedule: dict[str, Any] | None = None


def to_json(result: Result, *, indent: int | None) -> str:
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
    if result.operations is not None:
        values["schedule"] = result.operations.to_json()
    return json_text(values, indent=indent)


def from_json(text: str) -> Result:
    """Read what ``to_json`` wrote; see ``Result.from_json``."""
    try:
        values = msgspec.json.decode(text, type=dict[str, Any])
        form = msgspec.convert(values, Form)
        plain = {name: values[name] for name in PLAIN if name in values}
        return _whole(msgspec.convert(plain, Result), form)
    except (
        *(msgspec.DecodeError, RecursionError, TypeError, UnicodeError),
        *(OptionError, InstanceError),
    ) as error:
        raise DpbbError(
            f"result: expected the text of a result, JSON of schema {SCHEMA}, got: "
            f"{error}"
        ) from error


def _counted(schedule: dict[str, Any], clock: Clock) -> dict[str, Any]:
    """Return tables of a schedule with times in place of dates."""

    def time(date: Any) -> int:
        return clock.time(read_date(str(date), "schedule"), "schedule")

    return {
        name: table if name in SPANS or table is None else each(table, time)
        for name, table in schedule.items()
    }


def _whole(result: Result, form: Form) -> Result:
    """Return a result with the rest of it, of the sizes that it says."""
    orders = [("permutation", result.permutation)]
    orders += [(f"optima[{at}]", one) for at, one in enumerate(result.optima or ())]
    for name, order in orders:
        if order is not None:  # the number of jobs is 0 where it was not said
            check_permutation(order, name, result.n_jobs or len(order))
    checked_names(result.names, result.n_jobs, result.n_machines, "names")
    try:
        options = SolveOptions.from_mapping(form.options)
    except OptionError as error:
        raise OptionError(f"options: {error}") from error
    return replace(
        result,
        options=options,
        versions=tuple(form.versions.items()),
        operations=None if form.schedule is None else _schedule(result, form.schedule),
    )


def _schedule(result: Result, schedule: dict[str, Any]) -> Schedule:
    if result.names.clock is not None:
        schedule = _counted(schedule, result.names.clock)
    times = msgspec.convert(schedule, Times)
    order = result.permutation
    n_machines = result.n_machines or len(times.start[0] if times.start else ())
    if not order or not n_machines:
        raise OptionError("schedule: expected a permutation and at least one machine")

    given = msgspec.structs.asdict(times)
    tables: dict[str, Any] = {k: one for k, one in given.items() if one is not None}
    for name, rows in tables.items():
        dated = name in ("release", "due")
        wide = {len(row) for row in rows} - {n_machines} if not dated else ()
        if len(rows) != len(order) or wide:
            rows_of = "times" if dated else f"rows of {n_machines} times"
            raise OptionError(
                f"schedule.{name}: expected {len(order)} {rows_of}, "
                "as there are jobs and machines"
            )
        tables[name] = np.array(rows, dtype=np.int64)
    return Schedule(order, names=result.names, **tables)
