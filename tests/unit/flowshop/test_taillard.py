import csv
import hashlib

import numpy as np
import pytest

from dpbb.flowshop.makespan import makespan
from dpbb.flowshop.taillard import generate, taillard_instance, time_seeds

SIZES = [(20, 5), (20, 10), (20, 20), (50, 5), (50, 10), (50, 20), (100, 5)]
SIZES += [(100, 10), (100, 20), (200, 10), (200, 20), (500, 20)]


def test_generator_gives_the_first_published_times():
    times = generate(873654221, 20, 5)
    assert times[0].tolist()[:5] == [54, 83, 15, 71, 77]
    assert times[4].tolist()[-3:] == [18, 68, 28]
    assert times.min() >= 1
    assert times.max() <= 99


@pytest.mark.parametrize("name", ["ta022", "ta22", "TA022", " Ta00022 "])
def test_names_are_taken_in_every_spelling(name):
    instance = taillard_instance(name)
    assert instance.name == "ta022"
    assert instance.best_known.upper_bound == 2099


def test_all_instances_are_those_of_this_digest():
    """One digest of all 120, taken when each was checked with a published optimum."""
    every = hashlib.sha256()
    for number in range(1, 121):
        instance = taillard_instance(f"ta{number}")
        assert (instance.n_jobs, instance.n_machines) == SIZES[(number - 1) // 10]
        every.update(instance.digest.encode())
    assert (
        every.hexdigest()
        == "33b1c6a1ddab41c55a4912d7b2e9efaa62033be946a74d91164923189bc925c4"
    )


@pytest.mark.data
def test_time_seeds_are_the_published_ones(shared):
    published = (shared / "data/taillard/time_seeds.txt").read_text().split()
    assert [str(seed) for seeds in time_seeds().values() for seed in seeds] == published


@pytest.mark.data
def test_published_permutations_have_their_published_makespans(shared):
    with (shared / "data/pfsp_bounds.csv").open() as file:
        rows = list(csv.DictReader(file, delimiter=";"))[:120]
    for row in rows:
        order = np.array(row["permutation_1based"].split(), int) - 1
        times = taillard_instance(row["name"]).times
        assert makespan(times, order) == int(row["ub"]), row["name"]
