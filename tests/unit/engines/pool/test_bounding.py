"""The tuner of the pool's batches, without a clock."""

from dpbb.engines.pool.bounding import LARGEST, MEASURED, PoolSize


def feed(size, seconds_of, unscheduled=10.0, rounds=30):
    """Note batches that take ``seconds_of(children)`` until nothing changes."""
    for _ in range(rounds * MEASURED):
        size.note(size.now, seconds_of(size.now), unscheduled)
    return size.now


def test_it_grows_while_the_rate_does():
    """A fixed cost a batch: from 64 times that of a child on it gains less than 5 %."""
    assert feed(PoolSize(64, None, 1e9), lambda n: 1000 + n) == 16384
    assert feed(PoolSize(64, None, 1e9), lambda n: 1.0) == LARGEST
    assert feed(PoolSize(64, None, 1e9), lambda n: n) == 64


def test_no_batch_takes_longer_than_it_may():
    assert feed(PoolSize(64, None, 1.0), lambda n: 0.1 + n / 1000) == 512
    assert feed(PoolSize(4096, None, 1.0), lambda n: n / 1000) == 512


def test_a_batch_that_was_held_up_says_nothing():
    size = PoolSize(64, None, 1.0)
    for number in range(40 * MEASURED):
        held_up = 100.0 if number % MEASURED == 0 else 0.0
        size.note(size.now, 0.1 + size.now / 1000 + held_up, 10.0)
    assert size.now == 512


def test_a_given_size_stays():
    size = PoolSize(64, 100, 1e-9)
    assert feed(size, lambda n: n) == 100


def test_small_batches_say_nothing():
    size = PoolSize(64, None, 1e9)
    for _ in range(100):
        size.note(31, 1e-9, 10.0)
    assert size.now == 64


def test_it_looks_again_when_nodes_change():
    size = PoolSize(64, None, 1e9)
    feed(size, lambda n: n)
    assert feed(size, lambda n: 1000 + n, unscheduled=11.0) == 64
    assert feed(size, lambda n: 1000 + n, unscheduled=13.0) > 64


def test_it_takes_half_where_memory_ends():
    size = PoolSize(64, 100, 1.0)
    size.shrink()
    assert size.now == 50
