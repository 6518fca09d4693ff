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


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ((0, 1, 2, 2), "time seed: expected a whole number from 1 to 2147483646"),
        ((1, "a", 2, 2), "machine seed: .* got 'a'"),
        ((1, 1, -1, 2), "jobs: expected a whole number from 1 to 32767, got -1"),
        ((1, 1, 2, 0), "machines: .* got 0"),
    ],
)
def test_what_cannot_be_generated_is_refused(given, message):
    with pytest.raises(InstanceError, match=message):
        generate(*given, name="none")
