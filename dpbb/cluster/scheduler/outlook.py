"""What one run has left: all its estimates together, held against what was explored.

Each estimate says how many nodes were left at one moment; what is explored from then on
is known exactly. All of them speak of the same number, the size of the whole tree, and
err by a common factor (a sampler that misses heavy subtrees misses them every time) and
by chance. The more of the tree is finished, the more that says about the factor: the
finished subtrees are samples, too.
"""

from __future__ import annotations

import math
import os
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from dpbb.coordination.snapshot import RunState, Snapshot

FIRST_S = min(40.0, max(10.0, 80.0 / (os.cpu_count() or 1)))
"""Age of a run at its first estimate. Its process takes a second or two: of what the
cores of this machine have done by then 2 % or less, if they are two or more."""

NORMAL = 1.645
"""Between minus and plus so many standard deviations are 9 of 10 cases."""

LEAST_SD = 0.02

N_CELLS = 513
"""Sizes of the tree that are told apart."""

QUANTILES = (0.05, 0.5, 0.95)

SURER = 1 / 3
"""Of a run's estimates, by their doubt in what they share: this quantile is its doubt.

Of 20 trees whose sizes are known, six estimates of 0.3 s each, put together by two to
five: the size was inside of 92 to 95 % of the ranges, nine in ten of which were
narrower than a factor 6,100 (of two) to 1,100 (of five); with the last one's doubt 94
to 97 % and factors 22,000 to 11,500, with the least doubt 78 to 86 %.
"""

PACE_S, PACE_SHARE = 30.0, 0.1
"""Nodes a second are an average over so long, or over this part of the run's age."""


@dataclass(frozen=True, slots=True)
class Sample:
    """An estimate of what was left when so many nodes were explored.

    Parameters
    ----------
    explored
        Nodes of then.
    left
        The middle of the estimate, nodes.
    sd, bias_sd
        Standard deviations of its logarithm: by chance, which another estimate would
        not share, and of what it has in common with all others.
    """

    explored: float
    left: float
    sd: float
    bias_sd: float

    @classmethod
    def of(cls, explored: int, low: float, high: float, spread: float) -> Sample:
        """Return one from the interval that has the truth in 9 of 10 cases.

        ``spread``: relative standard error of the estimate, by its own probes.
        """
        low, high = max(low, 1.0), max(high, 1.0)
        whole = max(LEAST_SD, math.log(high / low) / (2 * NORMAL))
        sd = min(max(spread, LEAST_SD), whole)
        middle = math.exp((math.log(low) + math.log(high)) / 2)
        return cls(explored, middle, sd, math.sqrt(whole**2 - sd**2))


