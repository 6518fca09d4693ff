"""The donor that is found has explored most, of those with enough roots."""

from hypothesis import given
from hypothesis import strategies as st

from dpbb.coordination.donors import Donors


@given(
    st.lists(
        st.tuples(
            st.sampled_from("abcdef"),
            st.none() | st.tuples(st.integers(0, 100), st.sampled_from([0.7, 3, 1e9])),
        ),
        max_size=60,
    )
)
def test_donors_come_richest_first(changes):
    donors, truth = Donors(), {}
    for lease, change in changes:
        if change is None:
            donors.discard(lease)
            truth.pop(lease, None)
        else:
            since, speed = change
            donors.put(lease, 5, since, speed)
            truth[lease] = (200 - since) * speed
        assert len(donors) == len(truth)
    while truth:
        lease = donors.pop(2, 200)
        assert 2 * truth[lease] >= max(truth.values())  # speeds are told apart by two
        del truth[lease]
    assert donors.pop(2, 200) is None


@given(st.lists(st.integers(0, 99), min_size=1, max_size=300))
def test_stale_entries_do_not_pile_up(moments):
    donors = Donors()
    for since in moments:
        donors.put("a", 5, since)
    assert sum(map(len, donors._heaps.values())) <= 2 * len(donors) + 65
    assert donors.pop(2, 100) == "a"
    assert donors.pop(2, 100) is None


def test_poor_donors_are_not_asked():
    donors = Donors()
    donors.put("old", 1, since=0)
    donors.put("young", 2, since=5)
    assert donors.pop(3, 10) is None
    assert donors.pop(2, 10) == "young"
    assert donors.pop(2, 10) is None
    donors.put("old", 2, since=0)
    assert donors.pop(2, 10) == "old"


def test_young_leases_are_not_worth_a_hand_over():
    donors = Donors()
    donors.put("young", 9, since=8)
    assert donors.pop(2, 10, age_s=3) is None
    assert donors.pop(2, 11, age_s=3) == "young"


def test_of_equals_one_is_asked_after_the_other():
    donors = Donors()
    for lease in ("c", "a", "b"):
        donors.put(lease, 5, since=1)
    assert {donors.pop(1, 2) for _ in range(3)} == {"a", "b", "c"}
