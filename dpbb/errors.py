"""Errors that dpbb raises on purpose; each message says what was expected and came."""

from typing import Any, NoReturn


def shown(value: object) -> str:
    """Return any value as messages show it: shortened; a text may be a whole book."""
    try:
        text = repr(value)
    except Exception:  # noqa: BLE001 (an integer of > 4300 digits, or any class's own)
        return f"a value of type {type(value).__name__} that cannot be printed"
    return text if len(text) <= 80 else text[:77] + "..."


class DpbbError(Exception):
    """Base of all errors raised on purpose."""


class InstanceError(DpbbError, ValueError):
    """Bad instance file or array: path, line, what was expected, what came."""


def refuse(where: str, expected: str, got: str) -> NoReturn:
    """Raise an InstanceError that says where, what was expected and what came."""
    raise InstanceError(f"{where}: expected {expected}, got {got}")


class OptionError(DpbbError, ValueError):
    """An option has a value that is not allowed; says which values are."""


class EngineUnavailable(DpbbError, ImportError):
    """The engine cannot run here; says which extra or device is missing."""


class CheckpointError(DpbbError):
    """Other instance, tree options or schema; or damaged (checksum)."""


class ClusterError(DpbbError, RuntimeError):
    """The cluster cannot run dpbb, or a run on it failed; says where and why."""


class SchedulerLostError(ClusterError):
    """Nobody answers at the scheduler's address: not yet, or not any more.

    No fault of the run: with a checkpoint it can be resumed.
    """


class StaleLeaseError(DpbbError):
    """Late report of a released lease: ignore it."""


class UnwrittenError(DpbbError):
    """A file of a result could not be written; ``result`` is the result all the same.

    Parameters
    ----------
    message
        Which file, and why.
    result
        The ``Result``.
    """

    def __init__(self, message: str, result: Any) -> None:
        super().__init__(message)
        self.result = result


class Interrupted(KeyboardInterrupt):
    """Somebody pressed Ctrl-C: the search has stopped in order.

    Parameters
    ----------
    result
        The ``Result`` so far, with the best schedule and the lower bound.
    """

    def __init__(self, result: Any) -> None:
        super().__init__("Ctrl-C; what was found is in this exception's .result")
        self.result = result


class InvariantError(DpbbError, RuntimeError):
    """Proof bookkeeping broken, so the answer could be wrong: stop."""
