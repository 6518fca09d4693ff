"""Pointers, bit counts and atomics of compiled code."""

from concurrent.futures import ThreadPoolExecutor

import numba
import numpy as np
import pytest

from dpbb.kernels.scalar import (
    atomic_add,
    atomic_load,
    atomic_min,
    atomic_store,
    compare_exchange,
    ctz,
    pointer_at,
    pointer_to,
    popcount,
)


@numba.njit
def count_bits(bits):
    return popcount(bits), ctz(bits)


@pytest.mark.parametrize("bits", [1, 2, 0b1011000, 2**63, 2**64 - 1])
def test_bits_are_counted(bits):
    expected = (bits.bit_count(), (bits & -bits).bit_length() - 1)
    assert count_bits(np.uint64(bits)) == expected


@numba.njit
def double(address, index, like):
    values = pointer_at(address, like)
    values[index] = 2 * values[index]


@pytest.mark.parametrize("dtype", [np.int16, np.int32, np.int64, np.uint64])
def test_a_pointer_reads_and_writes_one_element(dtype):
    values = np.array([5, 6, 7], dtype)
    double(values.ctypes.data, 1, dtype(0))
    assert values.tolist() == [5, 12, 7]


@numba.njit
def first_after(address, index):
    return pointer_to(pointer_at(address, np.int64(0)), index)[0]


def test_a_pointer_to_an_element_begins_there():
    values = np.array([5, 6, 7])
    assert first_after(values.ctypes.data, 2) == 7


@numba.njit
def atomics(address):
    values = pointer_at(address, np.int64(0))
    atomic_store(values, 0, 40)
    old_sum = atomic_add(values, 0, 2)
    old_least = atomic_min(values, 1, -3)
    kept = atomic_min(values, 1, 9)
    swapped = compare_exchange(values, 2, 7, 8)
    refused = compare_exchange(values, 2, 7, 9)
    return old_sum, old_least, kept, swapped, refused, atomic_load(values, 2)


def test_atomics_return_what_was_there_before():
    values = np.array([0, 5, 7], np.int64)
    assert atomics(values.ctypes.data) == (40, 5, -3, True, False, 8)
    assert values.tolist() == [42, -3, 8]


@numba.njit(nogil=True)
def add_many(address, times):
    values = pointer_at(address, np.int64(0))
    for step in range(times):
        atomic_add(values, 0, 1)
        atomic_min(values, 1, -step)
        # a lock made of compare_exchange guards an addition that is not atomic
        while not compare_exchange(values, 2, 0, 1):
            pass
        values[3] = values[3] + 1
        atomic_store(values, 2, 0)


def test_no_addition_of_another_thread_is_lost():
    threads, times = 4, 20_000
    values = np.zeros(4, np.int64)
    with ThreadPoolExecutor(threads) as pool:
        for future in [
            pool.submit(add_many, values.ctypes.data, times) for _ in range(threads)
        ]:
            future.result()
    assert values.tolist() == [threads * times, -(times - 1), 0, threads * times]
