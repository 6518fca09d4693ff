"""What it takes to encode a checkpoint: the rule of the folder, without the folder."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from dpbb.cluster.storage.checkpoint_folder import LEAST_SHARE
from dpbb.coordination.format import Roots, Section, encode

if TYPE_CHECKING:
    from dpbb.coordination.checkpoint import Checkpoint, SavedUnit
    from tests.worlds.scale.costs import Costs

EMPTY = Section("units-000001.bin", 0, 0, "0" * 32)


class Encoder:
    """Says how long a thread is at a checkpoint; see ``CheckpointFolder.write``.

    Units whose roots are those of the checkpoint before are not encoded again, unless
    the part of the folder that has them is hardly used any more. What a unit takes is
    that of one with as many roots as a GPU holds; the header is the real one.
    """

    def __init__(self, costs: Costs) -> None:
        self._costs = costs
        self._known: dict[int, tuple[SavedUnit, int]] = {}  # by its roots; and its part
        self._sizes: dict[int, int] = {}  # units of a part, when it was written
        self.units = 0  # encoded so far

    def seconds(self, saved: Checkpoint, factor: float = 1.0) -> float:
        """Encode, as far as there are units; ``factor`` is of what is really done."""
        known, costs = self._usable(saved), self._costs
        part = len(self._sizes)
        encoded, total_s = 0, 0.0
        now: dict[int, tuple[SavedUnit, int]] = {}
        for unit in saved.units:
            entry = known.get(id(unit.roots))
            if entry is None:
                entry = unit, part
                encoded += 1
                total_s += costs.unit_s
            now[id(unit.roots)] = entry
        self._known = now
        self._sizes[part] = encoded
        self.units += encoded
        begin = time.thread_time()
        sections = [Roots(EMPTY, 0)] * len(saved.units)
        encode(saved, sections, lambda content: EMPTY)
        return total_s + (time.thread_time() - begin) * factor

    def _usable(self, saved: Checkpoint) -> dict[int, tuple[SavedUnit, int]]:
        live: dict[int, int] = {}
        for unit in saved.units:
            entry = self._known.get(id(unit.roots))
            if entry is not None:
                live[entry[1]] = live.get(entry[1], 0) + 1
        return {
            key: entry
            for key, entry in self._known.items()
            if live.get(entry[1], 0) >= LEAST_SHARE * self._sizes[entry[1]]
        }
