"""The donor that is found is rich: at least half as rich as the richest."""

from hypothesis import given
from hypothesis import strategies as st

from dpbb.coordination.donors import Donors


@given(
    st.lists(
        st.tuples(st.sampled_from("abcdef"), st.none() | st.integers(0, 2**40)),
        max_size=30,
    )
)
def test_donors_come_richest_first(changes):
    donors, truth = Donors(), {}
    for lease, open_roots in changes:
        if open_roots is None:
            donors.discard(lease)
            truth.pop(lease, None)
        else:
            donors.put(lease, open_roots)
            truth[lease] = open_roots
        assert len(donors) == len(truth)
    while truth:
        lease = donors.pop(0)
        assert 2 * truth[lease] >= max(truth.values())
        del truth[lease]
    assert donors.pop(0) is None


def test_poor_donors_are_not_asked():
    donors = Donors()
    donors.put("poor", 1)
    assert donors.pop(2) is None
    donors.put("poor", 2)
    assert donors.pop(2) == "poor"


def test_of_equals_the_first_is_asked():
    donors = Donors()
    for lease in ("c", "a", "b"):
        donors.put(lease, 5)
    assert [donors.pop(1) for _ in range(3)] == ["c", "a", "b"]
