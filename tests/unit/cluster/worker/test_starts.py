"""The pool of starts and the turns of methods."""

import numpy as np

from dpbb.cluster.worker.starts import StartPool, Turns
from dpbb.problem import Beginning


def beginning(value, *jobs):
    return Beginning(value, np.array(jobs or (value, 0)))


def pool_of(capacity, *values, most_uses=2):
    pool = StartPool(most_uses)
    pool.resize(capacity)
    for value in values:
        pool.add(beginning(value))
    return pool


def values(pool):
    return [one.value for one in pool.beginnings]


def test_only_the_best_stay_besides_the_incumbent():
    pool = pool_of(4, 30, 10, 20)
    pool.lead(beginning(5))
    assert values(pool) == [5, 10, 20, 30]
    assert pool.add(beginning(15))
    assert not pool.add(beginning(40))
    assert values(pool) == [5, 10, 15, 20]
    pool.resize(2)
    assert values(pool) == [5, 10]


def test_there_is_one_incumbent():
    pool = pool_of(4, 30)
    for value in (9, 7):
        pool.lead(beginning(value))
    assert values(pool) == [7, 30]
    assert pool.incumbent.value == 7
    assert not pool.add(beginning(7))


def test_a_schedule_is_there_once():
    pool = pool_of(4)
    assert pool.add(beginning(10, 0, 1, 2))
    assert not pool.add(beginning(10, 0, 1, 2))
    assert pool.add(beginning(10, 0, 2, 1))
    assert len(pool.beginnings) == 2


def test_starts_are_used_in_turn_the_best_first():
    pool = pool_of(4, 30, 10, 20, most_uses=9)
    taken = [pool.take("ig").value for _ in range(6)]
    assert taken == [10, 20, 30, 10, 20, 30]


def test_each_method_has_the_best_first():
    pool = pool_of(3, 10, 20, most_uses=9)
    taken = [pool.take(method).value for method in ("a", "a", "b", "a", "b")]
    assert taken == [10, 20, 10, 10, 20]


def test_what_was_used_up_makes_room_but_for_the_incumbent():
    pool = pool_of(2, 20, most_uses=1)
    pool.lead(beginning(10))
    assert [pool.take("ig").value for _ in range(2)] == [10, 20]
    assert values(pool) == [10]
    assert pool.add(beginning(50))
    assert [pool.take("ig").value for _ in range(3)] == [50, 10, 10]


def test_an_empty_pool_gives_nothing():
    assert pool_of(2).take("ig") is None
    assert not pool_of(0).add(beginning(1))


def test_methods_take_turns_and_those_that_pay_have_more():
    turns = Turns(["a", "b", "c"])
    counts = dict.fromkeys(turns.methods, 0)
    for _ in range(60):
        method = turns.take()
        counts[method] += 1
        if method == "b":
            turns.note("b")
    assert counts["b"] >= 30
    assert min(counts.values()) >= 10


def test_a_method_that_failed_has_no_more_turns():
    turns = Turns(["a", "b"])
    turns.drop("a")
    turns.note("a")  # another thread was at it
    assert {turns.take() for _ in range(6)} == {"b"}
    turns.drop("b")
    assert turns.methods == []
