"""What the kernels need of a problem and its bound: a header and its twin.

A model is found by ``dpbb.problems.model_of(problem, "cuda", bound)``: a class whose
instances are what a kernel is compiled for. The kernels include its header before
everything else. They handle states of nodes and know nothing of the problem but that:

``State``
    What a record holds of a partial schedule, in ``STATE_WORDS`` words of which the
    first ``ALIGNED_WORDS`` fill quads of their own. ``load_state(quad_at)`` makes it of
    the quads that ``quad_at(q)`` returns, ``state_word(state, w)`` is word w of it.
``Node``
    A state that ``node_of(state, common)`` has made ready to bound the node and its
    children. ``common`` points to the ``COMMON`` words behind the rows.
``node_bound(node)``
    Lower bound of the node itself: it is compared with the upper bound once more before
    the node is decomposed. It has to be what ``child_bounds`` gave for it, as a child,
    or counts would depend on when an upper bound comes. No child's bound is below it.
``hold(node)``
    Has what ``node_of`` computes stay in registers while the children are bounded.
``child_bounds<WORDS, TWOS>(node, row, common)``
    Lower bounds of the child that takes a job next, as a ``Pair``: appended to the
    prefix and put before the suffix. ``row`` points to the job's ``ROW`` words, a
    multiple of four; it is to be read 2 or 4 words at a time, by default 4. TWOS, by
    default 0, says of how many twos of terms the maximum may be taken at once.
``leaf_value<WORDS, TWOS>(node, row, common)``
    Cost of the permutation when this job is the last one left.
``extend<WORDS>(state, row, back, common)``
    Makes the state that of the child.

With many jobs, if the model's ``one_side`` says so, children are bounded on one side
first, those of two jobs at a time, by what is not above ``child_bounds``:

``place_of(c, at)``
    A ``Place``: where that which matters of ``c``, one of what is critical on its side
    (a machine, say), is in a state whose word w is at ``at(w)``.
``load_side(places, back, word_at)``
    A ``Side``, that of ``N_CRITICAL`` places, of which ``word_at`` loads the words.
``side_time(row, critical, i, back)``
    Half of word i of the ``SIDE_ROW`` words of a pair of jobs, of one with this row.
``side_bounds<TWOS>(side, row)``
    Lower bounds of both jobs' children on that side.

Where the children of one side alone are bounded all at once, ``COLUMNS`` is not 0:

``bound_children(tables, word_at, columns, ub, lane)``
    Leaves the bounds of the node's children, by job, in ``columns[job][lane]``, or what
    is not below ``ub``; the COLUMNS rows of 32 words are the warp's, and all its lanes
    are there. ``tables`` lies behind ``common``.
``extend<WORDS, true>(state, row, back, common)``
    ``extend`` without the word ``BOUND`` of the state, its last one: that is put there.

Where a text has a branching rule, and ``OWN_RULE`` is 1:

``child_weight(bound, parent)``
    What a child of this bound weighs: the side whose children weigh less is taken.

No bound and no cost is below 0. Sizes that the host has to know before anything is
compiled are compared by the compiler (``SHARED_BYTES``, ``PAGE_BYTES``).

The values of ``child_bounds`` choose the side. A bound that is dearer and stronger
(``dpbb.problem.Tightens``) is asked about the children that they leave there, if the
header's macro ``TIGHTENS`` is 1. What it reads lies behind ``common``, at ``tables``:

``tightens_at(tables, depth)``
    Whether children of this depth are tightened.
``TightChildren<COUNT>{own, lane}``
    Up to ``COUNT`` children of each lane, of at most ``SLOTS``, in the ``Tightening
    own``, a warp's shared memory: ``put(slot, state, mask_word)`` adds one with its
    sets of unscheduled jobs, ``reaching(tables, ub, idle)`` returns a bit for each slot
    whose bound reaches ``ub``, of those not in ``idle``.
``tight_bound(tables, state, ub, mask_word)``
    The bound of one child, or any that reaches ``ub``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

NARROW_LIMIT = 1 << 15
"""Values of the packed form, two in a word, stay below this."""
WIDE_LIMIT = 1 << 29
"""Values of the 32-bit form stay below this."""


@dataclass(frozen=True)
class CudaModel:
    """A model for one size of problem and width of values; equal ones compile alike.

    A subclass has two functions more: ``obstacle(problem)``, why no kernels are made
    for a problem, at whatever upper bound, or None; and ``of(problem, ub)``, the model
    for costs below ``ub``, or EngineUnavailable where no form of the values is wide
    enough.

    Parameters
    ----------
    header
        The CUDA header.
    n_jobs
        Length of the permutation.
    wide
        Whether a value has 32 bits, as no packed one of 16 holds it.
    row_words, common_words, state_words
        ``ROW``, ``COMMON``, ``STATE_WORDS``.
    warps_wanted
        Warps of a multiprocessor that registers must allow.
    described
        Size of the problem, for people.
    defines
        Macros of the header, ``N_JOBS`` and ``WIDE`` aside.
    tightening_bytes
        Size of a ``Tightening``; 0: the bound is that of ``child_bounds``.
    slots
        ``SLOTS``, where bounds are tightened.
    columns
        ``COLUMNS``, rows of 32 words of a warp; 0: children are bounded one by one.
    one_side
        Whether the header has a ``Side``. No bound on a side may be lower after the
        other side has taken a job.
    n_critical, side_words, place_bytes
        Of a ``Side``: ``N_CRITICAL``, ``SIDE_ROW``, and the size of a ``Place``.
    """

    header: Path
    n_jobs: int
    wide: bool
    row_words: int
    state_words: int
    warps_wanted: int
    described: str
    defines: Mapping[str, int | str]
    common_words: int = 0
    tightening_bytes: int = 0
    slots: int = 1
    columns: int = 0
    one_side: bool = False
    n_critical: int = 0
    side_words: int = 0
    place_bytes: int = 0

    def critical(self, problem: Any, ub: int) -> NDArray[np.uint32]:
        """Choose what is critical on each side, shape (2 * n_critical,)."""
        return np.zeros(0, np.uint32)

    def pack(
        self, problem: Any, order: NDArray[np.intp]
    ) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
        """Arrays that the kernels read.

        Parameters
        ----------
        order : ndarray of intp, shape (n_jobs,)
            Root order.

        Returns
        -------
        rows : ndarray of uint32, shape (n_jobs * row_words + common_words + ...,)
            Rows of the jobs in root order, what is common, then what tightens bounds.
        root : ndarray of uint32, shape (state_words,)
            State of the tree's root.
        """
        raise NotImplementedError


def quads(words: int) -> int:
    """Return the words, or the next multiple of four above them."""
    return -(-words // 4) * 4


def words_per_pair(*, wide: bool) -> int:
    """32-bit words of a pair of values, of the front and of the back (``pair.cuh``)."""
    return 2 if wide else 1


def pack_pairs(
    front: NDArray[np.int64], back: NDArray[np.int64], *, wide: bool
) -> NDArray[np.uint32]:
    """Pairs of values on the last axis as words; shape (..., k * words_per_pair)."""
    if wide:
        both = np.stack([front, back], axis=-1).astype(np.uint32)
        return both.reshape(*front.shape[:-1], -1)
    return (front | back << 16).astype(np.uint32)
