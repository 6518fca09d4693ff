"""The calibration suite on one small tree of it."""

from __future__ import annotations

import csv
import json
from argparse import ArgumentParser

import pytest

from dpbb.bench import estimate as suite
from dpbb.errors import OptionError


def arguments(*texts):
    parser = ArgumentParser()
    suite.add_arguments(parser)
    return parser.parse_args(texts)


@pytest.mark.slow(ci=True)
@pytest.mark.timeout(600)
def test_the_suite_shows_truth_and_estimate(capsys, tmp_path):
    file = tmp_path / "found.json"
    code = suite.run(
        arguments("--instances", "ta030", "--seconds", "1", "--json", str(file))
    )
    out = capsys.readouterr().out
    assert code == 0
    assert "2 of 2 within a factor 3" in out
    results = json.loads(file.read_text())["results"]
    assert [one["tree"]["nodes"] for one in results] == [2_797_731, 2_415_779]


def test_trees_that_nothing_was_tuned_on_are_a_suite_of_their_own():
    tuned = {(tree.instance, tree.ub) for tree in suite.TREES}
    held_out = {(tree.instance, tree.ub) for tree in suite.HELD_OUT}
    assert len(held_out) == 36
    assert not tuned & held_out
    assert sum(name.startswith("VFR") for name, _ in held_out) >= 10


def test_trees_are_counted(capsys):
    """The size of the golden list."""
    assert suite.run(arguments("--count", "ta016@1397", "--engine", "reference")) == 0
    assert capsys.readouterr().out.startswith("ta016 1397 1,586 ")
    with pytest.raises(OptionError, match="--count: expected NAME@UB"):
        suite.run(arguments("--count", "ta016"))


def test_bad_arguments_are_refused():
    with pytest.raises(OptionError, match="--instances: expected some of"):
        suite.run(arguments("--instances", "ta001"))
    with pytest.raises(OptionError, match="--seeds: expected at least 1"):
        suite.run(arguments("--seeds", "0"))


@pytest.mark.data
def test_the_truths_are_the_golden_ones(shared):
    """Every golden tree of a million nodes is in the suite, with its size."""
    with (shared / "golden" / "tree_sizes.csv").open() as file:
        golden = {
            (row["instance"], int(row["ub"]), row["rule"]): int(row["decomposed"])
            + int(row["leaves"])
            for row in csv.DictReader(file)
        }
    known = {(one.instance, one.ub, one.branching): one.nodes for one in suite.TREES}
    large = {key: nodes for key, nodes in golden.items() if nodes >= 1_000_000}
    assert large
    assert large.items() <= known.items()
