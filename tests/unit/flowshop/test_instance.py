import pickle

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from dpbb.flowshop.instance import FlowShopInstance
from dpbb.flowshop.taillard import taillard_instance

TIMES = [[3, 4, 5], [6, 7, 8]]


def test_digest_depends_on_shape_and_times_only():
    one = FlowShopInstance("one", TIMES)
    assert one == FlowShopInstance("two", np.array(TIMES, np.float32))
    assert hash(one) == hash(FlowShopInstance("two", TIMES))
    others = [[[3, 4, 5, 6, 7, 8]], [[3, 4], [5, 6], [7, 8]], [[3, 4, 5], [6, 7, 9]]]
    assert len({one, *(FlowShopInstance("one", other) for other in others)}) == 4
    assert one != TIMES


def test_digest_stays_the_same_in_every_version():
    # Checkpoints and the table of best known values are keyed by it.
    digest = "60c31247bc19"
    assert taillard_instance("ta001").digest.startswith(digest)


@given(
    arrays.arrays(
        st.sampled_from((np.uint8, np.int32, np.int64)),
        st.tuples(st.integers(1, 5), st.integers(1, 5)),
        elements=st.integers(0, 127),
    )
)
def test_pickling_gives_an_equal_instance(times):
    instance = FlowShopInstance("name", times)
    again = pickle.loads(pickle.dumps(instance))  # noqa: S301
    assert again == instance
    assert again.name == "name"
    assert again.times.dtype == np.int64
    assert not again.times.flags.writeable
