"""Verifying a certificate: its books, and subtrees explored again by another engine.

The form of a certificate, its claim and books, and what is drawn are checked by
``dpbb.proof.checker``. The tree, its estimates, other problems and names are of here.
"""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from functools import partial, reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from dpbb.errors import EngineUnavailable, InstanceError, OptionError
from dpbb.flowshop.best_known import best_known, best_known_of_digest
from dpbb.flowshop.family import read_problem
from dpbb.options import LB1, kinds
from dpbb.problem import Problem, best_known_of, bound_of, objective_of, proving_bound
from dpbb.problems import decoded, decoder_of, encoded, name_of_bound, unknown
from dpbb.proof import checker
from dpbb.proof.certificate import Certificate, check_form
from dpbb.proof.exploring import Counts, Elsewhere, Tree
from dpbb.proof.finer import in_parts
from dpbb.text.files import check_writable
from dpbb.text.names import plural

if TYPE_CHECKING:
    from dpbb.options.derived import AnyEngine

NODES = {
    "cpu": 2_000_000_000,
    "gpu": 50_000_000_000,
    "reference": 200_000,
    "pool": 20_000_000,
}
"""Budget by engine: so it is a matter of minutes."""

DIGEST = "digest"
"""Seed that is a hash of the certificate."""

FORM, INSTANCE = "form", "instance, schedule and claim"
BOOKS, ROOT = "every leaf is closed once", "schedule and bound of the root"
EXPLORED = "explored again"

MEANING = {
    checker.PROVED: "the whole tree was explored, and has no better schedule",
    checker.AUDITED: "all that was drawn was explored exactly; one hidden leaf is not "
    "found so: --all explores everything",
    checker.TOO_LITTLE: "that is no reason to doubt it, and none to believe it",
    checker.FALSE: "a check failed",
}
"""What is said of each verdict."""


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
    verdict
        ``"proved again"``, ``"audited"``, ``"not checked enough"`` or ``"does not
        hold"``; ``docs/proof.md`` says what each means, and does not exclude.
    digest
        Of the instance.
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
    verdict: str
    digest: str = ""
    notes: tuple[str, ...] = ()
    seed: int | str = 0
    objective: str = "makespan"

    @property
    def ok(self) -> bool:
        """Whether it is proved again, or audited."""
        return self.verdict in (checker.PROVED, checker.AUDITED)

    def line(self, path: str) -> str:
        """Return the verdict of a file, and why it is no better."""
        found = [f"{one.name}: {one.found}" for one in self.checks[-1:]]
        why = [] if self.verdict == checker.PROVED else [*found, *self.notes]
        return _shown("; ".join([f"{self.verdict}: {path}", *why]))

    def summary(self) -> str:
        """Return a few aligned lines for people."""
        lines = [
            f"instance    {self.instance}, digest {self.digest}",
            f"claim       {self.status}, {self.objective} {self.makespan}, lower "
            f"bound {self.lower_bound}",
        ]
        lines += [
            f"{'ok' if check.ok else 'FAILED':<11} {check.name}: {check.found}"
            for check in self.checks
        ]
        lines += [f"note        {note}" for note in self.notes]
        at_root = self.verdict == checker.PROVED and self.checks[-1].name == ROOT
        meaning = "it needs no tree" if at_root else MEANING[self.verdict]
        lines.append(f"verdict     {self.verdict}: {meaning}")
        return "\n".join(map(_shown, lines))


