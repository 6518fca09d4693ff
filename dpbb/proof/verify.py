"""Verifying a certificate: its books, and subtrees explored again by another engine."""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dpbb.engines.registry import get_engine
from dpbb.errors import OptionError
from dpbb.flowshop.family import read_problem
from dpbb.options import LB1, TreeOptions, kinds
from dpbb.problem import Problem, best_known_of, bound_of, objective_of, proving_bound
from dpbb.problems import decoded, encoded, family_of, name_of_bound
from dpbb.proof import checker
from dpbb.proof.again import Again, Elsewhere, Missed
from dpbb.proof.certificate import Certificate
from dpbb.proof.finer import Progress, in_parts, least_part
from dpbb.text.files import alone, check_writable

AGAIN = "explored again"

NODES = {
    "cpu": 200_000_000,
    "gpu": 2_000_000_000,
    "reference": 200_000,
    "pool": 20_000_000,
}
"""Budget by engine: so it is a matter of minutes."""

PARTS = 10
"""One draw may take this part of the budget."""


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
        ``"proved again"``, ``"audited"``, ``"sampled"``, ``"not checked enough"`` or
        ``"does not hold"``; ``docs/proof.md`` says what each means.
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
    seed: int = 0
    objective: str = "makespan"

    @property
    def ok(self) -> bool:
        """Whether all checks hold and enough was checked."""
        return self.verdict in (checker.PROVED, checker.AUDITED)

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
        meaning = ": it needs no tree" if at_root else MEANING[self.verdict]
        lines.append(f"verdict     {self.verdict}{meaning}")
        return "\n".join(lines)


FALSE = "does not hold"
MEANING = {
    checker.PROVED: ": the whole tree was explored, and has no better schedule",
    checker.AUDITED: ": the books add up, and nothing that was drawn is false",
    checker.SAMPLED: ": the books add up, and samples of large units agree with "
    "them; that the work was done they cannot show",
    checker.TOO_LITTLE: ": the books add up, but too little was explored again",
    FALSE: "",
}
"""What is said of each verdict."""


