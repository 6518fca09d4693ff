"""Rounds of independent probes, each round with more samples than the last.

The probes of the last round give the estimate, their spread the interval; what they
have in common with the round before says whether to believe it.
"""

from __future__ import annotations

import math
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import psutil
from numpy.typing import NDArray

from dpbb.errors import OptionError
from dpbb.estimation.node import Level, make_tables, root_level
from dpbb.estimation.probe import MOST_STRATA, Found, Thinning, probe, probe_each, walk
from dpbb.estimation.result import MOST_NODES
from dpbb.estimation.roots import RootSample
from dpbb.kernels.pairs import Room
from dpbb.kernels.pointers import addresses
from dpbb.options import TreeOptions
from dpbb.problem import Problem
from dpbb.problems import model_of

FIRST_SAMPLES = 4
"""Samples of the first round."""

LEAST_STRATA = 8
"""Strata that a depth may always have."""

NODE_S, BOUND_S = 3e-7, 7e-10
"""About the seconds that a node takes, and each unscheduled job on each machine of it
(measured: 0.6 us at 20 x 20 and 50 x 20, 1.6 us at 200 x 20, on one core of a server
of which others had a part)."""

GROWTH = 4
"""How many times the samples of a round the next one has."""

PRECISE = 0.02
"""Relative standard error at which no further round is worth its time."""

MOST_ROOTS = 256
"""Roots of one depth that each probe walks to; of more, it draws this many."""

_STUDENT = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228)
"""97.5 % points of Student's t with 1, 2, ... degrees of freedom (any table of it)."""

MOST_UBS = 256
"""Upper bounds that a round gives estimates for."""

SPREAD = 0.5
"""Relative standard deviation of the probes above which they disagree."""

FEW, FEW_SPREAD = 256, 0.2
"""The same where fewer samples than these are kept: of a heavy tail few samples may
miss so much that all probes agree (ta101 at 11152: with 64 on 2 % of the truth)."""

WIDE = 1000.0
"""Upper over lower end of an interval above which it says next to nothing."""

CALM = 0.1
"""The same up to which they agree so well that nothing else speaks against them."""


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
    def beyond(self) -> bool:
        """Whether the estimate was cut off at ``MOST_NODES``."""
        return self.mean >= MOST_NODES

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


UP, UP_SPREAD, DOWN, DOWN_SPREAD = 0.2, 1.0, 0.15, 0.3
"""How far the ends of an interval are moved out, as logarithms: always, and for each
unit of the probes' spread. Fitted to 105 estimates of 35 trees of known size."""

GROWN_UP = 0.5
"""The same for the logarithm by which an estimate has grown since the round before."""

SCARCE, SCARCE_UP = 64, 0.7
"""The same, with fewer samples than these, for each factor of 16 that they lack."""


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


