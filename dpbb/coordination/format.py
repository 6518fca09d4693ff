r"""Checkpoints as bytes: one line, a JSON header, and binary sections.

::

    dpbb-checkpoint <schema> <sha256 of the header> <bytes of the header>\n
    {header}
    sections, end to end

Sections are the roots of open units, those that have left them since (see
``SavedUnit``), optimal permutations, and the journal (``dpbb.coordination.sections``).
The header says for each where it is (in this file, or in another of the same folder),
its length and its checksum: so a folder of checkpoints rewrites only the units that
changed. Nothing is ever unpickled, and nothing that fails a checksum is used.
"""

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import asdict
from itertools import repeat
from typing import Any, NoReturn

import numpy as np

from dpbb.coordination.checkpoint import Checkpoint, SavedUnit
from dpbb.coordination.journal import Journal
from dpbb.coordination.messages import RunId, RunSpec, SeatId, UnitId
from dpbb.coordination.optima import MAX_OPTIMA_BYTES
from dpbb.coordination.sections import (
    CODEC,
    Section,
    UnitSection,
    checksum,
    decode_roots,
    decompress,
    encode_gifts,
    encode_journal,
    encode_optima,
    encode_roots,
)
from dpbb.errors import CheckpointError, DpbbError, InstanceError, OptionError, shown
from dpbb.options import (
    EngineName,
    RunOptions,
    SolveOptions,
    TreeOptions,
    Tuning,
    kinds,
    without_places,
)
from dpbb.problem import Problem, Renamed, with_bound
from dpbb.problems import decoded, encoded, holds_problem
from dpbb.result import Improvement, Totals
from dpbb.text.labels import Names, names_of
from dpbb.text.names import clean
from dpbb.tree.branching import refusal
from dpbb.tree.counters import Counters
from dpbb.tree.work_unit import WorkUnit

MAGIC = b"dpbb-checkpoint"

SCHEMA = 3
"""Raised whenever the format changes. 2: options of the run by their names. 3: sections
are compressed, gifts lie beside the roots that they have left, ``covered_s``."""

READABLE = (1, 2, 3)
"""Schemas that a reader takes; it refuses all others."""

JOURNAL = "journal"

MOST_JOURNAL_BYTES = 1 << 28
"""A journal that becomes more is not read: one of a certificate of 10 MB is a third."""

MAX_LINE = 120
"""Bytes that the first line has at most."""

_SPEC_FIELDS = ("run_id", "instance", "engine", "lease_timeout_s", "certificate")


def to_bytes(saved: Checkpoint) -> bytes:
    """Return a checkpoint in one piece."""
    sections: list[bytes] = []

    def add(content: bytes) -> Section:
        offset = sum(map(len, sections))
        sections.append(content)
        return Section("", offset, len(content), checksum(content))

    units = [
        UnitSection(
            add(encode_roots(unit.roots)), len(unit.roots), encode_gifts(unit, add)
        )
        for unit in saved.units
    ]
    optima = add(encode_optima(saved))
    journal = encode_journal(saved, add)
    return b"".join([encode_header(saved, units, optima, journal), *sections])


def from_bytes(
    content: bytes, name: str = "checkpoint", problem: Problem[Any] | None = None
) -> Checkpoint:
    """Inverse of ``to_bytes``; raises CheckpointError."""
    header = decode_header(content, name)
    start = header_length(content, name)
    view = memoryview(content)

    def read(section: Section, what: str) -> bytes:
        if section.file:
            raise CheckpointError(
                f"{what}: expected it in the file, got {section.file}"
            )
        begin = start + section.offset
        return bytes(view[begin : begin + section.length])

    return decode(header, read, name, problem)


