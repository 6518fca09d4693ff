"""Engines by name; no engine is imported before it is asked for."""

import os
from importlib import import_module
from typing import Any, cast

from dpbb.engines.base import Engine
from dpbb.errors import EngineUnavailable, OptionError
from dpbb.options import TreeOptions
from dpbb.options.kinds import one_of
from dpbb.problem import Problem

ENGINES = {
    "gpu": "dpbb.engines.gpu.engine:GpuEngine",
    "cpu": "dpbb.engines.cpu.engine:CpuEngine",
    "reference": "dpbb.engines.reference:ReferenceEngine",
    "pool": "dpbb.engines.pool.engine:PoolEngine",
}
"""Module and class of every engine."""

TRIED = ("gpu", "cpu", "reference")
"""What ``auto`` tries, the fastest first; others explore when they are asked for."""

AUTO = "auto"

ENGINES_OF_KIND = {"cpu": ("cpu", "reference"), "cuda": ("gpu",)}
"""What ``auto`` explores with on a device of this kind, the fastest first."""

REPLACEMENTS = "DPBB_ENGINES"
"""Environment variable that puts other classes in the place of engines, such as
``gpu=my_package.fake:FakeGpu``; workers have to have it too. For tests of several GPUs
on a machine without any, and for engines of one's own."""


def get_engine(name: str) -> Engine:
    """Return the engine of this name, whether or not it can run here.

    Raises
    ------
    OptionError
        There is no engine of this name.
    EngineUnavailable
        Its module cannot be imported: a package is missing.
    """
    one_of(*ENGINES).check(name, "engine")
    module, _, class_name = _replacements().get(name, ENGINES[name]).partition(":")
    try:
        return cast("Engine", getattr(import_module(module), class_name)())
    except ImportError as error:
        raise EngineUnavailable(f"engine {name!r} cannot be loaded: {error}") from error


def is_replaced(name: str) -> bool:
    """Whether the environment replaces this engine."""
    return name in _replacements()


def available_engines() -> dict[str, str | None]:
    """Every engine with None if it can run in this process, else the reason why not."""
    return {name: _obstacle(name) for name in ENGINES}


def _obstacle(name: str) -> str | None:
    """Return why an engine cannot run in this process, None if it can."""
    try:
        return get_engine(name).availability()
    except EngineUnavailable as error:
        return str(error)


def choose_engine(
    name: str, problem: Problem[Any], tree: TreeOptions, tried: tuple[str, ...] = TRIED
) -> tuple[Engine, str]:
    """Return the engine to use and why.

    Parameters
    ----------
    name
        Name of an engine, or ``"auto"``: the first of those ``tried`` that can run here
        and takes the problem.

    Raises
    ------
    OptionError
        There is no engine of this name.
    EngineUnavailable
        The named engine cannot run here or does not take the problem, or with
        ``"auto"`` none does; the message says why and what to do.
    """
    one_of(AUTO, *ENGINES).check(name, "engine")
    passed_over: list[str] = []
    for candidate in tried if name == AUTO else (name,):
        obstacle = _obstacle(candidate) or _refusal(candidate, problem, tree)
        if obstacle is None:
            why = "; ".join(passed_over) or "the fastest engine"
            why = why if name == AUTO else "asked for"
            return get_engine(candidate), f"{candidate} ({why})"
        passed_over.append(f"no {candidate}: {obstacle}")
    raise EngineUnavailable(
        f"engine {name!r} cannot run this here: {'; '.join(passed_over)}"
    )


def _replacements() -> dict[str, str]:
    """Engines that the environment replaces by others."""
    given = os.environ.get(REPLACEMENTS, "")
    pairs = (entry.partition("=") for entry in given.split(",") if entry.strip())
    found = {name.strip(): path.strip() for name, _, path in pairs}
    for name, path in found.items():
        if name not in ENGINES or not all(path.partition(":")):
            raise OptionError(
                f"{REPLACEMENTS}: expected entries like gpu=module:Class for one of "
                f"{', '.join(ENGINES)}, got {given!r}"
            )
    return found


def engines_by_kind(
    name: str, problem: Problem[Any], tree: TreeOptions
) -> dict[str, str]:
    """Return the engine that a run uses on each kind of device that it can use.

    Looks at the problem alone, not at this process: the devices are elsewhere.

    ``name``: name of an engine, or ``"auto"``: on every device its fastest one that
    takes the problem.
    """
    if name not in (AUTO, *TRIED):
        return dict.fromkeys(ENGINES_OF_KIND, name)
    found = {
        kind: candidate
        for kind, candidates in ENGINES_OF_KIND.items()
        for candidate in reversed(candidates)
        if name == candidate
        or (name == AUTO and _refusal(candidate, problem, tree) is None)
    }
    return found or {"cpu": "reference"}  # whose refusal says why


def explain_engines(name: str, problem: Problem[Any], tree: TreeOptions) -> str:
    """Say what explores on a cluster of somebody else's workers, and why.

    EngineUnavailable: the named engine does not take the problem, wherever it is.
    """
    if name != AUTO:
        try:
            obstacle = get_engine(name).supports(problem, tree)
        except EngineUnavailable:  # it may be there where it is to run
            obstacle = None
        if obstacle is not None:
            raise EngineUnavailable(f"engine {name!r} cannot run this: {obstacle}")
        return f"{name} (asked for)"
    engines = engines_by_kind(name, problem, tree)
    where = {"cuda": "on GPUs", "cpu": "on CPUs"}
    parts = [f"{engines[kind]} {on}" for kind, on in where.items() if kind in engines]
    reasons = [
        f"no {candidate}: {obstacle}"
        for candidate in TRIED
        if candidate not in engines.values()
        and (obstacle := _refusal(candidate, problem, tree)) is not None
    ]
    return f"{', '.join(parts)} ({'; '.join(reasons) or 'the fastest of every seat'})"


def _refusal(name: str, problem: Problem[Any], tree: TreeOptions) -> str | None:
    """Return why an engine does not take a problem, or cannot be loaded."""
    try:
        return get_engine(name).supports(problem, tree)
    except EngineUnavailable as error:
        return str(error)