def _meaning(verdict: str, draws: int) -> str:
    """Say what so many draws of each kind show."""
    half = max(1, draws // 2)
    share = 1 - 0.05 ** (1 / half)
    text = (
        "were a share f of the claimed nodes in false units that can be explored "
        f"again, or of the descents in false parts, {half} draws would have missed it "
        "with "
        f"probability (1 - f)^{half}: 5 % at f = {share:.0%}. One hidden leaf is not "
        "found so; --all explores everything"
    )
    if verdict == checker.SAMPLED:
        text += (
            ". Counts of large units are only known to be of the right size, which "
            "somebody who made them up could have estimated, too"
        )
    return text


def verify(
    source: str | Path | Certificate,
    *,
    witnesses: int = checker.DRAWS,
    engine: str = "auto",
    seed: int | None = None,
    nodes: int | None = None,
    most_nodes: int | None = None,
    everything: bool = False,
    finer: str | Path | None = None,
    elsewhere: Elsewhere | None = None,
    instance: Any = None,
    say: Callable[[str], None] | None = None,
) -> Verification:
    """Check a certificate.

    Parameters
    ----------
    source
        Path of a certificate, or one.
    witnesses
        So many parts of the tree are drawn and explored again, if it is too large to be
        explored as a whole; 0: the sums are all that is checked. Which ones, a hash of
        the certificate and the seed says.
    engine
        ``"cpu"``, ``"gpu"``, ``"reference"`` or ``"pool"``; best another one than the
        run's. ``"auto"``: the CPU engine if it takes the problem, else the reference
        engine.
    seed
        Any number, of your own; None: a random one. ``Verification.seed`` has it.
    nodes
        Budget of all that is explored again; a tree that fits is explored as a whole.
        None: ``NODES``.
    most_nodes
        Budget of one draw; None: a tenth of ``nodes``.
    everything
        Explore everything that is claimed, unit by unit, whatever its size.
    finer
        Explore the whole tree in parts of at most ``most_nodes``, as many as there is
        room for by default, and write a certificate with these as units: any audit of
        it can explore what it draws. What is done is kept in a file of that name with
        ``.part``, from which the next call goes on: the new certificate is audited
        then, as what the file says was not explored by this call.
    elsewhere
        Does so in another place, such as a cluster; None: in this process.
    instance
        What the certificate has to be about: a problem, or whatever ``read_instance``
        takes.
    say
        Called with a line about each part that is explored.

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
    kinds.whole(0).check(witnesses, "witnesses")
    limit = kinds.optional(kinds.whole(0))
    limit.check(nodes, "nodes")
    limit.check(most_nodes, "most_nodes")
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
    content = certificate.content
    seed = secrets.randbelow(2**32) if seed is None else seed
    checks: list[Check] = []
    notes: list[str] = []
    verdict = checker.TOO_LITTLE
    step = checker.STRUCTURE[0][0]
    try:
        checks.append(Check(step, True, _check_form(content)))
        names = [name for name, _ in checker.STRUCTURE[1:]]
        if checker.is_of_root(content):
            if finer is not None:
                raise OptionError("finer: expected a certificate with a tree, got none")
            names, witnesses, everything = [ROOT], 0, False
        elif family_of(_known(content)["kind"]) is None:
            # its books can be checked all the same
            names.append(names.pop(0))
        for step in names:
            text = _STRUCTURE[step](content, notes)
            checks.append(Check(step, True, text))
            verdict = checker.PROVED if step == ROOT else verdict
        step = "instance"
        if mine is not None and mine.digest != content["instance"]["digest"]:
            raise checker.Failed(
                f"expected the digest of yours, {mine.digest}, got "
                f"{content['instance']['digest']}"
            )
        step = AGAIN
        if witnesses or everything or finer is not None:
            problem = decoded(_known(content))
            if engine == "auto":
                engine = _engine_for(problem, content)
            again = Again(problem, content, engine, elsewhere)
            budget = NODES[engine] if nodes is None else nodes
            most = budget // PARTS if most_nodes is None else most_nodes

            def audit_of(books: dict[str, Any]) -> checker.Audit:
                parts: dict[int, checker.Part] = checker.check_sums(books)
                draws = max(2, witnesses)
                return checker.Audit(
                    *(books, parts, again, seed, budget, most, draws, say)
                )

            began = time.monotonic()
            try:
                if finer is None:
                    verdict, found = audit_of(content).run(everything)
                else:
                    lock = Path(f"{finer}.lock")
                    with alone(lock, f"{finer}: expected one that no other call makes"):
                        # it may make the file, which another call must not find
                        check_writable(_kept(finer), "finer", source)
                        fine, verdict, found = _made_finer(
                            *(audit_of, content, problem, finer, most_nodes)
                        )
                        Certificate(fine).write(finer)
                        _kept(finer).unlink(missing_ok=True)
            finally:
                again.close()
            seconds = time.monotonic() - began
            found = f"{found}, by {again.name}, {seconds:.1f} s, seed {seed}"
            checks.append(Check(AGAIN, True, found))
            if verdict != checker.PROVED:
                notes.append(_meaning(verdict, max(2, witnesses)))
        elif verdict != checker.PROVED:
            notes.append("nothing was explored again, as none was asked for")
    except OptionError:
        raise
    except (checker.Failed, ValueError, ArithmeticError, RecursionError) as error:
        # not Failed: what an instance, a unit of work or an engine cannot be
        checks.append(Check(step, False, str(error)))
        verdict = FALSE
    claim = content.get("result")
    result = claim if isinstance(claim, dict) else {}
    known = content.get("instance")
    about = known if isinstance(known, dict) else {}
    return Verification(
        _called(about),
        _text(result.get("status")),
        _number(result.get("makespan")),
        _number(result.get("lower_bound")),
        tuple(checks),
        verdict,
        _text(about.get("digest")),
        tuple(notes),
        seed,
        _text(result.get("objective", "makespan")),
    )


def _kept(finer: str | Path) -> Path:
    """File of what is done of finer books."""
    return Path(f"{finer}.part")


def _made_finer(
    audit_of: Callable[[dict[str, Any]], checker.Audit],
    content: dict[str, Any],
    problem: Problem[Any],
    finer: str | Path,
    most_nodes: int | None,
) -> tuple[dict[str, Any], str, str]:
    """Return finer books, the verdict, and what was found.

    Books that go on from a file are audited: whoever can write there can make it up.
    What does not fit is the file's fault then, but for a schedule that was missed:
    there is one, whatever the file says.
    """
    audit, kept = audit_of(content), _kept(finer)
    again, here = audit.tree, Progress(kept, content)
    try:
        fine, counts = in_parts(
            *(content, problem, TreeOptions.from_json(content["tree"])),
            again.explore_all,
            most_nodes or least_part(audit.claimed),
            *(("dpbb verify", again.name), audit.say, here),
        )
        found = audit.whole(counts)
        if not here.went_on:
            return fine, checker.PROVED, found
        return fine, *audit_of(fine).run(False)
    except (OptionError, Missed):
        raise
    except (checker.Failed, ValueError, ArithmeticError, LookupError) as error:
        if not here.went_on:
            raise
        raise OptionError(
            f"finer: expected what is done of this tree in {kept}, which does not fit "
            f"what was explored: remove it, and begin anew ({error})"
        ) from error


def _called(about: dict[str, Any]) -> str:
    """Name of the instance; if jobs are given, with them."""
    try:
        return _text(checker.called({"instance": about}))
    except (KeyError, TypeError):
        return _text(about.get("name"))


def _text(value: object) -> str:
    """Text that a terminal can show, whatever a file says."""
    text = value if isinstance(value, str) else "?"
    return text if text.isprintable() else ascii(text)


def _number(value: object) -> int | None:
    return value if type(value) is int else None


def _known(content: dict[str, Any]) -> dict[str, Any]:
    """Return what ``decoded`` takes; older certificates do not name flow shops."""
    return {"kind": checker.KIND, **content["instance"]}


def _engine_for(problem: Problem[Any], content: dict[str, Any]) -> str:
    """Return the name of the CPU engine if it takes the problem."""
    tree = TreeOptions.from_json(content["tree"])
    return "reference" if get_engine("cpu").supports(problem, tree) else "cpu"


def _check_form(content: dict[str, Any]) -> str:
    checker.check_form(content)
    return f"schema {content['schema']}"


def _check_instance(content: dict[str, Any], _notes: list[str]) -> str:
    """Check problem, options and claim.

    The checker knows flow shops with their own bounds; of others the problem's own word
    is taken.
    """
    known, tree = _known(content), content["tree"]
    bound = name_of_bound(known.get("bound", LB1))
    shop = known["kind"] == checker.KIND and bound in checker.KNOWN
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
    own = json.loads(json.dumps(encoded(problem)))
    if not shop and {"name": known.get("name"), **own} != {"name": None, **known}:
        raise checker.Failed("expected the problem's own fields alone")
    text = f"digest {problem.digest[:12]}"
    best, bound = best_known_of(problem), content["result"]["lower_bound"]
    if known["kind"] == checker.KIND and not shop:
        checker.check_name(content)
    if best is None:
        return text
    if bound > best.upper_bound:
        raise checker.Failed(
            f"{best.name} has a schedule of {objective_of(problem)} "
            f"{best.upper_bound}, below {bound}"
        )
    return f"{text}, that of {best.name}"


def _check_root(content: dict[str, Any], notes: list[str]) -> str:
    """Check a claim that needs no tree; both the checker and the problem bound it."""
    known = _known(content)
    if known["kind"] == checker.KIND:
        checker.check_root(content)
    else:
        notes.append("the bound of the root is the problem's own word")
    problem = decoded(known)
    if problem.digest != known["digest"]:
        raise checker.Failed(
            f"expected the digest {problem.digest}, got {known['digest']}"
        )
    bound = proving_bound(problem)
    checker.check_root_claim(
        *(content, problem.n_jobs),
        lambda order: problem.evaluate(np.array(order, np.intp)),
        *(bound, objective_of(problem)),
    )
    return f"no permutation costs less than {bound}: the bound of the root"


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


ROOT = "schedule and bound of the root"

_STRUCTURE = dict(
    zip(
        [*(name for name, _ in checker.STRUCTURE[1:]), ROOT],
        (_check_instance, _check_units, _check_sums, _check_root),
        strict=True,
    )
)
