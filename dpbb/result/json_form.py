"""The JSON form of a result: self-contained, readable without dpbb."""

from __future__ import annotations

import json
from typing import Any

from dpbb.errors import DpbbError, OptionError, shown
from dpbb.result import Result
from dpbb.result import fields as result_fields
from dpbb.text.json_text import json_text

SCHEMA = 1
"""Version of the JSON form; a reader refuses any other."""


def to_json(result: Result, *, schedule: bool, indent: int | None) -> str:
    """Write a result as one JSON object; see ``Result.to_json``."""
    names = [*result_fields.CHECKS, *result_fields.LATER]
    names.remove("schedule")
    values: dict[str, Any] = {
        "schema": SCHEMA,
        **{name: getattr(result, name) for name in names},
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
