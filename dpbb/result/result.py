"""What a solve gives back: status, termination and everything that was proved."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args

from msgspec import Meta

from dpbb.errors import DpbbError, InvariantError, OptionError
from dpbb.options import SolveOptions
from dpbb.options.kinds import LARGEST, one_of
from dpbb.result.schedule import Order, Schedule
from dpbb.text import markup
from dpbb.text.labels import NO_NAMES, Names
from dpbb.text.names import plural

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from dpbb.proof.certificate import Certificate
else:
    Certificate = Any  # of a layer above; msgspec asks for its type

Count = Annotated[int, Meta(ge=0, le=LARGEST)]
Cost = Annotated[int, Meta(ge=-LARGEST, le=LARGEST)]
Seconds = Annotated[float, Meta(ge=0)]

Plot = Literal["gantt", "convergence"]
"""Kinds of plots of a result."""


class Status(StrEnum):
    """What is known about the instance when a solve ends."""

    OPTIMAL = "optimal"
    FEASIBLE = "feasible"
    INFEASIBLE_CUTOFF = "infeasible_cutoff"
    UNKNOWN = "unknown"


class Termination(StrEnum):
    """Why a solve ended; apart from what is known then."""

    EXHAUSTED = "exhausted"
    TIME_LIMIT = "time_limit"
    NO_IMPROVEMENT = "no_improvement"
    NODE_LIMIT = "node_limit"
    GAP_LIMIT = "gap_limit"
    ROOT_BOUND = "root_bound"  # of the incumbent: the rest of the tree is not needed
    STOPPED = "stopped"
    DONE = "done"  # of a heuristic that came to its own end


class Proof(StrEnum):
    """How the lower bound of a result was obtained."""

    TREE_EXHAUSTED = "tree_exhausted"
    ROOT_BOUND = "root_bound"
    OPEN_ROOTS = "open_roots"  # the least bound of the roots that are left
    CUTOFF_EXHAUSTED = "cutoff_exhausted"  # a tree of those from below


TREE = "tree"
"""Method of an incumbent that was found by exploring."""


@dataclass(frozen=True, slots=True)
class Improvement:
    """A step of the incumbent trajectory.

    Parameters
    ----------
    seconds
        Since the start.
    value
        The incumbent's value from then on.
    source
        Who found it: the name of a heuristic, or ``TREE``, and after a comma where.
    """

    seconds: float
    value: int
    source: str

    @property
    def method(self) -> str:
        """What found it, wherever it was."""
        return self.source.partition(",")[0]


@dataclass(frozen=True, slots=True)
class ProvedBound:
    """A lower bound that a tree from below has proved.

    Parameters
    ----------
    seconds
        Since the start.
    decomposed
        Nodes of the tree.
    """

    seconds: float
    value: int
    decomposed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Totals:
    """What exploring a tree took; of a run that was resumed, all parts together.

    Parameters
    ----------
    decomposed, leaves
        Explored nodes: decomposed ones, and complete permutations.
    seconds
        From its beginning to its end.
    explore_seconds, gpu_seconds
        Sum over seats of the time spent in the engine, and over GPUs alone.
    energy_j
        Joules that the devices used while they explored, each device counted once;
        None if none has a meter that may be read (GPUs: NVML; processors: RAPL, for
        the whole host). Devices without one are not in it.
    units, donations, requeues
        Work units made, donations of idle seats' work, and units repeated after a loss.
    """

    decomposed: Count = 0
    leaves: Count = 0
    seconds: Seconds = 0.0
    explore_seconds: Seconds = 0.0
    gpu_seconds: Seconds = 0.0
    energy_j: float | None = None
    units: Count = 0
    donations: Count = 0
    requeues: Count = 0

    @property
    def nodes(self) -> int:
        """Explored nodes of both kinds."""
        return self.decomposed + self.leaves

    def plus(self, other: Totals) -> Totals:
        """Return the sums of two trees; what only one of them knows is that one's."""
        sums: dict[str, Any] = {}
        for name in Totals.__dataclass_fields__:
            both = getattr(self, name), getattr(other, name)
            known = [value for value in both if value is not None]
            sums[name] = sum(known) if known else None
        return Totals(**sums)