def verify(
    source: str | Path | Certificate,
    *,
    draws: int = checker.DRAWS,
    engine: AnyEngine = "auto",
    seed: int | Literal["digest"] | None = None,
    nodes: int | None = None,
    everything: bool = False,
    finer: str | Path | None = None,
    elsewhere: Elsewhere | None = None,
    instance: Any = None,
    data_dir: str | Path | None = None,
    say: Callable[[str], None] | None = None,
) -> Verification:
    """Check a certificate.

    Parameters
    ----------
    source
        Path of a certificate, or one.
    draws
        So many nodes of the tree are drawn, if it is too large to be explored as a
        whole, and a quarter as many by what is claimed; the parts that have them are
        explored again. 0: the sums are all that is checked.
    engine
        ``"cpu"``, ``"gpu"``, ``"reference"`` or ``"pool"``; best another one than the
        run's. ``"auto"``: the CPU engine if it takes the problem, else the reference
        engine.
    seed
        Of the draws: any number, which whoever made the certificate could not know;
        None: a random one. ``"digest"``: a hash of the certificate, with at least 422
        draws, as who makes it can try many. ``Verification.seed`` has it.
    nodes
        Budget of all that is explored again; a tree that fits is explored as a whole.
        None: ``NODES``.
    everything
        Explore everything that is claimed, unit by unit, whatever its size.
    finer
        Explore the whole tree in small parts, and write a certificate with these as
        units: an audit of it can explore what it draws.
    elsewhere
        Does so in another place, such as a cluster; None: in this process.
    instance
        What the certificate has to be about: a problem, or whatever ``read_instance``
        takes.
    data_dir
        Folder of benchmark files, for a certificate that leaves out processing times.
    say
        Called with a line about each part that is explored.

    Returns
    -------
    Verification
        ``verdict``, whether that is enough (``ok``), and ``summary()``.

    Raises
    ------
    OptionError
        No certificate, or another argument that is not allowed.
    InstanceError
        ``instance`` cannot be read.
    EngineUnavailable
        The engine cannot run here.
    """
    kinds.one_of("auto", *NODES).check(engine, "engine")
    kinds.whole(0).check(draws, "draws")
    kinds.optional(kinds.whole(0)).check(nodes, "nodes")
    if seed != DIGEST:
        kinds.optional(kinds.is_a(int, "an int")).check(seed, "seed")
    kinds.flag().check(everything, "everything")
    kinds.optional(kinds.FUNCTION).check(elsewhere, "elsewhere")
    kinds.optional(kinds.FUNCTION).check(say, "say")
    if elsewhere is not None and not everything and finer is None:
        raise OptionError("scheduler: expected it with the whole tree (--all, --finer)")
    if finer is not None:
        check_writable(finer, "finer", source)
    certificate = (
        source if isinstance(source, Certificate) else Certificate.read(source)
    )
    mine = None if instance is None else read_problem(instance)
    content, checks, notes = certificate.content, list[Check](), list[str]()
    seed = secrets.randbelow(2**63) if seed is None else seed
    verdict, step = checker.TOO_LITTLE, FORM
    try:
        checker.checked(content, check_form)
        checks.append(Check(step, True, f"schema {content['schema']}"))
        step = "instance"
        if mine is not None and mine.digest != content["instance"]["digest"]:
            raise checker.Failed(
                f"expected the digest of yours, {mine.digest}, got "
                f"{content['instance']['digest']}"
            )
        content = _with_times(content, mine, data_dir)
        at_root = "tree" not in content
        if at_root and finer is not None:
            raise OptionError("finer: expected a certificate with a tree, got none")
        steps = [ROOT] if at_root else [INSTANCE, BOOKS]
        if decoder_of(_known(content)["kind"]) is None:
            steps.reverse()  # its books can be checked all the same
        for step in steps:
            text = checker.checked(content, partial(_STEPS[step], notes=notes))
            checks.append(Check(step, True, text))
        step = EXPLORED
        if at_root:
            verdict = checker.PROVED
        elif draws or everything or finer is not None:
            told = say or (lambda _text: None)
            tree = Tree(decoded(_known(content)), content, engine, elsewhere, told)
            budget = NODES[tree.engine] if nodes is None else nodes
            began = time.monotonic()
            with closing(tree):
                if finer is None:
                    parts = checker.check_books(content)
                    how = {"nodes": budget, "draws": draws, "everything": everything}
                    about = content, parts, tree, told
                    verdict, found = checker.audit(*about, seed=seed, **how)
                else:
                    fine, counts = in_parts(content, tree, told)
                    _check_total(content, counts)
                    Certificate(fine).write(finer)
                    verdict = checker.PROVED
                    found = f"the whole tree has {counts[0] + counts[1]:,} nodes"
            seconds = time.monotonic() - began
            found = f"{found}; by {tree.name}, {seconds:.1f} s, seed {seed}"
            checks.append(Check(step, True, found))
        else:
            notes.append("nothing was explored again, as none was asked for")
    except (OptionError, EngineUnavailable):
        raise
    except (checker.Unchecked, MemoryError, RecursionError) as error:
        notes.append(f"{step}: it was stopped: {error or 'too little memory'}")
        verdict = checker.TOO_LITTLE
    except (checker.Failed, ValueError, ArithmeticError) as error:
        # not Failed: what an instance, a unit of work or an engine cannot be
        checks.append(Check(step, False, str(error)))
        verdict = checker.FALSE
    return _verification(content, tuple(checks), verdict, tuple(notes), seed)


def _verification(
    content: dict[str, Any],
    checks: tuple[Check, ...],
    verdict: str,
    notes: tuple[str, ...],
    seed: int | str,
) -> Verification:
    """Return what is said of a certificate, whatever its entries are."""
    result, about = (
        known if isinstance(known, dict) else {}
        for known in (content.get("result"), content.get("instance"))
    )
    name = _text(about.get("name"))
    for side in ("front", "back"):
        if about.get(side) and isinstance(about[side], list):
            name += f", given {side} {' '.join(map(str, about[side]))}"
    makespan, bound = (
        value if type(value) is int else None
        for value in (result.get("makespan"), result.get("lower_bound"))
    )
    status, digest = _text(result.get("status")), _text(about.get("digest"))
    objective = _text(result.get("objective", "makespan"))
    claim = name, status, makespan, bound
    return Verification(*claim, checks, verdict, digest, notes, seed, objective)


def _check_total(content: dict[str, Any], found: Counts) -> None:
    """Compare with the claimed totals: where no bound fell they are the same."""
    parts = checker.check_books(content)
    floor = checker.floor_of(content)
    most = max(part.ubs[0] for part in parts)
    totals = reduce(checker.plus, (part.counts for part in parts))
    checker.Part(1, totals, (most, floor)).compare(found)