def encode_header(
    saved: Checkpoint,
    units: list[UnitSection],
    optima: Section,
    journal: Section | None,
) -> bytes:
    """Return line and header of a checkpoint whose sections are where they are said."""
    spec = saved.spec
    names = names_of(spec.problem)
    header = {
        "problem": encoded(spec.problem),
        "names": {"jobs": names.jobs, "machines": names.machines},
        "tree": spec.tree.to_json(),
        "spec": {
            **{name: getattr(spec, name) for name in _SPEC_FIELDS},
            "proved_bound": spec.proved_bound,
            "root_bound": spec.root_bound,
        },
        "options": without_places(asdict(spec.options)),
        "tuning": spec.tuning.to_mapping(),
        "request": _without_places(spec.request),
        "incumbent": {
            "cutoff": saved.cutoff,
            "value": saved.value,
            "permutation": saved.permutation,
            "trajectory": [
                [step.seconds, step.value, step.source] for step in saved.trajectory
            ],
            "n_optima": saved.n_optima,
            "first_optimum": saved.first_optimum,
        },
        "ledger": {
            "decomposed": saved.counters.decomposed,
            "leaves": saved.counters.leaves,
            "closed": saved.counters.closed.tolist(),
        },
        "totals": {
            "seconds": saved.totals.seconds,
            "covered_s": saved.covered_s,
            "explore_s": saved.totals.explore_seconds,
            "energy_j": saved.totals.energy_j,
            "donations": saved.totals.donations,
            "requeues": saved.totals.requeues,
            "made": saved.totals.units,
            "left_s": saved.left_s,
        },
        "gpu_s": saved.totals.gpu_seconds,
        "seats": dict(saved.seats),
        "error": saved.error,
        "codec": CODEC,
        "units": [
            [
                *at.to_json(),
                unit.id,
                unit.least_lb,
                unit.fresh,
                None if at.gifts is None else at.gifts.to_json(),
            ]
            for at, unit in zip(units, saved.units, strict=True)
        ],
        "optima": optima.to_json(),
        "extras": {} if journal is None else {JOURNAL: journal.to_json()},
    }
    body = json.dumps(header, separators=(",", ":")).encode()
    digest = hashlib.sha256(body).hexdigest()
    return b"%s %d %s %d\n" % (MAGIC, SCHEMA, digest.encode(), len(body)) + body


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
    if words[1] not in [b"%d" % schema for schema in READABLE]:
        raise CheckpointError(
            f"{name}: expected a checkpoint of schema {SCHEMA}, got "
            f"{words[1].decode(errors='replace')}: it is of another version of dpbb"
        )
    if not words[3].isdigit():
        raise CheckpointError(f"{name}: expected a length, got {words[3]!r}")
    return len(line) + 1 + int(words[3])


def decode_header(content: bytes, name: str) -> dict[str, Any]:
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
        header = json.loads(body, parse_constant=_no_number)
    except (ValueError, RecursionError) as error:
        raise CheckpointError(
            f"{name}: expected a header in JSON, got {type(error).__name__}: {error}"
        ) from error
    if not isinstance(header, dict):
        raise CheckpointError(
            f"{name}: expected a header that is an object, got {shown(header)}"
        )
    return header


def _no_number(text: str) -> NoReturn:
    raise ValueError(f"expected a number, got {text}")


def decode(
    header: Mapping[str, Any],
    read: Callable[[Section, str], bytes],
    name: str,
    problem: Problem[Any] | None = None,
) -> Checkpoint:
    """Return a checkpoint, checked.

    Parameters
    ----------
    header
        From ``decode_header``.
    read
        Returns a section's bytes; the second argument says what they are.
    name
        What the messages call the checkpoint.
    problem
        Of a kind that is not known here, or that a checkpoint does not hold.

    Raises
    ------
    CheckpointError
        Other problem or tree, or damaged; says what was expected and what came.
    """
    try:
        return _decode(header, read, name, problem)
    except (
        *(ArithmeticError, AttributeError, LookupError, RecursionError),
        *(TypeError, ValueError),
    ) as error:
        if isinstance(error, DpbbError):
            raise CheckpointError(f"{name}: {error}") from error
        raise CheckpointError(
            f"{name}: expected a header of this version's form, got "
            f"{type(error).__name__}: {error}"
        ) from error


