"""``dpbb.bounds``: what comes in, and where it is bounded."""

import subprocess
import sys

import numpy as np
import pytest

import dpbb
from dpbb.errors import EngineUnavailable, OptionError
from dpbb.flowshop.bounds import batch
from dpbb.flowshop.bounds.lb2 import JohnsonTables, machine_pairs, pair_bounds
from dpbb.flowshop.bounds.nodes import Nodes
from dpbb.flowshop.taillard import taillard_instance
from tests.oracle import random_nodes

SHOP = taillard_instance("ta001")
NODES = random_nodes(20, 90, seed=5)
TABLES = JohnsonTables.of(SHOP.times, machine_pairs(5))
EXPECTED = Nodes.of(SHOP.times, *NODES)


def test_it_is_imported_when_it_is_asked_for():
    probe = "import dpbb; print(dpbb.bounds.lb2('ta001', [[*range(20)]], 0, 0))"
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-c", probe], check=True, capture_output=True, text=True
    )
    assert done.stdout == "[1278]\n"


def test_bounds_of_arrays_and_lists_of_any_whole_numbers():
    for convert in (np.uint8, np.int16, np.int64, np.uint64):
        given = [part.astype(convert) for part in NODES]
        found = dpbb.bounds.lb2(SHOP, *given, device="cpu")
        assert found.dtype == np.int32
        assert found.tolist() == EXPECTED.lb2(TABLES).tolist()
    found = dpbb.bounds.lb1(SHOP.times, *(part.tolist() for part in NODES))
    assert found.tolist() == EXPECTED.lb1().tolist()
    assert dpbb.bounds.lb2(SHOP, [], 0, 0).shape == (0,)


def test_numbers_of_fixed_jobs_may_be_one_for_all():
    orders = NODES[0]
    found = dpbb.bounds.lb2(SHOP, orders, 3, 2, strong=True)
    counts = np.full(90, 3), np.full(90, 2)
    expected = Nodes.of(SHOP.times, orders, *counts, strong=True)
    assert found.tolist() == expected.lb2(TABLES).tolist()


@pytest.mark.parametrize("which", ["adjacent", "last", [(1, 3), (0, 4)]])
def test_bounds_of_some_pairs(which):
    found = dpbb.bounds.lb2(SHOP, *NODES, pairs=which)
    tables = JohnsonTables.of(SHOP.times, machine_pairs(5, which))
    assert found.tolist() == EXPECTED.lb2(tables).tolist()


def test_learned_pairs_cut_what_all_pairs_cut():
    below = EXPECTED.lb1()
    every = EXPECTED.lb2(TABLES)
    ub = int(np.median(every[every > below]))
    chosen = dpbb.bounds.learned_pairs(SHOP, *NODES, ub)
    bounds = pair_bounds(TABLES, EXPECTED.heads, EXPECTED.tails, EXPECTED.unscheduled)
    cuts = {
        (int(u), int(v)): set(np.flatnonzero((column >= ub) & (below < ub)).tolist())
        for (u, v), column in zip(TABLES.pairs, bounds.T, strict=True)
    }
    everything = set().union(*cuts.values())
    assert everything
    gains, cut = [], set()
    for pair in chosen:
        assert len(cuts[pair] - cut) == max(len(one - cut) for one in cuts.values()) > 0
        gains.append(len(cuts[pair] - cut))
        cut |= cuts[pair]
    assert cut == everything
    assert gains == sorted(gains, reverse=True)
    assert dpbb.bounds.learned_pairs(SHOP, *NODES, ub, most=1) == chosen[:1]
    assert dpbb.bounds.learned_pairs(SHOP, *NODES, 10**6) == ()


GOOD = [*range(20)]
BAD = [
    (dict(permutations=[GOOD[:19]]), "permutations: .*shape \\(r, 20\\).*\\(1, 19\\)"),
    (dict(permutations=[GOOD, [1]]), "permutations: expected one length"),
    (dict(permutations=[[float(job) for job in GOOD]]), "whole numbers of shape"),
    (dict(permutations=[GOOD, [*GOOD[1:], 1]]), "schedule 1: .*permutation of 0 to 19"),
    (dict(permutations=[[*GOOD[1:], 2**40]]), "schedule 0: .*permutation of 0 to 19"),
    (dict(d1=-1), "d1 \\+ d2 <= 20, got -1 and 0"),
    (dict(d1=15, d2=[6]), "d1 \\+ d2 <= 20, got 15 and 6"),
    (dict(d2=[1, 2]), "d2: expected a whole number or 1 of them, .*shape \\(2,\\)"),
    (dict(d1=0.5), "d1: expected a whole number"),
    (dict(pairs="none"), "pairs: expected all, adjacent, last"),
    (dict(device="tpu"), "device: expected one of auto, cpu, gpu, got 'tpu'"),
    (dict(strong="x"), "strong: expected true or false, got 'x'"),
    (dict(threads=0), "threads: expected a whole number >= 1, got 0"),
]


@pytest.mark.parametrize(("given", "words"), BAD)
def test_bad_input_is_refused(given, words):
    values = {"permutations": [GOOD], "d1": 0, "d2": 0, **given}
    with pytest.raises(OptionError, match=words):
        dpbb.bounds.lb2(SHOP, **values)


def test_a_device_that_is_missing_is_named(monkeypatch):
    def missing(device=0):
        raise EngineUnavailable("GPU: none here")

    monkeypatch.setattr(batch, "require_gpu", missing)
    monkeypatch.setattr("dpbb.kernels.nvrtc.require_gpu", missing)
    with pytest.raises(EngineUnavailable, match="none here"):
        dpbb.bounds.lb2(SHOP, [GOOD], 0, 0, device="gpu")
    monkeypatch.setattr(batch, "LEAST_FOR_GPU", 1)
    assert dpbb.bounds.lb2(SHOP, [GOOD], 0, 0).tolist() == [1278]
