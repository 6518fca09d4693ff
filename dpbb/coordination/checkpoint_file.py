"""A checkpoint in one piece: what ``Run.save`` writes, and what resumes a run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dpbb.coordination.checkpoint_format import (
    Section,
    UnitSection,
    checksum,
    decode,
    decode_header,
    encode_header,
    encode_unit,
    header_length,
    sections_beside,
)
from dpbb.errors import CheckpointError

if TYPE_CHECKING:
    from dpbb.coordination.checkpoint import Checkpoint
    from dpbb.problem import Problem


def to_bytes(saved: Checkpoint) -> bytes:
    """Return a checkpoint in one piece."""
    sections: list[bytes] = []

    def add(content: bytes) -> Section:
        offset = sum(map(len, sections))
        sections.append(content)
        return Section("", offset, len(content), checksum(content))

    units = []
    for unit in saved.units:
        content, n_roots = encode_unit(unit)
        units.append(UnitSection(add(content), n_roots))
    optima = add(saved.optima.astype("<u2").tobytes())
    extras = {name: add(content) for name, content in sections_beside(saved).items()}
    return b"".join([encode_header(saved, units, optima, extras), *sections])


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
