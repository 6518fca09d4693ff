"""From where and with which method the next search beside the tree starts.

Plain bookkeeping without a clock or a thread; whoever shares it holds a lock.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from dpbb.problem import Beginning


@dataclass(slots=True)
class _Entry:
    """A start, and how many searches of each method have begun there."""

    beginning: Beginning
    uses: Counter[str] = field(default_factory=Counter)

    @property
    def key(self) -> bytes:
        """What makes it another start than the others."""
        return key_of(self.beginning)


class StartPool:
    """The incumbent and the best promoted schedules, distinct, not many.

    ``most_uses``: a promoted start leaves the pool when so many searches have begun
    there: what is promoted later has room then.
    """

    def __init__(self, most_uses: int) -> None:
        self.capacity = 0
        self._most_uses = most_uses
        self._incumbent: _Entry | None = None
        self._promoted: list[_Entry] = []  # the best first

    @property
    def incumbent(self) -> Beginning | None:
        """The best schedule known."""
        return None if self._incumbent is None else self._incumbent.beginning

    @property
    def beginnings(self) -> list[Beginning]:
        """What is in the pool, the incumbent and then the best first."""
        return [entry.beginning for entry in self._entries]

    @property
    def _entries(self) -> list[_Entry]:
        first = [] if self._incumbent is None else [self._incumbent]
        return [*first, *self._promoted]

    def resize(self, capacity: int) -> None:
        """Keep so many at most, the best ones."""
        self.capacity = capacity
        del self._promoted[max(0, capacity - 1) :]

    def lead(self, incumbent: Beginning) -> None:
        """Put the incumbent in the place of the last one."""
        self._incumbent = _Entry(incumbent)

    def add(self, promoted: Beginning) -> bool:
        """Take a start in if it is new and among the best; returns whether it is."""
        key = key_of(promoted)
        if any(entry.key == key for entry in self._entries):
            return False
        # behind its equals, so that the newer ones make room
        place = sum(entry.beginning.value <= promoted.value for entry in self._promoted)
        self._promoted.insert(place, _Entry(promoted))
        self.resize(self.capacity)
        return place < len(self._promoted)

    def take(self, method: str) -> Beginning | None:
        """Return the start used least by a method, the first of those; None: none is.

        Some methods would do the same again from the same start.
        """
        entries = self._entries
        if not entries:
            return None
        entry = min(entries, key=lambda entry: entry.uses[method])
        entry.uses[method] += 1
        if entry.uses.total() >= self._most_uses and entry is not self._incumbent:
            self._promoted.remove(entry)
        return entry.beginning


def key_of(beginning: Beginning) -> bytes:
    """Bytes that are equal for the same permutation alone."""
    return beginning.permutation.astype("<u2").tobytes()


class Turns:
    """Whose turn it is among several methods: every second one goes to what pays.

    ``methods``: their names, at least one.
    """

    def __init__(self, methods: Sequence[str]) -> None:
        self._starts = dict.fromkeys(methods, 0)
        self._gains = dict.fromkeys(methods, 0)
        self._turn = 0

    @property
    def methods(self) -> list[str]:
        """Those that still take turns."""
        return list(self._starts)

    def take(self) -> str:
        """Return the next method; there must be one."""
        self._turn += 1
        if self._turn % 2:
            chosen = min(self._starts, key=lambda name: self._starts[name])
        else:
            chosen = max(self._starts, key=self._share)
        self._starts[chosen] += 1
        return chosen

    def note(self, method: str) -> None:
        """Note that a method found a better schedule than the run had."""
        if method in self._gains:
            self._gains[method] += 1

    def drop(self, method: str) -> None:
        """Give a method no more turns: it failed."""
        self._starts.pop(method, None)
        self._gains.pop(method, None)

    def _share(self, name: str) -> float:
        """Part of its searches that paid, as if one more had; new ones first."""
        return (self._gains[name] + 1) / (self._starts[name] + 1)
