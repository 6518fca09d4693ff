import pytest

from dpbb.errors import InstanceError
from dpbb.jobshop import generate, load


@pytest.mark.data
def test_the_generator_makes_the_published_instances(shared):
    for number in range(1, 81):
        name = f"ta{number:02d}"
        file = shared / "data" / "jobshop" / "instances" / f"{name}.txt"
        assert load(name) == load(file)


def test_names_have_any_zeros_and_case():
    assert load("TA1") == load("ta001") == load("ta01")
    assert load("ta01").name == "ta01"


@pytest.mark.parametrize("name", ["ta81", "ta100", "ta999999999"])
def test_there_are_eighty(name):
    with pytest.raises(InstanceError, match="expected ta01 to ta80"):
        load(name)


def test_a_seed_is_in_range():
    with pytest.raises(InstanceError, match="time seed"):
        generate(0, 1, 2, 2, name="none")
