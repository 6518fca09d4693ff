"""An estimate as people and programs read it."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from dpbb.progress.words import format_count, time_unit
from dpbb.text.json_text import json_text
from dpbb.text.markup import table

if TYPE_CHECKING:
    from dpbb.estimation.rates import Rate

USED_OPTIONS = ("bound", "branching", "all_optima", "tuning", "engine", "threads")
"""Options of a solve that an estimate looks at."""

MOST_NODES = 1e300
"""Where numbers of nodes end: beyond 1.8e308 there are no floats."""

MANY_JOBS = 100
"""From so many jobs on no upper end is known; see ``ONLY_LEAST``."""

ONLY_LEAST = (
    f"of {MANY_JOBS} jobs and more nearly all of a tree is below few nodes, which all "
    "samples may miss: there are at least so many, and no upper end is known"
)
"""Three of the four trees of 200 jobs that were explored further than their estimates
had more nodes than the upper end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """Estimated size of a tree, and how long it takes.

    Parameters
    ----------
    instance, digest, n_jobs, n_machines
        The instance.
    upper_bound
        Nodes with LB >= upper_bound are pruned.
    branching
        The branching rule.
    all_optima
        Nodes with LB = upper_bound are not pruned.
    decomposed, leaves
        Estimated numbers of nodes; with ``exact`` the true ones.
    low, high
        Interval for ``nodes``; see ``docs/estimates.md`` for what it means.
    exact
        All nodes were counted: nothing is estimated.
    by_upper_bound
        Estimated nodes for upper_bound, upper_bound - 1, and so on: what a better
        schedule is worth.
    reasons
        Why the estimate is not to be trusted; none if there is no reason.
    samples, probes
        Nodes kept of a stratum in the last round, and number of its probes.
    visited
        Nodes that were looked at, in all rounds.
    took_s
        Seconds that the probes took.
    seed
        Of the random numbers.
    here
        Rate of this machine; None when it was not measured, or could not be.
    unknown
        Why the rate could not be measured; empty if it was, or nobody asked.
    elsewhere
        Rates of other devices.
    source
        Where ``upper_bound`` comes from, if it was not given.
    """

    instance: str
    digest: str
    n_jobs: int
    n_machines: int
    upper_bound: int
    branching: str
    all_optima: bool
    decomposed: float
    leaves: float
    low: float
    high: float
    exact: bool
    by_upper_bound: tuple[float, ...]
    reasons: tuple[str, ...]
    samples: int
    probes: int
    visited: int
    took_s: float
    seed: int
    here: Rate | None = None
    unknown: str = ""
    elsewhere: tuple[Rate, ...] = ()
    source: str = ""

    @property
    def nodes(self) -> float:
        """Decomposed nodes and leaves, at most ``MOST_NODES``."""
        return min(self.decomposed + self.leaves, MOST_NODES)

    @property
    def reliable(self) -> bool:
        """Whether nothing speaks against the estimate."""
        return not self.reasons

    @property
    def seconds(self) -> float | None:
        """Seconds on this machine; None when its rate was not measured."""
        return None if self.here is None else self.nodes / self.here.nodes_per_second

    def summary(self) -> str:
        """Text of a few lines."""
        return "\n".join(f"{name:<12} {value}".rstrip() for name, value in self._rows())

    def to_json(self) -> str:
        """One JSON object: the fields, and what follows from them."""
        values = asdict(self)
        values |= {"nodes": self.nodes, "reliable": self.reliable}
        values["times"] = [
            {
                "what": rate.what,
                "seconds": self.nodes / rate.nodes_per_second,
                "low_s": self.low / rate.nodes_per_second,
                "high_s": self.high / rate.nodes_per_second,
                "source": rate.source,
            }
            for rate in self.rates
        ]
        return json_text(values)

    @property
    def rates(self) -> tuple[Rate, ...]:
        """All rates, that of this machine first."""
        return (() if self.here is None else (self.here,)) + self.elsewhere

    def _rows(self) -> list[tuple[str, str]]:
        size = f"{self.n_jobs} x {self.n_machines}"
        if not self.n_machines:
            size = f"{self.n_jobs} jobs"
        sign = "<=" if self.all_optima else "<"
        tree = f"nodes with LB {sign} {self.upper_bound}, {self.branching}"
        rows = [("instance", f"{self.instance} ({size})"), ("tree", tree)]
        if self.source:
            rows.append(("upper bound", f"{self.upper_bound:,}, {self.source}"))
        if self.exact:
            rows.append(("nodes", f"{self.nodes:,.0f} (counted, not estimated)"))
        else:
            between = self._between(count(self.low), count(self.high))
            if self.low >= MOST_NODES:
                between = ""
            rows.append(("nodes", f"{_about(count(self.nodes))}{between}"))
        if self.unknown:
            rows.append(("time", f"not known on this machine: {self.unknown}"))
        for rate in self.rates:
            low, middle, high = (
                more_than(duration(nodes / rate.nodes_per_second), nodes)
                for nodes in (self.low, self.nodes, self.high)
            )
            same = self.exact or low == high
            spread = "" if same else self._between(low, high)
            speed = f"{format_count(rate.nodes_per_second)} nodes/s, {rate.source}"
            rows.append(("time", f"{_about(middle)}{spread} on {rate.what}: {speed}"))
        rows.append(
            (
                "sampled",
                f"{self.visited:,} nodes, {self.probes} probes of {self.samples} a "
                f"stratum, {self.took_s:.1f} s",
            )
        )
        rows += [("WARNING", f"not reliable: {reason}") for reason in self.reasons]
        return rows

    def _between(self, low: str, high: str) -> str:
        if ONLY_LEAST in self.reasons:
            return f" (at least {low})"
        return f" ({low} to {high})"

    def _repr_html_(self) -> str:
        """Table for notebooks."""
        return str(table(self._rows()))


def count(nodes: float) -> str:
    """Format a number of nodes for people, or say that there are more."""
    return more_than("10^300" if nodes >= MOST_NODES else format_count(nodes), nodes)


def more_than(text: str, nodes: float) -> str:
    """Write "more than" before what follows from a number of nodes that was cut off."""
    return f"more than {text}" if nodes >= MOST_NODES else text


def _about(text: str) -> str:
    return text if text.startswith(("less", "more")) else f"about {text}"


def duration(seconds: float) -> str:
    """Two or three digits of seconds for people, such as 42 s or 3.1 days."""
    if seconds < 1:
        return "less than 1 s"
    size, unit = time_unit(seconds)
    if unit != "s":
        return f"{format_count(seconds / size)} {unit}"
    return f"{seconds:.2g} s" if seconds < 10 else f"{seconds:.0f} s"