@dataclass(frozen=True, slots=True, kw_only=True)
class Result(Totals):
    """Outcome of a solve.

    Parameters
    ----------
    status, termination
        What is known, and why the solve ended.
    proof
        How ``lower_bound`` was obtained.
    makespan, permutation
        The best schedule found, jobs counted from 0; None without one.
    lower_bound
        No schedule is below it. With status ``infeasible_cutoff`` the upper bound
        that was given.
    decomposed, leaves
        Explored nodes: decomposed ones, and complete permutations.
    seconds
        The whole solve: start-up, heuristics and tree.
    tree_seconds
        From the opening of the tree to its end; 0 when no tree was needed.
    explore_seconds, gpu_seconds, energy_j, units, donations, requeues
        See ``Totals``.
    engine, seats
        Which engine explored, and on what.
    instance, digest, n_jobs, n_machines
        The instance; the digest identifies its processing times.
    trajectory
        Incumbents in the order of discovery.
    bounds
        With the strategy from below: lower bounds in the order of their proof.
    optima
        With ``all_optima``: the permutations of the best makespan that were found, all
        that there are when the tree is exhausted; empty when they went to a file. Of
        very many (64 MiB, 2 bytes a job) only a part is held.
    n_optima
        With ``all_optima``: how many were found.
    n_optima_written
        How many of them are in the file ``options.optima_file``; None if none was
        written.
    options
        The options of the solve.
    versions
        (package, version) pairs.
    objective
        What people call the cost: of problems of your own, ``makespan`` is that cost.
    names
        What people call jobs and machines.
    operations
        The schedule; see ``schedule``.
    certificate
        Of the proof, where the option asked for one and the tree was exhausted.

    Raises
    ------
    InvariantError
        The parts contradict each other.
    """

    status: Status
    termination: Termination
    proof: Proof
    makespan: Cost | None
    lower_bound: Cost
    permutation: tuple[int, ...] | None
    tree_seconds: Seconds = 0.0
    engine: str = "none"
    seats: tuple[str, ...] = ()
    instance: str = ""
    digest: str = ""
    n_jobs: Count = 0
    n_machines: Count = 0
    trajectory: tuple[Improvement, ...] = ()
    bounds: tuple[ProvedBound, ...] = ()
    optima: tuple[tuple[int, ...], ...] | None = None
    n_optima: Count | None = None
    n_optima_written: Count | None = None
    options: SolveOptions = field(default_factory=SolveOptions)
    versions: tuple[tuple[str, str], ...] = ()
    objective: str = "makespan"
    names: Names = NO_NAMES
    operations: Schedule | None = field(default=None, compare=False, repr=False)
    certificate: Certificate | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        has_schedule = self.status in (Status.OPTIMAL, Status.FEASIBLE)
        complete = self.makespan is not None and self.permutation is not None
        absent = self.makespan is None and self.permutation is None
        if not (complete if has_schedule else absent):
            raise InvariantError(
                f"status {self.status} contradicts makespan {self.makespan} and "
                f"permutation {self.permutation}"
            )
        if self.makespan is None:
            return
        if self.lower_bound > self.makespan:
            raise InvariantError(
                f"lower bound {self.lower_bound} above makespan {self.makespan}"
            )
        if (self.status is Status.OPTIMAL) != (self.lower_bound == self.makespan):
            raise InvariantError(
                f"status {self.status} contradicts lower bound {self.lower_bound} "
                f"and makespan {self.makespan}"
            )
        ends = None if self.operations is None else self.operations.makespan
        if self.objective == "makespan" and ends not in (None, self.makespan):
            raise InvariantError(
                f"makespan {self.makespan}, but the schedule ends at {ends}"
            )

    @property
    def gap(self) -> float | None:
        """(makespan - lower_bound) / makespan; None without a schedule."""
        if self.makespan is None:
            return None
        # All processing times may be zero.
        return (self.makespan - self.lower_bound) / max(self.makespan, 1)

    @property
    def nodes_per_second(self) -> float:
        """Explored nodes over the time of the tree."""
        return self.nodes / self.tree_seconds if self.tree_seconds else 0.0

    def schedule(self) -> Schedule:
        """Start and end of every operation.

        Raises
        ------
        DpbbError
            There is none: none was found, it was not saved, or the problem has none.
        """
        if self.operations is None:
            shop = bool(self.n_machines)
            why = " saved without it" if shop else "; a problem says it by schedule()"
            raise DpbbError(
                f"schedule: expected a result with a schedule, got one with status "
                f"{self.status}{why if self.permutation else ''}"
            )
        return self.operations

    def write_schedule(self, path: str | Path) -> None:
        """Write the schedule as the suffix says; what has none is CSV.

        ``.csv``, ``.xlsx`` (openpyxl): a table of position, job, machine, start, end
        and what else there is (``dpbb.result.schedule.MORE``); of a problem that has no
        schedules position and job. ``.html``, ``.png``, ``.svg``, ``.pdf``
        (Matplotlib): its Gantt chart.

        Raises
        ------
        OptionError
            Another suffix.
        DpbbError
            No schedule; what writes it is not installed; or it cannot be written.
        """
        if self.operations is None and self.permutation and not self.n_machines:
            Order(self.permutation, self.names).write(path)
        else:
            self.schedule().write(path, self)

    def plot(
        self,
        kind: Plot = "gantt",
        ax: Axes | None = None,
        *,
        backend: Literal["matplotlib", "bokeh"] = "matplotlib",
    ) -> Any:
        """Draw the result with Matplotlib (``pip install 'dpbb[plot]'``) or Bokeh.

        Parameters
        ----------
        kind
            ``"gantt"``: the schedule, with a critical path; ``"convergence"``:
            incumbents, lower bound and gap over time.
        ax
            Where Matplotlib draws; default: a new pyplot figure.
        backend
            ``"bokeh"``: a Gantt chart to look into, of bars that tell what they are;
            ``bokeh.plotting.show`` opens it in a browser.

        Returns
        -------
        matplotlib.axes.Axes or bokeh.plotting.figure

        Raises
        ------
        OptionError
            Another kind.
        DpbbError
            Matplotlib is not installed; or no schedule to draw.
        """
        one_of(*get_args(Plot)).check(kind, "kind")
        # By its name, as in dpbb/__init__.py: results know nothing of the layers above,
        # and work without Matplotlib.
        plotting = import_module("dpbb.plotting")
        if backend == "matplotlib":
            return plotting.draw(self, kind, ax)
        if (backend, kind, ax) != ("bokeh", "gantt", None):
            raise OptionError(
                f"backend: expected 'matplotlib', or 'bokeh' for a gantt without ax, "
                f"got {backend!r} for {kind}"
            )
        return plotting.gantt_figure(self)

    def to_json(self, *, indent: int | None = None) -> str:
        """One JSON object; ``from_json`` reads it."""
        from dpbb.result import json_form

        return json_form.to_json(self, indent=indent)

    @classmethod
    def from_json(cls, text: str) -> Result:
        """Read a result that ``to_json`` wrote.

        Raises
        ------
        DpbbError
            Not JSON, not a result, or written by a newer dpbb.
        """
        from dpbb.result import json_form

        return json_form.from_json(text)

    def summary(self) -> str:
        """Return a few aligned lines for people."""
        facts = list(self._facts())
        width = max([12, *(len(name) for name, _ in facts)])
        return "\n".join(f"{name:<{width}} {text}" for name, text in facts)

    def _facts(self) -> Iterator[tuple[str, str]]:
        size = f" ({self.n_jobs} x {self.n_machines})" if self.n_machines else ""
        yield "instance", f"{self.instance}{size}"
        yield "status", f"{self.status}, as {self._reason()}"
        if self.makespan is None:
            yield "lower bound", f"{self.lower_bound:,}"
        else:
            clock, cost = self.names.clock, str(self.makespan)
            if clock is not None and self.operations is not None:
                end = self.operations.makespan
                cost = clock.cost(self.objective, self.makespan, end)
            yield self.objective, cost
            if self.status is not Status.OPTIMAL:
                yield "lower bound", f"{self.lower_bound} (gap {self.gap:.2%})"
            order = map(self.names.job, self.permutation or ())
            yield "permutation", (", " if self.names.jobs else " ").join(order)
        if self.n_optima is not None:
            yield "optima", self._optima_text(self.n_optima)
        nodes = f"{self.decomposed:,} decomposed, {self.leaves:,} leaves"
        yield "nodes", f"{nodes}, {self.nodes_per_second:,.0f} a second"
        found = [step for step in self.trajectory if step.value == self.makespan]
        if found:
            yield "found", f"by {found[0].method} in {found[0].seconds:.2f} s"
        yield "time", f"{self.seconds:.2f} s, {self.tree_seconds:.2f} s of it the tree"
        if self.bounds:
            last, trees = self.bounds[-1], plural(len(self.bounds), "tree")
            proved = f"that nothing is below {last.value:,} was proved"
            yield (
                "from below",
                f"{trees} exhausted; {proved} after {last.seconds:.1f} s",
            )
        yield "engine", f"{self.engine}, {plural(len(self.seats), 'seat')}"
        if self.gpu_seconds:
            yield "GPUs", f"{self.gpu_seconds / 3600:.3g} GPU-hours"
        if self.energy_j is not None:
            yield "energy", f"{self.energy_j:,.0f} J of the devices"

    def _optima_text(self, found: int) -> str:
        """How many optimal permutations there are, and where they are."""
        whole = self.termination is Termination.EXHAUSTED
        text = f"{found:,}"
        if not whole:
            text += f" or more: ended early ({self.termination})"
        listed, written = len(self.optima or ()), self.n_optima_written
        if written is not None:
            part = "all" if written == found else f"only {written:,}"
            text += f"; {part} of them in {self.options.optima_file}"
        if listed < found and written != found:
            text += f"; only {listed:,} of them in this result"
        return text

    def _reason(self) -> str:
        """How the status was obtained, for people."""
        if self.proof is Proof.TREE_EXHAUSTED:
            if self.status is Status.INFEASIBLE_CUTOFF:
                bound = f"{self.lower_bound:,}"
                return f"the tree is exhausted: no schedule is below {bound}"
            return "the tree is exhausted: no schedule is better"
        if self.status is Status.OPTIMAL:
            if self.proof is Proof.ROOT_BOUND:
                need = "no more" if self.decomposed else "no"
                return f"the root bound equals the incumbent: {need} tree was needed"
            if self.proof is Proof.CUTOFF_EXHAUSTED:
                return "a tree below it is exhausted: no schedule is below it"
            return "the bound of every open root reaches the incumbent"
        early = f"the search ended early ({self.termination})"
        if self.engine != "none" and not (self.seats or self.decomposed):
            early += ", before a seat explored: kernels are compiled on the first use"
        return early

    def __str__(self) -> str:
        return self.summary()

    def _repr_html_(self) -> str:
        (_, title), (_, label), *facts = self._facts()
        proved = self.status in (Status.OPTIMAL, Status.INFEASIBLE_CUTOFF)
        color = markup.GOOD if proved else markup.GOING
        return markup.card(title, label, [markup.table(facts)], color=color)
