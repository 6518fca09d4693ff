import numpy as np
import pytest

from dpbb.tree import work_unit
from dpbb.tree.work_unit import WorkUnit

N_JOBS = 14


@pytest.fixture(autouse=True, params=[0, work_unit.MANY_ROOTS])
def few_are_many(monkeypatch, request):
    """Put packed roots together, and tables."""
    monkeypatch.setattr(work_unit, "MANY_ROOTS", request.param)


def check_disjoint(units):
    """Raise ValueError unless no root lies inside another, of whichever unit."""
    for unit in units:
        unit.check()
    WorkUnit.concatenate([WorkUnit.empty(N_JOBS), *units]).check()


def random_units(rng, n_units):
    """Disjoint units of all depths, dealt out from a tree that was opened at random."""
    whole = WorkUnit.whole(N_JOBS)
    for _ in range(12):
        whole = whole.expand(int(rng.integers(len(whole))))
    for _ in range(8):  # some deep ones
        whole = whole.expand(int(whole.depths.argmax()))
    homes = rng.integers(n_units, size=len(whole))
    homes[:n_units] = np.arange(n_units)  # none is empty
    return [whole.take(homes == number) for number in range(n_units)]


def with_root(unit, path):
    """Put a root where it belongs by its first leaf, overlapping or not."""
    paths = sorted([unit.path(i) for i in range(len(unit))] + [path])
    width = max(map(len, paths))
    digits = np.array([[*p, *[0] * (width - len(p))] for p in paths], np.uint16)
    return WorkUnit(N_JOBS, np.array([len(p) for p in paths], np.uint16), digits)


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("n_units", [1, 2, 5])
def test_disjoint_units_pass_and_any_other_root_is_found(seed, n_units):
    rng = np.random.default_rng(seed)
    units = random_units(rng, n_units)
    check_disjoint(units)
    for _ in range(20):
        # all leaves are there, so every further root lies in one or around some
        path = tuple(
            int(rng.integers(N_JOBS - level)) for level in range(rng.integers(N_JOBS))
        )
        chosen = int(rng.integers(n_units))
        more = [*units]
        more[chosen] = with_root(units[chosen], path)
        with pytest.raises(ValueError, match="expected roots in leaf order"):
            check_disjoint(more)


def test_other_damage_is_found():
    one, two = random_units(np.random.default_rng(0), 2)
    check_disjoint([])
    with pytest.raises(ValueError, match="expected roots in leaf order"):
        check_disjoint([one.take(slice(None, None, -1)), two])
    digits = two.digits.copy()
    digits[-1, 0] = N_JOBS
    with pytest.raises(ValueError, match="expected a digit below"):
        check_disjoint([one, WorkUnit(N_JOBS, two.depths, digits)])
    with pytest.raises(ValueError, match="expected a work unit of 14 jobs"):
        check_disjoint([one, WorkUnit.whole(13)])
