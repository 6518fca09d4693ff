"""Optimal permutations: numbered, held up to a limit."""

import numpy as np
import pytest

from dpbb.coordination import optima as module
from dpbb.coordination.optima import FoundOptima, Optima

ROWS = [np.roll(np.arange(4), k) for k in range(4)] * 3


def numbers(rows):
    return [int(row[0]) for row in rows]


def test_what_is_held_does_not_change_when_more_is_found():
    """A checkpoint refers to it while the run goes on."""
    found = FoundOptima(4)
    views = []
    for k in range(9):
        found.add(ROWS[k : k + 1])
        views.append(found.held)
    for k, view in enumerate(views):
        assert numbers(view) == numbers(ROWS[: k + 1])
    assert found.held.dtype == np.uint16


@pytest.mark.parametrize("read", [0, 2, 5])
def test_beyond_the_limit_those_in_a_file_go_first(monkeypatch, read):
    monkeypatch.setattr(module, "MAX_OPTIMA_BYTES", 5 * 2 * 4)
    found = FoundOptima(4)
    found.add(ROWS[:5])
    found.note_read(9)  # no reader has what was not found
    found.note_read(read)
    found = FoundOptima(4, found.held, 0, 5)  # a checkpoint: readers come back
    found.note_read(read)
    before = found.held
    found.add(ROWS[5:9])
    assert found.n_found == 9
    assert found.first == read
    assert numbers(found.held) == numbers(ROWS[read : 9 if read == 5 else read + 5])
    assert numbers(before) == numbers(ROWS[:5])


def test_readers_take_chunks_from_where_they_are(monkeypatch):
    monkeypatch.setattr(module, "CHUNK_BYTES", 3 * 2 * 4)
    held = Optima(7, np.array(ROWS[:8], np.uint16), 10)
    chunk = held.after(None, 0)
    assert (chunk.value, chunk.first, chunk.end) == (7, 10, 13)
    chunk = held.after(7, 13)
    assert (chunk.first, numbers(chunk.permutations)) == (13, numbers(ROWS[3:6]))
    assert held.after(8, 17).first == 10  # what it has is not optimal
    assert not len(held.after(7, 18).permutations)
