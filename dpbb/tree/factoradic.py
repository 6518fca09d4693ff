"""The factorial number system: numbers of leaves, exactly.

A leaf index of an n-job tree is written v_0 (n-1)! + v_1 (n-2)! + ... with digits
0 <= v_i < n - i (Laisant 1888; as work units of a permutation tree: Mezmaz, Melab and
Talbi 2007). Leaf indices pass 64 bits at n = 21, so they are Python ints outside and
``gmpy2.mpz`` inside.
"""

from functools import cache

import gmpy2

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
