"""Sections of a checkpoint: roots, permutations, the journal; with checksums.

Roots are three columns end to end, bytes, or little-endian uint16 with more than 256
jobs: how many digits each path has of its own, how many it shares with the path before,
and these digits (``dpbb.tree.packing``). Columns of alike numbers compress: real
frontiers take one to two bytes a root, a fifth of what two bytes a number took.
"""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpbb.coordination.checkpoint import Checkpoint, SavedUnit
from dpbb.errors import CheckpointError
from dpbb.tree.packing import KEYS, narrow
from dpbb.tree.work_unit import WorkUnit

CODEC = "zlib"
"""What the header calls the codec of all sections; schemas 1 and 2 had none."""

LEVEL = 1
"""Of zlib: 10 million roots of a GPU take half a second and 1.2 to 1.7 bytes each.
Level 6 saves a tenth of the bytes and takes five times as long."""


@dataclass(frozen=True, slots=True)
class Section:
    """Where some bytes are: in which file ("" is this one), and where in it."""

    file: str
    offset: int
    length: int
    checksum: str

    def check(self, content: bytes, name: str) -> bytes:
        """Return the content; CheckpointError if it is not what was written."""
        if len(content) != self.length or checksum(content) != self.checksum:
            raise CheckpointError(
                f"{name}: expected {self.length} bytes with checksum {self.checksum}, "
                f"got {len(content)} with {checksum(content)}: the file is damaged"
            )
        return content

    def to_json(self) -> list[Any]:
        """Return what ``from_json`` takes."""
        return [self.file, self.offset, self.length, self.checksum]

    @classmethod
    def from_json(cls, values: Any) -> Section:
        """Inverse of ``to_json``."""
        file, offset, length, check = values
        return cls(str(file), int(offset), int(length), str(check))


@dataclass(frozen=True, slots=True)
class UnitSection:
    """Roots of a unit, and those that it has given away since."""

    section: Section
    n_roots: int
    gifts: UnitSection | None = None

    def to_json(self) -> list[Any]:
        """Return the first of the fields that the header has of a unit."""
        return [*self.section.to_json(), self.n_roots]


def compress(content: bytes) -> bytes:
    """Return a section of what it is to hold."""
    return zlib.compress(content, LEVEL)


def decompress(content: bytes, codec: str | None, most: int) -> bytes:
    """Inverse of ``compress``; raises ValueError if it is damaged.

    Parameters
    ----------
    codec
        Of the header; None: sections are as they are.
    most
        Bytes that it may have been.
    """
    if codec is None:
        return content
    if codec != CODEC:
        raise ValueError(f"expected sections compressed by {CODEC}, got {codec!r}")
    stream = zlib.decompressobj()
    try:
        found = stream.decompress(content, most + 1)
    except zlib.error as error:
        raise ValueError(f"expected a stream of zlib: {error}") from error
    if not stream.eof or len(found) > most:
        raise ValueError(
            f"expected one stream of zlib of {most} bytes at most, got more, or less"
        )
    return found


def checksum(content: bytes) -> str:
    """Checksum of a section, 128 bits in hexadecimal."""
    return hashlib.blake2b(content, digest_size=16).hexdigest()


def encode_roots(roots: WorkUnit) -> bytes:
    """Return the section of some roots; releases the GIL for most of the time."""
    depths, shared, tails = roots.to_arrays().values()
    columns = depths - shared, shared, tails
    kind = _kind(roots.n_jobs)
    return compress(b"".join(x.astype(kind, copy=False).tobytes() for x in columns))


def encode_gifts(
    unit: SavedUnit, add: Callable[[bytes], Section]
) -> UnitSection | None:
    """Add the section of what has left a unit, if anything has."""
    if not unit.gifts:
        return None
    gifts = WorkUnit.concatenate(unit.gifts)
    return UnitSection(add(encode_roots(gifts)), len(gifts))


def decode_roots(
    n_jobs: int, content: bytes, n_roots: int, codec: str | None = CODEC
) -> WorkUnit:
    """Inverse of ``encode_roots``; raises ValueError if it cannot have come from it.

    Without a codec: of schemas 1 and 2, which had uint16 and depths in the first place.
    """
    kind = np.dtype("<u2") if codec is None else _kind(n_jobs)
    content = decompress(content, codec, kind.itemsize * n_roots * (2 + n_jobs))
    values = np.frombuffer(content, kind).astype(kind.newbyteorder("="), copy=False)
    if len(values) < 2 * n_roots:
        raise ValueError(f"expected {n_roots} roots, got {len(values)} numbers")
    first, shared, tails = np.split(values, [n_roots, 2 * n_roots])
    depths = first.astype(np.uint16)
    if codec is not None:
        depths += shared
    if np.any(depths >= max(n_jobs, 1)):
        raise ValueError(f"expected depths < {n_jobs}, got {depths.max()}")
    columns = depths.astype(narrow(n_jobs)), shared, tails
    return WorkUnit.from_arrays(n_jobs, dict(zip(KEYS, columns, strict=True)))


def _kind(n_jobs: int) -> np.dtype[Any]:
    return np.dtype(narrow(n_jobs)).newbyteorder("<")


def encode_optima(saved: Checkpoint) -> bytes:
    """Return the section of optimal permutations."""
    return compress(saved.optima.astype("<u2").tobytes())


def encode_journal(
    saved: Checkpoint, add: Callable[[bytes], Section]
) -> Section | None:
    """Add the section of the journal, if there is one."""
    if saved.journal is None:
        return None
    text = json.dumps(saved.journal.to_json(), separators=(",", ":"))
    return add(compress(text.encode()))
