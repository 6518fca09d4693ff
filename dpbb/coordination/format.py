r"""Checkpoints as bytes: one line, a JSON header, and binary sections.

::

    dpbb-checkpoint <schema> <sha256 of the header> <bytes of the header>\n
    {header}
    sections, end to end

Sections are the roots of open units, those that have left them since (see
``SavedUnit``), optimal permutations, and the journal, each compressed by zlib. The
header (``Header``) says for each where it begins, its length and its checksum. Nothing
is ever unpickled, and nothing that fails a checksum is used.

Roots are three columns end to end, bytes, or little-endian uint16 with more than 256
jobs: how many digits each path has of its own, how many it shares with the path before,
and these digits (``dpbb.tree.work_unit``). Columns of alike numbers compress: real
frontiers take one to two bytes a root.
"""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import Annotated, Any

import msgspec
import numpy as np
from msgspec import Meta

from dpbb.coordination.checkpoint import Checkpoint, SavedUnit
from dpbb.coordination.journal import Journal
from dpbb.coordination.messages import Request, RunSpec, SeatId, UnitId
from dpbb.coordination.optima import MAX_OPTIMA_BYTES
from dpbb.coordination.outcome import Standing
from dpbb.errors import CheckpointError, DpbbError, InstanceError
from dpbb.options import OPTIONS, EngineName, TreeOptions, Tuning, without_places
from dpbb.problem import Problem, Renamed, instance_name_of, with_bound
from dpbb.problems import decoded, encoded, holds_problem
from dpbb.result.result import Cost, Count
from dpbb.text.labels import Names, names_of
from dpbb.text.names import clean
from dpbb.tree.branching import refusal
from dpbb.tree.work_unit import KEYS, WorkUnit, narrow

MAGIC = b"dpbb-checkpoint"

SCHEMA = 7
"""Raised whenever the format changes; a reader refuses any other."""

MOST_JOURNAL_BYTES = 1 << 28
"""A journal that becomes more is not read: one of a certificate of 10 MB is a third."""

MAX_LINE = 120
"""Bytes that the first line has at most."""

LEVEL = 1
"""Of zlib: 10 million roots of a GPU take half a second and 1.2 to 1.7 bytes each.
Level 6 saves a tenth of the bytes and takes five times as long."""


class Section(msgspec.Struct, frozen=True, array_like=True):
    """Where some bytes are, counted from the end of the header."""

    offset: Count
    length: Count
    checksum: str

    @classmethod
    def of(cls, content: bytes, offset: int) -> Section:
        """Return the section of some bytes that are put there."""
        return cls(offset, len(content), _checksum(content))

    def check(self, content: bytes, name: str) -> bytes:
        """Return the content; CheckpointError if it is not what was written."""
        if len(content) != self.length or _checksum(content) != self.checksum:
            raise CheckpointError(
                f"{name}: expected {self.length} bytes with checksum {self.checksum}, "
                f"got {len(content)} with {_checksum(content)}: the file is damaged"
            )
        return content


class Roots(msgspec.Struct, frozen=True, array_like=True):
    """Where some roots are, and how many."""

    section: Section
    n_roots: Count


class HeaderUnit(msgspec.Struct, frozen=True):
    """An open unit: see ``SavedUnit``."""

    id: Count
    least_lb: Cost
    fresh: bool
    roots: Roots
    gifts: Roots | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Header(Standing):
    """All of a checkpoint but what is in sections; see ``Checkpoint``.

    Parameters
    ----------
    run_id
        Of the run.
    spec
        The run, with the encoding of its problem, without paths and addresses.
    names
        Of the problem's jobs and machines.
    """

    run_id: Annotated[str, Meta(min_length=1)]
    spec: dict[str, Any]
    names: Names
    cutoff: Cost
    first_optimum: Count
    closed: tuple[Count, ...]
    covered_s: float
    left_s: float | None
    units: tuple[HeaderUnit, ...]
    optima: Section
    journal: Section | None


# -- writing --------------------------------------------------------------------


def to_bytes(saved: Checkpoint) -> bytes:
    """Return a checkpoint in one piece."""
    return b"".join(to_chunks(saved, [encode_roots(one.roots) for one in saved.units]))


