from math import factorial

from dpbb.tree import Interval, Root


def test_interval_of_a_root():
    assert Root().interval(5) == Interval(0, 120)
    assert Root((2,)).interval(4) == Interval(12, 18)
    assert Root((1, 2)).interval(4) == Interval(10, 12)
    assert Root((0, 0, 3)).interval(30).size == factorial(27)


def test_owned_ancestors_are_those_with_the_same_first_leaf():
    """An ancestor is owned by the root whose first leaf is its own."""
    for path in [(), (0,), (3,), (0, 0), (2, 0, 0), (0, 1, 0), (1, 0, 2)]:
        root = Root(path)
        first = root.interval(6).begin
        owned = sum(
            Root(path[:d]).interval(6).begin == first for d in range(root.depth)
        )
        assert root.owned_ancestors == owned
