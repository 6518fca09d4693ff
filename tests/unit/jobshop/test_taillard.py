import pytest

from dpbb.jobshop import load


@pytest.mark.data
def test_the_generator_makes_the_published_instances(shared):
    for number in range(1, 81):
        name = f"ta{number:02d}"
        file = shared / "data" / "jobshop" / "instances" / f"{name}.txt"
        assert load(name) == load(file)
