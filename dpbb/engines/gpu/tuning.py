"""Autotuning of a session: length of a slice, share of the explorers, block size.

None of them changes a count. What is fastest depends on the device and on the shape of
the instance, so it is measured, and on the run's own work: two settings take turns, and
the challenger stays if it was faster by more than noise. A run that is over within
seconds keeps the defaults; one that lasts is never explored for the measurement alone.
"""

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, replace

SLICES_S = (0.1, 0.2, 0.4, 0.8)
"""Lengths of a slice, from which the tuning starts with the second.

Every end of a launch cuts the explorers' depth-first searches short: slices of 50 ms
cost 8 to 9 % against 200 ms (H100; 30 to 200 jobs). What is wanted of a
seat meanwhile interrupts a slice; only its own better permutations wait for the end.
"""

SHARES = (1.0, 0.75, 0.5)
"""Shares of the explorers that the device holds at a time."""

TURN_S = 0.4
"""A setting explores at least so long before it is the other one's turn."""

TURNS = 3
"""Turns of each of two settings."""

GAIN = 1.01
"""A challenger that is faster by less is not."""


@dataclass(frozen=True, slots=True)
class Setting:
    """What may be tuned.

    Parameters
    ----------
    slice_s
        Seconds of a slice.
    share
        Share of the explorers that the device can hold at a time.
    block_size
        Threads of a block.
    """

    slice_s: float
    share: float
    block_size: int


@dataclass(slots=True)
class _Sum:
    nodes: int = 0
    seconds: float = 0.0

    @property
    def rate(self) -> float:
        return self.nodes / self.seconds if self.seconds else 0.0


class Autotuner:
    """Chooses the setting of every slice.

    Parameters
    ----------
    start
        The setting to begin with.
    tunes_slice, tunes_explorers
        Whether the length of a slice, and the share, may change.
    block_sizes
        Other block sizes to try.
    prepare
        Says whether kernels of a block size are there; None if they never will be. The
        first call has them compiled, and does not wait for it.
    """

    def __init__(
        self,
        start: Setting,
        *,
        tunes_slice: bool = True,
        tunes_explorers: bool = True,
        block_sizes: Sequence[int] = (),
        prepare: Callable[[int], bool | None] = lambda _: None,
    ) -> None:
        self.best = start
        self._tunes_slice = tunes_slice
        self._tunes_explorers = tunes_explorers
        self._block_sizes = block_sizes
        self._prepare = prepare
        self._trials = self._challenges()
        self._challenger: Setting | None = None
        self._sums: tuple[_Sum, _Sum] = (_Sum(), _Sum())
        self._turn, self._turn_s = 0, 0.0
        self.done = False
        self._next(won=None)

    @property
    def setting(self) -> Setting:
        """The setting of the next slice."""
        if self._challenger is None or self._turn % 2 == 0:
            return self.best
        return self._challenger

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
        if self._challenger is None:
            self._next(won=None)
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
        if self._turn == 2 * TURNS:
            champion, challenger = self._sums
            won = challenger.rate > GAIN * champion.rate
            if won:
                self.best = self._challenger
            self._next(won=won)

    def _next(self, *, won: bool | None) -> None:
        try:
            self._challenger = (
                next(self._trials) if won is None else self._trials.send(won)
            )
        except StopIteration:
            self._challenger, self.done = None, True
        self._begin()

    def _begin(self) -> None:
        self._sums = (_Sum(), _Sum())
        self._turn, self._turn_s = 0, 0.0

    def _challenges(self) -> Generator[Setting | None, bool, None]:
        """Yield a challenger, or None if there is none yet; is sent whether it won."""
        if self._tunes_slice:
            first = self.best.slice_s
            for slice_s in (s for s in SLICES_S if s > first):
                if not (yield replace(self.best, slice_s=slice_s)):
                    break
            for slice_s in (s for s in reversed(SLICES_S) if s < first):
                if self.best.slice_s > first:  # longer ones are faster
                    break
                if not (yield replace(self.best, slice_s=slice_s)):
                    break
        if self._tunes_explorers:
            for share in SHARES[1:]:
                if not (yield replace(self.best, share=share)):
                    break
        for block_size in self._block_sizes:
            while (there := self._prepare(block_size)) is False:
                yield None
            if there:
                yield replace(self.best, block_size=block_size)