def to_chunks(saved: Checkpoint, roots: Sequence[bytes]) -> list[bytes]:
    """Return what makes up a checkpoint, end to end.

    ``roots``: of each unit, by ``encode_roots``, which may be called in threads.
    """
    sections: list[bytes] = []
    size = 0

    def add(content: bytes) -> Section:
        nonlocal size
        sections.append(content)
        size += len(content)
        return Section.of(content, size - len(content))

    def add_gifts(unit: SavedUnit) -> Roots | None:
        if not unit.gifts:
            return None
        gifts = WorkUnit.concatenate(unit.gifts)
        return Roots(add(encode_roots(gifts)), len(gifts))

    spec, request = saved.spec, saved.spec.request
    request = replace(request, options=without_places(request.options))
    journal = None
    if saved.journal is not None:
        journal = add(_compress(msgspec.json.encode(saved.journal.to_json())))
    header = Header(
        run_id=spec.run_id,
        spec={
            **{one.name: getattr(spec, one.name) for one in fields(spec)},
            "problem": encoded(spec.problem),
            "options": without_places(asdict(spec.options)),
            "request": request,
        },
        names=names_of(spec.problem),
        cutoff=saved.cutoff,
        first_optimum=saved.first_optimum,
        closed=tuple(saved.closed.tolist()),
        covered_s=saved.covered_s,
        left_s=saved.left_s,
        units=tuple(
            HeaderUnit(
                one.id,
                one.least_lb,
                one.fresh,
                Roots(add(content), len(one.roots)),
                add_gifts(one),
            )
            for one, content in zip(saved.units, roots, strict=True)
        ),
        optima=add(_compress(saved.optima.astype("<u2").tobytes())),
        journal=journal,
        **saved.standing(),
    )
    body = msgspec.json.encode(header)
    digest = hashlib.sha256(body).hexdigest()
    line = b"%s %d %s %d\n" % (MAGIC, SCHEMA, digest.encode(), len(body))
    return [line + body, *sections]


def encode_roots(roots: WorkUnit) -> bytes:
    """Return the section of some roots; releases the GIL for most of the time."""
    depths, shared, tails = roots.paths
    kind = _kind(roots.n_jobs)
    columns = [x.astype(kind, copy=False) for x in (depths - shared, shared, tails)]
    return _compress(b"".join(x.tobytes() for x in columns))


def _kind(n_jobs: int) -> np.dtype[Any]:
    return np.dtype(narrow(n_jobs)).newbyteorder("<")


def _compress(content: bytes) -> bytes:
    return zlib.compress(content, LEVEL)


def _checksum(content: bytes) -> str:
    return hashlib.blake2b(content, digest_size=16).hexdigest()


# -- reading --------------------------------------------------------------------


def from_bytes(
    content: bytes, name: str = "checkpoint", problem: Problem[Any] | None = None
) -> Checkpoint:
    """Inverse of ``to_bytes``.

    Parameters
    ----------
    name
        What the messages call the checkpoint.
    problem
        Of a kind that is not known here, or that a checkpoint does not hold.

    Raises
    ------
    CheckpointError
        Other problem or tree, or damaged; says what was expected and what came.
    """
    header = decode_header(content, name)
    sections = memoryview(content)[header_length(content, name) :]
    try:
        saved = _decoded(header, sections, problem)
        saved.check()
    except DpbbError as error:
        raise CheckpointError(f"{name}: {error}") from error
    except (
        *(ArithmeticError, AttributeError, LookupError, RecursionError),
        *(TypeError, ValueError, msgspec.MsgspecError),
    ) as error:
        raise CheckpointError(
            f"{name}: expected what this version writes, got {type(error).__name__}: "
            f"{error}"
        ) from error
    return saved


def header_length(start: bytes, name: str) -> int:
    """Bytes of line and header together, from at least ``MAX_LINE`` bytes of a file.

    CheckpointError: no checkpoint, or one of another schema.
    """
    line, newline, _ = start[:MAX_LINE].partition(b"\n")
    words = line.split(b" ")
    if not newline or len(words) != 4 or words[0] != MAGIC:
        raise CheckpointError(
            f"{name}: expected a checkpoint, which begins with {MAGIC.decode()!r}, got "
            f"{start[:40]!r}"
        )
    if words[1] != b"%d" % SCHEMA:
        raise CheckpointError(
            f"{name}: expected a checkpoint of schema {SCHEMA}, got "
            f"{words[1].decode(errors='replace')}: it is of another version of dpbb"
        )
    if not words[3].isdigit():
        raise CheckpointError(f"{name}: expected a length, got {words[3]!r}")
    return len(line) + 1 + int(words[3])


def decode_header(content: bytes, name: str) -> Header:
    """Return the header from line and header, checked against its checksum."""
    length = header_length(content, name)
    line, _, body = content[:length].partition(b"\n")
    digest = line.split(b" ")[2].decode(errors="replace")
    if len(content) < length or hashlib.sha256(body).hexdigest() != digest:
        raise CheckpointError(
            f"{name}: the header does not have the checksum {digest[:12]}... that it "
            "was written with: the file is damaged or cut off"
        )
    try:
        return msgspec.json.decode(body, type=Header)
    except (msgspec.DecodeError, ValueError, RecursionError) as error:
        raise CheckpointError(f"{name}: expected a header, got: {error}") from error