class Prospect:
    """How large the tree is: a distribution over sizes, from all estimates.

    With the logarithms r_k of (size - explored_k) / left_k: independent errors of each
    estimate and a common one, all normal, so the likelihood of a size is that of the
    vector r under the covariance diag(sd_k^2) + bias_sd^2 (Sherman and Morrison's
    formula for its inverse). Any size is as likely as another before that, by its
    logarithm. The common error is that of the surer estimates (``SURER``); what others
    doubt more is theirs alone.

    Parameters
    ----------
    samples
        Estimates for one UB, oldest first.
    ub
        That UB.
    by_ub
        What the last estimate says for this UB, the UB less 1, and so on.
    """

    def __init__(
        self, samples: Sequence[Sample], ub: int, by_ub: Sequence[float] = ()
    ) -> None:
        self.samples, self.ub, self.by_ub = tuple(samples), ub, tuple(by_ub)
        last = self.samples[-1]
        bias = float(np.quantile([one.bias_sd for one in self.samples], SURER)) ** 2
        wide = math.hypot(last.sd, max(last.bias_sd, math.sqrt(bias)))
        logs = math.log(last.left) + np.linspace(-8.0, 8.0, N_CELLS) * wide
        left = np.exp(np.clip(logs, -1.0, 690.0))
        self._sizes: NDArray[np.float64] = last.explored + left
        precision = linear = square = np.zeros(N_CELLS)
        for one in self.samples:
            rest = left + (last.explored - one.explored)
            error = np.log(rest) - math.log(one.left)
            variance = one.sd**2 + max(0.0, one.bias_sd**2 - bias)
            precision = precision + 1 / variance
            linear = linear + error / variance
            square = square + error**2 / variance
        fit = square - linear**2 * bias / (1 + bias * precision)
        weights = np.exp(-(fit - fit.min()) / 2)
        self._weights: NDArray[np.float64] = np.where(
            (logs >= -1.0) & (logs <= 690.0), weights, 0.0
        )

    def left(self, explored: float) -> tuple[float, float, float]:
        """Nodes that are left now: low, middle and high (5, 50 and 95 %).

        Where more was explored than any estimate had thought possible: from nothing
        to as much again as since the last one.
        """
        alive = self._sizes > explored
        passed = np.where(alive, self._weights, 0.0).cumsum()
        if passed[-1] < 1e-6 * self._weights.sum():
            since = explored - self.samples[-1].explored
            return 0.0, since / 2, since
        at = np.searchsorted(passed, np.array(QUANTILES) * passed[-1])
        low, middle, high = (self._sizes[at] - explored).tolist()
        return low, middle, high

    def outgrown(self, explored: float) -> bool:
        """Whether more was explored than the estimates had thought possible."""
        alive = self._weights[self._sizes > explored]
        return bool(alive.sum() < 0.05 * self._weights.sum())

    def follow(self, explored: float, ub: int) -> Prospect | None:
        """Return the same for a smaller UB; None if too little is known for it.

        What was explored since is taken to be the same share of every tree.
        """
        fall = self.ub - ub
        if not 0 < fall < len(self.by_ub) or not self.by_ub[0]:
            return None
        share = self.by_ub[fall] / self.by_ub[0]
        low, _, high = (share * nodes for nodes in self.left(explored))
        sample = Sample.of(int(explored), low, high, math.inf)
        return Prospect([sample], ub, self.by_ub[fall:])

    def join(self, sample: Sample, by_ub: Sequence[float]) -> Prospect:
        """Return the same with one estimate more.

        Earlier ones that had more explored are left out: what a lost seat had done
        since its last report is open again.
        """
        kept = [one for one in self.samples if one.explored <= sample.explored]
        return Prospect([*kept, sample], self.ub, by_ub)


@dataclass(frozen=True, slots=True)
class Remaining:
    """Between how many nodes were left, when so many were explored.

    ``reliable``: what is outside is no more likely than the estimate says.
    """

    low: float
    high: float
    explored: int
    reliable: bool


@dataclass(slots=True)
class Outlook:
    """A run's estimates.

    Parameters
    ----------
    due_s
        Age of the run at the next one.
    busy_s
        Age of the run when the one was begun that is being made; None without one.
    awaited
        The events say that the first one takes its time.
    prospect
        All of them together; None before the first one, and after a fall of the UB
        that none had foreseen.
    remaining
        The last one, however doubtful; for decisions, not for people.
    asked_s
        Age of the run at the last one.
    count
        How many were made.
    """

    due_s: float = FIRST_S
    asked_s: float = 0.0
    busy_s: float | None = None
    awaited: bool = False
    prospect: Prospect | None = None
    remaining: Remaining | None = None
    count: int = 0
    _pace: deque[tuple[float, int]] = field(default_factory=deque, repr=False)

    def shown_on(self, snapshot: Snapshot) -> Snapshot:
        """Return the snapshot with what is left, where that is known."""
        explored = snapshot.decomposed + snapshot.leaves
        rate = self._rate(snapshot.seconds, explored) or snapshot.nodes_per_second
        if self.prospect is None or snapshot.state is not RunState.RUNNING:
            return snapshot
        if snapshot.ub != self.prospect.ub:
            return snapshot
        low, middle, high = self.prospect.left(explored)
        snapshot = replace(snapshot, estimate_nodes=middle, left_nodes=(low, high))
        if not rate:
            return snapshot
        seconds = (low / rate, high / rate)
        return replace(snapshot, estimate_s=middle / rate, left_s=seconds)

    def _rate(self, now: float, explored: int) -> float:
        """Nodes a second over a while: what is left must not jump with every unit."""
        pace = self._pace
        if not pace or now >= pace[-1][0] + 1.0:
            pace.append((now, explored))
        window = max(PACE_S, PACE_SHARE * now)
        while len(pace) > 2 and now - pace[1][0] >= window:
            pace.popleft()
        then, before = pace[0]
        return max(0.0, explored - before) / (now - then) if now - then >= 2 else 0.0
