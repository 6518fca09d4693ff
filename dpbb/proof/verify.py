"""Verifying a certificate: its books, and subtrees explored again by another engine."""

from __future__ import annotations

import secrets
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dpbb.engines.base import Device
from dpbb.engines.driver import explore_to_end
from dpbb.engines.registry import get_engine
from dpbb.errors import OptionError
from dpbb.options import LB1, BranchingRule, TreeOptions
from dpbb.problem import best_known_of, bound_of, objective_of
from dpbb.problems import decoded, family_of
from dpbb.proof import checker
from dpbb.proof.certificate import Certificate
from dpbb.tree.work_unit import WorkUnit

if TYPE_CHECKING:
    from pathlib import Path

    from dpbb.engines.base import Slice
    from dpbb.engines.driver import Exploration
    from dpbb.problem import Problem

AGAIN = "subtrees explored again"

MOST_NODES = {"cpu": 10_000_000, "gpu": 10_000_000, "reference": 100_000}
"""Larger subtrees are not explored again, by engine: so it is a matter of minutes."""


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
        What it claims; of other problems, ``makespan`` is their cost.
    checks
        In order; nothing is checked after the first that fails.
    notes
        What could not be checked.
    seed
        Chose what was explored again.
    objective
        What the cost is called.
    """

    instance: str
    status: str
    makespan: int | None
    lower_bound: int | None
    checks: tuple[Check, ...]
    notes: tuple[str, ...] = ()
    seed: int = 0
    objective: str = "makespan"

    @property
    def ok(self) -> bool:
        """Whether all checks hold."""
        return all(check.ok for check in self.checks)

    def summary(self) -> str:
        """Return a few aligned lines for people."""
        lines = [
            f"instance    {self.instance}",
            f"claim       {self.status}, {self.objective} {self.makespan}, lower "
            f"bound {self.lower_bound}",
        ]
        lines += [
            f"{'ok' if check.ok else 'FAILED':<11} {check.name}: {check.found}"
            for check in self.checks
        ]
        lines += [f"note        {note}" for note in self.notes]
        lines.append("the certificate " + self._verdict())
        return "\n".join(lines)

    def _verdict(self) -> str:
        if not self.ok:
            return "does not hold"
        if self.checks[-1].name == AGAIN:
            return "holds"
        return "adds up; that subtrees were explored is said, but was not checked"


def verify(
    source: str | Path | Certificate,
    *,
    witnesses: int = 20,
    engine: str = "auto",
    seed: int | None = None,
    most_nodes: int | None = None,
) -> Verification:
    """Check a certificate.

    Parameters
    ----------
    source
        Path of a certificate, or one.
    witnesses
        So many finished subtrees are explored again; 0: the sums are all that is
        checked. Which ones, a hash of the certificate and the seed says.
    engine
        ``"cpu"``, ``"gpu"`` or ``"reference"``; best another one than the run's.
        ``"auto"``: the CPU engine if it takes the problem, else the reference engine.
    seed
        Any number, of your own; None: a random one. ``Verification.seed`` has it.
    most_nodes
        Larger subtrees are not explored again; None: ``MOST_NODES``.

    Raises
    ------
    OptionError
        No certificate, or another argument that is not allowed.
    EngineUnavailable
        The engine cannot run here.
    """
    if engine not in ("auto", *MOST_NODES):
        raise OptionError(
            f"engine: expected auto, {', '.join(MOST_NODES)}, got {engine!r}"
        )
    for name, value in (("witnesses", witnesses), ("most_nodes", most_nodes)):
        if value is not None and value < 0:
            raise OptionError(f"{name}: expected at least 0, got {value}")
    certificate = (
        source if isinstance(source, Certificate) else Certificate.read(source)
    )
    content = certificate.content
    seed = secrets.randbelow(2**32) if seed is None else seed
    checks: list[Check] = []
    notes: list[str] = []
    step = checker.STRUCTURE[0][0]
    try:
        checks.append(Check(step, True, _check_form(content)))
        names = [name for name, _ in checker.STRUCTURE[1:]]
        if family_of(_known(content)["kind"]) is None:
            # its books can be checked all the same
            names.append(names.pop(0))
        for step in names:
            text = _STRUCTURE[step](content, notes)
            checks.append(Check(step, True, text))
        if witnesses:
            step = AGAIN
            if engine == "auto":
                engine = _engine_for(decoded(_known(content)), content)
            most = MOST_NODES[engine] if most_nodes is None else most_nodes
            found = _explored_again(content, notes, witnesses, engine, seed, most)
            checks.append(Check(AGAIN, True, found))
        else:
            notes.append("nothing was explored again, as none was asked for")
    except (checker.Failed, ValueError, ArithmeticError, RecursionError) as error:
        # not Failed: what an instance, a unit of work or an engine cannot be
        checks.append(Check(step, False, str(error)))
    claim = content.get("result")
    result = claim if isinstance(claim, dict) else {}
    known = content.get("instance")
    instance = known if isinstance(known, dict) else {}
    return Verification(
        _text(instance.get("name")),
        _text(result.get("status")),
        _number(result.get("makespan")),
        _number(result.get("lower_bound")),
        tuple(checks),
        tuple(notes),
        seed,
        _text(result.get("objective", "makespan")),
    )


def _text(value: object) -> str:
    """Text that a terminal can show, whatever a file says."""
    text = value if isinstance(value, str) else "?"
    return text if text.isprintable() else ascii(text)


def _number(value: object) -> int | None:
    return value if type(value) is int else None


def _known(content: dict[str, Any]) -> dict[str, Any]:
    """Return what ``decoded`` takes; older certificates do not name flow shops."""
    return {"kind": checker.KIND, **content["instance"]}


def _tree_of(content: dict[str, Any]) -> TreeOptions:
    tree = content["tree"]
    order = tree["root_order"]
    return TreeOptions(
        BranchingRule(tree["branching"]),
        tree["branching_ub"],
        tree["bound"],
        None if order is None else tuple(order),
    )


def _engine_for(problem: Problem[Any], content: dict[str, Any]) -> str:
    """Return the name of the CPU engine if it takes the problem."""
    takes = get_engine("cpu").supports(problem, _tree_of(content)) is None
    return "cpu" if takes else "reference"


def _check_form(content: dict[str, Any]) -> str:
    checker.check_form(content)
    return f"schema {content['schema']}"


def _check_instance(content: dict[str, Any], _notes: list[str]) -> str:
    """Check problem, options and claim.

    The checker knows flow shops with LB1; of others the problem's own word is taken.
    """
    known, tree = _known(content), content["tree"]
    shop = known["kind"] == checker.KIND and known.get("bound", LB1) == LB1
    if shop:
        checker.check_instance(content)
    problem = decoded(known)
    if not shop:
        size = problem.n_jobs, problem.trivial_ub
        found = tree.get("n_jobs"), tree.get("trivial_ub")
        if found != size:
            raise checker.Failed(f"expected jobs and trivial UB {size}, got {found}")
        checker.check_options(content, bound_of(problem))
        checker.check_claim(
            content,
            lambda order: problem.evaluate(np.array(order, np.intp)),
            objective_of(problem),
        )
    text = f"digest {problem.digest[:12]}"
    best, bound = best_known_of(problem), content["result"]["lower_bound"]
    if best is None:
        return text
    if bound > best.upper_bound:
        raise checker.Failed(
            f"{best.name} has a schedule of {objective_of(problem)} "
            f"{best.upper_bound}, below {bound}"
        )
    return f"{text}, that of {best.name}"


def _check_units(content: dict[str, Any], notes: list[str]) -> str:
    listed = checker.check_units(content)
    n_units = len(content["units"])
    if listed < n_units:
        notes.append(
            f"{n_units - listed} units have too many roots to be listed: where they "
            "lie is not checked, only their number of leaves"
        )
    return f"{n_units} units, {listed} with their roots"


def _check_sums(content: dict[str, Any], notes: list[str]) -> str:
    checker.check_sums(content)
    totals, rest = content["totals"], content["rest"]
    if any(rest.values()):
        share = rest["decomposed"] / max(1, totals["decomposed"])
        notes.append(
            f"the run had more units than are listed: the others, with {share:.1%} of "
            "the nodes, are in the totals only"
        )
    return f"{len(content['leases'])} leases, {totals['decomposed']:,} nodes"


_STRUCTURE = dict(
    zip(
        [name for name, _ in checker.STRUCTURE[1:]],
        (_check_instance, _check_units, _check_sums),
        strict=True,
    )
)


def _explored_again(
    content: dict[str, Any],
    notes: list[str],
    count: int,
    engine: str,
    seed: int,
    most: int,
) -> str:
    """Explore finished subtrees again; returns what was found."""
    parts: dict[int, checker.Part] = checker.check_sums(content)
    found = checker.witnesses(parts, most)
    chosen = checker.choose(content, found, count, seed)
    nodes = sum(part.nodes for part in chosen)
    run_nodes = content["totals"]["decomposed"] + content["totals"]["leaves"]
    began = time.monotonic()
    for part in chosen:
        part.check_again(
            explore_again(content, part.roots, part.least, engine, part.nodes)
        )
    if not nodes:
        whole = [part.nodes for part in parts.values() if part.whole and part.nodes]
        raise checker.Failed(
            f"expected a finished subtree of at most {most:,} nodes to explore again, "
            "got " + (f"none below {min(whole):,}" if whole else "none")
        )
    seconds = time.monotonic() - began
    if any(part.parent == 0 for part in chosen):
        notes.append("the whole tree was explored again: that is a proof by itself")
    elif all(part.nodes < checker.HANDY for part in chosen):
        notes.append(
            f"no subtree that can be explored again has {checker.HANDY:,} nodes or more"
        )
    return (
        f"{len(chosen)} of {len(found)}, {nodes:,} nodes "
        f"({nodes / max(1, run_nodes):.3%} of the run's) by {engine}, {seconds:.1f} s, "
        f"seed {seed}"
    )


def explore_again(
    content: dict[str, Any],
    roots: list[list[int]],
    ub: int,
    engine: str,
    most: int,
) -> tuple[int, int, dict[int, int]] | None:
    """Explore roots at a fixed UB; returns decomposed, leaves, closed by depth.

    None if there are more than ``most`` nodes, as the checker's own has it.
    """
    problem, options = decoded(_known(content)), _tree_of(content)
    chosen = get_engine(engine)
    device = next(iter(chosen.devices()), Device("cpu", "verify"))
    all_optima = content["result"]["all_optima"]
    session = chosen.open(problem, options, device, ub=ub, all_optima=all_optima)

    def too_many(_part: Slice, total: Exploration) -> bool:
        return total.counters.nodes > most

    try:
        session.load(WorkUnit.from_paths(problem.n_jobs, roots))
        total = explore_to_end(session, ub, on_slice=too_many)
    finally:
        session.close()
    counts = total.counters
    if total.best is not None and total.best.value < ub - all_optima:
        raise checker.Failed(
            f"a schedule of {objective_of(problem)} {total.best.value} below {ub} was "
            "missed"
        )
    if not total.exhausted or counts.nodes > most:
        return None
    closed = {int(d): int(counts.closed[d]) for d in np.flatnonzero(counts.closed)}
    return counts.decomposed, counts.leaves, closed
