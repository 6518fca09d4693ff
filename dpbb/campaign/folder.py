"""The folder of a campaign: a record for each instance, checkpoints, certificates."""

import json
import math
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from types import UnionType
from typing import Any, get_args, get_origin, get_type_hints

from dpbb.errors import DpbbError, OptionError
from dpbb.flowshop.best_known import best_known_of_digest
from dpbb.result import Status
from dpbb.text.files import alone, check_writable, read_file, whole_file
from dpbb.text.json_text import json_text

LOCK = "campaign.lock"
RECORDS, CHECKPOINTS, CERTIFICATES = "records", "checkpoints", "certificates"

ENDED = ("optimal", "infeasible_cutoff")
"""States of searches that were not cut off."""

SCHEDULE = ("makespan", "permutation", "trajectory", "known_from")
BOUND = ("lower_bound", "proof", "certificate")
"""A schedule and a lower bound, and where they are from."""

SUMS = "decomposed", "leaves", "seconds", "explore_seconds", "gpu_seconds", "energy_j"
"""What is summed over all attempts."""

STATES = ("estimated", "error", *Status)
"""All states of records."""

DOUBTFUL = "doubtful"
"""State that a report gives to a record that does not hold."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """What is known of an instance; all seconds are sums over all attempts.

    Parameters
    ----------
    source, instance, digest, n_jobs, n_machines
        What was asked for, and what it is.
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
    decomposed, leaves, seconds, explore_seconds, gpu_seconds, energy_j
        As of ``Result``; ``explore_seconds`` are those of all seats together.
    engine, seats, hosts
        What explored, and where (every machine that the campaign ran on).
    earlier
        ``SUMS`` of attempts that the latest could not go on from; they are in those
        above.
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
    strategy, bound, heuristics, options
        How it was solved; ``bound`` is the one that explored.
    why
        Reasons of the choices that were left to the run (``auto``).
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
    decomposed: int = 0
    leaves: int = 0
    seconds: float = 0.0
    explore_seconds: float = 0.0
    gpu_seconds: float = 0.0
    energy_j: float | None = None
    engine: str = ""
    seats: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    earlier: dict[str, Any] = field(default_factory=dict)
    limit_s: float = 0.0
    attempts: int = 0
    checkpoint: str | None = None
    checkpoint_host: str | None = None
    certificate: str | None = None
    known_from: str = ""
    strategy: str = ""
    bound: str = ""
    heuristics: str = ""
    why: tuple[str, ...] = ()
    options: dict[str, Any] = field(default_factory=dict)
    trajectory: tuple[tuple[float, int, str], ...] = ()
    versions: tuple[tuple[str, str], ...] = ()
    error: str = ""

    @property
    def proved(self) -> bool:
        """Whether nothing is left to do: a schedule of the bound's value is known.

        With ``infeasible_cutoff`` it may be one that was published.
        """
        known = min(self.makespan or 2**63, self.best_upper or 2**63)
        closed = self.status in ENDED and (self.lower_bound or 0) >= known
        return closed or self.status == Status.OPTIMAL

    @property
    def rank(self) -> tuple[bool, bool, bool, int, int]:
        """Of two records of an instance, the one that says more has the larger rank."""
        tried, best = self.attempts > 0, self.makespan or 2**63
        held = self.status != DOUBTFUL
        return held, self.proved, tried, self.lower_bound or 0, -best

    def sums(self, *latest: float | None) -> dict[str, Any]:
        """Return ``SUMS`` over all attempts from those of the latest one's tree."""
        found: dict[str, Any] = dict(zip(SUMS, latest, strict=True))
        for name in SUMS:
            if (before := self.earlier.get(name)) is not None:
                found[name] = before + (found[name] or 0)
        return found

    def with_best_of(self, other: "Record") -> "Record":
        """Return the record with the better schedule and the better bound of both.

        Of equal bounds one with a certificate is better; nothing doubtful is.
        """
        names: tuple[str, ...] = ()
        if other.status == DOUBTFUL:
            return self
        if (other.makespan or 2**63) < (self.makespan or 2**63):
            names += SCHEDULE
        better = (other.lower_bound or 0) - (self.lower_bound or 0)
        if better > 0 or (better == 0 and other.certificate and not self.certificate):
            names += BOUND
        both = replace(self, **{name: getattr(other, name) for name in names})
        if names and both.makespan is not None and not both.proved:
            if both.makespan == both.lower_bound:
                return replace(both, status=str(Status.OPTIMAL))
            if both.status == Status.UNKNOWN:
                return replace(both, status=str(Status.FEASIBLE))
        return both

    @property
    def found_by(self) -> str:
        """What found the schedule: a heuristic, the tree, or where it is from."""
        last = self.trajectory[-1][2] if self.trajectory else "initial"
        return self.known_from if last == "initial" else last

    @property
    def size(self) -> str:
        """Numbers of jobs and machines."""
        return f"{self.n_jobs}x{self.n_machines}"

    @property
    def group(self) -> str:
        """Class in reports: size, and of a benchmark instance its set."""
        known = best_known_of_digest(self.digest)
        if known is None:
            return self.size
        return f"{'ta' if known.name.startswith('ta') else 'vrf'}:{self.size}"

    @property
    def news(self) -> str:
        """What is better than the published bounds; empty if nothing is."""
        found: list[str] = []
        if self.status == DOUBTFUL:
            return ""
        if self.best_upper is not None and (self.makespan or 2**63) < self.best_upper:
            found.append(f"upper bound {self.makespan} (was {self.best_upper})")
        if self.best_lower is not None and (self.lower_bound or 0) > self.best_lower:
            found.append(f"lower bound {self.lower_bound} (was {self.best_lower})")
        return ", ".join(found)


