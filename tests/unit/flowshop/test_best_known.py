import csv

import numpy as np
import pytest

from dpbb.flowshop.best_known import best_known, best_known_of_digest
from dpbb.flowshop.formats import read_instance
from dpbb.flowshop.instance import FlowShopInstance
from dpbb.flowshop.taillard import taillard_instance
from dpbb.problem import BestKnown


def test_bounds_are_found_by_name():
    assert best_known("ta056") == BestKnown("ta056", 3679, 3679)
    assert best_known("ta056").optimal
    assert not best_known("ta051").optimal
    assert str(best_known("ta056")) == "3679 (optimal)"
    assert str(best_known("ta051")) == "3771 to 3846"
    assert best_known("ta121") is None


def test_bounds_of_every_taillard_instance_are_found_by_its_digest():
    for number in range(1, 121):
        instance = taillard_instance(f"ta{number:03d}")
        assert instance.best_known.name == instance.name
    assert best_known_of_digest("0" * 64) is None


@pytest.mark.data
def test_table_equals_the_reference_data(shared):
    """All 600 rows, by name and by digest; twelve Taillard instances are open."""
    vrf = {}
    for size in ("small", "large"):
        with np.load(shared / f"data/vrf/vrf_{size}.npz") as archive:
            vrf |= dict(archive)
    with (shared / "data/pfsp_bounds.csv").open() as file:
        rows = list(csv.DictReader(file, delimiter=";"))
    assert len(rows) == 600
    open_taillard = 0
    for row in rows:
        name = row["name"]
        known = best_known(name)
        assert known == BestKnown(name, int(row["lb"]), int(row["ub"]))
        assert known.optimal == (row["optimal"] == "1")
        instance = taillard_instance(name) if name[0] == "t" else vrf[name].T
        assert read_instance(instance).best_known == known
        open_taillard += name[0] == "t" and not known.optimal
    assert open_taillard == 12


def test_they_are_found_in_any_order_of_the_jobs():
    """And with the machines in reverse: the optimum is the same."""
    shop = read_instance("ta025")
    for times in (shop.times[::-1], shop.times[:, ::-1], shop.times[::-1, ::-1]):
        other = FlowShopInstance("mine", times)
        assert other.digest != shop.digest
        assert other.canonical == shop.canonical
        assert other.best_known == shop.best_known
    changed = shop.times.copy()
    changed[0, 0] += 1
    assert FlowShopInstance("mine", changed).best_known is None