def _text(value: object) -> str:
    """Text that is what it looks like, whatever a file says."""
    return checker.shown(value) if isinstance(value, str) else "?"


def _shown(line: str) -> str:
    """Return a line without letters that look like others, or that a terminal obeys."""
    return line if line.isascii() and line.isprintable() else ascii(line)[1:-1]


def _known(content: dict[str, Any]) -> dict[str, Any]:
    """Return what ``decoded`` takes; certificates of flow shops need not name them."""
    return {"kind": checker.KIND, **content["instance"]}


def _with_times(
    content: dict[str, Any], mine: Problem[Any] | None, data_dir: str | Path | None
) -> dict[str, Any]:
    """Return a certificate with its times, which a benchmark's may leave out."""
    about = _known(content)
    if about["kind"] != checker.KIND or about.get("times") is not None:
        return content
    known = best_known(str(about.get("name")))
    if mine is None and known is not None:
        try:
            mine = read_problem(known.name, data_dir=data_dir)
        except InstanceError as error:
            raise checker.Unchecked(f"it leaves out the times: {error}") from error
        if best_known_of_digest(mine.digest) is not known:
            text = f"it leaves out the times, and the file of {known.name} has others"
            raise checker.Unchecked(text)
    return checker.with_times(content, None if mine is None else encoded(mine)["times"])


def _check_instance(content: dict[str, Any], notes: list[str]) -> str:
    """Check problem, options and claim.

    The checker knows flow shops with their own bounds; of others the problem's own word
    is taken.
    """
    known, tree = _known(content), content["tree"]
    if decoder_of(known["kind"]) is None:
        raise checker.Unchecked(unknown(known["kind"]))
    if known["kind"] != checker.KIND:
        notes.append("costs and bounds are the problem's own word")
    bound = name_of_bound(known.get("bound") or LB1)
    shop = known["kind"] == checker.KIND and bound in checker.BOUNDS
    if shop:
        checker.check_instance(content)
    problem = decoded(known)
    if not shop:
        size = problem.n_jobs, problem.trivial_ub
        found = tree.get("n_jobs"), tree.get("trivial_ub")
        if found != size:
            raise checker.Failed(f"expected jobs and trivial UB {size}, got {found}")
        checker.check_options(content, bound_of(problem))
        checker.check_claim(content, _cost_of(problem))
        own = json.loads(json.dumps(encoded(problem)))
        if {"name": known.get("name"), **own} != {"name": None, **known}:
            raise checker.Failed("expected the problem's own fields alone")
    return _check_name(content, problem)


def _cost_of(problem: Problem[Any]) -> Callable[[list[int]], int]:
    return lambda order: int(problem.evaluate(np.array(order, np.intp)))


def _check_name(content: dict[str, Any], problem: Problem[Any]) -> str:
    """Check what the cost is called, and published schedules; say which instance it is.

    Something called like a benchmark has its digest. No claimed bound is above a
    schedule that is known.
    """
    result, text = content["result"], f"digest {problem.digest[:12]}"
    objective = objective_of(problem)
    if result.get("objective", objective) != objective:
        raise checker.Failed(f"expected a cost called {objective}")
    name = str(content["instance"].get("name"))
    called, best = best_known(name), best_known_of(problem)
    instance = getattr(problem, "instance", None)
    digest = getattr(instance, "digest", problem.digest)
    if called is not None and best_known_of_digest(digest) is not called:
        raise checker.Failed(f"it is called {called.name}, but has another digest")
    if best is None:
        return text
    if result["lower_bound"] > best.upper_bound:
        raise checker.Failed(
            f"{best.name} has a schedule of {objective} {best.upper_bound}, below "
            f"{result['lower_bound']}"
        )
    return f"{text}, that of {best.name}"


def _check_root(content: dict[str, Any], notes: list[str]) -> str:
    """Check a claim that needs no tree, by the problem's own bound."""
    notes.append("the bound of the root is the problem's own word")
    known, result = _known(content), content["result"]
    problem = decoded(known)
    if problem.digest != known["digest"]:
        raise checker.Failed(
            f"expected the digest {problem.digest}, got {known['digest']}"
        )
    order, value = result["permutation"], result["makespan"]
    if sorted(order) != [*range(problem.n_jobs)]:
        raise checker.Failed("no schedule of all jobs")
    claim = result["status"], result["lower_bound"], _cost_of(problem)(order)
    if claim != ("optimal", value, value):
        raise checker.Failed(f"expected an optimum, {value}, got {claim}")
    bound = proving_bound(problem)
    if bound < value:
        raise checker.Failed(f"expected an optimum: the root has the bound {bound}")
    _check_name(content, problem)
    return f"no permutation costs less than {bound}: the bound of the root"


def _check_books(content: dict[str, Any], notes: list[str]) -> str:
    parts = checker.check_books(content)
    nodes = checker.nodes_of(parts)
    return f"{plural(len(parts), 'unit')}, {nodes:,} nodes"


_STEPS: dict[str, Callable[..., str]] = {
    INSTANCE: _check_instance,
    BOOKS: _check_books,
    ROOT: _check_root,
}
