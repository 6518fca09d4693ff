"""Equal parts, within what can be used, with few moves."""

from hypothesis import given
from hypothesis import strategies as st

from dpbb.cluster.scheduler.sharing import fair_shares, moves

DEMANDS = st.lists(st.integers(0, 20), min_size=1, max_size=6)


@given(DEMANDS, st.integers(0, 40), st.integers(0, 10))
def test_shares_use_every_seat_that_is_wanted(demands, seats, turn):
    """None exceeds its demand, and no wanted seat is left over."""
    shares = fair_shares(demands, seats, turn)
    assert sum(shares) == min(seats, sum(demands))
    assert all(
        0 <= share <= demand for share, demand in zip(shares, demands, strict=True)
    )


@given(DEMANDS, st.integers(0, 40), st.integers(0, 10))
def test_shares_differ_by_one_unless_demand_is_met(demands, seats, turn):
    """Who has less than another got all that it wanted, or is one behind."""
    shares = fair_shares(demands, seats, turn)
    for mine, demand in zip(shares, demands, strict=True):
        assert mine == demand or mine >= max(shares) - 1


@given(
    st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=5),
    st.integers(0, 9),
    st.integers(0, 9),
)
def test_moves_never_take_more_than_there_is(pairs, free, coming):
    """Nobody gives below its share, takes above it, or gives what nobody lacks."""
    held, shares = zip(*pairs, strict=True)
    steps = moves(held, shares, free, coming)
    assert sum(take for take, _ in steps) <= free
    lacking = sum(max(0, share - mine) for mine, share in pairs)
    assert sum(give for _, give in steps) <= max(0, lacking - free - coming)
    for (mine, share), (take, give) in zip(pairs, steps, strict=True):
        assert 0 <= take <= max(0, share - mine)
        assert 0 <= give <= max(0, mine - share)


def test_moves_wait_for_seats_that_are_coming():
    """A seat that drains already is not asked for twice."""
    assert moves([4, 0], [2, 2], free=0, coming=0) == [(0, 2), (0, 0)]
    assert moves([3, 0], [2, 2], free=0, coming=1) == [(0, 1), (0, 0)]
    assert moves([2, 0], [2, 2], free=0, coming=2) == [(0, 0), (0, 0)]
    assert moves([2, 0], [2, 2], free=2, coming=0) == [(0, 0), (2, 0)]
