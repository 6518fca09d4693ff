"""Autotuning of a session: the length of its slices.

It changes no count. What is fastest depends on the device and on the shape of the
instance, so it is measured, and on the run's own work: two lengths take turns, and the
challenger stays if it was faster by more than noise. A run that is over within seconds
keeps the default; one that lasts is never explored for the measurement alone. What has
been found is kept for the process: the next session for the same shape of instance on
the same device starts with it.
"""

from collections.abc import Generator, Hashable
from dataclasses import dataclass

SLICES_S = (0.1, 0.2, 0.4, 0.8)
"""Lengths of a slice, from which the tuning starts with the second.

Every end of a launch cuts the explorers' depth-first searches short: slices of 50 ms
cost 8 to 9 % against 200 ms (H100; 30 to 200 jobs). What is wanted of a
seat meanwhile interrupts a slice; only its own better permutations wait for the end.
"""

TURN_S = 0.4
"""A length is used at least for so long before it is the other one's turn."""

TURNS = 3
"""Turns of each of two lengths."""

GAIN = 1.01
"""A challenger that is faster by less is not."""

_found: dict[Hashable, float] = {}


@dataclass(slots=True)
class _Sum:
    nodes: int = 0
    seconds: float = 0.0

    @property
    def rate(self) -> float:
        return self.nodes / self.seconds if self.seconds else 0.0


class Autotuner:
    """Chooses the length of every slice.

    Attributes
    ----------
    best
        Seconds: what has been fastest so far.
    done
        Whether it stays.

    Parameters
    ----------
    key
        What the length depends on; None: what is found is not kept.
    given
        Seconds, which then are not tuned.
    """

    def __init__(self, key: Hashable = None, given: float | None = None) -> None:
        self._key = key
        known = _found.get(key) if given is None else given
        self.best = SLICES_S[1] if known is None else known
        self.done = known is not None
        self._trials = self._challenges()
        self._challenger = self.best
        self._turn, self._turn_s = 0, 0.0
        self._begin()
        if not self.done:
            self._challenger = next(self._trials)

    @property
    def slice_s(self) -> float:
        """Seconds of the next slice."""
        return self.best if self.done or self._turn % 2 == 0 else self._challenger

    def note(self, nodes: int, seconds: float, *, steady: bool) -> None:
        """Take in a slice.

        Parameters
        ----------
        nodes, seconds
            Decomposed nodes, and how long it took.
        steady
            Whether all explorers had work all the time and nothing else changed. If
            not, the comparison begins anew.
        """
        if self.done:
            return
        if not steady:
            self._begin()
            return
        mine = self._sums[self._turn % 2]
        mine.nodes += nodes
        mine.seconds += seconds
        self._turn_s += seconds
        if self._turn_s >= TURN_S:
            self._turn += 1
            self._turn_s = 0.0
        if self._turn < 2 * TURNS:
            return
        champion, challenger = self._sums
        won = challenger.rate > GAIN * champion.rate
        if won:
            self.best = self._challenger
        self._begin()
        try:
            self._challenger = self._trials.send(won)
        except StopIteration:
            self.done = True
            if self._key is not None:
                _found[self._key] = self.best

    def _begin(self) -> None:
        self._sums = (_Sum(), _Sum())
        self._turn, self._turn_s = 0, 0.0

    def _challenges(self) -> Generator[float, bool, None]:
        """Yield challengers; is sent whether the last one won."""
        first = self.best
        for slice_s in (s for s in SLICES_S if s > first):
            if not (yield slice_s):
                break
        if self.best > first:  # longer ones are faster
            return
        for slice_s in (s for s in reversed(SLICES_S) if s < first):
            if not (yield slice_s):
                break
