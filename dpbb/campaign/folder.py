"""The folder of a campaign: a record for each instance, checkpoints, certificates.

Somebody may have changed a record, or lost its certificate: see ``doubt_of``.
"""

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from dpbb.errors import DpbbError, InstanceError, OptionError
from dpbb.flowshop.best_known import best_known_of_digest
from dpbb.flowshop.family import read_problem
from dpbb.problem import Described, Problem, instance_name_of
from dpbb.proof import checker
from dpbb.proof.certificate import Certificate, check_form
from dpbb.result import Proof, Status, Totals
from dpbb.text.files import (
    alone,
    check_writable,
    expecting,
    read_file,
    replacing,
    writing,
)

LOCK = "campaign.lock"
PARTS = RECORDS, CHECKPOINTS, CERTIFICATES = "records", "checkpoints", "certificates"

ENDED = ("optimal", "infeasible_cutoff")
"""States of searches that were not cut off."""

SCHEDULE = ("makespan", "permutation", "trajectory", "known_from")
BOUND = ("lower_bound", "proof", "certificate")
"""A schedule and a lower bound, and where they are from."""

STATES = ("estimated", "error", *Status)
"""All states of records."""

DOUBTFUL = "doubtful"
"""State that a report gives to a record that does not hold."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """What is known of an instance.

    Parameters
    ----------
    source, instance, digest, n_jobs, n_machines
        What was asked for, and what it is.
    objective, features
        What ``makespan`` is called; what a flow shop has besides times and dates.
    status
        As of ``Result``; ``"estimated"`` before the first attempt, ``"error"``.
    termination, proof
        As of ``Result``; empty before the first attempt.
    makespan, permutation, lower_bound
        The best schedule found, and what is proved.
    best_lower, best_upper
        Published bounds; None where there are none.
    estimated, low, high, doubts
        Nodes of the tree below the best known schedule, before the first attempt, and
        why that is not to be trusted, if there is a reason.
    totals
        What all attempts took; see ``Totals``.
    engine, seats, hosts
        What explored, and where (every machine that the campaign ran on).
    earlier
        What attempts took that the latest could not go on from; it is in ``totals``.
    limit_s
        Time limit of the last attempt, those before it included.
    attempts
        How many there were.
    checkpoint
        Where an unfinished one goes on: in the folder, or as its scheduler sees it;
        None if it ended.
    checkpoint_host
        On which machine that is.
    certificate
        File in the folder; None without one.
    known_from
        Where the schedule that it started from is from; empty without one.
    strategy, bound, options
        How it was solved; the first two are those that explored.
    trajectory
        (second, value, what found it).
    versions
        (package, version).
    error
        Why it could not be solved.
    """

    source: str
    instance: str
    digest: str
    n_jobs: int
    n_machines: int
    objective: str = "makespan"
    features: str = ""
    status: str = "estimated"
    termination: str = ""
    proof: str = ""
    makespan: int | None = None
    permutation: tuple[int, ...] | None = None
    lower_bound: int | None = None
    best_lower: int | None = None
    best_upper: int | None = None
    estimated: float | None = None
    low: float | None = None
    high: float | None = None
    doubts: tuple[str, ...] = ()
    totals: Totals = field(default_factory=Totals)
    earlier: Totals = field(default_factory=Totals)
    engine: str = ""
    seats: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    limit_s: float = 0.0
    attempts: int = 0
    checkpoint: str | None = None
    checkpoint_host: str | None = None
    certificate: str | None = None
    known_from: str = ""
    strategy: str = ""
    bound: str = ""
    options: dict[str, Any] = field(default_factory=dict)
    trajectory: tuple[tuple[float, int, str], ...] = ()
    versions: tuple[tuple[str, str], ...] = ()
    error: str = ""

    @property
    def cost(self) -> int:
        """Makespan, or a value above all without a schedule."""
        return 2**63 if self.makespan is None else self.makespan

    @property
    def proved(self) -> bool:
        """Whether nothing is left to do: a schedule of the bound's value is known.

        With ``infeasible_cutoff`` it may be one that was published.
        """
        known = min(self.cost, self.best_upper or 2**63)
        closed = self.status in ENDED and (self.lower_bound or 0) >= known
        return closed or self.status == Status.OPTIMAL

    @property
    def aim(self) -> str:
        """Objective and features: ``makespan, no buffers``."""
        return ", ".join(filter(None, (self.objective, self.features)))

    def with_best_of(self, other: "Record") -> "Record":
        """Return the record with the better schedule and the better bound of both.

        Of equal bounds one with a certificate is better.
        """
        names: tuple[str, ...] = ()
        if other.cost < self.cost:
            names += SCHEDULE
        better = (other.lower_bound or 0) - (self.lower_bound or 0)
        if better > 0 or (better == 0 and other.certificate and not self.certificate):
            names += BOUND
        both = replace(self, **{name: getattr(other, name) for name in names})
        if names and both.makespan is not None and not both.proved:
            if both.makespan == both.lower_bound:
                return replace(both, status=Status.OPTIMAL)
            if both.status == Status.UNKNOWN:
                return replace(both, status=Status.FEASIBLE)
        return both

    @property
    def found_by(self) -> str:
        """What found the schedule: a heuristic, the tree, or where it is from."""
        last = self.trajectory[-1][2] if self.trajectory else "initial"
        return self.known_from if last == "initial" else last

    @property
    def heuristics(self) -> str:
        """The option, as it was given."""
        return str(self.options.get("heuristics", ""))

    @property
    def size(self) -> str:
        """Numbers of jobs and machines."""
        return f"{self.n_jobs}x{self.n_machines}"

    @property
    def group(self) -> str:
        """Class in reports: size, problem, and of a benchmark instance its set."""
        known = best_known_of_digest(self.digest)
        if known is None:
            other = () if self.objective == "makespan" else (self.objective,)
            return ", ".join(filter(None, (self.size, *other, self.features)))
        return f"{'ta' if known.name.startswith('ta') else 'vrf'}:{self.size}"

    @property
    def news(self) -> str:
        """What is better than the published bounds; empty if nothing is."""
        found: list[str] = []
        if self.status == DOUBTFUL:
            return ""
        if self.best_upper is not None and self.cost < self.best_upper:
            found.append(f"upper bound {self.makespan} (was {self.best_upper})")
        if self.best_lower is not None and (self.lower_bound or 0) > self.best_lower:
            found.append(f"lower bound {self.lower_bound} (was {self.best_lower})")
        return ", ".join(found)


class CampaignFolder:
    """Reads and writes the records of one folder."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Make the folder, and keep other campaigns out of it for the block.

        Raises
        ------
        OptionError
            It cannot be written to, or a link in it leads elsewhere.
        DpbbError
            Another campaign has it; says on which machine.
        """
        for name in (*PARTS, LOCK):
            if (self.path / name).is_symlink():
                raise OptionError(
                    f"-o: expected a folder without links, got {self.path / name} -> "
                    f"{os.readlink(self.path / name)}"
                )
        with expecting(f"-o: expected {self.path} to be a folder that can be written"):
            for part in RECORDS, CHECKPOINTS:  # runs side by side begin in it
                (self.path / part).mkdir(parents=True, exist_ok=True)
        check_writable(self.path / LOCK, "-o")
        expected = f"{self.path}: expected a folder that no other campaign uses"
        with alone(self.path / LOCK, expected):
            yield

    def records(self) -> dict[str, Record]:
        """Return all records by the digests of their instances; see ``by_file``."""
        return {record.digest: record for record in self.by_file().values()}

    def by_file(self) -> dict[Path, Record]:
        """Return all records by their files.

        Raises
        ------
        OptionError
            No campaign made the folder.
        DpbbError
            A file that is no record.
        """
        if not (self.path / RECORDS).is_dir():
            raise OptionError(
                f"report: expected the folder of a campaign, got {self.path}"
            )
        found = {}
        for file in sorted((self.path / RECORDS).iterdir()):
            if file.suffix != ".json":
                continue
            try:
                text = read_file(file)
                if not text.strip():
                    raise ValueError(
                        "nothing, as a crash of the machine may leave it; remove the "
                        "file, and the campaign goes on from the instance's checkpoint"
                    )
                record = msgspec.json.decode(text, type=Record)
                if record.status not in STATES:
                    raise ValueError(f"status: {record.status!r}"[:80])
            except (OSError, ValueError) as error:
                raise DpbbError(f"{file}: expected a record, got: {error}") from error
            found[file] = record
        return found

    def file(self, part: str, name: str) -> Path:
        """Return a file of a part, to be written: a link there is removed."""
        path = self.path / part / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.is_symlink():
            path.unlink()
        return path

    def save(self, record: Record) -> None:
        """Write a record; an older one of the instance is replaced when it is whole.

        DpbbError: it cannot be written.
        """
        file = self.file(RECORDS, f"{self.label(record)}.json")
        with writing(file), replacing(file) as new:
            text = msgspec.json.encode(record)
            new.write(msgspec.json.format(text, indent=1))

    def label(self, record: Record) -> str:
        """Name of an instance's files: benchmark instances' own, others with digest."""
        plain = re.sub(r"[^A-Za-z0-9_.-]", "_", record.instance)
        known = best_known_of_digest(record.digest)
        named = known is not None and known.name == plain
        return plain if named else f"{plain[:60]}-{record.digest[:12]}"


def features_of(problem: Problem[Any]) -> str:
    """Return what a flow shop has besides times and dates, in words."""
    facts = problem.facts() if isinstance(problem, Described) else {}
    return str(facts.get("features", ""))


def doubt_of(
    record: Record,
    folder: Path,
    data_dir: str | None = None,
    problem: Problem[Any] | None = None,
) -> str:
    """Return why a record is not to be believed; empty where nothing speaks against it.

    Parameters
    ----------
    folder
        Of its campaign, where its certificate is.
    data_dir
        As of ``read_instance``.
    problem
        What it is a record of; None: the benchmark instance with its digest, if that
        can be read. The schedule is evaluated again.
    """
    value, order, lower = record.makespan, record.permutation, record.lower_bound
    word = record.objective
    if record.status in (Status.OPTIMAL, Status.FEASIBLE) and None in (value, order):
        return f"it is {record.status} without a {word} and its permutation"
    if order is not None and sorted(order) != list(range(record.n_jobs)):
        return f"its permutation is none of {record.n_jobs} jobs"
    if value is not None and lower is not None and lower > value:
        return f"its lower bound {lower} is above its {word} {value}"
    if record.status == Status.OPTIMAL and lower != value:
        return f"it is optimal with {word} {value} and lower bound {lower}"
    if record.proof and record.proof not in list(Proof):
        return f"its proof is {record.proof}, expected {' or '.join(Proof)}"
    known = best_known_of_digest(record.digest)
    if known is not None and (lower or 0) > known.upper_bound:
        return f"its lower bound {lower} is above {known.upper_bound}, which is known"
    found = _doubt_of_certificate(record, folder)
    return found or _doubt_of_schedule(record, problem or _benchmark(record, data_dir))


def _doubt_of_certificate(record: Record, folder: Path) -> str:
    """Compare instance and bound; whether its books hold, ``dpbb verify`` says."""
    if not record.certificate:
        return ""
    name = f"its certificate {record.certificate}"
    if not (folder / record.certificate).is_file():
        return f"{name} is not there"
    try:
        content = Certificate.read(folder / record.certificate).content
        checker.checked(content, check_form)
    except (OptionError, checker.Failed, checker.Unchecked) as error:
        return f"{name} is none: {error}"
    digest, bound = content["instance"]["digest"], content["result"]["lower_bound"]
    known = best_known_of_digest(digest)
    # without the instance's file a table knows no digest, but the benchmark's
    named = not record.digest and known is not None and known.name == record.instance
    if digest != record.digest and not named:
        expected = record.digest[:16] or f"that of {record.instance}"
        got = f"{name} is of an instance with the digest {digest[:16]}"
        return f"{got}, expected {expected}"
    whole = record.proof == Proof.TREE_EXHAUSTED
    if bound > (record.lower_bound or 0) or (whole and bound != record.lower_bound):
        return f"{name} has the lower bound {bound}, it has {record.lower_bound}"
    return ""


def _benchmark(record: Record, data_dir: str | None) -> Problem[Any] | None:
    known = best_known_of_digest(record.digest)
    try:
        return None if known is None else read_problem(known.name, data_dir=data_dir)
    except InstanceError:  # its file is not at hand
        return None


def _doubt_of_schedule(record: Record, problem: Problem[Any] | None) -> str:
    if problem is None:
        return ""
    if (problem.digest, problem.n_jobs) != (record.digest, record.n_jobs):
        return f"its digest or size is not that of {instance_name_of(problem)}"
    if record.permutation is None:
        return ""
    value = problem.evaluate(np.array(record.permutation, np.intp))
    if value == record.makespan:
        return ""
    return f"its permutation has {record.objective} {value}, not {record.makespan}"


def read_all(
    paths: Sequence[Path], data_dir: str | None = None
) -> tuple[list[Record], list[str]]:
    """Return the records of campaigns, and which do not hold.

    Of several folders, certificates are named with theirs.
    """
    found, doubts = [], []
    folders = {path.resolve(): path for path in paths}.values()
    for path in folders:
        for file, record in CampaignFolder(path).by_file().items():
            doubt = doubt_of(record, path, data_dir)
            if record.certificate and len(folders) > 1:
                record = replace(record, certificate=str(path / record.certificate))
            if doubt:
                record = replace(record, status=DOUBTFUL, error=doubt)
                doubts.append(f"{file}: {doubt}; not counted")
            found.append(record)
    return found, doubts
