"""Specifications of runs from plain keywords, whether they are options or not."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

from dpbb.coordination.messages import RunId, RunSpec
from dpbb.options import TUNING, RunOptions

if TYPE_CHECKING:
    from dpbb.options import TreeOptions
    from dpbb.problem import Problem

OPTIONS = {option.name for option in fields(RunOptions)}


def run_spec(
    run_id: str, problem: Problem[Any], tree: TreeOptions, **values: Any
) -> RunSpec:
    """Return a specification; options of the run are keywords like all else."""
    return changed(RunSpec(RunId(run_id), problem, tree), **values)


def changed(spec: RunSpec, **values: Any) -> RunSpec:
    """Return a copy with other values, of options of the run, too."""
    options = {name: values.pop(name) for name in OPTIONS & values.keys()}
    tuning = values.pop("tuning", spec.tuning)
    tuned = {name: values.pop(name) for name in TUNING.keys() & values.keys()}
    return replace(
        spec, options=replace(spec.options, **options), tuning=tuning.replace(**tuned),
        **values,
    )  # fmt: skip
