"""Kinds of problems by name, and the models that engines compile of them.

Of a kind (``Problem.name``) dpbb knows how a problem is decoded from a checkpoint or a
certificate: a function, named by its path and loaded when it is asked for. A *model* is
the code of a problem's states and bounds in the form that an engine compiles.
"""

from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Protocol, runtime_checkable

from dpbb.errors import InstanceError
from dpbb.problem import Encodable, Problem, bound_of

GROUP = "dpbb.problems"
"""Entry points of installed packages: the name is a kind, the value what decodes it,
such as ``"my_package.tours:decode"``."""

Decode = Callable[[Mapping[str, Any]], Problem[Any]]
"""Makes the problem whose ``encode()`` gave the data, to which are added its kind and
digest; raises anything if it cannot be one."""


@runtime_checkable
class Modeled(Protocol):
    """Has models, as a problem that is written as one text does.

    A subclass inherits only what holds of it, too: a model does not know what the class
    overrides.
    """

    def engine_model(self, engine: str) -> Any:
        """Return the model of the problem, with its bound, for an engine, or None."""


DECODERS: dict[str, str | Decode] = {
    "flowshop-makespan": "dpbb.flowshop.family:decode",
    "flow-shop": "dpbb.flowshop.shop:decode",
}
"""What decodes every kind, or its path."""


def register(kind: str, decode: Decode | str) -> None:
    """Make a kind of problem known in this process; a later call takes its place."""
    DECODERS[kind] = decode


def decoder_of(kind: str) -> Decode | None:
    """Return what decodes a kind, None if nothing does.

    That is what was registered in this process, else that of an installed package.
    """
    found = DECODERS.get(kind)
    if found is not None:
        return load(found) if isinstance(found, str) else found
    entry = _installed().get(kind)
    try:
        return None if entry is None else entry.load()
    except (ImportError, AttributeError) as error:
        raise InstanceError(
            f"kind {kind!r}: expected a function where an installed package says, got "
            f"{type(error).__name__}: {error}"
        ) from error


@cache
def _installed() -> dict[str, EntryPoint]:
    return {entry.name: entry for entry in entry_points(group=GROUP)}


def encoded(problem: Problem[Any]) -> dict[str, Any]:
    """Return kind and digest of a problem, and what it is made from if it can tell.

    Raises
    ------
    InstanceError
        ``encode()`` has another ``kind`` or ``digest``.
    """
    marks = {"kind": problem.name, "digest": problem.digest}
    data = problem.encode() if isinstance(problem, Encodable) else {}
    for key, value in marks.items():
        if data.get(key, value) != value:
            raise InstanceError(
                f"encode() of kind {problem.name!r}: expected no {key}, which says "
                f"what the problem is, got {data[key]!r}"
            )
    return {**marks, **data}


def holds_problem(known: Mapping[str, Any]) -> bool:
    """Whether ``encoded`` could say what the problem is made from."""
    return not known.keys() <= {"kind", "digest"}


def unknown(kind: str) -> str:
    """Say that nobody knows a kind, and what makes it known."""
    return (
        f"expected a kind of problem that is known here, got {kind!a}: "
        "dpbb.problems.register(kind, decode) makes it known, or an installed "
        f"package with an entry point of this name in the group {GROUP!r}"
    )


def decoded(known: Mapping[str, Any]) -> Problem[Any]:
    """Return the problem that ``encoded`` was given, perhaps in another process.

    Raises
    ------
    InstanceError
        Nobody registered its kind; or another problem is made of it, or none.

    Notes
    -----
    What a file says is data: no module is imported because a file names it.
    """
    kind, digest = known["kind"], known["digest"]
    decode = decoder_of(kind)
    if decode is None:
        raise InstanceError(unknown(kind))
    try:
        problem = decode(known)
    except Exception as error:
        raise InstanceError(
            f"kind {kind!r}: expected what can be decoded, got "
            f"{type(error).__name__}: {error}"
        ) from error
    if (problem.name, problem.digest) != (kind, digest):
        raise InstanceError(
            f"expected a problem of kind {kind!r} and digest {digest}, got "
            f"{problem.name!r} and {problem.digest}: it is another one"
        )
    return problem


def model_of(problem: Problem[Any], engine: str, bound: str) -> Any:
    """Return an engine's (``"cpu"``, ``"cuda"``) model of a problem with a bound.

    None if there is none: the engine has to refuse the problem.
    """
    if bound != bound_of(problem) or not isinstance(problem, Modeled):
        return None
    return problem.engine_model(engine)


def name_of_bound(bound: str) -> str:
    """Return the part of a bound's text that is its name: all before a first colon.

    What follows the colon are numbers that a model or a problem reads.
    """
    return bound.partition(":")[0]


def load(path: str) -> Any:
    """Return what a path ``"module:name"`` names."""
    module, _, name = path.partition(":")
    return getattr(import_module(module), name)