def _decoded(
    header: Header, sections: memoryview, problem: Problem[Any] | None
) -> Checkpoint:
    tree = msgspec.convert(header.spec["tree"], TreeOptions)
    found = with_bound(_problem_of(header, problem), tree.bound)
    reason = refusal(found, tree)
    if reason is not None:
        raise CheckpointError(reason)
    n_jobs = found.n_jobs

    def section_of(section: Section, what: str, most: int) -> bytes:
        end = section.offset + section.length
        content = section.check(bytes(sections[section.offset : end]), what)
        return _decompress(content, what, most)

    def roots_of(at: Roots, what: str) -> WorkUnit:
        most = _kind(n_jobs).itemsize * at.n_roots * (2 + n_jobs)
        content = section_of(at.section, what, most)
        return _decode_roots(n_jobs, content, at.n_roots, what)

    units = []
    for unit in header.units:
        what = f"unit {unit.id}"
        roots = roots_of(unit.roots, what)
        if unit.gifts is not None:
            roots = roots.subtract(roots_of(unit.gifts, f"{what}, gifts"))
        units.append(SavedUnit(UnitId(unit.id), roots, (), unit.least_lb, unit.fresh))
    optima = np.frombuffer(section_of(header.optima, "optima", MAX_OPTIMA_BYTES), "<u2")
    journal = None
    if header.journal is not None:
        content = section_of(header.journal, "journal", MOST_JOURNAL_BYTES)
        journal = Journal.from_json(n_jobs, msgspec.json.decode(content))
    # texts are shown, and a checkpoint may be anybody's: they steer no terminal
    standing = header.standing() | {
        "trajectory": tuple(
            replace(step, source=clean(step.source)) for step in header.trajectory
        ),
        "seats": {SeatId(clean(one)): clean(x) for one, x in header.seats.items()},
        "error": None if header.error is None else clean(header.error),
    }
    return Checkpoint(
        spec=_spec_of(header, found),
        cutoff=header.cutoff,
        optima=optima.astype(np.uint16).reshape(-1, n_jobs),
        first_optimum=header.first_optimum,
        closed=np.array(header.closed, np.int64),
        units=tuple(units),
        covered_s=header.covered_s,
        left_s=header.left_s,
        journal=journal,
        **standing,
    )


def _spec_of(header: Header, problem: Problem[Any]) -> RunSpec:
    """Return the run as it goes on: from the incumbent, without a time limit yet."""
    values = header.spec | {
        "run_id": clean(header.run_id),
        "instance": clean(header.spec["instance"]),
        "problem": problem,
        "options": {
            name: OPTIONS[name].kind.check(value, name)
            for name, value in without_places(header.spec["options"]).items()
        },
        "engine": EngineName(header.spec["engine"]),
        "upper_bound": header.cutoff,
        "permutation": header.permutation,
        "time_limit_s": None,
    }
    tuning = Tuning(**values.pop("tuning"))
    request = msgspec.convert(values.pop("request"), Request)
    request = replace(request, options=without_places(request.options))
    spec = msgspec.convert(values, RunSpec)
    return replace(spec, tuning=tuning, request=request)


def _decompress(content: bytes, what: str, most: int) -> bytes:
    """Inverse of ``_compress``; CheckpointError: it is more than ``most`` bytes."""
    stream = zlib.decompressobj()
    try:
        found = stream.decompress(content, most + 1)
    except zlib.error as error:
        raise CheckpointError(
            f"{what}: expected a stream of zlib, got {error}"
        ) from error
    if not stream.eof or len(found) > most:
        raise CheckpointError(
            f"{what}: expected one stream of zlib of {most} bytes at most, got more, "
            "or less"
        )
    return found


def _decode_roots(n_jobs: int, content: bytes, n_roots: int, what: str) -> WorkUnit:
    """Inverse of ``encode_roots``; CheckpointError if it cannot have come from it."""
    kind = _kind(n_jobs)
    values = np.frombuffer(content, kind).astype(kind.newbyteorder("="))
    if len(values) < 2 * n_roots:
        raise CheckpointError(
            f"{what}: expected {n_roots} roots, got {len(values)} numbers"
        )
    first, shared, tails = np.split(values, [n_roots, 2 * n_roots])
    depths = first.astype(np.uint16) + shared
    if np.any(depths >= max(n_jobs, 1)):
        raise CheckpointError(f"{what}: expected depths < {n_jobs}, got {depths.max()}")
    columns = depths.astype(narrow(n_jobs)), shared, tails
    try:
        return WorkUnit.from_arrays(n_jobs, dict(zip(KEYS, columns, strict=True)))
    except ValueError as error:
        raise CheckpointError(f"{what}: {error}") from error


def _problem_of(header: Header, problem: Problem[Any] | None) -> Problem[Any]:
    """Return the problem that is given, or else the one that the checkpoint holds."""
    known = header.spec["problem"]
    if problem is not None:
        if problem.digest != known["digest"]:
            raise CheckpointError(
                f"expected instance {clean(header.spec['instance'])} (digest "
                f"{known['digest']}), got {instance_name_of(problem)} (digest "
                f"{problem.digest})"
            )
        return problem
    if not holds_problem(known):
        raise CheckpointError(
            f"expected the problem beside the checkpoint, as one of kind "
            f"{known['kind']!r} is not held by it: dpbb.resume(..., problem=...)"
        )
    try:
        found = decoded(known)
    except InstanceError as error:
        raise CheckpointError(
            f"{error}. Or give it: dpbb.resume(..., problem=...)"
        ) from error
    if header.names and isinstance(found, Renamed):
        found = found.with_names(header.names)
    return found
