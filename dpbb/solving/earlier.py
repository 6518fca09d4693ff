"""What the trees of a call took that are over, where another one follows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

from dpbb.coordination.snapshot import Snapshot
from dpbb.options import kinds
from dpbb.result import Result


@dataclass(frozen=True, slots=True)
class Earlier:
    """Sums over the earlier trees of a call; the fields are those of ``Result``."""

    decomposed: int = 0
    leaves: int = 0
    units: int = 0
    donations: int = 0
    requeues: int = 0
    tree_seconds: float = 0.0
    explore_seconds: float = 0.0
    gpu_seconds: float = 0.0
    energy_j: float | None = None

    @classmethod
    def of(cls, result: Result) -> Earlier:
        """Return the sums of a result, which has those before it already."""
        return cls(**{one.name: getattr(result, one.name) for one in fields(cls)})

    @property
    def of_no_node(self) -> Earlier:
        """The same with no nodes and units: those of a tree that begins anew."""
        return replace(self, decomposed=0, leaves=0, units=0)

    def added_to(self, known: Mapping[str, Any]) -> dict[str, Any]:
        """Return values of a result with these added; None is what nobody knows."""
        mine = asdict(self)
        return {
            name: value if mine.get(name) is None else mine[name] + (value or 0)
            for name, value in known.items()
        }

    def shown_on(self, snapshot: Snapshot) -> Snapshot:
        """Return the state of a tree with the nodes of those before it."""
        return replace(
            snapshot,
            decomposed=snapshot.decomposed + self.decomposed,
            leaves=snapshot.leaves + self.leaves,
        )

    def to_json(self) -> dict[str, Any]:
        """Return what ``of_request`` finds as ``earlier``."""
        return asdict(self)

    @classmethod
    def of_request(cls, request: Mapping[str, Any]) -> Earlier:
        """Return the sums that a run's request has; see ``Plan.to_request``.

        OptionError: what it has are no such sums.
        """
        found = request.get("earlier")
        if found is None:  # of a run that no call opened
            return NOTHING
        made: Earlier = kinds.record(cls).check(found, "earlier")
        return made


NOTHING = Earlier()
"""Of a first tree."""
