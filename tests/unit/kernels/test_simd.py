"""Vectors of compiled code against the same arithmetic in NumPy."""

import numba
import numpy as np
import pytest
from numba.core.errors import TypingError

from dpbb.kernels.scalar import pointer_at
from dpbb.kernels.simd import (
    blend,
    copy_transposed,
    equal,
    last_pair,
    less,
    load,
    load_pair,
    maximum,
    minimum,
    reduce_min,
    reduce_pairs,
    reverse,
    scan_max_pairs,
    splat,
    store,
    zeros,
)

N_RESULTS = 14


@numba.njit
def compute(lane, at, a_in, b_in, out_in, masks_in, sums_in, mask, like_of):
    """Every operation on a = memory[at:], b and a scalar, to rows of ``out``."""
    a_at, b_at = pointer_at(a_in, lane), pointer_at(b_in, lane)
    out, masks = pointer_at(out_in, lane), pointer_at(masks_in, np.uint64(0))
    sums = pointer_at(sums_in, np.int64(0))
    like = like_of(a_at)
    a = load(a_at, at, like)
    b = load(b_at, 0, like)
    n = len_of(like)
    store(out, 0 * n, a + b)
    store(out, 1 * n, a - b)
    store(out, 2 * n, a & b)
    store(out, 3 * n, a | b)
    store(out, 4 * n, a ^ b)
    store(out, 5 * n, maximum(a, b))
    store(out, 6 * n, minimum(a, b))
    store(out, 7 * n, splat(a_at[at], like))
    store(out, 8 * n, load_pair(a_at, at + 1, like))
    store(out, 9 * n, blend(mask, a, b))
    store(out, 10 * n, reverse(a))
    store(out, 11 * n, last_pair(a))
    store(out, 12 * n, scan_max_pairs(a))
    store(out, 13 * n, like)
    masks[0] = less(a, b)
    masks[1] = equal(a, b)
    sums[0] = reduce_min(a)
    sums[1] = reduce_pairs(a)


@numba.extending.intrinsic
def len_of(typing_context, vector):
    """Number of lanes of a vector."""

    def generate(context, builder, signature, arguments):
        return context.get_constant(numba.types.int64, vector.lanes)

    return numba.types.int64(vector), generate


LIKE = {
    lanes: numba.njit(eval(f"lambda source: zeros(source, {lanes})"))  # noqa: S307
    for lanes in (2, 16, 32, 64)
}


def bits_of(mask, lanes):
    return np.array([int(mask) >> lane & 1 for lane in range(lanes)], bool)


@pytest.mark.parametrize(
    ("dtype", "lanes"), [(np.int16, 16), (np.int16, 64), (np.int32, 2), (np.int32, 32)]
)
def test_every_operation_equals_numpy(dtype, lanes):
    rng = np.random.default_rng(lanes)
    limits = np.iinfo(dtype)
    for case in range(20):
        # extreme values wrap around in sums; small ones are often equal
        low, high = (limits.min, limits.max + 1) if case % 2 else (-3, 4)
        memory = rng.integers(low, high, lanes + 5).astype(dtype)
        b = rng.integers(low, high, lanes).astype(dtype)
        at = case % 4  # also where vectors are not aligned
        a = memory[at : at + lanes]
        out = np.full((N_RESULTS, lanes), 7, dtype)
        masks, sums = np.zeros(2, np.uint64), np.zeros(2, np.int64)
        mask = rng.integers(0, 2**63, dtype=np.uint64) * np.uint64(2)
        compute(
            dtype(0),
            at,
            *(part.ctypes.data for part in (memory, b, out, masks, sums)),
            mask,
            LIKE[lanes],
        )
        pairs = a.reshape(-1, 2)
        expected = [
            a + b,
            a - b,
            a & b,
            a | b,
            a ^ b,
            np.maximum(a, b),
            np.minimum(a, b),
            np.full(lanes, a[0]),
            np.tile(memory[at + 1 : at + 3], lanes // 2),
            np.where(bits_of(mask, lanes), a, b),
            a[::-1],
            np.tile(a[-2:], lanes // 2),
            np.maximum.accumulate(pairs, axis=0).ravel(),
            np.zeros(lanes, dtype),
        ]
        np.testing.assert_array_equal(out, np.array(expected, dtype))
        np.testing.assert_array_equal(bits_of(masks[0], lanes), a < b)
        np.testing.assert_array_equal(bits_of(masks[1], lanes), a == b)
        exact = pairs.astype(np.int64)
        assert sums.tolist() == [exact.min(), exact[:, 0].sum() - exact[:, 1].sum()]


@numba.njit
def transpose(lane, source_in, rows_in, target_in, row_size, offset, start, stride):
    source, target = pointer_at(source_in, lane), pointer_at(target_in, lane)
    rows = pointer_at(rows_in, np.int64(0))
    like = zeros(source, 16)
    copy_transposed(source, rows, row_size, offset, target, start, stride, like)


@pytest.mark.parametrize("dtype", [np.int16, np.int32])
def test_a_square_of_pairs_is_copied_as_columns(dtype):
    source = np.arange(20 * 24).astype(dtype)
    rows = np.array([3, 0, 19, 7, 7, 1, 2, 18])
    target = np.full(8 * 32 + 5, -1, dtype)
    transpose(
        dtype(0),
        *(part.ctypes.data for part in (source, rows, target)),
        24,  # lanes of a row
        6,  # first lane taken of each
        5,
        32,
    )
    square = source.reshape(20, 24)[rows, 6:22].reshape(8, 8, 2)
    copied = target[5:].reshape(8, 16, 2)
    np.testing.assert_array_equal(copied[:, :8], square.transpose(1, 0, 2))
    assert np.all(copied[:, 8:] == -1)
    assert np.all(target[:5] == -1)


def test_a_mask_has_no_bits_above_its_lanes():
    @numba.njit
    def all_set(source_in):
        source = pointer_at(source_in, np.int16(0))
        like = zeros(source, 16)
        return equal(like, like)

    assert all_set(np.zeros(16, np.int16).ctypes.data) == 0xFFFF


def test_vectors_of_two_types_do_not_mix():
    @numba.njit
    def mixed(source_in):
        source = pointer_at(source_in, np.int16(0))
        return reduce_min(maximum(zeros(source, 16), zeros(source, 32)))

    with pytest.raises(TypingError, match="two vectors of one type"):
        mixed(0)


def test_a_width_that_is_no_power_of_two_is_refused():
    @numba.njit
    def odd(source_in):
        return reduce_min(zeros(pointer_at(source_in, np.int16(0)), 24))

    with pytest.raises(TypingError, match="power of two"):
        odd(0)


def test_memory_of_another_element_type_is_refused():
    @numba.njit
    def wrong(source_in):
        like = zeros(pointer_at(source_in, np.int16(0)), 16)
        return reduce_min(load(pointer_at(source_in, np.int32(0)), 0, like))

    with pytest.raises(TypingError, match="pointer to int16"):
        wrong(0)
