"""Trees of known size: the golden table, and shapes beyond Taillard's."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from dpbb.errors import InstanceError
from dpbb.flowshop.formats import read_instance
from dpbb.flowshop.problem import FlowShopProblem
from dpbb.flowshop.taillard import taillard_instance
from dpbb.options import BranchingRule, TreeOptions
from tests.conftest import GOLDEN, SHARED
from tests.parity.subject import SPECS, obstacle, params

SHAPES = Path(__file__).parents[1] / "gpu" / "shapes.csv"


def rows():
    """Instance, ub, rule, decomposed nodes and leaves of the golden trees."""
    return _rows(GOLDEN / "tree_sizes.csv", rule=BranchingRule)


def shape_rows():
    """Instance, ub, decomposed nodes and leaves of minmin trees of many shapes."""
    return _rows(SHAPES)


def _rows(table, **others):
    """Columns of a table of trees; with ``others`` between the bound and the counts."""
    kinds = {"instance": str, "ub": int, **others, "decomposed": int, "leaves": int}
    with table.open(newline="") as file:
        return [
            tuple(kind(row[name]) for name, kind in kinds.items())
            for row in csv.DictReader(file)
        ]


def on_gpu(found):
    """All of these rows; where no GPU is one alone, to say why."""
    return found[: 1 if obstacle("gpu") else None]


def golden_params(share=1, step=1, names=tuple(SPECS)):
    """Engine and row, as far as the engine can take it; large ones marked slow.

    Of an engine that cannot run here one row is there, to say why.

    Parameters
    ----------
    share, step
        What the limits are divided by, and of how many rows one is quick at most, for
        tests that do more with each row.
    names
        Specs of the engines.
    """
    found = []
    for param in params(names):
        spec = SPECS[param.id]
        for n, row in enumerate(rows()[: 1 if obstacle(param.id) else None]):
            instance, ub, rule, decomposed, _ = row
            if decomposed > spec.golden_limit:
                continue
            slow = n % step or decomposed > spec.quick_limit // share
            marks = [*param.marks, *([pytest.mark.slow] if slow else [])]
            label = f"{param.id}-{instance}@{ub}-{rule}"
            found.append(pytest.param(param.id, row, marks=marks, id=label))
    return found


def golden_problem(instance, ub, rule):
    """Problem and tree of a golden row."""
    problem = FlowShopProblem(taillard_instance(instance))
    return problem, TreeOptions(rule, branching_ub=ub)


def benchmark_problem(name):
    """Read an instance of the benchmark files, or skip the test without them."""
    try:
        return FlowShopProblem(read_instance(name, data_dir=SHARED / "data"))
    except InstanceError as error:
        pytest.skip(f"no benchmark files: {error}")
