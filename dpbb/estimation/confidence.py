"""What the probes of a tree say together: an interval, and reasons for doubt."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpbb.estimation.result import MOST_NODES

_STUDENT = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228)
"""97.5 % points of Student's t with 1, 2, ... degrees of freedom (any table of it)."""

SPREAD = 0.5
"""Relative standard deviation of the probes above which they disagree."""

FEW, FEW_SPREAD = 256, 0.2
"""The same where fewer samples than these are kept: of a heavy tail few samples may
miss so much that all probes agree (ta101 at 11152: with 64 on 2 % of the truth)."""

CALM = 0.1
"""The same up to which they agree so well that nothing else speaks against them."""

WIDE = 1000.0
"""Upper over lower end of an interval above which it says next to nothing."""

UP, UP_SPREAD, DOWN, DOWN_SPREAD = 0.2, 1.0, 0.15, 0.3
"""How far the ends of an interval are moved out, as logarithms: always, and for each
unit of the probes' spread. Fitted to 105 estimates of 35 trees of known size."""

GROWN_UP = 0.5
"""The same for the logarithm by which an estimate has grown since the round before."""

SCARCE, SCARCE_UP = 64, 0.7
"""The same, with fewer samples than these, for each factor of 16 that they lack."""


class Found(NamedTuple):
    """What a probe found.

    Attributes
    ----------
    decomposed, leaves
        Estimated numbers of nodes; exact if nothing was left out.
    visited
        Nodes that were bounded for it.
    thinned
        Strata that had more nodes than were kept.
    widest
        Most nodes of one depth, before some were left out.
    drawn
        Not all roots were walked to.
    """

    decomposed: float
    leaves: float
    visited: int
    thinned: int
    widest: int
    drawn: bool = False


@dataclass(frozen=True, slots=True)
class Round:
    """Probes with one number of samples.

    Parameters
    ----------
    samples
        K: nodes of a stratum that are kept.
    found
        One for each probe.
    seconds
        All of them took, on the clock.
    by_ub
        Mean estimates for the UB, the UB less 1, and so on.
    """

    samples: int
    found: tuple[Found, ...]
    seconds: float
    by_ub: tuple[float, ...] = ()

    @property
    def nodes(self) -> NDArray[np.float64]:
        """Estimate of every probe; shape (probes,)."""
        return np.array([one.decomposed + one.leaves for one in self.found])

    @property
    def mean(self) -> float:
        """Mean of the probes' estimates, at most ``MOST_NODES``."""
        return min(float(self.nodes.mean()), MOST_NODES)

    @property
    def spread(self) -> float:
        """Relative standard deviation of the probes' estimates; 0 for one probe."""
        if len(self.found) < 2 or not self.mean:
            return 0.0
        # squares of the nodes themselves may be beyond all floats
        return float((self.nodes / self.nodes.mean()).std(ddof=1))

    @property
    def seen(self) -> float:
        """Most nodes that a probe has looked at: the tree has these at least."""
        # roots that were drawn may have been drawn twice
        return float(max(1 if one.drawn else one.visited for one in self.found))

    @property
    def exact(self) -> bool:
        """Whether nothing was left out: all nodes were counted."""
        return not any(one.thinned or one.drawn for one in self.found)

    def interval(self) -> tuple[float, float]:
        """Interval for the mean of all possible probes, as for a log-normal sample.

        Notes
        -----
        Estimates of a tree's size are positive and skewed: mostly a little low,
        seldom far too high. With l_i = log of the i-th estimate, m and s^2 their mean
        and variance: exp(m + s^2/2 +- t sqrt(s^2/p + s^4/(2 (p - 1)))), t of Student
        with p - 1 degrees of freedom for 95 % (Cox's method; U. Olsson, Journal of
        Statistics Education 13(1), 2005, for t in the place of z). It holds as far
        as the logarithms are normal, and says nothing of what no probe has met. Its
        lower end is not below ``seen``, its upper one not above ``MOST_NODES``.
        """
        if self.exact:
            return self.mean, self.mean
        logs = np.log(np.maximum(self.nodes, 1.0))
        p = len(logs)
        if p < 2:
            return min(self.seen, self.mean), MOST_NODES
        variance = float(logs.var(ddof=1))
        middle = float(logs.mean()) + variance / 2
        t = _STUDENT[min(p - 2, len(_STUDENT) - 1)]
        half = t * math.sqrt(variance / p + variance**2 / (2 * (p - 1)))
        low = math.exp(max(middle - half, 0.0))
        high = min(math.exp(min(middle + half, 700.0)), MOST_NODES)
        return min(max(low, self.seen), self.mean), max(high, self.mean)


def interval(rounds: Sequence[Round]) -> tuple[float, float]:
    """Return what has the truth in 9 of 10 trees, as ``tests.bench.estimate`` counts.

    Wider than the probes' own interval: that knows nothing of what all probes miss,
    which is most where they disagree, where they are few, and where more samples still
    find more.
    """
    last = rounds[-1]
    low, high = last.interval()
    if last.exact or len(last.found) < 2:
        return low, high
    spread = float(np.log(np.maximum(last.nodes, 1.0)).std(ddof=1))
    grown = 0.0
    if len(rounds) > 1:
        grown = max(0.0, math.log(max(last.mean, 1.0) / max(rounds[-2].mean, 1.0)))
    lacking = max(0.0, math.log(SCARCE / last.samples, 16))
    up = UP + UP_SPREAD * spread + GROWN_UP * grown + SCARCE_UP * lacking
    low *= math.exp(-DOWN - DOWN_SPREAD * spread)
    high = min(math.log(max(high, 1.0)) + up, 700.0)
    return max(low, min(last.seen, last.mean)), min(math.exp(high), MOST_NODES)


def doubts(rounds: Sequence[Round]) -> tuple[str, ...]:
    """Reasons not to believe an estimate; none for an exact count."""
    last = rounds[-1]
    if last.exact:
        return ()
    found = []
    if last.mean >= MOST_NODES:
        found.append("there are more nodes than 10^300, where the estimate ends")
    limit = FEW_SPREAD if last.samples < FEW else SPREAD
    if last.spread > limit:
        how = f"up to {limit:.0%} with {last.samples} samples a stratum"
        found.append(
            f"the {len(last.found)} probes disagree: their estimates spread by "
            f"{last.spread:.0%} of the mean (trusted {how})"
        )
    if len(rounds) > 1:
        before = rounds[-2]
        ratio = last.mean / before.mean if before.mean else math.inf
        if not 0.5 <= ratio <= 2 and last.spread > CALM:
            found.append(
                f"with {before.samples} samples a stratum the estimate was "
                f"{before.mean:.2g}, with {last.samples} it is {last.mean:.2g}"
            )
    elif last.spread > CALM:
        found.append("there was time for one round only, and nothing to compare with")
    low, high = last.interval()
    if high > WIDE * low:
        found.append(
            f"the interval spans {math.log10(high / max(low, 1.0)):.0f} powers of ten"
        )
    return tuple(found)
