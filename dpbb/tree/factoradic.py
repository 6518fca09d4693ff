"""The factorial number system: leaf indices to digits and back.

A leaf index of an n-job tree is written v_0 (n-1)! + v_1 (n-2)! + ... with digits
0 <= v_i < n - i (Laisant 1888; as work units of a permutation tree: Mezmaz, Melab and
Talbi 2007). Leaf indices pass 64 bits at n = 21, so they are Python ints outside and
``gmpy2.mpz`` inside.
"""

from collections.abc import Sequence
from functools import cache

import gmpy2

from dpbb.errors import shown

MOST_BITS = 14_000
"""A number of fewer bits has fewer than 4,300 decimal digits."""


@cache
def n_leaves(n_jobs: int) -> int:
    """Return n_jobs!, the number of leaves below a node with n_jobs unscheduled."""
    return int(gmpy2.fac(n_jobs))


def leaves_text(count: int) -> str:
    """Return a number of leaves as text, which ``int(text, 0)`` reads.

    Python writes no decimal number of more than 4,300 digits, as 1,550! has: those are
    hexadecimal.
    """
    return str(count) if count.bit_length() < MOST_BITS else hex(count)


def digits_of_leaf(n_jobs: int, leaf: int) -> tuple[int, ...]:
    """Digits of a leaf index, one a level.

    Returns ``v[i] < n - i``; the last digit is always 0.
    """
    if not 0 <= leaf < n_leaves(n_jobs):
        raise ValueError(f"expected a leaf index in [0, {n_jobs}!), got {shown(leaf)}")
    rest = gmpy2.mpz(leaf)
    digits = [0] * n_jobs
    for radix in range(1, n_jobs + 1):  # least significant digit first
        rest, digit = gmpy2.f_divmod(rest, radix)
        digits[n_jobs - radix] = int(digit)
    return tuple(digits)


def leaf_of_path(n_jobs: int, path: Sequence[int]) -> int:
    """First leaf of the node with this path: sum of path[i] (n - 1 - i)!."""
    if len(path) > n_jobs:
        raise ValueError(f"expected a path of at most {n_jobs} digits, got {len(path)}")
    leaf = gmpy2.mpz(0)
    for depth, digit in enumerate(path):
        leaf = leaf * (n_jobs - depth) + int(digit)
    return int(leaf * n_leaves(n_jobs - len(path)))
