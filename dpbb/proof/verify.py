"""Verifying a certificate: its books, and subtrees explored again by another engine."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dpbb.engines.base import Device
from dpbb.engines.driver import explore_to_end
from dpbb.engines.registry import get_engine
from dpbb.errors import DpbbError
from dpbb.flowshop import FlowShopInstance, FlowShopProblem
from dpbb.options import Bound, BranchingRule, TreeOptions
from dpbb.proof import checker
from dpbb.proof.certificate import Certificate
from dpbb.tree.work_unit import WorkUnit

if TYPE_CHECKING:
    from pathlib import Path

    from dpbb.engines.base import Slice
    from dpbb.engines.driver import Exploration

LEAST_NODES, MOST_NODES = 1, 10_000_000
"""Witnesses of other sizes are not explored again."""


@dataclass(frozen=True, slots=True)
class Check:
    """One check: its name, whether it holds, and what was found."""

    name: str
    ok: bool
    found: str


@dataclass(frozen=True, slots=True)
class Verification:
    """What a certificate was found to be.

    Parameters
    ----------
    instance, status, makespan, lower_bound
        What it claims.
    checks
        In order; nothing is checked after the first that fails.
    notes
        What could not be checked.
    """

    instance: str
    status: str
    makespan: int | None
    lower_bound: int
    checks: tuple[Check, ...]
    notes: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether all checks hold."""
        return all(check.ok for check in self.checks)

    def summary(self) -> str:
        """Return a few aligned lines for people."""
        lines = [
            f"instance    {self.instance}",
            f"claim       {self.status}, makespan {self.makespan}, lower bound "
            f"{self.lower_bound}",
        ]
        lines += [
            f"{'ok' if check.ok else 'FAILED':<11} {check.name}: {check.found}"
            for check in self.checks
        ]
        lines += [f"note        {note}" for note in self.notes]
        lines.append("the certificate " + ("holds" if self.ok else "does not hold"))
        return "\n".join(lines)


def verify(
    source: str | Path | Certificate,
    *,
    witnesses: int = 20,
    engine: str = "cpu",
    seed: int = 0,
) -> Verification:
    """Check a certificate.

    Parameters
    ----------
    source
        Path of a certificate, or one.
    witnesses
        So many finished subtrees of up to 10 million nodes are explored again. Which
        ones, a hash of the certificate and the seed says.
    engine
        ``"cpu"``, ``"gpu"`` or ``"reference"``; best another one than the run's.
    seed
        Any number, of your own.

    Raises
    ------
    OptionError
        No certificate.
    EngineUnavailable
        The engine cannot run here.
    """
    certificate = (
        source if isinstance(source, Certificate) else Certificate.read(source)
    )
    content = certificate.content
    checks: list[Check] = []
    notes: list[str] = []
    try:
        _structure(content, checks, notes)
        _witnesses(content, checks, notes, witnesses, engine, seed)
    except checker.Failed as error:
        names = [name for name, _ in checker.STRUCTURE]
        at = len(checks)
        name = names[at] if at < len(names) else "subtrees explored again"
        checks.append(Check(name, False, str(error)))
    except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
        if isinstance(error, DpbbError) and not isinstance(error, ValueError):
            raise
        text = (
            f"expected the form of a certificate, got {type(error).__name__}: {error}"
        )
        checks.append(Check("form", False, text))
    result = content.get("result", {})
    return Verification(
        str(content.get("instance", {}).get("name")),
        str(result.get("status")),
        result.get("makespan"),
        result.get("lower_bound", 0),
        tuple(checks),
        tuple(notes),
    )


def _structure(content: dict[str, Any], checks: list[Check], notes: list[str]) -> None:
    checker.check_instance(content)
    names = [name for name, _ in checker.STRUCTURE]
    checks.append(Check(names[0], True, f"digest {content['instance']['digest'][:12]}"))
    listed = checker.check_units(content)
    n_units = len(content["units"])
    checks.append(Check(names[1], True, f"{n_units} units, {listed} with their roots"))
    if listed < n_units:
        notes.append(
            f"{n_units - listed} units have too many roots to be listed: where they "
            "lie is not checked, only their number of leaves"
        )
    complete = checker.check_sums(content)
    found = (
        f"{len(content['leases'])} leases, {content['totals']['decomposed']:,} nodes"
    )
    checks.append(Check(names[2], True, found))
    if not complete:
        notes.append(
            "the run had more units than are listed: the others are in the totals only"
        )


def _witnesses(
    content: dict[str, Any],
    checks: list[Check],
    notes: list[str],
    count: int,
    engine: str,
    seed: int,
) -> None:
    found = checker.witnesses(content, LEAST_NODES, MOST_NODES)
    chosen = checker.choose(content, found, count, seed)
    if not chosen:
        notes.append("there is no subtree to explore again (or none was asked for)")
        return
    began, nodes = time.monotonic(), 0
    for roots, row in chosen:
        got = explore_again(
            content, roots, row[7][0], engine, 2 * (row[4] + row[5]) + 9
        )
        checker.check_witness(row, got)
        nodes += row[4] + row[5]
    seconds = time.monotonic() - began
    text = (
        f"{len(chosen)} of {len(found)}, {nodes:,} nodes by {engine}, {seconds:.1f} s"
    )
    checks.append(Check("subtrees explored again", True, text))


def explore_again(
    content: dict[str, Any],
    roots: list[list[int]],
    ub: int,
    engine: str,
    most: int,
) -> tuple[int, int, dict[int, int]]:
    """Explore roots at a fixed UB; returns decomposed, leaves, closed by depth."""
    known, tree = content["instance"], content["tree"]
    problem = FlowShopProblem(FlowShopInstance(known["name"], known["times"]))
    order = tree["root_order"]
    options = TreeOptions(
        BranchingRule(tree["branching"]),
        tree["branching_ub"],
        Bound(tree["bound"]),
        None if order is None else tuple(order),
    )
    chosen = get_engine(engine)
    device = next(iter(chosen.devices()), Device("cpu", "verify"))
    session = chosen.open(problem, options, device, ub=ub)

    def too_many(_part: Slice, total: Exploration) -> bool:
        return total.counters.nodes > most

    try:
        session.load(WorkUnit.from_paths(problem.n_jobs, roots))
        total = explore_to_end(session, ub, on_slice=too_many)
    finally:
        session.close()
    counts = total.counters
    if total.best is not None and total.best.value < ub:
        raise checker.Failed(f"a schedule of makespan {total.best.value} below {ub}")
    closed = {int(d): int(counts.closed[d]) for d in np.flatnonzero(counts.closed)}
    return counts.decomposed, counts.leaves, closed
