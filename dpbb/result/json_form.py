"""The JSON form of a result: self-contained, readable without dpbb.

``CHECKS`` and ``LATER`` say what each field has to be where one is read.
"""

import json
from collections.abc import Callable
from typing import Any

from dpbb.errors import DpbbError, InstanceError, OptionError, shown
from dpbb.options import SolveOptions, kinds
from dpbb.options.permutations import check_permutation
from dpbb.result.result import (
    Improvement,
    Proof,
    ProvedBound,
    Result,
    Status,
    Termination,
)
from dpbb.text.json_text import json_text
from dpbb.text.labels import NO_NAMES, Names, checked_names

SCHEMA = 1
"""Version of the JSON form; a reader refuses any other."""

Check = Callable[[Any, str], Any]
"""``check(value, name)``: the value as its final type; OptionError if it is not so."""


def to_json(result: Result, *, schedule: bool, indent: int | None) -> str:
    """Write a result as one JSON object; see ``Result.to_json``."""
    plain = [name for name in (*CHECKS, *LATER) if name not in ("schedule", "names")]
    values: dict[str, Any] = {
        "schema": SCHEMA,
        **{name: getattr(result, name) for name in plain},
        "gap": result.gap,
        "nodes_per_second": result.nodes_per_second,
        "n_optima_listed": None if result.optima is None else len(result.optima),
        "options": result.options.to_mapping(),
        "versions": dict(result.versions),
    }
    values["names"] = {"jobs": result.names.jobs, "machines": result.names.machines}
    if schedule and result.operations is not None:
        values["schedule"] = {
            "start": result.operations.start.tolist(),
            "end": result.operations.end.tolist(),
        }
    return json_text(values, indent=indent)


def from_json(text: str) -> Result:
    """Read what ``to_json`` wrote; see ``Result.from_json``."""
    try:
        values = json.loads(text)
    except (TypeError, ValueError, RecursionError) as error:
        raise DpbbError(f"result: expected JSON, got: {error}") from error
    got = values.get("schema") if isinstance(values, dict) else type(values)
    if got is True or got != SCHEMA:
        raise DpbbError(
            f"result: expected a JSON object of schema {SCHEMA}, got {shown(got)}"
        )
    try:
        return Result(**checked(values))
    except OptionError as error:
        raise DpbbError(
            f"result: expected the JSON of a result, got: {error}"
        ) from error


def text(value: Any, name: str) -> str:
    """Take any text, also an empty one."""
    if not isinstance(value, str):
        raise OptionError(f"{name}: expected a text, got {shown(value)}")
    return value


def listed(check: Check) -> Check:
    """Take lists of what ``check`` takes, as tuples."""

    def check_all(value: Any, name: str) -> tuple[Any, ...]:
        if not isinstance(value, list):
            raise OptionError(f"{name}: expected a list, got {shown(value)}")
        return tuple(check(one, f"{name}[{at}]") for at, one in enumerate(value))

    return check_all


def or_null(check: Check) -> Check:
    """Take null, or what ``check`` takes."""
    return lambda value, name: None if value is None else check(value, name)


def of_object(checks: dict[str, Check], make: Callable[..., Any] = dict) -> Check:
    """Take objects with these keys, as what ``make`` makes of them."""

    def check_keys(value: Any, name: str) -> Any:
        values = _object(value, name)
        missing = [key for key in checks if key not in values]
        if missing:
            raise OptionError(f"{name}: expected the keys {', '.join(missing)}")
        return make(
            **{
                key: check(values[key], f"{name}.{key}")
                for key, check in checks.items()
            }
        )

    return check_keys


def _object(value: Any, name: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise OptionError(f"{name}: expected an object, got {shown(value)}")
    return value


def _versions(value: Any, name: str) -> tuple[tuple[str, str], ...]:
    pairs = _object(value, name).items()
    return tuple((package, text(one, f"{name}.{package}")) for package, one in pairs)


def _options(value: Any, name: str) -> SolveOptions:
    values = _object(value, name)
    try:
        return SolveOptions.from_mapping(values)
    except OptionError as error:
        raise OptionError(f"{name}: {error}") from error


count = kinds.whole(0).check
cost = kinds.whole(-kinds.LARGEST).check
seconds = kinds.number(least=0).check
jobs = check_permutation
rows = listed(listed(count))

CHECKS: dict[str, Check] = {
    "status": kinds.choice(Status).check,
    "termination": kinds.choice(Termination).check,
    "proof": kinds.choice(Proof).check,
    "makespan": or_null(cost),
    "lower_bound": cost,
    "permutation": or_null(jobs),
    "decomposed": count,
    "leaves": count,
    "seconds": seconds,
    "tree_seconds": seconds,
    "explore_seconds": seconds,
    "engine": text,
    "seats": listed(text),
    "instance": text,
    "digest": text,
    "n_jobs": count,
    "n_machines": count,
    "trajectory": listed(
        of_object({"seconds": seconds, "value": cost, "source": text}, Improvement)
    ),
    "optima": or_null(listed(jobs)),
    "n_optima": or_null(count),
    "units": count,
    "donations": count,
    "requeues": count,
    "options": _options,
    "versions": _versions,
}
"""Fields of every result."""

LATER: dict[str, Check] = {
    "gpu_seconds": seconds,
    "energy_j": or_null(seconds),
    "bounds": listed(
        of_object({"seconds": seconds, "value": cost, "decomposed": count}, ProvedBound)
    ),
    "n_optima_written": or_null(count),
    "objective": text,
    "names": of_object({"jobs": listed(text), "machines": listed(text)}, Names),
    "schedule": or_null(of_object({"start": rows, "end": rows})),
}
"""Fields that a result of before, or without its schedule, does not have."""


def checked(values: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a result: arguments of ``Result``.

    Raises
    ------
    OptionError
        A field is not there, of another type, or of another size than the instance.
    """
    there = CHECKS | {name: LATER[name] for name in LATER if name in values}
    found: dict[str, Any] = of_object(there)(values, "result")
    n_jobs = found["n_jobs"]  # 0 where it was not said
    orders = {"permutation": found["permutation"]}
    orders |= {f"optima[{at}]": one for at, one in enumerate(found["optima"] or ())}
    for name, order in orders.items():
        if order is not None and len(order) != (n_jobs or len(order)):
            raise OptionError(f"{name}: expected {n_jobs} jobs, got {len(order)}")
    names = found.get("names", NO_NAMES)
    try:
        checked_names(names, n_jobs, found["n_machines"], "names")
    except InstanceError as error:
        raise OptionError(str(error)) from error
    arrays = found.pop("schedule", None)
    if arrays is not None:
        found["operations"] = _schedule(found, **arrays)
    return found


def _schedule(found: dict[str, Any], start: Any, end: Any) -> Any:
    """Return the schedule of rows of start and end."""
    order = found["permutation"] or ()
    n_machines = found["n_machines"] or len(start[0] if start else ())
    for name, side in (("start", start), ("end", end)):
        if len(side) != len(order) or {len(row) for row in side} - {n_machines}:
            raise OptionError(
                f"schedule.{name}: expected {len(order)} rows of {n_machines} times, "
                "as there are jobs and machines"
            )
    if not order or not n_machines:
        raise OptionError("schedule: expected a permutation and at least one machine")
    import numpy as np

    from dpbb.result.schedule import Schedule

    start, end = (np.array(side, dtype=np.int64) for side in (start, end))
    return Schedule(order, start, end, found.get("names", NO_NAMES))
