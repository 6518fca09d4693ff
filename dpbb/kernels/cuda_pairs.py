"""Pairs of values, of the front and of the back, as ``cuda/pair.cuh`` has them."""

import numpy as np
from numpy.typing import NDArray

NARROW_LIMIT = 1 << 15
"""Values of the packed form, two in a word, stay below this."""
WIDE_LIMIT = 1 << 29
"""Values of the 32-bit form stay below this."""


def words_per_pair(*, wide: bool) -> int:
    """32-bit words of a pair."""
    return 2 if wide else 1


def pack_pairs(
    front: NDArray[np.int64], back: NDArray[np.int64], *, wide: bool
) -> NDArray[np.uint32]:
    """Pairs of values on the last axis as words; shape (..., k * words_per_pair)."""
    if wide:
        both = np.stack([front, back], axis=-1).astype(np.uint32)
        return both.reshape(*front.shape[:-1], -1)
    return (front | back << 16).astype(np.uint32)
