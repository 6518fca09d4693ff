"""``dpbb.bounds``: what comes in, and that bounds are those of the oracle."""

import numpy as np
import pytest

import dpbb
from dpbb.errors import EngineUnavailable, OptionError
from dpbb.flowshop.bounds import JohnsonTables, machine_pairs
from dpbb.flowshop.makespan import longest_makespan
from dpbb.flowshop.taillard import taillard_instance
from tests.node_bounds import Nodes
from tests.oracle import random_nodes


def shop(n_jobs, n_machines, longest=99, seed=1):
    """Times from 0 on, many of them equal."""
    times = np.random.default_rng(seed).integers(0, longest + 1, (n_jobs, n_machines))
    times[::3] = times[0]
    return times


SHOPS = {
    "ta021": taillard_instance("ta021").times,
    "one machine": shop(9, 1),
    "two machines": shop(20, 2, longest=4),
    "one job": shop(1, 5),
    "zeros": shop(12, 6, longest=0),
    "large times": shop(11, 7, longest=1_000_000),
    "just below 16 bits": shop(8, 4, longest=3500),
    "many machines": shop(13, 45),
}
GOOD = [*range(20)]


@pytest.mark.parametrize("name", SHOPS)
def test_bounds_are_those_of_the_oracle(name):
    times = SHOPS[name]
    nodes = random_nodes(len(times), 600, seed=3)
    expected = Nodes.of(times, *nodes)
    found = dpbb.bounds.lb1(times, *nodes, device="cpu", threads=1)
    assert found.tolist() == expected.lb1().tolist()
    for pairs in (None, machine_pairs(times.shape[1])[::3]):
        tables = JohnsonTables.of(times, machine_pairs(times.shape[1], pairs))
        found = dpbb.bounds.lb2(times, *nodes, pairs=pairs, device="cpu", threads=2)
        assert found.dtype == np.int32
        assert found.tolist() == expected.lb2(tables).tolist()


def test_the_widths_are_what_the_names_say():
    assert 28_000 < longest_makespan(SHOPS["just below 16 bits"]) < 2**15
    assert longest_makespan(SHOPS["large times"]) > 2**15


def test_arrays_and_lists_of_any_whole_numbers():
    nodes = random_nodes(20, 90, seed=5)
    expected = dpbb.bounds.lb2("ta001", *nodes).tolist()
    for convert in (np.uint8, np.int16, np.int64, np.uint64):
        given = [part.astype(convert) for part in nodes]
        assert dpbb.bounds.lb2("ta001", *given).tolist() == expected
    assert (
        dpbb.bounds.lb2("ta001", *(part.tolist() for part in nodes))[3] == expected[3]
    )
    assert dpbb.bounds.lb2("ta001", [], 0, 0).shape == (0,)
    one_for_all = dpbb.bounds.lb2("ta001", nodes[0], 3, 2)
    counts = np.full(90, 3), np.full(90, 2)
    assert (one_for_all == dpbb.bounds.lb2("ta001", nodes[0], *counts)).all()


BAD = [
    (dict(permutations=[GOOD[:19]]), "permutations: .*shape \\(r, 20\\).*\\(1, 19\\)"),
    (dict(permutations=[GOOD, [1]]), "permutations: expected one length"),
    (dict(permutations=[[float(job) for job in GOOD]]), "whole numbers of shape"),
    (dict(permutations=[GOOD, [*GOOD[1:], 1]]), "schedule 1: .*permutation of 0 to 19"),
    (dict(d1=15, d2=[6]), "d1 \\+ d2 <= 20, got 15 and 6"),
    (dict(d2=[1, 2]), "d2: expected a whole number or 1 of them, .*shape \\(2,\\)"),
    (dict(d1=0.5), "d1: expected a whole number"),
    (dict(pairs="none"), "pairs: expected pairs of machines"),
    (dict(device="tpu"), "device: expected one of auto, cpu, gpu, got 'tpu'"),
]


@pytest.mark.parametrize(("given", "words"), BAD)
def test_bad_input_is_refused(given, words):
    values = {"permutations": [GOOD], "d1": 0, "d2": 0, **given}
    with pytest.raises(OptionError, match=words):
        dpbb.bounds.lb2("ta001", **values)


def test_a_device_that_is_missing_is_named(monkeypatch):
    def missing(device=0):
        raise EngineUnavailable("GPU: none here")

    monkeypatch.setattr("dpbb.bounds.require_gpu", missing)
    monkeypatch.setattr("dpbb.bounds.has_gpu", lambda: False)
    with pytest.raises(EngineUnavailable, match="none here"):
        dpbb.bounds.lb2("ta001", [GOOD], 0, 0, device="gpu")
    monkeypatch.setattr(dpbb.bounds, "LEAST_FOR_GPU", 1)
    assert dpbb.bounds.lb2("ta001", [GOOD], 0, 0).tolist() == [1278]
