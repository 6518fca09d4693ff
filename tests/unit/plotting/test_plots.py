from dataclasses import replace

import numpy as np
import pytest

from dpbb.coordination.messages import Known, Request
from dpbb.errors import DpbbError
from dpbb.plotting import convergence, speedup
from dpbb.plotting.runs import run_of
from dpbb.result import Improvement, ProvedBound
from tests.specs import changed
from tests.unit.plotting.samples import checkpoint, result, snapshot


def line(ax, label):
    (found,) = (one for one in ax.lines if one.get_label() == label)
    assert found.get_drawstyle() == "steps-post"
    return [tuple(point) for point in np.column_stack(found.get_data()).tolist()]


def test_incumbents_are_steps_to_the_end(ax):
    convergence(result(), ax)
    end = result().makespan
    assert line(ax, "incumbent") == [(0.5, 60), (2, 44), (3, end), (12, end)]
    assert line(ax, "lower bound at the end") == [(0.001, 30), (12, 30)]
    assert ax.get_xlabel() == "time (s)"
    assert ax.get_title("left") == (
        f"joinery: makespan {end}, lower bound 30, gap {(end - 30) / end:.2%}"
    )


def test_a_checkpoint_has_the_least_bound_of_its_units(ax):
    convergence(checkpoint(), ax)
    assert line(ax, "incumbent") == [(0.001, 50), (1.5, 36), (4, 36)]
    assert line(ax, "lower bound at the end") == [(0.001, 31), (4, 31)]


def test_the_bound_of_a_checkpoint_is_never_above_its_incumbent(ax):
    """With all optima what prunes is, as no schedule of that value is looked for."""
    saved = checkpoint()
    spec = changed(saved.spec, all_optima=True)
    over = replace(saved, spec=spec, units=())
    assert over.ub == over.value + 1
    convergence(over, ax)
    assert ax.get_title("left").endswith("makespan 36, lower bound 36, gap 0.00%")
    assert run_of(replace(over, cutoff=30)).bound == 30


@pytest.mark.parametrize("known", ["root_bound", "proved_bound"])
def test_a_checkpoint_has_what_was_proved_before_its_tree(known):
    saved = checkpoint()
    assert run_of(replace(saved, spec=replace(saved.spec, **{known: 33}))).bound == 33


def test_a_checkpoint_begins_with_the_heuristics():
    saved = checkpoint()
    found = (Improvement(0.25, 60, "neh"), Improvement(0.5, 50, "ig"))
    request = Request(seconds=1.0, known=Known(trajectory=found))
    saved = replace(saved, spec=replace(saved.spec, request=request))
    run = run_of(saved)
    assert run.incumbents == ((0.25, 60), (0.5, 50), (2.5, 36))
    assert run.end_s == 5.0


@pytest.mark.parametrize(
    "data", [[], [snapshot(0.0, lower_bound=None, value=None, trajectory=())]]
)
def test_nothing_to_draw_is_refused(data):
    with pytest.raises(DpbbError, match=r"convergence: expected .* got none"):
        convergence(data)


def test_bounds_from_below_are_drawn_as_they_were_proved(ax):
    proved = (ProvedBound(1.0, 25, 10), ProvedBound(4.0, 28, 90))
    convergence(result(bounds=proved), ax)
    assert line(ax, "lower bound") == [(1, 25), (4, 28), (12, 30), (12, 30)]


GPUS = [
    {"tree": "ta056", "gpus": 1, "nodes_per_s": 5.0},
    {"tree": "ta056", "gpus": 4, "nodes_per_s": 16.0},
    {"tree": "vfr", "gpus": 1, "nodes_per_s": 7.0},
    {"tree": "vfr", "gpus": 4, "nodes_per_s": 28.0},
]


def lines(axes):
    return [
        (line.get_label(), list(map(float, line.get_xdata())), list(line.get_ydata()))
        for line in axes.lines
    ]


def test_speedup_and_efficiency_of_gpus(ax):
    assert speedup(GPUS, ax) is ax
    (right,) = (other for other in ax.figure.axes if other is not ax)
    assert lines(ax) == [
        ("linear", [1, 4], [1, 4]),
        ("ta056", [1, 4], pytest.approx([1, 3.2])),
        ("vfr", [1, 4], pytest.approx([1, 4])),
    ]
    assert [y for _, _, y in lines(right)] == [
        pytest.approx([100, 80]),
        pytest.approx([100, 100]),
    ]
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("GPUs", "speed-up over one GPU")
    assert ax.get_xscale() == "linear"


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([], "expected rows of dpbb bench multigpu, got none"),
        (7, "expected rows of dpbb bench multigpu, got: Expected `array`"),
        ([{"gpus": 1}], "missing required field `nodes_per_s` - at `\\$\\[0\\]`"),
        ([{"gpus": 0, "nodes_per_s": 1}], "Expected `int` >= 1"),
        ([{"gpus": 1, "nodes_per_s": 0}], "Expected `float` > 0"),
    ],
)
def test_what_is_no_benchmark_is_refused(rows, message):
    with pytest.raises(DpbbError, match=message):
        speedup(rows)