def _decode(
    header: Mapping[str, Any],
    read: Callable[[Section, str], bytes],
    name: str,
    problem: Problem[Any] | None,
) -> Checkpoint:
    _check_types(header)
    header = {**header, **{part: _cleaned(header[part]) for part in _SHOWN}}
    tree, incumbent, ledger = header["tree"], header["incumbent"], header["ledger"]
    found = with_bound(_problem_of(header, problem, name), tree["bound"])
    options = TreeOptions.from_json(tree)
    reason = refusal(found, options)
    if reason is not None:
        raise CheckpointError(f"{name}: {reason}")
    jobs = incumbent["permutation"]
    of_run = header["options"] if "options" in header else _options_of_1(header)
    spec = RunSpec(
        problem=found,
        tree=options,
        options=RunOptions.of(SolveOptions.from_mapping(without_places(of_run))),
        tuning=Tuning(**header["tuning"]),
        upper_bound=incumbent["cutoff"],
        root_bound=header["spec"].get("root_bound"),  # older ones do not have it
        permutation=None if jobs is None else tuple(jobs),
        request=_without_places(header["request"]),
        proved_bound=header["spec"].get("proved_bound"),  # new after schema 2 was
        **{
            **{name: header["spec"][name] for name in _SPEC_FIELDS},
            "run_id": RunId(header["spec"]["run_id"]),
        },
    )

    codec = header.get("codec")

    def content_of(values: Any, what: str) -> bytes:
        section = Section.from_json(values)
        return section.check(read(section, what), what)

    def roots_of(values: Any, what: str) -> WorkUnit:
        *at, n_roots = values
        try:
            return decode_roots(found.n_jobs, content_of(at, what), n_roots, codec)
        except ValueError as error:
            raise CheckpointError(f"{what}: {error}") from error

    units = []
    for values in header["units"]:
        *of_roots, unit_id, least_lb, fresh = values[:8]
        what = f"{name}: unit {unit_id}"
        roots = roots_of(of_roots, what)
        if len(values) > 8 and values[8] is not None:  # without gifts in schema 2
            roots = roots.subtract(roots_of(values[8], f"{what}, gifts"))
        _COUNT.check(unit_id, f"{what}, number")
        _COST.check(least_lb, f"{what}, bound")
        kinds.flag().check(fresh, f"{what}, fresh")
        units.append(SavedUnit(UnitId(unit_id), roots, (), least_lb, fresh))
    ids = {unit.id for unit in units}
    if len(ids) < len(units) or max(ids, default=0) > header["totals"]["made"]:
        raise CheckpointError(
            f"{name}: expected units of different numbers up to "
            f"{header['totals']['made']}, got {shown(sorted(ids))}"
        )

    def section_of(values: Any, what: str, most: int) -> bytes:
        try:
            return decompress(content_of(values, what), codec, most)
        except ValueError as error:
            raise CheckpointError(f"{what}: {error}") from error

    content = section_of(header["optima"], f"{name}: optima", MAX_OPTIMA_BYTES)
    optima = np.frombuffer(content, "<u2")
    permutations = optima.astype(np.uint16).reshape(-1, found.n_jobs)
    if np.any(np.sort(permutations, axis=1) != np.arange(found.n_jobs)):
        raise CheckpointError(f"{name}: expected optima that are permutations")
    journal = None
    if JOURNAL in header["extras"]:
        what = f"{name}: {JOURNAL}"
        content = section_of(header["extras"][JOURNAL], what, MOST_JOURNAL_BYTES)
        journal = Journal.from_json(found.n_jobs, json.loads(content))
    took = header["totals"]
    saved = Checkpoint(
        spec=spec,
        cutoff=incumbent["cutoff"],
        value=incumbent["value"],
        permutation=spec.permutation,
        trajectory=tuple(map(_STEP.check, incumbent["trajectory"], repeat("step"))),
        optima=permutations,
        n_optima=incumbent["n_optima"],
        # without: of a version that left out what a reader had taken
        first_optimum=incumbent.get(
            "first_optimum", incumbent["n_optima"] - len(permutations)
        ),
        counters=Counters(
            ledger["decomposed"], ledger["leaves"], np.array(ledger["closed"], np.int64)
        ),
        units=tuple(units),
        seats={SeatId(seat): engine for seat, engine in header["seats"].items()},
        error=header["error"],
        journal=journal,
        totals=Totals(
            decomposed=ledger["decomposed"],
            leaves=ledger["leaves"],
            seconds=took["seconds"],
            explore_seconds=took["explore_s"],
            gpu_seconds=header.get("gpu_s", _gpu_s_of_older(header)),
            energy_j=took["energy_j"],
            units=took["made"],
            donations=took["donations"],
            requeues=took["requeues"],
        ),
        # of schemas 1 and 2, which did not say it
        covered_s=took.get("covered_s", took["seconds"]),
        left_s=took.get("left_s"),
    )
    try:
        saved.check()
    except CheckpointError as error:
        raise CheckpointError(f"{name}: {error}") from error
    return saved


def _without_places(request: Mapping[str, Any]) -> dict[str, Any]:
    """Return a run's request without the paths and addresses among its options."""
    if "options" not in request:
        return dict(request)
    return {**request, "options": without_places(request["options"])}


