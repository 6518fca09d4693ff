"""Packed paths: every path without the prefix that it shares with the one before.

Depth-first engines export roots that hang off a few long paths, so a unit of 16,384
roots of 100 jobs takes about a tenth of its digits. The arrays are plain uint8, or
uint16 with more than 256 jobs, and carry no code: they go into messages and
checkpoints as they are.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Narrow = NDArray[np.unsignedinteger[Any]]
"""A column of packed paths: uint8 or uint16, as ``narrow`` says."""


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


def narrow(n_jobs: int) -> type[np.uint8 | np.uint16]:
    """Type of depths and digits of a tree."""
    return np.uint8 if n_jobs <= 256 else np.uint16


def column(arrays: Mapping[str, NDArray[Any]], key: str, n_jobs: int) -> Narrow:
    """Return one array of packed paths that came from outside, in the type of its tree.

    ValueError: it is none, or has numbers that are too large.
    """
    if key not in arrays:
        raise ValueError(f"expected arrays {', '.join(KEYS)}, got no {key!r}")
    array = np.asarray(arrays[key])
    if array.ndim != 1 or array.dtype not in (np.uint8, np.uint16):
        raise ValueError(
            f"expected {key!r} as a uint8 or uint16 array of one dimension, "
            f"got {array.dtype} of {array.ndim}"
        )
    kind = narrow(n_jobs)
    if array.dtype == np.uint16 and np.any(array > np.iinfo(kind).max):
        raise ValueError(f"expected {key!r} of {n_jobs} jobs, got {array.max()}")
    return array.astype(kind, copy=False)
