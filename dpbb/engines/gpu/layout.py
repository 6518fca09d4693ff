"""Structures in device memory that the host reads and writes, of ``pages.cuh``."""

import re
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

LANES = 32
"""Lanes of a warp, and records of a page."""


KINDS = {"u32": "u4", "int": "i4", "u64": "u8", "double": "f8"}


def structure_of(file: str, name: str) -> np.dtype[Any]:
    """Return the type of a structure that a CUDA source of this folder declares.

    Its fields lie side by side: each begins at a multiple of its own width.
    """
    text = (Path(__file__).parent / file).read_text()
    (body,) = re.findall(rf"^struct {name} {{\n(.*?)\n}};", text, re.DOTALL | re.M)
    return np.dtype(
        [
            (field.strip(" *"), "u8" if "*" in field else KINDS[kind])
            for kind, fields in re.findall(r"^  (?:const )?(\w+) ([^;]+);", body, re.M)
            for field in fields.split(",")
        ]
    )


CONTROL = structure_of("pages.cuh", "Control")
"""Counters and orders, exchanged once a launch."""

COUNTERS = ("decomposed", "leaves", "batches", "children", "idle_ns", "busy_ns")
"""What a launch adds up."""

STOP_AT = int(CONTROL.fields["stop"][1])  # type: ignore[index]
"""Offset of ``stop`` in bytes: the one field written while a launch goes on."""

ARENA = structure_of("pages.cuh", "Arena")
"""Addresses of the arrays."""

NONE = 0xFFFFFFFF
NO_VALUE = 0x7FFFFFFF


class Stop(IntEnum):
    """Why a launch ended."""

    RUNNING = 0
    SLICE_OVER = 1
    OUT_OF_PAGES = 2
    ALL_DONE = 3
    OPTIMA_FULL = 4


def up(value: int, multiple: int) -> int:
    """Return the value, or the next multiple above it."""
    return -(-value // multiple) * multiple


@dataclass(frozen=True, slots=True)
class PageLayout:
    """A page of 32 records; of a node it knows the jobs and the size of its state.

    Parameters
    ----------
    n_jobs
        Number of jobs.
    state_words
        Words of a state, with which a record begins.
    one_side
        Whether a record says which jobs are left on the side opposite to its last job.
    """

    n_jobs: int
    state_words: int
    one_side: bool = False

    @property
    def mask_words(self) -> int:
        """Words of a set of jobs."""
        return up(self.n_jobs, 32) // 32

    @property
    def mask_at(self) -> int:
        """First word of the unscheduled jobs in a record."""
        return self.state_words

    @property
    def directions_at(self) -> int:
        """First word of the directions in a record."""
        return self.mask_at + self.mask_words

    @property
    def path_at(self) -> int:
        """First word of the path in a record."""
        return up(self.directions_at + (1 + self.one_side) * self.mask_words, 4)

    @property
    def digit_bits(self) -> int:
        """Bits of a digit of a path."""
        return 8 if self.n_jobs <= 256 else 16

    @property
    def record_words(self) -> int:
        """Words of a record."""
        return self.path_at + up(self.n_jobs * self.digit_bits, 128) // 32

    @property
    def leaf_words(self) -> int:
        """Words of a reported leaf: its value, then its record from the mask on."""
        return self.record_words - self.mask_at + 1

    @property
    def page_bytes(self) -> int:
        """Bytes of a page."""
        return self.record_words * LANES * 4

    def equal_words(self, kinds: NDArray[np.int64]) -> NDArray[np.uint32]:
        """Set of the jobs of the same kind as the one before them.

        Parameters
        ----------
        kinds : ndarray of int64, shape (n_jobs,)
            In root order.
        """
        bits = np.zeros(32 * self.mask_words, np.uint8)
        bits[1 : self.n_jobs] = kinds[1:] == kinds[:-1]
        return np.packbits(bits, bitorder="little").view("<u4").astype(np.uint32)

    def page_of(self, state: NDArray[np.uint32]) -> NDArray[np.uint32]:
        """Words of a page whose first record holds the state; the others are empty."""
        page = np.zeros((self.record_words // 4, LANES, 4), np.uint32)
        record = np.zeros(self.record_words, np.uint32)
        record[: len(state)] = state
        page[:, 0, :] = record.reshape(-1, 4)
        return page.reshape(-1)
