"""Kinds of problems by name: who decodes them, and what models engines have of them.

A *family* is what dpbb knows of a kind (``Problem.name``) besides its problems: how one
is decoded from a checkpoint or a certificate, and which engine has a *model* of it: the
code of its states and bounds in the form that this engine compiles. Families and models
are named by path and loaded when they are asked for.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from dpbb.problem import Problem


@dataclass(frozen=True, slots=True)
class Family:
    """What dpbb knows of a kind of problem.

    Parameters
    ----------
    decode
        ``decode(data)``: the problem whose ``encode()`` gave ``data``; ValueError (or
        InstanceError) if it cannot be one.
    models
        Path ``"module:name"`` of the model for an engine and a bound:
        ``{("cpu", "lb1"): "...", ("cuda", "lb1"): "..."}``.
    """

    decode: Callable[[Mapping[str, Any]], Problem[Any]]
    models: Mapping[tuple[str, str], str] = field(default_factory=dict)


FAMILIES: dict[str, str | Family] = {
    "flowshop-makespan": "dpbb.flowshop.family:FAMILY",
}
"""Family of every kind, or its path."""


def register(kind: str, family: Family | str) -> None:
    """Make a kind of problem known in this process; a later family takes its place."""
    FAMILIES[kind] = family


def family_of(kind: str) -> Family | None:
    """Return the family of a kind, None if nobody has registered one."""
    found = FAMILIES.get(kind)
    return _load(found) if isinstance(found, str) else found


def model_of(problem: Problem[Any], engine: str, bound: str) -> Any:  # noqa: ANN401
    """Return an engine's (``"cpu"``, ``"cuda"``) model of a problem with a bound.

    None if there is none: the engine has to refuse the problem.
    """
    family = family_of(problem.name)
    path = None if family is None else family.models.get((engine, bound))
    return None if path is None else _load(path)


def models_known(problem: Problem[Any], engine: str) -> tuple[str, ...]:
    """Return the bounds of a problem that an engine has a model of."""
    family = family_of(problem.name)
    models = {} if family is None else family.models
    return tuple(bound for kind, bound in models if kind == engine)


def _load(path: str) -> Any:  # noqa: ANN401
    module, _, name = path.partition(":")
    return getattr(import_module(module), name)
