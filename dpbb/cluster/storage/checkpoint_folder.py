"""A folder of checkpoints of one run: the last few are kept.

Each is a file ``checkpoint-000012.dpbb``, which is there whole or not at all. What was
written is read again. Files that appear in the folder and are not ours stay: another
owner may have written them.
"""

import os
import re
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path
from typing import Any
from uuid import uuid4

from dpbb.cluster.storage.store import Folder, is_local
from dpbb.coordination.checkpoint import Checkpoint, SavedUnit
from dpbb.coordination.format import (
    MAX_LINE,
    decode_header,
    encode_roots,
    from_bytes,
    header_length,
    to_chunks,
)
from dpbb.coordination.messages import RunId
from dpbb.errors import CheckpointError
from dpbb.problem import Problem

HEADER = re.compile(r"checkpoint-(\d{6,})(?:-[0-9a-f]{8})?\.dpbb")

ENCODING_THREADS = 8
"""Units of a checkpoint that are compressed at a time."""

MANY_ROOTS = 1 << 16
"""Roots of a checkpoint from which that is worth threads."""

PIECE = 1 << 24
"""Bytes that are read back at a time."""

RESUMED = "~"
"""Between the name of a run and what tells its continuations apart."""


def check_folder(url: str) -> None:
    """Refuse what cannot be written to, before a run; nothing is left behind.

    A URL is for whoever may wait for it: a store can hang.

    CheckpointError: it cannot be written to.
    """
    if not is_local(url):
        return
    folder = Folder(url)
    path = Path(folder.source)
    missing = [one for one in (path, *path.parents) if not os.path.exists(one)]
    try:
        folder.probe()
    finally:
        # one that was not made, is another's by now, or is no path
        with suppress(OSError, ValueError):
            for one in missing:
                one.rmdir()


class CheckpointFolder:
    """Writes the checkpoints of a run; one thread at a time.

    Parameters
    ----------
    url
        The folder; made if it is not there.
    keep
        So many checkpoints are kept.
    goes_on
        The run that this one goes on from: its checkpoints may be there. None: it
        starts, and expects no checkpoints.

    Attributes
    ----------
    names
        Checkpoints that are kept, the newest first.

    Raises
    ------
    CheckpointError
        It cannot be written to, or has checkpoints of another run.
    """

    def __init__(self, url: str, keep: int, *, goes_on: RunId | None = None) -> None:
        self.folder = Folder(url)
        self.keep = keep
        self.folder.probe()
        self.names = header_names(self.folder)
        if self.names and not (goes_on and self._is_of(goes_on)):
            raise CheckpointError(
                f"expected a folder without checkpoints of another run, got "
                f"{self.folder.url} on host {self.folder.host} with {self.names[0]}: "
                "go on from it there (dpbb resume), or choose another folder"
            )
        self._number = max(map(_number, self.names), default=0)

    def write(
        self, saved: Checkpoint, tag: str = "", check: Callable[[], None] | None = None
    ) -> tuple[str, int]:
        """Write a checkpoint; CheckpointError leaves those before it as they are.

        Returns its name, and how many bytes it has.

        Parameters
        ----------
        tag
            Part of the file's name.
        check
            Raises CheckpointError if the folder is another's by now: asked before the
            checkpoint is there, and before old ones are deleted.
        """
        self._number += 1
        name = f"checkpoint-{self._number:06}" + (f"-{tag}" if tag else "") + ".dpbb"
        there = set(self.folder.names())
        self.names = [one for one in self.names if one in there]
        chunks = to_chunks(saved, _encoded(saved.units))
        n_bytes = self.folder.write(name, chunks, check)
        try:
            self._read_back(name, chunks)
        except CheckpointError:
            with suppress(CheckpointError):
                self.folder.delete(name)
            raise
        self.names.insert(0, name)
        if check is not None:
            check()
        for old in self.names[self.keep :]:
            self.folder.delete(old)
        del self.names[self.keep :]
        return name, n_bytes

    def _read_back(self, name: str, chunks: list[bytes]) -> None:
        """Raise CheckpointError unless a file holds what was written."""
        wanted, found = blake2b(), blake2b()
        for chunk in chunks:
            wanted.update(chunk)
        for start in range(0, sum(map(len, chunks)), PIECE):
            found.update(self.folder.read(name, start, start + PIECE))
        if wanted.digest() != found.digest():
            raise CheckpointError(
                f"expected to read what was written to {self.folder.label(name)} on "
                f"host {self.folder.host}, got something else"
            )

    def _is_of(self, run_id: RunId) -> bool:
        """Whether checkpoints are of the run, or of one that goes on from the same."""
        for name in self.names:
            try:
                found = _run_of(self.folder, name)
            except CheckpointError:
                continue  # a damaged one says nothing; the one before does
            return found.partition(RESUMED)[0] == run_id.partition(RESUMED)[0]
        return False


