"""What the page gets: runs to look at, and what a viewer may do to them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpbb.coordination.snapshot import Snapshot
    from dpbb.dashboard.history import History
    from dpbb.problem import Problem


@dataclass(frozen=True, slots=True)
class RunView:
    """One run as the page shows it.

    Parameters
    ----------
    snapshot
        The run as it is now.
    history
        What it was like before.
    problem
        For the Gantt chart.
    """

    snapshot: Snapshot
    history: History
    problem: Problem[Any] | None = None


class Feed(Protocol):
    """Runs of a cluster, the open and the kept finished ones."""

    def run_ids(self) -> Sequence[str]:
        """Names of the runs, oldest first."""

    def view(self, run_id: str) -> RunView | None:
        """Return a run as it is now; None if nobody knows it any more."""


class Controls(Protocol):
    """What a viewer may do to a run.

    Attributes
    ----------
    key
        A secret that the page itself holds. A command must come with it: web pages of
        other sites can open a connection to this server, but not read its pages.
    refused
        Why nothing may be done; None if it may.
    """

    @property
    def key(self) -> str:
        """See the class."""

    @property
    def refused(self) -> str | None:
        """See the class."""

    async def stop(self, run_id: str) -> str:
        """Stop a run early; returns what to tell the viewer."""

    async def save(self, run_id: str) -> str:
        """Write a checkpoint now; returns what to tell the viewer."""
