"""Work units on the wire: every path without the prefix that it shares with the last.

Depth-first engines export roots that hang off a few long paths, so a unit of 16,384
roots of 100 jobs takes about a tenth of its digits. The arrays are plain uint8, or
uint16 with more than 256 jobs, and carry no code: they go into messages and
checkpoints, and whatever comes back is checked here before it is trusted.
"""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Narrow = NDArray[np.unsignedinteger[Any]]
"""A column of packed paths: uint8 or uint16."""


class Packed(NamedTuple):
    """Ordered, disjoint paths, each without the prefix that it shares with the last.

    Parameters
    ----------
    depths, shared : ndarray of uint8 or uint16, shape (r,)
        Length of each path, and of that prefix.
    tails : ndarray of uint8 or uint16, shape (t,)
        The digits from ``shared`` to ``depth`` of all paths, end to end.
    """

    depths: Narrow
    shared: Narrow
    tails: Narrow


KEYS = Packed._fields

MANY_ROOTS = 1 << 16
"""From so many on paths stay packed, and compiled code goes over them
(``packed_paths``); fewer are a table of digits for NumPy, which has nothing to compile.
"""

BLOCK_ROWS = 4096
"""Rows worked on at a time: a GPU lists millions, and what does not fit the caches, let
alone the memory, is several times as slow."""


def narrow(n_jobs: int) -> type[np.uint8 | np.uint16]:
    """Type of depths and digits in the compact form."""
    return np.uint8 if n_jobs <= 256 else np.uint16


def row_blocks(n_rows: int) -> Iterator[slice]:
    """Slices that cover ``n_rows`` rows in order."""
    for begin in range(0, n_rows, BLOCK_ROWS):
        yield slice(begin, min(begin + BLOCK_ROWS, n_rows))


def pack(depths: NDArray[np.uint16], digits: NDArray[np.uint16]) -> Packed:
    """Compact form of ordered, disjoint paths.

    Parameters
    ----------
    depths : ndarray of uint16, shape (r,)
    digits : ndarray of uint16, shape (r, w)
    """
    shared = np.zeros(len(depths), np.uint16)
    columns = np.arange(digits.shape[1], dtype=np.uint16)  # as narrow as the others
    tails = [digits[:0].ravel()]
    for rows in row_blocks(len(depths)):
        first = max(rows.start, 1)
        before, after = digits[first - 1 : rows.stop - 1], digits[first : rows.stop]
        shared[first : rows.stop] = (before != after).argmax(axis=1)
        kept = (columns >= shared[rows, None]) & (columns < depths[rows, None])
        tails.append(digits[rows][kept])
    return Packed(depths, shared, np.concatenate(tails))


def unpack(
    n_jobs: int, arrays: Mapping[str, NDArray[Any]]
) -> tuple[NDArray[np.uint16], NDArray[np.uint16]]:
    """Depths and padded digits from the compact form.

    ValueError: if the arrays cannot have come from ``pack``. Whether the roots are
    ordered, disjoint and inside the tree is for ``WorkUnit.check`` to say.
    """
    depths, shared, tails = (_column(arrays, key) for key in KEYS)
    if len(shared) != len(depths):
        raise ValueError(f"expected {len(depths)} shared lengths, got {len(shared)}")
    # before the width is used: a damaged depth must not ask for gigabytes
    if np.any(depths >= n_jobs):
        raise ValueError(f"expected depths < {n_jobs}, got {depths.max()}")
    above = np.concatenate([np.zeros(1, np.uint16), depths])[: len(depths)]
    if np.any(shared > np.minimum(above, depths)):
        raise ValueError("expected shared prefixes no longer than either root's path")
    lengths = depths.astype(np.int64) - shared
    if lengths.sum() != len(tails):
        raise ValueError(f"expected {lengths.sum()} digits, got {len(tails)}")
    if not len(tails):  # no roots, or the tree's root
        return depths, np.zeros((len(depths), 1), np.uint16)

    columns = np.arange(int(depths.max()), dtype=np.uint16)
    # Where the digit of (row, column) stands in tails: in the last row so far that
    # did not share the column. starts never falls (its step is depth - next shared),
    # so the last such row is the one with the largest start. As intp, which ``take``
    # needs: narrower indices were slower.
    starts = np.cumsum(lengths) - lengths - shared
    digits = np.empty((len(depths), len(columns)), np.uint16)
    latest = np.full(len(columns), starts[0])
    for rows in row_blocks(len(depths)):
        own = columns >= shared[rows, None]
        index = np.where(own, starts[rows, None], starts[0])
        np.maximum(index[0], latest, out=index[0])
        np.maximum.accumulate(index, axis=0, out=index)
        latest = index[-1].copy()
        index += columns
        # the last row's padding runs over the end
        np.take(tails, index, mode="clip", out=digits[rows])
        digits[rows] *= columns < depths[rows, None]
    return depths, digits


def _column(arrays: Mapping[str, NDArray[Any]], key: str) -> NDArray[np.uint16]:
    """One array of the wire form as uint16."""
    return column(arrays, key).astype(np.uint16, copy=False)


def column(arrays: Mapping[str, NDArray[Any]], key: str) -> NDArray[Any]:
    """Return one array of the compact form, of exactly an expected type."""
    if key not in arrays:
        raise ValueError(f"expected arrays {', '.join(KEYS)}, got no {key!r}")
    array = np.asarray(arrays[key])
    if array.ndim != 1 or array.dtype not in (np.uint8, np.uint16):
        raise ValueError(
            f"expected {key!r} as a uint8 or uint16 array of one dimension, "
            f"got {array.dtype} of {array.ndim}"
        )
    return array
