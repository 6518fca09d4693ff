"""The JSON form of a result: self-contained, readable without dpbb."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

from dpbb.errors import DpbbError
from dpbb.json_text import json_text
from dpbb.options import SolveOptions
from dpbb.result import Improvement, Proof, Result, Status, Termination

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
        raise DpbbError(f"result: expected a JSON object of schema {SCHEMA}, got {got}")
    try:
        return _result(values)
    except (KeyError, TypeError, ValueError) as error:
        raise DpbbError(
            f"result: expected the JSON of a result, got: {error}"
        ) from error


def _result(values: dict[str, Any]) -> Result:
    permutation = values["permutation"]
    optima = values["optima"]
    plain = (
        "makespan", "lower_bound", "decomposed", "leaves", "seconds", "tree_seconds",
        "explore_seconds", "engine", "instance", "digest", "n_jobs", "n_machines",
        "n_optima", "units", "donations", "requeues",
    )  # fmt: skip
    return Result(
        status=Status(values["status"]),
        termination=Termination(values["termination"]),
        proof=Proof(values["proof"]),
        permutation=None if permutation is None else tuple(permutation),
        energy_j=values.get("energy_j"),  # results of before have none
        n_optima_written=values.get("n_optima_written"),
        objective=values.get("objective", "makespan"),
        seats=tuple(values["seats"]),
        trajectory=tuple(Improvement(**step) for step in values["trajectory"]),
        optima=None if optima is None else tuple(tuple(jobs) for jobs in optima),
        options=SolveOptions.from_mapping(values["options"]),
        versions=tuple(values["versions"].items()),
        operations=_schedule(permutation, values.get("schedule")),
        **{name: values[name] for name in plain},
    )


def _schedule(permutation: list[int] | None, arrays: dict[str, Any] | None) -> Any:  # noqa: ANN401
    if permutation is None or arrays is None:
        return None
    import numpy as np

    from dpbb.schedule import Schedule

    start, end = (np.array(arrays[side], dtype=np.int64) for side in ("start", "end"))
    return Schedule(tuple(permutation), start, end)