class CampaignFolder:
    """Reads and writes the records of one folder.

    Parameters
    ----------
    path
        Made where it is not there, unless it is only read.
    reader
        Who only reads it, for messages.

    Raises
    ------
    OptionError
        It cannot be written to; or it is to be read, and no campaign made it.
    """

    def __init__(self, path: Path, reader: str | None = None) -> None:
        self.path = path
        if reader is not None:
            if not (path / RECORDS).is_dir():
                raise OptionError(
                    f"{reader}: expected the folder of a campaign, got {path}"
                )
            return
        try:
            (path / RECORDS).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise OptionError(
                f"-o: expected a folder that can be written, got {path}: "
                f"{error.strerror}"
            ) from error
        check_writable(path / LOCK, "-o")

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Keep other campaigns out of the folder for the block.

        DpbbError: another one has it; says on which machine.
        """
        with alone(
            self.path / LOCK,
            f"{self.path}: expected a folder that no other campaign uses",
        ):
            yield

    def records(self) -> dict[str, Record]:
        """Return all records by the digests of their instances; see ``by_file``."""
        return {record.digest: record for record in self.by_file().values()}

    def by_file(self) -> dict[Path, Record]:
        """Return all records by their files; DpbbError: a file that is no record."""
        kinds = get_type_hints(Record)
        names = kinds.keys()
        found = {}
        for file in sorted((self.path / RECORDS).iterdir()):
            if file.suffix != ".json":
                continue
            try:
                text = read_file(file).decode("utf-8")
                if not text.strip():
                    raise ValueError(
                        "nothing, as a crash of the machine may leave it; remove the "
                        "file, and the campaign goes on from the instance's checkpoint"
                    )
                values = json.loads(text)
                known = {name: _tuples(values[name]) for name in names & values.keys()}
                record = Record(**known)
                for name, kind in kinds.items():
                    if not _is_a(getattr(record, name), kind):
                        raise ValueError(f"{name}: {getattr(record, name)!r}"[:80])
                if record.status not in STATES:
                    raise ValueError(f"status: {record.status!r}"[:80])
            except (OSError, ValueError, TypeError, AttributeError) as error:
                raise DpbbError(f"{file}: expected a record, got: {error}") from error
            found[file] = record
        return found

    def save(self, record: Record) -> None:
        """Write a record; an older one of the instance is replaced when it is whole.

        DpbbError: it cannot be written.
        """
        file = self.path / RECORDS / f"{self.label(record)}.json"
        beside = file.with_suffix(".new")
        with whole_file(beside):
            beside.write_text(json_text(asdict(record), indent=1), encoding="utf-8")
            beside.replace(file)

    def label(self, record: Record) -> str:
        """Name of an instance's files: benchmark instances' own, others with digest."""
        plain = re.sub(r"[^A-Za-z0-9_.-]", "_", record.instance)
        known = best_known_of_digest(record.digest)
        named = known is not None and known.name == plain
        return plain if named else f"{plain[:60]}-{record.digest[:12]}"


def best_of(one: Record, other: Record) -> Record:
    """Return the record that says more, with the best schedule and bound of both."""
    less, more = sorted((one, other), key=lambda record: record.rank)
    return more.with_best_of(less)


def _is_a(value: Any, kind: Any) -> bool:
    """Whether a value of JSON, with tuples for lists, is of an annotated type."""
    parts = get_args(kind)
    if get_origin(kind) is UnionType:
        return any(_is_a(value, part) for part in parts)
    if get_origin(kind) is tuple and isinstance(value, tuple):
        of_each = parts[:1] * len(value) if Ellipsis in parts else parts
        return len(of_each) == len(value) and all(map(_is_a, value, of_each))
    if kind is float and isinstance(value, int | float):
        return not isinstance(value, bool) and math.isfinite(value)
    return isinstance(value, get_origin(kind) or kind) and not isinstance(value, bool)


def _tuples(value: Any) -> Any:
    return tuple(map(_tuples, value)) if isinstance(value, list) else value