def _run_of(folder: Folder, name: str) -> str:
    """Return the name of the run that a checkpoint is of."""
    label = folder.label(name)
    length = header_length(folder.read(name, 0, MAX_LINE), label)
    return decode_header(folder.read(name, 0, length), label).run_id


def _encoded(units: Sequence[SavedUnit]) -> list[bytes]:
    """Sections of the roots of units; of millions in threads, as zlib needs no GIL."""
    roots = [unit.roots for unit in units]
    if sum(map(len, roots)) < MANY_ROOTS:
        return [encode_roots(some) for some in roots]
    with ThreadPoolExecutor(ENCODING_THREADS, "dpbb-encode") as threads:
        return list(threads.map(encode_roots, roots))


def header_names(folder: Folder) -> list[str]:
    """Names of the checkpoints in a folder, the newest first."""
    return sorted(filter(HEADER.fullmatch, folder.names()), key=_number, reverse=True)


def load_checkpoint(source: str, problem: Problem[Any] | None = None) -> Checkpoint:
    """Read a checkpoint and check it.

    Parameters
    ----------
    source
        Path or URL: of a folder (its newest checkpoint), of one checkpoint in it, or
        of a file that ``Run.save`` wrote.
    problem
        Of a kind that is not known here (``dpbb.problems``), or that has no
        ``encode()``: then a checkpoint does not hold it.

    Raises
    ------
    CheckpointError
        Nothing there, damaged, of another problem or another version of dpbb.
    """
    folder = Folder(source)
    if folder.is_there():
        return load_newest(folder, problem)
    return _load(*_of_file(source), problem)


def load_newest(folder: Folder, problem: Problem[Any] | None = None) -> Checkpoint:
    """Read the newest checkpoint of a folder; see ``load_checkpoint``."""
    name, found, error = newest_whole(folder, problem)
    if error is not None:
        raise CheckpointError(
            f"{error}. Of the others in the folder {name} is whole, with "
            f"{found.counters.nodes:,} nodes after {found.totals.seconds:.0f} s: go on "
            f"from it by dpbb resume {folder.label(name)}"
        ) from error
    return found


def _of_file(source: str) -> tuple[Folder, str]:
    """Return folder and name of a file; of a link that is given, those it leads to."""
    there = Folder(source)
    return Folder.of_file(os.path.realpath(there.source) if there.local else source)


def folder_of(source: str) -> str | None:
    """Return the folder that a source of ``load_checkpoint`` is, or is in.

    None: it is a file alone, which ``Run.save`` wrote.
    """
    folder = Folder(source)
    if folder.is_there():
        return folder.source
    folder, name = _of_file(source)
    return folder.source if HEADER.fullmatch(name) else None


def newest_whole(
    folder: Folder, problem: Problem[Any] | None = None
) -> tuple[str, Checkpoint, CheckpointError | None]:
    """Read the newest checkpoint of a folder that is not damaged.

    Returns its name, itself, and what is wrong with the newest, if it is another.

    CheckpointError: there is none.
    """
    wrong: CheckpointError | None = None
    for name in header_names(folder):
        try:
            return name, _load(folder, name, problem), wrong
        except CheckpointError as error:
            wrong = wrong or error
    raise wrong or CheckpointError(
        f"expected a checkpoint in folder {folder.url}, got none"
    )


def _load(folder: Folder, name: str, problem: Problem[Any] | None) -> Checkpoint:
    return from_bytes(folder.read(name), folder.label(name), problem)


def _number(name: str) -> int:
    found = HEADER.fullmatch(name)
    return int(found[1]) if found else 0


def resumed_id(run_id: RunId) -> RunId:
    """Name of a run that goes on: no lease of the former one may be taken for its."""
    return RunId(f"{run_id.partition(RESUMED)[0]}{RESUMED}{uuid4().hex[:4]}")


def is_resumed(run_id: RunId) -> bool:
    """Whether a run goes on where another one ended, whose checkpoints are there."""
    return RESUMED in run_id
