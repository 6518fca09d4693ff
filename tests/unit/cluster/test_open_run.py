"""Failures of a run, and its optimal permutations for one reader."""

import numpy as np

from dpbb.cluster.open_run import FIRST_PAUSE_S, SEAT_FAILURES, OpenRun, OptimaFeed
from dpbb.coordination.incumbent import Optima


def test_feed_repeats_a_chunk_until_it_is_acknowledged():
    """An answer that was lost is given again; nothing is taken twice."""
    chunks = [Optima(5, np.full((1, 2), i, np.uint16)) for i in range(2)]
    queue = [*chunks, None]
    feed = OptimaFeed()
    assert not feed.used
    first = feed.next(0, lambda: queue.pop(0))
    assert first == (1, chunks[0])
    assert feed.next(0, lambda: queue.pop(0)) == first
    assert feed.next(1, lambda: queue.pop(0)) == (2, chunks[1])
    assert feed.next(2, lambda: queue.pop(0)) == (3, None)
    assert feed.used


def test_last_chunk_is_what_the_outcome_held():
    """Once."""
    feed = OptimaFeed()
    feed.last = Optima(5, np.zeros((1, 2), np.uint16))
    assert feed.next(0, feed.take_last)[1].value == 5
    assert feed.next(1, feed.take_last) == (2, None)


def test_seat_rests_longer_after_each_failure():
    """Twice as long each time, until it is left out."""
    run = OpenRun(None, b"")
    pauses = []
    for unit in range(SEAT_FAILURES):
        assert not run.excluded
        assert run.note_failure("a", unit, 10.0) is None
        pauses.append(run.resting["a"] - 10.0)
    assert pauses == [FIRST_PAUSE_S * 2**i for i in range(SEAT_FAILURES)]
    assert run.excluded == {"a"}
    assert run.rests("a", 10.0)
    assert not run.rests("a", 10.0 + pauses[-1])
    assert not run.rests("b", 10.0)
