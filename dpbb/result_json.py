"""The JSON form of a result: self-contained, readable without dpbb."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

from dpbb import result_fields
from dpbb.errors import DpbbError, OptionError, shown
from dpbb.json_text import json_text
from dpbb.result import Result

SCHEMA = 1
"""Version of the JSON form; a reader refuses any other."""


def to_json(result: Result, *, schedule: bool, indent: int | None) -> str:
    """Write a result as one JSON object; see ``Result.to_json``."""
    values: dict[str, Any] = {
        "schema": SCHEMA,
        "status": result.status,
        "termination": result.termination,
        "proof": result.proof,
        "objective": result.objective,
        "makespan": result.makespan,
        "lower_bound": result.lower_bound,
        "gap": result.gap,
        "permutation": result.permutation,
        "decomposed": result.decomposed,
        "leaves": result.leaves,
        "seconds": result.seconds,
        "tree_seconds": result.tree_seconds,
        "explore_seconds": result.explore_seconds,
        "energy_j": result.energy_j,
        "nodes_per_second": result.nodes_per_second,
        "engine": result.engine,
        "seats": result.seats,
        "instance": result.instance,
        "digest": result.digest,
        "n_jobs": result.n_jobs,
        "n_machines": result.n_machines,
        "trajectory": [asdict(step) for step in result.trajectory],
        "optima": result.optima,
        "n_optima": result.n_optima,
        "n_optima_listed": None if result.optima is None else len(result.optima),
        "n_optima_written": result.n_optima_written,
        "units": result.units,
        "donations": result.donations,
        "requeues": result.requeues,
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
        values = json.loads(text)
    except (TypeError, ValueError, RecursionError) as error:
        raise DpbbError(f"result: expected JSON, got: {error}") from error
    if not isinstance(values, dict) or values.get("schema") != SCHEMA:
        got = values.get("schema") if isinstance(values, dict) else type(values)
        raise DpbbError(
            f"result: expected a JSON object of schema {SCHEMA}, got {shown(got)}"
        )
    try:
        return Result(**result_fields.checked(values))
    except OptionError as error:
        raise DpbbError(
            f"result: expected the JSON of a result, got: {error}"
        ) from error
