"""What works on rows by blocks gives the same whatever the length of a block."""

import numpy as np
import pytest

from dpbb.tree import WorkUnit, n_leaves, packing
from tests.intervals import unit_between

N = 12


def units():
    rng = np.random.default_rng(5)
    total = n_leaves(N)
    for _ in range(20):
        begin, end = sorted(int(total * x) for x in rng.random(2))
        unit = unit_between(N, begin, end)
        yield unit.take(rng.random(len(unit)) < 0.7)
    yield WorkUnit.whole(N)
    yield WorkUnit.empty(N)


@pytest.fixture(params=[1, 2, 7, 1 << 20])
def rows(request, monkeypatch):
    monkeypatch.setattr(packing, "BLOCK_ROWS", request.param)


@pytest.mark.usefixtures("rows")
def test_wire_form_and_back():
    for unit in units():
        again = WorkUnit.from_arrays(N, unit.to_arrays())
        assert again == unit
        assert again.owned_ancestors == sum(
            len(path) - len(np.trim_zeros(path, "b"))
            for path in (np.array(root.path) for root in unit.roots())
        )


@pytest.mark.usefixtures("rows")
def test_order_and_cover():
    whole = WorkUnit.whole(N)
    for unit in units():
        assert unit.is_ordered_and_disjoint()
        assert unit.covered_by(whole).all()
        some = unit.take(np.arange(len(unit)) % 3 == 0)
        assert unit.covered_by(some).tolist() == [
            index % 3 == 0 for index in range(len(unit))
        ]
        if len(unit) > 1:
            assert not unit.take(np.arange(len(unit))[::-1]).is_ordered_and_disjoint()
            twice = unit.take(np.array([*range(len(unit)), len(unit) - 1]))
            assert not twice.is_ordered_and_disjoint()


@pytest.mark.usefixtures("rows")
def test_the_wrong_root_is_named():
    unit = max(units(), key=len)
    depths, digits = unit.depths.copy(), unit.digits.copy()
    row = len(depths) - 2
    digits[row, 0] = N
    with pytest.raises(ValueError, match=rf"root {row}, level 0: .* below 12, got 12"):
        WorkUnit(N, depths, digits).check()
