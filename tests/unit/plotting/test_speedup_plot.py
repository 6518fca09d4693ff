import pytest

from dpbb.errors import DpbbError
from dpbb.plotting import speedup

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