@dataclass(frozen=True, slots=True)
class Strata:
    """Nodes of one depth, told apart by UB - LB.

    Parameters
    ----------
    width
        How many values of UB - LB make a stratum.
    above
        How far the UB that was asked for is above the trivial one.
    """

    width: int
    count: int
    above: int

    @classmethod
    def of(cls, span: int, above: int, most: int = MOST_STRATA) -> Strata:
        """Return at most so many strata of ``span`` values."""
        width = -(-span // most)
        return cls(width, -(-span // width), above)

    def by_ub(self, sizes: NDArray[np.float64]) -> tuple[float, ...]:
        """Return how many nodes have room for an UB that is smaller by 0, 1, ..."""
        at_least = sizes[::-1].cumsum()[::-1].clip(max=MOST_NODES)
        same = np.full(min(self.above, MOST_UBS), at_least[0])
        strata = np.arange(min(self.count * self.width, MOST_UBS)) // self.width
        return tuple(np.concatenate([same, at_least[strata]])[:MOST_UBS].tolist())


def _next(last: Round, seconds_left: float, most: float) -> list[int]:
    """Return the samples of the next round, if there is to be one."""
    if last.spread < PRECISE * math.sqrt(len(last.found)) and last.samples > 64:
        return []
    growth = min(GROWTH, 0.8 * seconds_left / max(last.seconds, 1e-4), most)
    return [int(last.samples * growth)] if growth >= 1.5 else []


class BaseSampler(ABC):
    """Estimates the number of nodes of a tree, or below some of its roots.

    Parameters
    ----------
    ub
        Nodes with LB >= ub are pruned.
    roots
        What to estimate; None: the whole tree.
    least
        No bound of the tree is below this.
    """

    most_threads: int | None = None
    """Threads that probes can use; None: any number."""

    def __init__(
        self, problem: Problem[Any], ub: int, roots: RootSample | None, least: int
    ) -> None:
        self._above = max(0, ub - problem.trivial_ub)
        self._ub = min(ub, problem.trivial_ub)
        self._roots = roots
        self._span = max(1, self._ub - least)
        self._strata = Strata.of(self._span, self._above)

    def rounds(
        self,
        *,
        seconds: float,
        samples: int | None,
        probes: int,
        threads: int,
        seed: int,
        should_stop: Callable[[], bool] = lambda: False,
        clock: Callable[[], float] = time.perf_counter,
    ) -> list[Round]:
        """Run rounds until the time is up or the estimate is precise.

        Parameters
        ----------
        seconds
            Time for all rounds; the first one is run whatever it takes.
        samples
            Of the last round, which is then run whatever the time, after rounds with
            fewer; the result depends on nothing but the seed. None: as many as there
            is time for.
        clock
            What ``seconds`` are counted with.

        Raises
        ------
        OptionError
            There is not enough memory for so many samples.
        """
        threads = min(threads, self.most_threads or threads)
        if samples is None:
            share = seconds * min(threads, probes) / probes / GROWTH
            most = self._most_strata(share)
            self._strata = Strata.of(self._span, self._above, most)
        self._warm_up(seed)
        end = clock() + seconds
        done: list[Round] = []
        seeds = np.random.SeedSequence(seed)
        steps = [FIRST_SAMPLES] if samples is None else steps_to(samples)
        with ThreadPoolExecutor(threads) as pool:
            while steps:
                count, started = steps.pop(0), clock()
                made = pool.map(partial(self._probe, count), seeds.spawn(probes))
                found, sizes = zip(*made, strict=True)
                now = clock()
                by_ub = self._strata.by_ub(np.mean(sizes, axis=0))
                done.append(Round(count, found, now - started, by_ub))
                if done[-1].exact or should_stop():
                    break
                most_growth = self._most_growth(threads, done[-1])
                if samples is None:
                    steps = _next(done[-1], end - now, most_growth)
                elif steps and steps[0] > most_growth * count:
                    raise OptionError(
                        f"samples: expected fewer than {samples:,}, as {steps[0]:,} of "
                        "each stratum do not fit into a quarter of the free memory"
                    )
        return done

    @abstractmethod
    def _probe(
        self, samples: int, seed: np.random.SeedSequence
    ) -> tuple[Found, NDArray[np.float64]]:
        """Make one probe; with it come the nodes of every stratum, (strata.count,)."""

    @abstractmethod
    def _most_strata(self, seconds: float) -> int:
        """Return how many strata a depth may have if a first probe is to end so."""

    @abstractmethod
    def _warm_up(self, seed: int) -> None:
        """Do what the time does not count."""

    def _most_growth(self, threads: int, last: Round) -> float:
        """How many times the samples of a round the next one may have."""
        return math.inf


class Sampler(BaseSampler):
    """Probes compiled for the models of the CPU engine; see ``BaseSampler``."""

    def __init__(
        self,
        problem: Problem[Any],
        tree: TreeOptions,
        ub: int,
        roots: RootSample | None = None,
    ) -> None:
        model = model_of(problem, "cpu", tree.bound)
        if model is None or model.obstacle(problem):
            raise OptionError(
                f"bound: expected a bound of {problem.name} that can be estimated, got "
                f"{tree.bound}"
            )
        self._tables = make_tables(model, problem, tree, ub)
        self._tables_at = addresses(self._tables)
        self._lane = self._tables.model.root.dtype.type(0)
        super().__init__(problem, ub, roots, self._tables.model.root_bound)

    def _most_strata(self, seconds: float) -> int:
        return most_strata(self._tables.n_jobs, self._tables.model.height, seconds)

    def _warm_up(self, seed: int) -> None:
        """Compile."""
        self._probe(1, np.random.SeedSequence(seed))

    def _most_growth(self, threads: int, last: Round) -> float:
        """How many times the samples of a round fit into a quarter of the memory."""
        n_jobs, node_bytes = self._tables.n_jobs, self._tables.model.root.nbytes
        widest = max(1, *(one.widest for one in last.found))
        # two levels, and the children between them
        used = threads * widest * (2 * (node_bytes + 2 * n_jobs) + 200)
        return float(psutil.virtual_memory().available / 4 / used)

    def _thinning(self, samples: int = 1) -> Thinning:
        return Thinning(self._ub, self._strata.width, self._strata.count, samples)

    def _probe(
        self, samples: int, seed: np.random.SeedSequence
    ) -> tuple[Found, NDArray[np.float64]]:
        state = seed.generate_state(1, np.uint64).astype(np.uint64)
        entries, starts, drawn = self._entries(seed)
        sizes = np.zeros(self._strata.count)
        room = self._room()
        found = probe(
            *(self._tables_at, addresses(room), self._lane, entries, starts),
            *(self._thinning(samples), state, sizes),
        )
        return Found(*found, drawn=drawn), sizes

    def each(
        self, roots: RootSample, samples: int, seed: np.random.SeedSequence
    ) -> NDArray[np.float64]:
        """Estimate the nodes below each root by one probe; from any thread.

        Returns
        -------
        ndarray of float64, shape (r,)
            0 where the path of the root is pruned.
        """
        entries, alive = self._walked(roots)
        nodes = np.zeros(len(alive))
        room = self._room()
        state = seed.generate_state(1, np.uint64).astype(np.uint64)
        probe_each(
            *(self._tables_at, addresses(room), self._lane, entries, roots.depths),
            *(self._thinning(samples), state, nodes),
        )
        return np.where(alive, nodes, 0.0)

    def _room(self) -> Room:
        """Room for the children of a node; one per thread."""
        tables = self._tables
        return Room.of(tables.model, tables.n_jobs, self._lane.dtype)

    def _entries(
        self, seed: np.random.SeedSequence
    ) -> tuple[Level, NDArray[np.int64], bool]:
        """Roots to start from with their weights, by depth; drawn if they are many."""
        n_jobs = self._tables.n_jobs
        root = root_level(self._tables)
        if self._roots is None:
            starts = np.ones(n_jobs + 1, np.int64)
            starts[0] = 0
            return root, starts, False
        drawn = self._roots.drawn(MOST_ROOTS, np.random.default_rng(seed))
        depths = drawn.depths
        entries, alive = self._walked(drawn)
        entries = Level(*[part[alive] for part in entries])  # type: ignore[arg-type]
        entries.weight[:] = drawn.weights[alive]
        starts = np.searchsorted(depths[alive], np.arange(n_jobs + 1))
        rest = bool((drawn.weights != 1).any())
        return entries, starts.astype(np.int64), rest

    def _walked(self, roots: RootSample) -> tuple[Level, NDArray[np.bool_]]:
        """Walk to roots; see ``walk``."""
        room = self._room()
        return walk(
            *(self._tables_at, addresses(room), self._lane, root_level(self._tables)),
            *(roots.depths, roots.digits, roots.order(), self._thinning()),
        )


def most_strata(n_jobs: int, height: int, seconds: float) -> int:
    """Return how many strata a depth may have if a first probe is to end in time.

    Of 20 x 20 they are thousands, but of 800 x 60 a few. ``height``: of the model's job
    tables, the number of machines of a flow shop.
    """
    visited = n_jobs * FIRST_SAMPLES  # of each stratum, at most
    node_s = NODE_S + BOUND_S * height * n_jobs / 2
    return max(LEAST_STRATA, min(MOST_STRATA, int(seconds / (visited * node_s))))


def steps_to(samples: int) -> list[int]:
    """Return the samples of all rounds on the way to a given number."""
    steps = [samples]
    while steps[0] > FIRST_SAMPLES or len(steps) < 2:
        steps.insert(0, max(1, steps[0] // GROWTH))
    return steps


def doubts(rounds: Sequence[Round]) -> tuple[str, ...]:
    """Reasons not to believe an estimate; none for an exact count."""
    last = rounds[-1]
    if last.exact:
        return ()
    found = []
    if last.beyond:
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