_COUNT, _COST = kinds.whole(0), kinds.whole(-kinds.LARGEST)
_TEXT, _STEP = kinds.name("a text"), kinds.record(Improvement)
_SECONDS = kinds.number(least=-kinds.LARGEST)
_TYPES = {
    "spec": {
        "run_id": _TEXT,
        "instance": kinds.plain(str),
        "engine": kinds.choice(EngineName),
        "certificate": kinds.flag(),
        "lease_timeout_s": _SECONDS,
        "proved_bound": kinds.optional(_COST),
        "root_bound": kinds.optional(_COST),
    },
    "incumbent": {
        "cutoff": _COST,
        "value": kinds.optional(_COST),
        "permutation": kinds.optional(kinds.permutation()),
        "n_optima": _COUNT,
        "first_optimum": _COUNT,
    },
    "ledger": {"decomposed": _COUNT, "leaves": _COUNT},
    "totals": {
        "seconds": _SECONDS,
        "covered_s": _SECONDS,
        "explore_s": _SECONDS,
        "energy_j": kinds.optional(_SECONDS),
        "donations": _COUNT,
        "requeues": _COUNT,
        "made": _COUNT,
        "left_s": kinds.optional(_SECONDS),
    },
}
"""What values of a header have to be, beside those that are used as they are read."""


def _check_types(header: Mapping[str, Any]) -> None:
    """Raise OptionError where a value would fail only later, in the middle of a run."""
    for part, types in _TYPES.items():
        for name, kind in types.items():
            if name in header[part]:  # older ones do not have all
                kind.check(header[part][name], f"{part}.{name}")
    _SECONDS.check(header.get("gpu_s", 0.0), "gpu_s")
    for count in header["ledger"]["closed"]:
        _COUNT.check(count, "ledger.closed")
    for name in ("request", "seats"):
        if not isinstance(header[name], dict):
            raise OptionError(f"{name}: expected an object, got {shown(header[name])}")
    for engine in header["seats"].values():
        _TEXT.check(engine, "seats")
    if header["error"] is not None:
        _TEXT.check(header["error"], "error")


_SHOWN = "spec", "incumbent", "seats", "error"
"""Parts whose texts are shown: a checkpoint may be anybody's."""


def _cleaned(value: Any) -> Any:
    """Return a part of a header without what would steer a terminal."""
    if isinstance(value, dict):
        return {clean(name): _cleaned(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [_cleaned(inner) for inner in value]
    return clean(value) if isinstance(value, str) else value


def _options_of_1(header: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of a run from a header of schema 1."""
    spec, given = header["spec"], header["request"].get("options", {})
    same = ("all_optima", "report_interval_s", "units_per_seat", "checkpoint")
    return {
        **{name: spec[name] for name in (*same, "checkpoint_keep")},
        "checkpoint_interval_s": spec["full_interval_s"],
        "estimates": "auto" if spec.get("estimates", True) else "off",
        **{name: given.get(name) for name in ("node_limit", "gap_limit")},
    }


def _gpu_s_of_older(header: Mapping[str, Any]) -> float:
    """Seconds on GPUs where they were not said: all, if none but GPUs explored."""
    gpus_alone = set(header["seats"].values()) == {"gpu"}
    return float(header["totals"]["explore_s"]) if gpus_alone else 0.0


def _problem_of(
    header: Mapping[str, Any], problem: Problem[Any] | None, name: str
) -> Problem[Any]:
    """Return the problem that is given, or else the one that the checkpoint holds."""
    known = header["problem"]
    if problem is None:
        if not holds_problem(known):
            raise CheckpointError(
                f"{name}: expected the problem beside the checkpoint, as one of kind "
                f"{known['kind']!r} is not held by it: dpbb.resume(..., problem=...)"
            )
        try:
            found = decoded(known)
        except InstanceError as error:
            raise CheckpointError(
                f"{name}: {error}. Or give it: dpbb.resume(..., problem=...)"
            ) from error
        names = header.get("names", {})  # new after schema 3 was
        if any(names.values()) and isinstance(found, Renamed):
            found = found.with_names(
                Names(**{what: tuple(texts) for what, texts in names.items()})
            )
        return found
    if problem.digest != known["digest"]:
        raise CheckpointError(
            f"{name}: expected an instance with digest {known['digest']}, got "
            f"{problem.digest}: it is another instance"
        )
    return problem
